r"""Columns on one scale, for learners that multiply them by weights of one scale.

Dense columns are centred and divided by their standard deviations, or by a quarter of their
largest deviation where that is more: a pixel that is rarely on would else become very large.
Sparse columns are only divided by one number, so that zeros stay zeros. In both cases the mean
squared entry is then 1.

Herding prefers states of large features. The *normalising feature*
:math:`\sqrt{R^2 - \|x\|^2}`, with R the largest norm of a row, gives all rows the same norm
([chen2014]_, section 3.4.1); it is 0 for new rows that are longer.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from herder._errors import ParameterError

__all__ = ["ColumnScaling"]

#: Entries of the rows that a scaling was made of are at most about this, before all columns are
#: multiplied by one number. Deviations of a Gaussian column of some thousand rows are below it.
LARGEST = 4.0

#: Scaled entries of new rows are kept within this, so that their squares are numbers in float32.
LIMIT = 1e6

#: Columns whose deviation is below so many rounding errors of their largest entry are constant.
ROUNDING = 8

#: Numbers in one block of rows that is scaled: 64 MB.
BLOCK = 2**23


@dataclass(frozen=True, slots=True)
class ColumnScaling:
    """How rows become the inputs of a learner, in single precision.

    Parameters
    ----------
    centre, factor : ndarray of shape (n_features,)
        Subtracted from each column, and then multiplied with it.
    radius : float
        The largest norm of a scaled row; if it is positive, the normalising feature is appended.
    """

    centre: NDArray[np.float64]
    factor: NDArray[np.float64]
    radius: float = 0.0

    @classmethod
    def of(cls, rows: Any, *, standardise: bool = True, normalise: bool = False) -> Self:
        """Return the scaling of rows, dense or CSR, with the normalising feature or without."""
        n_features = rows.shape[1]
        centre, factor = np.zeros(n_features), np.ones(n_features)
        if standardise and sparse.issparse(rows):
            factor[:] = _one_factor(rows)
        elif standardise:
            centre, factor = _factors(rows)
        else:
            data = rows.data if sparse.issparse(rows) else rows
            if np.abs(data).max(initial=0.0) > LIMIT:
                rule = f"be within ±{LIMIT:g} unless it is standardised"
                raise ParameterError("X", rule, got=f"{np.abs(data).max():g}")
        plain = cls(centre, factor)
        if not normalise:
            return plain
        norms = [_squares(plain.apply(part)).max() for part in _parts(rows)]
        return cls(centre, factor, float(np.sqrt(max(norms))))

    @property
    def width(self) -> int:
        """Number of inputs."""
        return len(self.centre) + (self.radius > 0)

    def apply(self, rows: Any) -> Any:
        """Return scaled rows in float32, C-contiguous or CSR."""
        if sparse.issparse(rows) and self.centre.any():
            rows = rows.toarray()  # learnt from dense rows
        if sparse.issparse(rows):
            with np.errstate(over="ignore"):
                data = np.clip(rows.data * self.factor[rows.indices], -LIMIT, LIMIT)
            parts = data.astype(np.float32), rows.indices, rows.indptr
            found = sparse.csr_array(parts, shape=rows.shape)
            if not self.radius:
                return found
            return sparse.csr_array(sparse.hstack([found, self._last(found)[:, None]], "csr"))
        table = np.empty((rows.shape[0], self.width), np.float32)
        low = 0
        with np.errstate(over="ignore", invalid="ignore"):
            for part in _parts(rows):
                scaled = np.clip((part - self.centre) * self.factor, -LIMIT, LIMIT)
                scaled[:, self.factor == 0] = 0  # also where the difference is no number
                table[low : low + len(part), : rows.shape[1]] = scaled
                low += len(part)
        if self.radius:
            table[:, -1] = self._last(table[:, :-1])
        return table

    def _last(self, scaled: Any) -> NDArray[np.float32]:
        """Return the normalising feature of scaled rows."""
        return np.sqrt(np.maximum(self.radius**2 - _squares(scaled), 0)).astype(np.float32)


def _one_factor(rows: Any) -> float:
    """Return a number that makes the mean squared entry of CSR rows 1."""
    peak = float(np.abs(rows.data).max(initial=0.0))
    if not peak:
        return 1.0
    total = float(np.sum((rows.data / peak).astype(np.float64) ** 2))
    return float(np.sqrt(rows.shape[0] * rows.shape[1] / total) / peak)


def _factors(rows: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return centres and factors of dense columns; those of constant ones are 0."""
    n_rows, n_features = rows.shape
    # in units of the largest entries, whose squares are floats
    units = np.maximum(np.abs(rows).max(axis=0).astype(np.float64), np.finfo(float).tiny)
    means, squares, peaks = np.zeros((3, n_features))
    for part in _parts(rows):
        means += (part / units).sum(axis=0) / n_rows
    for part in _parts(rows):
        gaps = np.abs(part / units - means)
        squares += (gaps**2).sum(axis=0) / n_rows
        peaks = np.maximum(peaks, gaps.max(axis=0))
    sizes = np.maximum(np.sqrt(squares), peaks / LARGEST)
    varies = sizes > ROUNDING * np.finfo(rows.dtype).eps
    factor = np.zeros(n_features)
    if varies.any():
        mean_square = np.sum(squares[varies] / sizes[varies] ** 2) / n_features
        factor[varies] = 1 / sizes[varies] / units[varies] / np.sqrt(mean_square)
    return means * units, factor


def _squares(scaled: Any) -> NDArray[np.float64]:
    if sparse.issparse(scaled):
        return np.asarray(scaled.multiply(scaled).sum(axis=1), np.float64).ravel()
    return np.einsum("ij,ij->i", scaled, scaled, dtype=np.float64)


def _parts(rows: Any) -> list[Any]:
    """Return rows in blocks that stay small in double precision."""
    if sparse.issparse(rows):
        return [rows]
    stride = max(1, BLOCK // max(1, rows.shape[1]))
    return [rows[low : low + stride] for low in range(0, rows.shape[0], stride)]
