"""Compiled counts over blocks of states. They trust their arguments: callers validate."""

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit


@jit
def count_upper(
    block: NDArray[np.uint8],  # (n_sweeps, n_sites), 0 or 1
    counts: NDArray[np.integer],  # (n_sites, 1), added to
) -> None:
    """Count how often each site is at 1."""
    for t in range(block.shape[0]):
        for i in range(block.shape[1]):
            counts[i, 0] += block[t, i]


@jit
def count_states(
    block: NDArray[np.uint8],  # (n_sweeps, n_sites), codes
    counts: NDArray[np.integer],  # (n_sites, n_states), added to
) -> None:
    """Count how often each site is in each state."""
    for t in range(block.shape[0]):
        for i in range(block.shape[1]):
            counts[i, block[t, i]] += 1


@jit
def count_pairs(
    block: NDArray[np.uint8],  # (n_sweeps, n_sites), codes
    edges: NDArray[np.intp],  # (n_edges, 2)
    counts: NDArray[np.int64],  # (n_edges, n_states, n_states), added to
) -> None:
    """Count how often the two ends of each edge are in each pair of states."""
    for t in range(block.shape[0]):
        for e in range(edges.shape[0]):
            counts[e, block[t, edges[e, 0]], block[t, edges[e, 1]]] += 1
