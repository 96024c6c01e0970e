r"""Bins of columns of numbers and dates: quantiles, heavy values by themselves, robust ends.

A column is first put on a grid: integers as they are, numbers with few decimals in steps of the
last one, dates in the coarsest unit that all of them are multiples of. Then

- a value that fills a bin alone *is* a bin, and comes back exactly; so is one that has 5 % of the
  rows, fills a third of a bin and stands out from its neighbours;
- the other values are cut into bins of equally many rows. A cut lies between two values that
  occur, at the roundest number there;
- where the number of bins is chosen here, the lowest and the highest 5 % of the rows are bins
  of their own, as a distribution is the least even in its tails;
- where no other bin follows, at either end and beside a heavy value, a bin ends where its
  median is in its middle, so that values spread evenly over it have the right median, but not
  beyond what the fifth value from the end suggests (in a bin of fewer than 20 rows a quarter
  of them); then it is rounded outwards. Ends thus do not depend on the most extreme values,
  unless five rows share them, and one value far out stretches no bin.
"""

import itertools
from collections.abc import Hashable
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.data.columns import Column
from herder.data.intervals import MAX_POWER, UNITS, Interval, date_unit, read_dates

__all__ = ["MAX_LABELS", "auto_bins", "bins_of"]

#: Columns of numbers or dates with at most so many distinct values are categories.
MAX_LABELS = 32

#: Rows that a cell should have on average where bins are chosen, and the most bins of a column.
CELL_ROWS, MAX_BINS, MIN_BINS = 8, 18, 4

#: Fewer rows make no bin beside a heavy value; so many from the end an outer bin ends.
FEW_ROWS = 5

#: Share of the rows in each of the two outermost bins, where so many rows are enough for a bin.
TAIL = 0.05

#: Values of which so many fill a bin, but at least 5 % of the rows, are bins by themselves if they
#: are so many times as frequent as the values beside them; they are half of the bins at most.
POINT_MASSES, POINT_MASS, STANDS_OUT = 3, 0.05, 3

#: Share of the rows of a bin by which it may be larger or smaller, so that its ends are round.
SPARE = 0.1

#: More decimals are those of a measurement without a grid.
MAX_GRID_DECIMALS = 6

#: Integers beyond it are identifiers: floats do not distinguish them.
MAX_INTEGER = 2**53

#: Steps that the narrowest bin of a column without a grid has at least.
MIN_STEPS = 100


def auto_bins(n_rows: int, order: int) -> int:
    """Return how many bins serve: the cells of groups of ``order`` columns have some rows each."""
    bins = round((n_rows / CELL_ROWS) ** (1 / max(order, 2)), 6)  # 9.999... is 10
    return int(np.clip(bins, MIN_BINS, MAX_BINS))


def bins_of(
    column: Column, n_bins: int, *, tails: bool
) -> tuple[tuple[Hashable, ...], str] | None:
    """Return about ``n_bins`` bins of a column, and the dtype that their values come back in.

    None is returned for a column that holds neither numbers nor dates.

    Parameters
    ----------
    column : Column
        The column.
    n_bins : int
        How many bins of equally many rows.
    tails : bool
        Whether to add a bin of 5 % of the rows at either end.
    """
    grid = _grid(column)
    if grid is None:
        return None
    steps, scale, is_grid, dtype = grid
    counts = np.bincount(column.index, minlength=len(column.labels))
    counts = counts[[label is not None for label in column.labels]]
    order = np.argsort(steps, kind="stable")
    steps, counts = steps[order], counts[order]
    labels = [column.present[i] for i in order.tolist()]
    if not is_grid:  # values that one step holds: the most common of them stands for all
        first = np.flatnonzero(np.r_[True, np.diff(steps) > 0])
        last = np.r_[first[1:], len(steps)]
        ranges = zip(first.tolist(), last.tolist(), strict=True)
        labels = [labels[a + int(np.argmax(counts[a:b]))] for a, b in ranges]
        steps, counts = steps[first], np.add.reduceat(counts, first)
    rows = TAIL * counts.sum() if tails else 0.0
    groups = _groups(counts, n_bins, rows if rows >= 2 * FEW_ROWS else 0.0)
    groups = _moved(steps, counts, groups, scale)
    points = [len(group) == 1 and counts[group[0]] >= FEW_ROWS for group in groups]
    spans = _spans(steps, counts, groups, points, scale)
    if np.dtype(dtype).kind in "iu":
        spans = np.clip(spans, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max) + 1)
    if not is_grid and isinstance(scale, int):
        power = min(_spare(spans[np.logical_not(points)]), scale + MAX_POWER)
        spans, scale = spans // 10**power, scale - power
    bins = zip(spans.tolist(), groups, points, strict=True)
    return tuple(
        labels[group[0]] if heavy and isinstance(scale, int) else Interval(low, high, scale)
        for (low, high), group, heavy in bins
    ), dtype


