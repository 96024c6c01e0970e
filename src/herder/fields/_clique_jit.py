"""Compiled loop of moment herding over any cliques. It trusts its arguments: callers validate.

Weights are int64 and never written: ``w = w0 + rate (t n - N c)`` with the clock t, targets n
and counts c of each feature. A step costs one pass over the cliques, a sweep one pass over the
cliques of every variable for every value.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit

CLOCK, TOTAL, STEPS, FLIPS, RESTARTS, VIOLATIONS, POOL = range(7)
VALUE, NORM2, TOLERANCE = range(3)


class Herd(NamedTuple):
    """Live arrays of a herd of D variables and C cliques."""

    n_values: NDArray[np.intp]  # (D,)
    members: NDArray[np.intp]  # (C, m), padded with -1
    strides: NDArray[np.intp]  # (C, m), padded with 0
    offsets: NDArray[np.intp]  # (C + 1,)
    site_start: NDArray[np.intp]  # (D + 1,) where the cliques of a variable start
    site_clique: NDArray[np.intp]  # cliques that hold the variable
    site_stride: NDArray[np.intp]  # and its stride in each
    feature: NDArray[np.intp]  # (n_cells,)
    coefficient: NDArray[np.int64]  # (n_cells,)
    target: NDArray[np.int64]  # (n_features,)
    rate: NDArray[np.int64]  # (n_features,)
    base: NDArray[np.int64]  # (n_features,) w0
    count: NDArray[np.int64]  # (n_features,)
    scan: NDArray[np.intp]  # variables in the order they are visited
    state: NDArray[np.int16]  # (D,)
    cell: NDArray[np.intp]  # (C,) cell of each clique in the state
    scores: NDArray[np.int64]  # (largest alphabet,) scratch
    pool: NDArray[np.int16]  # (P, D) states to restart from
    tally: NDArray[np.int64]  # (7,) see CLOCK ... POOL
    number: NDArray[np.float64]  # (3,) see VALUE ... TOLERANCE


@jit
def _weight(herd: Herd, f: int) -> int:
    """Weight of feature f now."""
    lag = herd.tally[CLOCK] * herd.target[f] - herd.tally[TOTAL] * herd.count[f]
    return herd.base[f] + herd.rate[f] * lag


@jit
def _score(herd: Herd, state: NDArray[np.int16]) -> int:
    """<w, phi(state)>."""
    score = np.int64(0)
    for c in range(herd.members.shape[0]):
        cell = herd.offsets[c]
        for m in range(herd.members.shape[1]):
            i = herd.members[c, m]
            if i < 0:
                break
            cell += herd.strides[c, m] * state[i]
        if herd.coefficient[cell] != 0:
            score += herd.coefficient[cell] * _weight(herd, herd.feature[cell])
    return score


@jit
def _ascend(herd: Herd, max_sweeps: int) -> None:
    """Sweep over the variables until none improves; ties keep the value, then the lowest."""
    sweeps = 0
    improved = True
    while improved and (max_sweeps == 0 or sweeps < max_sweeps):
        improved = False
        sweeps += 1
        for i in herd.scan:
            old = herd.state[i]
            for v in range(herd.n_values[i]):
                herd.scores[v] = 0
            for a in range(herd.site_start[i], herd.site_start[i + 1]):
                step = herd.site_stride[a]
                cell = herd.cell[herd.site_clique[a]] - old * step
                for v in range(herd.n_values[i]):
                    if herd.coefficient[cell] != 0:
                        w = _weight(herd, herd.feature[cell])
                        herd.scores[v] += herd.coefficient[cell] * w
                    cell += step
            new = old
            for v in range(herd.n_values[i]):
                if herd.scores[v] > herd.scores[new]:
                    new = v
            if new != old:
                # the first value with the top score, whatever came before it in the scan
                for v in range(new):
                    if herd.scores[v] == herd.scores[new]:
                        new = v
                        break
                _move(herd, i, new)
                improved = True


@jit
def _move(herd: Herd, i: int, new: int) -> None:
    """Give variable i the value ``new``."""
    change = new - herd.state[i]
    for a in range(herd.site_start[i], herd.site_start[i + 1]):
        herd.cell[herd.site_clique[a]] += change * herd.site_stride[a]
    herd.state[i] = new
    herd.tally[FLIPS] += 1


@jit
def _fails(herd: Herd) -> bool:
    """Whether the PCT inequality <w, phi> >= <w, n> / N fails."""
    score = float(_score(herd, herd.state))
    gap = herd.tally[TOTAL] * score - herd.number[VALUE]
    return gap < -herd.number[TOLERANCE]


@jit
def _restart(herd: Herd, max_sweeps: int) -> None:
    """Ascend again from the best state of the pool, if it scores higher than the current one."""
    best = -1
    best_score = _score(herd, herd.state)
    for r in range(herd.tally[POOL]):
        score = _score(herd, herd.pool[r])
        if score > best_score:
            best, best_score = r, score
    if best < 0:
        return
    for i in range(herd.state.shape[0]):
        if herd.state[i] != herd.pool[best, i]:
            _move(herd, i, herd.pool[best, i])
    _ascend(herd, max_sweeps)
    herd.tally[RESTARTS] += 1


@jit
def _update(herd: Herd) -> None:
    """Count what fired and move <w, n>."""
    pull = 0.0
    for cell in herd.cell:
        f = herd.feature[cell]
        herd.count[f] += herd.coefficient[cell]
        pull += float(herd.coefficient[cell] * herd.rate[f]) * float(herd.target[f])
    herd.number[VALUE] += herd.number[NORM2] - herd.tally[TOTAL] * pull
    herd.tally[CLOCK] += 1


@jit
def herd_cliques(
    herd: Herd,
    states: NDArray[np.int16],  # (n_steps, D), filled in place
    max_sweeps: int,  # 0: until nothing improves
    remember: bool,  # whether the pool holds visited states
) -> None:
    """Run ``len(states)`` steps."""
    tally = herd.tally
    for t in range(states.shape[0]):
        _ascend(herd, max_sweeps)
        if _fails(herd):
            if tally[POOL] > 0:
                _restart(herd, max_sweeps)
            if _fails(herd):
                tally[VIOLATIONS] += 1
        if remember:
            herd.pool[tally[STEPS] % herd.pool.shape[0]] = herd.state
            tally[POOL] = min(herd.pool.shape[0], tally[POOL] + 1)
        states[t] = herd.state
        _update(herd)
        tally[STEPS] += 1
