"""Block Gibbs sampling of restricted Boltzmann machines: all sites of a side at once."""

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from herder.models.rbm import RBMModel

__all__ = ["block_gibbs", "draw_rows", "fill_chances"]

#: Sweeps before the first row of a sample, and from one row of a chain to the next; chains.
BURN_IN, THINNING, N_CHAINS = 1000, 10, 100

#: Sweeps before unknown entries are averaged, and sweeps of the average.
FILL_BURN_IN, FILL_SWEEPS = 50, 200


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


def draw_rows(model: RBMModel, n_samples: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Return visible rows of up to 100 chains in turn, from random states on.

    Parameters
    ----------
    model : RBMModel
        The machine.
    n_samples : int
        Number of rows.
    rng : Generator
        Draws the starts and the sweeps.
    """
    n_chains = min(N_CHAINS, n_samples)
    low, high = model.states
    start = np.where(rng.random((n_chains, model.n_visible)) < 0.5, low, high).astype(float)
    last = BURN_IN + THINNING * -(-n_samples // n_chains)
    chains = islice(block_gibbs(model, start, rng), BURN_IN + THINNING - 1, last, THINNING)
    return np.concatenate([visible for visible, _ in chains]).astype(np.int8)[:n_samples]


def fill_chances(
    model: RBMModel, rows: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the probability of the upper state of each entry; those that are NaN are averaged.

    Parameters
    ----------
    model : RBMModel
        The machine.
    rows : ndarray of shape (n_rows, n_visible)
        States, NaN where they are unknown.
    rng : Generator
        Draws the starts and the sweeps of a chain for each row.
    """
    low, high = model.states
    held = ~np.isnan(rows)
    found = (rows == high).astype(np.float64)
    unknown = np.flatnonzero(~held.all(axis=1))
    if len(unknown):
        start = np.where(held, rows, np.where(rng.random(rows.shape) < 0.5, low, high))
        sweeps = block_gibbs(model, start[unknown], rng, held=held[unknown])
        kept = islice(sweeps, FILL_BURN_IN, FILL_BURN_IN + FILL_SWEEPS)
        means = sum(chances for _, chances in kept) / FILL_SWEEPS
        found[unknown] = np.where(held[unknown], found[unknown], means)
    return found
