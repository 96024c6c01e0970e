"""Predictive probabilities of herded and random draws, for figures 4.11 and 4.12."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from herder import Gaussian, kernel_herd
from papers.chen2013_thesis import data
from papers.chen2013_thesis.posterior import draw, expit

Floats = NDArray[np.float64]

#: Of the Gaussian kernel on whitened draws: the thesis says sigma = 10.
BANDWIDTH = 10.0

N_PICKS, N_QUICK = 20_000, 300

#: Number of draws whose probabilities are kept in memory at a time.
BLOCK = 1000


@dataclass(frozen=True)
class Experiment:
    """Draws D, the rows selected by herding, and probabilities of spam on the test rows."""

    draws: Floats
    picks: NDArray[np.intp]
    mean: Floats
    spread: Floats
    accepted: float


@cache
def experiment(quick: bool) -> Experiment:
    """Whiten the draws, herd them, and predict with all of them."""
    # Threads help little with products this small, and draws must not depend on their number.
    with threadpool_limits(1, "blas"):
        draws, accepted = draw(quick)
    centre, axes = data.whitening(draws)
    white = (draws - centre) @ axes
    picks = kernel_herd(white, N_QUICK if quick else N_PICKS, kernel=Gaussian(BANDWIDTH)).indices
    rows = data.task(quick).X_test
    mean, squares = np.zeros(len(rows)), np.zeros(len(rows))
    for start in range(0, len(draws), BLOCK):
        part = expit(rows @ draws[start : start + BLOCK].T)
        mean += part.sum(axis=1) / len(draws)
    for start in range(0, len(draws), BLOCK):
        part = expit(rows @ draws[start : start + BLOCK].T)
        squares += np.square(part - mean[:, None]).sum(axis=1)
    spread = np.sqrt(squares / len(draws))
    return Experiment(draws, picks, mean, spread, accepted)


def running_predictions(draws: Floats, counts: NDArray[np.intp], quick: bool) -> Floats:
    """Mean probabilities (counts, test rows) of the first T draws, for each T of ``counts``."""
    rows = data.task(quick).X_test
    found, total = np.empty((len(counts), len(rows))), np.zeros(len(rows))
    for start in range(0, counts[-1], BLOCK):
        part = np.cumsum(expit(draws[start : start + BLOCK] @ rows.T), axis=0) + total
        mine = (counts > start) & (counts <= start + BLOCK)
        found[mine] = part[counts[mine] - start - 1] / counts[mine, None]
        total = part[-1]
    return found


def bootstrap(draws: Floats, n_rows: int, random: np.random.Generator) -> Floats:
    """Rows drawn at random, with replacement."""
    return draws[random.integers(len(draws), size=n_rows)]
