r"""The laws of the loop, to be run on anyone's system.

For every `HerdingSystem`, whatever it maximises:

- *inputs untouched*: neither method changes its arguments, at once or later;
- *determinism*: the same weights, previous state and t yield the same answer;
- *shape and dtype*: the residual is like the weights, and finite;
- *sum of residuals*: :math:`w_T = w_0 + \eta \sum_t v_t` at every T, exactly;
- *moment error*: :math:`\| \tfrac{1}{T} \sum_t v_t \| \le (\|w_T\| + \|w_0\|) / T` in units of the
  rates;
- *resume*: n then m steps are n + m steps.

And if the maximiser is exact and the moments are consistent:

- *perceptron cycling*: :math:`\langle w, v_t \rangle \le 0` at every step.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._validation import finite_number, flag, positive_int
from herder.core.diagnostics import Violations, moment_error, pct_violations
from herder.core.dynamics import HerdingSystem, Step, as_system, herd
from herder.core.units import as_numbers, norm

__all__ = ["SystemReport", "check_system"]

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class SystemReport:
    """Statistics of a run of `check_system`.

    Attributes
    ----------
    n_steps : int
        Length of the run.
    violations : Violations
        Steps that broke the perceptron cycling condition.
    largest_norm : float
        Largest weight norm on the way.
    moment_error : float
        Distance of the average features from the target after the run, in units of the weights.
    """

    n_steps: int
    violations: Violations
    largest_norm: float
    moment_error: float


def check_system(
    system: HerdingSystem[Any],
    weights: ArrayLike,
    *,
    exact: bool,
    n_steps: int = 200,
    rates: ArrayLike | None = None,
    tol: float = 1e-7,
) -> SystemReport:
    """Run a system and raise an error that names the first law it breaks.

    Parameters
    ----------
    system : HerdingSystem
        The system to check. Each of its methods is called twice per step.
    weights : array-like
        Where to start.
    exact : bool
        Whether the maximiser is exact and the moments are consistent. If so, the perceptron
        cycling condition is demanded at every step; if not, violations are only reported.
    n_steps : int, default 200
        Length of the run.
    rates : array-like, optional
        Rates to run with, see `herder.core.herd`.
    tol : float, default 1e-7
        Share of ``|weights| |residual|`` that a float inner product may be positive by, for
        tied scores and rounding. Exact numbers have no tolerance.

    Returns
    -------
    SystemReport

    Raises
    ------
    AssertionError
        If a law is broken; the text begins with its name.

    Examples
    --------
    >>> from herder.core import EnumeratedSystem
    >>> system = EnumeratedSystem([[0, 0], [1, 0], [1, 1]], counts=[5, 3, 2])
    >>> check_system(system, [0, 0], exact=True).violations.n_violations
    0
    """
    n = positive_int(n_steps, "n_steps")
    start = as_numbers(weights, "weights")
    guarded = _Guarded(as_system(system))
    exact, tol = flag(exact, "exact"), finite_number(tol, "tol")
    steps = list(islice(herd(guarded, start, rates=rates), n))
    recorded = [copy.deepcopy(step.state) for step in steps]
    _check_sums(start, steps, rates)
    violations = _check_cycling(start, steps, exact=exact, tol=tol)
    error = _check_moment_error(start, steps, rates)
    _check_resume(guarded, steps, recorded, rates)
    return SystemReport(n, violations, max(norm(step.weights) for step in steps), error)


class _Guarded(Generic[S]):
    """The system, with each call checked."""

    def __init__(self, system: HerdingSystem[S]) -> None:
        self.system = system

    def maximise(self, weights: NDArray[Any], previous: S | None) -> S:
        w, before = weights.copy(), copy.deepcopy(previous)
        state = self.system.maximise(weights, previous)
        found = copy.deepcopy(state)
        _demand(_same(w, weights), "inputs untouched", "maximise changed the weights")
        _demand(_same(before, previous), "inputs untouched", "maximise changed the previous state")
        again = self.system.maximise(w, before)
        text = f"maximise returned {found!r}, and then {again!r}"
        _demand(_same(found, again), "determinism", text)
        return found

    def residual(self, weights: NDArray[Any], state: S, t: int) -> NDArray[Any]:
        w, before = weights.copy(), copy.deepcopy(state)
        residual = np.array(self.system.residual(weights, state, t))
        _demand(_same(w, weights), "inputs untouched", "residual changed the weights")
        _demand(_same(before, state), "inputs untouched", "residual changed the state")
        wanted, got = (f"{array.dtype} of shape {array.shape}" for array in (w, residual))
        _demand(wanted == got, "shape and dtype", f"residual must be {wanted}, got {got}")
        if w.dtype == np.float64:
            _demand(bool(np.isfinite(residual).all()), "shape and dtype", "residual is not finite")
        again = np.asarray(self.system.residual(w, before, t))
        text = f"residual returned {residual!r}, and then {again!r}"
        _demand(_same(residual, again), "determinism", text)
        return residual


def _check_sums(start: NDArray[Any], steps: Sequence[Step[Any]], rates: ArrayLike | None) -> None:
    # the same operations in the same order: equal also in floating point
    expected = start
    for step in steps:
        change = step.residual if rates is None else np.asarray(rates) * step.residual
        expected = expected + change
        text = (
            f"start plus the residuals of {step.t} steps is {expected!r}, "
            f"but the weights are {step.weights!r}; was an array kept and changed later?"
        )
        _demand(_same(expected, step.weights), "sum of residuals", text)


def _check_cycling(
    start: NDArray[Any], steps: Sequence[Step[Any]], *, exact: bool, tol: float
) -> Violations:
    excess: list[Any] = []
    before = start
    for step in steps:
        floating = start.dtype == np.float64
        slack = tol * norm(before) * norm(step.residual) if floating else 0
        excess.append(step.tipi if step.tipi > slack else min(step.tipi, 0))
        before = step.weights
    violations = pct_violations(excess)
    if exact and violations.first is not None:
        raise AssertionError(
            f"perceptron cycling: <weights, residual> must be at most 0, got "
            f"{excess[violations.first]} at step {violations.first + 1}; either the maximiser "
            "is not exact, or the moments are inconsistent"
        )
    return violations


def _check_moment_error(
    start: NDArray[Any], steps: Sequence[Step[Any]], rates: ArrayLike | None
) -> float:
    n, last = len(steps), steps[-1].weights
    error = moment_error(start, last, n, rates=rates)
    zero = np.zeros_like(start)
    bound = moment_error(zero, last, n, rates=rates) + moment_error(zero, start, n, rates=rates)
    average = norm(np.mean([step.residual.astype(np.float64) for step in steps], axis=0))
    # rounding of n additions of numbers of this size
    size = max(moment_error(zero, step.weights, 1, rates=rates) for step in steps)
    slack = 1e-15 * n * (size + max(norm(step.residual) for step in steps))
    text = f"the average residual has norm {average}, by the weights {error}, at most {bound}"
    _demand(average <= bound + slack and abs(average - error) <= slack, "moment error", text)
    return error


def _check_resume(
    system: HerdingSystem[Any],
    steps: Sequence[Step[Any]],
    recorded: Sequence[Any],
    rates: ArrayLike | None,
) -> None:
    middle = len(steps) // 2
    if middle == 0:
        return
    stop, state = steps[middle - 1], copy.deepcopy(recorded[middle - 1])
    rest = herd(system, stop.weights, rates=rates, state=state, t=stop.t)
    for step, kept, again in zip(steps[middle:], recorded[middle:], rest, strict=False):
        _demand(
            _same(kept, again.state) and _same(step.weights, again.weights),
            "resume",
            f"step {step.t} returned state {kept!r}, and {again.state!r} when resumed after "
            f"{middle} steps; does the system remember more than weights, state and t?",
        )


def _demand(holds: bool, law: str, text: str) -> None:
    if not holds:
        raise AssertionError(f"{law}: {text}")


def _same(a: Any, b: Any) -> bool:
    """Return whether two states are equal, also those made of arrays."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
    if is_dataclass(a) and type(a) is type(b):
        return all(_same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b)
