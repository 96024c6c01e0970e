"""Compiled loops over pairs of rows. They trust their arguments: callers validate.

Coordinates come as (d, n), so that the inner loops run over neighbours in memory, and divided by
the bandwidth. Single or double precision follows their dtype; sums are kept in double.

For the Gaussian kernel of rows that lie near the origin coordinates are scaled so that it is a
power of two,

    k(a, b) = 2^(a.b - |a|^2/2 - |b|^2/2):

a pair then costs one product per column instead of a difference and a square, and no exponent
leaves the range of the numbers. The callers see to it that norms are small: the three terms cancel
for rows that are near one another but far from the origin.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit, jit_fused, jit_relaxed

#: Columns of a tile: four rows of squared distances stay in the nearest cache.
TILE = 512

#: Blocks of four rows summed in the precision of the points before they join the sums in
#: double: 64 terms lose nothing that single precision had.
FLUSH = 16

#: Functions of the squared distance, by number; the last is of scaled coordinates, as above.
GAUSSIAN, MATERN32, MATERN52, LAPLACE, INVERSE_MULTIQUADRIC, DISTANCE, POWER = range(7)

# 2^r on [-1/2, 1/2] by polynomials of least relative error: 2e-9 and 4e-16.
A0, A1, A2 = (
    np.float32(1.0000000005541683),
    np.float32(0.6931472057372617),
    np.float32(0.2402264689),
)
A3, A4 = np.float32(0.055503287769750165), np.float32(0.009618488958638248)
A5, A6 = np.float32(0.0013399931216036545), np.float32(0.00015345811593185998)
B0, B1, B2, B3 = 1.0, 0.6931471805599498, 0.24022650695908365, 0.055504108664461524
B4, B5, B6 = 0.009618129108162928, 0.0013333558228163678, 0.0001540352981904071
B7, B8, B9 = 1.5252658326470099e-05, 1.321572732353751e-06, 1.0208501269638633e-07
B10 = 7.027007827993569e-09

# The same with one term less, for powers of scaled coordinates: 7e-8.
C0, C1, C2 = (
    np.float32(1.0000000716546558),
    np.float32(0.6931469670638647),
    np.float32(0.2402211972),
)
C3, C4 = np.float32(0.05550713274961113), np.float32(0.009675541330676959)
C5 = np.float32(0.0013276471519542386)
# 1.5 * 2^23 and 1.5 * 2^52: adding one of them rounds to an integer, found in the last bits.
ROUND_SINGLE, ROUND_DOUBLE = np.float32(12582912.0), 6755399441055744.0
LEAST_SINGLE, LEAST_DOUBLE = np.float32(-126.0), -1022.0
LOG2E = 1.4426950408889634


@jit_fused
def exp2_single(y: Any) -> Any:
    """2^y for y <= 0, no smaller than 2^-126; without calls or branches, so loops vectorise."""
    y = y if y > LEAST_SINGLE else LEAST_SINGLE
    t = y + ROUND_SINGLE
    r = y - (t - ROUND_SINGLE)
    p = (((((A6 * r + A5) * r + A4) * r + A3) * r + A2) * r + A1) * r + A0
    exponent = np.int32(np.float32(t).view(np.int32) << np.int32(23))
    return np.int32(np.float32(p).view(np.int32) + exponent).view(np.float32)


@jit_fused
def exp2_double(y: Any) -> Any:
    """2^y for y <= 0, no smaller than 2^-1022."""
    y = y if y > LEAST_DOUBLE else LEAST_DOUBLE
    t = y + ROUND_DOUBLE
    r = y - (t - ROUND_DOUBLE)
    p = ((((B10 * r + B9) * r + B8) * r + B7) * r + B6) * r + B5
    p = ((((p * r + B4) * r + B3) * r + B2) * r + B1) * r + B0
    exponent = np.int64(np.float64(t).view(np.int64) << np.int64(52))
    return np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)


@jit_fused
def shape_single(q: NDArray[np.float32], size: int, shape: int) -> None:
    """Turn ``size`` squared distances into kernel values, in place."""
    one, half = np.float32(1.0), np.float32(-0.5 * LOG2E)
    if shape == GAUSSIAN:
        for j in range(size):
            q[j] = exp2_single(q[j] * half)
    elif shape == MATERN32:
        for j in range(size):
            s = np.sqrt(q[j] * np.float32(3.0))
            q[j] = (one + s) * exp2_single(s * np.float32(-LOG2E))
    elif shape == MATERN52:
        for j in range(size):
            s = np.sqrt(q[j] * np.float32(5.0))
            q[j] = (one + s + s * s * np.float32(1 / 3)) * exp2_single(s * np.float32(-LOG2E))
    elif shape == LAPLACE:
        for j in range(size):
            q[j] = exp2_single(np.sqrt(q[j]) * np.float32(-LOG2E))
    elif shape == INVERSE_MULTIQUADRIC:
        for j in range(size):
            q[j] = one / np.sqrt(one + q[j])
    else:
        for j in range(size):
            q[j] = np.sqrt(q[j])


@jit_fused
def shape_double(q: NDArray[np.float64], size: int, shape: int) -> None:
    """`shape_single` in double precision."""
    if shape == GAUSSIAN:
        for j in range(size):
            q[j] = exp2_double(q[j] * (-0.5 * LOG2E))
    elif shape == MATERN32:
        for j in range(size):
            s = np.sqrt(q[j] * 3.0)
            q[j] = (1.0 + s) * exp2_double(s * -LOG2E)
    elif shape == MATERN52:
        for j in range(size):
            s = np.sqrt(q[j] * 5.0)
            q[j] = (1.0 + s + s * s * (1 / 3)) * exp2_double(s * -LOG2E)
    elif shape == LAPLACE:
        for j in range(size):
            q[j] = exp2_double(np.sqrt(q[j]) * -LOG2E)
    elif shape == INVERSE_MULTIQUADRIC:
        for j in range(size):
            q[j] = 1.0 / np.sqrt(1.0 + q[j])
    else:
        for j in range(size):
            q[j] = np.sqrt(q[j])


@jit
def shape_values(q: Any, size: int, shape: int) -> None:
    """Turn squared distances into kernel values in the precision of ``q``."""
    if q.itemsize == 4:
        shape_single(q, size, shape)
    else:
        shape_double(q, size, shape)


@jit_relaxed
def set_one(y: Any, a: Any, b: Any, c: Any, e: Any, q0: Any, q1: Any, q2: Any, q3: Any) -> None:
    """Squared differences of one column of four rows to all of ``y``."""
    for j in range(y.size):
        v = y[j]
        q0[j] = (a - v) * (a - v)
        q1[j] = (b - v) * (b - v)
        q2[j] = (c - v) * (c - v)
        q3[j] = (e - v) * (e - v)


@jit_relaxed
def add_one(y: Any, a: Any, b: Any, c: Any, e: Any, q0: Any, q1: Any, q2: Any, q3: Any) -> None:
    """Add the squared differences of one more column."""
    for j in range(y.size):
        v = y[j]
        q0[j] += (a - v) * (a - v)
        q1[j] += (b - v) * (b - v)
        q2[j] += (c - v) * (c - v)
        q3[j] += (e - v) * (e - v)


@jit_relaxed
def add_two(x: Any, y: Any, a: Any, b: Any, q0: Any, q1: Any, q2: Any, q3: Any) -> None:
    """Add the squared differences of two columns; ``a`` and ``b`` hold them for four rows."""
    a0, a1, a2, a3 = a[0], a[1], a[2], a[3]
    b0, b1, b2, b3 = b[0], b[1], b[2], b[3]
    for j in range(y.size):
        u, v = x[j], y[j]
        q0[j] += (a0 - u) * (a0 - u) + (b0 - v) * (b0 - v)
        q1[j] += (a1 - u) * (a1 - u) + (b1 - v) * (b1 - v)
        q2[j] += (a2 - u) * (a2 - u) + (b2 - v) * (b2 - v)
        q3[j] += (a3 - u) * (a3 - u) + (b3 - v) * (b3 - v)


@jit
def four_rows(
    points: Any,  # (d, n), the four rows are i .. i + 3
    i: int,
    others: Any,  # (d, k)
    low: int,
    high: int,
    q: Any,  # (4, TILE), filled up to high - low
) -> None:
    """Squared distances of four rows to ``others[:, low:high]``."""
    q0, q1, q2, q3 = q[0], q[1], q[2], q[3]
    x = points[0]
    set_one(others[0, low:high], x[i], x[i + 1], x[i + 2], x[i + 3], q0, q1, q2, q3)
    k = 1
    while k + 1 < points.shape[0]:
        a, b = points[k, i : i + 4], points[k + 1, i : i + 4]
        add_two(others[k, low:high], others[k + 1, low:high], a, b, q0, q1, q2, q3)
        k += 2
    if k < points.shape[0]:
        x = points[k]
        add_one(others[k, low:high], x[i], x[i + 1], x[i + 2], x[i + 3], q0, q1, q2, q3)


@jit_fused
def power_single(y: Any) -> Any:
    """2^y for y between -126 and 126."""
    t = y + ROUND_SINGLE
    r = y - (t - ROUND_SINGLE)
    p = ((((C5 * r + C4) * r + C3) * r + C2) * r + C1) * r + C0
    exponent = np.int32(np.float32(t).view(np.int32) << np.int32(23))
    return np.int32(np.float32(p).view(np.int32) + exponent).view(np.float32)


@jit
def powers(q: Any, size: int) -> None:
    """Turn exponents into kernel values, in place."""
    if q.itemsize == 4:
        for j in range(size):
            q[j] = power_single(q[j])
    else:
        for j in range(size):
            q[j] = exp2_double(q[j])


@jit_relaxed
def set_products(x: Any, halves: Any, a: Any, c: Any, q0: Any, q1: Any, q2: Any, q3: Any) -> None:
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
def add_products(x: Any, a: Any, q0: Any, q1: Any, q2: Any, q3: Any) -> None:
    """Add the products of one more column."""
    a0, a1, a2, a3 = a[0], a[1], a[2], a[3]
    for j in range(x.size):
        u = x[j]
        q0[j] += a0 * u
        q1[j] += a1 * u
        q2[j] += a2 * u
        q3[j] += a3 * u


@jit_relaxed
def add_two_products(x: Any, y: Any, a: Any, b: Any, q0: Any, q1: Any, q2: Any, q3: Any) -> None:
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
def four_near_rows(
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
    set_products(others[0, low:high], other_halves[low:high], a, c, q0, q1, q2, q3)
    k = 1
    while k + 1 < d:
        a, b = points[k, i : i + 4], points[k + 1, i : i + 4]
        add_two_products(others[k, low:high], others[k + 1, low:high], a, b, q0, q1, q2, q3)
        k += 2
    if k < d:
        add_products(others[k, low:high], points[k, i : i + 4], q0, q1, q2, q3)
    for r in range(4):
        powers(q[r], high - low)


@jit
def tile_values(
    points: Any,  # (d, n), the four rows are i .. i + 3
    halves: Any,  # (n,): minus half the squared norms, which only POWER needs
    i: int,
    others: Any,  # (d, k)
    other_halves: Any,  # (k,)
    low: int,
    high: int,
    shape: int,
    q: Any,  # (4, TILE), filled up to high - low
) -> None:
    """Kernel values of four rows to ``others[:, low:high]``."""
    if shape == POWER:
        four_near_rows(points, halves, i, others, other_halves, low, high, q)
    else:
        four_rows(points, i, others, low, high, q)
        for r in range(4):
            shape_values(q[r], high - low, shape)


@jit_relaxed
def add_tile(
    q: Any,  # (4, TILE): kernel values
    p: Any,  # four weights of the rows
    weights: Any,  # (size,), of the columns
    columns: Any,  # (size,): sums of the columns, updated
    rows: NDArray[np.float64],  # (4,): sums of the rows, updated
) -> None:
    """Add a tile to the sums of its rows and of its columns."""
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
def lane_sums(
    points: Any,  # (d, n)
    halves: Any,  # (n,), as for `tile_values`
    weights: Any,  # (n,), same dtype
    shape: int,
    lane: int,
    lanes: int,
    start: int,  # columns start .. stop of this call
    stop: int,
    sums: NDArray[np.float64],  # (n,), of this lane alone, updated
) -> None:
    """Add sum_j weight_j k(x_i, x_j) over pairs of different blocks of four rows.

    Each unordered pair is seen once. Blocks are dealt to the lanes in turn, so that the lanes are
    alike in work, and the sums do not depend on which thread runs which lane.
    """
    q = np.empty((4, TILE), points.dtype)
    part = np.zeros(TILE, points.dtype)
    for low in range(start, stop, TILE):
        high = min(low + TILE, stop)
        waiting = 0
        for i in range(4 * lane, high, 4 * lanes):
            begin = max(low, i + 4)
            if begin < high:
                tile_values(points, halves, i, points, halves, begin, high, shape, q)
                columns, w = part[begin - low : high - low], weights[begin:high]
                add_tile(q, weights[i : i + 4], w, columns, sums[i : i + 4])
                waiting += 1
            if waiting == FLUSH:
                flush(part, sums[low:high])
                waiting = 0
        flush(part, sums[low:high])


@jit
def flush(part: Any, sums: NDArray[np.float64]) -> None:
    """Add sums of a few rows, which may be in single precision, to those of all; start anew."""
    for j in range(sums.size):
        sums[j] += part[j]
        part[j] = part[j] - part[j]


@jit
def block_sums(points: Any, weights: Any, shape: int, sums: NDArray[np.float64]) -> None:
    """Add the pairs within each block of four rows, which `lane_sums` leaves out."""
    d, n = points.shape
    q = np.empty(4, points.dtype)
    for i in range(n):
        first = i - i % 4
        for r in range(i - first):
            q[r] = points[0, i] - points[0, i]
            for k in range(d):
                q[r] += (points[k, i] - points[k, first + r]) ** 2
        shape_values(q, i - first, shape)
        for r in range(i - first):
            sums[i] += weights[first + r] * q[r]
            sums[first + r] += weights[i] * q[r]


@jit
def gram_tile_sums(
    inner: Any,  # (rows, columns): inner products, overwritten
    norms: Any,  # (n,): squared norms of all rows
    weights: Any,  # (n,)
    shape: int,
    i: int,  # first row of the tile
    c: int,  # first column; tiles on the diagonal have c = i and are square
    sums: NDArray[np.float64],  # (n,), updated
) -> None:
    """Add a tile whose inner products came from a matrix product; rows are a multiple of four."""
    height, width = inner.shape
    spare = np.zeros(width)
    for r in range(0, height, 4):
        q = inner[r : r + 4]
        for a in range(4):
            from_inner(q[a], norms[i + r + a], norms[c : c + width])
            if i == c:
                q[a, r + a] = norms[0] - norms[0]
            shape_values(q[a], width, shape)
        columns = spare if i == c else sums[c : c + width]
        p, w = weights[i + r : i + r + 4], weights[c : c + width]
        add_tile(q, p, w, columns, sums[i + r : i + r + 4])


@jit_fused
def from_inner(q: Any, norm: Any, norms: Any) -> None:
    """Turn inner products into |a|^2 + |b|^2 - 2 a.b, not below zero, in place."""
    zero = norm - norm
    for j in range(norms.size):
        v = (norm + norms[j]) - (q[j] + q[j])
        q[j] = v if v > zero else zero


@jit
def cross_sums(
    points: Any,  # (d, n), n a multiple of four
    halves: Any,  # (n,), as for `tile_values`
    others: Any,  # (d, k)
    other_halves: Any,  # (k,)
    weights: Any,  # (k,)
    shape: int,
    start: int,  # rows of this call; multiples of four
    stop: int,
    sums: NDArray[np.float64],  # (n,), updated
) -> None:
    """Add sum_j weight_j k(x_i, y_j) for rows ``start`` to ``stop``."""
    q, spare = np.empty((4, TILE), points.dtype), np.zeros(TILE)
    for low in range(0, others.shape[1], TILE):
        high = min(low + TILE, others.shape[1])
        for i in range(start, stop, 4):
            tile_values(points, halves, i, others, other_halves, low, high, shape, q)
            if shape == POWER:
                add_rows(q, weights[low:high], sums[i : i + 4])
            else:
                columns = spare[: high - low]
                add_tile(q, weights[:4], weights[low:high], columns, sums[i : i + 4])


@jit
def row_values(points: Any, j: int, low: int, high: int, shape: int, q: Any) -> None:
    """Fill ``q`` with kernel values of row j to rows ``low`` to ``high``."""
    set_column(points[0, low:high], points[0, j], q)
    for k in range(1, points.shape[0]):
        add_column(points[k, low:high], points[k, j], q)
    shape_values(q, high - low, shape)


@jit
def column(points: Any, j: int, shape: int, out: NDArray[np.float64]) -> None:
    """Fill ``out`` with k(x_j, x_i) for all i."""
    n = points.shape[1]
    q = np.empty(TILE, points.dtype)
    for low in range(0, n, TILE):
        high = min(low + TILE, n)
        row_values(points, j, low, high, shape, q)
        put(q, out[low:high])


@jit
def put(q: Any, out: Any) -> None:
    """Copy kernel values, which may be in single precision."""
    for j in range(out.size):
        out[j] = q[j]


@jit_relaxed
def set_column(y: Any, a: Any, q: Any) -> None:
    """Squared differences of one column of one row to all of ``y``."""
    for j in range(y.size):
        q[j] = (a - y[j]) * (a - y[j])


@jit_relaxed
def add_column(y: Any, a: Any, q: Any) -> None:
    """Add the squared differences of one more column."""
    for j in range(y.size):
        q[j] += (a - y[j]) * (a - y[j])


@jit_relaxed
def move(qa: Any, qb: Any, sign: float, covered: Any, base: Any, rate: float, scores: Any) -> None:
    """Covered by one row more and one row less; the scores that follow."""
    for j in range(covered.size):
        covered[j] += sign * (qa[j] - qb[j])
        scores[j] = base[j] - rate * covered[j]


@jit
def pick_greedily(
    points: Any,  # (d, n)
    shape: int,
    sign: float,  # kernel value = sign * shape
    target: NDArray[np.float64],  # (n,); -inf where a row must stay out
    half: NDArray[np.float64],  # (n,): k(x, x) / 2
    covered: NDArray[np.float64],  # (n,): sum of k(x_i, s) over the chosen, updated
    chosen: NDArray[np.intp],  # (m,), filled from start to stop
    start: int,
    stop: int,
    unique: bool,
    tie_tol: float,
) -> None:
    """Add the row that leaves the smallest distance to the target, one after the other."""
    n = points.shape[1]
    scores, tops, values = np.empty(n), np.empty((n + TILE - 1) // TILE), np.empty(n)
    for t in range(start, stop):
        rate = 1.0 / (t + 1)
        for i in range(n):
            scores[i] = target[i] - rate * (covered[i] + half[i])
        if unique:
            for s in range(t):
                scores[chosen[s]] = -np.inf
        top = highest(scores, tops)
        chosen[t] = first_within(scores, tops, top - tie_tol)
        column(points, chosen[t], shape, values)
        for i in range(n):
            covered[i] += sign * values[i]


@jit
def exchange(
    points: Any,  # (d, n)
    shape: int,
    sign: float,  # kernel value = sign * shape
    base: NDArray[np.float64],  # (n,): target - k(x, x) / 2m; -inf where a row must stay out
    covered: NDArray[np.float64],  # (n,): sum of k(x_i, s) over the chosen, updated
    chosen: NDArray[np.intp],  # (m,), updated
    start: int,  # positions start .. stop of `chosen` are tried in turn
    stop: int,
    unique: bool,
    tie_tol: float,
) -> int:
    """Take each chosen row out in turn and put the best one in; count those that changed.

    The row put in is covered together with the next one taken out, so that a trial is one pass.
    """
    n, m = points.shape[1], chosen.size
    q = np.empty((2, TILE), points.dtype)
    scores, tops = np.empty(n), np.empty((n + TILE - 1) // TILE)
    # The first row is taken out beforehand: its trial then adds it and takes it out again.
    changed, added = 0, chosen[start]
    column(points, added, shape, scores)
    for i in range(n):
        covered[i] -= sign * scores[i]
    for t in range(start, stop):
        old = chosen[t]
        for low in range(0, n, TILE):
            high = min(low + TILE, n)
            row_values(points, added, low, high, shape, q[0])
            row_values(points, old, low, high, shape, q[1])
            part = scores[low:high]
            move(q[0], q[1], sign, covered[low:high], base[low:high], 1.0 / m, part)
        stay = float(scores[old])
        if unique:
            for s in range(m):
                if s != t:
                    scores[chosen[s]] = -np.inf
        top = highest(scores, tops)
        # A row is exchanged only for a real gain, so that the sweeps come to an end.
        if stay < top - 0.1 * tie_tol:
            tolerance = min(tie_tol, 0.5 * (top - stay))
            chosen[t] = first_within(scores, tops, top - tolerance)
            changed += 1
        added = chosen[t]
    column(points, added, shape, scores)
    for i in range(n):
        covered[i] += sign * scores[i]
    return changed


@jit
def highest(scores: Any, tops: Any) -> float:
    """Fill ``tops`` with the highest score of each tile; return the highest of all."""
    best = -np.inf
    lanes = np.empty(64)
    for b in range(tops.size):
        part = scores[b * TILE : (b + 1) * TILE]
        whole = part.size - part.size % 64
        lanes[:] = -np.inf
        # Sixty-four maxima side by side: one alone would wait for itself at every number.
        for low in range(0, whole, 64):
            raise_to(lanes, part[low : low + 64])
        top = -np.inf
        for j in range(64):
            top = max(top, lanes[j])
        for j in range(whole, part.size):
            top = max(top, part[j])
        tops[b] = top
        best = max(best, top)
    return best


@jit
def raise_to(lanes: Any, values: Any) -> None:
    """Keep the larger of the two, entry by entry."""
    for j in range(64):
        lanes[j] = values[j] if values[j] > lanes[j] else lanes[j]


@jit
def first_within(scores: Any, tops: Any, least: float) -> int:
    """Lowest index with a score of at least ``least``."""
    b = 0
    while tops[b] < least:
        b += 1
    i = b * TILE
    while scores[i] < least:
        i += 1
    return i
