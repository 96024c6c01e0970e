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

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import real_array

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
    "as_lengths",
    "diagonal_of",
]

#: Distances beyond this count as this: exp(-FAR) is zero, and infinity times zero is no number.
FAR = 1e3

BANDWIDTH_RULE = "be a positive number, or one for each column"

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", as_lengths(self.bandwidth))

    def __call__(self, A: NDArray[Any], B: NDArray[Any], /) -> NDArray[np.float64]:
        """Return the Gram matrix of the rows of ``A`` and ``B``."""
        gram = _squared_distances(A, B, self.bandwidth)
        with np.errstate(invalid="ignore"):  # rows that are not finite have no finite kernel
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", as_lengths(self.bandwidth))
        if self.centre is not None:
            centre = real_array(self.centre, "centre")
            if centre.ndim != 1 or not np.isfinite(centre).all():
                raise ParameterError("centre", "be a finite number for each column", self.centre)
            object.__setattr__(self, "centre", centre)

    def __call__(self, A: NDArray[Any], B: NDArray[Any], /) -> NDArray[np.float64]:
        """Return the Gram matrix of the rows of ``A`` and ``B``."""
        gram = _squared_distances(A, B, self.bandwidth)
        np.sqrt(gram, out=gram)
        with np.errstate(over="ignore", invalid="ignore"):
            np.subtract(self._radii(A)[:, None], gram, out=gram)
            gram += self._radii(B)
        return gram

    def diagonal(self, A: NDArray[Any]) -> NDArray[np.float64]:
        """Return ``k(a, a) = 2 |a - c|`` of every row."""
        return 2 * self._radii(A)

    def _radii(self, A: NDArray[Any]) -> NDArray[np.float64]:
        rows = _rows(A, "A", self.centre)
        centred = rows - (0.0 if self.centre is None else self.centre)
        return np.sqrt(np.square(centred / self.bandwidth).sum(axis=1))


@dataclass(frozen=True)
class Stein:
    """Langevin-Stein kernel over an inverse multiquadric, on rows ``[x, score(x)]``.

    Rows and scores are those of an unconstrained scale: where the density does not vanish at a
    border (a positive scale, a proportion), the mean of the kernel is not zero.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", as_lengths(self.bandwidth))

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
        rows = _rows(A, "A")
        if rows.shape[1] % 2:
            got = f"the shape {rows.shape}"
            raise ParameterError("rows of a Stein kernel", "be [x, score(x)]", got=got)
        half = rows.shape[1] // 2
        _check_width(self.bandwidth, half)
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


def as_lengths(bandwidth: Any) -> Bandwidth:
    """Return a bandwidth as one float, or as an array of one for each column."""
    lengths = real_array(bandwidth, "bandwidth", BANDWIDTH_RULE)
    if isinstance(bandwidth, bool | np.bool_ | None) or lengths.ndim > 1:
        raise ParameterTypeError("bandwidth", BANDWIDTH_RULE, bandwidth)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise ParameterError("bandwidth", "be positive and finite", bandwidth)
    if not ((lengths > 1e-150) & (lengths < 1e150)).all():  # or squares are no floats
        raise ParameterError("bandwidth", "be between 1e-150 and 1e150", bandwidth)
    return float(lengths) if lengths.ndim == 0 else lengths


def diagonal_of(kernel: Kernel, rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return ``k(a, a)`` of every row, from the kernel's own ``diagonal`` if it has one."""
    own: Callable[[NDArray[Any]], NDArray[np.float64]] | None = getattr(kernel, "diagonal", None)
    if own is not None:
        return np.asarray(own(rows), np.float64)
    blocks = [rows[low : low + 128] for low in range(0, len(rows), 128)]
    parts = [np.asarray(kernel(block, block)).diagonal() for block in blocks]
    return np.concatenate(parts).astype(np.float64)


def _rows(given: Any, name: str, columns: Any = None) -> NDArray[np.float64]:
    """Return a table of numbers, as wide as ``columns`` if those are an array."""
    rows = given
    if type(given) is not np.ndarray or given.dtype != np.float64:
        rows = real_array(given, name)
    if rows.ndim != 2:
        raise ParameterError(name, "have the shape (rows, columns)", rows.shape)
    _check_width(columns, rows.shape[1])
    return rows


def _check_width(columns: Any, n_features: int) -> None:
    if isinstance(columns, np.ndarray) and len(columns) != n_features:
        rule = f"have a number for each of {n_features} columns"
        raise ParameterError("bandwidth", rule, len(columns))


def _squared_distances(
    A: NDArray[Any], B: NDArray[Any], bandwidth: Bandwidth
) -> NDArray[np.float64]:
    # cdist takes differences first: no cancellation for data far from the origin.
    from scipy.spatial.distance import cdist

    left, right = _rows(A, "A", bandwidth), _rows(B, "B", bandwidth)
    if left.shape[1] != right.shape[1]:
        got = f"{left.shape[1]} and {right.shape[1]}"
        raise ParameterError("B", "have as many columns as A", got=got)
    distances = cdist(left / bandwidth, right / bandwidth, "sqeuclidean")
    return distances.astype(np.float64, copy=False)


def _gaussian(q: NDArray[np.float64]) -> None:
    q *= -0.5
    np.exp(q, out=q)


def _matern32(q: NDArray[np.float64]) -> None:
    root = np.minimum(np.sqrt(3 * q), FAR)
    np.multiply(1 + root, np.exp(-root), out=q)


def _matern52(q: NDArray[np.float64]) -> None:
    root = np.minimum(np.sqrt(5 * q), FAR)
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
