"""What the table formats share."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TEXT_BYTES", "Chunk", "TableSource", "UnfitError", "as_text", "silent", "width"]

Chunk = dict[str, NDArray[Any]]

#: Default size of a chunk in memory: many thousand rows, and little beside any laptop's memory.
CHUNK_BYTES = 64 * 2**20
#: A short Python string and the reference to it; used only to choose the rows of a chunk.
TEXT_BYTES = 64


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table file, checked when it was opened, whose rows can be read again and again."""

    path: Path
    names: tuple[str, ...]
    n_rows: int | None
    row_bytes: int
    read: Callable[[int], Iterator[Chunk]]

    def chunks(self, max_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
        """Yield the columns of consecutive blocks of rows, each block of about ``max_bytes``."""
        return self.read(max(1, max_bytes // max(1, self.row_bytes)))


class UnfitError(Exception):
    """A column that the format cannot hold; `write_table` adds the file's name."""


def as_text(values: NDArray[Any]) -> NDArray[Any]:
    """Fixed-width text as objects, so that a text column is the same from every format."""
    return values.astype(object) if values.dtype.kind == "U" else values


def width(dtype: np.dtype[Any]) -> int:
    """Bytes of one value in memory, roughly."""
    return TEXT_BYTES + dtype.itemsize if dtype.kind in "OU" else dtype.itemsize


def silent(share: float, note: str) -> None:
    """Report no progress."""
