r"""Averages of any function of the state, without storing the samples.

Equation 10 of [welling2009]_,

.. math:: f^* \leftarrow \tfrac{t - 1}{t} f^* + \tfrac{1}{t} f(s_t),

is kept here as a sum and a count, so that integers stay exact, floats can be compensated
([neumaier1974]_), and parts can be merged. A distribution is the average of its indicator
vector.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from herder._validation import check_function, of_kind
from herder.core.units import as_numbers, largest

__all__ = ["RunningAverage"]


class RunningAverage:
    """Running average of ``function(state)`` over the states seen so far.

    Parameters
    ----------
    function : callable
        Maps a state to a number or an array, always of the same shape.

    Attributes
    ----------
    count : int
        Number of states seen.

    Examples
    --------
    >>> average = RunningAverage(lambda state: [state == 0, state == 1])
    >>> average.update(0).update(1).update(1).update(1).value
    array([0.25, 0.75])
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = check_function(function, "function")
        self.count = 0
        self._sum: NDArray[Any] | None = None
        self._lost: NDArray[np.float64] | None = None

    def update(self, state: object) -> Self:
        """Count one more state."""
        self._add(as_numbers(self.function(state), "function(state)"), None)
        self.count += 1
        return self

    @property
    def value(self) -> Any:
        """The average: a float for a scalar function, else an array; exact for fractions."""
        if self._sum is None:
            raise ValueError("value must be asked for after at least one update, got none")
        if self._sum.dtype == np.object_:
            return self._sum[()] * Fraction(1, self.count)
        total = self._sum if self._lost is None else self._sum + self._lost
        average = np.asarray(total / self.count)
        return average if average.ndim else float(average)

    def merge(self, other: RunningAverage) -> RunningAverage:
        """Return the average over the states of both, with the function of the first."""
        of_kind(other, "other", RunningAverage, "a RunningAverage")
        merged = RunningAverage(self.function)
        for part in (self, other):
            if part._sum is not None:
                merged._add(part._sum, part._lost)
        merged.count = self.count + other.count
        return merged

    def _add(self, term: NDArray[Any], lost: NDArray[np.float64] | None) -> None:
        old = self._sum
        if old is None:
            self._sum, self._lost = term.copy(), lost
            return
        if term.shape != old.shape:
            raise ValueError(f"function(state) must have shape {old.shape}, got {term.shape}")
        if term.dtype == np.int64 and old.dtype == np.int64:
            if largest(old) + largest(term) > 2**62:
                raise OverflowError("sum of function(state) must stay below 2**62 in int64")
            self._sum = np.asarray(old + term)
            return
        if np.object_ in (term.dtype, old.dtype):
            if np.float64 in (term.dtype, old.dtype):
                raise TypeError("function(state) must be always exact or always float, got both")
            self._sum = np.asarray(old.astype(object) + term.astype(object), dtype=object)
            return
        a, b = old.astype(np.float64), term.astype(np.float64)
        total = np.asarray(a + b)
        # what rounding lost from the smaller of the two, exactly
        error = np.where(np.abs(a) >= np.abs(b), (a - total) + b, (b - total) + a)
        for earlier in (self._lost, lost):
            error = error if earlier is None else error + earlier
        self._sum, self._lost = total, np.asarray(error)
