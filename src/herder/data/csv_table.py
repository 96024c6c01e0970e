"""Comma-separated text whose rows know their lines.

A first pass over the whole file finds the types of the columns, and rows that are broken: those
with more or fewer fields than the header. The types are those of all other rows: a column with one
word among its numbers is text, and whoever wants numbers from it finds the line of the word.
"""

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from herder.data.broken import BrokenRows
from herder.data.numerals import is_int, is_number, is_special
from herder.data.source import TEXT_BYTES, Block, BrokenRow, Chunk, TableSource

__all__ = ["is_csv_number", "open_csv", "write_csv", "write_csv_rows"]

#: Fields looked at together while the types are found.
CSV_BLOCK = 2**17

Record = tuple[int, list[str]]


def open_csv(path: Path, broken: BrokenRows) -> TableSource:
    """Look through a file and find the types of its columns; ``broken`` takes broken rows."""
    records = _records(path)
    names = _header(path, next(records)[1])
    kinds = ["int"] * len(names)
    missing, valued = [False] * len(names), [False] * len(names)
    n_rows = 0
    while block := list(islice(records, max(1, CSV_BLOCK // len(names)))):
        if not n_rows:
            _require_commas(path, names, block)
        rows, odd = _parted(block, len(names))
        broken.add(path, "line", odd)
        n_rows += len(rows)
        for j, column in enumerate(zip(*(row for _, row in rows), strict=True)):
            fields = set(column)
            missing[j] |= "" in fields
            fields.discard("")
            valued[j] |= bool(fields)
            kinds[j] = _kind(kinds[j], fields)
    if broken.count and not n_rows:
        raise ValueError(f"{path} must hold at least one row, got {broken.lines()[0]}")
    # A column of nothing but missing values has no type; as text it holds only None.
    parsers = [
        _parser(kind if some else "text", gaps)
        for kind, some, gaps in zip(kinds, valued, missing, strict=True)
    ]

    def read(n: int) -> Iterator[Block]:
        records = _records(path)
        next(records)
        while block := list(islice(records, n)):
            rows, odd = _parted(block, len(names))
            columns = zip(*(row for _, row in rows), strict=True) if rows else [()] * len(names)
            parsed = zip(names, parsers, columns, strict=True)
            lines = np.array([line for line, _ in rows], np.int64)
            yield Block({name: parse(column) for name, parse, column in parsed}, lines, odd)

    return TableSource(path, names, n_rows, len(names) * (TEXT_BYTES + 8), read, "line")


def is_csv_number(field: str) -> bool:
    """Whether a field is a number; 007 and whole numbers beyond 64 bits are codes."""
    return _kind("int", {field}) != "text"


def _header(path: Path, names: list[str]) -> tuple[str, ...]:
    if all(is_number(name) or is_special(name) for name in names):
        found = f"a first row of numbers, {', '.join(names[:4])}"
        raise ValueError(f"{path} must begin with a row of column names, got {found}")
    if "" in names:
        raise ValueError(f"{path} must name every column, got no name for {names.index('') + 1}")
    return tuple(names)


def _require_commas(path: Path, names: tuple[str, ...], block: list[Record]) -> None:
    """Refuse a file whose columns seem to be separated by something else."""
    for other in ";\t" if len(names) == 1 else "":
        if other in names[0] and all(other in row[0] for _, row in block):
            raise ValueError(f"{path} must separate its columns by commas, got {names[0]!r}")


def _records(path: Path) -> Iterator[Record]:
    """Yield the header and the rows with the lines that they begin on, without blank lines."""
    before, is_empty = 0, True
    with open(path, newline="", encoding="utf-8-sig") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            for row in reader:
                if row:
                    is_empty = False
                    yield before + 1, row
                before = reader.line_num
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} must be UTF-8 text, got: {error}") from error
        except csv.Error as error:
            where = f"line {before + 1}: {error}"
            raise ValueError(f"{path} must be comma-separated text, got {where}") from error
    if is_empty:
        raise ValueError(f"{path} must hold a table, got only blank lines")


def _parted(block: list[Record], width: int) -> tuple[list[Record], list[BrokenRow]]:
    """Part whole rows from those of another length."""
    rule = f"must have {width} fields, as the header has"
    broken = [(line, rule, str(len(row))) for line, row in block if len(row) != width]
    if not broken:
        return block, []
    return [record for record in block if len(record[1]) == width], broken


def _kind(kind: str, fields: set[str]) -> str:
    """Narrowest of int, float and text that holds ``fields`` and all that ``kind`` held."""
    if kind == "text":
        return kind
    for field in fields:
        if is_int(field):
            # A number of more than 19 digits is an identifier: as float it would lose digits.
            if len(field) > 18 and not -(2**63) <= int(field) < 2**63:
                return "text"
        elif is_number(field) or is_special(field):
            kind = "float"
        else:
            return "text"
    return kind


def _parser(kind: str, missing: bool) -> Callable[[Sequence[str]], NDArray[Any]]:
    if kind == "float":
        return lambda column: np.array([float(f) if f else math.nan for f in column], np.float64)
    if kind == "text":
        return lambda column: np.array([f or None for f in column], object)
    if missing:
        return lambda column: np.array([int(f) if f else None for f in column], object)
    return lambda column: np.array([int(f) for f in column], np.int64)


class _UnixLines:
    """Ends lines in LF; csv quotes every carriage return only when its own lines end in CRLF."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, row: str) -> None:
        self.stream.write(row[:-2] + "\n")


def write_csv(part: Path, names: tuple[str, ...], chunks: Iterator[Chunk]) -> None:
    """Write a header and rows; None is an empty field."""
    with open(part, "w", newline="", encoding="utf-8") as stream:
        write_csv_rows(stream, names, chunks)


def write_csv_rows(stream: IO[str], names: Sequence[str], chunks: Iterable[Chunk]) -> None:
    """Write a header and rows to an open text file."""
    writer = csv.writer(_UnixLines(stream), lineterminator="\r\n")
    writer.writerow(names)
    for chunk in chunks:
        writer.writerows(zip(*(_fields(chunk[name]) for name in names), strict=True))


def _fields(column: NDArray[Any]) -> list[Any]:
    if column.dtype.kind == "f" and column.dtype.itemsize != 8:
        return column.astype(str).tolist()  # the shortest text in its own precision
    if column.dtype.kind == "O":
        return [item.item() if isinstance(item, np.generic) else item for item in column]
    return column.tolist()
