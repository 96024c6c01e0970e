"""Compiled passes over rows for the pseudo-likelihood. They trust their arguments.

Rows are lists of the sites that are on; fields, and what is summed, are those of the columns from
``first`` on, as many as the outputs have. Exponentials are taken by a polynomial, which fills the
width of the machine.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit_fused

#: 2^r on [-1/2, 1/2] by the polynomial of least relative error, 4e-16.
B0, B1, B2, B3 = 1.0, 0.6931471805599498, 0.24022650695908365, 0.055504108664461524
B4, B5, B6 = 0.009618129108162928, 0.0013333558228163678, 0.0001540352981904071
B7, B8, B9 = 1.5252658326470099e-05, 1.321572732353751e-06, 1.0208501269638633e-07
B10 = 7.027007827993569e-09

#: 1.5 * 2^52: adding it rounds to an integer, found in the last bits.
ROUND = 6755399441055744.0

#: Fields beyond this are as good as infinite: exp(-700) is the least that is not denormal.
FARTHEST = 700.0

LOG2_E = 1.4426950408889634

#: log(1 + e) = 2 artanh(e / (2 + e)) by its series, whose argument is at most 1/3: the
#: seventeenth term is about 1e-17.
L1, L3, L5, L7, L9, L11, L13 = 2.0, 2 / 3, 2 / 5, 2 / 7, 2 / 9, 2 / 11, 2 / 13
L15, L17, L19, L21, L23, L25 = 2 / 15, 2 / 17, 2 / 19, 2 / 21, 2 / 23, 2 / 25
L27, L29, L31 = 2 / 27, 2 / 29, 2 / 31


class Rows(NamedTuple):
    """Rows as lists of the sites that are on, and the share of each in the data."""

    indptr: NDArray[np.integer]  # (n_rows + 1,)
    indices: NDArray[np.integer]  # (n_on,)
    weights: NDArray[np.float64]  # (n_rows,)


@jit_fused
def power(y: float) -> float:
    """2^y for y between -1022 and 0."""
    t = y + ROUND
    r = y - (t - ROUND)
    p = ((((B10 * r + B9) * r + B8) * r + B7) * r + B6) * r + B5
    p = ((((p * r + B4) * r + B3) * r + B2) * r + B1) * r + B0
    exponent = np.int64(np.float64(t).view(np.int64) << np.int64(52))
    return np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)


@jit_fused
def log_one_plus(e: float) -> float:
    """log(1 + e) for e between 0 and 1."""
    s = e / (2.0 + e)
    q = s * s
    p = ((((L31 * q + L29) * q + L27) * q + L25) * q + L23) * q + L21
    p = ((((p * q + L19) * q + L17) * q + L15) * q + L13) * q + L11
    p = ((((p * q + L9) * q + L7) * q + L5) * q + L3) * q + L1
    return p * s


@jit_fused
def residuals(
    rows: Rows,
    first: int,  # the first column of this block
    couplings: NDArray[np.float64],  # (n, width), of the block
    base: NDArray[np.float64],  # (width,), fields of the empty row
    sums: NDArray[np.float64],  # (n + 2, width): see below
    curvatures: NDArray[np.float32],  # (n_rows, width), filled with weight * p (1 - p)
) -> None:
    """Add up p - x over rows where site j is on (line j), over all rows, then -log p(x)."""
    n, width = couplings.shape
    field, loss = np.empty(width), sums[n + 1]
    for r in range(rows.weights.shape[0]):
        start, stop, weight = rows.indptr[r], rows.indptr[r + 1], rows.weights[r]
        for i in range(width):
            field[i] = base[i]
        for k in range(start, stop):
            line = couplings[rows.indices[k]]
            for i in range(width):
                field[i] += line[i]
        for k in range(start, stop):
            i = rows.indices[k] - first
            if 0 <= i < width:
                loss[i] -= weight * field[i]
        for i in range(width):
            e = power(-min(abs(field[i]), FARTHEST) * LOG2_E)
            low = weight / (1.0 + e)
            loss[i] += weight * (max(field[i], 0.0) + log_one_plus(e))
            curvatures[r, i] = np.float32(e / (1.0 + e) * low)
            field[i] = low if field[i] > 0.0 else low * e
        for k in range(start, stop):
            i = rows.indices[k] - first
            if 0 <= i < width:
                field[i] -= weight
        for k in range(start, stop):
            line = sums[rows.indices[k]]
            for i in range(width):
                line[i] += field[i]
        line = sums[n]
        for i in range(width):
            line[i] += field[i]


@jit_fused
def bends(
    rows: Rows,
    direction: NDArray[np.float64],  # (n, width), change of the couplings
    base: NDArray[np.float64],  # (width,), change of the fields of the empty row
    curvatures: NDArray[np.float32],  # (n_rows, width), of `residuals`
    sums: NDArray[np.float64],  # (n + 1, width), as in `residuals`
) -> None:
    """Add up the change of the residuals along a direction: the Hessian times it."""
    n, width = direction.shape
    field = np.empty(width)
    for r in range(rows.weights.shape[0]):
        start, stop = rows.indptr[r], rows.indptr[r + 1]
        for i in range(width):
            field[i] = base[i]
        for k in range(start, stop):
            line = direction[rows.indices[k]]
            for i in range(width):
                field[i] += line[i]
        for i in range(width):
            field[i] *= curvatures[r, i]
        for k in range(start, stop):
            line = sums[rows.indices[k]]
            for i in range(width):
                line[i] += field[i]
        line = sums[n]
        for i in range(width):
            line[i] += field[i]
