"""Fields of few sites by brute force: every state, in plain NumPy."""

from itertools import product

import numpy as np


def all_states(n, states=(0, 1)):
    """Every state, as rows."""
    return np.array(list(product(states, repeat=n)), dtype=float).reshape(-1, n)


def probabilities(couplings, biases, states=(0, 1)):
    """All states, and their probabilities."""
    x = all_states(len(biases), states)
    scores = np.array([row @ couplings @ row / 2 + biases @ row for row in x])
    p = np.exp(scores - scores.max())
    return x, p / p.sum()


def random_field(n, seed, coupling_sd=1.0, bias_sd=0.5):
    """Symmetric couplings with a zero diagonal, and biases."""
    rng = np.random.default_rng(seed)
    couplings = np.triu(rng.normal(0, coupling_sd, (n, n)), 1)
    return couplings + couplings.T, rng.normal(0, bias_sd, n)


def draw_rows(couplings, biases, n_rows, seed):
    """Independent rows of a 0/1 field, as distinct rows and their weights."""
    x, p = probabilities(couplings, biases)
    chosen = np.random.default_rng(seed).choice(len(x), n_rows, p=p)
    rows, counts = np.unique(x[chosen].astype(np.uint8), axis=0, return_counts=True)
    return rows, counts / n_rows
