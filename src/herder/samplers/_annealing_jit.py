"""Compiled loop of annealed importance sampling. It trusts its arguments: callers validate."""

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit


@jit
def _draw(
    fields: NDArray[np.float64],  # (n_states,)
    pull: NDArray[np.float64],  # (n_states,)
    scale: float,
    uniform: float,
) -> int:
    """Draw a state with log odds ``fields + scale * pull``."""
    n_states = fields.shape[0]
    top = fields[0] + scale * pull[0]
    for a in range(1, n_states):
        top = max(top, fields[a] + scale * pull[a])
    total = 0.0
    for a in range(n_states):
        total += np.exp(fields[a] + scale * pull[a] - top)
    left = uniform * total
    for a in range(n_states - 1):
        left -= np.exp(fields[a] + scale * pull[a] - top)
        if left < 0.0:
            return a
    return n_states - 1


@jit
def anneal(
    indptr: NDArray[np.intp],  # (n + 1,), neighbours as CSR
    indices: NDArray[np.intp],
    weights: NDArray[np.float64],
    table: NDArray[np.float64],  # (n_states, n_states): what an edge of weight 1 gains
    fields: NDArray[np.float64],  # (n, n_states)
    scales: NDArray[np.float64],  # (n_steps + 1,): shares of the couplings, the first already used
    uniforms: NDArray[np.float64],  # (n_steps, n), in [0, 1)
    state: NDArray[np.uint8],  # (n,), updated in place
) -> float:
    """Sweep once at each share of the couplings; return the gain of the log weight."""
    n, n_states = fields.shape
    pull = np.zeros((n, n_states))  # what the neighbours of a site add to each of its states
    score = 0.0  # what all edges gain in the state
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            for a in range(n_states):
                pull[i, a] += weights[e] * table[a, state[indices[e]]]
        score += pull[i, state[i]] / 2
    gain = 0.0
    for t in range(uniforms.shape[0]):
        scale = scales[t + 1]
        gain += (scale - scales[t]) * score
        for i in range(n):
            old = state[i]
            new = _draw(fields[i], pull[i], scale, uniforms[t, i])
            if new == old:
                continue
            state[i] = new
            score += pull[i, new] - pull[i, old]
            for e in range(indptr[i], indptr[i + 1]):
                j = indices[e]
                for a in range(n_states):
                    pull[j, a] += weights[e] * (table[a, new] - table[a, old])
    return gain
