"""Small random fields summed out by hand: what the samplers must come to."""

import itertools

import numpy as np
from scipy import sparse

from herder import PairwiseModel, PottsModel
from tests.naive import dense, site_chances


def draw_pairwise(n_sites, edges, seed, *, states=(-1, 1), strength=0.6, as_sparse=False):
    """Make a model with normal couplings on some edges, and normal biases."""
    rng = np.random.default_rng(seed)
    couplings = np.zeros((n_sites, n_sites))
    for i, j in edges:
        couplings[i, j] = couplings[j, i] = rng.normal() * strength
    biases = rng.normal(size=n_sites) * strength
    kept = sparse.csr_array(couplings) if as_sparse else couplings
    return PairwiseModel(kept, biases, states)


def draw_potts(n_sites, n_states, edges, seed, *, strength=0.6, as_sparse=False):
    """Make a Potts model with normal couplings on some edges, and normal fields."""
    rng = np.random.default_rng(seed)
    couplings = np.zeros((n_sites, n_sites))
    for i, j in edges:
        couplings[i, j] = couplings[j, i] = rng.normal() * strength
    fields = rng.normal(size=(n_sites, n_states)) * strength
    kept = sparse.csr_array(couplings) if as_sparse else couplings
    return PottsModel(kept, fields)


COMPLETE_4 = list(itertools.combinations(range(4), 2))
COMPLETE_5 = list(itertools.combinations(range(5), 2))
LOOP_5 = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
TRIANGLE = np.array([[0.0, -0.8, -0.8], [-0.8, 0.0, -0.8], [-0.8, -0.8, 0.0]])


def small_models():
    """Give models of every kind, few enough states to be summed by hand."""
    return {
        "complete +-1": draw_pairwise(5, COMPLETE_5, 0),
        "complete 0/1": draw_pairwise(5, COMPLETE_5, 1, states=(0, 1), strength=1.0),
        "sparse loop +-1": draw_pairwise(5, LOOP_5, 2, as_sparse=True),
        "sparse loop 0/1": draw_pairwise(5, LOOP_5, 3, states=(0, 1), as_sparse=True),
        "antiferromagnetic triangle": PairwiseModel(TRIANGLE, [0.2, -0.1, 0.4], (-1, 1)),
        "ferromagnetic grid in a field": PairwiseModel.grid((2, 3), 0.5, 0.2),
        "two parts": draw_pairwise(5, [(0, 1), (1, 2), (3, 4)], 4),
        "no edges": draw_pairwise(4, [], 5),
        "one site": draw_pairwise(1, [], 6),
        "potts complete": draw_potts(4, 3, COMPLETE_4, 7),
        "potts loop": draw_potts(4, 3, [(0, 1), (1, 2), (2, 3), (0, 3)], 8, as_sparse=True),
        "potts without edges": draw_potts(3, 4, [], 9),
    }


def all_states(model):
    """List all states in the model's own values; site 0 turns fastest."""
    digits = itertools.product(range(model.n_states), repeat=model.n_sites)
    codes = np.array([row[::-1] for row in digits])
    return np.array(model.states)[codes]


def state_numbers(model, rows):
    """Give the place of rows in `all_states`."""
    codes = np.searchsorted(model.states, rows)
    return codes @ model.n_states ** np.arange(model.n_sites)


def log_weight(model, x):
    """Give minus the energy of a state, pair by pair."""
    couplings, total = dense(model.couplings), -model.offset
    is_potts = hasattr(model, "fields")
    for i in range(len(x)):
        total += model.fields[i, x[i]] if is_potts else model.biases[i] * x[i]
        for j in range(i):
            both = float(x[i] == x[j]) if is_potts else x[i] * x[j]
            total += couplings[i, j] * both
    return total


def distribution(model, evidence=None):
    """Give the probabilities of `all_states`, given some sites."""
    rows = all_states(model)
    logs = np.array([log_weight(model, row) for row in rows])
    p = np.exp(logs - logs.max())
    for site, value in (evidence or {}).items():
        p[rows[:, site] != value] = 0.0
    return p / p.sum()


def true_marginals(model, evidence=None):
    """Give P(upper) of each site, or the probabilities of its states in a Potts model."""
    return marginals_of(model, all_states(model), distribution(model, evidence))


def marginals_of(model, rows, weights=None):
    """Give the marginals of weighted rows, by counting."""
    shares = np.full(len(rows), 1 / len(rows)) if weights is None else weights
    table = np.stack([shares @ (rows == value) for value in model.states], axis=1)
    return table if hasattr(model, "fields") else table[:, 1]


def pairs_of(model, pairs, rows, weights=None):
    """Give the tables of pairs of sites over weighted rows, by counting."""
    shares = np.full(len(rows), 1 / len(rows)) if weights is None else weights
    found = np.zeros((len(pairs), model.n_states, model.n_states))
    for k, (i, j) in enumerate(pairs):
        for a, b in itertools.product(range(model.n_states), repeat=2):
            both = (rows[:, i] == model.states[a]) & (rows[:, j] == model.states[b])
            found[k, a, b] = shares @ both
    return found


def sweep_kernel(model, scan):
    """Give the matrix of a sweep of Gibbs sampling: one site after the other is drawn anew."""
    rows = all_states(model)
    kernel = np.eye(len(rows))
    for site in scan:
        step = np.zeros_like(kernel)
        for here, row in enumerate(rows):
            for value, chance in zip(model.states, site_chances(model, row, site), strict=True):
                after = row.copy()
                after[site] = value
                step[here, state_numbers(model, after)] += chance
        kernel = kernel @ step
    return kernel


def chain_errors(kernel, p, n_sweeps):
    """Give the standard errors of the frequencies of all states over a chain of sweeps.

    Sums over all lags by the fundamental matrix Z = (1 - K + 1 p')^-1: a centred f has the
    asymptotic variance 2 <f, Z f> - <f, f>.
    """
    n = len(p)
    fundamental = np.linalg.inv(np.eye(n) - kernel + np.outer(np.ones(n), p))
    centred = np.eye(n) - p  # column k: the indicator of state k, less its mean
    spread = p[:, None] * centred
    variance = 2 * np.einsum("ik,ij,jk->k", spread, fundamental, centred)
    variance -= np.einsum("ik,ik->k", spread, centred)
    return np.sqrt(np.maximum(variance, 0) / n_sweeps)


def frequencies(model, rows):
    """Give how often each of `all_states` is among rows."""
    numbers = state_numbers(model, np.asarray(rows))
    return np.bincount(numbers, minlength=model.n_states**model.n_sites) / len(rows)


def total_variation(p, q):
    """Give half the sum of absolute differences."""
    return np.abs(p - q).sum() / 2
