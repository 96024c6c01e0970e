"""Compiled loops over packed triangles, for `herder.online.dual`. They trust their arguments.

A lower triangle is kept row after row in one array: row i starts at i (i + 1) / 2, so that a new
row is appended and nothing moves.
"""

import math

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit, jit_fused, jit_relaxed


@jit_relaxed
def _dot(a: NDArray[np.float64], b: NDArray[np.float64], n: int) -> float:
    total = 0.0
    for j in range(n):
        total += a[j] * b[j]
    return total


@jit_fused
def _add(out: NDArray[np.float64], scale: float, a: NDArray[np.float64], n: int) -> None:
    for j in range(n):
        out[j] += scale * a[j]


@jit_relaxed
def _dot_add(
    row: NDArray[np.float64],
    z: NDArray[np.float64],
    out: NDArray[np.float64],
    scale: float,
    n: int,
) -> float:
    """Return row.z and add scale * row to ``out``: one look at the row for both."""
    total = 0.0
    for j in range(n):
        total += row[j] * z[j]
        out[j] += scale * row[j]
    return total


@jit
def look(
    factor: NDArray[np.float64],  # packed, (n (n + 1) / 2 or more,)
    cover: NDArray[np.float64],  # packed, as long
    keep: float,
    kernel: NDArray[np.float64],  # (n,)
    place: NDArray[np.float64],  # (n + 1,), filled: coordinates of the row
    image: NDArray[np.float64],  # (n + 1,), filled: covariance times these
) -> tuple[float, float]:
    """Return the squared length of the row within the span, and its variance there."""
    n = kernel.shape[0]
    length, start = 0.0, 0
    for i in range(n):
        row = factor[start : start + i + 1]
        z = (kernel[i] - _dot(row, place, i)) / row[i]
        place[i] = z
        length += z * z
        row = cover[start : start + i + 1]
        image[i] = _dot_add(row, place, image, z, i) + row[i] * z
        start += i + 1
    variance = 0.0
    for i in range(n):
        image[i] = keep * image[i] + (1.0 - keep) * place[i]
        variance += image[i] * place[i]
    return length, variance


@jit
def back(
    factor: NDArray[np.float64],  # packed
    image: NDArray[np.float64],  # (n,)
    shares: NDArray[np.float64],  # (n,), filled
) -> None:
    """Turn coordinates into coefficients of the supports."""
    n = image.shape[0]
    for i in range(n):
        shares[i] = image[i]
    start = n * (n + 1) // 2
    for i in range(n - 1, -1, -1):
        start -= i + 1
        row = factor[start : start + i + 1]
        shares[i] /= row[i]
        _add(shares, -shares[i], row, i)


@jit
def narrow(
    cover: NDArray[np.float64],  # packed, updated
    image: NDArray[np.float64],  # (n,)
    weight: float,
) -> None:
    """Subtract weight * image image'."""
    start = 0
    for i in range(image.shape[0]):
        _add(cover[start : start + i + 1], -weight * image[i], image, i + 1)
        start += i + 1


@jit
def relax(cover: NDArray[np.float64], n: int, keep: float) -> None:
    """Put keep * cover + (1 - keep) * identity in place of ``cover``."""
    start = 0
    for i in range(n):
        for j in range(start, start + i + 1):
            cover[j] *= keep
        start += i + 1
        cover[start - 1] += 1.0 - keep


@jit
def rival(
    kernel: NDArray[np.float64],  # (n,)
    coef: NDArray[np.float64],  # (n,)
    ends: NDArray[np.intp],  # (n, 2) class and rival of every support
    label: int,
    scores: NDArray[np.float64],  # (n_blocks,), filled
    coupled: NDArray[np.float64],  # (n,), filled: kernel of the difference vectors
) -> int:
    """Return the strongest class but the label; the lowest wins ties."""
    n = kernel.shape[0]
    scores[:] = 0.0
    for i in range(n):
        part = coef[i] * kernel[i]
        scores[ends[i, 0]] += part
        scores[ends[i, 1]] -= part
    best, top = -1, -math.inf
    for k in range(scores.shape[0]):
        if k != label and scores[k] > top:
            best, top = k, scores[k]
    for i in range(n):
        plus, minus = ends[i, 0], ends[i, 1]
        sign = int(plus == label) - int(plus == best) - int(minus == label) + int(minus == best)
        coupled[i] = sign * kernel[i]
    return best
