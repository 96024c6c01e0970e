"""Columns of numbers, part by part: mean, standard deviation and quantiles in constant memory."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from herder.core.summary import Fact, Section, Table, Text

__all__ = ["NumberColumn", "number_facts", "number_section"]

#: Quantiles that are compared.
LEVELS = (0.05, 0.5, 0.95)

#: Values that quantiles are taken from; of longer columns evenly spaced ones.
MAX_KEPT = 2**16

WHAT = ("mean", "sd", *(f"{level:.0%} quantile" for level in LEVELS))


class NumberColumn:
    """Mean, standard deviation and quantiles of numbers that come in parts; NaN is left out.

    Examples
    --------
    >>> column = NumberColumn()
    >>> for part in ([1.0, 2.0], [6.0, np.nan]):
    ...     column.add(np.array(part))
    >>> [round(float(value), 2) for value in column.values()]
    [3.0, 2.16, 1.1, 2.0, 5.6]
    """

    def __init__(self) -> None:
        self._n, self._mean, self._squares = 0, 0.0, 0.0
        self._kept, self._one_in = np.empty(0), 1

    def add(self, values: NDArray[np.float64]) -> None:
        """Add some values."""
        x = values[~np.isnan(values)]
        if not len(x):
            return
        n, mean = self._n + len(x), float(x.mean())
        gap = mean - self._mean
        with np.errstate(over="ignore"):  # infinite if squares are no floats
            self._squares += float(np.square(x - mean).sum()) + gap * gap * self._n * len(x) / n
        self._mean += gap * len(x) / n
        self._kept = np.concatenate([self._kept, x[-self._n % self._one_in :: self._one_in]])
        self._n = n
        while len(self._kept) > MAX_KEPT:
            self._kept, self._one_in = self._kept[::2], 2 * self._one_in

    def values(self) -> NDArray[np.float64]:
        """Return mean, standard deviation and quantiles, NaN if there were no numbers."""
        if not self._n:
            return np.full(len(WHAT), np.nan)
        sd = np.sqrt(self._squares / self._n)
        return np.array([self._mean, sd, *np.quantile(self._kept, LEVELS)])


Columns = Mapping[str, NumberColumn]


def number_facts(table: Columns, rows: Columns) -> list[Fact]:
    """Return the largest difference between numbers of the table and of the rows, if any."""
    worst: tuple[float, str] = (-1.0, "")
    for name in rows:
        old, new = table[name].values(), rows[name].values()
        gaps = np.abs(new - old) / old[1] if old[1] > 0 else np.abs(new - old)
        if not np.isnan(gaps).any() and gaps.max() > worst[0]:
            k = int(gaps.argmax())
            both = f"{old[k]:.4g} in the table, {new[k]:.4g} in the rows"
            worst = float(gaps[k]), f"standard deviations off, the {WHAT[k]} of {name}: {both}"
    return [Fact("numbers", worst[0], ".2f", worst[1])] if worst[1] else []


def number_section(table: Columns, rows: Columns) -> Section:
    """Return a table of the numbers of the table and of the rows, for a page."""
    lines: list[Sequence[object]] = []
    for name in rows:
        for whose, columns in (("table", table), ("synthetic rows", rows)):
            lines.append((name, whose, *map(float, columns[name].values())))
    formats = ("", "", *[".4g"] * len(WHAT))
    text = (
        "Numbers are matched by their bins, and spread evenly within them: their means and "
        "quantiles are near those of the table, and the tails beyond the outermost bins are lost."
    )
    found = Table(("column", "of", *WHAT), lines, formats, "Columns of numbers that are binned")
    return Section("Numbers", [Text(text), found])
