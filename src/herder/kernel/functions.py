r"""Kernels: measures of similarity of two rows.

The radial ones depend on :math:`r = |(a - b) / h|` alone, with one bandwidth h or one for each
column:

====================== ====================================================================
Gaussian               :math:`\exp(-r^2/2)`
Matern32               :math:`(1 + \sqrt3 r) \exp(-\sqrt3 r)`
Matern52               :math:`(1 + \sqrt5 r + \tfrac{5}{3} r^2) \exp(-\sqrt5 r)`
Laplace                :math:`\exp(-r)` (of the Euclidean distance)
InverseMultiquadric    :math:`(1 + r^2)^{-1/2}`
====================== ====================================================================

`Energy` is :math:`|a - c| + |b - c| - |a - b|`: its squared MMD is the energy distance of
[szekely2013]_ whatever the centre c. `Stein` is the Langevin-Stein kernel of [riabiz2022]_: its
mean under a density with score :math:`\nabla \log p` is zero, so that the target is the density
itself and not the sample.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "KERNELS",
    "Bandwidth",
    "Energy",
    "Gaussian",
    "InverseMultiquadric",
    "Kernel",
    "Laplace",
    "Matern32",
    "Matern52",
    "Radial",
    "Stein",
    "diagonal_of",
]

#: One length for all columns, or one for each.
Bandwidth: TypeAlias = "float | NDArray[np.float64]"


@runtime_checkable
class Kernel(Protocol):
    """Anything called with two tables of rows that returns their Gram matrix."""

    def __call__(self, A: NDArray[Any], B: NDArray[Any], /) -> NDArray[np.float64]:
        """Return the Gram matrix of the rows of ``A`` and ``B``."""
        ...


@dataclass(frozen=True)
class Radial:
    """A kernel of the scaled distance; each subclass is one function of it.

    Parameters
    ----------
    bandwidth : float or array of shape (n_features,)
        Length by which differences are divided, for all columns or for each.
    """

    bandwidth: Bandwidth = 1.0
    shape: ClassVar[str]

    def __call__(self, A: NDArray[Any], B: NDArray[Any], /) -> NDArray[np.float64]:
        """Return the Gram matrix of the rows of ``A`` and ``B``."""
        gram = _squared_distances(A, B, self.bandwidth)
        _PROFILES[self.shape](gram)
        return gram

    def diagonal(self, A: NDArray[Any]) -> NDArray[np.float64]:
        """Return ``k(a, a)`` of every row: one."""
        return np.ones(len(A))


class Gaussian(Radial):
    """``exp(-r^2 / 2)``: smooth; the kernel of the thesis."""

    shape = "gaussian"


class Matern32(Radial):
    """``(1 + sqrt(3) r) exp(-sqrt(3) r)``: once differentiable."""

    shape = "matern32"


class Matern52(Radial):
    """``(1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)``: twice differentiable."""

    shape = "matern52"


class Laplace(Radial):
    """``exp(-r)``: rough, sensitive to fine detail."""

    shape = "laplace"


class InverseMultiquadric(Radial):
    """``(1 + r^2)^(-1/2)``: heavy tails, sensitive to distant outliers."""

    shape = "inverse-multiquadric"


@dataclass(frozen=True)
class Energy:
    """``|a - c| + |b - c| - |a - b|``: no bandwidth to choose; MMD^2 is the energy distance.

    Parameters
    ----------
    bandwidth : float or array of shape (n_features,)
        Divides the columns first; with one number it only scales the distance.
    centre : array of shape (n_features,), optional
        The point c; the origin by default. `thin` and `mmd` take the mean of the sample. It has
        no influence on an MMD between weights that sum to one.
    """

    bandwidth: Bandwidth = 1.0
    centre: NDArray[np.float64] | None = None
    shape: ClassVar[str] = "energy"

    def __call__(self, A: NDArray[Any], B: NDArray[Any], /) -> NDArray[np.float64]:
        """Return the Gram matrix of the rows of ``A`` and ``B``."""
        gram = _squared_distances(A, B, self.bandwidth)
        np.sqrt(gram, out=gram)
        np.subtract(self._radii(A)[:, None], gram, out=gram)
        gram += self._radii(B)
        return gram

    def diagonal(self, A: NDArray[Any]) -> NDArray[np.float64]:
        """Return ``k(a, a) = 2 |a - c|`` of every row."""
        return 2 * self._radii(A)

    def _radii(self, A: NDArray[Any]) -> NDArray[np.float64]:
        centred = np.asarray(A, np.float64) - (0.0 if self.centre is None else self.centre)
        return np.sqrt(np.square(centred / self.bandwidth).sum(axis=1))


@dataclass(frozen=True)
class Stein:
    """Langevin-Stein kernel over an inverse multiquadric, on rows ``[x, score(x)]``.

    Parameters
    ----------
    bandwidth : float or array of shape (n_features,)
        Of the inverse multiquadric.

    Notes
    -----
    In columns divided by the bandwidth, and scores multiplied by it, with
    ``u = 1 + |x - y|^2``::

        k(x, y) = u^(-1/2) s(x).s(y) + u^(-3/2) [d + (x - y).(s(x) - s(y))] - 3 u^(-5/2) |x - y|^2
    """

    bandwidth: Bandwidth = 1.0
    shape: ClassVar[str] = "stein"

    def __call__(self, A: NDArray[Any], B: NDArray[Any], /) -> NDArray[np.float64]:
        """Return the Gram matrix of rows with their scores in the second half of the columns."""
        x, s = self._halves(A)
        y, t = self._halves(B)
        origin = y.mean(axis=0)  # the inner products below would cancel far from the origin
        x, y = x - origin, y - origin
        squares = _squared_distances(x, y, 1.0)
        inverse = 1 / (1 + squares)
        # (x - y).(s - t) from four inner products
        inner = ((x * s).sum(axis=1)[:, None] - x @ t.T - s @ y.T) + (y * t).sum(axis=1)
        gram = (x.shape[1] + inner) * inverse - 3 * squares * inverse**2
        gram += s @ t.T
        gram *= np.sqrt(inverse)
        return gram

    def diagonal(self, A: NDArray[Any]) -> NDArray[np.float64]:
        """Return ``k(a, a) = d + |score(a)|^2`` of every row, in scaled columns."""
        x, s = self._halves(A)
        return x.shape[1] + np.square(s).sum(axis=1)

    def _halves(self, A: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rows = np.asarray(A, np.float64)
        if rows.ndim != 2 or rows.shape[1] % 2:
            raise ValueError(
                f"rows of a Stein kernel must be [x, score(x)], got the shape {rows.shape}"
            )
        half = rows.shape[1] // 2
        return rows[:, :half] / self.bandwidth, rows[:, half:] * self.bandwidth


#: The names that ``kernel=`` takes.
KERNELS: dict[str, type[Radial] | type[Energy] | type[Stein]] = {
    "gaussian": Gaussian,
    "matern32": Matern32,
    "matern52": Matern52,
    "laplace": Laplace,
    "inverse-multiquadric": InverseMultiquadric,
    "energy": Energy,
    "stein": Stein,
}


def diagonal_of(kernel: Kernel, rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return ``k(a, a)`` of every row, from the kernel's own ``diagonal`` if it has one."""
    own: Callable[[NDArray[Any]], NDArray[np.float64]] | None = getattr(kernel, "diagonal", None)
    if own is not None:
        return np.asarray(own(rows), np.float64)
    blocks = [rows[low : low + 128] for low in range(0, len(rows), 128)]
    parts = [np.asarray(kernel(block, block)).diagonal() for block in blocks]
    return np.concatenate(parts).astype(np.float64)


