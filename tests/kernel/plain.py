"""Slow, plain twins of the kernels and of what is computed with them, in double precision."""

import math

import numpy as np

from herder.kernel import (
    Energy,
    Gaussian,
    InverseMultiquadric,
    Laplace,
    Matern32,
    Matern52,
)

#: Profile of each radial kernel, as a function of the scaled distance.
PROFILES = {
    "gaussian": lambda r: math.exp(-r * r / 2),
    "matern32": lambda r: (1 + math.sqrt(3) * r) * math.exp(-math.sqrt(3) * r),
    "matern52": lambda r: (1 + math.sqrt(5) * r + 5 * r * r / 3) * math.exp(-math.sqrt(5) * r),
    "laplace": lambda r: math.exp(-r),
    "inverse-multiquadric": lambda r: 1 / math.sqrt(1 + r * r),
}

RADIAL = {
    "gaussian": Gaussian,
    "matern32": Matern32,
    "matern52": Matern52,
    "laplace": Laplace,
    "inverse-multiquadric": InverseMultiquadric,
}

#: All kernels that need no scores.
KINDS = {**RADIAL, "energy": Energy}


def distances(A, B, bandwidth=1.0):
    """Euclidean distances, all differences taken before anything else."""
    gaps = (np.asarray(A, float)[:, None, :] - np.asarray(B, float)[None]) / bandwidth
    return np.sqrt((gaps**2).sum(axis=2))


def gram(name, A, B, bandwidth=1.0, centre=None):
    """Gram matrix from the plain formulas."""
    r = distances(A, B, bandwidth)
    if name == "energy":
        c = np.zeros((1, np.shape(A)[1])) if centre is None else np.asarray(centre)[None]
        return distances(A, c, bandwidth) + distances(B, c, bandwidth).T - r
    return np.vectorize(PROFILES[name], otypes=[float])(r)


def squared_mmd(K, rows, weights=None, mass=None):
    """Squared MMD of chosen rows to all rows of a Gram matrix."""
    n, m = len(K), len(rows)
    p = np.full(n, 1 / n) if mass is None else np.asarray(mass) / np.sum(mass)
    w = np.full(m, 1 / m) if weights is None else np.asarray(weights)
    return p @ K @ p - 2 * w @ K[rows] @ p + w @ K[np.ix_(rows, rows)] @ w


def median(X):
    """Median distance of all pairs of rows."""
    r = distances(X, X)
    return float(np.median(r[np.triu_indices(len(r), 1)]))


def default_lengths(X, name="energy"):
    """Bandwidth of each column that a kernel has by default: columns are standardised."""
    spread = np.sqrt(np.square(X - X.mean(axis=0)).mean(axis=0))
    return spread if name == "energy" else spread * median(X / spread)


def sample(n, d, seed=0, offset=0.0):
    """Three clusters of unequal size and spread."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(3, d)) * 2
    which = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    spread = np.array([1.0, 0.5, 0.3])[which, None]
    return centres[which] + spread * rng.normal(size=(n, d)) + offset
