"""Compiled sweeps of belief propagation. They trust their arguments: callers validate."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit


class Halves(NamedTuple):
    """Halves 2 e and 2 e + 1 of edge e, each at one of its ends."""

    ends: NDArray[np.intp]  # (2 m,): the site of a half
    starts: NDArray[np.intp]  # (n + 1,): where the halves of a site begin in the next
    by_site: NDArray[np.intp]  # (2 m,)
    order: NDArray[np.intp]  # (n,): sites as they are visited
    rank: NDArray[np.intp]  # (n,): the place of a site in the order


@jit
def _send(
    cavity: NDArray[np.float64],  # (K,): log belief of the sender without the receiver
    gains: NDArray[np.float64],  # (K, K): states of the receiver by states of the sender
    message: NDArray[np.float64],  # (K,), updated in place; its largest entry is near 0
    fresh: NDArray[np.float64],  # (K,), scratch
    damping: float,
) -> float:
    """Move a message towards its new value; return how far that was from the old one."""
    n_states = cavity.shape[0]
    best = -np.inf
    for b in range(n_states):
        top = -np.inf
        for a in range(n_states):
            top = max(top, cavity[a] + gains[b, a])
        total = 0.0
        for a in range(n_states):
            total += np.exp(cavity[a] + gains[b, a] - top)
        fresh[b] = top + np.log(total)
        best = max(best, fresh[b])
    change = 0.0
    for b in range(n_states):
        step = fresh[b] - best - message[b]
        change = max(change, abs(step) / (1.0 + abs(message[b])))
        message[b] += (1.0 - damping) * step
    return change


@jit
def propagate(
    fields: NDArray[np.float64],  # (n, K)
    halves: Halves,
    gains: NDArray[np.float64],  # (2 m, K, K): of the message that leaves through a half
    messages: NDArray[np.float64],  # (2 m, K), those that arrive at a half; updated in place
    damping: float,
    tol: float,
    max_iter: int,
) -> tuple[int, float]:
    """Sweep back and forth until messages stay; return the iterations and the last change.

    Sites whose messages stay are passed over, so that of many graphs the slowest alone goes on.
    """
    ends, starts, by_site, order, rank = halves
    n, n_states = fields.shape
    belief, cavity = np.empty(n_states), np.empty(n_states)
    fresh = np.empty(n_states)
    awake = np.ones((2, n), dtype=np.bool_)  # with news for those after it, or before it
    whole, change = True, 0.0
    for done in range(max_iter):
        change = 0.0
        for visit in range(2 * n):
            back = visit < n  # first to the sites before, from the last one on
            i = order[n - 1 - visit] if back else order[visit - n]
            if not awake[int(back), i]:
                continue
            awake[int(back), i] = False
            for a in range(n_states):
                belief[a] = fields[i, a]
                for k in range(starts[i], starts[i + 1]):
                    belief[a] += messages[by_site[k], a]
            for k in range(starts[i], starts[i + 1]):
                half = by_site[k]
                if (rank[ends[half ^ 1]] < rank[i]) != back:
                    continue
                top = -np.inf
                for a in range(n_states):
                    cavity[a] = belief[a] - messages[half, a]
                    top = max(top, cavity[a])
                for a in range(n_states):
                    cavity[a] -= top
                moved = _send(cavity, gains[half], messages[half ^ 1], fresh, damping)
                change = max(change, moved)
                if moved > tol:
                    awake[:, ends[half ^ 1]] = True
                    awake[int(back), i] = damping > 0.0
        if change <= tol and whole:
            return done + 1, change
        whole = change <= tol
        if whole:  # small changes may have added up at sites without news: look at all of them
            awake[:] = True
    return max_iter, change
