r"""The loop that everything else in the library is tested against.

A herd is two functions, *maximise* and *residual*:

.. math::

    s_t = \arg\max_x \langle w, \phi(x) \rangle, \qquad
    w \leftarrow w + \eta \, (\bar\phi - \phi(s_t)).

The residual :math:`v_t = \bar\phi - \phi(s_t)` may be anything as long as, at every step,

.. math:: \langle w, v_t \rangle \le 0

with :math:`v_t` from a finite set (or, for an exact maximiser, a bounded one). Then w stays
bounded (perceptron cycling theorem, [block1970]_), and since the residuals sum to
:math:`w_T - w_0`, averages of :math:`\phi(s_t)` reach the target at rate 1/T ([welling2009]_,
proposition 1; [chen2014]_, section 3.1). With an exact maximiser the inner product is the
Tipi function :math:`\ell_0(w) = \langle w, \bar\phi \rangle - \max_x \langle w, \phi(x)
\rangle`, which is never positive for consistent moments.

With rates that differ between features the same argument holds for the norm
:math:`\sum_k w_k^2 / \eta_k`: the moments are still reached, by other states ([chen2014]_,
2.3.2). The rates are kept out of the residual, so that the inequality above and the moment
error keep their meaning.

If the moments are inconsistent, w grows linearly. With ``max_norm`` the loop halves w and the
size of its own steps together. Both are multiplied by a power of two, so the states are those
of the unscaled loop, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import non_negative_int, positive_number
from herder.core.units import Number, as_numbers, inner, largest, norm

__all__ = ["HerdingSystem", "Step", "as_system", "herd"]

S = TypeVar("S")

#: Weights beyond this are refused in int64, long before they could wrap.
_LIMIT = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Step(Generic[S]):
    """One step of a herd, after its update.

    Attributes
    ----------
    t : int
        Steps done, this one included.
    state : object
        What the maximiser returned, s_t.
    weights : array
        The weights after the update.
    residual : array
        Target minus features of the state; rates and scale are not in it.
    tipi : int, float or Fraction
        Inner product of the weights *before* the update with the residual. The perceptron
        cycling condition is ``tipi <= 0``.
    scale : float
        Factor by which weights and step size have been shrunk so far, a power of two.
    """

    t: int
    state: S
    weights: NDArray[Any]
    residual: NDArray[Any]
    tipi: Number
    scale: float = 1.0


class HerdingSystem(Protocol[S]):
    """What a family of herds supplies. Neither method may change its arguments."""

    def maximise(self, weights: NDArray[Any], previous: S | None) -> S:
        """Return a state of (nearly) maximal score; a local search may start at ``previous``."""
        ...

    def residual(self, weights: NDArray[Any], state: S, t: int) -> NDArray[Any]:
        """Return target minus features, like ``weights``; ``t`` steps were done before."""
        ...


def as_system(system: Any) -> Any:
    """Return the system if it has the two methods of a `HerdingSystem`."""
    if not all(callable(getattr(system, name, None)) for name in ("maximise", "residual")):
        rule = "have the methods maximise and residual"
        raise ParameterTypeError("system", rule, got=type(system).__name__)
    return system


def herd(
    system: HerdingSystem[S],
    weights: ArrayLike,
    *,
    rates: ArrayLike | None = None,
    state: S | None = None,
    t: int = 0,
    scale: float = 1.0,
    max_norm: float | None = None,
) -> Iterator[Step[S]]:
    """Yield steps for ever; the caller decides when to stop.

    Parameters
    ----------
    system : HerdingSystem
        Supplies ``maximise`` and ``residual``.
    weights : array-like
        Initial weights. Their number type is that of the run: int64, float64, or object arrays
        of fractions; residuals must have the same type and shape.
    rates : array-like, optional
        Positive step size per feature, or one for all; integers if the weights are int64.
    state : object, optional
        The state before the first step, for maximisers that start from the last one.
    t : int, default 0
        Steps done before.
    scale : float, default 1.0
        Scale of ``weights``, from an earlier step that was rescaled.
    max_norm : float, optional
        While the weights are longer than this, halve them and the scale. For float64 only.

    Returns
    -------
    iterator of Step
        ``herd(system, step.weights, state=step.state, t=step.t, scale=step.scale)``, with the
        same rates and ``max_norm``, continues after ``step``: n then m steps are n + m steps.

    Examples
    --------
    >>> from itertools import islice
    >>> from herder.core import EnumeratedSystem
    >>> system = EnumeratedSystem([[1, 0, 0], [0, 1, 0], [0, 0, 1]], counts=[3, 2, 1])
    >>> [step.state for step in islice(herd(system, [0, 0, 0]), 6)]
    [0, 1, 2, 0, 1, 0]
    """
    system = as_system(system)
    start = as_numbers(weights, "weights")
    if start.ndim == 0 or start.size == 0:
        raise ParameterError("weights", "have at least one entry", got=f"shape {start.shape}")
    if start.dtype == np.int64 and largest(start) > _LIMIT:
        raise ParameterError("weights", "stay below 2**62 in int64", largest(start))
    if start.dtype == np.float64 and np.abs(start).max() > 1e150:  # or squares are no floats
        raise ParameterError("weights", "stay below 1e150", np.abs(start).max())
    steps_done = non_negative_int(t, "t")
    scale = positive_number(scale, "scale")
    if max_norm is not None:
        max_norm = positive_number(max_norm, "max_norm")
    if start.dtype != np.float64 and (max_norm is not None or scale != 1.0):
        name, rule = ("scale", "be 1") if max_norm is None else ("max_norm", "be None")
        raise ParameterError(name, f"{rule} unless weights are float64", got=str(start.dtype))
    step_size = None if rates is None else _as_rates(rates, start)
    return _steps(system, start, step_size, state, steps_done, scale, max_norm)


def _steps(
    system: HerdingSystem[S],
    weights: NDArray[Any],
    rates: NDArray[Any] | None,
    state: S | None,
    t: int,
    scale: float,
    max_norm: float | None,
) -> Iterator[Step[S]]:
    while True:
        state = system.maximise(weights, state)
        residual = _like(system.residual(weights, state, t), weights)
        tipi = inner(weights, residual)
        weights = _moved(weights, residual, rates, scale)
        while max_norm is not None and norm(weights) > max_norm:
            weights, scale = weights / 2, scale / 2
        t += 1
        yield Step(t, state, weights, residual, tipi, scale)


def _moved(
    weights: NDArray[Any], residual: NDArray[Any], rates: NDArray[Any] | None, scale: float
) -> NDArray[Any]:
    """Return weights + scale * rates * residual in the number type of the weights."""
    if weights.dtype == np.int64:
        factor = 1 if rates is None else largest(rates)
        if largest(weights) + factor * largest(residual) > _LIMIT:
            raise OverflowError(
                "weights must stay below 2**62 in int64; they grow when moments are "
                "inconsistent: use float64 with max_norm, or object arrays of Python integers"
            )
    change = residual if rates is None else rates * residual
    # scale is 1 for exact types, and a product with a float would leave them
    return weights + (change if scale == 1.0 else scale * change)


def _like(residual: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
    given: NDArray[Any] = np.asarray(residual)
    if given.dtype != weights.dtype:
        found = f"{given.dtype}; start from weights of the number type of the system's target"
        raise ParameterTypeError("residual", f"be {weights.dtype} like the weights", got=found)
    return as_numbers(given, "residual", weights.shape)


def _as_rates(rates: ArrayLike, weights: NDArray[Any]) -> NDArray[Any]:
    given = as_numbers(rates, "rates")
    if given.ndim and given.shape != weights.shape:
        raise ParameterError("rates", f"be a scalar or {weights.shape}", given.shape)
    if given.dtype not in (np.int64, weights.dtype):
        rule = f"be integers or {weights.dtype} like the weights"
        raise ParameterTypeError("rates", rule, got=str(given.dtype))
    if not (given > 0).all():
        raise ParameterError("rates", "be positive", given.min())
    return np.broadcast_to(given.astype(weights.dtype), weights.shape)
