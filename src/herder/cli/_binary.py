"""Tables of two states as the verbs read them: 0/1 or -1/+1, with or without gaps."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress

from herder._errors import ParameterError
from herder.cli._border import heed_signals
from herder.data import TableSource, open_table

__all__ = ["BinaryTable", "binary_block", "numbered_chunks", "read_binary"]

#: Bytes of a chunk of a table.
CHUNK_BYTES = 16 * 2**20

#: Bytes for a cell while a machine is fitted: as it was read, checked, and as numbers.
CELL_BYTES = 18

#: What a cell may hold.
STATES = (-1, 0, 1)

#: Words for a gap, in small letters.
GAPS = ("na", "n/a", "nan", "null", "none", "?")

# A column with a word in it is text, its numbers too.
_STATE = re.compile(r"[+-]?[01](\.0*)?")


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
    skipped : int
        Rows with gaps, which were left out.
    """

    names: tuple[str, ...]
    rows: NDArray[np.int8]
    weight: NDArray[np.float64] | None
    skipped: int = 0

    @property
    def columns(self) -> dict[str, NDArray[np.int8]]:
        """The columns by name."""
        return dict(zip(self.names, self.rows.T, strict=True))

    @property
    def states(self) -> tuple[int, int]:
        """The two states of a cell."""
        return (-1, 1) if (self.rows == -1).any() else (0, 1)

    @property
    def codes(self) -> NDArray[np.uint8]:
        """The rows, 1 for the upper state and 0 for the lower one."""
        return (self.rows == 1).astype(np.uint8)


def read_binary(
    paths: Sequence[Path],
    *,
    role: str,
    progress: Progress,
    max_memory: int,
    drop: Collection[str] = (),
    weight: str | None = None,
    like: BinaryTable | None = None,
    skip_gaps: bool = False,
) -> BinaryTable:
    """Read tables whose columns have two states.

    Parameters
    ----------
    paths : sequence of Path
        The tables.
    role : str
        What they are for, for errors.
    progress : Progress
        Shows how far it is.
    max_memory : int
        Bytes that they may take.
    drop : collection of str
        Columns that are not wanted.
    weight : str, optional
        Column of weights; of a table ``like`` another it may be missing.
    like : BinaryTable, optional
        Read the columns and the states of this one.
    skip_gaps : bool
        Whether rows with gaps are left out.
    """
    sources = [_opened(path, role) for path in paths]
    wanted = _chosen(sources[0], drop, weight) if like is None else like.names
    if like is not None and not all(weight in source.names for source in sources):
        weight = None
    states = STATES if like is None else like.states
    n_rows = sum(source.n_rows or 0 for source in sources)
    needed = CELL_BYTES * n_rows * len(wanted)
    if needed > max_memory:
        raise ParameterError(
            "max_memory",
            f"be at least {needed / 2**20:,.0f}M for {n_rows:,} rows of {len(wanted):,} columns",
            got=f"{max_memory / 2**20:,.0f}M: raise --max-memory, or --drop columns",
        )
    task = progress.add_task("reading", total=n_rows, note="")
    parts, weights, skipped = [], [], 0
    for source in sources:
        needs = wanted if weight is None else (*wanted, weight)
        lacking = [name for name in needs if name not in source.names]
        if lacking:
            raise ValueError(f"{source.path} must have a column {lacking[0]!r}, got none")
        for start, chunk in numbered_chunks(source, CHUNK_BYTES):
            block = binary_block(source.path, chunk, wanted, start, states=states, learning=True)
            full = ~np.isnan(block).any(axis=1)
            if not skip_gaps:
                _require_full(source.path, block, wanted, start)
            parts.append(block[full].astype(np.int8))
            skipped += int((~full).sum())
            if weight is not None:
                weights.append(_weights(source.path, weight, chunk[weight][full]))
            progress.update(task, advance=len(block))
    rows = np.concatenate(parts)
    if not len(rows):
        named = ", ".join(map(str, paths))
        raise ValueError(
            f"{named} must have a row without gaps, got {skipped:,} with: --drop columns"
        )
    return BinaryTable(wanted, rows, np.concatenate(weights) if weights else None, skipped)


