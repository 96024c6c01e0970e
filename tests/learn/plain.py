"""Slow twins of the pseudo-likelihood, and rows of known machines, in plain NumPy."""

import numpy as np


def all_states(n):
    """Rows 0 .. 2^n - 1; site 0 is the lowest bit."""
    return (np.arange(2**n)[:, None] >> np.arange(n)) & 1


def random_machine(n, seed, *, spread=0.8):
    """Symmetric couplings and biases of 0/1 states."""
    rng = np.random.default_rng(seed)
    couplings = np.triu(rng.normal(size=(n, n)) * spread, 1)
    return couplings + couplings.T, rng.normal(size=n) * spread


def probabilities(couplings, biases, states=None):
    """P of all states, from the energies."""
    rows = all_states(len(biases)) if states is None else states
    score = np.einsum("ni,ij,nj->n", rows, couplings, rows) / 2 + rows @ biases
    weights = np.exp(score - score.max())
    return weights / weights.sum()


def draw(couplings, biases, n_rows, seed):
    """Independent rows of a machine."""
    rng = np.random.default_rng(seed)
    table = probabilities(couplings, biases)
    return all_states(len(biases))[rng.choice(len(table), n_rows, p=table)].astype(np.uint8)


def objective(couplings, biases, rows, weights, alpha, penalty="l2"):
    """The penalised pseudo-likelihood, term by term; line i of the couplings is site i's."""
    n = len(biases)
    total = 0.0
    for x, weight in zip(rows, weights, strict=True):
        for i in range(n):
            field = biases[i] + sum(couplings[i, j] * x[j] for j in range(n) if j != i)
            chance = 1 / (1 + np.exp(-field))
            total -= weight * np.log(chance if x[i] else 1 - chance)
    sizes = couplings**2 if penalty == "l2" else np.abs(couplings)
    return total + alpha * (sizes.sum() - np.trace(sizes))


def gradient(couplings, biases, rows, weights):
    """Derivatives of the unpenalised objective: by each coupling as if alone, and by biases."""
    rows = np.asarray(rows, float)
    chances = 1 / (1 + np.exp(-(rows @ couplings.T + biases)))
    residuals = (chances - rows) * np.asarray(weights)[:, None]
    by_coupling = residuals.T @ rows
    np.fill_diagonal(by_coupling, 0.0)
    return by_coupling, residuals.sum(axis=0)
