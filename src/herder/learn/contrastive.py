r"""Contrastive divergence and its persistent form: stochastic gradients of the likelihood.

The gradient of the log-likelihood is a difference of moments, and those of the field are hard to
compute. Contrastive divergence [hinton2002]_ takes them from chains that start at the rows and
make k sweeps,

.. math:: \Delta W_{ij} = \hat E[x_i x_j] - \hat E E_{k}[x_i x_j], \qquad
          \Delta b_i = \hat E[x_i] - \hat E E_k[x_i] ,

and its persistent form [tieleman2008]_ from chains that persist from update to update. These
follow the field as long as the parameters move slowly, so that with a falling rate it ends near
the likelihood fit, while CD-k for small k has an optimum of its own. With one step of one random
site its expectation is the gradient D of the pseudo-likelihood, equation 20 of [hyvarinen2006]_,
up to factors:

.. math:: E[\Delta W_{ij}] = \tfrac{2}{n} D(W_{ij}), \qquad E[\Delta b_i] = \tfrac{1}{n} D(b_i) .

Equation 27 of the paper has lost the factor 1/n.

*Where we depart from the papers.* Parameters are those of the centred rows, and a step is scaled
by the inverse curvature of Gaussian rows with the covariance C of the data, penalty included:

.. math:: \Delta W \leftarrow \mathcal H^{-1} \Delta W, \qquad
          \mathcal H V = C V C + 4 \alpha V ,

in the basis where C is diagonal. Without it, columns with few ones learn slowly. The noise of a
step then has the shape of the statistical error, and the learning rate has no unit: 1 would be a
step of Newton's method. The rate falls to a tenth, and the last half of the updates is averaged.
"""

import numpy as np
from numpy.typing import NDArray

from herder._validation import generator
from herder.learn import _contrastive_jit as _jit
from herder.learn.fit import Fit
from herder.learn.likelihood import log_odds, row_moments

__all__ = ["fit_cd"]

#: The rate ends at 1 / (1 + DECAY) of its start.
DECAY = 9.0

#: Fewest updates in an epoch: a table with few distinct rows has few batches.
UPDATES = 10

#: Share of the variances of independent columns in the covariance that scales a step: rows may be
#: fewer than columns.
SHRINKAGE = 0.1

#: No parameter moves by more than this in one update; the curvature is that of Gaussian rows, and
#: may be far too small where ones come in bursts.
LONGEST_STEP = 0.5


def fit_cd(
    rows: NDArray[np.uint8],
    weights: NDArray[np.float64],
    *,
    n_steps: int = 1,
    persistent: bool = False,
    n_particles: int = 200,
    learning_rate: float = 0.2,
    n_epochs: int = 50,
    batch_size: int = 200,
    alpha: float = 0.0,
    start: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> Fit:
    """Fit couplings and biases by contrastive divergence.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n) of 0 and 1
        Rows of states, each column with both values.
    weights : ndarray of shape (n_rows,)
        Weights of the rows, with sum 1.
    n_steps : int, default 1
        Sweeps over all sites for each update: the k of CD-k.
    persistent : bool, default False
        Whether chains persist from update to update instead of starting at rows.
    n_particles : int, default 200
        Number of persistent chains.
    learning_rate : float, default 0.2
        Rate of the first update, as a share of a Newton step.
    n_epochs : int, default 50
        Passes over the rows.
    batch_size : int, default 200
        Rows that start chains in one update, drawn by their weights. It also determines how many
        updates make an epoch, at least ``UPDATES``.
    alpha : float
        Weight of the sum of all squared couplings, each pair counted twice.
    start : tuple of couplings and biases, optional
        Where to start; independent sites by default.
    random_state : int, Generator or None, default 0
        Draws the rows of a batch and the chains.

    Returns
    -------
    Fit
        Without an objective and a gradient, which the method only estimates.
    """
    rng = generator(random_state)
    learner = _Learner(rows, weights, start, 4 * alpha)
    n_updates = n_epochs * max(UPDATES, -(-len(rows) // batch_size))
    n_chains = n_particles if persistent else batch_size
    sites = np.tile(np.arange(rows.shape[1]), n_steps)
    states = learner.draw(n_chains, rng)
    target, n_kept = learner.moments, 0
    couplings, centred = np.zeros_like(learner.couplings), np.zeros_like(learner.centred)
    for t in range(n_updates):
        if not persistent:
            states = learner.draw(n_chains, rng)
            target = states.T @ states / n_chains
        learner.run(states, sites, rng)
        rate = learning_rate / (1 + DECAY * t / n_updates)
        learner.step(target - states.T @ states / n_chains, rate)
        if 2 * t >= n_updates - 1:
            couplings += learner.couplings
            centred += learner.centred
            n_kept += 1
    couplings, centred = couplings / n_kept, centred / n_kept
    return Fit(couplings, centred - couplings @ learner.means, n_epochs, True, np.nan, np.nan)


class _Learner:
    """Rows to draw from, the parameters, and steps scaled by the curvature of Gaussian rows."""

    def __init__(
        self,
        rows: NDArray[np.uint8],
        weights: NDArray[np.float64],
        start: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
        strength: float,
    ) -> None:
        self.rows, self.edges, self.strength = rows, np.cumsum(weights), strength
        self.moments = row_moments(rows, weights)
        self.means = self.moments.diagonal().copy()
        covariance = (1 - SHRINKAGE) * (self.moments - np.outer(self.means, self.means))
        np.fill_diagonal(covariance, np.maximum(self.means * (1 - self.means), 1e-12))
        self.values, self.basis = np.linalg.eigh(covariance)
        self.curvature = np.multiply.outer(self.values, self.values) + strength
        # the field of a site is W (x - means) + centred biases
        if start is None:
            self.couplings = np.zeros_like(self.moments)
            self.centred = log_odds(self.means)
        else:
            self.couplings = start[0].astype(np.float64)
            self.centred = start[1] + self.couplings @ self.means

    def draw(self, n_draws: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw rows by weight, at places spread evenly over the weights."""
        places = (rng.random() + np.arange(n_draws)) / n_draws * self.edges[-1]
        chosen = np.searchsorted(self.edges, places, side="right")
        return self.rows[np.minimum(chosen, len(self.rows) - 1)].astype(np.float64)

    def run(
        self, states: NDArray[np.float64], sites: NDArray[np.intp], rng: np.random.Generator
    ) -> None:
        """Move the chains in place."""
        fields = states @ self.couplings + (self.centred - self.couplings @ self.means)
        uniforms = rng.random((len(states), len(sites)))
        _jit.run_chains(states, fields, self.couplings, sites, uniforms)

    def step(self, change: NDArray[np.float64], rate: float) -> None:
        """Move the parameters by a ``change`` of second moments."""
        basis = self.basis
        shift = change.diagonal().copy()
        pull = change - np.outer(shift, self.means) - np.outer(self.means, shift)
        np.fill_diagonal(pull, 0.0)
        pull -= self.strength * self.couplings
        move = rate * (basis @ ((basis.T @ pull @ basis) / self.curvature) @ basis.T)
        move = (move + move.T) / 2
        np.fill_diagonal(move, 0.0)
        push = rate * (basis @ ((basis.T @ shift) / self.values))
        longest = max(np.abs(move).max(), np.abs(push).max())
        shrink = LONGEST_STEP / longest if longest > LONGEST_STEP else 1.0
        self.couplings += shrink * move
        self.centred += shrink * push
