"""Compiled passes over rows, one for each shape of model. They trust their arguments.

A diagonal model is a table of means and variances side by side, (D, 2) for two classes and
(D, K, 2) for more, so that a feature of a sparse row costs one place in memory; dense rows take
the two apart. With a bias the last of the D features is the constant 1.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit, jit_fused, jit_relaxed, prefetch
from herder.online.rules import Rule

# Places in rules.ALGORITHMS and rules.FORMS.
PERCEPTRON, PA, PA_1, PA_2, NHERD, AROW, SECOND, STDEV, SOFT_1, SOFT_2, VARIANCE = range(11)
NONE, PROJECT, EXACT, DROP, RIDGE, FULL = range(6)

FLOOR = 1e-280
#: Larger numbers are cut to this, so that a product of two with a small one stays finite.
HUGE = 1e300
#: Standard scores are cut to this: their squares stay finite.
FAR = 1e150
#: A table of more features is beyond the near caches: the next row's are asked for in time.
LARGE = 150_000
#: Variances and squared lengths below this are none at all.
TINY = 1e-300


class Sparse(NamedTuple):
    """The rows of a CSR matrix."""

    indptr: NDArray[np.integer]
    indices: NDArray[np.integer]
    data: NDArray[np.floating]


class Turns(NamedTuple):
    """Which rows are learnt, in what order, and as what."""

    order: NDArray[np.intp]  # (n_turns,) rows
    labels: NDArray[Any]  # (n_rows,) +1.0 or -1.0; or the class as intp
    rates: NDArray[np.float64]  # (n_rows,)


class Past(NamedTuple):
    """What averaging and forgetting remember; the arrays are empty if not wanted."""

    seen: int  # rows before this pass
    drift: NDArray[np.float64]  # (D,) or (D, K) or (K, D): sum over rows of (rows before) * step
    ages: NDArray[np.int64]  # (D,): turns up to which a feature's variance has been relaxed


@jit
def step(rule: Rule, margin: float, variance: float, rate: float) -> tuple[float, float]:
    """Return step and gain; both 0 if the row changes nothing."""
    algorithm = rule.algorithm
    m, v = margin, variance
    if not (rate > 0.0) or v <= 0.0:  # of weight 0, or a row of zeros
        return 0.0, 0.0
    if NHERD <= algorithm <= SECOND:
        if m > (0.0 if algorithm == SECOND else 1.0):
            return 0.0, 0.0
        gain = min(rate * (2.0 + rate * v), HUGE) if algorithm == NHERD else rate
        return (1.0 - m) / (v + 1.0 / rate), gain
    if algorithm == PERCEPTRON:
        return (rate if m <= 0.0 else 0.0), 0.0
    if v <= TINY:
        return 0.0, 0.0
    if algorithm <= PA_2:
        if m >= 1.0:
            return 0.0, 0.0
        if algorithm == PA:
            return (1.0 - m) / v, 0.0
        if algorithm == PA_1:
            return min(rate, (1.0 - m) / v), 0.0
        return (1.0 - m) / (v + 0.5 / rate), 0.0
    if algorithm == VARIANCE:
        return _variance_step(min(max(m, -FAR), FAR), v, rule.phi * rate)
    return _deviation_step(rule, m, v, rate)


@jit
def _variance_step(m: float, v: float, phi: float) -> tuple[float, float]:
    """CW with the constraint m >= phi v, in the form without cancellation."""
    if m >= phi * v or phi <= 0.0:
        return 0.0, 0.0
    q = 1.0 + 2.0 * phi * m
    root = math.sqrt((1.0 - 2.0 * phi * m) ** 2 + 8.0 * phi * phi * v)
    alpha = 2.0 * (phi * v - m) / (v * (q + root)) if q > 0.0 else (root - q) / (4.0 * phi * v)
    alpha = min(alpha, HUGE)
    return alpha, min(2.0 * alpha * phi, HUGE)


@jit
def _deviation_step(rule: Rule, m: float, v: float, rate: float) -> tuple[float, float]:
    """CW with the constraint m >= phi sqrt(v), hard or soft, in units of sqrt(v)."""
    phi = rule.phi * rate if rule.algorithm == STDEV else rule.phi
    deviation = math.sqrt(v)
    t = min(max(m / deviation, -FAR), FAR)
    if t >= phi:
        return 0.0, 0.0
    r = 1.0
    if rule.algorithm == SOFT_2:
        r = min(1.0 + 0.5 / (rate * v), FAR)
    # the root of the quadratic; for t > 0 the form in which nothing cancels
    b = 2.0 * r + phi * phi
    c = r * (r + phi * phi)
    root = phi * math.sqrt(phi * phi * t * t + 4.0 * c)
    scaled = 2.0 * (phi * phi - t * t) / (t * b + root) if t > 0.0 else (root - t * b) / (2.0 * c)
    alpha = min(scaled / deviation, HUGE)
    if rule.algorithm == SOFT_1:
        alpha = min(alpha, rate)
    q = min(alpha * deviation * phi, FAR)
    return alpha, min(q * (q + math.sqrt(q * q + 4.0)) / (2.0 * v), HUGE)


@jit_fused
def _narrowed(form: int, s: float, x: float, v: float, gain: float, rate: float) -> float:
    """Return the variance of a feature after the row."""
    spread = s * x * x
    if form in (PROJECT, RIDGE):
        s /= 1.0 + gain * spread
    elif form == EXACT:
        q = 1.0 + rate * spread
        s /= q * q
    elif form == DROP:
        # S - h (S x)^2 with h = 1 / (1 / gain + v), so that nothing cancels
        spared = 1.0 / gain
        s *= (spared + max(v - spread, 0.0)) / (spared + v)
    return s if s > FLOOR else FLOOR


@jit_fused
def _shift(form: int, mu: float, s: float, x: float, alpha: float, gain: float) -> float:
    """Return what the row adds to the mean of a feature; ``alpha`` carries the sign."""
    if form == RIDGE:
        target = 1.0 if alpha > 0.0 else -1.0
        return gain * s * x * (target - mu * x) / (1.0 + gain * s * x * x)
    return alpha * s * x


@jit_fused
def _relaxed(s: float, keep: float, turns: int) -> float:
    """Return a variance after ``turns`` of ``s = keep * s + (1 - keep)``; a small one survives."""
    kept = keep**turns
    return s * kept + (1.0 - kept)


@jit_fused
def _look_csr(
    table: NDArray[np.float64],  # (D, 2)
    indices: NDArray[np.integer],
    data: NDArray[np.floating],
    start: int,
    stop: int,
) -> tuple[float, float]:
    """Return mu.x and x'Sx; four chains of sums, since one would wait for itself."""
    one, two, three, four = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)
    k, end = np.uintp(start), np.uintp(stop)
    m0, m1, m2, m3 = 0.0, 0.0, 0.0, 0.0
    v0, v1, v2, v3 = 0.0, 0.0, 0.0, 0.0
    while k + three < end:
        x0, j0 = np.float64(data[k]), np.uintp(indices[k])
        x1, j1 = np.float64(data[k + one]), np.uintp(indices[k + one])
        x2, j2 = np.float64(data[k + two]), np.uintp(indices[k + two])
        x3, j3 = np.float64(data[k + three]), np.uintp(indices[k + three])
        m0 += table[j0, 0] * x0
        v0 += table[j0, 1] * (x0 * x0)
        m1 += table[j1, 0] * x1
        v1 += table[j1, 1] * (x1 * x1)
        m2 += table[j2, 0] * x2
        v2 += table[j2, 1] * (x2 * x2)
        m3 += table[j3, 0] * x3
        v3 += table[j3, 1] * (x3 * x3)
        k += four
    while k < end:
        x0, j0 = np.float64(data[k]), np.uintp(indices[k])
        m0 += table[j0, 0] * x0
        v0 += table[j0, 1] * (x0 * x0)
        k += one
    return (m0 + m1) + (m2 + m3), (v0 + v1) + (v2 + v3)


