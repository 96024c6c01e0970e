"""Rows to choose from, under one kernel: means, columns and Gram matrices in bounded memory.

Up to `SMALL_ROWS` rows, and for custom kernels, everything is NumPy: nothing is compiled. Above,
the built-in kernels run in compiled loops. Both return the same numbers to rounding, in double
precision; single precision is used only to *choose*, where the coordinates allow it, and never
for a number that is reported.
"""

from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from herder.core.lanes import Progress, count_threads
from herder.kernel.functions import Energy, Kernel, Radial, Stein, diagonal_of

__all__ = [
    "MEDIAN_ROWS",
    "SMALL_ROWS",
    "ArrayCandidates",
    "Candidates",
    "PairCandidates",
    "Precision",
    "SteinCandidates",
    "candidates_of",
    "centred",
    "even_rows",
    "weights_or_equal",
]

#: Below this many rows NumPy is quick enough, and the first call waits for no compiler.
SMALL_ROWS = 3000

#: 2,000 rows give 2 million distances: the median is then within about one per cent of the
#: median of all of them, for a fraction of a second.
MEDIAN_ROWS = 2000

_GOLDEN = (5**0.5 - 1) / 2

#: Kernel values held at a time by the NumPy loops: 16 MB.
BLOCK_VALUES = 2**21

#: Farthest coordinate, in bandwidths, for single precision: rounding then moves a row by less
#: than 4e-6 of the bandwidth.
SINGLE_REACH = 64.0

#: Least median of the squared scaled norm for single precision: under a wider bandwidth kernel
#: values differ only in digits that it does not have.
SINGLE_SPREAD = 0.01

Precision: TypeAlias = Literal["single", "double"]


