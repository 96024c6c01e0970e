r"""Sums over all states of a field.

Sites are split into low ones, the first few, and high ones. For fixed high sites a state of the
low ones has the score

.. math:: S(x_{low}) + \sum_{i\,low} f_i(x_i), \qquad
          f_i(a) = \sum_{j\,high} w_{ij} T(a, x_j),

with S made once. The second sum is made by doubling: from the scores of all states of k sites
come those of k + 1 sites by one addition each. So a state costs a few additions and one
exponential, nothing is carried from state to state, and rounding errors do not accumulate. Sums
over the low sites alone, over the high ones alone, and the low marginals for each state of the
high ones yield every marginal of sites and pairs.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from herder.models.factors import Factors, Sums

__all__ = ["MAX_LISTED", "MAX_STATES", "draw", "enumerate_states"]

#: More states are not enumerated: 2^25 take one or two seconds.
MAX_STATES = 2**25

#: Up to so many states the probability of each is kept.
MAX_LISTED = 2**20

#: States of the low sites, and numbers that are handled at a time: what fits into the cache.
LOW_CELLS = 2**13
BLOCK = 2**17


class _Split(NamedTuple):
    """A field split into low and high sites; states of either are numbered by their digits."""

    factors: Factors
    couplings: NDArray[np.float64]  # (n, n)
    n_low: int
    low_scores: NDArray[np.float64]  # (q^n_low,)

    @property
    def n_high(self) -> int:
        return self.factors.n_sites - self.n_low

    def blocks(self) -> list[NDArray[np.intp]]:
        """Cut the states of the high sites into blocks."""
        n_cells = self.factors.n_states**self.n_high
        size = max(1, BLOCK // len(self.low_scores))
        return [np.arange(k, min(k + size, n_cells)) for k in range(0, n_cells, size)]

    def scores(self, high: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the scores (k, q^n_low) of all states for some states of the high sites."""
        factors, low = self.factors, self.n_low
        digits = _digits(high, factors.n_states, self.n_high)
        equal = factors.table[digits]  # (k, high, q): T(x_j, a)
        own = factors.fields[low:][np.arange(self.n_high), digits].sum(axis=1)
        among = self.couplings[low:, low:]
        drive = np.einsum("ij,kja->kia", among, equal)
        pairs = np.take_along_axis(drive, digits[:, :, None], axis=2).sum(axis=(1, 2)) / 2
        found = _linear(np.einsum("ij,kja->kia", self.couplings[:low, low:], equal))
        found += self.low_scores
        found += (own + pairs)[:, None]
        return found


def enumerate_states(factors: Factors) -> Sums:
    """Sum over all states."""
    q, split = factors.n_states, _split(factors)
    low_cells, n_low = len(split.low_scores), split.n_low
    log_high = np.empty(q**split.n_high)
    given = np.empty((len(log_high), n_low, q))  # low marginals for each state of the high
    low_sums, top = np.zeros(low_cells), -np.inf
    listed = np.empty((len(log_high), low_cells)) if q**factors.n_sites <= MAX_LISTED else None
    for high in split.blocks():
        scores = split.scores(high)
        if listed is not None:
            listed[high] = scores
        level = scores.max(axis=1)
        scores -= level[:, None]
        weights = np.exp(scores, out=scores)
        total = weights.sum(axis=1)
        log_high[high] = level + np.log(total)
        if level.max() > top:  # the sums so far are kept relative to the highest score
            low_sums *= np.exp(top - level.max())
            top = level.max()
        low_sums += np.einsum("k,kx->x", np.exp(level - top), weights)
        given[high] = _fold(weights, n_low, q) / total[:, None, None]
    log_partition = float(np.asarray(logsumexp(log_high)))
    p_high, p_low = np.exp(log_high - log_partition), low_sums / low_sums.sum()
    p_high /= p_high.sum()
    marginals = np.concatenate(
        [np.einsum("k,kia->ia", p_high, given), _fold(p_high[None], split.n_high, q)[0]]
    )
    pairs = np.empty((len(factors.edges), q, q))
    for e, (i, j) in enumerate(factors.edges.tolist()):
        if j < n_low:
            pairs[e] = _pair(p_low, i, j, q)
        elif i >= n_low:
            pairs[e] = _pair(p_high, i - n_low, j - n_low, q)
        else:
            joint = p_high[:, None] * given[:, i]
            pairs[e] = joint.reshape(-1, q, q ** (j - n_low), q).sum(axis=(0, 2)).T
    probabilities = None if listed is None else np.exp(listed - log_partition).ravel()
    return Sums(log_partition, marginals, pairs, probabilities)


