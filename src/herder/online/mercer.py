r"""Mercer kernels by name, of dense and sparse rows, and the rows kept for them.

The names and formulas are those of `sklearn.metrics.pairwise`; "sigmoid" is left out, since it is
not positive semi-definite. A Gram matrix that is to be factored wants all digits. There "rbf" has
them not, for it takes :math:`|a - b|^2` from :math:`|a|^2 + |b|^2 - 2 a \cdot b`; here differences
are taken where that would cancel. Callers compute in `one_blas_thread`: with several BLAS threads
the last bits depend on how many there are.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from herder._errors import ParameterError
from herder._validation import one_of, positive_int

__all__ = ["KERNELS", "KernelLike", "Mercer", "RowMatrix", "RowStore"]

KERNELS = ("linear", "rbf", "poly", "laplacian")

#: A name, or a function that gives the Gram matrix of two tables of rows.
KernelLike: TypeAlias = "str | Callable[[Any, Any], NDArray[Any]]"

#: An array, or a CSR matrix or array.
RowMatrix: TypeAlias = Any

#: Up to this many columns squared distances are sums of squared differences. Beyond it they come
#: from a product, and from differences where less than a `NEAR` share of the squared lengths is
#: left: then exp(-gamma d^2) is wrong by no more than (1 / e) / NEAR units of rounding.
FEW_COLUMNS = 16
NEAR = 0.05
#: Numbers in the differences that are taken at once.
CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class Mercer:
    """A kernel with its parameters.

    Parameters
    ----------
    kernel : str or callable
        One of `KERNELS`, or ``kernel(A, B)`` that returns the Gram matrix of the rows of A and B.
    gamma : float, "scale" or None
        Scale in "rbf", "poly" and "laplacian"; see `fixed`.
    degree : int
        Degree of "poly".
    coef0 : float
        Constant in "poly". A negative one would not give a Mercer kernel.
    shift : float
        Constant added to all values.
    """

    kernel: KernelLike
    gamma: float | str | None = None
    degree: int = 3
    coef0: float = 1.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        if not callable(self.kernel):
            one_of(self.kernel, "kernel", KERNELS)
        scaled = self.gamma is None or (isinstance(self.gamma, str) and self.gamma == "scale")
        if not scaled and not _is_number(self.gamma, above=0.0):
            raise ParameterError("gamma", "be a positive number, 'scale' or None", self.gamma)
        if not _is_number(self.coef0, above=-math.ulp(0.0)):
            raise ParameterError("coef0", "be a number of at least 0", self.coef0)
        positive_int(self.degree, "degree")

    def fixed(self, X: RowMatrix) -> Self:
        """Return the kernel with a number for ``gamma``.

        None is 1 / n_features, which suits standardised columns; "scale" divides that by the
        variance of all entries of ``X``.
        """
        if self.gamma is None:
            return replace(self, gamma=1.0 / X.shape[1])
        if self.gamma != "scale":
            return self
        if hasattr(X, "indptr"):
            # The zeros that a sparse table does not hold are entries too.
            size = X.shape[0] * X.shape[1]
            mean = float(X.data.sum(dtype=np.float64)) / size
            squares = float(np.square(X.data - mean, dtype=np.float64).sum())
            variance = squares / size + (1.0 - X.data.size / size) * mean**2
        else:
            variance = float(np.var(X, dtype=np.float64))
        return replace(self, gamma=1.0 / (X.shape[1] * variance) if variance > 0 else 1.0)

    def gram(self, A: RowMatrix, B: RowMatrix) -> NDArray[np.float64]:
        """Kernel values of the rows of ``A`` and ``B``, (n_a, n_b); infinite if they overflow."""
        from sklearn.metrics.pairwise import pairwise_kernels

        shape = (A.shape[0], B.shape[0])
        if 0 in shape:
            return np.empty(shape)
        with np.errstate(over="ignore", invalid="ignore"):
            if callable(self.kernel):
                values = _as_array(self.kernel(A, B))
            elif self.kernel == "rbf":
                values = np.exp(-cast("float", self.gamma) * _squared_distances(A, B))
            else:
                options: dict[str, Any] = {}
                if self.kernel != "linear":
                    options["gamma"] = self.gamma
                if self.kernel == "poly":
                    options |= {"degree": self.degree, "coef0": self.coef0}
                values = np.asarray(pairwise_kernels(A, B, metric=self.kernel, **options))
            if values.shape != shape:
                raise ParameterError("kernel", f"return shape {shape}", values.shape)
            return values.astype(np.float64) + self.shift

    def diagonal(self, A: RowMatrix) -> NDArray[np.float64]:
        """``k(a, a)`` of every row, (n_a,)."""
        if callable(self.kernel):
            return self.gram(A, A).diagonal()
        if self.kernel in ("rbf", "laplacian"):
            return np.full(A.shape[0], 1.0 + self.shift)
        with np.errstate(over="ignore"):
            values = _squared_lengths(A)
            if self.kernel == "poly":
                values = (cast("float", self.gamma) * values + self.coef0) ** self.degree
            return values + self.shift

    def precision(self, A: RowMatrix) -> float:
        """Relative size of the last digit of the kernel's values, tried on the first row."""
        dtype = np.dtype(np.float64)
        if callable(self.kernel):
            dtype = _as_array(self.kernel(A[:1], A[:1])).dtype
        is_short = dtype.kind == "f" and dtype.itemsize < 8
        return float(np.finfo(dtype if is_short else np.float64).eps)


