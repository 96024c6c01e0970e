"""Tables and count files as the verbs read them: in chunks, never whole."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress

from herder.cli._border import heed_signals
from herder.data import TableSource, open_table
from herder.data.variables import encode
from herder.fields.diagnostics import RowIndex
from herder.models.moments import Moments

__all__ = [
    "Reading",
    "TableFacts",
    "count_table",
    "describe_cliques",
    "is_count_file",
    "look_again",
    "open_input",
]

#: A chunk takes at most this part of the memory limit: coding it needs several copies.
CHUNK_SHARE = 16

#: And at most this many bytes, beyond which nothing gets faster.
MAX_CHUNK = 64 * 2**20


@dataclass(frozen=True)
class Reading:
    """How a table is read."""

    missing: str
    bins: int | Mapping[str, int] | None
    max_memory: int

    def chunks(self, source: TableSource) -> Iterator[dict[str, NDArray[Any]]]:
        """Give blocks of rows that keep to the memory limit."""
        return source.chunks(min(MAX_CHUNK, self.max_memory // CHUNK_SHARE))


def is_count_file(path: Path) -> bool:
    """Whether the columns of a file are those of a plain table of counts."""
    if path.suffix.lower() == ".csv" and path.is_file():
        # only the header: a file typed by hand need not be a regular table
        with open(path, newline="", encoding="utf-8-sig", errors="replace") as stream:
            names = next(csv.reader(stream), [])
    else:
        names = list(open_table(path).names)
    found = {name.strip().lower() for name in names}
    looks = found & {"variable_a", "variable_b", "count", "total"}
    if {"variable_a", "count"} <= found:
        return True
    if len(looks) == 3:
        (lacking,) = {"variable_a", "count"} - looks
        raise ValueError(
            f"{path} must have a column {lacking!r} to be a file of counts, got {', '.join(names)}"
        )
    return False


def count_table(source: TableSource, order: int, reading: Reading, progress: Progress) -> Moments:
    """Count a table in one pass."""
    chunks = _watched(source, reading, progress, "counting")
    first = next(chunks)
    _require_room(first, order, reading)
    return Moments.from_chunks(
        _chain(first, chunks), order, missing=reading.missing, bins=reading.bins
    )


def _chain(first: dict[str, Any], rest: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    yield first
    yield from rest


def _require_room(chunk: dict[str, NDArray[Any]], order: int, reading: Reading) -> None:
    """Refuse tables of counts that exceed the memory limit, and name the widest column."""
    variables = encode(chunk, missing=reading.missing, bins=reading.bins).variables
    n_values = np.array([variable.n_values for variable in variables], dtype=float)
    # power sums give the elementary symmetric ones: the cells of all singles, pairs, triples
    p1, p2, p3 = n_values.sum(), (n_values**2).sum(), (n_values**3).sum()
    cells = [p1, (p1**2 - p2) / 2, (p1**3 - 3 * p1 * p2 + 2 * p3) / 6]
    needed = 8 * sum(cells[: min(order, len(variables))])
    # the tables, their sum with a new chunk, the weights and a copy of them
    if 4 * needed > reading.max_memory:
        widest = variables[int(n_values.argmax())]
        raise ValueError(
            f"counts must fit the memory limit, got tables of {needed / 2**20:,.0f} MiB; the "
            f"widest column is {widest.name!r} with {widest.n_values} values: leave it out, "
            f"cut numbers into bins (--bins 5), or raise --max-memory"
        )


@dataclass(frozen=True)
class TableFacts:
    """What a second look at a table tells.

    Parameters
    ----------
    copies : RowIndex
        Knows its rows by their hashes.
    ones : ndarray or None
        P(k), when all columns are 0/1.
    rows : ndarray or None
        Distinct rows to restart from, when they were wanted.
    """

    copies: RowIndex
    ones: NDArray[np.float64] | None
    rows: NDArray[np.integer] | None


def look_again(
    source: TableSource, moments: Moments, reading: Reading, progress: Progress, *, keep_rows: int
) -> TableFacts:
    """Read a table once more: hash its rows, count its ones, keep ``keep_rows`` of them."""
    width, n_rows = moments.n_variables, source.n_rows
    ones = np.zeros(width + 1, dtype=np.int64)
    stride = -(-n_rows // max(keep_rows, 1))  # rounded up: at most keep_rows
    kept: list[NDArray[np.integer]] = []

    def coded() -> Iterator[NDArray[np.integer]]:
        seen = 0
        for chunk in _watched(source, reading, progress, "hashing rows"):
            rows = encode(chunk, variables=moments.variables, missing=reading.missing).rows
            if _is_switched(moments):
                ones[:] += np.bincount(rows.sum(axis=1, dtype=np.intp), minlength=width + 1)
            if keep_rows:
                kept.append(rows[-seen % stride :: stride])
            seen += len(rows)
            yield rows

    return TableFacts(
        RowIndex.over(coded(), n_rows=n_rows, max_memory=reading.max_memory),
        ones / n_rows if _is_switched(moments) else None,
        np.unique(np.concatenate(kept), axis=0) if keep_rows else None,
    )


def _is_switched(moments: Moments) -> bool:
    return all(variable.is_binary for variable in moments.variables)


def _watched(
    source: TableSource, reading: Reading, progress: Progress, what: str
) -> Iterator[dict[str, NDArray[Any]]]:
    task = progress.add_task(what, total=source.n_rows, note="")
    seen = 0
    for chunk in reading.chunks(source):
        heed_signals()
        yield chunk
        n = len(next(iter(chunk.values())))
        seen += n
        progress.update(task, advance=n, note=f"{seen:,} rows")


def open_input(path: Path, progress: Progress) -> TableSource:
    """Open a table or a file of counts; a long text file is looked through here."""
    task = progress.add_task(f"opening {path.name}", total=None, note="")
    source = open_table(path)
    progress.update(task, total=1, completed=1)
    return source


def describe_cliques(moments: Moments) -> str:
    """Say how many tables of counts there are: ``30 single columns, 435 pairs``."""
    words = {1: "single column", 2: "pair", 3: "triple"}
    sizes = [len(clique) for clique in moments.cliques]
    parts = []
    for size in sorted(set(sizes)):
        n = sizes.count(size)
        parts.append(f"{n:,} {words.get(size, f'group of {size}')}{'s' if n > 1 else ''}")
    return ", ".join(parts)
