r"""The numbers the loop runs on, and integers in units of :math:`1/N`.

Moments that are counts over N rows are rationals :math:`n/N`. Multiplied by N, target and
features are integers, the update

.. math:: N w \leftarrow N w + (n - N \phi(s))

stays in the integers, and two implementations that agree agree exactly: "retrace" means
equal, not close. Herding is scale free, so the factor N changes no state.

Three number types are allowed everywhere in `herder.core`: ``int64`` (exact, units of 1/N),
``float64``, and ``object`` arrays of `fractions.Fraction` or Python integers (exact, slow).
They are never mixed silently: a float that meets an integer is an error.

Moments without a common N are rounded to the grid of 1 / `FIXED_POINT`, an error of at most
:math:`2^{-25}` per moment. The rounded moments may be inconsistent by that much, so weights
may then drift by up to half a unit per step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import listed, plain_array, positive_int

__all__ = [
    "FIXED_POINT",
    "MAX_TOTAL",
    "Number",
    "Units",
    "as_numbers",
    "common_total",
    "from_units",
    "inner",
    "norm",
    "round_to_units",
    "to_units",
]

#: What an inner product of weights may be: int for int64, float for float64, else exact.
Number: TypeAlias = int | float | Fraction

#: What an array of objects may hold.
EXACT = (int, Fraction)

#: Units per one when moments have no common total: a rounded moment is off by at most 2^-25,
#: and 2^38 steps fit into int64 even if the weights grow linearly.
FIXED_POINT = 2**24

#: Largest common multiple that is still used as an exact total: above it a linearly growing
#: weight could leave int64 within 2^31 steps.
MAX_TOTAL = 2**31

#: Products and sums of int64 are trusted below this bound, and done in Python integers above.
_INT64_SAFE = 2**62


@dataclass(frozen=True, slots=True)
class Units:
    """The unit of integers: they count multiples of ``1 / total``.

    Attributes
    ----------
    total : int
        Units per one, N; 1 where numbers are not scaled.
    exact : bool
        Whether the numbers are what was given, rather than rounded to the grid or floating.
    """

    total: int
    exact: bool


def as_numbers(values: ArrayLike, name: str, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
    """Return a new array of one of the three number types; refuse what is none by name.

    Parameters
    ----------
    values : array-like
        Booleans and integers become int64, floats float64; object arrays must hold Python
        integers or fractions only.
    name : str
        Its name in errors.
    shape : tuple of int, optional
        The shape that it must have.

    Returns
    -------
    array
        A copy; finite.

    Examples
    --------
    >>> as_numbers([1, 2], "weights")
    array([1, 2])
    """
    array = plain_array(values, name)
    if shape is not None and array.shape != shape:
        raise ParameterError(name, f"have shape {shape}", array.shape)
    kind = array.dtype.kind
    if kind in "biu":
        if kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
            raise ParameterError(name, "fit into int64", int(array.max()))
        return array.astype(np.int64)
    if kind == "f" and array.dtype.itemsize <= 8:
        if not np.isfinite(array).all():
            raise ParameterError(name, "be finite", array[~np.isfinite(array)][0])
        return array.astype(np.float64)
    if kind == "O":
        odd = [type(entry).__name__ for entry in array.flat if not isinstance(entry, EXACT)]
        if odd:
            raise ParameterTypeError(name, "hold only int and Fraction as objects", got=odd[0])
        return array.copy()
    raise ParameterTypeError(name, "be int64, float64 or object of Fraction", got=str(array.dtype))


def largest(array: NDArray[Any]) -> int:
    """Return the largest absolute value of an array of whole numbers as a Python integer."""
    return max(int(array.max()), -int(array.min())) if array.size else 0


def inner(a: NDArray[Any], b: NDArray[Any]) -> Number:
    """Return the inner product of two arrays of one shape and number type; it never wraps.

    Examples
    --------
    >>> inner(np.array([2**40, 1]), np.array([2**40, 1])) == 2**80 + 1
    True
    """
    if a.dtype == np.float64:
        # einsum and not BLAS: the same bits at any number of threads
        return float(np.einsum("i,i->", a.ravel(), b.ravel()))
    if a.dtype == np.int64 and largest(a) * largest(b) * a.size < _INT64_SAFE:
        return int(a.ravel() @ b.ravel())
    total: Number = 0
    for x, y in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True):
        total += x * y
    return total


def norm(weights: NDArray[Any]) -> float:
    """Return the Euclidean norm as a float, for any of the number types.

    Examples
    --------
    >>> norm(np.array([3, 4]))
    5.0
    """
    numbers = as_numbers(weights, "weights")
    squared = inner(numbers, numbers)
    if squared != math.inf:
        try:
            return math.sqrt(squared)
        except OverflowError:
            raise ParameterError("weights", "fit into floats", got="larger numbers") from None
    peak = float(np.abs(numbers).max())
    return peak * norm(numbers / peak)


def to_units(probabilities: ArrayLike, total: int) -> NDArray[np.int64]:
    """Return the integers n of rationals ``n / total``, exactly or not at all.

    Parameters
    ----------
    probabilities : array-like
        Fractions must be multiples of 1 / total. A float counts as n / total only if it is
        the float nearest to it, so that no information is lost either way.
    total : int
        Units per one, N.

    Returns
    -------
    array of int64

    Examples
    --------
    >>> to_units([0.1, 0.7], 10)
    array([1, 7])
    """
    total = positive_int(total, "total")
    given = as_numbers(probabilities, "probabilities")
    if given.dtype == np.float64:
        with np.errstate(over="ignore"):
            units: NDArray[Any] = np.rint(given * total)
        exact = np.asarray(units / total == given)
    else:
        units = np.asarray(given.astype(object) * total, dtype=object)
        whole = [Fraction(u).denominator == 1 for u in units.flat]
        exact = np.asarray(whole, dtype=bool).reshape(units.shape)
    if not exact.all():
        where = tuple(int(i) for i in np.argwhere(~exact)[0])
        found = f"{given[where]} at {where}; round_to_units rounds"
        raise ParameterError("probabilities", f"be multiples of 1/{total}", got=found)
    return _as_int64(units, total)


def round_to_units(values: ArrayLike, total: int = FIXED_POINT) -> NDArray[np.int64]:
    """Round to the nearest multiple of ``1 / total``; off by at most ``1 / (2 total)``.

    Parameters
    ----------
    values : array-like
        Moments of any number type.
    total : int, default FIXED_POINT
        Units per one.

    Returns
    -------
    array of int64

    Examples
    --------
    >>> round_to_units([1 / 3]) - FIXED_POINT // 3
    array([0])
    """
    total = positive_int(total, "total")
    given = as_numbers(values, "values")
    if given.dtype == np.float64:
        with np.errstate(over="ignore"):
            units = np.rint(given * total)
        return _as_int64(units, total)
    rounded = np.empty(given.shape, dtype=object)
    rounded.flat[:] = [round(Fraction(x) * total) for x in given.ravel().tolist()]
    return _as_int64(rounded, total)


def from_units(units: NDArray[Any], total: int) -> NDArray[np.float64]:
    """Return ``units / total`` as floats, each the nearest one.

    Examples
    --------
    >>> from_units(np.array([1, 7]), 10)
    array([0.1, 0.7])
    """
    given = as_numbers(units, "units")
    try:
        return np.asarray(given / positive_int(total, "total"), dtype=np.float64)
    except OverflowError:
        raise ParameterError(
            "units", "be numbers that floats can hold", got="larger ones"
        ) from None


def common_total(totals: Iterable[int]) -> Units:
    """Return units for moments that were counted over ``totals`` rows.

    Parameters
    ----------
    totals : iterable of int
        Numbers of rows, one per table of counts.

    Returns
    -------
    Units
        The common total if all are equal, else their least common multiple while it is at
        most `MAX_TOTAL`, else `FIXED_POINT`, which is not exact.

    Examples
    --------
    >>> common_total([100, 100])
    Units(total=100, exact=True)
    """
    distinct = {positive_int(total, "totals") for total in listed(totals, "totals", "int")}
    if not distinct:
        raise ParameterError("totals", "hold at least one total", got="none")
    multiple = math.lcm(*distinct)
    if len(distinct) == 1 or multiple <= MAX_TOTAL:
        return Units(multiple, exact=True)
    return Units(FIXED_POINT, exact=False)


def _as_int64(units: NDArray[Any], total: int) -> NDArray[np.int64]:
    if not np.less_equal(np.abs(units), _INT64_SAFE).all():
        raise OverflowError(f"values must stay below 2**62 in units of 1/{total}")
    return units.astype(np.int64)
