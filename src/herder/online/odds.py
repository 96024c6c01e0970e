r"""Probabilities of classes from scores and their variances, by the probit.

A score :math:`w^T x` with :math:`w \sim N(\mu, \Sigma)` is :math:`N(m, v)`. Against unit noise it
is positive with probability

.. math:: \Phi\left(\frac{m}{\sqrt{1 + v}}\right);

for K classes that of each class against the best other one is scaled to sum to one, which for two
is the same.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["find_rivals", "probabilities"]

#: The smallest probability that is more than an even chance.
ABOVE_HALF = float(np.nextafter(0.5, 1.0))


def find_rivals(scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the best other class for each row and class of scores; the lowest of equals."""
    ranked = np.argsort(-scores, axis=1, kind="stable")[:, :2]
    blocks = np.arange(scores.shape[1])
    return np.where(ranked[:, :1] == blocks, ranked[:, -1:], ranked[:, :1])


def probabilities(
    scores: NDArray[np.float64], variances: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Return probabilities (n, n_classes).

    The largest is that of the class with the largest score, even where the difference is too
    small to show.

    Parameters
    ----------
    scores : array of shape (n, B)
        Mean scores: of the second class if B is 1, else of each.
    variances : array of shape (n, B)
        Variance of that score, or of the gap between each score and its rival's.
    n_classes : int
        Number of classes.
    """
    from scipy.special import ndtr

    if n_classes == 1:
        return np.ones((len(scores), 1))
    if scores.shape[1] == 1:
        odds = ndtr(scores[:, 0] / np.sqrt(1.0 + variances[:, 0]))
        odds = np.where(scores[:, 0] > 0, np.maximum(odds, ABOVE_HALF), odds)
        return np.column_stack([1.0 - odds, odds])
    gaps = scores - np.take_along_axis(scores, find_rivals(scores), axis=1)
    odds = ndtr(gaps / np.sqrt(1.0 + variances))
    first = np.arange(len(odds)), scores.argmax(axis=1)
    odds[first] = np.maximum(odds[first], ABOVE_HALF)
    return odds / odds.sum(axis=1, keepdims=True)
