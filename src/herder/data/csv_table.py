"""Comma-separated text whose rows know their lines.

A first pass over the whole file finds the types of the columns, and rows that are broken: those
with more or fewer fields than the header. The types are those of all other rows: a column with one
word among its numbers is text, and readers that need numbers can name the line of the word.
"""

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from herder.data.broken import BrokenRows
from herder.data.numerals import INT, NUMBER, SPECIAL
from herder.data.source import TEXT_BYTES, Block, BrokenRow, Chunk, TableSource

__all__ = ["is_csv_number", "open_csv", "write_csv", "write_csv_rows"]

#: Fields that are read at a time while the types are found.
CSV_BLOCK = 2**17

#: Bytes of the longest line, as a file without line ends is no table; and that are read at once.
MAX_LINE, SCANNED = 256 * 2**20, 2**20

#: More digits than any number of 64 bits has; Python refuses to read thousands of them.
MAX_DIGITS = 20


def open_csv(path: Path, broken: BrokenRows) -> TableSource:
    """Open a file after a first pass that finds column types; ``broken`` takes broken rows."""
    _require_text(path)
    _, (first, *_) = next(_blocks(path, 1))
    names = _header(path, first)
    kinds = ["int"] * len(names)
    missing, valued = [False] * len(names), [False] * len(names)
    n_rows = 0
    blocks = _blocks(path, max(1, CSV_BLOCK // len(names)))
    next(blocks)
    for block in blocks:
        if not n_rows:
            _require_commas(path, names, block[1])
        _, rows, odd = _parted(*block, len(names))
        if odd:
            broken.add(path, "line", odd)
        n_rows += len(rows)
        for j, column in enumerate(zip(*rows, strict=True)):
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
        blocks = _blocks(path, n)
        next(blocks)
        for block in blocks:
            lines, rows, odd = _parted(*block, len(names))
            columns = zip(*rows, strict=True) if rows else [()] * len(names)
            parsed = zip(names, parsers, columns, strict=True)
            try:
                chunk = {name: parse(column) for name, parse, column in parsed}
            except (ValueError, OverflowError) as error:
                rule = f"{path} must stay as it is while it is read"
                raise ValueError(f"{rule}, got text that was a number before") from error
            yield Block(chunk, np.array(lines, np.int64), odd)

    return TableSource(path, names, n_rows, len(names) * (TEXT_BYTES + 8), read, "line")


def is_csv_number(field: str) -> bool:
    """Return whether a field is a number; 007 and whole numbers beyond 64 bits are codes."""
    return _kind("int", {field}) != "text"


def _header(path: Path, names: list[str]) -> tuple[str, ...]:
    if all(NUMBER.fullmatch(name) or SPECIAL.fullmatch(name) for name in names):
        found = f"a first row of numbers, {', '.join(names[:4])}"
        raise ValueError(f"{path} must begin with a row of column names, got {found}")
    if "" in names:
        raise ValueError(f"{path} must name every column, got no name for {names.index('') + 1}")
    return tuple(names)


def _require_commas(path: Path, names: tuple[str, ...], rows: list[list[str]]) -> None:
    """Refuse a file whose columns seem to be separated by something else."""
    for other in ";\t" if len(names) == 1 else "":
        if other in names[0] and all(other in row[0] for row in rows):
            raise ValueError(f"{path} must separate its columns by commas, got {names[0]!r}")


def _blocks(path: Path, n: int) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Yield the header, then ``n`` rows at a time, and the lines that they begin on.

    Blank lines do not count.
    """
    lines: list[int] = []
    rows: list[list[str]] = []
    size, before, is_empty = 1, 0, True
    with open(path, newline="", encoding="utf-8-sig") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            for row in reader:
                if row:
                    lines.append(before + 1)
                    rows.append(row)
                    if len(rows) == size:
                        is_empty = False
                        yield lines, rows
                        lines, rows, size = [], [], n
                before = reader.line_num
        except UnicodeDecodeError as error:
            where = f"{error.reason} in line {_undecoded(path):,}"
            raise ValueError(f"{path} must be UTF-8 text, got: {where}") from error
        except csv.Error as error:
            where = f"line {before + 1}: {error}"
            raise ValueError(f"{path} must be comma-separated text, got {where}") from error
    if rows:
        yield lines, rows
    if is_empty:
        raise ValueError(f"{path} must hold a table, got only blank lines")


def _require_text(path: Path) -> None:
    """Refuse what is no text before a line of it fills the memory."""
    line, length = 1, 0
    with open(path, "rb") as stream:
        while block := stream.read(SCANNED):
            nul, last = block.find(b"\0"), block.rfind(b"\n")
            length = length + len(block) if last < 0 else len(block) - last - 1
            if nul >= 0 or length > MAX_LINE:
                line += block.count(b"\n", 0, nul if nul >= 0 else None)
                found = "a NUL" if nul >= 0 else f"more than {MAX_LINE:,} bytes"
                raise ValueError(f"{path} must be text, got {found} in line {line:,}")
            line += block.count(b"\n")


def _undecoded(path: Path) -> int:
    """Return the first line that is not UTF-8: text is decoded in blocks, ahead of its lines."""
    with open(path, "rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 0


def _parted(
    lines: list[int], rows: list[list[str]], width: int
) -> tuple[list[int], list[list[str]], list[BrokenRow]]:
    """Separate complete rows from those of another length."""
    if set(map(len, rows)) == {width}:
        return lines, rows, []
    rule = f"must have {width} fields, as the header has"
    both = list(zip(lines, rows, strict=True))
    whole = [(line, row) for line, row in both if len(row) == width]
    broken = [(line, rule, str(len(row))) for line, row in both if len(row) != width]
    return [line for line, _ in whole], [row for _, row in whole], broken


def _kind(kind: str, fields: set[str]) -> str:
    """Return the narrowest of int, float and text for ``fields`` and all that ``kind`` held."""
    if kind == "text":
        return kind
    for field in fields:
        if not NUMBER.fullmatch(field):
            if not SPECIAL.fullmatch(field):
                return "text"
            kind = "float"
        elif len(field) > 18 and INT.fullmatch(field):
            # A number of more than 19 digits is an identifier: as float it would lose digits.
            if len(field) > MAX_DIGITS or not -(2**63) <= int(field) < 2**63:
                return "text"
        elif kind == "int" and not INT.fullmatch(field):
            kind = "float"
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
    """Write a header and rows; None, NaN and NaT are empty fields."""
    with open(part, "w", newline="", encoding="utf-8") as stream:
        write_csv_rows(stream, names, chunks)


def write_csv_rows(stream: IO[str], names: Sequence[str], chunks: Iterable[Chunk]) -> None:
    """Write a header and rows to an open text file."""
    writer = csv.writer(_UnixLines(stream), lineterminator="\r\n")
    writer.writerow(names)
    for chunk in chunks:
        writer.writerows(zip(*(_fields(chunk[name]) for name in names), strict=True))


def _fields(column: NDArray[Any]) -> list[Any]:
    if column.dtype.kind == "f" and np.isnan(column).any():
        numbers = _fields(column[~np.isnan(column)])
        fields = np.full(len(column), None, dtype=object)
        fields[~np.isnan(column)] = numbers
        return fields.tolist()
    if column.dtype.kind == "f" and column.dtype.itemsize != 8:
        return column.astype(str).tolist()  # the shortest text in its own precision
    if column.dtype.kind == "O":
        return [item.item() if isinstance(item, np.generic) else item for item in column]
    return column.tolist()
