r"""Maximum mean discrepancy ([gretton2012]_): the distance between two weighted samples.

.. math:: \mathrm{MMD}^2 = x' K_{XX} x - 2 x' K_{XY} y + y' K_{YY} y

for weights x and y that sum to one. It is exact, in double precision, over all pairs (the diagonal
ones too: this is the distance of the two samples themselves, not an estimate of that between
their populations), in blocks: memory grows with the rows, not with their square.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import one_of
from herder.core.blas import one_blas_thread
from herder.data.rows import Rows, read_rows, read_weights
from herder.kernel.bandwidth import BandwidthLike, KernelLike, attach_scores, resolve_kernel
from herder.kernel.candidates import (
    BLOCK_VALUES,
    SINGLE_REACH,
    SMALL_ROWS,
    candidates_of,
    weights_or_equal,
)
from herder.kernel.functions import Energy, Kernel, Radial, Stein

__all__ = ["kernel_mean", "mmd", "root"]

#: A squared MMD below this, relative to its terms, is rounding.
ROUNDING = 4 * np.finfo(np.float64).eps


@one_blas_thread()
def mmd(
    X: ArrayLike,
    Y: ArrayLike | None = None,
    *,
    kernel: KernelLike = "energy",
    bandwidth: BandwidthLike = "median",
    standardise: bool = True,
    x_weight: ArrayLike | None = None,
    y_weight: ArrayLike | None = None,
    score: Any = None,
    n_jobs: int | None = None,
) -> float:
    """Return the maximum mean discrepancy between two samples.

    Parameters
    ----------
    X, Y : array-like of shape (n_samples, n_features) and (m_samples, n_features)
        The samples. With the Stein kernel Y is left out: the distance is that of X to the
        density that the scores belong to (kernel Stein discrepancy).
    kernel : str or callable, default "energy"
        As for `thin`: by default the square of the MMD is the energy distance of the standardised
        samples.
    bandwidth : "median", float or array of shape (n_features,)
        "median" takes the median distance of the rows of the larger sample, so that the distance
        of a subset to its whole has the bandwidth of the whole; of all rows if X and Y have as
        many.
    standardise : bool, default True
        Measure columns in standard deviations, of the larger sample, so that the distance of a
        subset to its whole is that of `Thinning.mmd`; of all rows if X and Y have as many.
    x_weight, y_weight : array-like, optional
        Weights of the rows; they are normalised to sum to one.
    score : array-like or callable, optional
        For the Stein kernel: the gradient of the log density at the rows of X.
    n_jobs : int, optional
        Threads, all cores by default; the result is the same for any number.

    Examples
    --------
    >>> from herder import mmd
    >>> mmd([[0.0], [1.0]], [[0.0], [1.0]])
    0.0
    >>> mmd([[0.0], [2.0]], [[1.0]])  # root of the energy distance, one standard deviation
    1.0
    """
    first = read_rows(X)
    x = _weights(x_weight, first, "x_weight")
    if Y is None:
        chosen = resolve_kernel(kernel, bandwidth, first, standardise=standardise)
        if not isinstance(chosen, Stein):
            raise ParameterError("Y", "be given unless kernel is 'stein'", None)
        if y_weight is not None:
            raise ParameterError("y_weight", "be None when Y is left out", got="weights")
        scored = attach_scores(first.values, score)
        return root(_norm(scored, chosen, x, n_jobs), 1.0)
    if score is not None:
        raise ParameterError("score", "be None unless kernel is 'stein' and Y is left out")
    second = _same_columns(Y, "Y", first)
    y = _weights(y_weight, second, "y_weight")
    larger = first if first.n_rows > second.n_rows else second
    if first.n_rows == second.n_rows:  # neither is the whole: the distance must be symmetric
        larger = replace(first, values=np.concatenate([first.values, second.values]))
    chosen = resolve_kernel(kernel, bandwidth, larger, standardise=standardise)
    if isinstance(chosen, Stein):
        raise ParameterError("Y", "be left out when kernel is 'stein': the density is the target")
    own = _norm(first.values, chosen, x, n_jobs) + _norm(second.values, chosen, y, n_jobs)
    across = float(x @ mean_at(first.values, second.values, chosen, y, n_jobs=n_jobs))
    return root(own - 2 * across, own)


@one_blas_thread()
def kernel_mean(
    X: ArrayLike,
    at: ArrayLike | None = None,
    *,
    kernel: KernelLike = "energy",
    bandwidth: BandwidthLike = "median",
    standardise: bool = True,
    sample_weight: ArrayLike | None = None,
    precision: str = "double",
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Return the mean of the kernel over a sample, at its own rows or at other points.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The sample.
    at : array-like of shape (n_points, n_features), optional
        Where; the rows of X by default, for which each pair is evaluated once.
    kernel, bandwidth, standardise
        As for `thin`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    precision : "double" or "single"
        Of the kernel values; they are summed in double either way. Single is about twice as fast
        and good to 1e-6; rows beyond 64 bandwidths from the mean are too far for it, and then
        double is used.
    n_jobs : int, optional
        Threads, all cores by default; the result is the same for any number.

    Examples
    --------
    >>> from herder import Gaussian, kernel_mean
    >>> kernel_mean([[0.0], [1.0]], kernel=Gaussian(1.0)).round(4)
    array([0.8033, 0.8033])
    """
    rows = read_rows(X)
    one_of(precision, "precision", ["double", "single"])
    chosen = resolve_kernel(kernel, bandwidth, rows, standardise=standardise)
    if isinstance(chosen, Stein):
        raise ParameterError("kernel", "not be 'stein', whose mean under its density is zero")
    weight = _weights(sample_weight, rows, "sample_weight")
    candidates, single = candidates_of(rows.values, chosen, n_jobs=n_jobs), precision == "single"
    if at is None:
        return candidates.mean(weight, precision="single" if single else "double")
    points = _same_columns(at, "at", rows).values
    return mean_at(points, rows.values, chosen, weight, n_jobs=n_jobs, single=single)


