"""Random Boltzmann machines with five sites, as in section 6, and rows drawn from them.

The paper has M ~ N(0, 5) and b ~ N(0, 5); the second number is taken as a variance here.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder import PairwiseModel

Floats = NDArray[np.float64]

#: Seed of the machines and of the rows.
SEED = 2006

N_SITES = 5

#: The variance in the paper, and the one we assume was meant: see claims.toml.
PRINTED, MEANT = 5.0, 0.5

#: All states, -1 and 1.
STATES = 2 * (np.arange(2**N_SITES)[:, None] >> np.arange(N_SITES) & 1) - 1


class Task(NamedTuple):
    """A machine, the probabilities of all its states, and a generator to draw rows with."""

    model: PairwiseModel
    share: Floats
    random: np.random.Generator

    def rows(self, n_rows: int) -> NDArray[np.int64]:
        """Draw rows from the exact distribution."""
        return STATES[self.random.choice(len(STATES), n_rows, p=self.share)]


def machine(variance: float, *key: int) -> Task:
    """Build a machine that depends on ``key``: normal couplings, symmetric, and biases."""
    random = np.random.default_rng([SEED, *key])
    draws = np.sqrt(variance) * random.standard_normal((N_SITES, N_SITES + 1))
    upper = np.triu(draws[:, :-1], 1)
    model = PairwiseModel(upper + upper.T, draws[:, -1], states=(-1, 1))
    share = np.exp(np.asarray(model.log_prob(STATES)))
    return Task(model, share / share.sum(), random)


def distance(couplings: Floats, biases: Floats, truth: PairwiseModel) -> float:
    """Euclidean distance of [M, b] to that of the machine, each coupling counted twice."""
    squares = np.square(couplings - truth.couplings).sum()
    return float(np.sqrt(squares + np.square(biases - truth.biases).sum()))