@jit_fused
def _move_csr(
    table: NDArray[np.float64],  # (D, 2)
    indices: NDArray[np.integer],
    data: NDArray[np.floating],
    start: int,
    stop: int,
    alpha: float,
    gain: float,
    v: float,
    rate: float,
    form: int,
    ahead: int,
    end: int,
) -> None:
    """Update the features of a row; meanwhile ask for those of entries ``ahead`` to ``end``."""
    if form == PROJECT:
        half = start + (stop - start) // 2 * 2
        for k in range(start, half, 2):  # two at a time, so that they share a division
            if ahead + 1 < end:
                prefetch(table, indices[ahead])
                prefetch(table, indices[ahead + 1])
                ahead += 2
            x0, j0 = np.float64(data[k]), np.uintp(indices[k])
            x1, j1 = np.float64(data[k + 1]), np.uintp(indices[k + 1])
            s0, s1 = table[j0, 1], table[j1, 1]
            sx0, sx1 = s0 * x0, s1 * x1
            wide0, wide1 = 1.0 + gain * sx0 * x0, 1.0 + gain * sx1 * x1
            table[j0, 0] += alpha * sx0
            table[j1, 0] += alpha * sx1
            s0 /= wide0
            s1 /= wide1
            table[j0, 1] = s0 if s0 > FLOOR else FLOOR
            table[j1, 1] = s1 if s1 > FLOOR else FLOOR
        if half < stop:
            _move_feature(table[np.uintp(indices[half])], data[half], alpha, gain, v, rate, form)
    elif form == NONE:
        for k in range(start, stop):
            table[np.uintp(indices[k]), 0] += alpha * np.float64(data[k])
    else:
        for k in range(start, stop):
            _move_feature(table[np.uintp(indices[k])], data[k], alpha, gain, v, rate, form)


