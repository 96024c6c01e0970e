"""Columns of dates as numbers: days since 1970, with the time of the day as a fraction."""

from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.data.columns import as_numbers, is_missing, read_column
from herder.data.intervals import UNITS, date_ticks, read_dates

__all__ = ["read_days", "text_days"]

#: Types of columns that may hold dates or texts of dates; categories are meant as such.
TEXTS = ("object", "str", "string", "String", "date32")


def text_days(items: list[Any]) -> NDArray[np.float64] | None:
    """Return dates, or texts of dates, as days; None being NaN. None if there are others.

    Examples
    --------
    >>> text_days(["1970-01-03", None]), text_days(["1970-01-03", "soon"])
    (array([ 2., nan]), None)
    """
    ticks = date_ticks([_without_nanoseconds(item) for item in items], "us")
    return None if ticks is None else ticks / UNITS["D"]


def _without_nanoseconds(item: Any) -> Any:
    """Return a text of a date with at most six decimals; pandas and Parquet write nine."""
    long = isinstance(item, str) and len(item) == 29 and item[26:].isdigit()
    return item[:26] if long else item


def read_days(values: Any) -> NDArray[np.float64] | None:
    """Return a series or 1-D array of dates as days, NaN where one is missing; None for others.

    Dates with a time zone are taken at their moment, as in UTC.
    """
    if len(values.shape) != 1:
        return None
    kind, name = getattr(values.dtype, "kind", ""), str(values.dtype).partition("[")[0]
    if kind == "M" or name.startswith("Date"):  # types of polars have no kind
        series = hasattr(values, "iloc")
        dates = values.to_numpy(dtype="M8[us]") if series else np.asarray(values)
        return as_numbers(dates) / UNITS["D"]
    if kind != "U" and name not in TEXTS:
        return None
    first = next((item for item in values if not is_missing(item)), None)
    if not isinstance(first, str | date) or read_dates([first]) is None:  # most texts
        return None
    column = read_column("", values)
    days = text_days(column.labels)
    return None if days is None else days[column.index]
