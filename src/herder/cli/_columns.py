"""Rows of named columns as features: numbers as they are, words and categories hashed.

Columns of numbers come first, each a feature. If there are columns of text, as many features
follow as hashing has places; a text column gives its words, a category ``column=value``, and the
words of several text columns are told apart by ``column=word``. A number has one spelling as a
category, whatever else its column holds: 1 and 1.0 are the same value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.cli._batch import Batch, Faults
from herder.cli._csv_lines import CsvLines, CsvRows, is_number
from herder.data import TableSource
from herder.data.hashing import hash_features

__all__ = ["CHUNK_BYTES", "Columns", "Table", "choose_columns", "read_columns"]

#: A table by its rows; of csv files also by its lines.
Table: TypeAlias = TableSource | CsvLines

#: Bytes of one chunk while a table is read; its words take many times that.
CHUNK_BYTES = 4 * 2**20

#: Words as `hash_features` cuts them from a text.
_WORD = re.compile(r"(?u)\b\w\w+\b")

#: Numbers as columns of numbers have them; codes such as 007 are words.
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_CODE = re.compile(r"[+-]?[0-9]+")


@dataclass(frozen=True)
class Columns:
    """What the columns of a table are for; kept with the model.

    Parameters
    ----------
    label : str
        Column of labels.
    numbers : tuple of str
        Columns that are features.
    text : tuple of str
        Columns whose words are features.
    category : tuple of str
        Columns whose values are features.
    hash_bits : int
        The hashed features have 2^hash_bits places.
    """

    label: str
    numbers: tuple[str, ...]
    text: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    hash_bits: int = 20

    @property
    def is_hashed(self) -> bool:
        """Whether there are features without a name."""
        return bool(self.text or self.category)

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.numbers) + (2**self.hash_bits if self.is_hashed else 0)

    def to_json(self) -> dict[str, Any]:
        """Give a plain form."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Take the plain form."""
        lists = {name: tuple(plain[name]) for name in ("numbers", "text", "category")}
        return cls(label=plain["label"], hash_bits=plain["hash_bits"], **lists)

    def tokens(self, chunk: Mapping[str, NDArray[Any]]) -> list[list[str]]:
        """Give the names that are hashed, for every row; a missing value gives none."""
        size = len(next(iter(chunk.values())))
        rows: list[list[str]] = [[] for _ in range(size)]
        for name in self.text:
            front = f"{name}=" if len(self.text) > 1 else ""
            for row, text in zip(rows, chunk[name].tolist(), strict=True):
                if text is not None:
                    row += [front + word for word in _WORD.findall(str(text).lower())]
        for name in self.category:
            for row, value in zip(rows, _cells(chunk[name]), strict=True):
                if value is not None and value == value:
                    row.append(f"{name}={_spelt(value)}")
        return rows


def choose_columns(
    source: Table,
    *,
    label: str | None,
    weight: str | None,
    text: Sequence[str],
    category: Sequence[str],
    drop: Sequence[str],
    hash_bits: int,
) -> Columns:
    """Decide what each column of a table is for; columns of text must have been given a role."""
    path = source.path
    if label is None and "label" not in source.names:
        raise ParameterError(
            "label",
            f"name the column of labels of {path}",
            got=f"none: --label COLUMN, one of {_list(source.names)}",
        )
    roles = {
        "label": [label or "label"],
        "weight": [] if weight is None else [weight],
        "text": list(text),
        "category": list(category),
        "drop": list(drop),
    }
    used: dict[str, str] = {}
    for role, names in roles.items():
        for name in names:
            if name not in source.names:
                raise ParameterError(
                    role, f"name a column of {path}", got=f"{name!r}; it has {_list(source.names)}"
                )
            if name in used:
                raise ParameterError(role, f"not name the column of {used[name]}", name)
            used[name] = role
    numbers = [name for name in source.names if name not in used]
    first = next(rows for rows in _rows(source) if len(rows.lines))
    for name in numbers:
        _require_numbers(path, name, first, _unit(source))
    columns = Columns(
        roles["label"][0], tuple(numbers), tuple(text), tuple(category), hash_bits=hash_bits
    )
    if not columns.width:
        raise ValueError(f"{path} must have a column besides the label to learn from, got none")
    return columns


def read_columns(
    source: Table,
    columns: Columns,
    faults: Faults,
    *,
    weight: str | None = None,
    need_label: bool = True,
    hashed: bool = True,
) -> Iterator[Batch]:
    """Yield the rows of a table, chunk by chunk; ``done`` of a batch is the rows read so far.

    Parameters
    ----------
    source : TableSource or CsvLines
        The table.
    columns : Columns
        What its columns are for.
    faults : Faults
        Takes the broken rows.
    weight : str, optional
        Column of weights.
    need_label : bool
        Whether a row without a label is broken.
    hashed : bool
        Whether words and categories are wanted among the features.
    """
    path = source.path
    wanted = [*columns.numbers, *columns.text, *columns.category]
    wanted += [columns.label] if need_label else []
    wanted += [] if weight is None else [weight]
    lacking = [name for name in wanted if name not in source.names]
    if lacking:
        raise ValueError(
            f"{path} must have the columns that the model was trained on, got no "
            f"{_list(lacking)}; it has {_list(source.names)}"
        )
    done = 0
    unit = _unit(source)
    for rows in _rows(source):
        done += len(rows.lines)
        if len(rows.lines):
            yield _batch(path, columns, rows, unit, done, weight, need_label, hashed, faults)
        else:
            faults.add(path, unit, rows.broken)


