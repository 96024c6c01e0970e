"""Compiled sweeps of Swendsen-Wang. They trust their arguments: callers validate."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit


class Bonds(NamedTuple):
    """Edges that may be frozen, by their later site; 32 bits are enough and spare the cache."""

    indptr: NDArray[np.int32]  # (n_sites + 1,)
    earlier: NDArray[np.int32]  # (n_edges,): the other end
    chances: NDArray[np.uint32]  # (n_edges,): P(frozen) in units of 2^-32, if the ends suit
    equal: NDArray[np.uint8]  # (n_edges,): 1 if equal ends suit each other, 0 if unequal ones


@jit
def _root(parent: NDArray[np.int32], i: Any) -> Any:
    """Give the first site of a cluster, and shorten the way to it."""
    above = parent[i]
    while above != i:
        parent[i] = parent[above]
        i = parent[i]
        above = parent[i]
    return i


@jit
def _join(
    bonds: Bonds,
    noise: NDArray[np.uint32],  # (n_edges,)
    x: NDArray[np.uint8],
    parent: NDArray[np.int32],
) -> int:
    """Freeze bonds and join their ends; every site then points at its root. Give the clusters."""
    indptr, earlier, chances, equal = bonds
    n_clusters = x.shape[0]
    for j in range(x.shape[0]):
        above = np.int32(j)  # a site of the cluster of j, at or before j
        for e in range(indptr[j], indptr[j + 1]):
            i = earlier[e]
            if (np.uint8(x[i] == x[j]) == equal[e]) & (noise[e] < chances[e]):
                if above == j:
                    above = parent[i]
                    n_clusters -= 1
                elif parent[i] != above:
                    a, b = _root(parent, parent[i]), _root(parent, above)
                    above = min(a, b)
                    if a != b:
                        parent[max(a, b)] = above
                        n_clusters -= 1
        parent[j] = above
    for i in range(x.shape[0]):  # roots come before their sites
        parent[i] = parent[parent[i]]
    return n_clusters


@jit
def sweep_free(
    bonds: Bonds,
    noise: NDArray[np.uint32],  # (n_sweeps, n_edges)
    coins: NDArray[np.uint64],  # (n_sweeps, n_sites / 64 rounded up): a bit for each site
    x: NDArray[np.uint8],  # (n_sites,), updated in place
    out: NDArray[np.uint8],  # (n_sweeps, n_sites), filled in place
) -> int:
    """Turn clusters over by coins, for binary sites without a field; give the clusters in all."""
    n_sites = x.shape[0]
    parent = np.empty(n_sites, dtype=np.int32)
    total = 0
    for t in range(out.shape[0]):
        total += _join(bonds, noise[t], x, parent)
        for i in range(n_sites):
            root = np.uint64(parent[i])
            bit = coins[t, root >> np.uint64(6)] >> (root & np.uint64(63))
            x[i] ^= np.uint8(bit & np.uint64(1))
            out[t, i] = x[i]
    return total


@jit
def sweep_ising(
    bonds: Bonds,
    biases: NDArray[np.float64],  # (n_sites,), of -1/+1 states
    noise: NDArray[np.uint32],  # (n_sweeps, n_edges)
    logistic: NDArray[np.float64],  # (n_sweeps, n_sites)
    x: NDArray[np.uint8],
    out: NDArray[np.uint8],
) -> int:
    """Turn clusters over with regard to the field; give the clusters in all."""
    n_sites = x.shape[0]
    parent = np.empty(n_sites, dtype=np.int32)
    drive = np.empty(n_sites)
    total = 0
    for t in range(out.shape[0]):
        total += _join(bonds, noise[t], x, parent)
        drive[:] = 0.0
        for i in range(n_sites):
            drive[parent[i]] += biases[i] if x[i] else -biases[i]
        for i in range(n_sites):  # turned over with probability 1 / (1 + exp(2 drive))
            root = parent[i]
            x[i] ^= np.uint8(logistic[t, root] > 2.0 * drive[root])
            out[t, i] = x[i]
    return total


@jit
def sweep_potts(
    bonds: Bonds,
    fields: NDArray[np.float64],  # (n_sites, n_states)
    noise: NDArray[np.uint32],  # (n_sweeps, n_edges)
    gumbels: NDArray[np.float64],  # (n_sweeps, n_sites, n_states)
    x: NDArray[np.uint8],
    out: NDArray[np.uint8],
) -> int:
    """Draw new states for clusters as wholes; give the clusters in all."""
    n_sites, n_states = fields.shape
    parent = np.empty(n_sites, dtype=np.int32)
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