def mean_at(
    points: NDArray[Any],
    values: NDArray[Any],
    kernel: Kernel,
    weight: NDArray[np.float64],
    *,
    n_jobs: int | None = None,
    single: bool = False,
) -> NDArray[np.float64]:
    """Return ``sum_j p_j k(point, x_j)`` at every point, in blocks; compiled where that pays."""
    if len(points) * len(values) <= SMALL_ROWS**2 or not isinstance(kernel, Radial | Energy):
        total = np.empty(len(points))
        step = max(1, BLOCK_VALUES // len(values))
        for low in range(0, len(points), step):
            total[low : low + step] = kernel(points[low : low + step], values) @ weight
        return total
    from herder.kernel._sums import SHAPES, cross_sums

    centre = values.mean(axis=0, dtype=np.float64)
    left = np.ascontiguousarray(((points - centre) / kernel.bandwidth).T)
    right = np.ascontiguousarray(((values - centre) / kernel.bandwidth).T)
    if single and max(np.abs(left).max(), np.abs(right).max()) <= SINGLE_REACH:
        left, right = left.astype(np.float32), right.astype(np.float32)
    sums = cross_sums(left, right, weight * len(weight), SHAPES[kernel.shape], n_jobs=n_jobs)
    sums /= len(weight)
    if isinstance(kernel, Energy):
        far = kernel.diagonal(points) / 2
        return far * weight.sum() + weight @ kernel.diagonal(values) / 2 - sums
    return sums


def root(square: float, scale: float) -> float:
    """Return the root of a squared distance whose terms are of size ``scale``."""
    return 0.0 if square <= ROUNDING * abs(scale) else math.sqrt(square)


def _norm(
    values: NDArray[Any], kernel: Kernel, weight: NDArray[np.float64], n_jobs: int | None
) -> float:
    """Return ``w' K w`` over all rows."""
    return float(weight @ candidates_of(values, kernel, n_jobs=n_jobs).mean(weight))


def _weights(weight: ArrayLike | None, rows: Rows, name: str) -> NDArray[np.float64]:
    """Return the weights of rows, with sum one; equal ones if there are none given."""
    return weights_or_equal(
        read_weights(weight, None, rows.n_rows, rows.shape, name=name), rows.n_rows
    )


def _same_columns(table: ArrayLike, name: str, rows: Rows) -> Rows:
    """Read another table of rows, which must have as many columns as X."""
    read, d = read_rows(table), rows.values.shape[1]
    if read.values.shape[1] != d:
        raise ParameterError(name, f"have as many columns as X, {d}", read.values.shape[1])
    return read
