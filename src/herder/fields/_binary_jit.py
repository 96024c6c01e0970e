"""Compiled loop of binary moment herding. It trusts its arguments: callers validate.

All numbers are integers: in float64 where they are summed (exact below 2**53), in int32 or
int64 tables where they are stored. Weights are never written: with the clock t, targets n (times
N) and counts c of what fired, ``w = w0 + t n - N c``. What is kept instead is the field of every
variable in the current state and the counts; a flip then costs O(D) for pairs and O(k D) for
triples, a step O(k D) and O(k^2 D), with k variables active.

The loop is one function that takes its arrays apart once: handing a `Herd` to an inner function
counts the references of all its arrays up and down, which costs more than a flip.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit

CLOCK, SCORE, VALUE, TOTAL, NORM2, TOLERANCE = range(6)
ACTIVE, STEPS, FLIPS, RESTARTS, VIOLATIONS, POOL, CATCH_UP = range(7)


class Herd(NamedTuple):
    """Live arrays of a herd of D variables (``n`` are targets in units of 1/N)."""

    target1: NDArray[np.float64]  # (D,)
    target2: NDArray[np.integer]  # (D, D) symmetric, zero diagonal
    target3: NDArray[np.integer]  # (D, D, D) symmetric, zero where two agree; empty below order 3
    rest: NDArray[np.float64]  # (D,) row sums of target2 for +-1, else zero
    debt1: NDArray[np.float64]  # (D,) N c_i - w0_i; twice the count for +-1
    debt2: NDArray[np.integer]  # (D, D) N c_ij - w0_ij, its diagonal unused; 4 N c_ij for +-1
    count3: NDArray[np.integer]  # (D, D, D), rows [i < j, :] used
    lift: NDArray[np.float64]  # (D,) 2 N c_i for +-1, else zero
    field: NDArray[np.float64]  # (D,) d score / d x_i in the current state
    sign: NDArray[np.float64]  # (D,) +1 where off, -1 where on: a flip gains sign * field
    on: NDArray[np.int8]  # (D,) the state
    active: NDArray[np.intp]  # (D,) variables that are on, in no order
    place: NDArray[np.intp]  # (D,) where a variable stands in ``active``
    pool: NDArray[np.int32]  # (P, D) variables that are on in states to restart from
    pool_size: NDArray[np.intp]  # (P,)
    pool_score: NDArray[np.float64]  # (P,) <w, phi> of these states
    pool_pull: NDArray[np.float64]  # (P,) <n, phi> of them, where the pool is fixed
    member: NDArray[np.int8]  # (D, P) the same states as 0/1, where the pool is fixed
    overlap: NDArray[np.int16]  # (P,) scratch
    shared: NDArray[np.float64]  # (D + 1,) features that two states with c ones in common share
    drift: NDArray[np.float64]  # (D,) scratch
    pull3: NDArray[np.float64]  # (D,) d <n, phi> / d x_i from triples, in the current state
    rows3: NDArray[np.integer]  # (2, D) scratch: sums of rows of target3 and count3
    number: NDArray[np.float64]  # (6,) see CLOCK ... TOLERANCE
    tally: NDArray[np.int64]  # (7,) see ACTIVE ... CATCH_UP (steps that scores may lag behind)


@jit
def _next_gain(
    field: NDArray[np.float64], sign: NDArray[np.float64], start: int, stop: int
) -> Any:
    """First variable in [start, stop) whose flip raises the score, else ``stop``."""
    # unsigned indices spare a test for negative ones; four at a time are a quarter faster still
    i, end = np.uintp(start), np.uintp(stop)
    one, two, three, four = np.uintp(1), np.uintp(2), np.uintp(3), np.uintp(4)
    while i + three < end:
        if field[i] * sign[i] > 0.0:
            return np.intp(i)
        if field[i + one] * sign[i + one] > 0.0:
            return np.intp(i + one)
        if field[i + two] * sign[i + two] > 0.0:
            return np.intp(i + two)
        if field[i + three] * sign[i + three] > 0.0:
            return np.intp(i + three)
        i += four
    while i < end and field[i] * sign[i] <= 0.0:
        i += one
    return np.intp(i)


@jit
def _sum_rows(
    table: NDArray[np.integer],  # (D, D, D), rows [i < j, :] used
    partners: NDArray[np.intp],  # (k,)
    i: int,
    out: NDArray[np.integer],  # (D,), filled in place
) -> None:
    """Sum the rows (i, m) of a table over all partners m, four at a time."""
    n, k = out.shape[0], partners.shape[0]
    for j in range(n):
        out[j] = 0
    a = 0
    while a + 4 <= k:
        p, q, r, s = partners[a], partners[a + 1], partners[a + 2], partners[a + 3]
        p0, p1, q0, q1 = min(i, p), max(i, p), min(i, q), max(i, q)
        r0, r1, s0, s1 = min(i, r), max(i, r), min(i, s), max(i, s)
        for j in range(n):
            out[j] += (
                int(table[p0, p1, j])
                + int(table[q0, q1, j])
                + int(table[r0, r1, j])
                + int(table[s0, s1, j])
            )
        a += 4
    while a < k:
        low, high = min(i, partners[a]), max(i, partners[a])
        for j in range(n):
            out[j] += table[low, high, j]
        a += 1


@jit
def _count_triples(
    count3: NDArray[np.integer], on: NDArray[np.int8], active: NDArray[np.intp]
) -> None:
    """Add the active triples to the counts, as rows [i < j, :]."""
    dense = 4 * active.shape[0] > on.shape[0]
    for a in range(active.shape[0]):
        for b in range(a):
            low, high = min(active[a], active[b]), max(active[a], active[b])
            if dense:
                for j in range(on.shape[0]):
                    count3[low, high, j] += on[j]
            else:
                for c in active:
                    count3[low, high, c] += 1
            count3[low, high, low] = 0
            count3[low, high, high] = 0


@jit
def score_pool(herd: Herd, clock: float, order: int, signed: bool) -> None:
    """Sum the scores of all states of the pool afresh."""
    target2, target3 = herd.target2, herd.target3
    debt2, count3, lift = herd.debt2, herd.count3, herd.lift
    pool, pool_size, own = herd.pool, herd.pool_size, herd.drift
    total = herd.number[TOTAL]
    n = own.shape[0]
    base, pair = 0.0, 1.0
    for i in range(n):
        own[i] = clock * herd.target1[i] - herd.debt1[i]
    if signed:
        # with x = 2 s - 1 the score is base + sum_i own_i s_i + sum_ij 4 w_ij s_i s_j
        pair = 4.0
        for i in range(n):
            single = own[i] + clock * total
            around = 0.0
            if order >= 2:
                for j in range(n):
                    if j != i:
                        around += clock * (target2[i, j] - total) - debt2[i, j] + lift[i] + lift[j]
            base += 0.5 * around - single
            own[i] = 2.0 * (single - around)
    for r in range(herd.tally[POOL]):
        score = base
        for a in range(pool_size[r]):
            i = pool[r, a]
            score += own[i]
            if order >= 2:
                for b in range(a):
                    j = pool[r, b]
                    w = clock * target2[i, j] - debt2[i, j]
                    if signed:
                        w += lift[i] + lift[j] - clock * total
                    score += pair * w
                    if order == 3:
                        for c in range(b):
                            m = pool[r, c]
                            score += clock * target3[m, j, i] - total * count3[m, j, i]
        herd.pool_score[r] = score


@jit
def _catch_up(herd: Herd, states: NDArray[np.int8]) -> None:
    """Move the scores of a fixed pool past ``states``: w moved by n - N phi(s) at each."""
    score, pull, shared = herd.pool_score, herd.pool_pull, herd.shared
    member, overlap = herd.member, herd.overlap
    total = herd.number[TOTAL]
    for t in range(states.shape[0]):
        overlap[:] = 0
        for i in range(states.shape[1]):
            if states[t, i]:
                for r in range(overlap.shape[0]):
                    overlap[r] += member[i, r]
        for r in range(overlap.shape[0]):
            score[r] += pull[r] - total * shared[overlap[r]]


@jit
def _best_of_pool(herd: Herd) -> int:
    """State of the pool with the highest score, the first where several tie."""
    best = 0
    for r in range(1, herd.tally[POOL]):
        if herd.pool_score[r] > herd.pool_score[best]:
            best = r
    return best


@jit
def _jump(herd: Herd, r: int, clock: float, order: int, signed: bool) -> int:
    """Take state r of the pool, sum its fields afresh and return how many variables are on."""
    target2, debt2, lift, field = herd.target2, herd.debt2, herd.lift, herd.field
    total = herd.number[TOTAL]
    n, k = field.shape[0], herd.pool_size[r]
    for i in range(n):
        herd.on[i] = 0
        herd.sign[i] = 1.0
        field[i] = clock * herd.target1[i] - herd.debt1[i]
        if signed:
            field[i] += clock * total
    for a in range(k):
        i = herd.pool[r, a]
        herd.on[i] = 1
        herd.sign[i] = -1.0
        herd.active[a] = i
        herd.place[i] = a
    if order >= 2:
        for i in range(n):
            if signed:
                shift = lift[i] - clock * total
                for j in range(n):
                    if j != i:
                        w = clock * target2[i, j] - debt2[i, j] + lift[j] + shift
                        field[j] -= herd.sign[i] * w
            elif herd.on[i]:
                for j in range(n):
                    if j != i:
                        field[j] += clock * target2[i, j] - debt2[i, j]
    if order == 3:
        herd.pull3[:] = 0.0
        gain, count = herd.rows3[0], herd.rows3[1]
        for a in range(1, k):
            _sum_rows(herd.target3, herd.active[:a], herd.active[a], gain)
            _sum_rows(herd.count3, herd.active[:a], herd.active[a], count)
            for j in range(n):
                field[j] += clock * gain[j] - total * count[j]
                herd.pull3[j] += gain[j]
    return k


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
    target1, target2, target3, rest = herd.target1, herd.target2, herd.target3, herd.rest
    debt1, debt2, count3, lift = herd.debt1, herd.debt2, herd.count3, herd.lift
    field, sign, on, active, place = herd.field, herd.sign, herd.on, herd.active, herd.place
    pool, pool_size, drift, pull3 = herd.pool, herd.pool_size, herd.drift, herd.pull3
    gain, count = herd.rows3[0], herd.rows3[1]
    number, tally = herd.number, herd.tally
    clock, score, value, total = number[CLOCK], number[SCORE], number[VALUE], number[TOTAL]
    norm2, tolerance = number[NORM2], number[TOLERANCE]
    n, k = field.shape[0], tally[ACTIVE]
    flips = tally[FLIPS]
    unit = 2.0 if signed else 1.0
    fired = int(4 * total if signed else total)
    scored = -1  # step at which the scores of the pool were current
    for t in range(states.shape[0]):
        restarted = False
        while True:
            sweeps, last = 0, n  # what lies beyond the last flip was found settled
            i = _next_gain(field, sign, 0, last)
            while i < last:
                while i < n:
                    last = i
                    own = field[i]
                    score += unit * sign[i] * own
                    if on[i]:
                        k -= 1
                        moved = active[k]
                        active[place[i]] = moved
                        place[moved] = place[i]
                    if order >= 2:
                        if signed:
                            turn = 2.0 * sign[i]
                            shift = lift[i] - clock * total
                            for j in range(n):
                                w = clock * target2[i, j] - debt2[i, j] + lift[j] + shift
                                field[j] += turn * w
                        elif on[i]:
                            for j in range(n):
                                field[j] -= clock * target2[i, j] - debt2[i, j]
                        else:
                            for j in range(n):
                                field[j] += clock * target2[i, j] - debt2[i, j]
                    if order == 3:
                        _sum_rows(target3, active[:k], i, gain)
                        _sum_rows(count3, active[:k], i, count)
                        for j in range(n):
                            field[j] += sign[i] * (clock * gain[j] - total * count[j])
                            pull3[j] += sign[i] * gain[j]
                    field[i] = own
                    sign[i] = -sign[i]
                    if on[i]:
                        on[i] = 0
                    else:
                        on[i] = 1
                        active[k] = i
                        place[i] = k
                        k += 1
                    flips += 1
                    i = _next_gain(field, sign, i + 1, n)
                sweeps += 1
                if sweeps == max_sweeps:
                    break
                i = _next_gain(field, sign, 0, last)
            if total * score - value >= -tolerance:
                break
            if not restarted and tally[POOL] > 0:
                if scored >= 0 and t - scored <= tally[CATCH_UP]:
                    _catch_up(herd, states[scored:t])
                else:
                    score_pool(herd, clock, order, signed)
                scored = -1 if remember or signed else t
                best = _best_of_pool(herd)
                if herd.pool_score[best] > score:
                    k = _jump(herd, best, clock, order, signed)
                    score = herd.pool_score[best]
                    restarted = True
                    tally[RESTARTS] += 1
                    continue
            tally[VIOLATIONS] += 1
            break
        if remember:
            full = pool.shape[0]
            r = tally[STEPS] % full if tally[POOL] == full else tally[POOL]
            size = 0
            for i in range(n):
                if on[i]:
                    pool[r, size] = i
                    size += 1
            pool_size[r] = size
            tally[POOL] = min(full, tally[POOL] + 1)
        for i in range(n):
            states[t, i] = on[i]
        # drift of the fields, d <n, phi> / d x, and with it the pull <n, phi>
        for j in range(n):
            drift[j] = target1[j]
        if order >= 2:
            for a in range(k):
                i = active[a]
                for j in range(n):
                    drift[j] += target2[i, j]
            if signed:
                for j in range(n):
                    drift[j] = 2.0 * drift[j] - target1[j] - rest[j]
        pull, features, drop = 0.0, float(k), total
        if signed:
            features = float(n)
            if order == 2:
                features += 0.5 * n * (n - 1)
                drop = total * n
            for j in range(n):
                pull -= 0.5 * sign[j] * (drift[j] + target1[j])
                field[j] += drift[j] + drop * sign[j]
        else:
            for a in range(k):
                pull += 0.5 * (drift[active[a]] + target1[active[a]])
            if order >= 2:
                features += 0.5 * k * (k - 1)
                drop = total * k
            if order == 3:
                features += k * (k - 1) * (k - 2) / 6.0
                drop += 0.5 * total * (k - 1) * (k - 2)
                triple = 0.0
                for a in range(k):
                    triple += pull3[active[a]]
                pull += triple / 3.0
                for j in range(n):
                    drift[j] += pull3[j]
            for j in range(n):
                field[j] += drift[j] - drop * on[j]
        # the weights move: by n through the clock, by -N phi through the counts
        score += pull - total * features
        value += norm2 - total * pull
        clock += 1.0
        for a in range(k):
            debt1[active[a]] += unit * total
        if signed:
            for a in range(k):
                lift[active[a]] += 2.0 * total
        if order >= 2:
            dense = 4 * k > n  # contiguous rows beat scattered cells
            for a in range(k):
                i = active[a]
                if dense:
                    for j in range(n):
                        debt2[i, j] += fired * int(on[j])
                else:
                    for b in range(k):
                        debt2[i, active[b]] += fired
        if order == 3:
            _count_triples(count3, on, active[:k])
        tally[STEPS] += 1
    number[CLOCK], number[SCORE], number[VALUE] = clock, score, value
    tally[ACTIVE], tally[FLIPS] = k, flips
