r"""Coordinate ascent: change one variable at a time while the score rises.

.. math:: x_i \leftarrow \arg\max_v \langle w, \phi(x_1, \dots, x_i = v, \dots, x_D) \rangle

Ties keep the current value, then the lowest; so with integer weights each change raises
the score and the ascent ends. Changing all variables at once does not ascend: it is not
offered.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from herder.models.features import CliqueFeatures

__all__ = ["ascend"]


def ascend(
    features: CliqueFeatures,
    weights: NDArray[np.int64],
    state: NDArray[np.integer],
    *,
    scan: Iterable[int] | None = None,
    max_sweeps: int = 0,
) -> NDArray[np.integer]:
    """Sweep over the variables until none improves, from ``state`` on.

    Parameters
    ----------
    features : CliqueFeatures
        The feature map.
    weights : ndarray of shape (n_features,)
        The weights of the score.
    state : ndarray of shape (n_variables,)
        Where to begin; it is not changed.
    scan : iterable of int, optional
        The order in which variables are visited; those left out stay as they are.
    max_sweeps : int, default 0
        Stop after this many sweeps; 0 sweeps until nothing improves.
    """
    order = list(range(features.n_variables) if scan is None else scan)
    state = state.copy()
    sweeps = 0
    improved = True
    while improved and (max_sweeps == 0 or sweeps < max_sweeps):
        improved = False
        sweeps += 1
        for i in order:
            scores = features.site_scores(weights, state, i)
            best = int(np.argmax(scores))
            if scores[best] > scores[state[i]]:
                state[i] = best
                improved = True
    return state
