"""Bins as labels: numbers or dates from a first one up to, not including, another."""

import itertools
import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.data.numerals import is_number

__all__ = [
    "Interval",
    "as_bins",
    "date_ticks",
    "date_unit",
    "find_bin",
    "inner_edges",
    "joined",
    "read_dates",
    "read_interval",
]

#: Units of dates, coarse ones first, in microseconds.
UNITS = {"D": 86_400_000_000, "m": 60_000_000, "s": 1_000_000, "us": 1}

_DATE = re.compile(r"\d{4}-\d\d-\d\d(?:([ T])\d\d:\d\d(:\d\d(\.\d{1,6})?)?)?")
_SCALE = re.compile(r"(D|m|s|us)(?:([ T])(D|m|s|us))?")
_INTERVAL = re.compile(r"\[\s*([^,\s][^,]*?)\s*,\s*([^,]*?[^,\s])\s*\)")

#: Decimals that are written out; beyond them, and for multiples of ten, there is an exponent.
MAX_DECIMALS = 15

#: Powers of ten that a float can be divided by, and steps that 64 bits have room for.
MAX_POWER, MAX_STEP = 300, 10**18


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """A bin of a column: values from ``low`` up to, not including, ``high``.

    Parameters
    ----------
    low, high : int
        Both ends, in steps of the ``scale``.
    scale : int or str
        How many decimals numbers have: a step is ``10 ** -scale``. For dates the unit, one of
        "D", "m", "s" and "us"; of texts followed by "T" or a space and the unit that is written.

    Examples
    --------
    >>> print(Interval(18, 25, 0), Interval(50, 75, 2), Interval(0, 31, "D"))
    [18, 25) [0.50, 0.75) [1970-01-01, 1970-02-01)
    """

    low: int
    high: int
    scale: int | str

    def __post_init__(self) -> None:
        is_date = isinstance(self.scale, str) and _SCALE.fullmatch(self.scale) is not None
        if not is_date and not (type(self.scale) is int and abs(self.scale) <= MAX_POWER):
            rule = "be a number of decimals or a unit of dates"
            raise ParameterError("scale", rule, self.scale)
        whole = type(self.low) is int and type(self.high) is int
        if not (whole and -MAX_STEP <= self.low < self.high <= MAX_STEP):
            got = f"{self.low} and {self.high}"
            raise ParameterError("low", "be an integer below high, which is one", got=got)

    @property
    def start(self) -> float:
        """The lower end as a number; of dates in their unit since 1970."""
        if isinstance(self.scale, str):
            return float(self.low)
        return self.low / 10**self.scale if self.scale >= 0 else float(self.low * 10**-self.scale)

    def at(self, scale: int) -> "Interval":
        """Return the same bin of numbers in steps of at least as many decimals."""
        factor = 10 ** (scale - int(self.scale))
        return Interval(self.low * factor, self.high * factor, scale)

    def __str__(self) -> str:
        """Return the bin as files have it, such as ``[18, 25)``."""
        return f"[{_text(self.low, self.scale)}, {_text(self.high, self.scale)})"

    def values(self, steps: NDArray[np.int64]) -> NDArray[Any]:
        """Return numbers, dates or texts of dates at some steps from zero."""
        if isinstance(self.scale, str):
            return _dates(steps, self.scale)
        if self.scale == 0:
            return steps
        return steps / 10.0**self.scale if self.scale > 0 else steps * 10.0**-self.scale


def as_bins(labels: Sequence[Hashable], name: str) -> tuple[Hashable, ...]:
    """Return bins of one column in one scale; they must be in order, apart, and all there is.

    Parameters
    ----------
    labels : sequence
        Bins, and numbers that are bins by themselves, in order.
    name : str
        The column, for errors.
    """
    bins = [label for label in labels if isinstance(label, Interval)]
    dates = {bin.scale for bin in bins if isinstance(bin.scale, str)}
    decimals = [bin.scale for bin in bins if isinstance(bin.scale, int)]
    kinds = (Interval,) if dates else (Interval, int, float)
    for label in labels:
        if not isinstance(label, kinds) or (decimals and dates) or len(dates) > 1:
            rule = "have bins and numbers, or bins of dates in one form"
            remedy = "put its labels in single quotes if they are text"
            raise ValueError(f"column {name!r} must {rule}, got {label!s}: {remedy}")
    scale = max(decimals, default=0)
    same = [x.at(scale) if isinstance(x, Interval) and decimals else x for x in labels]
    for one, other in itertools.pairwise(same):
        start, end = _ends(one)
        if not start < _ends(other)[0] >= end:
            rule = f"column {name!r} must have bins that do not overlap"
            raise ValueError(f"{rule}, got {one} and {other}")
    return tuple(same)


def _ends(label: Any) -> tuple[float, float]:
    if isinstance(label, Interval):
        return label.start, Interval(label.high, label.high + 1, label.scale).start
    return float(label), float(label)


def find_bin(labels: Sequence[Hashable], edges: Sequence[float], number: float) -> int | None:
    """Return the position of the bin that holds a number, or None.

    Examples
    --------
    >>> bins = [0, Interval(18, 25, 0), None]
    >>> [find_bin(bins, inner_edges(bins), number) for number in (24.9, 25, 0)]
    [1, None, 0]
    """
    if not any(isinstance(label, Interval) for label in labels):  # means, of files of 0.1.0
        return None if math.isnan(number) else int(np.searchsorted(edges, number, side="right"))
    for place, label in enumerate(labels):
        low, high = (math.nan, math.nan) if label is None else _ends(label)
        if number == low or low < number < high:
            return place
    return None