def draw(factors: Factors, n_samples: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Draw independent states: first the high sites, then the low ones given these."""
    split, q = _split(factors), factors.n_states
    parts: list[Any] = [logsumexp(split.scores(h), axis=1) for h in split.blocks()]
    log_high = np.concatenate(parts)
    high = _invert(log_high, rng.random(n_samples))
    low, uniforms = np.empty_like(high), rng.random(n_samples)
    rank = np.argsort(high, kind="stable")
    found, first = np.unique(high[rank], return_index=True)
    for state, rows in zip(found, np.split(rank, first[1:]), strict=True):
        low[rows] = _invert(split.scores(np.array([state]))[0], uniforms[rows])
    digits = [_digits(low, q, split.n_low), _digits(high, q, split.n_high)]
    return np.concatenate(digits, axis=1).astype(np.int8)


def _split(factors: Factors) -> _Split:
    n, q = factors.n_sites, factors.n_states
    couplings = np.zeros((n, n))
    i, j = factors.edges.T
    couplings[i, j] = couplings[j, i] = factors.weights
    n_low = 1
    while n_low < n and q ** (n_low + 1) <= LOW_CELLS:
        n_low += 1
    scores = np.zeros(1)
    for k in range(n_low):
        # (a, i, b) is the gain of site i in state b when site k is in state a
        gains = couplings[k, :k, None] * factors.table[:, None, :]
        scores = (scores + _linear(gains) + factors.fields[k][:, None]).ravel()
    return _Split(factors, couplings, n_low, scores)


def _linear(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum gains (k, n, q) of sites over all states (k, q^n)."""
    n_rows, n_sites, q = gains.shape
    found, size = np.zeros((n_rows, q**n_sites)), 1
    for site in range(n_sites):
        for state in reversed(range(q)):  # the first block is read until it is changed last
            block = found[:, state * size : (state + 1) * size]
            np.add(found[:, :size], gains[:, site, state, None], out=block)
        size *= q
    return found


def _fold(weights: NDArray[np.float64], n_sites: int, q: int) -> NDArray[np.float64]:
    """Sum weights (k, q^n) to (k, n, q): over the states with each value of each site."""
    found = np.empty((len(weights), n_sites, q))
    for site in reversed(range(n_sites)):
        parts = weights.reshape(len(weights), q, q**site)
        found[:, site] = parts.sum(axis=2)
        weights = parts.sum(axis=1)
    return found


def _pair(weights: NDArray[np.float64], i: int, j: int, q: int) -> NDArray[np.float64]:
    """Sum weights over the states with each pair of values of sites i < j."""
    return weights.reshape(-1, q, q ** (j - i - 1), q, q**i).sum(axis=(0, 2, 4)).T


def _digits(numbers: NDArray[np.intp], q: int, n_sites: int) -> NDArray[np.intp]:
    """Return the digits (k, n) of state numbers, the lowest first."""
    return numbers[:, None] // q ** np.arange(n_sites) % q


def _invert(scores: NDArray[np.float64], uniforms: NDArray[np.float64]) -> NDArray[np.intp]:
    """Draw places with probabilities proportional to exp(scores)."""
    sums = np.cumsum(np.exp(scores - scores.max()))
    return np.searchsorted(sums / sums[-1], uniforms, side="right").astype(np.intp)
