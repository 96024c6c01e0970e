r"""Compiled loop of binary moment herding. It trusts its arguments: callers validate.

All numbers are integers: in float64 where they are summed (exact below 2**53), in int32 or
int64 tables where they are stored. Weights are never written: with the clock t, targets n (times
N) and counts c of what fired, ``w = w0 + t n - N c``. What is kept instead is the field of every
variable in the current state and the counts; a flip then costs O(D) for pairs and O(k D) for
triples, a step O(k D) and O(k^2 D), with k variables active.

One loop serves all encodings, since a score is a polynomial in the codes x whatever they are,

.. math:: S(x) = S(0) + 2 \sum_i a_i x_i + 4 \sum_{i<j} B_{ij} x_i x_j
                 + 8 \sum_{i<j<m} w_{ijm} x_i x_j x_m ,

without the factors and S(0) for "01", where a, B and w are the weights themselves. For products
w of s = 2 x - 1 they are the derivatives by s where all x are zero,

.. math:: a_i = r_1 w_i - r_2 \sum_j w_{ij} + \sum_{j<m} w_{ijm}, \qquad
          B_{ij} = r_2 w_{ij} - \sum_m w_{ijm} ,

with r = 1 for "+-1". For "indicator", as long as tables agree on what they share, a cell of the
table of columns :math:`\alpha` has weight :math:`2^{-|\alpha|} \sum_{\beta \subseteq \alpha}
w_\beta \prod_{i \in \beta} s_i`, so scores, times :math:`2^{order}` and up to a constant, are
those of products with rates :math:`r_b = \sum_m 2^{order - m} {D - b \choose m - b}`: D + 1 and
1 for pairs. With what is missing of the counts of all-ones, :math:`D_i = (t + 1) n_i - N c_i` and
so on, the weights are :math:`w_i = 2 D_i - N`, :math:`w_{ij} = 4 D_{ij} - 2 D_i - 2 D_j + N`, and

.. math:: w_{ijm} = 8 D_{ijm} - 4 (D_{ij} + D_{im} + D_{jm}) + 2 (D_i + D_j + D_m) - N .

So only what is all ones is counted, and what the rest adds is a number per variable: ``lift``
for pairs, and for triples the counts of pairs and singles summed over the active variables.

The loop is one function that takes its arrays apart once: handing a `Herd` to an inner function
counts the references of all its arrays up and down, which costs more than a flip.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit

CLOCK, LAPSE, SCORE, VALUE, EMPTY, SHIFT, COUNT0 = range(7)
TOTAL, NORM2, TOLERANCE, EMPTY_PULL, RATE1, RATE2, EXACT = range(7, 14)
ACTIVE, STEPS, FLIPS, RESTARTS, VIOLATIONS, POOL, CATCH_UP = range(7)


class Herd(NamedTuple):
    """Live arrays of a herd of D variables (``n`` are targets in units of 1/N).

    "Signed" are "+-1" and "indicator": products of codes taken as -1 and +1.
    """

    target1: NDArray[np.float64]  # (D,) what ``single`` gains at each step
    target2: NDArray[np.integer]  # (D, D) what pairs gain; symmetric, zero diagonal
    target3: NDArray[np.integer]  # (D, D, D) symmetric, zero where two agree; empty below order 3
    single: NDArray[np.float64]  # (D,) d score / d x_i (d s_i if signed) in the empty state
    debt2: NDArray[Any]  # (D, D) N c_ij - w0_ij, its diagonal unused; B as its docstring if signed
    count3: NDArray[np.integer]  # (D, D, D), rows [i < j, :] used; if signed c_ij where two agree
    lift: NDArray[np.float64]  # (D,) what pairs of a variable gain from its count, if signed
    count1: NDArray[np.float64]  # (D,) c_i of signed triples, else unused
    count2: NDArray[np.int32]  # (D, D) c_ij of them, c_i on its diagonal; empty otherwise
    near: NDArray[np.float64]  # (D,) lift, and 8 N c_im of them for each m that is on
    field: NDArray[np.float64]  # (D,) as ``single``, in the current state
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
    shared: NDArray[np.float64]  # (D + 1,) <phi, phi'> by common ones, by unequal codes if signed
    drift: NDArray[np.float64]  # (D,) scratch
    pull3: NDArray[np.float64]  # (D,) sums of target3 over pairs that are on
    rows3: NDArray[np.integer]  # (2, D) scratch: sums of rows of target3 and count3
    number: NDArray[np.float64]  # (14,) see CLOCK ... EXACT (whether sums over triples are)
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
    count3: NDArray[np.integer], on: NDArray[np.int8], active: NDArray[np.intp], signed: bool
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
            if not signed:
                count3[low, high, low] = 0
                count3[low, high, high] = 0


@jit
def _weight3(clock: int, total: int, pull: int, c3: int, c2: int, c1: int, c0: int) -> Any:
    """Signed weight of three variables, from counts of all sets of them, in whole numbers."""
    return clock * pull - total * (8 * c3 - 4 * c2 + 2 * c1 - c0)


@jit
def _add_triples(herd: Herd, i: int, m: int, factor: Any, clock: float, count0: float) -> None:
    """Add the weights of the triples of two variables to the fields of all others."""
    count1, count2, count3, field = herd.count1, herd.count2, herd.count3, herd.field
    own, other = field[i], field[m]
    low, high = min(i, m), max(i, m)
    tick, total, c0 = int(clock), int(herd.number[TOTAL]), int(count0)
    for j in range(field.shape[0]):
        c3, pull = int(count3[low, high, j]), int(herd.target3[low, high, j])
        c2 = int(count2[i, m]) + int(count2[i, j]) + int(count2[m, j])
        c1 = int(count1[i]) + int(count1[m]) + int(count1[j])
        field[j] += factor * _weight3(tick, total, pull, c3, c2, c1, c0)
    field[i], field[m] = own, other


@jit
def score_pool(herd: Herd, ahead: float, order: int, signed: bool) -> None:
    """Sum the scores of all states of the pool afresh, as after ``ahead`` steps that fire none."""
    target2, target3 = herd.target2, herd.target3
    debt2, count3, lift = herd.debt2, herd.count3, herd.lift
    count1, count2 = herd.count1, herd.count2
    pool, pool_size, own = herd.pool, herd.pool_size, herd.drift
    number = herd.number
    lapse, clock, total = number[LAPSE] + ahead, int(number[CLOCK] + ahead), int(number[TOTAL])
    count0 = int(number[COUNT0])
    for i in range(own.shape[0]):
        own[i] = herd.single[i] + ahead * herd.target1[i]
    for r in range(herd.tally[POOL]):
        one, two, three = 0.0, 0.0, 0.0
        for a in range(pool_size[r]):
            i = pool[r, a]
            one += own[i]
            if order >= 2:
                for b in range(a):
                    j = pool[r, b]
                    two += lapse * target2[i, j] - debt2[i, j]
                    if signed:
                        two += lift[i] + lift[j] + number[SHIFT]
                    if order == 3:
                        for c in range(b):
                            m = pool[r, c]
                            pull, c3 = int(target3[m, j, i]), int(count3[m, j, i])
                            if signed:
                                c2 = int(count2[i, j]) + int(count2[i, m]) + int(count2[j, m])
                                c1 = int(count1[i]) + int(count1[j]) + int(count1[m])
                                three += _weight3(clock, total, pull, c3, c2, c1, count0)
                            else:
                                three += clock * pull - total * c3
        if signed:
            empty = number[EMPTY] + ahead * number[EMPTY_PULL]
            herd.pool_score[r] = empty + 2.0 * one + 4.0 * two + 8.0 * three
        else:
            herd.pool_score[r] = one + two + three


@jit
def _catch_up(herd: Herd, states: NDArray[np.int8], signed: bool) -> None:
    """Move the scores of a fixed pool past ``states``: w moved by n - N phi(s) at each."""
    score, pull, shared = herd.pool_score, herd.pool_pull, herd.shared
    member, overlap, size = herd.member, herd.overlap, herd.pool_size
    total = herd.number[TOTAL]
    for t in range(states.shape[0]):
        overlap[:] = 0
        ones = 0
        for i in range(states.shape[1]):
            if states[t, i]:
                ones += 1
                for r in range(overlap.shape[0]):
                    overlap[r] += member[i, r]
        if signed:
            for r in range(overlap.shape[0]):
                score[r] += pull[r] - total * shared[size[r] + ones - 2 * overlap[r]]
        else:
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
def jump(herd: Herd, ones: NDArray[np.int32], order: int, signed: bool) -> int:
    """Take the state where ``ones`` are on, sum its fields afresh and return how many they are."""
    target2, debt2, lift, field = herd.target2, herd.debt2, herd.lift, herd.field
    target3, count3, count2 = herd.target3, herd.count3, herd.count2
    active, near, pull3, number = herd.active, herd.near, herd.pull3, herd.number
    lapse = number[LAPSE]
    n, k = field.shape[0], ones.shape[0]
    # in loops: slices that are assigned arrays take seconds to compile
    for j in range(n):
        herd.on[j] = 0
        herd.sign[j] = 1.0
        field[j] = herd.single[j]
        pull3[j] = 0.0
    for a in range(k):
        i = np.intp(ones[a])
        herd.on[i] = 1
        herd.sign[i] = -1.0
        active[a] = i
        herd.place[i] = a
    if order >= 2:
        for a in range(k):
            i = active[a]
            own = field[i]
            if signed:
                shift = lift[i] + number[SHIFT]
                for j in range(n):
                    w = lapse * target2[i, j] - debt2[i, j] + lift[j] + shift
                    field[j] += 2.0 * w
            else:
                for j in range(n):
                    field[j] += lapse * target2[i, j] - debt2[i, j]
            field[i] = own
    if order == 3 and not signed:
        gain, count = herd.rows3[0], herd.rows3[1]
        for a in range(1, k):
            _sum_rows(target3, active[:a], active[a], gain)
            _sum_rows(count3, active[:a], active[a], count)
            for j in range(n):
                field[j] += number[CLOCK] * gain[j] - number[TOTAL] * count[j]
                pull3[j] += gain[j]
    elif order == 3:
        for j in range(n):
            near[j] = lift[j]
        for a in range(k):
            i = active[a]
            for j in range(n):
                near[j] += 8.0 * number[TOTAL] * count2[i, j]
            for b in range(a):
                _add_triples(herd, i, active[b], 4.0, number[CLOCK], number[COUNT0])
                for j in range(n):
                    pull3[j] += target3[min(i, active[b]), max(i, active[b]), j]
    return k


@jit
def herd_binary(
    herd: Herd,
    states: NDArray[np.int8],  # (n_steps, D), filled in place
    order: int,  # 1, 2 or 3
    signed: bool,  # products of -1 and +1, with rates
    max_sweeps: int,  # 0: until nothing improves
    remember: bool,  # whether the pool holds visited states
) -> None:
    """Run ``len(states)`` steps."""
    target1, target2, target3, single = herd.target1, herd.target2, herd.target3, herd.single
    debt2, count3, lift = herd.debt2, herd.count3, herd.lift
    count1, count2, near = herd.count1, herd.count2, herd.near
    field, sign, on, active, place = herd.field, herd.sign, herd.on, herd.active, herd.place
    pool, pool_size, drift, pull3 = herd.pool, herd.pool_size, herd.drift, herd.pull3
    gain, count = herd.rows3[0], herd.rows3[1]
    number, tally = herd.number, herd.tally
    clock, lapse, score, value = number[CLOCK], number[LAPSE], number[SCORE], number[VALUE]
    empty, shift, count0 = number[EMPTY], number[SHIFT], number[COUNT0]
    total, norm2, tolerance = number[TOTAL], number[NORM2], number[TOLERANCE]
    rate1, rate2, whole = number[RATE1], number[RATE2], int(total)
    n, k = field.shape[0], tally[ACTIVE]
    flips, exact = tally[FLIPS], number[EXACT] > 0.0
    unit = 2.0 if signed else 1.0
    # <phi, phi> of any state, signed, and its derivative
    features, drop = rate1 * n, rate1
    if order >= 2:
        features += rate2 * (0.5 * n * (n - 1))
        drop += rate2 * (n - 1)
    if order == 3:
        features += n * (n - 1) * (n - 2) / 6.0
        drop += 0.5 * (n - 1) * (n - 2)
    drop *= total
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
                    if order == 3:
                        _sum_rows(target3, active[:k], i, gain)
                        _sum_rows(count3, active[:k], i, count)
                    if signed and order == 3:
                        turned, turn = sign[i], 2.0 * sign[i]
                        if exact:
                            was_on, step = float(on[i]), turned * 8.0 * total
                            pull, fire, one = 2.0 * clock, 16.0 * total, 4.0 * total * k
                            two = 8.0 * total * (k - was_on)  # near[j] holds i if it is on
                            same = total * (2.0 * count1[i] - count0)
                            rest = near[i] - 8.0 * total * was_on * count1[i] + shift
                            rest -= 2 * k * same
                            for a in range(k):
                                rest -= 4.0 * total * count1[active[a]]
                                field[active[a]] += 2.0 * turn * same  # m = j counts for none
                            # few arrays in each loop, or the compiler takes entries one by one
                            for j in range(n):
                                w = lapse * target2[i, j] - debt2[i, j] + near[j]
                                w += two * count2[i, j] + pull * gain[j] - fire * count[j]
                                field[j] += turn * (w - one * count1[j] + rest)
                            for j in range(n):
                                pull3[j] += turned * gain[j]
                                near[j] += step * count2[i, j]
                        else:
                            base = lift[i] + shift
                            for j in range(n):
                                w = lapse * target2[i, j] - debt2[i, j] + lift[j] + base
                                field[j] += turn * w
                                pull3[j] += turned * gain[j]
                            for a in range(k):
                                _add_triples(herd, i, active[a], 2.0 * turn, clock, count0)
                    elif order >= 2:
                        if signed:
                            turn = 2.0 * sign[i]
                            base = lift[i] + shift
                            for j in range(n):
                                w = lapse * target2[i, j] - debt2[i, j] + lift[j] + base
                                field[j] += turn * w
                        elif on[i]:
                            for j in range(n):
                                field[j] -= lapse * target2[i, j] - debt2[i, j]
                        else:
                            for j in range(n):
                                field[j] += lapse * target2[i, j] - debt2[i, j]
                        if order == 3:
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
                number[CLOCK], number[LAPSE], number[COUNT0] = clock, lapse, count0
                number[EMPTY], number[SHIFT] = empty, shift
                if scored >= 0 and t - scored <= tally[CATCH_UP]:
                    _catch_up(herd, states[scored:t], signed)
                else:
                    score_pool(herd, 0.0, order, signed)
                scored = -1 if remember else t
                best = _best_of_pool(herd)
                if herd.pool_score[best] > score:
                    k = jump(herd, pool[best, : pool_size[best]], order, signed)
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
        pull = 0.0
        if signed:
            for j in range(n):
                drift[j] = 0.0
        else:
            for j in range(n):
                drift[j] = target1[j]
        if order >= 2:
            for a in range(k):
                i = active[a]
                for j in range(n):
                    drift[j] += target2[i, j]
        triple = 0.0
        if order == 3:
            for a in range(k):
                triple += pull3[active[a]]
            triple /= 3.0
        fired = whole
        if signed:
            pull = number[EMPTY_PULL] + 8.0 * triple
            for a in range(k):
                pull += 2.0 * (target1[active[a]] + drift[active[a]])
            for j in range(n):
                drift[j] = target1[j] + 2.0 * drift[j]
            if order == 3:
                for j in range(n):
                    drift[j] += 4.0 * pull3[j]
            for j in range(n):
                field[j] += drift[j] + drop * sign[j]
            score += pull - total * features
            # the empty state: <phi, phi'> of it and this one, its derivatives, and theirs
            spin = 2.0 * k - n
            both, lone, less = -rate1 * spin, rate1, rate1
            if order >= 2:
                both += rate2 * (0.5 * (spin * spin - n))
                lone -= rate2 * (spin - 1.0)
                less -= rate2 * (spin + 1.0)
            pairs, lifted = rate2, 2.0 * rate2
            if order == 3:
                both -= spin * (spin * spin - 3.0 * n + 2.0) / 6.0
                lone += 0.5 * ((spin - 1.0) * (spin - 1.0) - n + 1.0)
                less += 0.5 * ((spin + 1.0) * (spin + 1.0) - n + 1.0)
                pairs -= spin
                lifted = 2.0 * pairs - 2.0
                shift += 2.0 * total
            empty += number[EMPTY_PULL] - total * both
            for j in range(n):
                single[j] += target1[j] + total * less
            for a in range(k):
                single[active[a]] -= total * (lone + less)
                lift[active[a]] += total * lifted
                near[active[a]] += total * (lifted + 8.0 * k)
            shift -= total * pairs
            fired = int(4.0 * total * pairs)
        else:
            for a in range(k):
                pull += 0.5 * (drift[active[a]] + target1[active[a]])
            pull += triple
            less = total * k if order >= 2 else total
            if order == 3:
                less += 0.5 * total * (k - 1) * (k - 2)
                for j in range(n):
                    drift[j] += pull3[j]
            for j in range(n):
                field[j] += drift[j] - less * on[j]
                single[j] += target1[j] - total * on[j]
            fires = float(k)
            if order >= 2:
                fires += 0.5 * k * (k - 1)
            if order == 3:
                fires += k * (k - 1) * (k - 2) / 6.0
            score += pull - total * fires
        # the weights move: by n through the clocks, by -N phi through the counts
        value += norm2 - total * pull
        clock += 1.0
        lapse += 1.0
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
                if order == 3 and signed:
                    count1[i] += 1.0
                    if dense:
                        for j in range(n):
                            count2[i, j] += on[j]
                    else:
                        for b in range(k):
                            count2[i, active[b]] += 1
        if order == 3:
            count0 += 1.0
            _count_triples(count3, on, active[:k], signed)
        tally[STEPS] += 1
    number[CLOCK], number[LAPSE], number[SCORE], number[VALUE] = clock, lapse, score, value
    number[EMPTY], number[SHIFT], number[COUNT0] = empty, shift, count0
    tally[ACTIVE], tally[FLIPS] = k, flips
