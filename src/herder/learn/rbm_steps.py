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
from scipy.linalg import get_blas_funcs

from herder._errors import ParameterError
from herder.learn import _rbm_jit as _jit
from herder.models.rbm import RBMModel

__all__ = ["RBMSteps"]

#: What the fast weights keep at each update.
FAST_DECAY = 0.95

_GEMM = {np.dtype(kind): get_blas_funcs("gemm", dtype=kind) for kind in (np.float32, np.float64)}


class RBMSteps:
    """A machine that learns batch by batch, in single or double precision.

    Its parameters are one table, [[W, b], [c, 0]]: with a constant 1 beside the sites of a side,
    one product makes all fields, and one adds the moments of rows less those of chains.

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
        Draws the seed of the chains.
    """

    @np.errstate(over="ignore")  # without the compiler; the counter is modulo 2^64
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
        self.n_steps, self.momentum, self.l2, self.fast_rate = n_steps, momentum, l2, fast_rate
        self.rng, self.counter = rng, rng.integers(2**64, size=1, dtype=np.uint64)
        self.gap, self.persistent = float(states[1] - states[0]), n_chains > 0
        self.const = _jit.numbers(states[0], self.gap, parameters.dtype)
        self.visible = self.means = np.empty((0, 0), parameters.dtype)
        self.hidden = np.full((n_chains, parameters.shape[1]), 0.5, parameters.dtype)
        _jit.draw(self.hidden, self.counter, self.const, self.hidden)

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
        self._reserve(len(batch))
        self.visible[: len(batch), :-1] = batch
        table = self.parameters
        tables = table, table if self.fast is None else table + self.fast
        sides = self.visible, self.means, self.hidden
        how = self.n_steps, self.persistent, self.const
        _jit.moments(*sides, *tables, self.counter, *how)
        self._move(rate / self.gap**2)
        if self.fast is not None:
            self.fast *= FAST_DECAY
            _add_product(self.fast, self.visible, self.means, self.fast_rate / self.gap**2)

    def _reserve(self, n_rows: int) -> None:
        """Make room for the states of a batch and its chains."""
        n_chains = len(self.hidden) if self.persistent else n_rows
        if len(self.visible) != n_rows + n_chains:
            n_visible, n_hidden = self.parameters.shape
            self.visible = np.ones((n_rows + n_chains, n_visible), self.parameters.dtype)
            self.means = np.empty((n_rows + n_chains, n_hidden), self.parameters.dtype)
        if len(self.hidden) != n_chains:
            self.hidden = np.empty((n_chains, self.parameters.shape[1]), self.parameters.dtype)

    def _move(self, rate: float) -> None:
        """Take a step along the difference of moments; only couplings decay."""
        step = self.parameters
        if self.momentum:
            step = self.speed
            step *= self.momentum
        if self.l2:
            step[:-1, :-1] -= rate * self.l2 * self.parameters[:-1, :-1]
        _add_product(step, self.visible, self.means, rate)
        if self.momentum:
            self.parameters += step
        self.parameters[-1, -1] = 0  # moves by rounding only


def _add_product(
    table: NDArray[Any], left: NDArray[Any], right: NDArray[Any], factor: float
) -> None:
    """Add ``factor * left.T @ right`` to a table in place, all of them in C order."""
    gemm: Any = _GEMM[table.dtype]
    gemm(factor, right.T, left.T, beta=1, c=table.T, trans_b=True, overwrite_c=True)
