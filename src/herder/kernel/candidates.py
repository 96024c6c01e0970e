"""Rows to choose from, under one kernel: means, columns and Gram matrices in bounded memory.

Up to `SMALL_ROWS` rows, and for kernels of the user's own, everything is NumPy: nothing is
compiled. Above, the built-in kernels run in compiled loops. Both give the same numbers to
rounding, in double precision; single precision is used only to *choose*, where the coordinates
allow it, and never for a number that is reported.
"""

from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from herder.core.lanes import Progress, count_threads
from herder.kernel.bandwidth import MEDIAN_ROWS, even_rows
from herder.kernel.functions import Energy, Kernel, Radial, Stein, centred, diagonal_of

__all__ = [
    "SMALL_ROWS",
    "ArrayCandidates",
    "Candidates",
    "PairCandidates",
    "Precision",
    "SteinCandidates",
    "candidates_of",
]

#: Below this many rows NumPy is quick enough, and the first call waits for no compiler.
SMALL_ROWS = 3000

#: Kernel values held at a time by the NumPy loops: 16 MB.
BLOCK_VALUES = 2**21

#: Farthest coordinate, in bandwidths, for single precision: rounding then moves a row by less
#: than 4e-6 of the bandwidth.
SINGLE_REACH = 64.0

#: Least median of the squared scaled norm for single precision: under a wider bandwidth kernel
#: values differ only in digits that it does not have.
SINGLE_SPREAD = 0.01

Precision: TypeAlias = Literal["single", "double"]


class Candidates(Protocol):
    """What the choosing algorithms need to know about the rows."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def diagonal(self) -> NDArray[np.float64]:
        """``k(x_i, x_i)``."""
        ...

    def mean(
        self,
        weight: NDArray[np.float64] | None = None,
        *,
        precision: Precision = "double",
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """``sum_j p_j k(x_i, x_j)`` of every row; p is uniform by default."""
        ...

    def column(self, j: int) -> NDArray[np.float64]:
        """``k(x_j, x_i)`` of every row i, in double precision."""
        ...

    def gram(
        self, rows: NDArray[np.intp], others: NDArray[np.intp] | None = None
    ) -> NDArray[np.float64]:
        """Gram matrix of some rows with others, or with themselves."""
        ...

    def scaled(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Coordinates of some rows, divided by the bandwidth."""
        ...


