"""Compiled column of the Stein kernel. It trusts its arguments: callers validate."""

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit_relaxed

#: Rows of a tile, so that the three buffers stay in the nearest cache.
TILE = 512


@jit_relaxed
def column(
    points: NDArray[np.float64],  # (d, n): coordinates divided by the bandwidth
    scores: NDArray[np.float64],  # (d, n): scores multiplied by the bandwidth
    j: int,
    out: NDArray[np.float64],  # (n,), filled
) -> None:
    """Fill ``out`` with the kernel values of row j to all rows."""
    d, n = points.shape
    squares, inner, product = np.empty(TILE), np.empty(TILE), np.empty(TILE)
    for low in range(0, n, TILE):
        high = min(low + TILE, n)
        size = high - low
        squares[:] = 0.0
        inner[:] = 0.0
        product[:] = 0.0
        for k in range(d):
            x, s = points[k, low:high], scores[k, low:high]
            a, b = points[k, j], scores[k, j]
            for i in range(size):
                gap = a - x[i]
                squares[i] += gap * gap
                inner[i] += gap * (b - s[i])
                product[i] += b * s[i]
        values = out[low:high]
        for i in range(size):
            inverse = 1.0 / (1.0 + squares[i])
            bracket = product[i] + (d + inner[i] - 3.0 * squares[i] * inverse) * inverse
            values[i] = bracket * np.sqrt(inverse)
