r"""Kernel herding as a herding system: the specification of `kernel_herd`.

The weights are the scores :math:`u_i = \langle w, \phi(x_i) \rangle` of the candidates, the
maximiser takes the highest, and the residual is the target mean minus a row of the Gram matrix.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["KernelSystem"]


@dataclass(frozen=True, eq=False)
class KernelSystem:
    """Herding over rows whose Gram matrix fits in memory.

    Parameters
    ----------
    gram : array of shape (n, n)
        Kernel values of all pairs.
    target : array of shape (n,)
        Kernel mean at every row.
    tie_tol : float
        Scores this close to the highest tie, and the lowest index wins.
    """

    gram: NDArray[np.float64]
    target: NDArray[np.float64]
    tie_tol: float

    def maximise(self, weights: NDArray[Any], previous: int | None) -> int:
        """Return the row of the highest score."""
        return int(np.flatnonzero(weights >= weights.max() - self.tie_tol)[0])

    def residual(self, weights: NDArray[Any], state: int, t: int) -> NDArray[Any]:
        """Return the kernel mean minus the kernel values of the row picked."""
        return self.target - self.gram[state]
