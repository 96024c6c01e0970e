r"""Herds over few states: a table of features, mini-batches of it, and a single neuron.

For states that can be listed, the maximiser is the largest entry of :math:`\Phi w`, where row
x of :math:`\Phi` is :math:`\phi(x)`. It is exact, so the Tipi function

.. math:: \ell_0(w) = \langle w, \bar\phi \rangle - \max_x \langle w, \phi(x) \rangle

is at hand: concave, scale free, and non-positive when the target is a mean of rows
([welling2009]_, section 3).

With mini-batches the target at step t is the mean over a block of data rows. Blocks follow each
other around the table, so that every row comes equally often: the averages then reach the
mean of all rows at rate 1/T ([chen2014]_, section 3.2).

One neuron with firing rate :math:`\pi` fires when :math:`w > 0`, and then
:math:`w \leftarrow w + \pi - s`. Its weight stays in :math:`(\pi - 1, \pi]`; started at
:math:`\pi - 1/2` the number of spikes is never off by more than 1/2 ([chen2014]_,
corollary 2.6), and for the golden mean it traces the rabbit sequence.

We depart from the papers in one point: scores within a tolerance tie, and the lowest index
wins, so that rounding never decides. A float state may thus score less than the best by
``tie_tol`` times the largest absolute score.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import positive_int
from herder.core.dynamics import HerdingSystem
from herder.core.units import Number, Units, as_numbers, inner, largest

__all__ = ["EnumeratedSystem", "MiniBatches", "NeuronSystem"]

S = TypeVar("S")

#: Scores this close, relative to the largest absolute score, tie: far above rounding error.
TIE_TOL = 1e-9


class EnumeratedSystem:
    """A herd over the rows of a feature table; the state is the index of a row.

    Parameters
    ----------
    features : array-like of shape (n_states, n_features)
        One row per state.
    target : array-like of shape (n_features,), optional
        The moments to reach. Exactly one of ``target``, ``probabilities`` and ``counts``.
    probabilities : array-like of shape (n_states,), optional
        Distribution over the states whose mean features are the target. Fractions stay exact.
    counts : array-like of int of shape (n_states,), optional
        How often each state was seen. Integer features then run in exact units of
        1 / ``counts.sum()``.
    total : int, default 1
        With an integer ``target``: the target is a sum over this many rows, n of n / total.
    tie_tol : float, default 1e-9
        Float scores this close, relative to the largest, tie: the lowest index wins. Exact
        scores tie when they are equal.

    Attributes
    ----------
    features, target : arrays
        In units: exact features are multiplied by the total.
    units : Units
        The total, and whether the numbers are exact.

    Examples
    --------
    >>> system = EnumeratedSystem([[0, 0], [1, 0], [1, 1]], counts=[5, 3, 2])
    >>> system.target, system.units
    (array([5, 2]), Units(total=10, exact=True))
    >>> system.tipi(np.array([1, 1]))
    -13
    """

    def __init__(
        self,
        features: ArrayLike,
        target: ArrayLike | None = None,
        *,
        probabilities: ArrayLike | None = None,
        counts: ArrayLike | None = None,
        total: int = 1,
        tie_tol: float = TIE_TOL,
    ) -> None:
        table = as_numbers(features, "features")
        if table.ndim != 2 or table.size == 0:
            raise ParameterError("features", "have shape (n_states, n_features)", table.shape)
        if sum(given is not None for given in (target, probabilities, counts)) != 1:
            raise ValueError("exactly one of target, probabilities and counts must be given")
        if total != 1 and target is None:
            raise ParameterError("total", "be left out unless target is given")
        total = positive_int(total, "total")
        if not tie_tol >= 0:
            raise ParameterError("tie_tol", "be non-negative", tie_tol)
        if counts is not None:
            moments, total = _from_counts(counts, table)
        elif probabilities is not None:
            moments = _from_probabilities(probabilities, table)
        else:
            given: Any = target
            moments = as_numbers(given, "target", table.shape[1:])
        kinds = (table.dtype, moments.dtype)
        dtype = next(np.dtype(k) for k in (np.float64, np.object_, np.int64) if k in kinds)
        self.units = Units(total, exact=dtype != np.float64)
        if total != 1 and not self.units.exact:
            raise ParameterTypeError("total", "be left out unless features and target are exact")
        # Python integers in object arrays, which never wrap
        self.features: NDArray[Any] = _times(table, total).astype(dtype)
        self.target: NDArray[Any] = moments.astype(dtype)
        self.tie_tol = tie_tol
        self._row_bound = largest(self.features) * table.shape[1] if dtype == np.int64 else 0

    def scores(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Return the inner product of the weights with every row; integers never wrap."""
        if weights.shape != self.target.shape:
            raise ParameterError("weights", f"have shape {self.target.shape}", weights.shape)
        if weights.dtype != self.target.dtype:
            raise ParameterTypeError("weights", f"be {self.target.dtype}", got=str(weights.dtype))
        if self.features.dtype == np.float64:
            # einsum and not BLAS: the same bits at any number of threads
            return np.einsum("ij,j->i", self.features, weights)
        if self.features.dtype == np.int64 and largest(weights) * self._row_bound < 2**62:
            return np.asarray(self.features @ weights)
        scores = np.empty(len(self.features), dtype=object)
        for i, row in enumerate(self.features):
            scores[i] = inner(row, weights)
        return scores

    def maximise(self, weights: NDArray[Any], previous: int | None) -> int:
        """Return the index of the best row, the lowest of those that tie."""
        scores = self.scores(weights)
        slack = self.tie_tol * np.abs(scores).max() if scores.dtype == np.float64 else 0
        return int(np.argmax(scores >= scores.max() - slack))

    def residual(self, weights: NDArray[Any], state: int, t: int) -> NDArray[Any]:
        """Return the target minus the row of the state."""
        return self.target - self.features[state]

    def tipi(self, weights: ArrayLike) -> Number:
        """Return the Tipi function, non-positive everywhere if the moments are consistent.

        Parameters
        ----------
        weights : array-like of shape (n_features,)
            Of the number type of ``target``.

        Returns
        -------
        int, float or Fraction
        """
        at = as_numbers(weights, "weights")
        return inner(at, self.target) - max(self.scores(at).tolist())


