r"""Couplings that are exactly zero, by a penalty on their absolute values.

Each coupling is the difference of two non-negative numbers, :math:`W = W^+ - W^-`, whose sum is
its absolute value at the minimum. The function is then smooth, and L-BFGS-B keeps the bounds: a
coupling is zero where both parts are. Variables are scaled by the curvature at independent sites.
Convergence is judged by the least norm of a subgradient, relative to the gradient at
independent sites.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.learn.newton import ROUNDING, Minimum

__all__ = ["minimise_l1"]

#: Steps that L-BFGS-B remembers.
MEMORY = 20

#: Runs of L-BFGS-B at most.
MAX_RUNS = 20


def minimise_l1(
    problem: Any, theta: NDArray[np.float64], *, weight: float, tol: float, max_iter: int
) -> Minimum:
    """Add ``weight`` times the absolute value of each free coupling, and minimise.

    Parameters
    ----------
    problem : Symmetric or Nodewise
        The smooth part.
    theta : ndarray of shape (n + 1, n)
        Where to start: couplings, and fields as the last line.
    weight : float
        Of each free coupling: all those off the diagonal, or above it if they are symmetric.
    tol : float
        Norm of the subgradient, relative to ``problem.scale``, at which to stop.
    max_iter : int
        Iterations at most.
    """
    from scipy.optimize import minimize

    variances = np.diag(problem.design.covariance)
    n, symmetric = len(variances), problem.sharing == 2
    free: Any = np.triu_indices(n, 1) if symmetric else np.nonzero(~np.eye(n, dtype=bool))
    size = len(free[0])
    # the curvature of a coupling at independent sites: once for each regression it is part of
    scale = 1 / np.sqrt(problem.sharing * variances[free[0]] * variances[free[1]])
    field_scale = 1 / np.sqrt(variances)
    goal = max(tol * problem.scale, ROUNDING)
    norm = np.inf

    def unpack(x: NDArray[np.float64]) -> NDArray[np.float64]:
        here = np.zeros((n + 1, n))
        here[free] = (x[:size] - x[size : 2 * size]) * scale
        if symmetric:
            here[:-1] += here[:-1].T.copy()
        here[-1] = x[2 * size :] * field_scale
        return here

    def function(x: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        nonlocal norm
        here = unpack(x)
        loss, gradient = problem.evaluate(here)
        slopes = gradient[free]
        norm = float(np.linalg.norm(_least(here, gradient, free, weight)))
        value = loss + weight * float((x[:size] + x[size : 2 * size]) @ scale)
        parts = [(slopes + weight) * scale, (weight - slopes) * scale, gradient[-1] * field_scale]
        return value, np.concatenate(parts)

    def stop(intermediate_result: Any) -> None:
        if norm <= goal:
            raise StopIteration

    given = theta[free] / scale
    x = np.concatenate([np.maximum(given, 0), np.maximum(-given, 0), theta[-1] / field_scale])
    lower = np.concatenate([np.zeros(2 * size), np.full(n, -np.inf)])
    bounds = np.column_stack([lower, np.full(len(lower), np.inf)])
    options = {"maxfun": 20 * max_iter, "ftol": 0.0, "gtol": 0.0, "maxcor": MEMORY}
    n_iter, end = 0, theta
    # L-BFGS-B gives up where its estimate of the curvature is poor; a new run starts a new one
    for _ in range(MAX_RUNS):
        options["maxiter"] = max_iter - n_iter
        found = minimize(
            function, x, jac=True, method="L-BFGS-B", bounds=bounds, callback=stop, options=options
        )
        x = found.x
        n_iter += int(found.nit)
        end = unpack(x)
        norm = float(np.linalg.norm(_least(end, problem.evaluate(end)[1], free, weight)))
        if norm <= goal or n_iter >= max_iter:
            break
    relative = norm / problem.scale if problem.scale > 0 else norm
    return Minimum(end, n_iter, norm <= goal, relative)


def _least(
    theta: NDArray[np.float64],
    gradient: NDArray[np.float64],
    free: tuple[NDArray[np.intp], NDArray[np.intp]],
    weight: float,
) -> NDArray[np.float64]:
    """Return the subgradient of least norm: of the free couplings, then of the fields."""
    slopes, couplings = gradient[free], theta[free]
    at_zero = np.sign(slopes) * np.maximum(np.abs(slopes) - weight, 0)
    inner = np.where(couplings != 0, slopes + weight * np.sign(couplings), at_zero)
    return np.concatenate([inner, gradient[-1]])
