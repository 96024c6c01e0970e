"""Targets that are given: the kernel mean at the rows, in place of that of the sample."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import finite_number, real_array

__all__ = ["GivenTarget", "columns_at_borders", "numbers_at_rows", "read_target"]

#: A column is at a border if its outermost hundredth begins within this many standard deviations
#: of it: 0.01 for a half-normal column, 0.4 for a gamma one of shape 4, more than 1 for normal
#: columns of 1,000 positive values.
NEAR_BORDER = 0.5


@dataclass(frozen=True)
class GivenTarget:
    """A target mean at every row, and its squared norm where it is known.

    Parameters
    ----------
    values : array of shape (n,)
        The mean function at the rows.
    squared_norm : float
        ``E E k`` under the target; NaN if unknown, and then MMDs are unknown too.
    """

    values: NDArray[np.float64]
    squared_norm: float


def read_target(kernel_mean: Any, values: NDArray[Any]) -> GivenTarget:
    """Read a given kernel mean: numbers at the rows, a function, or one with its norm.

    Parameters
    ----------
    kernel_mean : array-like of shape (n,), callable, or an object with ``function`` and
        ``squared_norm`` such as `KernelMean`
        The mean of the kernel under the target.
    values : array of shape (n, d)
        The rows.
    """
    norm = getattr(kernel_mean, "squared_norm", None)
    function: Callable[[NDArray[Any]], Any] | None = getattr(kernel_mean, "function", None)
    if function is None and callable(kernel_mean):
        function = kernel_mean
    try:
        given = kernel_mean if function is None else function(values)
    except Exception as problem:
        rule, got = (
            f"be a function of rows, {values.shape}",
            f"{type(problem).__name__}: {problem}",
        )
        raise ParameterError("kernel_mean", rule, got=got) from problem
    numbers = numbers_at_rows(given, "kernel_mean", (len(values),))
    return GivenTarget(numbers, np.nan if norm is None else finite_number(norm, "squared_norm"))


def numbers_at_rows(values: Any, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return finite numbers of that shape, one or more for each row."""
    given = real_array(values, name, "hold numbers")
    if given.shape != shape:
        raise ParameterError(name, f"have the shape {shape}, a value for each row", given.shape)
    wrong = ~np.isfinite(given)
    if wrong.any():
        row = int(np.argwhere(wrong)[0, 0])
        raise ParameterError(name, "be finite", got=f"{given[row]} in row {row}")
    return given


def columns_at_borders(values: NDArray[Any]) -> list[int]:
    """Return the columns that look constrained, with rows near a border at 0 or 1."""
    low, high = values.min(axis=0), values.max(axis=0)
    near = NEAR_BORDER * values.std(axis=0, dtype=np.float64)
    first, last = np.quantile(values, [0.01, 0.99], axis=0)
    at_zero = (low >= 0) & (first < near)
    at_one = (low >= 0) & (high <= 1) & (1 - last < near)
    return np.flatnonzero(at_zero | at_one).tolist()
