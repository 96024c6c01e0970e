"""Table files of two states, 0/1 or -1/+1, with or without gaps."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, with_nearest
from herder._validation import require_memory
from herder.core.lanes import Progress
from herder.data.numerals import as_floats, is_number
from herder.data.source import Block, TableSource, silent
from herder.data.tables import TABLE_SUFFIXES, open_table

__all__ = ["BinaryTable", "binary_block", "read_binary"]

#: Bytes of a chunk of a table.
CHUNK_BYTES = 16 * 2**20

#: Bytes for a cell while a machine is fitted: as it was read, checked, and as numbers.
CELL_BYTES = 18

#: Words for a gap, in small letters.
GAPS = ("na", "n/a", "nan", "null", "none", "?")


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


def read_binary(
    paths: Sequence[Path],
    *,
    role: str,
    max_memory: int,
    drop: Collection[str] = (),
    weight: str | None = None,
    like: BinaryTable | None = None,
    skip_gaps: bool = False,
    progress: Progress = silent,
) -> BinaryTable:
    """Read tables whose columns have two states each.

    Parameters
    ----------
    paths : sequence of Path
        The tables.
    role : str
        What they are for, for errors.
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
    progress : callable, optional
        Called with the share that has been read, and what is being done.
    """
    for path in paths:
        if path.suffix.lower() not in TABLE_SUFFIXES:
            raise ParameterError(role, f"be a table ({', '.join(TABLE_SUFFIXES)})", str(path))
    sources = [open_table(path, max_memory=max_memory) for path in paths]
    wanted = _chosen(sources[0], drop, weight) if like is None else like.names
    if like is not None and not all(weight in source.names for source in sources):
        weight = None
    n_rows, n_read = sum(source.n_rows for source in sources), 0
    needed = CELL_BYTES * n_rows * len(wanted)
    what = f"{n_rows:,} rows of {len(wanted):,} columns"
    require_memory(needed, max_memory, what, "pass drop=NAME for columns that are not needed")
    parts, weights = [], []
    for source in sources:
        needs = wanted if weight is None else (*wanted, weight)
        known = set(source.names)
        lacking = [name for name in needs if name not in known]
        if lacking:
            raise ValueError(f"{source.path} must have a column {lacking[0]!r}, got none")
        for block in source.blocks(CHUNK_BYTES):
            states = None if like is None else like.states
            cells = binary_block(source, block, wanted, states=states, learning=True)
            gaps = np.isnan(cells)
            if gaps.any() and not skip_gaps:
                row, column = np.argwhere(gaps)[0]
                raise ValueError(
                    f"column {wanted[column]!r} of {source.path} must have a value in every row, "
                    f"got none in {source.unit} {block.places[row]:,}: pass skip_gaps=True to "
                    f"leave such rows out, or pass drop={wanted[column]}"
                )
            full = ~gaps.any(axis=1)
            parts.append(cells[full].astype(np.int8))
            if weight is not None:
                weights.append(_weights(source, weight, block.columns[weight][full]))
            n_read += len(block)
            progress(n_read / n_rows, "reading")
    rows = np.concatenate(parts)
    if not len(rows):
        raise ValueError(f"{', '.join(map(str, paths))} must have a row without gaps, got none")
    skipped = n_read - len(rows)
    return BinaryTable(wanted, rows, np.concatenate(weights) if weights else None, skipped)


def _chosen(source: TableSource, drop: Collection[str], weight: str | None) -> tuple[str, ...]:
    for role, name in [*(("drop", name) for name in drop), ("weight", weight)]:
        if name is not None and name not in source.names:
            rule = f"name a column of {source.path}"
            raise ParameterError(role, rule, got=with_nearest(name, source.names))
    left = tuple(name for name in source.names if name not in drop and name != weight)
    if not left:
        raise ValueError(f"{source.path} must have a column left to learn from, got none")
    return left


def binary_block(
    source: TableSource,
    block: Block,
    names: Sequence[str],
    *,
    states: tuple[int, int] | None = None,
    learning: bool = False,
) -> NDArray[np.float64]:
    """Return columns as numbers, NaN for gaps; other values are refused with their place.

    Parameters
    ----------
    source : TableSource
        The table, for errors.
    block : Block
        Some of its rows.
    names : sequence of str
        Columns that are wanted.
    states : tuple of int, optional
        What cells may hold; both alphabets without it.
    learning : bool
        Whether columns can be left out, for errors.
    """
    found = np.empty((len(block), len(names)))
    for j, name in enumerate(names):
        found[:, j] = values = as_floats(block.columns[name], _read_state)
        wrong = ~np.isnan(values) & ~np.isin(values, states or (-1, 0, 1))
        if wrong.any():
            row = int(wrong.argmax())
            cell = block.columns[name].tolist()[row]
            low, high = states or (0, 1)
            rule = f"{low} or {high}" if states else "0 and 1, or -1 and 1"
            remedy = ""
            if learning:
                remedy = f": recode it as {low} and {high}, or pass drop={name}"
            elif isinstance(cell, str):
                remedy = ": gaps are empty cells, NA, N/A, NaN, null, None and ?"
            raise ValueError(
                f"column {name!r} of {source.path} must hold {rule}, got {cell!r} in "
                f"{source.unit} {block.places[row]:,}{remedy}"
            )
    return found


def _read_state(cell: str) -> float:
    """Read a cell of a column with words in it: NaN for a gap, infinity for any other word."""
    word = cell.strip()
    if is_number(word):
        return float(word)
    return np.nan if word.lower() in GAPS else np.inf


def _weights(source: TableSource, name: str, column: NDArray[Any]) -> NDArray[np.float64]:
    values = as_floats(column, lambda _: np.nan)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(f"column {name!r} of {source.path} must hold weights of at least 0")
    return values