def _grid(column: Column) -> tuple[NDArray[np.int64], Any, bool, str] | None:
    """Return labels in steps of a scale, whether they are exactly that, and the dtype."""
    present, dtype = column.present, column.dtype
    if not column.is_numeric:
        dates = read_dates(present)
        if dates is None:
            return None
        if dtype == "object" and isinstance(present[0], datetime):
            dtype = "datetime64[us]"
        return dates[0], dates[1], True, dtype
    kind = dtype if dtype.startswith("float") else "float64"
    numbers = np.array(present, dtype=kind)
    largest = float(np.abs(numbers).max())
    if all(isinstance(label, int) for label in present):
        whole = largest < MAX_INTEGER
        return (np.array(present, dtype=np.int64), 0, True, dtype) if whole else None
    for decimals in range(MAX_GRID_DECIMALS + 1):
        if largest * 10.0**decimals >= MAX_INTEGER:
            break
        if (np.round(numbers, decimals) == numbers).all():
            ticks = np.rint(numbers.astype(float) * 10.0**decimals)
            return ticks.astype(np.int64), decimals, True, dtype
    scale = min(15 - int(np.ceil(np.log10(largest))), 300)
    factor = 10.0**scale if scale > 0 else 1 / 10.0**-scale
    return np.floor(numbers.astype(float) * factor).astype(np.int64), scale, False, dtype


def _groups(counts: NDArray[np.int64], n_bins: int, rows: float) -> list[range]:
    """Return consecutive values that make a bin: heavy ones alone, the others in equal parts.

    The outermost bins have ``rows`` rows, or are like the others if it is zero; beyond them there
    may be heavy values.
    """
    heavy = _heavy(counts, n_bins)
    light = counts.copy()
    light[heavy] = 0
    rest = int(light.sum())
    groups: list[range] = []
    start = 0
    for place in [*heavy.tolist(), len(counts)]:
        here = int(counts[start:place].sum())
        if here >= FEW_ROWS or (here and not len(heavy)):
            parts = max(round((n_bins - len(heavy)) * here / rest), 1)
            below, above = (
                rows * (one.sum() < FEW_ROWS) for one in (light[:start], light[place:])
            )
            groups += _equal_parts(counts, start, place, parts, below, above)
        if place < len(counts):
            groups.append(range(place, place + 1))
        start = place + 1
    return groups


