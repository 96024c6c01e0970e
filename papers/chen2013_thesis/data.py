"""Mixtures and the Spambase task of section 4.2.3; a bundled table for quick runs."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from herder import datasets

Floats = NDArray[np.float64]

#: Seed of the mixtures, the random samples, the split and the chains.
SEED = 2013

#: Prior of each weight, the constant among them; the thesis gives no number.
PRIOR_VARIANCE = 1.0

#: Rows that train; the other 1601 test.
N_TRAIN = 3000


@dataclass(frozen=True)
class Task:
    """Whitened rows with a constant 1 as last column, and 0/1 labels."""

    X: Floats
    y: NDArray[np.uint8]
    X_test: Floats
    y_test: NDArray[np.uint8]


@cache
def task(quick: bool) -> Task:
    """Spambase, split at random, whitened by the principal components of the training rows."""
    table = datasets.load_breast_cancer_binary() if quick else datasets.load_spambase()
    n_train = 400 if quick else N_TRAIN
    rows = np.random.default_rng([SEED, 0]).permutation(len(table.X))
    X, y = table.X[rows].astype(np.float64), np.asarray(table.y)[rows].astype(np.uint8)
    centre, axes = whitening(X[:n_train])
    white = np.column_stack([(X - centre) @ axes, np.ones(len(X))])
    return Task(white[:n_train], y[:n_train], white[n_train:], y[n_train:])


def whitening(X: Floats) -> tuple[Floats, Floats]:
    """Mean, and axes such that ``(X - mean) @ axes`` has unit covariance."""
    centre = X.mean(axis=0)
    _, spread, directions = np.linalg.svd(X - centre, full_matrices=False)
    return centre, directions.T / (spread / np.sqrt(len(X)))
