"""Compiled loop of binary moment herding. It trusts its arguments: callers validate.

All numbers are integers held in float64, exact below 2**53. Weights are never written:
with the clock t, targets n (times N) and counts c of what fired, ``w = t n - N c + w0``. What is
kept instead is the field of every variable in the current state, its drift per step, and the
counts; a step then costs O(D), a flip O(D) for pairs and O(k D) for triples with k active.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit

CLOCK, SCORE, VALUE, PULL, TOTAL, NORM2, TOLERANCE = range(7)
ACTIVE, STEPS, FLIPS, SWEEPS, RESTARTS, VIOLATIONS, POOL = range(7)


class Herd(NamedTuple):
    """Live arrays of a herd of D variables (``n`` are targets in units of 1/N)."""

    target1: NDArray[np.float64]  # (D,)
    target2: NDArray[np.float64]  # (D, D) symmetric, zero diagonal; empty for order 1
    target3: NDArray[np.integer]  # (D, D, D), rows [i < j, :] used; empty below order 3
    debt1: NDArray[np.float64]  # (D,) N c_i - w0_i; twice the count for +-1
    debt2: NDArray[np.float64]  # (D, D) N c_ij - w0_ij, its diagonal unused; 4 N c_ij for +-1
    count3: NDArray[np.integer]  # (D, D, D) as target3
    lift: NDArray[np.float64]  # (D,) 2 N c_i for +-1, else zero
    field: NDArray[np.float64]  # (D,) d score / d x_i in the current state
    drift: NDArray[np.float64]  # (D,) d <n, phi> / d x_i in the current state
    sign: NDArray[np.float64]  # (D,) +1 where off, -1 where on: a flip gains sign * field
    on: NDArray[np.int8]  # (D,) the state
    active: NDArray[np.intp]  # (D,) variables that are on, in no order
    place: NDArray[np.intp]  # (D,) where a variable stands in ``active``
    pool: NDArray[np.int32]  # (P, D) variables that are on in states to restart from
    pool_size: NDArray[np.intp]  # (P,)
    scratch: NDArray[np.integer]  # (2, D) sums of rows of target3 and count3
    number: NDArray[np.float64]  # (7,) see CLOCK ... TOLERANCE
    tally: NDArray[np.int64]  # (7,) see ACTIVE ... POOL


@jit
def _flip(herd: Herd, i: int, order: int, signed: bool) -> None:
    """Flip variable i and bring score, pull, fields and drifts up to date."""
    field, drift, number, tally = herd.field, herd.drift, herd.number, herd.tally
    up = herd.on[i] == 0
    step = 1.0 if up else -1.0
    if signed:
        step *= 2.0
    own_field, own_drift = field[i], drift[i]
    number[SCORE] += step * own_field
    number[PULL] += step * own_drift
    if not up:
        last = herd.active[tally[ACTIVE] - 1]
        herd.active[herd.place[i]] = last
        herd.place[last] = herd.place[i]
        tally[ACTIVE] -= 1
    clock, total = number[CLOCK], number[TOTAL]
    n = field.shape[0]
    if order == 2:
        target, debt = herd.target2[i], herd.debt2[i]
        if signed:
            lift = herd.lift
            shift = lift[i] - clock * total
            for j in range(n):
                field[j] += step * (clock * target[j] - debt[j] + lift[j] + shift)
                drift[j] += step * target[j]
        else:
            for j in range(n):
                field[j] += step * (clock * target[j] - debt[j])
                drift[j] += step * target[j]
    elif order == 3:
        gain, count = herd.scratch[0], herd.scratch[1]
        gain[:] = 0
        count[:] = 0
        for a in range(tally[ACTIVE]):
            m = herd.active[a]
            low, high = min(i, m), max(i, m)
            row, fired = herd.target3[low, high], herd.count3[low, high]
            for j in range(n):
                gain[j] += row[j]
                count[j] += fired[j]
        target, debt = herd.target2[i], herd.debt2[i]
        for j in range(n):
            moved = target[j] + gain[j]
            field[j] += step * (clock * moved - debt[j] - total * count[j])
            drift[j] += step * moved
    field[i] = own_field
    drift[i] = own_drift
    if up:
        herd.active[tally[ACTIVE]] = i
        herd.place[i] = tally[ACTIVE]
        tally[ACTIVE] += 1
    herd.on[i] = 1 if up else 0
    herd.sign[i] = -herd.sign[i]
    tally[FLIPS] += 1


@jit
def _next_gain(field: NDArray[np.float64], sign: NDArray[np.float64], start: int) -> int:
    """First variable from ``start`` on whose flip raises the score, else D."""
    n = field.shape[0]
    i = start
    while i + 8 <= n:
        top = field[i] * sign[i]
        for j in range(i + 1, i + 8):
            top = max(top, field[j] * sign[j])
        if top > 0.0:
            break
        i += 8
    while i < n and field[i] * sign[i] <= 0.0:
        i += 1
    return i


@jit
def _ascend(herd: Herd, order: int, signed: bool, max_sweeps: int) -> None:
    """Sweep over the variables until no flip raises the score."""
    n = herd.field.shape[0]
    sweeps = 0
    improved = True
    while improved and (max_sweeps == 0 or sweeps < max_sweeps):
        improved = False
        sweeps += 1
        i = _next_gain(herd.field, herd.sign, 0)
        while i < n:
            _flip(herd, i, order, signed)
            improved = True
            i = _next_gain(herd.field, herd.sign, i + 1)
    herd.tally[SWEEPS] += sweeps


@jit
def _best_of_pool(herd: Herd, order: int, signed: bool) -> tuple[int, float]:
    """Row of the pool with the highest score, the first where several tie, and its score."""
    n = herd.field.shape[0]
    clock, total = herd.number[CLOCK], herd.number[TOTAL]
    own = np.empty(n)
    base, pair = 0.0, 1.0
    for i in range(n):
        own[i] = clock * herd.target1[i] - herd.debt1[i]
    if signed:
        # with x = 2 s - 1 the score is base + sum_i own_i s_i + sum_ij 4 w_ij s_i s_j
        pair = 4.0
        for i in range(n):
            own[i] += clock * total
            base -= own[i]
        single = own.copy()
        for i in range(n):
            around = 0.0
            if order >= 2:
                for j in range(n):
                    if j != i:
                        around += (
                            clock * (herd.target2[i, j] - total)
                            - herd.debt2[i, j]
                            + herd.lift[i]
                            + herd.lift[j]
                        )
            base += 0.5 * around
            own[i] = 2.0 * (single[i] - around)
    best, best_score = -1, 0.0
    for r in range(herd.tally[POOL]):
        sites = herd.pool[r]
        score = base
        for a in range(herd.pool_size[r]):
            i = sites[a]
            score += own[i]
            if order >= 2:
                for b in range(a):
                    j = sites[b]
                    w = clock * herd.target2[i, j] - herd.debt2[i, j]
                    if signed:
                        w += herd.lift[i] + herd.lift[j] - clock * total
                    score += pair * w
                    if order == 3:
                        for c in range(b):
                            m = sites[c]
                            score += (
                                clock * herd.target3[m, j, i] - total * herd.count3[m, j, i]
                            )
        if best < 0 or score > best_score:
            best, best_score = r, score
    return best, best_score


@jit
def _restart(herd: Herd, order: int, signed: bool, max_sweeps: int) -> None:
    """Ascend again from the best state of the pool, if it scores higher than the current one."""
    best, score = _best_of_pool(herd, order, signed)
    if best < 0 or score <= herd.number[SCORE]:
        return
    n = herd.field.shape[0]
    wanted = np.zeros(n, dtype=np.int8)
    for a in range(herd.pool_size[best]):
        wanted[herd.pool[best, a]] = 1
    for i in range(n):
        if herd.on[i] != wanted[i]:
            _flip(herd, i, order, signed)
    _ascend(herd, order, signed, max_sweeps)
    herd.tally[RESTARTS] += 1


@jit
def _remember(herd: Herd, n_steps: int) -> None:
    """Put the state into the pool, over the oldest one when the pool is full."""
    size = herd.pool.shape[0]
    r = n_steps % size
    k = 0
    for i in range(herd.on.shape[0]):
        if herd.on[i]:
            herd.pool[r, k] = i
            k += 1
    herd.pool_size[r] = k
    herd.tally[POOL] = min(size, herd.tally[POOL] + 1)


@jit
def _update(herd: Herd, order: int, signed: bool) -> None:
    """Move the weights by target - features: counts of what fired, and the drift of fields."""
    number, field, drift, sign = herd.number, herd.field, herd.drift, herd.sign
    n, k, total = field.shape[0], float(herd.tally[ACTIVE]), number[TOTAL]
    if signed:
        norm2 = float(n)
        drop = total
        if order == 2:
            norm2 += 0.5 * n * (n - 1)
            drop = total * n
    else:
        norm2 = k
        drop = total
        if order >= 2:
            norm2 += 0.5 * k * (k - 1.0)
            drop += total * (k - 1.0)
        if order == 3:
            norm2 += k * (k - 1.0) * (k - 2.0) / 6.0
            drop += total * 0.5 * (k - 1.0) * (k - 2.0)
    number[SCORE] += number[PULL] - total * norm2
    number[VALUE] += number[NORM2] - total * number[PULL]
    number[CLOCK] += 1.0
    low = -1.0 if signed else 0.0
    for i in range(n):
        # x = 1 where sign = -1, else low
        field[i] += drift[i] - drop * (low * (1.0 + sign[i]) + (1.0 - sign[i])) * 0.5
    fired = 4.0 * total if signed else total
    for a in range(herd.tally[ACTIVE]):
        i = herd.active[a]
        herd.debt1[i] += 2.0 * total if signed else total
        if signed:
            herd.lift[i] += 2.0 * total
    if order < 2:
        return
    dense = 4 * herd.tally[ACTIVE] > n  # contiguous rows beat scattered cells
    for a in range(herd.tally[ACTIVE]):
        i = herd.active[a]
        row = herd.debt2[i]
        if dense:
            for j in range(n):
                row[j] += fired * 0.5 * (1.0 - sign[j])
        else:
            for b in range(herd.tally[ACTIVE]):
                row[herd.active[b]] += fired
        if order == 3:
            for b in range(a):
                m = herd.active[b]
                low_site, high_site = min(i, m), max(i, m)
                count = herd.count3[low_site, high_site]
                if dense:
                    for j in range(n):
                        count[j] += herd.on[j]
                else:
                    for c in range(herd.tally[ACTIVE]):
                        count[herd.active[c]] += 1
                count[low_site] = 0
                count[high_site] = 0


@jit
def _fails(number: NDArray[np.float64]) -> bool:
    """Whether the PCT inequality <w, phi> >= <w, n> / N fails."""
    return number[TOTAL] * number[SCORE] - number[VALUE] < -number[TOLERANCE]


@jit
def herd_binary(
    herd: Herd,
    states: NDArray[np.int8],  # (n_steps, D), filled in place
    order: int,  # 1, 2 or 3
    signed: bool,  # +-1 features (order 1 and 2)
    max_sweeps: int,  # 0: until nothing improves
    remember: bool,  # whether the pool holds visited states
) -> None:
    """Run ``len(states)`` steps."""
    number, tally = herd.number, herd.tally
    for t in range(states.shape[0]):
        _ascend(herd, order, signed, max_sweeps)
        if _fails(number):
            if tally[POOL] > 0:
                _restart(herd, order, signed, max_sweeps)
            if _fails(number):
                tally[VIOLATIONS] += 1
        if remember:
            _remember(herd, tally[STEPS])
        for i in range(states.shape[1]):
            states[t, i] = herd.on[i]
        _update(herd, order, signed)
        tally[STEPS] += 1
