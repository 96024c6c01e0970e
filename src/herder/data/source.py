"""What the table formats share.

A file is read more than once: to check it, to count its rows, to take some of them. So an opened
source remembers the size and the time of its file, and refuses a file that was changed since.
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import require_memory

__all__ = [
    "TEXT_BYTES",
    "Block",
    "BrokenRow",
    "Chunk",
    "TableSource",
    "UnfitError",
    "as_path",
    "as_text",
    "existing_file",
    "file_stamp",
    "repeated",
    "require_room",
    "require_unchanged",
    "silent",
    "width",
]

Chunk = dict[str, NDArray[Any]]

#: Line or row, what it must have, and what it has.
BrokenRow = tuple[int, str, str]

#: Default size of a chunk in memory: many thousand rows, and little beside any laptop's memory.
CHUNK_BYTES = 64 * 2**20
#: A chunk within a memory limit takes at most this part of it: coding rows needs several copies.
CHUNK_SHARE = 16
#: A short Python string and the reference to it; used only to choose the rows of a chunk.
TEXT_BYTES = 64


@dataclass(frozen=True, slots=True)
class Block:
    """Some consecutive rows of a table file.

    Parameters
    ----------
    columns : dict of ndarray
        Their columns.
    places : ndarray of shape (n,)
        The line that each row begins on, the header being line 1; of a file that has no lines
        the number of each row, from 1.
    broken : list of BrokenRow
        Rows among them that are left out.
    """

    columns: Chunk
    places: NDArray[np.int64]
    broken: list[BrokenRow] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.places)


def repeated(names: Iterable[Any]) -> Any:
    """Return a name that occurs more than once."""
    return Counter(names).most_common(1)[0][0]


def as_path(path: object) -> Path:
    """Return the name of a file as a path."""
    if not isinstance(path, str | os.PathLike):
        raise ParameterTypeError("path", "be a str or a path", got=type(path).__name__)
    return Path(path)


def existing_file(path: object) -> Path:
    """Return the path of a file that exists: not a folder, a pipe or a device."""
    file = as_path(path)
    if not file.is_file():
        raise FileNotFoundError(f"path must name a file that exists, got {str(path)!r}")
    return file


def file_stamp(path: Path) -> tuple[int, int]:
    """Return size and time of a file, by which a change is noticed."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def require_unchanged(path: Path, stamp: tuple[int, int] | None) -> None:
    """Refuse a file that is not as it was; without a ``stamp`` nothing is known of it."""
    if stamp is not None and file_stamp(path) != stamp:
        raise ValueError(f"{path} must stay as it is while it is read, got a changed file")


def require_room(needed: int, max_memory: int | None, what: str) -> None:
    """Refuse what takes more bytes than the memory limit, if there is one."""
    if max_memory is not None:
        require_memory(needed, max_memory, what)


def silent(share: float, note: str) -> None:
    """Report no progress."""


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table file, checked when it was opened, whose rows can be read again and again.

    Parameters
    ----------
    path : Path
        The file.
    names : tuple of str
        Its columns, or those of them that are wanted.
    n_rows : int
        Rows that are not broken.
    row_bytes : int
        What a row takes in memory, about.
    read : callable
        Yields blocks, or chunks, of a given number of rows.
    unit : {"row", "line"}
        What places of rows count.
    stamp : tuple of int, optional
        Size and time of the file when it was opened.
    """

    path: Path
    names: tuple[str, ...]
    n_rows: int
    row_bytes: int
    read: Callable[[int], Iterator[Block]] | Callable[[int], Iterator[Chunk]]
    unit: str = "row"
    stamp: tuple[int, int] | None = None

    def without(self, names: Collection[str]) -> "TableSource":
        """Return the table without some of its columns."""
        left = tuple(name for name in self.names if name not in names)
        if not left:
            raise ParameterError("drop", f"leave a column of {self.path}", got="all of them")
        return replace(self, names=left)

    def blocks(self, max_bytes: int = CHUNK_BYTES) -> Iterator[Block]:
        """Yield consecutive rows with their places, about ``max_bytes`` at a time."""
        require_unchanged(self.path, self.stamp)
        before = 0
        try:
            for found in self.read(max(1, max_bytes // max(1, self.row_bytes))):
                if isinstance(found, dict):
                    found = Block(found, np.arange(len(found[self.names[0]])) + before + 1)
                before += len(found)
                yield replace(found, columns={name: found.columns[name] for name in self.names})
        except (ValueError, OSError):
            require_unchanged(self.path, self.stamp)  # which explains it better
            raise
        require_unchanged(self.path, self.stamp)
        if before != self.n_rows:
            rule = f"{self.path} must hold the {self.n_rows:,} rows that it had when it was opened"
            raise ValueError(f"{rule}, got {before:,}")

    def place(self, row: int) -> str:
        """Return where a row is, counted from 0: its line, or its number from 1."""
        left = row
        for block in self.blocks():
            if left < len(block):
                return f"{self.unit} {block.places[left]}"
            left -= len(block)
        raise IndexError(f"{self.path} must have a row {row}, got {self.n_rows:,} rows")

    def chunks(self, max_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """Yield the columns of consecutive rows alone."""
        return (block.columns for block in self.blocks(max_bytes) if len(block.places))

    def within(
        self, max_memory: int, what: str, progress: Callable[[float, str], None] = silent
    ) -> Iterator[Chunk]:
        """Yield chunks that keep to a memory limit, and report the progress of ``what``."""
        seen = 0
        for chunk in self.chunks(min(CHUNK_BYTES, max_memory // CHUNK_SHARE)):
            yield chunk
            seen += len(chunk[self.names[0]])
            progress(seen / self.n_rows, f"{what}, {seen:,} rows")

    def spread(self, n_most: int, max_memory: int) -> Chunk | None:
        """Return rows from all over a table of several parts (see `within`), at most so many."""
        max_bytes = min(CHUNK_BYTES, max_memory // CHUNK_SHARE)
        room = max(max_bytes // max(1, self.row_bytes), 1)
        if self.n_rows <= room:
            return None
        places = np.linspace(0, self.n_rows - 1, min(n_most, room)).astype(np.intp)
        return self.take(np.unique(places), max_bytes)

    def whole(self) -> Chunk:
        """Return all columns."""
        chunks = list(self.chunks())
        return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in self.names}

    def take(self, indices: NDArray[np.intp], max_bytes: int = CHUNK_BYTES) -> Chunk:
        """Return all columns of some rows, counted from 0, in the order of ``indices``."""
        order = np.argsort(indices, kind="stable")
        ranked = indices[order]
        parts: list[Chunk] = []
        start = low = 0
        for chunk in self.chunks(max_bytes):
            stop = start + len(chunk[self.names[0]])
            high = int(np.searchsorted(ranked, stop))
            here = ranked[low:high] - start
            parts.append({name: column[here] for name, column in chunk.items()})
            start, low = stop, high
            if low == len(ranked):
                break
        require_unchanged(self.path, self.stamp)
        back = np.argsort(order)
        return {name: np.concatenate([p[name] for p in parts])[back] for name in self.names}


class UnfitError(Exception):
    """A column that the format cannot hold; `write_table` adds the file's name."""


def as_text(values: NDArray[Any]) -> NDArray[Any]:
    """Return fixed-width text as objects, so that every format has the same text columns."""
    return values.astype(object) if values.dtype.kind == "U" else values


def width(dtype: np.dtype[Any]) -> int:
    """Return about how many bytes a value takes in memory."""
    return TEXT_BYTES + dtype.itemsize if dtype.kind in "OU" else dtype.itemsize
