"""Slopes of upper bounds of error curves, and where a curve reaches a level."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Number of intervals of equal length in log T; the bound is the largest error in each.
N_INTERVALS = 20


def running_error(values: Floats, target: Floats) -> Floats:
    """RMSE over columns of the average of the first T rows, for all T (equation 4.29)."""
    counts = np.arange(1, len(values) + 1)[:, None]
    averages = np.cumsum(values, axis=0) / counts
    return np.sqrt(np.square(averages - target).mean(axis=1))


def upper_slope(error: Floats, counts: NDArray[np.intp], first: int = 10) -> float:
    """Slope of the upper bound of ``error`` over ``counts`` on log-log axes, from ``first`` on.

    The bound is the largest error in each of 20 intervals of equal length in log T; a straight
    line is fitted to these by least squares.
    """
    edges = np.geomspace(first, counts[-1], N_INTERVALS + 1)
    place = np.clip(np.searchsorted(edges, counts, side="right") - 1, -1, N_INTERVALS - 1)
    tops = [
        rows[error[rows].argmax()]
        for k in range(N_INTERVALS)
        if len(rows := np.flatnonzero(place == k))
    ]
    return float(np.polyfit(np.log(counts[tops]), np.log(error[tops]), 1)[0])


def settled(error: Floats, counts: NDArray[np.intp], level: float) -> float:
    """First count after which the error stays at or below ``level``; NaN if there is none."""
    above = np.flatnonzero(error > level)
    if not len(above):
        return float(counts[0])
    return float(counts[above[-1] + 1]) if above[-1] + 1 < len(counts) else float("nan")


def counts_to(n: int, *, per_decade: int = 50) -> NDArray[np.intp]:
    """Whole numbers from 1 to ``n``, evenly spaced in their logarithm."""
    n_points = int(per_decade * np.log10(n)) + 1
    return np.unique(np.rint(np.geomspace(1, n, n_points)).astype(np.intp))


def every(n: int) -> NDArray[np.intp]:
    """All counts from 1 to ``n``."""
    return np.arange(1, n + 1)


def mean_and_spread(numbers: Sequence[float] | Floats) -> tuple[float, float]:
    """Mean and standard deviation, as the papers print them."""
    return float(np.mean(numbers)), float(np.std(numbers, ddof=1))
