"""Compiled loop of moment herding over pairs of columns with any alphabets.

It trusts its arguments: callers validate. An *atom* is one value of one variable; a state
switches on one atom of every variable, and pair weights form a matrix over atoms. As in
`herder.fields._binary_jit` weights are not written but are ``w = w0 + t n - N c``, and the field
of every atom is kept: a change of one variable costs two rows of that matrix.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit

CLOCK, SCORE, VALUE, TOTAL, NORM2, TOLERANCE = range(6)
STEPS, FLIPS, RESTARTS, VIOLATIONS, POOL = range(5)


class Herd(NamedTuple):
    """Live arrays of a herd of D variables with A atoms in all."""

    first: NDArray[np.intp]  # (D + 1,) first atom of each variable
    target1: NDArray[np.float64]  # (A,)
    target2: NDArray[np.integer]  # (A, A) symmetric, zero where no feature is
    has1: NDArray[np.float64]  # (A,) one where the atom is a feature of its own
    has2: NDArray[np.int8]  # (A, A) one where the pair of atoms is a feature
    debt1: NDArray[np.float64]  # (A,) N c - w0
    debt2: NDArray[np.integer]  # (A, A) N c - w0
    field: NDArray[np.float64]  # (A,) score of the atom, the other variables as they are
    on: NDArray[np.intp]  # (D,) atom of each variable that is on
    drift: NDArray[np.float64]  # (A,) scratch
    scan: NDArray[np.intp]  # variables in the order they are visited
    pool: NDArray[np.int16]  # (P, D) states to restart from
    tally: NDArray[np.int64]  # (5,) see STEPS ... POOL
    number: NDArray[np.float64]  # (6,) see CLOCK ... TOLERANCE


@jit
def _best_of_pool(herd: Herd, clock: float) -> tuple[int, Any]:
    """State of the pool with the highest score, the first where several tie, and its score."""
    first, target1, target2 = herd.first, herd.target1, herd.target2
    debt1, debt2, pool = herd.debt1, herd.debt2, herd.pool
    best, best_score = -1, 0.0
    for r in range(herd.tally[POOL]):
        score = 0.0
        for i in range(pool.shape[1]):
            a = first[i] + pool[r, i]
            score += clock * target1[a] - debt1[a]
            for j in range(i):
                b = first[j] + pool[r, j]
                score += clock * target2[a, b] - debt2[a, b]
        if best < 0 or score > best_score:
            best, best_score = r, score
    return best, best_score


@jit
def _jump(herd: Herd, r: int, clock: float) -> None:
    """Take state r of the pool and sum the fields of all atoms afresh."""
    field, target2, debt2 = herd.field, herd.target2, herd.debt2
    for b in range(field.shape[0]):
        field[b] = clock * herd.target1[b] - herd.debt1[b]
    for i in range(herd.on.shape[0]):
        a = herd.first[i] + herd.pool[r, i]
        herd.on[i] = a
        for b in range(field.shape[0]):
            field[b] += clock * target2[a, b] - debt2[a, b]


@jit
def herd_atoms(
    herd: Herd,
    states: NDArray[np.int16],  # (n_steps, D), filled in place
    max_sweeps: int,  # 0: until nothing improves
    remember: bool,  # whether the pool holds visited states
) -> None:
    """Run ``len(states)`` steps."""
    first, target1, target2 = herd.first, herd.target1, herd.target2
    has1, has2 = herd.has1, herd.has2
    debt1, debt2, field, on, drift = herd.debt1, herd.debt2, herd.field, herd.on, herd.drift
    scan, pool, tally, number = herd.scan, herd.pool, herd.tally, herd.number
    clock, score, value, total = number[CLOCK], number[SCORE], number[VALUE], number[TOTAL]
    norm2, tolerance = number[NORM2], number[TOLERANCE]
    n, n_atoms = on.shape[0], field.shape[0]
    whole = int(total)
    for t in range(states.shape[0]):
        restarted = False
        while True:
            settled, visits = 0, 0  # variables in a row that did not move; variables visited
            while settled < n and (max_sweeps == 0 or visits < max_sweeps * n):
                i = scan[visits % n]
                visits += 1
                settled += 1
                old = on[i]
                new = first[i]
                for a in range(first[i] + 1, first[i + 1]):
                    if field[a] > field[new]:
                        new = a
                if field[new] > field[old]:
                    score += field[new] - field[old]
                    for b in range(n_atoms):
                        field[b] += clock * target2[new, b] - debt2[new, b]
                    for b in range(n_atoms):
                        field[b] -= clock * target2[old, b] - debt2[old, b]
                    on[i] = new
                    settled = 1
                    tally[FLIPS] += 1
            if total * score - value >= -tolerance:
                break
            if not restarted and tally[POOL] > 0:
                best, best_score = _best_of_pool(herd, clock)
                if best_score > score:
                    _jump(herd, best, clock)
                    score = best_score
                    restarted = True
                    tally[RESTARTS] += 1
                    continue
            tally[VIOLATIONS] += 1
            break
        for i in range(n):
            states[t, i] = on[i] - first[i]
        if remember:
            size = pool.shape[0]
            place = tally[STEPS] % size if tally[POOL] == size else tally[POOL]
            for i in range(n):
                pool[place, i] = states[t, i]
            tally[POOL] = min(size, tally[POOL] + 1)
        # drift of the fields, d <n, phi> / d atom, and with it the pull <n, phi>
        for b in range(n_atoms):
            drift[b] = target1[b]
        for i in range(n):
            a = on[i]
            for b in range(n_atoms):
                drift[b] += target2[a, b]
        pull, features = 0.0, 0.0
        for i in range(n):
            a = on[i]
            pairs = 0
            for j in range(n):
                pairs += int(has2[a, on[j]])
            pull += 0.5 * (drift[a] + target1[a])
            features += has1[a] + 0.5 * pairs
            drift[a] -= total * (has1[a] + pairs)
        for b in range(n_atoms):
            field[b] += drift[b]
        # the weights move: by n through the clock, by -N phi through the counts
        score += pull - total * features
        value += norm2 - total * pull
        clock += 1.0
        for i in range(n):
            a = on[i]
            debt1[a] += total * has1[a]
            for j in range(n):
                debt2[a, on[j]] += whole * int(has2[a, on[j]])
        tally[STEPS] += 1
    number[CLOCK], number[SCORE], number[VALUE] = clock, score, value
