r"""The contrastive form: every data row is maximised, and all of them are the sample.

From each data row :math:`x_n` the maximiser of any system climbs to :math:`s_n`, and

.. math:: w \leftarrow w + \tfrac{1}{n} \sum_n \bigl( \phi(x_n) - \phi(s_n) \bigr)

([chen2014]_, section 3.2). Since :math:`\langle w, \phi(s_n) \rangle \ge \langle w, \phi(x_n)
\rangle` for a search that only climbs, the perceptron cycling condition holds at every step,
however poor the search: there is no way to be stuck. The price is n searches per step. The
average over all n T states reaches the mean of the data at rate 1/T.

Only differences of residuals enter, so the system's own target cancels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import listed
from herder.core.dynamics import HerdingSystem, as_system

__all__ = ["ContrastiveSystem"]

S = TypeVar("S")


class ContrastiveSystem(Generic[S]):
    """Any system, herded from all data rows at once; the state is a tuple of its states.

    Parameters
    ----------
    system : HerdingSystem
        Its ``maximise`` must climb from ``previous``, or at least never end below it.
    rows : sequence of states
        The data, as states of the system.

    Notes
    -----
    With int64 weights the residual is the sum over rows, not the mean, so that it stays an
    integer: weights are then in units of 1 / len(rows) of the system's own. Herding is scale
    free, so the states are the same.

    Examples
    --------
    >>> from herder.core import EnumeratedSystem, herd
    >>> system = EnumeratedSystem([[0, 0], [1, 0], [1, 1]], [0, 0])
    >>> step = next(herd(ContrastiveSystem(system, [0, 1, 1]), [-1, 3]))
    >>> step.state, step.residual
    ((2, 2, 2), array([-1, -3]))
    """

    def __init__(self, system: HerdingSystem[S], rows: Sequence[S]) -> None:
        self.system = as_system(system)
        self.rows = tuple(listed(rows, "rows", "states"))
        if not self.rows:
            raise ParameterError("rows", "hold at least one row", got="none")

    def maximise(self, weights: NDArray[Any], previous: tuple[S, ...] | None) -> tuple[S, ...]:
        """Return where the search ends from each row; the previous states do not matter."""
        return tuple(self.system.maximise(weights, row) for row in self.rows)

    def residual(self, weights: NDArray[Any], state: tuple[S, ...], t: int) -> NDArray[Any]:
        """Return the features of the rows minus those of the states: mean, or sum for int64."""
        total: NDArray[Any] = np.zeros_like(weights)
        for row, found in zip(self.rows, state, strict=True):
            climbed = self.system.residual(weights, found, t)
            total = total + (climbed - self.system.residual(weights, row, t))
        return total if weights.dtype == np.int64 else total / len(self.rows)
