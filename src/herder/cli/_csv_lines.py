"""Comma-separated text whose rows know their lines, so that broken ones can be told or left out.

A row is broken if it has more or fewer fields than the header. The types of the columns are those
of all other rows: a column with one word among its numbers is read as text, and whoever wants
numbers from it finds the line of the word.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from herder.cli._batch import Faults
from herder.cli._border import heed_signals
from herder.data.csv_table import _FLOAT, _kind, _parser
from herder.data.source import TEXT_BYTES, Chunk

__all__ = ["CsvLines", "CsvRows", "is_number", "open_csv_lines"]

#: Fields looked at together while the types are found.
BLOCK_FIELDS = 2**17


@dataclass(frozen=True)
class CsvRows:
    """Some consecutive rows.

    Parameters
    ----------
    chunk : dict of ndarray
        Their columns.
    lines : ndarray of shape (n,)
        The line that each begins on; the header is line 1.
    broken : list of (int, str, str)
        Rows among them that are left out: line, what a row must have, what it has.
    """

    chunk: Chunk
    lines: NDArray[np.int64]
    broken: list[tuple[int, str, str]]


@dataclass(frozen=True)
class CsvLines:
    """A file, checked when it was opened, whose rows can be read again and again.

    Parameters
    ----------
    path : Path
        The file.
    names : tuple of str
        Its columns.
    n_rows : int
        Rows that are not broken.
    kinds : tuple of str
        Types of the columns: "int", "float" or "text".
    gaps : tuple of bool
        Which columns lack values.
    """

    path: Path
    names: tuple[str, ...]
    n_rows: int
    kinds: tuple[str, ...]
    gaps: tuple[bool, ...]

    def rows(self, max_bytes: int) -> Iterator[CsvRows]:
        """Yield blocks of rows, each of about ``max_bytes`` in memory."""
        n = max(1, max_bytes // (len(self.names) * (TEXT_BYTES + 8)))
        parsers = [_parser(kind, gaps) for kind, gaps in zip(self.kinds, self.gaps, strict=True)]
        records = _records(self.path)
        next(records)
        while block := list(islice(records, n)):
            whole, broken = _parted(block, len(self.names))
            columns = (
                zip(*(row for _, row in whole), strict=True) if whole else [()] * len(parsers)
            )
            chunk = {
                name: parse(column)
                for name, parse, column in zip(self.names, parsers, columns, strict=True)
            }
            yield CsvRows(chunk, np.array([line for line, _ in whole], np.int64), broken)

    def chunks(self, max_bytes: int) -> Iterator[Chunk]:
        """Yield the columns alone."""
        return (rows.chunk for rows in self.rows(max_bytes) if len(rows.lines))


def open_csv_lines(path: Path, *, skip_broken: bool) -> CsvLines:
    """Look through a file; its first broken row is an error, unless such rows are left out."""
    if path.stat().st_size == 0:
        raise ValueError(f"{path} must hold a table, got an empty file")
    records = _records(path)
    names = _header(path, next(records)[1])
    faults = Faults(skip_broken)
    kinds = ["int"] * len(names)
    missing, valued = [False] * len(names), [False] * len(names)
    n_rows = 0
    while block := list(islice(records, max(1, BLOCK_FIELDS // len(names)))):
        heed_signals()
        _require_commas(path, names, n_rows, block)
        whole, broken = _parted(block, len(names))
        faults.add(path, "line", broken)
        n_rows += len(whole)
        for j, column in enumerate(zip(*(row for _, row in whole), strict=True)):
            fields = set(column)
            missing[j] |= "" in fields
            fields.discard("")
            valued[j] |= bool(fields)
            kinds[j] = _kind(kinds[j], fields)
    if not n_rows:
        found = faults.lines()[0] if faults.count else "none"
        raise ValueError(f"{path} must hold at least one row, got {found}")
    # a column of nothing but missing values has no type
    found = tuple(kind if some else "text" for kind, some in zip(kinds, valued, strict=True))
    return CsvLines(path, names, n_rows, found, tuple(missing))


def is_number(field: str) -> bool:
    """Whether a field is a number; 007 and numbers of twenty digits are codes."""
    return _kind("int", {field}) != "text"


def _header(path: Path, names: list[str]) -> tuple[str, ...]:
    if all(_FLOAT.fullmatch(name) for name in names):
        found = f"a first row of numbers, {', '.join(names[:4])}"
        raise ValueError(f"{path} must begin with a row of column names, got {found}")
    if "" in names:
        raise ValueError(f"{path} must name every column, got no name for {names.index('') + 1}")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"{path} must have distinct column names, got {min(twice)!r} twice")
    return tuple(names)


def _require_commas(
    path: Path, names: tuple[str, ...], n_rows: int, block: list[tuple[int, list[str]]]
) -> None:
    """Refuse a file whose columns seem to be separated by something else."""
    others = [mark for mark in ";\t" if mark in names[0]] if len(names) == 1 else []
    if others and not n_rows and all(others[0] in row[0] for _, row in block):
        raise ValueError(f"{path} must separate its columns by commas, got {names[0]!r}")


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
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


def _parted(
    block: list[tuple[int, list[str]]], width: int
) -> tuple[list[tuple[int, list[str]]], list[tuple[int, str, str]]]:
    """Part whole rows from those of another length."""
    rule = f"must have {width} fields, as the header has"
    broken = [(line, rule, str(len(row))) for line, row in block if len(row) != width]
    if not broken:
        return block, []
    return [record for record in block if len(record[1]) == width], broken