def _require_full(
    path: Path, block: NDArray[np.float64], names: Sequence[str], start: int
) -> None:
    """Refuse gaps."""
    empty = np.isnan(block)
    if not empty.any():
        return
    column = int(np.flatnonzero(empty.any(axis=0))[0])
    row = start + int(np.flatnonzero(empty[:, column])[0])
    raise ValueError(
        f"column {names[column]!r} of {path} must have a value in every row, got none in row "
        f"{row}: --skip-gaps leaves such rows out, or --drop {names[column]}"
    )


def _opened(path: Path, role: str) -> TableSource:
    if path.suffix.lower() not in (".csv", ".npy", ".npz", ".parquet"):
        raise ParameterError(
            role, "be a table (.csv, .npy, .npz, .parquet) for a Boltzmann machine", str(path)
        )
    return open_table(path)


def _chosen(source: TableSource, drop: Collection[str], weight: str | None) -> tuple[str, ...]:
    for role, names in (("drop", drop), ("weight", [] if weight is None else [weight])):
        for name in names:
            if name not in source.names:
                raise ParameterError(role, f"name a column of {source.path}", name)
    left = tuple(name for name in source.names if name not in drop and name != weight)
    if not left:
        raise ValueError(f"{source.path} must have a column left to learn from, got none")
    return left


def numbered_chunks(
    source: TableSource, n_bytes: int
) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
    """Give chunks with the number of their first row."""
    start = 0
    for chunk in source.chunks(n_bytes):
        heed_signals()
        yield start, chunk
        start += len(next(iter(chunk.values())))


def binary_block(
    path: Path,
    chunk: Mapping[str, NDArray[Any]],
    names: Sequence[str],
    start: int,
    *,
    states: Collection[int] = STATES,
    learning: bool = False,
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
    states : collection of int
        What cells may hold.
    learning : bool
        Whether columns can be left out, for errors.
    """
    rule = " or ".join(map(str, states)) if len(states) == 2 else "0 and 1, or -1 and 1"
    block = np.empty((len(next(iter(chunk.values()))), len(names)))
    for j, name in enumerate(names):
        values = _as_numbers(chunk[name])
        wrong = ~np.isnan(values) & ~np.isin(values, list(states))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            cell = chunk[name].tolist()[row]
            raise ValueError(
                f"column {name!r} of {path} must hold {rule}, got {cell!r} in row {start + row}"
                + _remedy(name, cell, states, learning)
            )
        block[:, j] = values
    return block


def _remedy(name: str, cell: object, states: Collection[int], learning: bool) -> str:
    if learning:
        low, high = states if len(states) == 2 else (0, 1)
        return f": recode it as {low} and {high}, or --drop {name}"
    if isinstance(cell, str):
        return ": gaps are empty cells, NA, N/A, NaN, null, None and ?"
    return ""


def _as_numbers(column: NDArray[Any]) -> NDArray[np.float64]:
    """Give a column as floats: NaN for gaps, infinity for other words."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    return np.array([_as_number(cell) for cell in column.tolist()])


def _as_number(cell: Any) -> float:
    if cell is None:
        return np.nan
    if not isinstance(cell, str):
        return float(cell)
    word = cell.strip()
    if _STATE.fullmatch(word):
        return float(word)
    return np.nan if word.lower() in GAPS else np.inf


def _weights(path: Path, name: str, column: NDArray[Any]) -> NDArray[np.float64]:
    words = (cell is None or isinstance(cell, str) for cell in column.tolist())
    values = np.where(np.fromiter(words, bool), np.nan, column).astype(np.float64)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(f"column {name!r} of {path} must hold weights from 0 on, got others")
    return values