def _unit(source: Table) -> str:
    return "line" if isinstance(source, CsvLines) else "row"


def _rows(source: Table) -> Iterator[CsvRows]:
    """Read a table; rows of one that has no lines are counted from 1."""
    if isinstance(source, CsvLines):
        yield from source.rows(CHUNK_BYTES)
        return
    done = 0
    for chunk in source.chunks(CHUNK_BYTES):
        size = len(next(iter(chunk.values())))
        yield CsvRows(chunk, np.arange(done + 1, done + size + 1), [])
        done += size


def _batch(
    path: Path,
    columns: Columns,
    rows: CsvRows,
    unit: str,
    done: int,
    weight: str | None,
    need_label: bool,
    hashed: bool,
    faults: Faults,
) -> Batch:
    chunk, size = rows.chunk, len(rows.lines)
    keep = np.ones(size, dtype=bool)
    found = list(rows.broken)

    def fault(bad: NDArray[np.bool_], rule: str, values: NDArray[Any]) -> None:
        for row in np.flatnonzero(bad & keep).tolist():
            found.append((int(rows.lines[row]), rule, _shown(values[row])))
        keep[bad] = False

    numbers = np.empty((size, len(columns.numbers)))
    for j, name in enumerate(columns.numbers):
        numbers[:, j] = column = _as_numbers(path, name, rows, unit)
        fault(~np.isfinite(column), f"must have a finite number in column {name!r}", chunk[name])
    weights = None if weight is None else _as_numbers(path, weight, rows, unit)
    if weights is not None and weight is not None:
        fine = np.isfinite(weights) & (weights >= 0)
        fault(~fine, f"must have a weight from 0 on in column {weight!r}", chunk[weight])
    if columns.label in chunk:
        codes, names, gaps = _label_codes(chunk[columns.label])
        if need_label:
            fault(gaps, f"must have a label in column {columns.label!r}", chunk[columns.label])
    else:
        codes, names = np.full(size, -1, dtype=np.intp), []
    X: Any = numbers
    if columns.is_hashed and hashed:
        from scipy.sparse import csr_matrix, hstack

        X = hash_features(columns.tokens(chunk), 2**columns.hash_bits)
        if columns.numbers:
            X = hstack([csr_matrix(numbers), X], format="csr")
    batch = Batch(path, X, codes, names, weights, rows.lines, unit, done)
    if found:
        faults.add(path, unit, sorted(found))
        batch = batch.rows(keep)
    return batch


def _shown(value: Any) -> str:
    """Write a value that is not what it should be; one that is missing is none."""
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:40] + "...")
    return "none" if value is None else str(value)


def _cells(column: NDArray[Any]) -> list[Any]:
    """Give the values of a column; short floats as the numbers they were made from."""
    if column.dtype.kind == "f" and column.itemsize < 8:
        return [float(str(value)) for value in column]
    return column.tolist()


def _spelt(value: Any) -> str:
    """Write a value in the one way that does not depend on the rest of its column."""
    if isinstance(value, str):
        if _WHOLE.fullmatch(value) or not _NUMBER.fullmatch(value):
            return value
        value = float(value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _require_numbers(path: Path, name: str, rows: CsvRows, unit: str) -> None:
    """Refuse a column of words or codes; one of numbers with a few words has broken lines."""
    values = rows.chunk[name].tolist()
    words = [k for k, value in enumerate(values) if _is_word(value, unit)]
    if not words:
        return
    n_values = sum(value is not None for value in values)
    is_code = any(_CODE.fullmatch(values[k]) for k in words)
    if unit == "row" or is_code or 2 * len(words) >= n_values:
        remedy = f"--text {name} for its words, --category {name}, or --drop {name}"
        where = f"{unit} {rows.lines[words[0]]:,}"
        raise ValueError(f"{_text_rule(path, name, values[words[0]], where)}: {remedy}")


def _is_word(value: Any, unit: str) -> bool:
    """Whether a value is text and not a number of a csv file, where all is text."""
    return isinstance(value, str) and (unit == "row" or not is_number(value))


def _text_rule(path: Path, name: str, value: str, where: str) -> str:
    found = f"the text {_shown(value)} in {where}"
    return f"column {name!r} of {path} must hold numbers, got {found}"


def _as_numbers(path: Path, name: str, rows: CsvRows, unit: str) -> NDArray[np.float64]:
    """Give a column as numbers, NaN where a value is missing or, of a csv file, a word."""
    column = rows.chunk[name]
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    numbers = np.full(len(column), np.nan)
    for k, value in enumerate(column.tolist()):
        if _is_word(value, unit):
            if unit == "row":
                where = f"{unit} {rows.lines[k]:,}"
                raise ValueError(_text_rule(path, name, value, where))
        elif value is not None:
            numbers[k] = float(value)
    return numbers


def _label_codes(column: NDArray[Any]) -> tuple[NDArray[np.intp], list[str], NDArray[np.bool_]]:
    """Give labels as places among the distinct ones, and where there is none."""
    if column.dtype.kind == "f":
        gaps = ~np.isfinite(column)
    else:
        gaps = np.array([value is None for value in column.tolist()], dtype=bool)
    codes = np.full(len(column), -1, dtype=np.intp)
    kept = column[~gaps]
    texts = kept.astype(str) if kept.dtype.kind == "O" else kept
    distinct, places = np.unique(texts, return_inverse=True)
    codes[~gaps] = places
    return codes, [str(value) for value in distinct.tolist()], gaps


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
