r"""Diagnostics of a run: the cycling condition, the weights' growth, the moment error.

The residuals of T steps sum to :math:`(w_T - w_0) / \eta`, so the moment error is

.. math:: \Bigl\| \bar\phi - \tfrac{1}{T} \sum_t \phi(s_t) \Bigr\|
          = \tfrac{1}{T} \Bigl\| \frac{w_T - w_0}{\eta} \Bigr\| ,

so the weights suffice: bounded weights mean an error of order 1/T, linear growth an error
that stays ([welling2009]_, proposition 1 and section 3). Linear growth has two causes, which
the norm alone cannot distinguish:

- *inconsistent moments*: a direction u with :math:`\langle u, \bar\phi \rangle > \max_x \langle u,
  \phi(x) \rangle` separates the target from every distribution. Only an exact maximum
  certifies it; the gap over :math:`\|u\|` bounds the distance from below.
- *a stuck search*: the maximiser misses states that would satisfy the cycling condition
  :math:`\langle w, \bar\phi - \phi(s) \rangle \le 0`. A better state certifies it, and so does
  knowing that the target is a mean of data rows, one of which always satisfies the condition.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import (
    finite_number,
    flag,
    iterated,
    of_kind,
    positive_int,
    positive_number,
)
from herder.core.dynamics import Step
from herder.core.summary import counted
from herder.core.units import Number, as_numbers, inner, norm

__all__ = [
    "Diagnosis",
    "Growth",
    "Rate",
    "Violations",
    "explain_growth",
    "fit_rate",
    "growth",
    "moment_error",
    "pct_violations",
    "weight_norms",
]

GrowthVerdict: TypeAlias = Literal[
    "bounded", "inconsistent moments", "rounded counts", "stuck search", "undecided"
]

#: Exponent above which growth counts as linear: half-way between 1 and the 1/2 of a random
#: walk, which weights of many features resemble before they fill their bounded region.
LINEAR_EXPONENT = 0.75

#: Relative difference of float scores that is not rounding.
SCORE_TOL = 1e-9


@dataclass(frozen=True, slots=True)
class Violations:
    """How often the perceptron cycling condition failed.

    Attributes
    ----------
    n_steps : int
        Steps that were checked.
    n_violations : int
        Steps with a positive inner product of weights and residual.
    worst : int, float or Fraction
        The largest of these inner products, 0 if none was positive.
    first : int or None
        Index of the first violation, counted from 0.
    """

    n_steps: int
    n_violations: int
    worst: Number
    first: int | None


@dataclass(frozen=True, slots=True)
class Rate:
    """A power law ``error = c t^slope`` fitted by least squares on logarithms."""

    slope: float
    standard_error: float
    n_points: int


@dataclass(frozen=True, slots=True)
class Growth:
    """How the weight norm grows: exponent over the last decade, and whether that is linear."""

    exponent: float
    linear: bool


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why the weights grow, if they do.

    Attributes
    ----------
    verdict : str
        ``"bounded"``, ``"inconsistent moments"``, ``"rounded counts"`` (moments that are
        inconsistent only as far as rounding explains), ``"stuck search"``, or ``"undecided"``
        (they grow, and neither cause is certified).
    reason : str
        What was certified, in a sentence.
    distance : float
        Certified lower bound on the distance of the target from all consistent moments, in
        the units of the target.
    """

    verdict: GrowthVerdict
    reason: str
    distance: float = 0.0


def pct_violations(
    steps: Iterable[Step[Any]] | Iterable[Number], *, tol: float = 0.0
) -> Violations:
    """Count the steps that break the perceptron cycling condition.

    Parameters
    ----------
    steps : iterable of Step or of numbers
        A finite run, or its ``tipi`` values.
    tol : float, default 0.0
        Positive values up to this are taken for rounding.

    Examples
    --------
    >>> pct_violations([-1, 0, 2, -3])
    Violations(n_steps=4, n_violations=1, worst=2, first=2)
    """
    n_steps, n_violations, first = 0, 0, None
    worst: Number = 0
    tol = finite_number(tol, "tol")
    for step in iterated(steps, "steps", "Step or numbers"):
        given: Any = getattr(step, "tipi", step)
        if not isinstance(given, int | float | Fraction | np.number) or given != given:
            raise ParameterTypeError("steps", "be steps or numbers", got=type(step).__name__)
        tipi: Number = getattr(step, "tipi", step)
        if tipi > tol:
            n_violations += 1
            worst = max(worst, tipi)
            first = n_steps if first is None else first
        n_steps += 1
    return Violations(n_steps, n_violations, worst, first)