def _squared_distances(
    A: NDArray[Any], B: NDArray[Any], bandwidth: Bandwidth
) -> NDArray[np.float64]:
    # cdist takes differences first: no cancellation for data far from the origin.
    from scipy.spatial.distance import cdist

    left, right = np.asarray(A, np.float64), np.asarray(B, np.float64)
    distances = cdist(left / bandwidth, right / bandwidth, "sqeuclidean")
    return distances.astype(np.float64, copy=False)


def _gaussian(q: NDArray[np.float64]) -> None:
    q *= -0.5
    np.exp(q, out=q)


def _matern32(q: NDArray[np.float64]) -> None:
    root = np.sqrt(3 * q)
    np.multiply(1 + root, np.exp(-root), out=q)


def _matern52(q: NDArray[np.float64]) -> None:
    root = np.sqrt(5 * q)
    np.multiply(1 + root + root * root / 3, np.exp(-root), out=q)


def _laplace(q: NDArray[np.float64]) -> None:
    np.sqrt(q, out=q)
    np.negative(q, out=q)
    np.exp(q, out=q)


def _inverse_multiquadric(q: NDArray[np.float64]) -> None:
    q += 1
    np.sqrt(q, out=q)
    np.reciprocal(q, out=q)


#: Functions of the squared scaled distance, in place.
_PROFILES: dict[str, Callable[[NDArray[np.float64]], None]] = {
    "gaussian": _gaussian,
    "matern32": _matern32,
    "matern52": _matern52,
    "laplace": _laplace,
    "inverse-multiquadric": _inverse_multiquadric,
}
