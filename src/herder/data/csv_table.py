"""Comma-separated text: types are found in a first pass over the whole file."""

import csv
import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from herder.data.source import TEXT_BYTES, Chunk, TableSource

__all__ = ["open_csv", "write_csv"]

#: Fields looked at together while the types are found.
CSV_BLOCK = 2**17

# No leading zeros: codes such as 007 are labels, and would not come back out as they were.
_INT = re.compile(r"0|-?[1-9][0-9]*")
_FLOAT = re.compile(
    r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?(nan|inf|infinity)",
    re.IGNORECASE,
)


def open_csv(path: Path) -> TableSource:
    """Check every row and find the types of the columns."""
    rows = _rows(path)
    names = tuple(next(rows))
    if all(_FLOAT.fullmatch(name) for name in names):
        found = f"a first row of numbers, {', '.join(names[:4])}"
        raise ValueError(f"{path} must begin with a row of column names, got {found}")
    other = re.search("[;\t]", names[0]) if len(names) == 1 else None
    if "" in names:
        raise ValueError(f"{path} must name every column, got no name for {names.index('') + 1}")
    kinds = ["int"] * len(names)
    missing, valued = [False] * len(names), [False] * len(names)
    n_rows = 0
    while block := list(islice(rows, max(1, CSV_BLOCK // len(names)))):
        if other and not n_rows and all(other[0] in row[0] for row in block):
            raise ValueError(f"{path} must separate its columns by commas, got {names[0]!r}")
        n_rows += len(block)
        for j, column in enumerate(zip(*block, strict=True)):
            fields = set(column)
            missing[j] |= "" in fields
            fields.discard("")
            valued[j] |= bool(fields)
            kinds[j] = _kind(kinds[j], fields)
    # A column of nothing but missing values has no type; as text it holds only None.
    parsers = [
        _parser(kind if some else "text", gaps)
        for kind, some, gaps in zip(kinds, valued, missing, strict=True)
    ]

    def read(n: int) -> Iterator[Chunk]:
        rows = _rows(path)
        next(rows)
        while block := list(islice(rows, n)):
            columns = zip(names, parsers, zip(*block, strict=True), strict=True)
            yield {name: parse(column) for name, parse, column in columns}

    return TableSource(path, names, n_rows, len(names) * (TEXT_BYTES + 8), read)


def _rows(path: Path) -> Iterator[list[str]]:
    """Yield the header and the rows, all of one length; blank lines do not count."""
    width = None
    with open(path, newline="", encoding="utf-8-sig") as stream:
        reader = csv.reader(stream, strict=True)
        try:
            for row in reader:
                if not row:
                    continue
                if width is None:
                    width = len(row)
                elif len(row) != width:
                    where = f"{len(row)} in line {reader.line_num}"
                    raise ValueError(f"{path} must have {width} fields in every row, got {where}")
                yield row
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} must be UTF-8 text, got: {error}") from error
        except csv.Error as error:
            where = f"line {reader.line_num}: {error}"
            raise ValueError(f"{path} must be comma-separated text, got {where}") from error
    if width is None:
        raise ValueError(f"{path} must hold a table, got only blank lines")


def _kind(kind: str, fields: set[str]) -> str:
    """Narrowest of int, float and text that holds ``fields`` and all that ``kind`` held."""
    if kind == "text":
        return kind
    for field in fields:
        if _INT.fullmatch(field):
            # A number of more than 19 digits is an identifier: as float it would lose digits.
            if len(field) > 18 and not -(2**63) <= int(field) < 2**63:
                return "text"
        elif _FLOAT.fullmatch(field):
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