def _as_array(values: Any) -> NDArray[Any]:
    """Return what a kernel of the user's own returned as an array."""
    try:
        return np.asarray(values)
    except ValueError:
        rule = "return an array with a row for each row of A"
        raise ParameterError("kernel", rule, got=type(values).__name__) from None


class RowStore:
    """Rows that are kept, in float64, all dense or all CSR.

    Parameters
    ----------
    rows : array or CSR array of shape (n, d)
        The first ones; there may be none.
    """

    def __init__(self, rows: RowMatrix) -> None:
        self._stacked: RowMatrix = rows
        self._fresh: list[RowMatrix] = []

    @classmethod
    def empty_like(cls, X: RowMatrix) -> Self:
        """Begin with no rows, dense or CSR as ``X`` is."""
        shape = (0, X.shape[1])
        return cls(sparse.csr_array(shape) if sparse.issparse(X) else np.empty(shape))

    @property
    def rows(self) -> RowMatrix:
        """All rows, in the order they came."""
        if self._fresh:
            parts = [*([self._stacked] if self._stacked.shape[0] else []), *self._fresh]
            stack: Any = sparse.vstack if sparse.issparse(self._stacked) else np.concatenate
            self._stacked, self._fresh = stack(parts), []
        return self._stacked

    def append(self, row: RowMatrix) -> None:
        """Keep a row, (1, d), as `alike` gives it."""
        self._fresh.append(row)

    def alike(self, X: RowMatrix) -> RowMatrix:
        """Bring rows to the form of those that are kept."""
        if X.shape[1] != self._stacked.shape[1]:
            raise ParameterError(
                "X", f"have {self._stacked.shape[1]} columns, as the first rows had", X.shape[1]
            )
        if hasattr(self._stacked, "indptr"):
            return sparse.csr_array(X, dtype=np.float64)
        return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)


def _squared_distances(A: RowMatrix, B: RowMatrix) -> NDArray[np.float64]:
    """Squared distances of all rows, right to the last digits also far from the origin."""
    from scipy.spatial.distance import cdist
    from sklearn.metrics.pairwise import euclidean_distances

    if not hasattr(A, "indptr"):
        if A.shape[1] <= FEW_COLUMNS:
            return np.asarray(cdist(A, B, "sqeuclidean"), dtype=np.float64)
        centre = B.mean(axis=0)
        A, B = A - centre, B - centre
    squares = np.asarray(euclidean_distances(A, B, squared=True), dtype=np.float64)
    lengths = _squared_lengths(A)[:, None] + _squared_lengths(B)
    rows, columns = np.nonzero(squares < NEAR * lengths)
    stride = max(1, CHUNK // A.shape[1])
    for low in range(0, len(rows), stride):
        i, j = rows[low : low + stride], columns[low : low + stride]
        squares[i, j] = _squared_lengths(A[i] - B[j])
    return squares


def _squared_lengths(A: RowMatrix) -> NDArray[np.float64]:
    return np.asarray((A * A).sum(axis=1), dtype=np.float64)


def _is_number(value: object, *, above: float) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    return bool(above < value < math.inf)
