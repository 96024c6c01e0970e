"""Checks at the public border. Every error reads ``name must be ..., got ...``."""

import operator
from collections.abc import Collection
from typing import Any, SupportsIndex, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_fitted", "fit_points", "non_negative_int", "one_of", "positive_int"]

T = TypeVar("T")


def check_fitted(estimator: object, attribute: str) -> None:
    """Raise scikit-learn's NotFittedError unless ``estimator`` has the fitted ``attribute``."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator, attribute)


def fit_points(estimator: object, X: object, *, reset: bool = True) -> NDArray[Any]:
    """Return ``X`` as float64 or float32 rows, by scikit-learn's rules for estimators.

    ``reset`` is for ``fit``, which learns the number and names of the columns; elsewhere they
    must be the same.
    """
    from sklearn.utils import validation

    check: Any = validation.validate_data
    return check(estimator, X, dtype=[np.float64, np.float32], reset=reset)


def positive_int(value: SupportsIndex, name: str) -> int:
    """Return ``value`` as an int of at least 1; NumPy integers count, booleans do not."""
    return _int_from(1, "a positive integer", value, name)


def non_negative_int(value: SupportsIndex, name: str) -> int:
    """Return ``value`` as an int of at least 0; NumPy integers count, booleans do not."""
    return _int_from(0, "a non-negative integer", value, name)


def one_of(value: T, name: str, allowed: Collection[T]) -> T:
    """Return ``value`` if it is one of ``allowed``."""
    if value not in allowed:
        options = ", ".join(repr(option) for option in allowed)
        raise ValueError(f"{name} must be one of {options}, got {value!r}")
    return value


def _int_from(least: int, kind: str, value: SupportsIndex, name: str) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be {kind}, got {value!r}") from None
    if number < least:
        raise ValueError(f"{name} must be {kind}, got {value!r}")
    return number
