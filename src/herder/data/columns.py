"""Columns of any table as distinct labels and positions, the common form that is coded."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import form_of, listed, plain_array
from herder.data.source import repeated

__all__ = ["Column", "as_numbers", "is_missing", "named_columns", "read_column", "table_columns"]

#: Integers within a range this wide are counted; others are sorted, which is slower.
COUNTED_RANGE = 65_536

#: Longer integers are beyond all floats.
LONGEST_INT = 1023


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column: row ``r`` holds ``labels[index[r]]``.

    Parameters
    ----------
    name : str
        Name of the column.
    labels : list
        What occurs in it, each once, in no particular order; ``None`` is a missing value.
    index : ndarray of integers of shape (n_rows,)
        Which label each row holds.
    dtype : str
        NumPy dtype name that the labels come back in.

    Attributes
    ----------
    present : list
        The labels that are not missing.
    is_numeric : bool
        Whether all of these are numbers, so that the column can be binned.
    """

    name: str
    labels: list[Hashable]
    index: NDArray[np.integer]
    dtype: str
    present: list[Any] = field(init=False)
    is_numeric: bool = field(init=False)

    def __post_init__(self) -> None:
        present = [label for label in self.labels if label is not None]
        numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in present)
        object.__setattr__(self, "present", present)
        object.__setattr__(self, "is_numeric", bool(present) and numbers)


def named_columns(X: object) -> tuple[tuple[str, ...], list[Any]] | None:
    """Return names and columns of a mapping, a frame or an arrow table, None for other tables."""
    if form_of(X) == "lazy":
        got = "a lazy frame: X.collect() reads it"
        raise ParameterTypeError("X", "be a frame in memory", got=got)
    if isinstance(X, Mapping):
        return tuple(str(name) for name in X), list(X.values())
    names = getattr(X, "column_names", None)  # pyarrow
    if names is None and hasattr(X, "__getitem__"):
        names = getattr(X, "columns", None)
    if names is None:
        return None
    frame: Any = X
    listed = list(names)
    if len(set(listed)) < len(listed):
        raise ParameterError("X", "have unique column names", got=f"{repeated(listed)!r} twice")
    return tuple(str(name) for name in listed), [frame[name] for name in listed]


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, or what pandas has for them."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return bool(value != value)


