"""Random systems of section 2.6, and what their figures share."""

import numpy as np
from numpy.typing import NDArray

from papers.chen2013_thesis import data

Floats = NDArray[np.float64]


def random_system(part: int, k: int, n_states: int, n_features: int) -> tuple[Floats, Floats]:
    """Standard normal features, and their means by a flat Dirichlet distribution."""
    random = np.random.default_rng([data.SEED, part, k])
    features = random.standard_normal((n_states, n_features))
    return features, random.dirichlet(np.ones(n_states)) @ features