class MiniBatches(Generic[S]):
    """Any system, with the means of blocks of data rows in turn as its target.

    The block at step t holds rows t d, ..., t d + d - 1, counted around the table: n / gcd(n, d)
    steps use every row equally often, so that the average target over such a cycle is the
    system's own. Rows come in the order given; shuffle them before if their order means
    something.

    Parameters
    ----------
    system : HerdingSystem
        The system to herd. Its target should be the mean of all rows.
    rows : array-like of shape (n_rows, ...)
        Features of the data rows; ``rows[i]`` is shaped like the weights.
    batch_size : int
        Rows per block, d. One row per step is allowed.
    total : int, default 1
        Units of the system: its numbers are multiplied by this. For exact systems
        ``total * rows.sum(0)`` must be divisible by the number of rows, and ``total`` times
        each block's sum by ``batch_size``.

    Examples
    --------
    >>> rows = np.eye(4, dtype=int)
    >>> system = EnumeratedSystem(rows, counts=[1, 1, 1, 1])
    >>> batches = MiniBatches(system, rows, batch_size=2, total=4)
    >>> batches.target(0), batches.target(1)
    (array([2, 2, 0, 0]), array([0, 0, 2, 2]))
    """

    def __init__(
        self, system: HerdingSystem[S], rows: ArrayLike, *, batch_size: int, total: int = 1
    ) -> None:
        table = as_numbers(rows, "rows")
        if table.ndim < 2 or table.size == 0:
            raise ParameterError("rows", "have shape (n_rows, n_features)", table.shape)
        if positive_int(batch_size, "batch_size") > len(table):
            raise ParameterError("batch_size", f"be at most {len(table)}", batch_size)
        self.system = system
        self.rows = _times(table, positive_int(total, "total"))
        self.batch_size = int(batch_size)
        self._mean = _mean(self.rows)

    def target(self, t: int) -> NDArray[Any]:
        """Return the mean of the block of step t, in units."""
        block = (t * self.batch_size + np.arange(self.batch_size)) % len(self.rows)
        return _mean(self.rows[block])

    def maximise(self, weights: NDArray[Any], previous: S | None) -> S:
        """Return the state of the system: it does not depend on the target."""
        return self.system.maximise(weights, previous)

    def residual(self, weights: NDArray[Any], state: S, t: int) -> NDArray[Any]:
        """Return the system's residual, moved from the mean of all rows to that of the block."""
        return self.system.residual(weights, state, t) + (self.target(t) - self._mean)


