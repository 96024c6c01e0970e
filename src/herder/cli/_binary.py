"""Tables of two states as the verbs read them: 0/1 or -1/+1, with or without gaps."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress

from herder._store import TableSource, open_table
from herder.cli._border import heed_signals

__all__ = ["BinaryTable", "binary_block", "read_binary"]

#: Bytes of a chunk of a table.
CHUNK_BYTES = 16 * 2**20

#: Bytes for a cell while a machine is fitted: as it was read, checked, and as numbers.
CELL_BYTES = 18

#: What a cell may hold.
STATES = (-1, 0, 1)


@dataclass(frozen=True, eq=False)
class BinaryTable:
    """Rows of one or more tables.

    Parameters
    ----------
    names : tuple of str
        Columns.
    rows : ndarray of shape (n, n_columns)
        States, int8.
    weight : ndarray of shape (n,) or None
        Weights of the rows.
    """

    names: tuple[str, ...]
    rows: NDArray[np.int8]
    weight: NDArray[np.float64] | None

    @property
    def columns(self) -> dict[str, NDArray[np.int8]]:
        """The columns by name."""
        return dict(zip(self.names, self.rows.T, strict=True))


def read_binary(
    paths: Sequence[Path],
    *,
    role: str,
    progress: Progress,
    max_memory: int,
    drop: Collection[str] = (),
    weight: str | None = None,
    names: Sequence[str] | None = None,
) -> BinaryTable:
    """Read tables whose columns have two states; all columns but some, or those of ``names``."""
    sources = [_opened(path, role) for path in paths]
    wanted = _chosen(sources[0], drop, weight) if names is None else tuple(names)
    n_rows = sum(source.n_rows or 0 for source in sources)
    needed = CELL_BYTES * n_rows * len(wanted)
    if needed > max_memory:
        raise ValueError(
            f"max-memory must be at least {needed / 2**20:,.0f}M for {n_rows:,} rows of "
            f"{len(wanted):,} columns, got {max_memory / 2**20:,.0f}M: raise --max-memory, or "
            "--drop columns"
        )
    task = progress.add_task("reading", total=n_rows, note="")
    parts, weights = [], []
    for source in sources:
        needs = wanted if weight is None else (*wanted, weight)
        lacking = [name for name in needs if name not in source.names]
        if lacking:
            raise ValueError(f"{source.path} must have a column {lacking[0]!r}, got none")
        for start, chunk in _counted(source):
            block = binary_block(source.path, chunk, wanted, start, gaps=False)
            parts.append(block.astype(np.int8))
            if weight is not None:
                weights.append(_weights(source.path, weight, chunk[weight]))
            progress.update(task, advance=len(block))
    return BinaryTable(wanted, np.concatenate(parts), np.concatenate(weights) if weights else None)


def _opened(path: Path, role: str) -> TableSource:
    if path.suffix.lower() not in (".csv", ".npy", ".npz", ".parquet"):
        raise ValueError(
            f"{role} must be a table (.csv, .npy, .npz, .parquet) for a Boltzmann machine, got "
            f"{str(path)!r}"
        )
    return open_table(path)


def _chosen(source: TableSource, drop: Collection[str], weight: str | None) -> tuple[str, ...]:
    for role, names in (("drop", drop), ("weight", [] if weight is None else [weight])):
        for name in names:
            if name not in source.names:
                raise ValueError(f"{role} must name a column of {source.path}, got {name!r}")
    left = tuple(name for name in source.names if name not in drop and name != weight)
    if not left:
        raise ValueError(f"{source.path} must have a column left to learn from, got none")
    return left


def _counted(source: TableSource) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
    """Give chunks with the number of their first row."""
    start = 0
    for chunk in source.chunks(CHUNK_BYTES):
        heed_signals()
        yield start, chunk
        start += len(next(iter(chunk.values())))


def binary_block(
    path: Path,
    chunk: Mapping[str, NDArray[Any]],
    names: Sequence[str],
    start: int,
    *,
    gaps: bool,
    states: Collection[int] = STATES,
) -> NDArray[np.float64]:
    """Give columns of a chunk as numbers, NaN for gaps; what is no state is refused by its place.

    Parameters
    ----------
    path : Path
        The file, for errors.
    chunk : mapping of name to column
        Some rows.
    names : sequence of str
        Columns that are wanted.
    start : int
        Number of the first row.
    gaps : bool
        Whether cells may be empty.
    states : collection of int
        What cells may hold.
    """
    rule = " or ".join(map(str, states)) if len(states) == 2 else "0 and 1, or -1 and 1"
    block = np.empty((len(next(iter(chunk.values()))), len(names)))
    for j, name in enumerate(names):
        values = _as_numbers(chunk[name])
        empty = np.isnan(values)
        wrong = ~empty & ~np.isin(values, list(states))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            remedy = "" if gaps else f": --drop {name}"
            raise ValueError(
                f"column {name!r} of {path} must hold {rule}, got "
                f"{chunk[name].tolist()[row]!r} in row {start + row}{remedy}"
            )
        if not gaps and empty.any():
            row = start + int(np.flatnonzero(empty)[0])
            raise ValueError(
                f"column {name!r} of {path} must have a value in every row, got none in row "
                f"{row}: leave such rows out, or --drop {name}"
            )
        block[:, j] = values
    return block


def _as_numbers(column: NDArray[Any]) -> NDArray[np.float64]:
    """Give a column as floats: NaN for gaps, infinity for words."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    values = [
        np.nan if cell is None else np.inf if isinstance(cell, str) else float(cell)
        for cell in column.tolist()
    ]
    return np.array(values)


def _weights(path: Path, name: str, column: NDArray[Any]) -> NDArray[np.float64]:
    values = _as_numbers(column)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(f"column {name!r} of {path} must hold weights from 0 on, got others")
    return values