def as_numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers as floats, and dates as microseconds since 1970; NaN where one is missing.

    Examples
    --------
    >>> as_numbers(np.array([2, None], object)), as_numbers(np.array(["1970-01-02"], "M8[D]"))
    (array([ 2., nan]), array([8.64e+10]))
    """
    if values.dtype.kind == "O":
        known = np.array([not is_missing(value) for value in values.tolist()], dtype=bool)
        present = values[known].tolist()
        numeric = all(isinstance(value, int | float) for value in present)
        numbers = np.full(len(values), np.nan)
        numbers[known] = as_numbers(np.array(present, float if numeric else "M8[us]"))
        return numbers
    if values.dtype.kind == "M":
        ticks = values.astype("M8[us]").astype(np.int64).astype(np.float64)
        return np.where(np.isnat(values), np.nan, ticks)
    return values.astype(np.float64)


def table_columns(X: object, names: Sequence[str] | None) -> list[Column]:
    """Return the columns of a table, all of one length; ``names`` replace those of the table."""
    found, raw = named_columns(X) or _array_columns(X)
    if names is not None:
        names = listed(names, "names", "texts")
        if len(names) != len(raw):
            raise ParameterError("names", f"have one name per column ({len(raw)})", len(names))
        found = tuple(str(name) for name in names)
    if not raw:
        shape = getattr(X, "shape", (0, 0))
        got = f"0 feature(s) (shape={shape}) while a minimum of 1 is required."
        raise ParameterError("X", "have at least 1 column", got=got)
    if len(set(found)) < len(found):
        raise ParameterError("X", "have unique column names", got=f"{repeated(found)!r} twice")
    columns = [read_column(name, values) for name, values in zip(found, raw, strict=True)]
    lengths = {len(column.index) for column in columns}
    if len(lengths) > 1:
        raise ParameterError("X", "have columns of one length", got=f"lengths {sorted(lengths)}")
    if lengths == {0}:
        raise ParameterError("X", "have at least 1 row", got="0 sample(s)")
    return columns


def _array_columns(X: object) -> tuple[tuple[str, ...], list[Any]]:
    array = plain_array(X, "X")
    if array.ndim != 2:
        found = f"shape {array.shape}. Reshape your data: X.reshape(-1, 1) for one column"
        raise ParameterError("X", "be a table with rows and columns (2-D)", got=found)
    return tuple(f"x{j}" for j in range(array.shape[1])), list(array.T)


def read_column(name: str, values: Any) -> Column:
    """Return one column of a table, of any kind of labels."""
    if hasattr(values, "cat") and str(getattr(values, "dtype", "")) == "category":  # pandas
        labels = [_plain(label) for label in values.cat.categories]
        index = np.array(values.cat.codes, dtype=np.intp)
        index[index < 0] = len(labels)
        return _occurring(name, [*labels, None], index, "object")
    try:
        array = values.to_numpy() if hasattr(values, "to_numpy") else plain_array(values, "X")
    except ValueError as error:
        raise ParameterError("X", f"have 1-D columns, got in {name!r}: {error}") from error
    if array.ndim != 1:
        raise ParameterError("X", "have 1-D columns", got=f"shape {array.shape} in {name!r}")
    kind = array.dtype.kind
    if kind == "c":
        got = f"{array.dtype} in column {name!r}: Complex data not supported"
        raise ParameterTypeError("X", "be real", got=got)
    if kind == "b":
        return Column(name, [False, True], array.astype(np.int8), "bool")
    if kind in "iu" and len(array):
        low, high = int(array.min()), int(array.max())
        if high - low < COUNTED_RANGE:
            # the difference of two int8 need not fit into int8, nor uint64 into int64
            index = (array.astype(np.int64) if kind == "i" else array) - array.dtype.type(low)
            labels = list(range(low, high + 1))
            return _occurring(name, labels, index.astype(np.intp, copy=False), array.dtype.name)
    if kind in "iufUSM":
        return _sorted_column(name, array)
    return _object_column(name, array.astype(object))


def _occurring(name: str, labels: list[Any], index: NDArray[np.intp], dtype: str) -> Column:
    """Leave out the labels that no row holds."""
    seen = np.bincount(index, minlength=len(labels)) > 0
    if seen.all():
        return Column(name, labels, index, dtype)
    kept = [label for label, keep in zip(labels, seen.tolist(), strict=True) if keep]
    return Column(name, kept, (np.cumsum(seen) - 1)[index], dtype)


def _sorted_column(name: str, array: NDArray[Any]) -> Column:
    if array.dtype == np.dtype("M8[ns]"):  # Python's dates know no nanoseconds
        array = array.astype("M8[us]")
    distinct, index = np.unique(array, return_inverse=True)
    labels: list[Any] = distinct.tolist()
    if labels and is_missing(labels[-1]):  # NumPy sorts NaN and NaT to the end, as one
        labels[-1] = None
    kind = {"U": "str", "S": "bytes"}.get(array.dtype.kind, array.dtype.name)
    return Column(name, labels, index, kind)


def _object_column(name: str, array: NDArray[Any]) -> Column:
    values = array.tolist()
    try:
        distinct = set(values)
    except TypeError as error:
        got = f"in column {name!r}: {error}"
        raise ParameterTypeError("X", "hold plain labels", got=got) from None
    labels: dict[Hashable, int] = {}
    position: dict[Any, int] = {}
    for value in distinct:
        label = None if is_missing(value) else _plain(value)
        if isinstance(label, complex):
            got = f"{label} in column {name!r}: Complex data not supported"
            raise ParameterTypeError("X", "be real", got=got)
        if isinstance(label, int) and label.bit_length() > LONGEST_INT:
            got = f"one of {label.bit_length():,} bits in column {name!r}"
            raise ParameterError("X", "hold integers that a float can hold", got=got)
        position[value] = labels.setdefault(label, len(labels))
    index = np.fromiter(map(position.__getitem__, values), dtype=np.intp, count=len(values))
    return Column(name, list(labels), index, "object")


def _plain(value: Any) -> Hashable:
    """Return NumPy scalars as Python ones, so that labels compare and print plainly."""
    return value.item() if isinstance(value, np.generic) else value
