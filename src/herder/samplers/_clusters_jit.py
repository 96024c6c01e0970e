"""Compiled sweeps of Swendsen-Wang. They trust their arguments: callers validate."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit


class Bonds(NamedTuple):
    """Edges that may be frozen; 32 bits are enough and spare the cache."""

    one: NDArray[np.int32]  # (n_edges,)
    other: NDArray[np.int32]  # (n_edges,)
    chances: NDArray[np.uint32]  # (n_edges,): P(frozen) in units of 2^-32, if the ends suit
    equal: NDArray[np.uint8]  # (n_edges,): 1 if equal ends suit each other, 0 if unequal ones


@jit
def _freeze(
    bonds: Bonds,
    noise: NDArray[np.uint32],  # (n_edges,)
    x: NDArray[np.uint8],
    frozen: NDArray[np.int32],  # (n_edges + 1, 2), the first rows filled in place
) -> int:
    """List the frozen edges, without a branch to be mispredicted; return their number."""
    one, other, chances, equal = bonds
    n_frozen = 0
    for e in range(one.shape[0]):
        i, j = one[e], other[e]
        frozen[n_frozen, 0] = i
        frozen[n_frozen, 1] = j
        suits = np.uint8(x[i] == x[j]) == equal[e]
        n_frozen += int(suits & (noise[e] < chances[e]))
    return n_frozen


@jit
def _join(
    bonds: Bonds,
    noise: NDArray[np.uint32],  # (n_edges,)
    x: NDArray[np.uint8],
    parent: NDArray[np.int32],  # (n_sites,), filled in place with the first site of each cluster
    frozen: NDArray[np.int32],  # (n_edges + 1, 2), scratch
) -> int:
    """Join the ends of frozen edges, with path compression; return the number of clusters."""
    n_clusters = x.shape[0]
    for i in range(x.shape[0]):
        parent[i] = i
    for k in range(_freeze(bonds, noise, x, frozen)):
        a, b = frozen[k]
        up_a, up_b = parent[a], parent[b]
        while up_a != up_b:
            if up_a < up_b:
                parent[b] = up_a
                if b == up_b:  # b was a root: two clusters have become one
                    n_clusters -= 1
                    break
                b = up_b
                up_b = parent[b]
            else:
                parent[a] = up_b
                if a == up_a:
                    n_clusters -= 1
                    break
                a = up_a
                up_a = parent[a]
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
    """Flip clusters by coins, for binary sites without a field; return the clusters in all."""
    n_sites = x.shape[0]
    parent = np.empty(n_sites, dtype=np.int32)
    frozen = np.empty((bonds.one.shape[0] + 1, 2), dtype=np.int32)
    total = 0
    for t in range(out.shape[0]):
        total += _join(bonds, noise[t], x, parent, frozen)
        for i in range(n_sites):
            root = np.uint64(parent[i])
            bit = coins[t, root >> np.uint64(6)] >> (root & np.uint64(63))
            x[i] ^= np.uint8(bit & np.uint64(1))
            out[t, i] = x[i]
    return total


@jit
def sweep_fields(
    bonds: Bonds,
    fields: NDArray[np.float64],  # (n_sites,), biases of -1/+1 states, or (n_sites, n_states)
    noise: NDArray[np.uint32],  # (n_sweeps, n_edges)
    draws: NDArray[np.float64],  # (n_sweeps, n_sites), logistic; or Gumbel, one for each state
    x: NDArray[np.uint8],
    out: NDArray[np.uint8],
) -> int:
    """Draw new states for whole clusters with regard to the field; return the clusters in all."""
    n_sites = x.shape[0]
    parent = np.empty(n_sites, dtype=np.int32)
    frozen = np.empty((bonds.one.shape[0] + 1, 2), dtype=np.int32)
    gains = np.empty(fields.shape)  # of keeping the state, or of each state, summed at the roots
    total = 0
    for t in range(out.shape[0]):
        total += _join(bonds, noise[t], x, parent, frozen)
        if fields.ndim == 1:
            gains[:] = 0.0
            for i in range(n_sites):
                gains[parent[i]] += fields[i] if x[i] else -fields[i]
            for i in range(n_sites):  # turned over with probability 1 / (1 + exp(2 gain))
                root = parent[i]
                x[i] ^= np.uint8(draws[t, root] > 2.0 * gains[root])
        else:
            gains[:] = draws[t]
            for i in range(n_sites):
                for a in range(fields.shape[1]):
                    gains[parent[i], a] += fields[i, a]
            for i in range(n_sites):  # the root of a cluster comes first
                x[i] = np.argmax(gains[i]) if parent[i] == i else x[parent[i]]
        for i in range(n_sites):
            out[t, i] = x[i]
    return total
