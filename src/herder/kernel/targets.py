"""Targets that are given: the kernel mean at the rows, in place of that of the sample."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import plain_array

__all__ = ["GivenTarget", "numbers_at_rows", "read_target"]


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
        given = plain_array(kernel_mean if function is None else function(values), "kernel_mean")
    except Exception as problem:
        if function is None:
            raise
        rule, got = (
            f"be a function of rows, {values.shape}",
            f"{type(problem).__name__}: {problem}",
        )
        raise ParameterError("kernel_mean", rule, got=got) from problem
    given = numbers_at_rows(given, "kernel_mean", (len(values),))
    return GivenTarget(given.astype(np.float64), np.nan if norm is None else float(norm))


def numbers_at_rows(given: NDArray[Any], name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return finite numbers of that shape, one or more for each row."""
    if given.dtype.kind not in "iuf":
        raise ParameterTypeError(name, "hold numbers", got=f"dtype {given.dtype}")
    if given.shape != shape:
        raise ParameterError(name, f"have the shape {shape}, a value for each row", given.shape)
    wrong = ~np.isfinite(given)
    if wrong.any():
        row = int(np.argwhere(wrong)[0, 0])
        raise ParameterError(name, "be finite", got=f"{given[row]} in row {row}")
    return given
