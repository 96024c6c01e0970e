"""Rows of named columns as features: numbers as they are, words and categories hashed.

Columns of numbers come first, each a feature. If there are columns of text, as many features
follow as hashing has places; a text column gives its words, a category ``column=value``, and the
words of several text columns are distinguished by ``column=word``. A number has one spelling as a
category, whatever else its column holds: 1 and 1.0 are the same value.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, with_nearest
from herder.data.batches import Batch
from herder.data.broken import BrokenRows
from herder.data.csv_table import is_csv_number
from herder.data.hashing import hash_features
from herder.data.numerals import as_floats, is_digits, is_int, is_number
from herder.data.source import Block, TableSource

__all__ = ["CHUNK_BYTES", "FeatureColumns", "HashedWords", "choose_columns", "read_features"]

#: Bytes of one chunk while a table is read; its words take many times that.
CHUNK_BYTES = 4 * 2**20

#: Words of one place that are shown.
N_WORDS = 3

#: Words as `hash_features` cuts them from a text.
_WORD = re.compile(r"(?u)\b\w\w+\b")


@dataclass(frozen=True)
class FeatureColumns:
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

    def tokens(self, chunk: Mapping[str, NDArray[Any]]) -> list[list[str]]:
        """Return the names that are hashed, for every row; a missing value gives none."""
        rows: list[list[str]] = [[] for _ in next(iter(chunk.values()))]
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


@dataclass
class HashedWords:
    """Words that were hashed to some places, found again in rows that were read.

    Parameters
    ----------
    columns : FeatureColumns
        How words are hashed.
    places : set of int
        Features whose words are wanted.
    """

    columns: FeatureColumns
    places: set[int]
    counts: dict[int, Counter[tuple[str, int]]] = field(default_factory=dict)

    def look(self, chunk: Mapping[str, NDArray[Any]]) -> None:
        """Count the words of a chunk of a table that fall on the places, with their signs."""
        counts = Counter(word for row in self.columns.tokens(chunk) for word in row)
        if not counts:
            return
        words = sorted(counts)
        hashed = hash_features([[word] for word in words], 2**self.columns.hash_bits)
        places = hashed.indices + len(self.columns.numbers)
        for word, place, sign in zip(words, places.tolist(), hashed.data.tolist(), strict=True):
            if place in self.places:
                here = self.counts.setdefault(place, Counter())
                here[word, int(sign)] += counts[word]

    def name(self, place: int) -> tuple[str, int]:
        """Return the name or the most frequent words of a feature, and the sign of the first."""
        if place < len(self.columns.numbers):
            return self.columns.numbers[place], 1
        found = self.counts.get(place)
        if not found:
            return f"hashed {place}", 1
        (first, sign), *others = [key for key, _ in found.most_common(N_WORDS)]
        # a word of the other sign counts the other way round
        texts = [word if other == sign else f"not {word}" for word, other in others]
        return first + (f" (or {', '.join(texts)})" if texts else ""), sign

    @property
    def nameless(self) -> bool:
        """Whether a hashed feature among the places has no word, and so no sign to trust."""
        first = len(self.columns.numbers)
        return any(place >= first and place not in self.counts for place in self.places)


def choose_columns(
    source: TableSource,
    *,
    label: str | None,
    drop: Sequence[str],
    weight: str | None = None,
    text: Sequence[str] = (),
    category: Sequence[str] = (),
    hash_bits: int = 20,
    need_label: bool = True,
) -> FeatureColumns:
    """Decide what each column of a table is for; columns of text must have been given a role."""
    path = source.path
    if need_label and label is None and "label" not in source.names:
        raise ParameterError(
            "label",
            f"name the column of labels of {path}",
            got=f"none: --label COLUMN, one of {_list(source.names)}",
        )
    roles = {
        "label": [label or "label"] if need_label else [],
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
                    role, f"name a column of {path}", got=_unknown(name, source.names)
                )
            if name in used:
                raise ParameterError(role, f"not name the column of {used[name]}", name)
            used[name] = role
    numbers = tuple(name for name in source.names if name not in used)
    first = next(block for block in source.blocks(CHUNK_BYTES) if len(block))
    for name in numbers:
        _require_numbers(source, name, first)
    columns = FeatureColumns(label or "label", numbers, tuple(text), tuple(category), hash_bits)
    if not columns.width:
        which = "besides the label" if need_label else "left"
        raise ValueError(f"{path} must have a column {which} to learn from, got none")
    return columns


def read_features(
    source: TableSource,
    columns: FeatureColumns,
    broken: BrokenRows,
    *,
    weight: str | None = None,
    need_label: bool = True,
    hashed: bool = True,
) -> Iterator[Batch]:
    """Yield the rows of a table, chunk by chunk; ``done`` of a batch is the rows read so far.

    Parameters
    ----------
    source : TableSource
        The table.
    columns : FeatureColumns
        What its columns are for.
    broken : BrokenRows
        Takes the broken rows.
    weight : str, optional
        Column of weights.
    need_label : bool
        Whether a row without a label is broken.
    hashed : bool
        Whether words and categories are wanted among the features.
    """
    wanted = [*columns.numbers, *columns.text, *columns.category]
    wanted += [columns.label] if need_label else []
    wanted += [] if weight is None else [weight]
    known = set(source.names)
    lacking = [name for name in wanted if name not in known]
    if lacking:
        raise ValueError(
            f"{source.path} must have the columns that the model was trained on, got no "
            f"{_list(lacking)}; it has {_list(source.names)}"
        )
    done = 0
    for block in source.blocks(CHUNK_BYTES):
        rows = _BlockReader(source, block)
        if not len(block):
            broken.add(source.path, source.unit, rows.broken)
            continue
        done += len(block)
        X: Any = np.empty((len(block), len(columns.numbers)))
        for j, name in enumerate(columns.numbers):
            X[:, j] = rows.numbers(name, np.isfinite, "a finite number")
        weights = None
        if weight is not None:
            weights = rows.numbers(
                weight, lambda w: np.isfinite(w) & (w >= 0), "a weight from 0 on"
            )
        codes, names = rows.labels(columns.label, need_label)
        if columns.is_hashed and hashed:
            from scipy.sparse import csr_matrix, hstack

            words = hash_features(columns.tokens(block.columns), 2**columns.hash_bits)
            X = hstack([csr_matrix(X), words], format="csr") if columns.numbers else words
        broken.add(source.path, source.unit, sorted(rows.broken))
        batch = Batch(source.path, X, codes, names, weights, block.places, source.unit, done)
        yield batch if rows.keep.all() else batch.rows(rows.keep)


class _BlockReader:
    """Reads columns of a block, and notes the rows in which they are not what they must be."""

    def __init__(self, source: TableSource, block: Block) -> None:
        self.source = source
        self.block = block
        self.keep = np.ones(len(block), dtype=bool)
        self.broken = list(block.broken)

    def numbers(self, name: str, fine: Any, rule: str) -> NDArray[np.float64]:
        """Return a column of numbers, of which those that are not ``fine`` break their rows."""
        column = self.block.columns[name]

        def read(text: str) -> float:
            if self.source.unit == "line":  # of a csv file, where all is text
                return float(text) if is_csv_number(text) else np.nan
            raise ValueError(
                _text_rule(self.source, name, self.block, column.tolist().index(text))
            )

        found = as_floats(column, read)
        self._break(~fine(found), f"must have {rule} in column {name!r}", column)
        return found

    def labels(self, name: str, needed: bool) -> tuple[NDArray[np.intp], list[str]]:
        """Return labels as places among the distinct ones, -1 where there is none."""
        codes = np.full(len(self.block), -1, dtype=np.intp)
        column = self.block.columns.get(name)
        if column is None:
            return codes, []
        if column.dtype.kind == "f":
            gaps = ~np.isfinite(column)
        else:
            gaps = np.array([value is None for value in column.tolist()], dtype=bool)
        kept = column[~gaps]
        texts = kept.astype(str) if kept.dtype.kind == "O" else kept
        distinct, codes[~gaps] = np.unique(texts, return_inverse=True)
        if needed:
            self._break(gaps, f"must have a label in column {name!r}", column)
        return codes, [str(value) for value in distinct.tolist()]

    def _break(self, bad: NDArray[np.bool_], rule: str, column: NDArray[Any]) -> None:
        for row in np.flatnonzero(bad & self.keep).tolist():
            self.broken.append((int(self.block.places[row]), rule, _shown(column[row])))
        self.keep[bad] = False


def _require_numbers(source: TableSource, name: str, block: Block) -> None:
    """Refuse a column of words or codes; one of numbers with a few words has broken lines."""
    values = block.columns[name].tolist()
    is_csv = source.unit == "line"
    words = [
        k
        for k, value in enumerate(values)
        if isinstance(value, str) and not (is_csv and is_csv_number(value))
    ]
    if not words:
        return
    n_values = sum(value is not None for value in values)
    is_code = any(is_digits(values[k]) for k in words)
    if not is_csv or is_code or 2 * len(words) >= n_values:
        words_too = f"category={name!r}, or text={name!r} for its words"
        remedy = f"drop={name!r}, or give {words_too}"
        raise ValueError(f"{_text_rule(source, name, block, words[0])}: {remedy}")


def _text_rule(source: TableSource, name: str, block: Block, row: int) -> str:
    found = f"the text {_shown(block.columns[name][row])} in {source.unit} {block.places[row]:,}"
    return f"column {name!r} of {source.path} must hold numbers, got {found}"


def _shown(value: Any) -> str:
    """Write a value that is not what it should be; one that is missing is none."""
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:40] + "...")
    return "none" if value is None else str(value)


def _cells(column: NDArray[Any]) -> list[Any]:
    """Return the values of a column; short floats as the numbers they were made from."""
    if column.dtype.kind == "f" and column.itemsize < 8:
        return [float(str(value)) for value in column]
    return column.tolist()


def _spelt(value: Any) -> str:
    """Write a value in the one way that does not depend on the rest of its column."""
    if isinstance(value, str):
        if is_int(value) or not is_number(value):
            return value
        value = float(value)
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _unknown(name: str, names: Sequence[str]) -> str:
    """Return a name that no column has, and the nearest one, or all of them."""
    found = with_nearest(name, names)
    return f"{name!r}; it has {_list(names)}" if found == repr(name) else found


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown} and {len(names) - 8} more"
