"""What a choice of rows should match: the kernel mean of a sample, or one that is given."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError

__all__ = ["GivenTarget", "read_target"]


@dataclass(frozen=True)
class GivenTarget:
    """A target mean at every row, and its squared norm where it is known.

    Parameters
    ----------
    values : array of shape (n,)
        The mean function at the rows.
    squared_norm : float
        ``E E k`` under the target; NaN when unknown, and then MMDs are unknown too.
    """

    values: NDArray[np.float64]
    squared_norm: float


def read_target(kernel_mean: Any, values: NDArray[Any]) -> GivenTarget:
    """Read a user's kernel mean: numbers at the rows, a function, or one with its norm.

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
        given = np.asarray(kernel_mean if function is None else function(values))
    except Exception as problem:
        if function is None:
            raise
        raise ParameterError(
            "kernel_mean",
            f"be a function of rows, shape {values.shape}",
            got=f"{type(problem).__name__}: {problem}",
        ) from problem
    if given.dtype.kind not in "iuf":
        raise ParameterTypeError("kernel_mean", "give numbers", got=f"dtype {given.dtype}")
    if given.shape != (len(values),):
        raise ParameterError(
            "kernel_mean", f"give one value per row, shape {(len(values),)}", given.shape
        )
    if not np.isfinite(given).all():
        row = int(np.flatnonzero(~np.isfinite(given))[0])
        raise ParameterError("kernel_mean", "be finite", got=f"{given[row]} in row {row}")
    return GivenTarget(given.astype(np.float64), np.nan if norm is None else float(norm))
