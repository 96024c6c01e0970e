"""A restricted Boltzmann machine from herding: its weights never settle, but they have a mean.

The parameters of the machine are the mean of the weights of a herd (`herder.fields.hidden_system`)
over its last 100 steps, times the one factor that maximises the pseudo-likelihood: herding does
not know the scale of its weights. Over fewer steps single states weigh too much, over more the
hidden sites change their roles, and the mean forgets them.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from herder.core.lanes import Progress
from herder.fields.hidden_engine import HiddenHerd, rounded_means
from herder.learn.rbm_rows import spot_check
from herder.models.rbm import RBMModel

__all__ = ["herd_machine"]

#: Steps of an epoch, each with all rows, and the last ones, whose weights are averaged.
EPOCH, WINDOW = 50, 100

#: Factors that are considered, as natural logarithms.
FACTORS = (-10.0, 3.0)


def herd_machine(
    signs: NDArray[np.int8], n_hidden: int, n_epochs: int, progress: Progress | None = None
) -> tuple[RBMModel, NDArray[np.float64], NDArray[np.int8]]:
    """Return a machine of states -1 and 1, and the rates and the centre of the herd.

    Parameters
    ----------
    signs : ndarray of shape (n_rows, n_visible), int8
        Rows of -1 and 1.
    n_hidden, n_epochs : int
        Number of hidden sites; times 50 steps.
    progress : callable, optional
        Called with the share done, and a word on what is done.
    """
    centre = rounded_means(signs)
    herd = HiddenHerd(signs, n_hidden, centre=centre)
    kept: deque[NDArray[np.int64]] = deque(maxlen=WINDOW)
    for step in range(n_epochs * EPOCH):
        herd.run(1)
        kept.append(herd.weights)
        if progress is not None:
            progress((step + 1) / (n_epochs * EPOCH), "herding")
    mean = np.mean(kept, axis=0) / herd.scale
    mean[:-1, -1] -= mean[:-1, :-1] @ centre  # hidden biases of sites that are not centred
    rows = signs.astype(np.float64)

    def loss(log_factor: float) -> float:
        model = _machine(np.exp(log_factor) * mean)
        return -float(np.mean([spot_check(model, rows, part) for part in range(8)]))

    found = minimize_scalar(loss, bounds=FACTORS, method="bounded", options={"xatol": 0.01})
    return _machine(np.exp(found.x) * mean), herd.rates, centre


def _machine(table: NDArray[np.float64]) -> RBMModel:
    return RBMModel(table[:-1, :-1].T, table[-1, :-1], table[:-1, -1], states=(-1, 1))
