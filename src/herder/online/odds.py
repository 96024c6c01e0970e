r"""Probabilities of classes from scores and their variances, by the probit.

A score :math:`w^T x` with :math:`w \sim N(\mu, \Sigma)` is :math:`N(m, v)`. Against unit noise it
is positive with probability

.. math:: \Phi\left(\frac{m}{\sqrt{1 + v}}\right);

for K classes that of each class against the best other one is scaled to sum to one, which for two
is the same.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["probabilities"]

#: The smallest probability that is more than an even chance.
ABOVE_HALF = float(np.nextafter(0.5, 1.0))


def probabilities(
    scores: NDArray[np.float64], variances: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """Give probabilities (n, n_classes) from scores and variances (n, B).

    The largest is that of the class with the largest score, even where the difference is too
    small to show.
    """
    from scipy.special import ndtr

    if n_classes == 1:
        return np.ones((len(scores), 1))
    if scores.shape[1] == 1:
        odds = ndtr(scores[:, 0] / np.sqrt(1.0 + variances[:, 0]))
        odds = np.where(scores[:, 0] > 0, np.maximum(odds, ABOVE_HALF), odds)
        return np.column_stack([1.0 - odds, odds])
    ranked = np.argsort(-scores, axis=1, kind="stable")[:, :2]
    rival = np.where(ranked[:, :1] == np.arange(n_classes), ranked[:, 1:], ranked[:, :1])
    gaps = scores - np.take_along_axis(scores, rival, axis=1)
    spread = 1.0 + variances + np.take_along_axis(variances, rival, axis=1)
    odds = ndtr(gaps / np.sqrt(spread))
    first = np.arange(len(odds)), ranked[:, 0]
    odds[first] = np.maximum(odds[first], ABOVE_HALF)
    return odds / odds.sum(axis=1, keepdims=True)