@jit_fused
def _move_feature(
    place: NDArray[np.float64],  # (2,)
    value: float,
    alpha: float,
    gain: float,
    v: float,
    rate: float,
    form: int,
) -> None:
    x = np.float64(value)
    s = place[1]
    place[0] += _shift(form, place[0], s, x, alpha, gain)
    if form != NONE:
        place[1] = _narrowed(form, s, x, v, gain, rate)


@jit
def learn_csr(
    rows: Sparse,
    turns: Turns,
    table: NDArray[np.float64],  # (D, 2), updated
    scores: NDArray[np.float64],  # (n_rows,), filled with mu.x before each row was learnt
    past: Past,
    rule: Rule,
    bias: bool,
) -> tuple[int, int]:
    """Learn rows in turn; give the number of updates and of rows left out."""
    indptr, indices, data = rows.indptr, rows.indices, rows.data
    order, labels, rates = turns.order, turns.labels, turns.rates
    drift, ages = past.drift, past.ages
    form, keep = rule.form, 1.0 - rule.forget
    last = table.shape[0] - 1
    is_large = table.shape[0] > LARGE
    ahead, end = 0, 0
    updates, left_out = 0, 0
    for t in range(order.shape[0]):
        i = int(order[t])
        start, stop = indptr[i], indptr[i + 1]
        if is_large and t + 1 < order.shape[0]:
            ahead, end = int(indptr[order[t + 1]]), int(indptr[order[t + 1] + 1])
        if ages.size:
            for k in range(start, stop):
                j = indices[k]
                table[j, 1] = _relaxed(table[j, 1], keep, t + 1 - int(ages[j]))
                ages[j] = t + 1
            if bias:
                table[last, 1] = _relaxed(table[last, 1], keep, 1)
                ages[last] = t + 1
        m, v = _look_csr(table, indices, data, start, stop)
        if bias:
            m += table[last, 0]
            v += table[last, 1]
        scores[i] = m
        if not (math.isfinite(m) and math.isfinite(v)):
            left_out += 1
            continue
        y, rate = labels[i], rates[i]
        alpha, gain = step(rule, y * m, v, rate)
        if alpha == 0.0 and gain == 0.0:
            continue
        updates += 1
        alpha *= y
        if drift.size:
            when = past.seen + t
            for k in range(start, stop):
                j, x = indices[k], np.float64(data[k])
                drift[j] += when * _shift(form, table[j, 0], table[j, 1], x, alpha, gain)
            if bias:
                drift[last] += when * _shift(
                    form, table[last, 0], table[last, 1], 1.0, alpha, gain
                )
        _move_csr(table, indices, data, start, stop, alpha, gain, v, rate, form, ahead, end)
        if bias:
            _move_feature(table[last], 1.0, alpha, gain, v, rate, form)
    return updates, left_out


@jit_relaxed
def _look_dense(
    mean: NDArray[np.float64],  # (D,)
    variance: NDArray[np.float64],  # (D,)
    row: NDArray[np.floating],  # (d,)
) -> tuple[float, float]:
    m, v = 0.0, 0.0
    for j in range(row.shape[0]):
        x = np.float64(row[j])
        m += mean[j] * x
        v += variance[j] * x * x
    return m, v


