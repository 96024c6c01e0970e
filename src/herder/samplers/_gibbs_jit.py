"""Compiled sweeps of Gibbs sampling. They trust their arguments: callers validate."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit


class Neighbours(NamedTuple):
    """Neighbours of the sites, as CSR."""

    indptr: NDArray[np.intp]
    indices: NDArray[np.intp]
    weights: NDArray[np.float64]


@jit
def sweep_table(
    near: NDArray[np.intp],  # (n_visits, width): neighbours; those beyond the last are n_sites
    order: NDArray[np.intp],  # (n_visits,)
    chances: NDArray[np.float64],  # (n_sites, 2 ** width): P(1) by the states of the neighbours
    uniforms: NDArray[np.float64],  # (n_sweeps, n_visits)
    x: NDArray[np.uint8],  # (n_sites + 1,), the last always 0; updated in place
    out: NDArray[np.uint8],  # (n_sweeps, n_sites), filled in place
) -> None:
    """Sweep with the probabilities of all neighbourhoods in a table."""
    n_visits, width = near.shape
    for t in range(out.shape[0]):
        if width == 4:
            for k in range(n_visits):
                code = (
                    np.intp(x[near[k, 0]])
                    | np.intp(x[near[k, 1]]) << 1
                    | np.intp(x[near[k, 2]]) << 2
                    | np.intp(x[near[k, 3]]) << 3
                )
                x[order[k]] = uniforms[t, k] < chances[order[k], code]
        else:
            for k in range(n_visits):
                code = np.intp(0)
                for d in range(width):
                    code |= np.intp(x[near[k, d]]) << d
                x[order[k]] = uniforms[t, k] < chances[order[k], code]
        for i in range(out.shape[1]):
            out[t, i] = x[i]


@jit
def add_neighbours(near: Neighbours, x: NDArray[np.uint8], f: NDArray[np.float64]) -> None:
    """Add the terms of the neighbours to the gains of all sites; always in the same order.

    Gains are log odds of binary sites, (n_sites,), or those of all states, (n_sites, n_states).
    """
    indptr, indices, weights = near
    for i in range(f.shape[0]):
        for e in range(indptr[i], indptr[i + 1]):
            if f.ndim == 2:
                f[i, x[indices[e]]] += weights[e]
            elif x[indices[e]]:
                f[i] += weights[e]


@jit
def _sweep_binary(
    near: Neighbours,
    couplings: NDArray[np.float64],  # (n_sites, n_sites) if they are dense, else empty
    order: NDArray[np.intp],
    noise: NDArray[np.float64],  # (n_visits,), logistic
    heat: float,
    x: NDArray[np.uint8],
    f: NDArray[np.float64],
) -> None:
    """Visit binary sites once; ``f`` is the log odds of 1 at each site, kept up to date."""
    indptr, indices, weights = near
    for k in range(order.shape[0]):
        i = order[k]
        new = np.uint8(f[i] > heat * noise[k])
        if new != x[i]:
            sign = 1.0 if new else -1.0
            x[i] = new
            if couplings.shape[0]:
                for j in range(f.shape[0]):
                    f[j] += sign * couplings[i, j]
            else:
                for e in range(indptr[i], indptr[i + 1]):
                    f[indices[e]] += sign * weights[e]


@jit
def _sweep_potts(
    near: Neighbours,
    order: NDArray[np.intp],
    noise: NDArray[np.float64],  # (n_visits, n_states), Gumbel
    heat: float,
    x: NDArray[np.uint8],
    f: NDArray[np.float64],  # (n_sites, n_states)
) -> None:
    """Visit sites with many states once; ``f`` is the gain of each state at each site."""
    indptr, indices, weights = near
    for k in range(order.shape[0]):
        i = order[k]
        new = 0
        top = f[i, 0] + heat * noise[k, 0]
        for a in range(1, f.shape[1]):
            gain = f[i, a] + heat * noise[k, a]
            if gain > top:
                new, top = a, gain
        old = x[i]
        if new != old:
            x[i] = new
            for e in range(indptr[i], indptr[i + 1]):
                f[indices[e], old] -= weights[e]
                f[indices[e], new] += weights[e]


@jit
def _exchange(
    t: int,
    heats: NDArray[np.float64],
    energies: NDArray[np.float64],
    uniforms: NDArray[np.float64],  # (n_heats,)
    who: NDArray[np.intp],  # replica at each heat, updated in place
    swaps: NDArray[np.int64],  # (n_heats - 1, 2): tried, done
) -> None:
    """Offer every other pair of neighbouring heats to change replicas."""
    for r in range(t % 2, heats.shape[0] - 1, 2):
        gap = (1.0 / heats[r] - 1.0 / heats[r + 1]) * (energies[who[r]] - energies[who[r + 1]])
        swaps[r, 0] += 1
        if np.log(uniforms[r]) < gap:
            who[r], who[r + 1] = who[r + 1], who[r]
            swaps[r, 1] += 1


@jit
def run_replicas(
    near: Neighbours,
    couplings: NDArray[np.float64],  # (n_sites, n_sites) of binary sites if dense, else empty
    fields: NDArray[np.float64],  # (n_sites,) or (n_sites, n_states)
    order: NDArray[np.intp],
    noise: NDArray[np.float64],  # (n_sweeps, n_heats, n_visits) or (..., n_states)
    uniforms: NDArray[np.float64],  # (n_sweeps, n_heats)
    heats: NDArray[np.float64],
    t: int,
    x: NDArray[np.uint8],  # (n_heats, n_sites)
    f: NDArray[np.float64],  # (n_heats, n_sites) or (n_heats, n_sites, n_states)
    who: NDArray[np.intp],
    swaps: NDArray[np.int64],
    out: NDArray[np.uint8],
) -> None:
    """Sweep all replicas and let them change heats; the state at the first heat goes out."""
    energies = np.zeros(heats.shape[0])
    for s in range(out.shape[0]):
        for r in range(heats.shape[0]):
            if f.ndim == 2:
                _sweep_binary(near, couplings, order, noise[s, r], heats[r], x[who[r]], f[who[r]])
            else:
                _sweep_potts(near, order, noise[s, r], heats[r], x[who[r]], f[who[r]])
        if heats.shape[0] > 1:
            for r in range(heats.shape[0]):
                energies[r] = 0.0
                for i in range(x.shape[1]):  # gains hold each coupling twice
                    if f.ndim == 2:
                        energies[r] -= x[r, i] * (f[r, i] + fields[i]) / 2
                    else:
                        energies[r] -= (f[r, i, x[r, i]] + fields[i, x[r, i]]) / 2
            _exchange(t + s, heats, energies, uniforms[s], who, swaps)
        out[s] = x[who[0]]
