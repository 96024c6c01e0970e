r"""Herds over few states as dynamical systems: the map of the weights, at any temperature.

At temperature T the weights follow the gradient of the tempered log-likelihood,

.. math:: w \leftarrow w + \bar\phi - \sum_x p(x) \phi(x), \qquad
          p(x) \propto e^{\langle w, \phi(x) \rangle / T},

whose derivative is :math:`I - \mathrm{Cov}_p(\phi) / T`. As T goes to 0 the mean becomes the
features of the best state and the map that of `herder.herd` ([chen2014]_, equations 2.5-2.8): a
translation within each of the cones in which one state is the best.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import positive_int, real_array
from herder.core.enumerated import TIE_TOL
from herder.study import _dynamics_jit as _jit

__all__ = ["as_start", "as_system", "fill_box", "itinerary", "orbit"]

Floats = NDArray[np.float64]

#: Moments this far from the means of rows, relative to the largest feature, are rounded ones.
ROUNDING = 1e-8

#: Products of larger numbers, summed up, may be no floats.
LARGEST = 1e100

#: Features are at least and at most this large: products of them stay in range.
SMALLEST, LARGEST = 1e-100, 1e100


def as_system(features: ArrayLike, moments: ArrayLike) -> tuple[Floats, Floats]:
    """Return a table of features and a target that is a mean of its rows."""
    from scipy.optimize import nnls

    table: Floats = np.array(real_array(features, "features"), order="C")
    if table.ndim != 2 or table.size == 0:
        raise ParameterError("features", "have shape (n_states, n_features)", table.shape)
    _require_moderate(table, "features")
    if not (table != table[0]).any():
        raise ParameterError("features", "differ between states", got="equal rows")
    target: Floats = np.array(real_array(moments, "moments"))
    if target.shape != table.shape[1:]:
        raise ParameterError("moments", f"have shape {table.shape[1:]}", target.shape)
    _require_moderate(target, "moments")
    size = float(np.abs(table).max())
    if not SMALLEST < size < LARGEST:
        rule = f"have a largest entry between {SMALLEST:g} and {LARGEST:g}"
        raise ParameterError("features", rule, size)
    sums: Any = np.vstack([table.T / size, np.ones(len(table))])
    apart: float = nnls(sums, np.append(target / size, 1.0))[1]
    if apart > ROUNDING:
        got = f"{target.tolist()}, from which weights grow without bound"
        raise ParameterError("moments", "be a mean of the rows of features", got=got)
    return table, target


def as_start(start: ArrayLike | None, n_features: int) -> Floats:
    """Return weights to start from, zero by default."""
    if start is None:
        return np.zeros(n_features)
    weights = real_array(start, "start").copy()
    if weights.shape != (n_features,):
        raise ParameterError("start", f"have shape ({n_features},)", weights.shape)
    _require_moderate(weights, "start")
    return weights


def _require_moderate(values: Floats, name: str) -> None:
    wrong = ~(np.abs(values) <= LARGEST)
    if wrong.any():
        raise ParameterError(name, f"be finite, up to {LARGEST:g}", float(values[wrong][0]))


def itinerary(
    features: ArrayLike, moments: ArrayLike, n_steps: int, *, start: ArrayLike | None = None
) -> NDArray[np.intp]:
    """Return the states that herding emits.

    Parameters
    ----------
    features : array-like of shape (n_states, n_features)
        One row per state.
    moments : array-like of shape (n_features,)
        A mean of the rows.
    n_steps : int
        Number of states.
    start : array-like of shape (n_features,), optional
        Weights before the first step; zero by default.

    Examples
    --------
    >>> itinerary([[0, 0], [1, 0], [0, 1]], [0.3, 0.2], 10)
    array([0, 1, 2, 0, 1, 0, 2, 1, 0, 0])
    """
    table, target = as_system(features, moments)
    states = np.empty((positive_int(n_steps, "n_steps"), 1), dtype=np.intp)
    starts = as_start(start, len(target))[None]
    _jit.itineraries(table, target, TIE_TOL, starts, states)
    return states[:, 0]


def orbit(
    table: Floats, target: Floats, temperature: float, weights: Floats, n_steps: int
) -> Floats:
    """Return the weights after each of some steps; ``weights`` go on in place."""
    points = np.empty((n_steps, len(target)))
    if temperature:
        _jit.temper(table, target, temperature, weights, points)
    else:
        _jit.herd(table, target, TIE_TOL, weights, points)
    return points


def fill_box(low: Floats, high: Floats, n: int) -> Floats:
    """Return n points that fill a box evenly.

    Multiples of powers of the root of :math:`x^{K+1} = x + 1`, modulo 1: the golden mean for one
    dimension, and what generalises it.
    """
    root = 2.0
    for _ in range(64):  # a contraction: the digits of a float are there after half as many
        root = (1 + root) ** (1 / (len(low) + 1))
    steps = root ** -np.arange(1.0, len(low) + 1)
    return low + (high - low) * ((np.arange(1, n + 1)[:, None] * steps + 0.5) % 1)