@jit_fused
def _move_dense(
    mean: NDArray[np.float64],  # (D,), updated
    variance: NDArray[np.float64],  # (D,), updated
    row: NDArray[np.floating],  # (d,)
    alpha: float,
    gain: float,
    v: float,
    rate: float,
    form: int,
) -> None:
    n = row.shape[0]
    if form == PROJECT:
        for j in range(n):
            x, s = np.float64(row[j]), variance[j]
            sx = s * x
            mean[j] += alpha * sx
            s /= 1.0 + gain * sx * x
            variance[j] = s if s > FLOOR else FLOOR
    elif form == NONE:
        for j in range(n):
            mean[j] += alpha * np.float64(row[j])
    else:
        for j in range(n):
            x, s = np.float64(row[j]), variance[j]
            mean[j] += _shift(form, mean[j], s, x, alpha, gain)
            variance[j] = _narrowed(form, s, x, v, gain, rate)


@jit_fused
def _note_drift(
    drift: NDArray[np.float64],  # (D,), updated
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    row: NDArray[np.floating],
    when: int,
    alpha: float,
    gain: float,
    form: int,
    bias: bool,
) -> None:
    for j in range(row.shape[0]):
        x = np.float64(row[j])
        drift[j] += when * _shift(form, mean[j], variance[j], x, alpha, gain)
    if bias:
        drift[-1] += when * _shift(form, mean[-1], variance[-1], 1.0, alpha, gain)


@jit
def learn_dense(
    rows: NDArray[np.floating],  # (n, d)
    turns: Turns,
    mean: NDArray[np.float64],  # (D,), updated
    variance: NDArray[np.float64],  # (D,), updated
    scores: NDArray[np.float64],  # (n,), filled
    past: Past,
    rule: Rule,
    bias: bool,
) -> tuple[int, int]:
    """Learn dense rows in turn, as `learn_csr`."""
    order, labels, rates, drift = turns.order, turns.labels, turns.rates, past.drift
    form, forget = rule.form, rule.forget
    one = np.ones(1, rows.dtype)
    updates, left_out = 0, 0
    for t in range(order.shape[0]):
        i = int(order[t])
        row = rows[i]
        if forget > 0.0:
            for j in range(variance.shape[0]):
                variance[j] = _relaxed(variance[j], 1.0 - forget, 1)
        m, v = _look_dense(mean, variance, row)
        if bias:
            m += mean[-1]
            v += variance[-1]
        scores[i] = m
        if not (math.isfinite(m) and math.isfinite(v)):
            left_out += 1
            continue
        y, rate = labels[i], rates[i]
        alpha, gain = step(rule, y * m, v, rate)
        if alpha == 0.0 and gain == 0.0:
            continue
        updates += 1
        alpha *= y
        if drift.size:
            _note_drift(drift, mean, variance, row, past.seen + t, alpha, gain, form, bias)
        _move_dense(mean, variance, row, alpha, gain, v, rate, form)
        if bias:
            _move_dense(mean[-1:], variance[-1:], one, alpha, gain, v, rate, form)
    return updates, left_out


@jit
def _rival(totals: NDArray[np.float64], own: int) -> tuple[int, int]:
    """Return the class of the largest score and the largest but ``own``; the lowest of equals."""
    best = -1
    rival = -1
    for c in range(totals.shape[0]):
        if best < 0 or totals[c] > totals[best]:
            best = c
        if c != own and (rival < 0 or totals[c] > totals[rival]):
            rival = c
    return best, rival


