"""Compiled sweeps of Swendsen-Wang. They trust their arguments: callers validate."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit


class Bonds(NamedTuple):
    """Edges that may be frozen."""

    one: NDArray[np.intp]  # (n_edges,)
    other: NDArray[np.intp]  # (n_edges,)
    chances: NDArray[np.float64]  # (n_edges,): P(frozen) if the two ends suit each other
    equal: NDArray[np.uint8]  # (n_edges,): 1 if equal ends suit each other, 0 if unequal ones


@jit
def _root(parent: NDArray[np.intp], i: int) -> int:
    """Give the first site of a cluster, and shorten the way to it."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@jit
def _join(
    bonds: Bonds,
    uniforms: NDArray[np.float64],  # (n_edges,)
    x: NDArray[np.uint8],
    parent: NDArray[np.intp],
) -> int:
    """Freeze bonds and join their ends; every site then points at its root. Give the clusters."""
    n_clusters = x.shape[0]
    for i in range(x.shape[0]):
        parent[i] = i
    one, other, chances, equal = bonds
    for e in range(one.shape[0]):
        i, j = one[e], other[e]
        if (x[i] == x[j]) == (equal[e] != 0) and uniforms[e] < chances[e]:
            a, b = _root(parent, i), _root(parent, j)
            if a != b:
                parent[max(a, b)] = min(a, b)
                n_clusters -= 1
    for i in range(x.shape[0]):  # roots come before their sites
        parent[i] = parent[parent[i]]
    return n_clusters


@jit
def sweep_ising(
    bonds: Bonds,
    biases: NDArray[np.float64],  # (n_sites,), of -1/+1 states
    noise: NDArray[np.float64],  # (n_sweeps, n_edges), uniform
    coins: NDArray[np.float64],  # (n_sweeps, n_sites), uniform
    x: NDArray[np.uint8],  # (n_sites,), updated in place
    out: NDArray[np.uint8],  # (n_sweeps, n_sites), filled in place
) -> int:
    """Turn clusters over as wholes; give the number of clusters in all sweeps."""
    n_sites = x.shape[0]
    parent = np.empty(n_sites, dtype=np.intp)
    drive = np.zeros(n_sites)
    in_field = biases.any()
    total = 0
    for t in range(out.shape[0]):
        total += _join(bonds, noise[t], x, parent)
        if in_field:
            drive[:] = 0.0
            for i in range(n_sites):
                drive[parent[i]] += biases[i] if x[i] else -biases[i]
        for i in range(n_sites):
            root = parent[i]
            # The cluster turns over with probability 1 / (1 + exp(2 drive)).
            coin = coins[t, root]
            turns = coin < 0.5
            if in_field:
                turns = np.log(1.0 / coin - 1.0) > 2.0 * drive[root]
            out[t, i] = x[i] ^ np.uint8(turns)
        for i in range(n_sites):
            x[i] = out[t, i]
    return total


@jit
def sweep_potts(
    bonds: Bonds,
    fields: NDArray[np.float64],  # (n_sites, n_states)
    noise: NDArray[np.float64],  # (n_sweeps, n_edges), uniform
    gumbels: NDArray[np.float64],  # (n_sweeps, n_sites, n_states)
    x: NDArray[np.uint8],
    out: NDArray[np.uint8],
) -> int:
    """Give clusters new states as wholes; give the number of clusters in all sweeps."""
    n_sites, n_states = fields.shape
    parent = np.empty(n_sites, dtype=np.intp)
    gains = np.empty((n_sites, n_states))
    total = 0
    for t in range(out.shape[0]):
        total += _join(bonds, noise[t], x, parent)
        gains[:] = gumbels[t]
        for i in range(n_sites):
            for a in range(n_states):
                gains[parent[i], a] += fields[i, a]
        for i in range(n_sites):
            root = parent[i]
            if root == i:
                best = 0
                for a in range(1, n_states):
                    if gains[i, a] > gains[i, best]:
                        best = a
                x[i] = best
            else:
                x[i] = x[root]  # the root comes first
            out[t, i] = x[i]
    return total
