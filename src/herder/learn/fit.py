"""What every method that fits couplings and biases gives."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Fit"]


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters of a field over 0/1 states, and how the search for them ended.

    Parameters
    ----------
    couplings : ndarray of shape (n, n)
        Symmetric, with a zero diagonal.
    biases : ndarray of shape (n,)
        One for each site.
    n_iter : int
        Iterations of the optimiser, or epochs of a stochastic one.
    converged : bool
        Whether the gradient fell below the tolerance; a stochastic method cannot tell, and says
        True when it ran all its epochs.
    gradient_norm : float
        Norm of the gradient at the end divided by that at the start; NaN where there is none.
    objective : float
        The least value of the objective, penalty included; NaN where there is none.
    """

    couplings: NDArray[np.float64]
    biases: NDArray[np.float64]
    n_iter: int
    converged: bool
    gradient_norm: float
    objective: float