@jit_fused
def learn_classes_csr(
    rows: Sparse,
    turns: Turns,
    table: NDArray[np.float64],  # (D, K, 2), updated
    picks: NDArray[np.intp],  # (n_rows,), filled with the class predicted before
    past: Past,
    rule: Rule,
    bias: bool,
) -> tuple[int, int]:
    """Learn K classes by the difference f(x, y) - f(x, z), z the best other class."""
    indptr, indices, data = rows.indptr, rows.indices, rows.data
    order, labels, rates = turns.order, turns.labels, turns.rates
    drift, ages = past.drift, past.ages
    form, keep = rule.form, 1.0 - rule.forget
    last, n_classes = table.shape[0] - 1, table.shape[1]
    totals = np.empty(n_classes)
    updates, left_out = 0, 0
    for t in range(order.shape[0]):
        i = int(order[t])
        start, stop = indptr[i], indptr[i + 1]
        if ages.size:
            for k in range(start, stop + bias):
                j = indices[k] if k < stop else last
                for c in range(n_classes):
                    table[j, c, 1] = _relaxed(table[j, c, 1], keep, t + 1 - int(ages[j]))
                ages[j] = t + 1
        for c in range(n_classes):
            totals[c] = table[last, c, 0] if bias else 0.0
        for k in range(start, stop):
            x, place = np.float64(data[k]), table[np.uintp(indices[k])]
            for c in range(n_classes):
                totals[c] += place[c, 0] * x
        own = labels[i]
        best, rival = _rival(totals, own)
        picks[i] = best
        if rival < 0:  # one class only: nothing to tell apart
            continue
        v = table[last, own, 1] + table[last, rival, 1] if bias else 0.0
        for k in range(start, stop):
            x, place = np.float64(data[k]), table[np.uintp(indices[k])]
            v += (place[own, 1] + place[rival, 1]) * x * x
        m, rate = totals[own] - totals[rival], rates[i]
        if not (math.isfinite(m) and math.isfinite(v)):
            left_out += 1
            continue
        alpha, gain = step(rule, m, v, rate)
        if alpha == 0.0 and gain == 0.0:
            continue
        updates += 1
        when = past.seen + t
        for k in range(start, stop + bias):
            j = np.uintp(indices[k]) if k < stop else np.uintp(last)
            x = np.float64(data[k]) if k < stop else 1.0
            place = table[j]
            if drift.size:
                for c, a in ((own, alpha), (rival, -alpha)):
                    drift[j, c] += when * _shift(form, place[c, 0], place[c, 1], x, a, gain)
            _move_feature(place[own], x, alpha, gain, v, rate, form)
            _move_feature(place[rival], x, -alpha, gain, v, rate, form)
    return updates, left_out


@jit
def learn_classes_dense(
    rows: NDArray[np.floating],  # (n, d)
    turns: Turns,
    means: NDArray[np.float64],  # (K, D), updated
    variances: NDArray[np.float64],  # (K, D), updated
    picks: NDArray[np.intp],  # (n,), filled
    past: Past,
    rule: Rule,
    bias: bool,
) -> tuple[int, int]:
    """Learn K classes from dense rows, as `learn_classes_csr`."""
    order, labels, rates, drift = turns.order, turns.labels, turns.rates, past.drift
    form, forget = rule.form, rule.forget
    n_classes = means.shape[0]
    totals = np.empty(n_classes)
    one = np.ones(1, rows.dtype)
    updates, left_out = 0, 0
    for t in range(order.shape[0]):
        i = int(order[t])
        row = rows[i]
        if forget > 0.0:
            for c in range(n_classes):
                for j in range(variances.shape[1]):
                    variances[c, j] = _relaxed(variances[c, j], 1.0 - forget, 1)
        for c in range(n_classes):
            totals[c] = _dot(means[c], row) + (means[c, -1] if bias else 0.0)
        own = labels[i]
        best, rival = _rival(totals, own)
        picks[i] = best
        if rival < 0:
            continue
        v = _look_dense(means[own], variances[own], row)[1]
        v += _look_dense(means[rival], variances[rival], row)[1]
        if bias:
            v += variances[own, -1] + variances[rival, -1]
        m, rate = totals[own] - totals[rival], rates[i]
        if not (math.isfinite(m) and math.isfinite(v)):
            left_out += 1
            continue
        alpha, gain = step(rule, m, v, rate)
        if alpha == 0.0 and gain == 0.0:
            continue
        updates += 1
        for c, a in ((own, alpha), (rival, -alpha)):
            mean, variance = means[c], variances[c]
            if drift.size:
                _note_drift(drift[c], mean, variance, row, past.seen + t, a, gain, form, bias)
            _move_dense(mean, variance, row, a, gain, v, rate, form)
            if bias:
                _move_dense(mean[-1:], variance[-1:], one, a, gain, v, rate, form)
    return updates, left_out


@jit_relaxed
def _dot(weights: NDArray[np.float64], row: NDArray[np.floating]) -> float:
    """Return the sum of products over the length of ``row``."""
    total = 0.0
    for j in range(row.shape[0]):
        total += weights[j] * np.float64(row[j])
    return total


@jit_fused
def _border(matrix: NDArray[np.float64], sx: NDArray[np.float64], h: float) -> None:
    """Take h sx sx' from a covariance; both halves get the same number."""
    for r in range(sx.shape[0]):
        pull = h * sx[r]
        for c in range(r):
            matrix[r, c] -= pull * sx[c]
            matrix[c, r] = matrix[r, c]
        matrix[r, r] = max(matrix[r, r] - pull * sx[r], FLOOR)