class ArrayCandidates:
    """Any kernel, in NumPy.

    Parameters
    ----------
    values : array of shape (n, d)
        The rows.
    kernel : callable
        ``kernel(A, B)`` returns the Gram matrix of two tables of rows.
    """

    def __init__(self, values: NDArray[Any], kernel: Kernel) -> None:
        self.values = values
        self.kernel = kernel
        self.n_rows = len(values)
        self.diagonal = diagonal_of(kernel, values)

    def mean(
        self,
        weight: NDArray[np.float64] | None = None,
        *,
        precision: Precision = "double",
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Kernel mean at every row, in blocks; always in double precision."""
        p = np.full(self.n_rows, 1 / self.n_rows) if weight is None else weight
        total = np.empty(self.n_rows)
        step = max(1, BLOCK_VALUES // self.n_rows)
        for low in range(0, self.n_rows, step):
            total[low : low + step] = self.kernel(self.values[low : low + step], self.values) @ p
            if progress is not None:
                progress(min(1.0, (low + step) / self.n_rows), "kernel mean")
        return total

    def column(self, j: int) -> NDArray[np.float64]:
        """Kernel values of row j to every row."""
        return np.asarray(self.kernel(self.values[j : j + 1], self.values)[0], np.float64)

    def gram(
        self, rows: NDArray[np.intp], others: NDArray[np.intp] | None = None
    ) -> NDArray[np.float64]:
        """Gram matrix of some rows."""
        right = rows if others is None else others
        return np.asarray(self.kernel(self.values[rows], self.values[right]), np.float64)

    def under(self, kernel: Kernel) -> "ArrayCandidates":
        """Candidates of the same rows under another kernel."""
        return ArrayCandidates(self.values, kernel)

    def subset(self, rows: NDArray[np.intp]) -> "ArrayCandidates":
        """Candidates of some rows alone."""
        return ArrayCandidates(self.values[rows], self.kernel)

    def scaled(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Coordinates of some rows, divided by the bandwidth where the kernel has one."""
        coordinates = np.asarray(self.values[rows], np.float64)
        if isinstance(self.kernel, Stein):
            coordinates = coordinates[:, : coordinates.shape[1] // 2]
        return coordinates / getattr(self.kernel, "bandwidth", 1.0)


class PairCandidates:
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

        self.kernel = kernel
        self.n_rows = len(values)
        self.n_jobs = n_jobs
        self.code = SHAPES[kernel.shape]
        self.values = values
        self.centre = values.mean(axis=0, dtype=np.float64)
        # float32 rows are chosen from as they are; double is for what is reported.
        double = values.dtype != np.float32
        self.points = self._coordinates(values, np.float64 if double else np.float32)
        self.reach = float(max(-self.points.min(), self.points.max()))
        self.diagonal = np.ones(self.n_rows)
        self._radii = np.zeros(self.n_rows)
        if isinstance(kernel, Energy):
            self.diagonal = kernel.diagonal(values)
            self._radii = self.diagonal / 2

    @cached_property
    def doubles(self) -> NDArray[np.float64]:
        """Coordinates of shape (d, n) in double precision."""
        if self.points.dtype == np.float64:
            return self.points
        return self._coordinates(self.values, np.float64)

    @cached_property
    def chooser(self) -> NDArray[Any]:
        """Coordinates to choose by: in single precision where that is enough."""
        some = self.points[:, even_rows(self.n_rows, MEDIAN_ROWS)].astype(np.float64)
        spread = float(np.median(np.square(some).sum(axis=0)))
        if self.reach > SINGLE_REACH or spread < SINGLE_SPREAD:
            return self.doubles
        return self.points.astype(np.float32, copy=False)

    def choosing_terms(
        self, target: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Target, half the diagonal, and the sign of the compiled values, for choosing.

        In a greedy step or an exchange the radii of an energy kernel cancel: it may be taken for
        minus the distance, with a zero diagonal.
        """
        if isinstance(self.kernel, Energy):
            return target - self._radii, np.zeros(self.n_rows), -1.0
        return target, self.diagonal / 2, 1.0

    def mean(
        self,
        weight: NDArray[np.float64] | None = None,
        *,
        precision: Precision = "double",
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Kernel mean at every row."""
        from herder.kernel._sums import pair_sums

        p = np.full(self.n_rows, 1 / self.n_rows) if weight is None else weight
        points = self.chooser if precision == "single" else self.doubles
        # Weights near one keep single precision away from its smallest numbers.
        scale = float(self.n_rows)
        sums = pair_sums(points, p * scale, self.code, n_jobs=self.n_jobs, progress=progress)
        sums /= scale
        if isinstance(self.kernel, Energy):
            return self._radii * p.sum() + p @ self._radii - sums
        return sums + p

    def column(self, j: int) -> NDArray[np.float64]:
        """Kernel values of row j to every row."""
        from herder.kernel import _pairs_jit as _jit

        out = np.empty(self.n_rows)
        _jit.column(self.doubles, j, self.code, out)
        if isinstance(self.kernel, Energy):
            return self._radii + self._radii[j] - out
        return out

    def gram(
        self, rows: NDArray[np.intp], others: NDArray[np.intp] | None = None
    ) -> NDArray[np.float64]:
        """Gram matrix of some rows."""
        right = rows if others is None else others
        return self.kernel(self.values[rows], self.values[right])

    def under(self, kernel: Radial | Energy) -> "PairCandidates":
        """Candidates of the same rows under another kernel."""
        return PairCandidates(self.values, kernel, n_jobs=self.n_jobs)

    def subset(self, rows: NDArray[np.intp]) -> "PairCandidates":
        """Candidates of some rows alone."""
        return PairCandidates(self.values[rows], self.kernel, n_jobs=self.n_jobs)

    def scaled(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Coordinates of some rows, divided by the bandwidth."""
        return self._coordinates(self.values[rows], np.float64).T

    def _coordinates(self, values: NDArray[Any], dtype: Any) -> NDArray[Any]:
        return _coordinates(values, self.centre, self.kernel.bandwidth, dtype)


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
        super().__init__(values, kernel)
        self.n_jobs = n_jobs
        half = values.shape[1] // 2
        coordinates = values[:, :half]
        centre = coordinates.mean(axis=0, dtype=np.float64)
        self.points = _coordinates(coordinates, centre, kernel.bandwidth, np.float64)
        scores = np.asarray(values[:, half:], np.float64) * kernel.bandwidth
        self.scores = np.ascontiguousarray(scores.T)

    def column(self, j: int) -> NDArray[np.float64]:
        """Kernel values of row j to every row."""
        from herder.kernel import _stein_jit as _jit

        out = np.empty(self.n_rows)
        _jit.column(self.points, self.scores, j, out)
        return out

    def mean(
        self,
        weight: NDArray[np.float64] | None = None,
        *,
        precision: Precision = "double",
        progress: Progress | None = None,
    ) -> NDArray[np.float64]:
        """Kernel mean at every row; always in double precision."""
        from herder.kernel._sums import stein_sums

        p = np.full(self.n_rows, 1 / self.n_rows) if weight is None else weight
        sums = stein_sums(self.points, self.scores, p, n_jobs=self.n_jobs, progress=progress)
        return sums + p * self.diagonal


def candidates_of(
    values: NDArray[Any],
    kernel: Kernel,
    *,
    n_jobs: int | None = None,
    compiled: bool | None = None,
) -> ArrayCandidates | PairCandidates | SteinCandidates:
    """Rows under a kernel: compiled loops for many rows, or where told, else NumPy."""
    count_threads(n_jobs)  # refuses a wrong number for small samples too
    if isinstance(kernel, Energy):
        kernel = centred(kernel, values.mean(axis=0, dtype=np.float64))
    if len(values) > SMALL_ROWS if compiled is None else compiled:
        if isinstance(kernel, Radial | Energy):
            return PairCandidates(values, kernel, n_jobs=n_jobs)
        if isinstance(kernel, Stein):
            return SteinCandidates(values, kernel, n_jobs=n_jobs)
    return ArrayCandidates(values, kernel)


def _coordinates(
    values: NDArray[Any], centre: NDArray[np.float64], bandwidth: Any, dtype: Any
) -> NDArray[Any]:
    """``(values - centre) / bandwidth`` of shape (d, n), a block of rows at a time."""
    n, d = values.shape
    points = np.empty((d, n), dtype)
    step = max(1, BLOCK_VALUES // (2 * d))
    for low in range(0, n, step):
        block = (values[low : low + step] - centre) / bandwidth
        points[:, low : low + step] = block.T
    return points