def joined(labels: Sequence[Hashable], low: int, high: int) -> Interval:
    """Return one bin in place of two neighbours among the bins and numbers of a column.

    Examples
    --------
    >>> print(joined([2, Interval(3, 6, 0)], 0, 1), joined([0.5, 2], 0, 1))
    [2, 6) [0.5, 2.1)
    """
    dates = [x.scale for x in labels if isinstance(x, Interval) and isinstance(x.scale, str)]
    scale: Any = dates[0] if dates else max(_decimals(x) for x in labels if x is not None)

    def ends(label: Any) -> tuple[int, int]:
        if isinstance(label, Interval):
            bin = label if dates else label.at(scale)
            return bin.low, bin.high
        step = int(Decimal(repr(label)).scaleb(scale) // 1)
        return step, step + 1

    return Interval(ends(labels[low])[0], ends(labels[high])[1], scale)


def _decimals(label: Any) -> int:
    if isinstance(label, Interval):
        return int(label.scale)
    return max(-int(Decimal(repr(label)).normalize().as_tuple().exponent), 0)


def inner_edges(values: Sequence[Hashable]) -> tuple[float, ...]:
    """Return where the bins begin, but for the first, as far as rows are concerned.

    A number, or a bin of one step, holds nothing but itself: what lies between it and the next bin
    belongs to that one.
    """
    bins = [value for value in values if value is not None]
    return tuple(_edge(one, other) for one, other in itertools.pairwise(bins))


def _edge(one: Any, other: Any) -> float:
    if not isinstance(one, Interval):
        return math.nextafter(one, math.inf)
    return _ends(one)[1] if one.high == one.low + 1 else _ends(other)[0]


def read_interval(text: str) -> Interval | None:
    """Return the bin that a text such as ``[18, 25)`` names, or None.

    Examples
    --------
    >>> read_interval("[0.5, 0.75)"), read_interval("(18, 25]")
    (Interval(low=50, high=75, scale=2), None)
    """
    found = _INTERVAL.fullmatch(text)
    if found is None:
        return None
    dates = read_dates(found.groups())
    if dates is not None:
        unit, _, written = _parts(dates[1])
        steps = UNITS[unit] // UNITS[written or unit]
        low, high = (dates[0] * steps).tolist()
        return Interval(low, high, written or unit) if low < high else None
    if not all(is_number(end) for end in found.groups()):
        return None
    ends = [Decimal(end) for end in found.groups()]
    power = min(int(end.as_tuple().exponent) for end in ends)
    if abs(power) > MAX_POWER or not ends[0] < ends[1]:
        return None
    low, high = (int(end.scaleb(-power)) for end in ends)
    return Interval(low, high, -power) if max(-low, high) <= MAX_STEP else None


def read_dates(labels: Sequence[Any]) -> tuple[NDArray[np.int64], str] | None:
    """Return dates in steps of the coarsest unit that all of them are multiples of, and the scale.

    Labels are dates without time zones, or texts such as ``2020-01-31`` and
    ``2020-01-31 12:00:00``; for others None is returned.
    """
    if not labels:
        return None
    written = ""
    if all(isinstance(label, str) for label in labels):
        if not _DATE.fullmatch(labels[0]):  # most texts
            return None
        found = [_DATE.fullmatch(label) for label in labels]
        if not all(found):
            return None
        marks = {match[1] for match in found if match}
        if len(marks) > 1:
            return None
        (mark,) = marks
        parts = max(bool(match[1]) + bool(match[2]) + bool(match[3]) for match in found if match)
        written = (mark or " ") + list(UNITS)[parts]
    elif not all(isinstance(label, date) for label in labels) or any(
        isinstance(label, datetime) and label.tzinfo is not None for label in labels
    ):
        return None
    try:
        ticks = np.array(labels, dtype="M8[us]").astype(np.int64)
    except ValueError:  # the 31st of February
        return None
    unit = next(unit for unit, length in UNITS.items() if not (ticks % length).any())
    return ticks // UNITS[unit], unit + written


def date_ticks(labels: Sequence[Any], scale: str) -> NDArray[np.float64] | None:
    """Return dates in steps of a scale, None being NaN; without any dates None is returned."""
    present = [label for label in labels if label is not None]
    found = read_dates(present)
    if present and found is None:
        return None
    ticks = np.full(len(labels), np.nan)
    if found is not None:
        microseconds = found[0] * date_unit(found[1])
        ticks[[label is not None for label in labels]] = microseconds // date_unit(scale)
    return ticks


def date_unit(scale: str) -> int:
    """Return how many microseconds a step of a scale of dates has."""
    return UNITS[_parts(scale)[0]]


def _parts(scale: str) -> tuple[str, str, str | None]:
    """Return the unit of a scale, the mark before the time, and the unit that is written."""
    found = _SCALE.fullmatch(scale)
    if found is None:
        raise ValueError(f"scale must be a number of decimals or a unit of dates, got {scale!r}")
    return found[1], found[2] or " ", found[3]


def _text(tick: int, scale: int | str) -> str:
    if isinstance(scale, str):
        unit, _, _ = _parts(scale)
        return str(_dates(np.array([tick]), f"{unit} {unit}")[0])
    if scale == 0:
        return str(tick)
    if 0 < scale <= MAX_DECIMALS:
        return f"{Decimal(tick).scaleb(-scale):f}"
    return f"{tick}e{-scale}"


def _dates(ticks: NDArray[np.int64], scale: str) -> NDArray[Any]:
    unit, mark, written = _parts(scale)
    dates = ticks.astype(f"M8[{unit}]")
    if written is None:
        return dates
    # NumPy's unit for minutes is m, that of months M
    texts = np.datetime_as_string(dates, unit=written)  # type: ignore[arg-type]
    return np.char.replace(texts, "T", mark).astype(object)
