"""Compiled loop of contrastive divergence. It trusts its arguments: callers validate."""

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit


@jit
def run_chains(
    states: NDArray[np.float64],  # (n_chains, n), 0 and 1, updated in place
    fields: NDArray[np.float64],  # (n_chains, n), W x + b in the states, kept up to date
    couplings: NDArray[np.float64],  # (n, n), C-contiguous
    sites: NDArray[np.intp],  # (n_steps,), which site each step draws
    uniforms: NDArray[np.float64],  # (n_chains, n_steps), in [0, 1)
) -> None:
    """Draw one site after another in every chain; a flip costs O(n), the rest nothing."""
    n = states.shape[1]
    for c in range(states.shape[0]):
        state, field = states[c], fields[c]
        for t in range(sites.shape[0]):
            i = sites[t]
            # exp(700) is still finite, and a site so far below zero is never drawn
            odds = np.exp(min(-field[i], 700.0))
            value = 1.0 if uniforms[c, t] * (1.0 + odds) < 1.0 else 0.0
            change = value - state[i]
            if change != 0.0:
                state[i] = value
                for j in range(n):
                    field[j] += change * couplings[i, j]