def weight_norms(steps: Iterable[Step[Any]]) -> NDArray[np.float64]:
    """Return the norm of the weights after each step of a finite run, rescaling undone."""
    kind: Any = Step
    run = (of_kind(step, "steps", kind, "steps") for step in iterated(steps, "steps", "Step"))
    return np.asarray([norm(step.weights) / step.scale for step in run], dtype=np.float64)


def moment_error(
    start: ArrayLike,
    weights: ArrayLike,
    t: int,
    *,
    rates: ArrayLike | None = None,
    scale: float = 1.0,
    total: int = 1,
) -> float:
    """Return the distance of the averaged features from the target, from the weights alone.

    Parameters
    ----------
    start, weights : array-like
        The weights before the first of the steps, and after the last.
    t : int
        Number of steps between them.
    rates : array-like, optional
        The rates of the run.
    scale : float, default 1.0
        Scale of ``weights``, if the run was rescaled since ``start``.
    total : int, default 1
        Units of the weights, see `herder.core.units`.

    Returns
    -------
    float
        Euclidean norm of target minus average.

    Examples
    --------
    >>> moment_error([0, 0], [3, -4], 100)
    0.05
    """
    first = as_numbers(start, "start")
    last = as_numbers(weights, "weights", first.shape)
    steps, scale = positive_int(t, "t"), positive_number(scale, "scale")
    # exact numbers are subtracted exactly: the difference may be far smaller than they are
    gap = np.asarray(last - first if scale == 1.0 else last / scale - first, dtype=np.float64)
    if rates is not None:
        try:
            sizes = as_numbers(rates, "rates").astype(np.float64)
        except OverflowError:
            raise ParameterError("rates", "be below 1e308", got="a larger number") from None
        if sizes.shape not in ((), gap.shape) or not (sizes > 1e-150).all():
            raise ParameterError("rates", f"be above 1e-150, one or {gap.shape}", rates)
        gap = gap / sizes
    return norm(gap) / (steps * positive_int(total, "total"))


def fit_rate(t: ArrayLike, error: ArrayLike) -> Rate:
    """Fit ``error = c t^slope`` by least squares on the logarithms.

    Parameters
    ----------
    t : array-like of shape (n_points,)
        Steps, positive.
    error : array-like of shape (n_points,)
        Errors after them. Zeros are left out: herding may hit the target exactly.

    Returns
    -------
    Rate
        With the standard error of the slope; NaN for two points.

    Examples
    --------
    >>> round(fit_rate([1, 10, 100], [5.0, 0.5, 0.05]).slope, 12)
    -1.0
    """
    steps, errors = _as_path(t, error, "error")
    if (steps <= 0).any():
        raise ParameterError("t", "be positive", steps.min())
    if (errors < 0).any():
        raise ParameterError("error", "be non-negative", errors.min())
    kept = errors > 0
    x, y = np.log(steps[kept]), np.log(errors[kept])
    n_points = len(x)
    if n_points < 2 or np.ptp(x) == 0:
        found = counted(len(np.unique(x)), "such step")
        raise ParameterError("error", "be positive at two different steps at least", got=found)
    dx, dy = x - x.mean(), y - y.mean()
    spread = float(dx @ dx)
    slope = float(dx @ dy) / spread
    rest = dy - slope * dx
    variance = float(rest @ rest) / (n_points - 2) / spread if n_points > 2 else np.nan
    return Rate(slope, float(np.sqrt(variance)), n_points)