def _heavy(counts: NDArray[np.int64], n_bins: int) -> NDArray[np.intp]:
    """Return the values that are bins by themselves."""
    rows = counts.sum()
    heavy = counts >= rows / n_bins
    least = max(FEW_ROWS, POINT_MASS * rows, rows / (POINT_MASSES * n_bins))
    beside = np.maximum(np.r_[0, counts[:-1]], np.r_[counts[1:], 0])
    masses = np.flatnonzero((counts >= least) & (counts >= STANDS_OUT * beside))
    heavy[masses[np.argsort(-counts[masses], kind="stable")][: n_bins // 2]] = True
    return np.flatnonzero(heavy)


def _equal_parts(
    counts: NDArray[np.int64], start: int, stop: int, n_parts: int, below: float, above: float
) -> list[range]:
    """Return ``n_parts`` of equally many rows, besides tails of so many rows, if any."""
    sums = np.cumsum(counts[start:stop])
    if max(below, above) * n_parts >= sums[-1]:
        below = above = 0.0
    goals = np.linspace(below, sums[-1] - above, n_parts + 1)
    goals = goals[(goals > 0) & (goals < sums[-1])]
    after = np.searchsorted(sums, goals)
    nearer = (after > 0) & (goals - sums[after - 1] < sums[after] - goals)
    cuts = np.unique(after - nearer + 1)
    cuts = [0, *cuts[cuts < len(sums)].tolist(), len(sums)]
    return [range(start + a, start + b) for a, b in itertools.pairwise(cuts)]


def _moved(
    steps: NDArray[np.int64], counts: NDArray[np.int64], groups: list[range], scale: int | str
) -> list[range]:
    """Move the ends of bins by few rows, to rounder numbers."""
    sums = np.cumsum(counts)
    groups = list(groups)
    for k in range(len(groups) - 1):
        left, right = groups[k : k + 2]
        here = left.stop
        if len(left) == 1 or len(right) == 1 or right.start != here:  # beside a heavy value
            continue
        before = sums[left.start - 1] if left.start else 0
        middle = sums[here - 1]
        spare = SPARE * min(middle - before, sums[right.stop - 1] - middle)
        low = max(int(np.searchsorted(sums, middle - spare)), left.start)
        high = min(int(np.searchsorted(sums, middle + spare, side="right")), right.stop - 1)
        cut = int(np.searchsorted(steps, _between(int(steps[low]), int(steps[high]), scale)))
        groups[k], groups[k + 1] = range(left.start, cut), range(cut, right.stop)
    return groups


def _between(low: int, high: int, scale: int | str) -> int:
    """Return the roundest step above ``low`` and at most ``high``."""
    round_steps = (high // length * length for length in _lengths(scale))
    return next(step for step in round_steps if step > low)


def _lengths(scale: int | str) -> list[int]:
    """Return lengths that steps are rounded to, the longest first."""
    if isinstance(scale, int):
        return [10**power for power in range(18, -1, -1)]
    step = date_unit(scale)
    return [length // step for length in UNITS.values() if length >= step]


def _spans(
    steps: NDArray[np.int64],
    counts: NDArray[np.int64],
    groups: list[range],
    points: list[bool],
    scale: int | str,
) -> NDArray[np.int64]:
    """Return where each bin begins and ends; a heavy value (of ``points``) is one step."""
    cuts = [
        _between(int(steps[a[-1]]), int(steps[b[0]]), scale) for a, b in itertools.pairwise(groups)
    ]
    lows: list[int] = [-(2**62), *cuts]
    highs: list[int] = [*cuts, 2**62]
    for k, group in enumerate(groups):
        if points[k]:
            lows[k], highs[k] = int(steps[group[0]]), int(steps[group[0]]) + 1
            continue
        values, times = steps[group.start : group.stop], counts[group.start : group.stop]
        half = len(values) // 2
        # ends that no other bin shares; if both are such, each is that of one half
        first = k == 0 or (points[k - 1] and _fifth(values, times) > highs[k - 1])
        last = k == len(groups) - 1
        if not last and points[k + 1]:
            last = _fifth(values[::-1], times[::-1]) + 1 < steps[groups[k + 1][0]]
        low, high, parts = lows[k], highs[k], (slice(None), slice(None))
        if first and last and half:
            low = high = _between(int(values[half - 1]), int(values[half]), scale)
            parts = slice(half), slice(half, None)
        elif first and last:
            low, high = int(values[0]), int(values[0]) + 1
        if first:
            lows[k] = max(lows[k], _begin(values[parts[0]], times[parts[0]], high, scale))
        if last:  # the same, seen in a mirror
            values, times = -1 - values[parts[1]][::-1], times[parts[1]][::-1]
            highs[k] = min(highs[k], -_begin(values, times, -low, scale))
    return np.array([lows, highs]).T


def _fifth(steps: NDArray[np.int64], counts: NDArray[np.int64]) -> int:
    """Return the step of the fifth row, or of the last one."""
    sums = np.cumsum(counts)
    return int(steps[np.searchsorted(sums, min(FEW_ROWS, sums[-1]))])


def _begin(steps: NDArray[np.int64], counts: NDArray[np.int64], end: int, scale: int | str) -> int:
    """Return where a bin begins that ends at ``end``."""
    width = _width(end - steps[::-1], counts[::-1])
    length = next((length for length in _lengths(scale) if length <= width / 10), 1)
    low = int((end - width) // length) * length  # outwards, by at most a tenth of the width
    if counts[0] >= FEW_ROWS:
        low = max(low, int(steps[0]))
    if steps[0] >= 0:
        low = max(low, 0)
    return min(low, end - 1)


def _width(reach: NDArray[np.int64], counts: NDArray[np.int64]) -> float:
    """Return the width of an outer bin from how far its values reach, the nearest first."""
    sums = np.cumsum(counts)
    rows = int(sums[-1])
    half = int(np.searchsorted(sums, rows / 2))
    median = reach[half] - (sums[half] - rows / 2) / counts[half]  # rows are even within a step
    beyond = min(FEW_ROWS, -(-rows // 4)) - 1
    # where values are even up to their end, it is expected so far beyond the last but four
    limit = reach[np.searchsorted(sums, rows - beyond)] * rows / (rows - beyond)
    return max(min(2 * float(median), float(limit)), 1.0)


def _spare(ends: NDArray[np.int64]) -> int:
    """Return how many digits of all ends are zeros that values need not have, either."""
    power, narrowest = 0, int(np.diff(ends).min(initial=2**62))
    while narrowest >= MIN_STEPS * 10 ** (power + 1) and not (ends % 10 ** (power + 1)).any():
        power += 1
    return power