class NeuronSystem:
    """One neuron: it fires (state 1) when its weight is positive.

    Parameters
    ----------
    rate : int, float or Fraction
        Firing rate, between 0 and ``total``.
    total : int, default 1
        Units per spike: the rate is ``rate / total``.

    Examples
    --------
    >>> from itertools import islice
    >>> from herder.core import herd
    >>> neuron = NeuronSystem(5, total=8)
    >>> [step.state for step in islice(herd(neuron, neuron.start()), 8)]
    [1, 0, 1, 0, 1, 1, 0, 1]
    """

    def __init__(self, rate: Number, *, total: int = 1) -> None:
        entry: Any = np.asarray([rate])
        self._target = as_numbers(entry, "rate")
        self.total = positive_int(total, "total")
        if not 0 <= rate <= total:
            raise ParameterError("rate", f"be between 0 and {total}", rate)
        self.rate = rate

    def start(self) -> NDArray[Any]:
        """Return the weight rate - 1/2, from which the count is never off by more than 1/2.

        In integer units one half is rounded down; the bound holds all the same, since the
        weights are integers in (rate - total, rate].
        """
        halves = {"i": self.total // 2, "f": self.total / 2, "O": Fraction(self.total, 2)}
        return self._target - halves[self._target.dtype.kind]

    def maximise(self, weights: NDArray[Any], previous: int | None) -> int:
        """Return 1 if the weight is positive, else 0."""
        return int(weights[0] > 0)

    def residual(self, weights: NDArray[Any], state: int, t: int) -> NDArray[Any]:
        """Return rate minus state, in units."""
        return self._target - self.total * state


def _as_distribution(values: ArrayLike, name: str, n_states: int) -> NDArray[Any]:
    given = as_numbers(values, name, (n_states,))
    if (given < 0).any():
        raise ParameterError(name, "be non-negative", given.min())
    if not given.any():
        raise ParameterError(name, "not be all zero")
    return given


def _from_counts(counts: ArrayLike, table: NDArray[Any]) -> tuple[NDArray[Any], int]:
    seen = _as_distribution(counts, "counts", len(table))
    if seen.dtype != np.int64:
        raise ParameterTypeError("counts", "be integers", got=str(seen.dtype))
    total, sums = int(seen.sum()), _weighted_sum(seen, table)
    return (sums / total, 1) if table.dtype == np.float64 else (sums, total)


def _from_probabilities(probabilities: ArrayLike, table: NDArray[Any]) -> NDArray[Any]:
    shares = _as_distribution(probabilities, "probabilities", len(table))
    # 1e-9 is far above what rounding leaves of one, and far below a forgotten state
    if abs(shares.sum() - 1) > (1e-9 if shares.dtype == np.float64 else 0):
        raise ParameterError("probabilities", "sum to 1", shares.sum())
    return _weighted_sum(shares, table)


def _times(array: NDArray[Any], total: int) -> NDArray[Any]:
    if array.dtype == np.int64 and largest(array) * total >= 2**62:
        raise OverflowError(f"features times {total} must stay below 2**62 in int64")
    return array * total


def _weighted_sum(weights: NDArray[Any], table: NDArray[Any]) -> NDArray[Any]:
    if weights.dtype == np.float64 or table.dtype == np.float64:
        return np.einsum("i,ij->j", weights.astype(np.float64), table.astype(np.float64))
    sums = np.asarray([inner(weights, column) for column in table.T.copy()], dtype=object)
    both_int = weights.dtype == np.int64 and table.dtype == np.int64
    return sums.astype(np.int64) if both_int else sums


def _mean(rows: NDArray[Any]) -> NDArray[Any]:
    if rows.dtype == np.float64:
        return rows.mean(axis=0)
    sums = np.asarray(rows.sum(axis=0))
    if rows.dtype == np.object_:
        return sums * Fraction(1, len(rows))
    if (sums % len(rows)).any():
        remedy = "multiples of both batch_size and the number of rows do"
        raise ParameterError("total", f"make means of {len(rows)} rows integers: {remedy}")
    return sums // len(rows)
