r"""Exponents of power laws, with intervals and the range that they were fitted over.

A dimension or a rate of growth is a slope on log-log axes, and holds over a range of scales only.
Here it is the mean of the slopes between neighbouring scales, with Student's 95 % interval of that
mean. It says how far the slopes agree, not how near the range is to the limit that the definition
asks for.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Exponent", "mean_slope"]


@dataclass(frozen=True, slots=True)
class Exponent:
    """An exponent.

    Parameters
    ----------
    value : float
        The mean of some slopes on log-log axes.
    low, high : float
        The 95 % interval of the mean.
    first, last : float
        The range of the fit.
    """

    value: float
    low: float
    high: float
    first: float
    last: float

    def __str__(self) -> str:
        interval = f"{self.low:.3f} to {self.high:.3f}" if self.low <= self.high else "one slope"
        return f"{self.value:.3f} ({interval}), fitted from {self.first:.3g} to {self.last:.3g}"


def mean_slope(slopes: NDArray[np.float64], first: float, last: float) -> Exponent:
    """Return the mean of slopes with its interval; two or more are needed for one."""
    from scipy.special import stdtrit

    mean, n = float(slopes.mean()), len(slopes)
    half = np.nan
    if n > 1:
        half = float(stdtrit(n - 1, 0.975) * slopes.std(ddof=1) / np.sqrt(n))
    return Exponent(mean, mean - half, mean + half, float(first), float(last))
