"""Columns of categories as indicators: a column of zeros and ones for each category.

Two rows of different categories are then at the squared distance 2, whatever the categories and
however many there are. That is the mean squared distance of two rows in a standardised column of
numbers, so that a column of categories counts as much as one of numbers, and a rare category is
no outlier.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.data.columns import Column, read_column

__all__ = ["Labels", "find_categories", "most_categories", "place_indicators", "sorted_codes"]

#: Categories of each column, None for a column of numbers; empty if all are numbers.
Labels: TypeAlias = tuple[tuple[str, ...] | None, ...]

#: Categories of a column at most: each is a column of its own for the kernel.
MAX_CATEGORIES = 256

#: More categories than rows for two each are names of rows; so many are accepted in any case.
FEW_CATEGORIES = 10


def most_categories(n_rows: int) -> int:
    """Return how many categories a column of so many rows may have."""
    return min(MAX_CATEGORIES, max(FEW_CATEGORIES, n_rows // 2))


def find_categories(columns: Mapping[str, Any], n_rows: int, remedy: str) -> dict[str, Column]:
    """Return those columns that hold text, booleans or categories; the others are left alone.

    Parameters
    ----------
    columns : mapping of str to series or array
        Columns that may be such; numbers and dates are left out.
    n_rows : int
        Of the table.
    remedy : str
        What to do about a column of too many categories; {} stands for its name.
    """
    found = {}
    most = most_categories(n_rows)
    for name, values in columns.items():
        column = read_column(name, values)
        declared = str(getattr(values, "dtype", "")) == "category"  # of pandas, of any labels
        texts = all(isinstance(label, str | bytes | bool) for label in column.present)
        if not column.present or not (declared or texts):
            continue
        if len(column.present) > most:
            got = f"{len(column.present):,} in {name!r}; {remedy.format([name])}"
            raise ParameterError("X", f"have at most {most} categories in a column", got=got)
        found[name] = column
    return found


def sorted_codes(
    labels: Sequence[Hashable], index: NDArray[np.integer]
) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Return the categories as texts in their order, and each row's; -1 where it is missing."""
    order = sorted(
        (place for place, label in enumerate(labels) if label is not None),
        key=lambda place: str(labels[place]),
    )
    codes = np.full(len(labels), -1, dtype=np.intp)
    codes[order] = np.arange(len(order))
    return tuple(str(labels[place]) for place in order), codes[index]


def place_indicators(
    numbers: NDArray[np.floating],
    labels: Labels,
    codes: Sequence[NDArray[np.intp]],
) -> NDArray[np.floating]:
    """Return numbers and indicators as one table, column by column; missing ones are NaN.

    Parameters
    ----------
    numbers : ndarray of shape (n, number of None among labels)
        The columns of numbers, in order.
    labels : tuple
        Categories of each column, None for numbers.
    codes : sequence of ndarray of shape (n,)
        Number of each row's category, for each column of categories in order.
    """
    n = len(numbers) if numbers.shape[1] else len(codes[0])
    width = sum(1 if own is None else len(own) for own in labels)
    values = np.zeros((n, width), dtype=numbers.dtype, order="F")
    start, given, coded = 0, iter(numbers.T), iter(codes)
    for own in labels:
        if own is None:
            values[:, start] = next(given)
            start += 1
            continue
        code, part = next(coded), values[:, start : start + len(own)]
        present = np.flatnonzero(code >= 0)
        part[present, code[present]] = 1
        part[code < 0] = np.nan
        start += len(own)
    return values
