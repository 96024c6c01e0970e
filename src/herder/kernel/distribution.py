"""The distribution of one column: moments, quantiles, and how far another one is from it."""

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["Distribution", "average", "mean_and_spread", "relative_square"]

#: Cumulative weights this close to a level are at it: above rounding in a sum over 1e9 rows.
LEVEL_TOL = 1e-10


def average(values: NDArray[np.float64], weight: NDArray[np.float64] | None) -> float:
    """Return an average over rows, of equal weight if there is none."""
    return float(values.mean() if weight is None else weight @ values)


def relative_square(
    values: NDArray[np.float64],
    picked: NDArray[np.float64],
    before: NDArray[np.float64] | None,
    after: NDArray[np.float64],
) -> float:
    """Return the squared error of an average over the variance of a row, NaN if it has none."""
    mean = average(values, before)
    variance = average(np.square(values - mean), before)
    none = variance <= LEVEL_TOL * mean**2
    return math.nan if none else (average(picked, after) - mean) ** 2 / variance


def mean_and_spread(
    column: NDArray[np.float64], weight: NDArray[np.float64] | None
) -> tuple[float, float]:
    """Return mean and standard deviation of a column."""
    # Differences from one value: a constant column has exactly that mean, and no spread.
    base = column[0]
    apart = column - base
    shift = apart.mean() if weight is None else weight @ apart
    apart -= shift
    np.square(apart, out=apart)
    square = apart.mean() if weight is None else weight @ apart
    return float(base + shift), math.sqrt(max(float(square), 0.0))


class Distribution:
    """Sorted values and their distribution function; without weights no second array is made."""

    def __init__(self, column: NDArray[np.float64], weight: NDArray[np.float64] | None) -> None:
        self.n = len(column)
        self.cumulative: NDArray[np.float64] | None = None
        if weight is None:
            self.values = np.sort(column)
        else:
            order = np.argsort(column)
            self.values = column[order]
            self.cumulative = np.concatenate([[0.0], np.cumsum(weight[order])])

    def below(self, counts: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the weight of that many smallest values."""
        return counts / self.n if self.cumulative is None else self.cumulative[counts]

    def quantiles(self, levels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values at these levels."""
        if self.cumulative is None:
            reach = np.ceil((levels - LEVEL_TOL) * self.n).astype(np.intp) - 1
            beyond = np.floor((levels + LEVEL_TOL) * self.n).astype(np.intp)
        else:
            risen = np.maximum.accumulate(self.cumulative[1:])
            reach = np.searchsorted(risen, levels - LEVEL_TOL, side="left")
            beyond = np.searchsorted(risen, levels + LEVEL_TOL, side="right")
        last = self.n - 1
        low, high = self.values[reach.clip(0, last)], self.values[beyond.clip(0, last)]
        return low + (high - low) / 2

    def squared_error(self, part: "Distribution", at: NDArray[np.float64]) -> float:
        """Return the mean of squared errors of the shares up to each value, in variances."""
        mine, theirs = (
            one.below(np.searchsorted(one.values, at, side="right")) for one in (self, part)
        )
        variance = mine * (1 - mine)
        known = variance > LEVEL_TOL
        return (
            float(np.mean((theirs - mine)[known] ** 2 / variance[known]))
            if known.any()
            else math.nan
        )

    def distance(self, part: "Distribution") -> float:
        """Return the largest difference of the two functions, at or just below a value of one."""
        found = 0.0
        for side in ("left", "right"):
            mine = self.below(np.searchsorted(self.values, part.values, side=side))
            theirs = part.below(np.searchsorted(part.values, part.values, side=side))
            found = max(found, float(np.abs(mine - theirs).max()))
        return found
