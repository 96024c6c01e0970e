r"""The constant of a boosted field: log Z, on a grid or by annealed importance sampling.

In one or two columns of numbers the energy is summed over a grid; its error is the difference to
the sum over every second line. Otherwise chains start at the mixture,
:math:`E_0`, and move at energies :math:`E_0 + \beta (E - E_0)` with :math:`\beta` from 0 to 1.
Their weights are unbiased for Z [neal2001]_.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder.core.lanes import Progress
from herder.learn.boosted_model import BoostedModel

__all__ = ["Partition", "annealed", "grid_sum"]

#: Lines of a grid in one column, and in each of two.
LINES = {1: 8193, 2: 1025}

#: Standard deviations that a grid goes beyond the data.
MARGIN = 5.0

#: Chains and temperatures of annealing.
N_CHAINS, N_TEMPERATURES = 100, 500


class Partition(NamedTuple):
    """log Z and its standard error."""

    value: float
    error: float


def grid_sum(
    model: BoostedModel, low: NDArray[np.float64], high: NDArray[np.float64]
) -> Partition:
    """Return log Z by a sum over a grid, beyond the corners of the data."""
    lines = [
        np.linspace(a - MARGIN, b + MARGIN, LINES[len(low)])
        for a, b in zip(low, high, strict=True)
    ]
    points = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)
    logs = -model.energy(points.reshape(-1, len(low))).reshape(points.shape[:-1])
    cell = sum(np.log(line[1] - line[0]) for line in lines)
    coarse = logs[tuple(slice(None, None, 2) for _ in lines)]
    value = float(np.logaddexp.reduce(logs, axis=None)) + cell
    return Partition(
        value,
        abs(float(np.logaddexp.reduce(coarse, axis=None)) + cell + len(lines) * np.log(2) - value),
    )


def annealed(
    model: BoostedModel,
    archive: NDArray[np.float64],
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Partition:
    """Return log Z by annealed importance sampling.

    Parameters
    ----------
    model : BoostedModel
        The field.
    archive : ndarray of shape (n_rows, n_columns)
        Rows whose differences are tried as steps of numbers.
    rng : Generator
        Draws the chains.
    progress : callable, optional
        Called with the share done, and a word on what is done.
    """
    rows = model.base.draw(N_CHAINS, rng)
    pulls, logs = model.pulls(rows), np.zeros(N_CHAINS)
    for step, (before, share) in enumerate(pairwise(np.linspace(0, 1, N_TEMPERATURES + 1))):
        logs -= (share - before) * pulls
        if step + 1 < N_TEMPERATURES:
            rows, pulls = model.advance(rows, 1, rng, share=share, archive=archive)
        if progress is not None:
            progress((step + 1) / N_TEMPERATURES, "annealing")
    value = float(np.logaddexp.reduce(logs, axis=None)) - np.log(N_CHAINS)
    weights = np.exp(logs - logs.max())
    error = float(weights.std(ddof=1) / weights.mean() / np.sqrt(N_CHAINS))
    return Partition(value, error)