@jit_fused
def _shrink_root(
    root: NDArray[np.float64], f: NDArray[np.float64], rf: NDArray[np.float64], share: float
) -> None:
    """Take ``share`` of the unit direction f from a root, whose product with it is rf."""
    for r in range(rf.shape[0]):
        line, pull = root[r], share * rf[r]
        for c in range(f.shape[0]):
            line[c] -= pull * f[c]


@jit_fused
def _through(
    matrix: NDArray[np.float64], x: NDArray[np.float64], low: int, sign: float, out: NDArray[Any]
) -> None:
    """Add sign times x times the rows of a matrix from ``low`` on."""
    for r in range(x.shape[0]):
        line, factor = matrix[low + r], sign * x[r]
        if factor != 0.0:
            for c in range(out.shape[0]):
                out[c] += factor * line[c]


@jit
def _relax_matrix(matrix: NDArray[np.float64], forget: float) -> None:
    for r in range(matrix.shape[0]):
        for c in range(matrix.shape[0]):
            matrix[r, c] *= 1.0 - forget
        matrix[r, r] += forget


@jit
def learn_full(
    rows: NDArray[np.floating],  # (n, d)
    turns: Turns,
    means: NDArray[np.float64],  # (K D,), blocks of classes one after another; updated
    matrix: NDArray[np.float64],  # (K D, K D), updated: R with S = R R', or S if it forgets
    answers: NDArray[np.float64],  # (n,), filled with mu.x, or with the class predicted
    past: Past,
    rule: Rule,
    n_classes: int,  # 1 for two classes told apart by one block
) -> tuple[int, int]:
    """Learn dense rows in turn with a whole covariance; the labels are floats.

    With f = R'x the row takes the share 1 - 1 / sqrt(1 + gain v) of the direction f from R, so
    that R R' is positive whatever rounding does, and no entry of R grows. Forgetting has no such
    form, but keeps the smallest eigenvalue of S away from 0.
    """
    order, labels, rates, drift = turns.order, turns.labels, turns.rates, past.drift
    size = means.shape[0] // n_classes
    x = np.ones(size)
    f = np.empty(means.shape[0])
    sx = np.empty(means.shape[0])
    totals = np.empty(n_classes)
    updates, left_out = 0, 0
    for t in range(order.shape[0]):
        i = int(order[t])
        for j in range(rows.shape[1]):
            x[j] = rows[i, j]
        if rule.forget > 0.0:
            _relax_matrix(matrix, rule.forget)
        for c in range(n_classes):
            totals[c] = _dot(means[c * size : (c + 1) * size], x)
        own, rival = 0, -1
        if n_classes == 1:
            y, m = labels[i], totals[0]
            answers[i] = m
            m *= y
        else:
            own = int(labels[i])
            best, rival = _rival(totals, own)
            answers[i] = best
            y, m = 1.0, totals[own] - totals[rival]
        low, other = own * size, rival * size
        f[:] = 0.0
        _through(matrix, x, low, 1.0, f)
        if rival >= 0:
            _through(matrix, x, other, -1.0, f)
        if rule.forget > 0.0:  # f is S x
            v = _dot(f[low : low + size], x)
            if rival >= 0:
                v -= _dot(f[other : other + size], x)
            v = max(v, 0.0)
        else:
            v = _dot(f, f)
        if not (math.isfinite(m) and math.isfinite(v)):
            left_out += 1
            continue
        alpha, gain = step(rule, m, v, rates[i])
        if alpha == 0.0 and gain == 0.0:
            continue
        updates += 1
        alpha *= y
        if rule.forget > 0.0:
            for r in range(sx.shape[0]):
                sx[r] = f[r]
            _border(matrix, sx, 1.0 / (1.0 / gain + v))
        elif v > 0.0:
            length = math.sqrt(v)
            for r in range(f.shape[0]):
                f[r] /= length
            for r in range(sx.shape[0]):
                sx[r] = _dot(matrix[r], f)
            ratio = math.sqrt(1.0 + gain * v)
            _shrink_root(matrix, f, sx, (ratio - 1.0) / ratio if ratio < HUGE else 1.0)
            alpha *= length
        else:
            continue
        for r in range(sx.shape[0]):
            means[r] += alpha * sx[r]
            if drift.size:
                drift[r] += (past.seen + t) * alpha * sx[r]
    return updates, left_out
