"""Block Gibbs sampling of restricted Boltzmann machines: all sites of a side at once."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from herder.models.rbm import RBMModel

__all__ = ["block_gibbs"]


def block_gibbs(
    model: RBMModel,
    visible: NDArray[np.float64],
    rng: np.random.Generator,
    *,
    held: NDArray[np.bool_] | None = None,
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield visible states of chains after each sweep, and the probabilities they were drawn by.

    Parameters
    ----------
    model : RBMModel
        The machine.
    visible : ndarray of shape (n_chains, n_visible)
        Where the chains start.
    rng : Generator
        Draws the states.
    held : ndarray of bool, of the shape of ``visible``, optional
        Sites that keep their states.
    """
    low, gap = model.states[0], model.states[1] - model.states[0]
    while True:
        chances = model.hidden_probabilities(visible)
        hidden = low + gap * (rng.random(chances.shape) < chances).astype(np.float64)
        chances = model.visible_probabilities(hidden)
        drawn = low + gap * (rng.random(chances.shape) < chances).astype(np.float64)
        visible = drawn if held is None else np.where(held, visible, drawn)
        yield visible, chances