class Candidates:
    """Rows to choose from, under one kernel; the base class of all kinds of them.

    Subclasses set the attributes and define ``column`` and ``gram``.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    diagonal : array of shape (n,)
        ``k(x_i, x_i)``.
    """

    n_rows: int
    diagonal: NDArray[np.float64]

    def mean(
        self,
        weight: NDArray[np.float64] | None = None,
        *,
        precision: Precision = "double",
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Return ``sum_j p_j k(x_i, x_j)`` of every row; p is uniform by default.

        Single precision is used only by classes that have compiled loops for it.
        """
        return self._mean(weights_or_equal(weight, self.n_rows), precision, progress)

    def column(self, j: int) -> NDArray[np.float64]:
        """Return ``k(x_j, x_i)`` of every row i, in double precision."""
        raise NotImplementedError

    def gram(
        self, rows: NDArray[np.intp], others: NDArray[np.intp] | None = None
    ) -> NDArray[np.float64]:
        """Return the Gram matrix of some rows with others, or with themselves."""
        raise NotImplementedError

    def _mean(
        self, p: NDArray[np.float64], precision: Precision, progress: Progress | None
    ) -> NDArray[np.float64]:
        rows, total = np.arange(self.n_rows), np.empty(self.n_rows)
        step = max(1, BLOCK_VALUES // self.n_rows)
        for low in range(0, self.n_rows, step):
            total[low : low + step] = self.gram(rows[low : low + step], rows) @ p
            if progress is not None:
                progress(min(1.0, (low + step) / self.n_rows), "kernel mean")
        return total


class ArrayCandidates(Candidates):
    """Any kernel, in NumPy.

    Parameters
    ----------
    values : array of shape (n, d)
        The rows.
    kernel : callable
        ``kernel(A, B)`` returns the Gram matrix of two tables of rows.
    n_jobs : int, optional
        Threads of the kernel mean, for subclasses with compiled loops.
    """

    def __init__(self, values: NDArray[Any], kernel: Kernel, *, n_jobs: int | None = None) -> None:
        self.values, self.kernel, self.n_jobs = values, kernel, n_jobs
        self.n_rows = len(values)
        self.diagonal = diagonal_of(kernel, values)

    def column(self, j: int) -> NDArray[np.float64]:
        """Return the kernel values of row j to every row."""
        return np.asarray(self.kernel(self.values[j : j + 1], self.values)[0], np.float64)

    def gram(
        self, rows: NDArray[np.intp], others: NDArray[np.intp] | None = None
    ) -> NDArray[np.float64]:
        """Return the Gram matrix of some rows."""
        right = rows if others is None else others
        return np.asarray(self.kernel(self.values[rows], self.values[right]), np.float64)


class PairCandidates(ArrayCandidates):
    """Radial kernels and the energy kernel, in compiled loops.

    Parameters
    ----------
    values : array of shape (n, d)
        The rows.
    kernel : Radial or Energy
        A built-in kernel.
    n_jobs : int, optional
        Threads of the kernel mean.
    """

    def __init__(
        self, values: NDArray[Any], kernel: Radial | Energy, *, n_jobs: int | None = None
    ) -> None:
        from herder.kernel._sums import SHAPES

        # float32 rows are chosen from as they are; double is for what is reported.
        dtype = np.float32 if values.dtype == np.float32 else np.float64
        self.points = _coordinates(values, kernel.bandwidth, dtype)
        self.reach = float(max(-self.points.min(), self.points.max()))
        self.code, self._bandwidth = SHAPES[kernel.shape], kernel.bandwidth
        super().__init__(values, kernel, n_jobs=n_jobs)
        self._radii = self.diagonal / 2 if isinstance(kernel, Energy) else np.zeros(self.n_rows)

    @cached_property
    def doubles(self) -> NDArray[np.float64]:
        """Coordinates of shape (d, n) in double precision."""
        if self.points.dtype == np.float64:
            return self.points
        return _coordinates(self.values, self._bandwidth, np.float64)

    @cached_property
    def chooser(self) -> NDArray[Any]:
        """Coordinates to choose by: in single precision where that is enough."""
        some = self.points[:, even_rows(self.n_rows, MEDIAN_ROWS)].astype(np.float64)
        spread = float(np.median(np.square(some).sum(axis=0)))
        if self.reach > SINGLE_REACH or spread < SINGLE_SPREAD:
            return self.doubles
        return self.points.astype(np.float32, copy=False)

    def column(self, j: int) -> NDArray[np.float64]:
        """Return the kernel values of row j to every row."""
        from herder.kernel import _pairs_jit as _jit

        out = np.empty(self.n_rows)
        _jit.column(self.doubles, j, self.code, out)
        if isinstance(self.kernel, Energy):
            return self._radii + self._radii[j] - out
        return out

    def _mean(
        self, p: NDArray[np.float64], precision: Precision, progress: Progress | None
    ) -> NDArray[np.float64]:
        from herder.kernel._sums import pair_sums

        points = self.chooser if precision == "single" else self.doubles
        # Weights near one keep single precision away from its smallest numbers.
        scale = float(self.n_rows)
        sums = pair_sums(points, p * scale, self.code, n_jobs=self.n_jobs, progress=progress)
        sums /= scale
        if isinstance(self.kernel, Energy):
            return self._radii * p.sum() + p @ self._radii - sums
        return sums + p


class SteinCandidates(ArrayCandidates):
    """The Stein kernel in compiled loops.

    Parameters
    ----------
    values : array of shape (n, 2 d)
        Rows ``[x, score(x)]``.
    kernel : Stein
        The kernel.
    n_jobs : int, optional
        Threads of the kernel mean.
    """

    def __init__(self, values: NDArray[Any], kernel: Stein, *, n_jobs: int | None = None) -> None:
        super().__init__(values, kernel, n_jobs=n_jobs)
        half = values.shape[1] // 2
        self.points = _coordinates(values[:, :half], kernel.bandwidth, np.float64)
        scores = np.asarray(values[:, half:], np.float64) * kernel.bandwidth
        self.scores = np.ascontiguousarray(scores.T)

    def column(self, j: int) -> NDArray[np.float64]:
        """Return the kernel values of row j to every row."""
        from herder.kernel import _stein_jit as _jit

        out = np.empty(self.n_rows)
        _jit.column(self.points, self.scores, j, out)
        return out

    def _mean(
        self, p: NDArray[np.float64], precision: Precision, progress: Progress | None
    ) -> NDArray[np.float64]:
        from herder.kernel._sums import stein_sums

        sums = stein_sums(self.points, self.scores, p, n_jobs=self.n_jobs, progress=progress)
        return sums + p * self.diagonal


def candidates_of(
    values: NDArray[Any],
    kernel: Kernel,
    *,
    n_jobs: int | None = None,
    compiled: bool | None = None,
) -> ArrayCandidates:
    """Return rows under a kernel: compiled loops for many rows, or if asked for, else NumPy."""
    count_threads(n_jobs)  # refuses a wrong number for small samples too
    kernel = centred(kernel, values)
    if len(values) > SMALL_ROWS if compiled is None else compiled:
        if isinstance(kernel, Radial | Energy):
            return PairCandidates(values, kernel, n_jobs=n_jobs)
        if isinstance(kernel, Stein):
            return SteinCandidates(values, kernel, n_jobs=n_jobs)
    return ArrayCandidates(values, kernel, n_jobs=n_jobs)


def centred(kernel: Kernel, rows: NDArray[Any]) -> Kernel:
    """Return an energy kernel with the mean of rows as its centre, unless it has one."""
    if isinstance(kernel, Energy) and kernel.centre is None:
        return replace(kernel, centre=rows.mean(axis=0, dtype=np.float64))
    return kernel


def even_rows(n: int, most: int) -> NDArray[np.intp]:
    """Return at most ``most`` of n rows, ascending, spread evenly without a fixed stride."""
    if n <= most:
        return np.arange(n, dtype=np.intp)
    spread = (n * ((np.arange(most) * _GOLDEN) % 1.0)).astype(np.intp)
    return np.unique(spread)


def weights_or_equal(weight: NDArray[np.float64] | None, n: int) -> NDArray[np.float64]:
    """Return the weights of n rows: equal ones, with sum one, if there are none given."""
    return np.full(n, 1 / n) if weight is None else weight


def _coordinates(values: NDArray[Any], bandwidth: Any, dtype: Any) -> NDArray[Any]:
    """Return rows less their mean, in bandwidths, of shape (d, n); a block of rows at a time."""
    n, d = values.shape
    centre = values.mean(axis=0, dtype=np.float64)
    points = np.empty((d, n), dtype)
    step = max(1, BLOCK_VALUES // (2 * d))
    for low in range(0, n, step):
        block = (values[low : low + step] - centre) / bandwidth
        points[:, low : low + step] = block.T
    return points
