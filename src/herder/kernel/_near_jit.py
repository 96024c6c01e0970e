"""Compiled sums of the Gaussian kernel over rows that lie near the origin.

With coordinates scaled so that the kernel is a power of two,

    k(a, b) = 2^(a.b - |a|^2/2 - |b|^2/2),

a pair costs one product per column instead of a difference and a square, and no exponent leaves
the range of the numbers. The callers see to it that norms are small: the three terms cancel for
rows that are near one another but far from the origin. Precision follows the coordinates.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit, jit_fused, jit_relaxed

#: Columns of a tile: four rows of exponents stay in the nearest cache.
TILE = 512

#: Blocks of four rows summed in the precision of the points before they join the sums in
#: double: 64 terms lose nothing that single precision had.
FLUSH = 16

# 2^r on [-1/2, 1/2] by polynomials of least relative error: 7e-8 and 4e-16.
A0, A1, A2 = (
    np.float32(1.0000000716546558),
    np.float32(0.6931469670638647),
    np.float32(0.2402211972),
)
A3, A4 = np.float32(0.05550713274961113), np.float32(0.009675541330676959)
A5 = np.float32(0.0013276471519542386)
B0, B1, B2, B3 = 1.0, 0.6931471805599498, 0.24022650695908365, 0.055504108664461524
B4, B5, B6 = 0.009618129108162928, 0.0013333558228163678, 0.0001540352981904071
B7, B8, B9 = 1.5252658326470099e-05, 1.321572732353751e-06, 1.0208501269638633e-07
B10 = 7.027007827993569e-09

# 1.5 * 2^23 and 1.5 * 2^52: adding one of them rounds to an integer, found in the last bits.
ROUND_SINGLE, ROUND_DOUBLE = np.float32(12582912.0), 6755399441055744.0


@jit_fused
def power_single(y: Any) -> Any:
    """2^y for y between -126 and 126."""
    t = y + ROUND_SINGLE
    r = y - (t - ROUND_SINGLE)
    p = ((((A5 * r + A4) * r + A3) * r + A2) * r + A1) * r + A0
    exponent = np.int32(np.float32(t).view(np.int32) << np.int32(23))
    return np.int32(np.float32(p).view(np.int32) + exponent).view(np.float32)


@jit_fused
def power_double(y: Any) -> Any:
    """2^y for y between -1022 and 1022."""
    t = y + ROUND_DOUBLE
    r = y - (t - ROUND_DOUBLE)
    p = ((((B10 * r + B9) * r + B8) * r + B7) * r + B6) * r + B5
    p = ((((p * r + B4) * r + B3) * r + B2) * r + B1) * r + B0
    exponent = np.int64(np.float64(t).view(np.int64) << np.int64(52))
    return np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)


@jit
def powers(q: Any, size: int) -> None:
    """Turn exponents into kernel values, in place."""
    if q.itemsize == 4:
        for j in range(size):
            q[j] = power_single(q[j])
    else:
        for j in range(size):
            q[j] = power_double(q[j])


@jit_relaxed
def set_one(x: Any, halves: Any, a: Any, c: Any, q0: Any, q1: Any, q2: Any, q3: Any) -> None:
    """Exponents from one column: ``a`` holds it for four rows, ``c`` their half norms."""
    a0, a1, a2, a3 = a[0], a[1], a[2], a[3]
    c0, c1, c2, c3 = c[0], c[1], c[2], c[3]
    for j in range(x.size):
        u, h = x[j], halves[j]
        q0[j] = a0 * u + (h + c0)
        q1[j] = a1 * u + (h + c1)
        q2[j] = a2 * u + (h + c2)
        q3[j] = a3 * u + (h + c3)


@jit_relaxed
def add_one(x: Any, a: Any, q0: Any, q1: Any, q2: Any, q3: Any) -> None:
    """Add the products of one more column."""
    a0, a1, a2, a3 = a[0], a[1], a[2], a[3]
    for j in range(x.size):
        u = x[j]
        q0[j] += a0 * u
        q1[j] += a1 * u
        q2[j] += a2 * u
        q3[j] += a3 * u


@jit_relaxed
def add_two(x: Any, y: Any, a: Any, b: Any, q0: Any, q1: Any, q2: Any, q3: Any) -> None:
    """Add the products of two more columns."""
    a0, a1, a2, a3 = a[0], a[1], a[2], a[3]
    b0, b1, b2, b3 = b[0], b[1], b[2], b[3]
    for j in range(x.size):
        u, v = x[j], y[j]
        q0[j] += a0 * u + b0 * v
        q1[j] += a1 * u + b1 * v
        q2[j] += a2 * u + b2 * v
        q3[j] += a3 * u + b3 * v


@jit
def four_rows(
    points: Any,  # (d, n): coordinates times the root of log2(e); the rows are i .. i + 3
    halves: Any,  # (n,): minus half the squared norms
    i: int,
    others: Any,  # (d, k)
    other_halves: Any,  # (k,)
    low: int,
    high: int,
    q: Any,  # (4, TILE), filled up to high - low
) -> None:
    """Kernel values of four rows to ``others[:, low:high]``."""
    d = points.shape[0]
    q0, q1, q2, q3 = q[0], q[1], q[2], q[3]
    a, c = points[0, i : i + 4], halves[i : i + 4]
    set_one(others[0, low:high], other_halves[low:high], a, c, q0, q1, q2, q3)
    k = 1
    while k + 1 < d:
        a, b = points[k, i : i + 4], points[k + 1, i : i + 4]
        add_two(others[k, low:high], others[k + 1, low:high], a, b, q0, q1, q2, q3)
        k += 2
    if k < d:
        add_one(others[k, low:high], points[k, i : i + 4], q0, q1, q2, q3)
    for r in range(4):
        powers(q[r], high - low)


@jit_relaxed
def add_tile(q: Any, p: Any, weights: Any, columns: Any, rows: NDArray[np.float64]) -> None:
    """Add a tile to the sums of its four rows and of its columns."""
    q0, q1, q2, q3 = q[0], q[1], q[2], q[3]
    p0, p1, p2, p3 = p[0], p[1], p[2], p[3]
    s0 = s1 = s2 = s3 = p0 - p0
    for j in range(columns.size):
        w = weights[j]
        s0 += w * q0[j]
        s1 += w * q1[j]
        s2 += w * q2[j]
        s3 += w * q3[j]
        columns[j] += (p0 * q0[j] + p1 * q1[j]) + (p2 * q2[j] + p3 * q3[j])
    rows[0] += s0
    rows[1] += s1
    rows[2] += s2
    rows[3] += s3


@jit_relaxed
def add_rows(q: Any, weights: Any, rows: NDArray[np.float64]) -> None:
    """Add a tile to the sums of its four rows alone."""
    q0, q1, q2, q3 = q[0], q[1], q[2], q[3]
    s0 = s1 = s2 = s3 = weights[0] - weights[0]
    for j in range(weights.size):
        w = weights[j]
        s0 += w * q0[j]
        s1 += w * q1[j]
        s2 += w * q2[j]
        s3 += w * q3[j]
    rows[0] += s0
    rows[1] += s1
    rows[2] += s2
    rows[3] += s3


@jit
def flush(part: Any, sums: NDArray[np.float64]) -> None:
    """Add sums of a few rows to those of all, in double; start anew."""
    for j in range(sums.size):
        sums[j] += part[j]
        part[j] = part[j] - part[j]


@jit
def lane_sums(
    points: Any,  # (d, n)
    halves: Any,  # (n,)
    weights: Any,  # (n,)
    lane: int,
    lanes: int,
    start: int,  # columns start .. stop of this call
    stop: int,
    sums: NDArray[np.float64],  # (n,), of this lane alone, updated
) -> None:
    """Add sum_j weight_j k(x_i, x_j) over pairs of different blocks of four rows."""
    q = np.empty((4, TILE), points.dtype)
    part = np.zeros(TILE, points.dtype)
    for low in range(start, stop, TILE):
        high = min(low + TILE, stop)
        waiting = 0
        for i in range(4 * lane, high, 4 * lanes):
            begin = max(low, i + 4)
            if begin < high:
                four_rows(points, halves, i, points, halves, begin, high, q)
                columns, w = part[begin - low : high - low], weights[begin:high]
                add_tile(q, weights[i : i + 4], w, columns, sums[i : i + 4])
                waiting += 1
            if waiting == FLUSH:
                flush(part, sums[low:high])
                waiting = 0
        flush(part, sums[low:high])


@jit
def cross_sums(
    points: Any,  # (d, n), n a multiple of four
    halves: Any,  # (n,)
    others: Any,  # (d, k)
    other_halves: Any,  # (k,)
    weights: Any,  # (k,)
    start: int,  # rows of this call; multiples of four
    stop: int,
    sums: NDArray[np.float64],  # (n,), updated
) -> None:
    """Add sum_j weight_j k(x_i, y_j) for rows ``start`` to ``stop``."""
    q = np.empty((4, TILE), points.dtype)
    for low in range(0, others.shape[1], TILE):
        high = min(low + TILE, others.shape[1])
        for i in range(start, stop, 4):
            four_rows(points, halves, i, others, other_halves, low, high, q)
            add_rows(q, weights[low:high], sums[i : i + 4])
