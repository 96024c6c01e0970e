"""Compiled loop of moment herding over any cliques. It trusts its arguments: callers validate.

Every cell of every clique's table carries its own int64 weight, ``coefficient * w[feature]``, so
that an ascent reads one number per clique and value. A step adds the drift to all cells and
takes N off those that fired.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit

TOTAL, STEPS, FLIPS, RESTARTS, VIOLATIONS, POOL = range(6)
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
    feature: NDArray[np.intp]  # (n_cells,) feature of the cell
    shared: NDArray[np.bool_]  # (C,) whether cells of the clique share a feature
    coefficient: NDArray[np.int64]  # (n_cells,)
    rate: NDArray[np.int64]  # (n_cells,) rate of the cell's feature
    drift: NDArray[np.int64]  # (n_cells,) coefficient * rate * target of the cell's feature
    weight: NDArray[np.int64]  # (n_cells,) coefficient * weight of the cell's feature
    scan: NDArray[np.intp]  # variables in the order they are visited
    state: NDArray[np.int16]  # (D,)
    cell: NDArray[np.intp]  # (C,) cell of each clique in the state
    scores: NDArray[np.int64]  # (largest alphabet,) scratch
    pool: NDArray[np.int16]  # (P, D) states to restart from
    tally: NDArray[np.int64]  # (6,) see TOTAL ... POOL
    number: NDArray[np.float64]  # (3,) see VALUE ... TOLERANCE


@jit
def _score(herd: Herd, state: NDArray[np.int16]) -> Any:
    """<w, phi(state)>."""
    members, strides, offsets, weight = herd.members, herd.strides, herd.offsets, herd.weight
    score = np.int64(0)
    for c in range(members.shape[0]):
        cell = offsets[c]
        for m in range(members.shape[1]):
            i = members[c, m]
            if i < 0:
                break
            cell += strides[c, m] * state[i]
        score += weight[cell]
    return score


@jit
def _move(herd: Herd, i: int, new: int) -> None:
    """Set variable i to the value ``new``."""
    change = new - herd.state[i]
    for a in range(herd.site_start[i], herd.site_start[i + 1]):
        herd.cell[herd.site_clique[a]] += change * herd.site_stride[a]
    herd.state[i] = new
    herd.tally[FLIPS] += 1


@jit
def _ascend(herd: Herd, max_sweeps: int) -> None:
    """Sweep over the variables until none improves; ties keep the value, then the lowest."""
    site_start, site_clique, site_stride = herd.site_start, herd.site_clique, herd.site_stride
    cells, weight, scores = herd.cell, herd.weight, herd.scores
    sweeps = 0
    improved = True
    while improved and (max_sweeps == 0 or sweeps < max_sweeps):
        improved = False
        sweeps += 1
        for i in herd.scan:
            old, n_values = herd.state[i], herd.n_values[i]
            for v in range(n_values):
                scores[v] = 0
            for a in range(site_start[i], site_start[i + 1]):
                step = site_stride[a]
                cell = cells[site_clique[a]] - old * step
                for v in range(n_values):
                    scores[v] += weight[cell + v * step]
            new = 0
            for v in range(1, n_values):
                if scores[v] > scores[new]:
                    new = v
            if scores[new] > scores[old]:
                _move(herd, i, new)
                improved = True


@jit
def _fails(herd: Herd) -> bool:
    """Whether the PCT inequality <w, phi> >= <w, n> / N fails."""
    score = 0.0
    for cell in herd.cell:
        score += float(herd.weight[cell])
    return herd.tally[TOTAL] * score - herd.number[VALUE] < -herd.number[TOLERANCE]


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
    """Move the weights by target - features, and <w, n> with them."""
    weight, drift, coefficient, rate = herd.weight, herd.drift, herd.coefficient, herd.rate
    total = herd.tally[TOTAL]
    for f in range(weight.shape[0]):
        weight[f] += drift[f]
    pull = 0.0
    for c in range(herd.cell.shape[0]):
        fired = herd.cell[c]
        pull += float(drift[fired])
        drop = total * coefficient[fired] * rate[fired]
        if herd.shared[c]:
            for f in range(herd.offsets[c], herd.offsets[c + 1]):
                if herd.feature[f] == herd.feature[fired]:
                    weight[f] -= drop * coefficient[f]
        else:
            weight[fired] -= drop
    herd.number[VALUE] += herd.number[NORM2] - total * pull


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
            size = herd.pool.shape[0]
            place = tally[STEPS] % size if tally[POOL] == size else tally[POOL]
            for i in range(herd.state.shape[0]):
                herd.pool[place, i] = herd.state[i]
            tally[POOL] = min(size, tally[POOL] + 1)
        for i in range(herd.state.shape[0]):
            states[t, i] = herd.state[i]
        _update(herd)
        tally[STEPS] += 1