def growth(t: ArrayLike, weight_norm: ArrayLike) -> Growth:
    """Decide whether a path of weight norms grows linearly.

    The exponent is fitted over the last decade, t from T / 10 to T, so that the way from the
    start into the bounded region does not count.

    Parameters
    ----------
    t : array-like of shape (n_points,)
        Steps, positive.
    weight_norm : array-like of shape (n_points,)
        Weight norms after them, rescaling undone (see `weight_norms`).

    Returns
    -------
    Growth

    Examples
    --------
    >>> growth([1, 10, 100, 1000], [2.0, 3.0, 2.5, 2.9]).linear
    False
    """
    steps, norms = _as_path(t, weight_norm, "weight_norm")
    last = steps >= steps.max() / 10 if len(steps) else steps > 0
    if not norms[last].any():
        return Growth(0.0, linear=False)
    exponent = fit_rate(steps[last], norms[last]).slope
    return Growth(exponent, linear=exponent > LINEAR_EXPONENT)


def explain_growth(
    found: Growth,
    weights: ArrayLike,
    target: ArrayLike,
    features: ArrayLike,
    *,
    exact: ArrayLike | None = None,
    known: ArrayLike | None = None,
    from_data: bool = False,
) -> Diagnosis:
    """Explain why the weights grow: inconsistent moments, or a search that is stuck.

    Parameters
    ----------
    found : Growth
        The verdict of `growth`.
    weights : array-like
        Late weights of the run; they point in the direction of growth.
    target : array-like
        The moments, in the units of the weights.
    features : array-like
        Features of the state that the run's maximiser returns for ``weights``.
    exact : array-like, optional
        Features of a state of maximal score, from a maximiser that is exact.
    known : array-like, optional
        Features of any other state, such as the best-scoring data row.
    from_data : bool, default False
        Whether the target is known to be a mean of rows, hence consistent.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> explain_growth(Growth(1.0, True), [4, 0], [2, 0], [1, 0], exact=[1, 0]).verdict
    'inconsistent moments'
    """
    of_kind(found, "found", Growth, "a Growth")
    from_data = flag(from_data, "from_data")
    if not found.linear:
        return Diagnosis("bounded", f"the weight norm grows like t^{found.exponent:.2f}")
    w = as_numbers(weights, "weights")
    given = {"exact": exact, "known": known}
    given = {name: x for name, x in given.items() if x is not None}
    given |= {"target": target, "features": features}
    scores = {name: _score(w, x, name) for name, x in given.items()}
    wanted, reached, best = scores["target"], scores["features"], scores.get("exact")
    rounded = w.dtype == np.float64 or any(isinstance(s, float) for s in scores.values())
    slack = SCORE_TOL * max(abs(float(s)) for s in scores.values()) if rounded else 0.0
    if best is not None and wanted > best + slack:
        gap = float(wanted - best)
        reason = f"in the direction of the weights the target scores {gap:.6g} above every state"
        return Diagnosis("inconsistent moments", reason, gap / norm(w))
    better = max(score for name, score in scores.items() if name != "target")
    if better > reached + slack:
        reason = f"the search returned a score {float(better - reached):.6g} below a known state"
        if better < wanted - slack:
            reason += ", which is below the target: the moments may be inconsistent as well"
        return Diagnosis("stuck search", reason)
    if from_data and reached < wanted - slack:
        gap = float(wanted - reached)
        reason = f"the target is a mean of rows, one of which scores {gap:.6g} above the search"
        return Diagnosis("stuck search", reason)
    reason = "neither an exact maximum nor a better state is known"
    if from_data or best is not None:
        reason = "the cycling condition holds at these weights: more steps may decide"
    return Diagnosis("undecided", reason)


def _as_path(
    t: ArrayLike, values: ArrayLike, name: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return steps and the values after them as floats, of one length."""
    steps = as_numbers(t, "t").astype(np.float64)
    if steps.ndim != 1:
        raise ParameterError("t", "be one-dimensional", got=f"shape {steps.shape}")
    return steps, as_numbers(values, name, steps.shape).astype(np.float64)


def _score(weights: NDArray[Any], values: ArrayLike, name: str) -> Number:
    vector = as_numbers(values, name, weights.shape)
    if vector.dtype != weights.dtype:
        return inner(weights.astype(np.float64), vector.astype(np.float64))
    return inner(weights, vector)
