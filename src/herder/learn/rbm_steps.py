r"""Stochastic gradients of the likelihood of a restricted Boltzmann machine.

The gradient with respect to the couplings is a difference of two averages,

.. math:: \Delta W = \langle v \, E[h \mid v]^T \rangle_{\text{rows}}
                   - \langle v \, E[h \mid v]^T \rangle_{\text{model}} ,

and those of the model come from chains of block Gibbs sampling: chains that start at the rows and
make k sweeps (CD-k [hinton2002]_), or chains that persist from update to update (PCD
[tieleman2008]_). With fast weights [tieleman2009]_ the persistent chains run at
:math:`W + W_{\text{fast}}`, where the fast weights learn at a rate of their own and decay by 1/20
at each update: they push the chains out of the modes that they have visited for too long.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.learn import _rbm_jit as _jit
from herder.models.rbm import RBMModel

__all__ = ["RBMSteps"]

#: What the fast weights keep at each update.
FAST_DECAY = 0.95


class RBMSteps:
    """A machine that learns batch by batch, in single or double precision.

    Its parameters are one table, [[W, b], [c, 0]]: with a constant 1 beside the sites of a side,
    one product makes all fields, and one all moments.

    Parameters
    ----------
    parameters : ndarray of shape (n_visible + 1, n_hidden + 1)
        Where they start; their dtype is that of all arithmetic.
    states : (0, 1) or (-1, 1)
        Values of a site.
    n_steps : int
        Sweeps of the chains for each update.
    n_chains : int
        Persistent chains; 0 for chains that start at the rows.
    momentum, l2, fast_rate : float
        Share of the last step that is repeated; weight of the squared couplings; rate of the fast
        weights, 0 for none.
    rng : Generator
        Draws the chains.
    """

    def __init__(
        self,
        parameters: NDArray[Any],
        states: tuple[int, int],
        *,
        n_steps: int,
        n_chains: int,
        momentum: float,
        l2: float,
        fast_rate: float,
        rng: np.random.Generator,
    ) -> None:
        self.parameters, self.speed = parameters, np.zeros_like(parameters)
        self.fast = np.zeros_like(parameters) if fast_rate else None
        self.low, self.gap = float(states[0]), float(states[1] - states[0])
        self.n_steps, self.momentum, self.l2, self.fast_rate = n_steps, momentum, l2, fast_rate
        self.rng = rng
        self.hidden = self._draw(np.zeros((n_chains, parameters.shape[1]), parameters.dtype))

    def model(self, states: tuple[int, int]) -> RBMModel:
        """Return the machine as it is now, unless its parameters have diverged."""
        table = self.parameters.astype(np.float64)
        if not np.isfinite(table).all():
            rule = "be small enough that parameters stay finite, as must l2 and fast_rate"
            raise ParameterError("learning_rate", rule)
        return RBMModel(table[:-1, :-1], table[:-1, -1], table[-1, :-1], states)

    @np.errstate(over="ignore", invalid="ignore")  # `model` refuses what has diverged
    def learn(self, batch: NDArray[Any], rate: float) -> None:
        """Take one step for a batch of rows, in the states of the machine.

        Couplings of -1/+1 are a quarter of those of 0/1, so their rate is a quarter too.
        """
        table, rate = self.parameters, rate / self.gap**2
        rows = np.ones((len(batch), len(table)), table.dtype)
        rows[:, :-1] = batch
        fields = rows @ table
        data = rows.T @ self._expect(fields)
        if self.fast is not None:
            table = table + self.fast
        persistent = len(self.hidden) > 0
        hidden = self.hidden if persistent else self._draw(fields)
        visible = self._draw(hidden @ table.T)
        for _ in range(self.n_steps - 1):
            visible = self._draw(self._draw(visible @ table) @ table.T)
        fields = visible @ table
        if persistent:
            self.hidden = self._draw(fields)
        model = visible.T @ self._expect(fields)
        sizes = len(rows), len(visible)
        _jit.move(self.parameters, self.speed, data, model, *sizes, rate, self.momentum, self.l2)
        if self.fast is not None:
            self.fast *= FAST_DECAY
            self.fast += self.fast_rate / self.gap**2 * (data / sizes[0] - model / sizes[1])

    def _expect(self, fields: NDArray[Any]) -> NDArray[Any]:
        means = np.empty_like(fields)
        _jit.expect(fields, self.low, self.gap, means)
        return means

    def _draw(self, fields: NDArray[Any]) -> NDArray[Any]:
        states = np.empty_like(fields)
        shape = fields.shape[0], fields.shape[1] - 1
        uniforms = self.rng.random(shape, dtype=fields.dtype.type)
        _jit.draw(fields, self.low, self.gap, uniforms, states)
        return states
