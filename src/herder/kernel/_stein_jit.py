"""Compiled loops of the Stein kernel. They trust their arguments: callers validate."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit, jit_relaxed

#: Rows of a tile, so that the three buffers stay in the nearest cache.
TILE = 512


@jit_relaxed
def add_column(x: Any, s: Any, a: float, b: float, squares: Any, inner: Any, product: Any) -> None:
    """Add what one column gives: gaps squared, gaps times gaps of scores, scores times scores."""
    for i in range(x.size):
        gap = a - x[i]
        squares[i] += gap * gap
        inner[i] += gap * (b - s[i])
        product[i] += b * s[i]


@jit_relaxed
def combine(squares: Any, inner: Any, product: Any, d: int, out: Any) -> None:
    """Kernel values from the three sums."""
    for i in range(out.size):
        inverse = 1.0 / (1.0 + squares[i])
        bracket = product[i] + (d + inner[i] - 3.0 * squares[i] * inverse) * inverse
        out[i] = bracket * np.sqrt(inverse)


@jit
def tile(points: Any, scores: Any, j: int, low: int, high: int, work: Any, out: Any) -> None:
    """Fill ``out`` with kernel values of row j to rows ``low`` to ``high``."""
    for r in range(3):
        for i in range(high - low):
            work[r, i] = 0.0
    squares, inner, product = work[0], work[1], work[2]
    for k in range(points.shape[0]):
        x, s = points[k, low:high], scores[k, low:high]
        add_column(x, s, points[k, j], scores[k, j], squares, inner, product)
    combine(squares, inner, product, points.shape[0], out)


@jit
def column(
    points: NDArray[np.float64],  # (d, n): coordinates divided by the bandwidth
    scores: NDArray[np.float64],  # (d, n): scores multiplied by the bandwidth
    j: int,
    out: NDArray[np.float64],  # (n,), filled
) -> None:
    """Fill ``out`` with the kernel values of row j to all rows."""
    work = np.empty((3, TILE))
    for low in range(0, out.size, TILE):
        high = min(low + TILE, out.size)
        tile(points, scores, j, low, high, work, out[low:high])


@jit_relaxed
def share(values: Any, p: float, weights: Any, columns: NDArray[np.float64]) -> float:
    """Add ``p`` times the values to the columns; return their weighted sum."""
    total = 0.0
    for i in range(values.size):
        total += weights[i] * values[i]
        columns[i] += p * values[i]
    return total


@jit
def lane_sums(
    points: NDArray[np.float64],  # (d, n)
    scores: NDArray[np.float64],  # (d, n)
    weights: NDArray[np.float64],  # (n,)
    lane: int,
    lanes: int,
    start: int,  # columns start .. stop of this call
    stop: int,
    sums: NDArray[np.float64],  # (n,), of this lane alone, updated
) -> None:
    """Add sum_j weight_j k(x_i, x_j) over pairs of different rows, each seen once."""
    work, values = np.empty((3, TILE)), np.empty(TILE)
    for low in range(start, stop, TILE):
        high = min(low + TILE, stop)
        for i in range(lane, high, lanes):
            begin = max(low, i + 1)
            if begin < high:
                part = values[: high - begin]
                tile(points, scores, i, begin, high, work, part)
                sums[i] += share(part, weights[i], weights[begin:high], sums[begin:high])
