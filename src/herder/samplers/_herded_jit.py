"""Compiled sweeps of herded Gibbs, in integers. They trust their arguments: callers validate."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._numba import jit

#: Weights and probabilities are whole multiples of 1 / UNIT; 2^52 keeps w + p within 2^53.
UNIT = 2**52


class Contexts(NamedTuple):
    """Weights of all contexts met so far: a site and the states of its neighbours."""

    first: NDArray[np.uint64]  # (capacity,), first half of the key; both halves 0: free
    second: NDArray[np.uint64]  # (capacity,)
    weights: NDArray[np.int64]  # (capacity, n_states)
    chances: NDArray[np.int64]  # (capacity, n_states), sum to UNIT
    met: NDArray[np.int64]  # (1,), contexts met


class Graph(NamedTuple):
    """Neighbours of the sites, fields, and the words that keys are made of."""

    indptr: NDArray[np.intp]
    indices: NDArray[np.intp]
    weights: NDArray[np.float64]
    fields: NDArray[np.float64]  # (n_sites, n_states)
    marks: NDArray[np.uint64]  # (2, n_sites, n_states): words that name a state of a site
    names: NDArray[np.uint64]  # (2, n_sites): words that name a site as the one visited


@jit
def sweep_table(
    near: NDArray[np.intp],  # (n_visits, width): neighbours; those beyond the last are n_sites
    order: NDArray[np.intp],  # (n_visits,)
    table: NDArray[np.int64],  # (n_sites, 2 ** width, 2): weight and P(1), updated in place
    x: NDArray[np.uint8],  # (n_sites + 1,), the last always 0; updated in place
    out: NDArray[np.uint8],  # (n_sweeps, n_sites), filled in place
) -> None:
    """Sweep binary sites with one weight for each neighbourhood, all in a table."""
    n_visits, width = near.shape
    for t in range(out.shape[0]):
        for k in range(n_visits):
            if width == 4:
                code = (
                    np.intp(x[near[k, 0]])
                    | np.intp(x[near[k, 1]]) << 1
                    | np.intp(x[near[k, 2]]) << 2
                    | np.intp(x[near[k, 3]]) << 3
                )
            else:
                code = np.intp(0)
                for d in range(width):
                    code |= np.intp(x[near[k, d]]) << d
            i = order[k]
            w = table[i, code, 0]
            fires = w > 0
            table[i, code, 0] = w + table[i, code, 1] - (UNIT if fires else 0)
            x[i] = fires
        for i in range(out.shape[1]):
            out[t, i] = x[i]


@jit
def _stir(word: np.uint64) -> np.uint64:
    """Scatter the bits of a word of 32 bits; products stay below 2^64, so nothing overflows."""
    low = np.uint64(0xFFFFFFFF)
    word = (word ^ (word >> np.uint64(16))) * np.uint64(0x85EBCA6B) & low
    word = (word ^ (word >> np.uint64(13))) * np.uint64(0xC2B2AE35) & low
    return word ^ (word >> np.uint64(16))


@jit
def _scatter(first: np.uint64, second: np.uint64, salt: np.uint64) -> np.uint64:
    """Return a word of 64 bits that looks random in all bits of a key.

    Keys are exclusive-or of words, and thresholds on such sums would be followed by the chain.
    """
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    word = _stir(salt & low)
    for part in (first & low, first >> half, second & low, second >> half):
        word = _stir(word ^ part)
    return (word << half) | _stir(word ^ low)


@jit
def _find(contexts: Contexts, first: np.uint64, second: np.uint64) -> np.intp:
    """Return the slot of a context, or the free slot where it belongs."""
    free = np.uint64(0)
    mask = np.intp(contexts.first.shape[0] - 1)
    slot = np.intp(first & np.uint64(mask))  # keys are evenly scattered as they are
    while contexts.first[slot] != free or contexts.second[slot] != free:
        if contexts.first[slot] == first and contexts.second[slot] == second:
            break
        slot = (slot + np.intp(1)) & mask
    return slot


@jit
def _enter(
    graph: Graph,
    contexts: Contexts,
    slot: np.intp,
    i: np.intp,
    x: NDArray[np.uint8],
    salt: np.uint64,
    spread: bool,
    gains: NDArray[np.float64],  # (n_states,), scratch
) -> None:
    """Fill a free slot: probabilities of the context as integers, and first weights."""
    n_states = gains.shape[0]
    for a in range(n_states):
        gains[a] = graph.fields[i, a]
    for e in range(graph.indptr[i], graph.indptr[i + 1]):
        gains[x[graph.indices[e]]] += graph.weights[e]
    top = gains.max()
    total = 0.0
    for a in range(n_states):
        gains[a] = np.exp(gains[a] - top)
        total += gains[a]
    left = np.int64(UNIT)
    best = 0
    for a in range(n_states):
        contexts.chances[slot, a] = np.int64(np.floor(gains[a] / total * UNIT))
        left -= contexts.chances[slot, a]
        if gains[a] > gains[best]:
            best = a
    contexts.chances[slot, best] += left  # a few units at most: what rounding down left over
    if not spread:
        share = UNIT // n_states
        for a in range(n_states):
            contexts.weights[slot, a] = contexts.chances[slot, a] - share
        return
    word = _scatter(contexts.first[slot], contexts.second[slot], salt)
    if n_states == 2:
        w = contexts.chances[slot, 1] - np.int64(word >> np.uint64(12))
        contexts.weights[slot, 0] = -w
        contexts.weights[slot, 1] = w
        return
    total = 0.0
    for a in range(n_states):
        word = _scatter(word, contexts.second[slot], salt)
        uniform = (np.float64(word >> np.uint64(12)) + 0.5) / 2.0**52
        gains[a] /= -np.log(uniform)  # the largest is state a with probability p(a)
        total += gains[a]
    for a in range(n_states):
        contexts.weights[slot, a] = np.int64((gains[a] / total - 1.0 / n_states) * UNIT)


@jit
def sweep_contexts(
    graph: Graph,
    order: NDArray[np.intp],
    contexts: Contexts,
    salt: np.uint64,
    spread: bool,
    x: NDArray[np.uint8],  # (n_sites,), updated in place
    out: NDArray[np.uint8],  # (n_sweeps, n_sites), filled in place
) -> int:
    """Sweep until done or the table is two thirds full; return the sweeps done."""
    n_states = graph.fields.shape[1]
    gains = np.empty(n_states)
    room = contexts.first.shape[0] * 2 // 3
    for t in range(out.shape[0]):
        if contexts.met[0] + order.shape[0] > room:
            return t
        for k in range(order.shape[0]):
            i = order[k]
            first, second = graph.names[0, i], graph.names[1, i]
            for e in range(graph.indptr[i], graph.indptr[i + 1]):
                j = graph.indices[e]
                first ^= graph.marks[0, j, x[j]]
                second ^= graph.marks[1, j, x[j]]
            slot = _find(contexts, first, second)
            if contexts.first[slot] != first or contexts.second[slot] != second:
                contexts.first[slot] = first
                contexts.second[slot] = second
                contexts.met[0] += 1
                _enter(graph, contexts, slot, i, x, salt, spread, gains)
            best = 0
            for a in range(1, n_states):
                if contexts.weights[slot, a] > contexts.weights[slot, best]:
                    best = a
            for a in range(n_states):
                contexts.weights[slot, a] += contexts.chances[slot, a]
            contexts.weights[slot, best] -= UNIT
            x[i] = best
        for i in range(x.shape[0]):
            out[t, i] = x[i]
    return out.shape[0]


@jit
def move_contexts(old: Contexts, new: Contexts) -> None:
    """Enter all contexts into a larger table."""
    free = np.uint64(0)
    for slot in range(old.first.shape[0]):
        if old.first[slot] != free or old.second[slot] != free:
            place = _find(new, old.first[slot], old.second[slot])
            new.first[place] = old.first[slot]
            new.second[place] = old.second[slot]
            new.weights[place] = old.weights[slot]
            new.chances[place] = old.chances[slot]
    new.met[0] = old.met[0]
