r"""Truncated Newton steps for one convex problem, or for many in parallel.

A step d solves :math:`H d = -g` roughly, by conjugate gradients that only multiply by the
Hessian H, with a preconditioner that approximates H. "Roughly" tightens as the gradient
falls, so that convergence is faster than linear [nocedal2006]_. Along d a convex function falls as
long as its slope is negative: a step is taken unless the slope has changed sign and is steeper
than a quarter of what it was, else the secant rule shortens it. Values of the function are not
compared, since their differences would be lost in rounding near the end.

Parameters are an array whose columns may be problems of their own: `Problem.dot` then returns one
number a column, and every column has its own steps.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Minimum", "Problem", "minimise"]

#: Multiplications by the Hessian in one step.
MAX_INNER = 250

#: The residual of the first Newton steps, relative to the gradient, both as the preconditioner
#: measures them. From 0.1 to 0.5 it matters little.
FIRST_ACCURACY = 0.3

#: A slope that has turned may have this share of the old one.
TURNED = 0.25

#: Times that a step is shortened at most.
MAX_SHORTER = 20

#: No parameter moves by more than this in one step. Those without a finite optimum, as of
#: columns that determine one another, then grow step by step until the gradient is small.
LONGEST = 5.0

#: A gradient this much smaller than one unit of moments is rounding.
ROUNDING = 1e-13


class Problem(Protocol):
    """A convex function; its Hessian is that at the latest `evaluate`."""

    def evaluate(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return value and gradient at ``theta``, and remember the Hessian there."""
        ...

    def bend(self, direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply the Hessian by a direction."""
        ...

    def prepare(self) -> None:
        """Make the preconditioner for the Hessian there is."""
        ...

    def precondition(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Divide by an approximation of the Hessian."""
        ...

    def dot(self, a: NDArray[np.float64], b: NDArray[np.float64]) -> Any:
        """Return the scalar product of two directions, or of each pair of columns."""
        ...

    def squares(self, gradient: NDArray[np.float64]) -> Any:
        """Return the squared norm of a gradient by which convergence is judged."""
        ...


@dataclass(frozen=True, eq=False)
class Minimum:
    """The end of the steps.

    Parameters
    ----------
    theta : ndarray
        The parameters.
    n_iter : int
        Newton steps.
    converged : bool
        Whether the gradient is below the tolerance.
    gradient_norm : float
        Of the end, divided by ``scale``.
    """

    theta: NDArray[np.float64]
    n_iter: int
    converged: bool
    gradient_norm: float


def minimise(
    problem: Problem, theta: NDArray[np.float64], *, scale: float, tol: float, max_iter: int
) -> Minimum:
    """Take Newton steps from ``theta`` until the gradient is below ``tol * scale``."""
    goal = max(tol * scale, ROUNDING)
    _, gradient = problem.evaluate(theta)
    n_iter = 0
    while True:
        squares = np.asarray(problem.squares(gradient))
        norm = float(np.sqrt(squares.sum()))
        # columns share the goal, so that all of them together stay below it
        is_done = squares * squares.size <= goal**2
        if norm <= goal or n_iter == max_iter:
            break
        problem.prepare()
        accuracy = min(FIRST_ACCURACY, float(np.sqrt(norm / max(scale, norm))))
        left = np.where(is_done, 0.0, gradient)
        step = _solve(problem, left, accuracy, goal / 3)
        # where the Hessian is nearly singular, only the gradient is sure to be a descent direction
        taken = _shorten(problem, theta, gradient, step) or _shorten(
            problem, theta, gradient, -problem.precondition(left)
        )
        if taken is None:
            break
        theta, gradient = taken
        n_iter += 1
    relative = norm / scale if scale > 0 else norm
    return Minimum(theta, n_iter, norm <= goal, relative)


def _solve(
    problem: Problem, gradient: NDArray[np.float64], accuracy: float, enough: float
) -> NDArray[np.float64]:
    """Solve H d = -g by preconditioned conjugate gradients."""
    step = np.zeros_like(gradient)
    rest = -gradient
    ready = problem.precondition(rest)
    direction = ready
    size = first = np.asarray(problem.dot(rest, ready))
    for _ in range(MAX_INNER):
        bent = problem.bend(direction)
        length = _ratio(size, problem.dot(direction, bent))
        step += length * direction
        rest = rest - length * bent
        ready = problem.precondition(rest)
        before, size = size, np.asarray(problem.dot(rest, ready))
        if (size <= accuracy**2 * first).all():
            break
        left = np.asarray(problem.squares(rest))
        if (left * left.size <= enough**2).all():
            break
        direction = ready + _ratio(size, before) * direction
    return step


def _shorten(
    problem: Problem,
    theta: NDArray[np.float64],
    gradient: NDArray[np.float64],
    step: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Take ``step``, shortened until the function falls; None if rounding hides that it does."""
    slope = np.minimum(problem.dot(gradient, step), 0.0)
    length = np.full_like(slope, LONGEST / max(float(np.abs(step).max()), LONGEST))
    for _ in range(MAX_SHORTER):
        new = theta + length * step
        _, new_gradient = problem.evaluate(new)
        new_slope = np.asarray(problem.dot(new_gradient, step))
        too_far = new_slope > TURNED * -slope
        if not too_far.any():
            return new, new_gradient
        secant = np.clip(_ratio(slope, slope - new_slope), 0.1, 0.9)
        length = np.where(too_far, length * secant, length)
    return None


def _ratio(a: Any, b: Any) -> NDArray[np.float64]:
    """Return a / b, and 0 where b is not above or below 0, as for columns that are done."""
    return np.divide(a, b, out=np.zeros_like(np.asarray(a, float)), where=np.asarray(b) != 0)
