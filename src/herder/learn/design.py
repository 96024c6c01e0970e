r"""Rows in the form that the pseudo-likelihood needs: flipped, centred, as lists.

A column that is on in more than half of the rows is flipped, so that lists of what is on stay
short; with columns centred, :math:`z = x - \bar x`, a flip is a change of sign. Parameters are the
couplings V of z and, as a last line, the fields c at z = 0. Column i belongs to the conditional
distribution of site i.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from herder.learn import _pseudo_jit as _jit
from herder.learn.rows import DistinctRows

__all__ = ["Design"]

#: Columns that a pass over the rows handles at a time, so that their couplings stay in the cache.
WIDTH = 128

#: Least variance of a site: one that the others determine has none left, and is divided by it.
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Design:
    """Rows as lists of the sites that are on, in flipped and centred columns.

    Parameters
    ----------
    rows : Rows
        Lists of the sites that are on.
    means : ndarray of shape (n,)
        Share of rows where a site is on, at most about one half.
    covariance : ndarray of shape (n, n)
        Of the flipped columns.
    signs : ndarray of shape (n,)
        -1 where a column is flipped.
    curvatures : list of ndarray
        Weighted variances at the latest gradient, by blocks of columns.
    """

    rows: _jit.Rows
    means: NDArray[np.float64]
    covariance: NDArray[np.float64]
    signs: NDArray[np.float64]
    curvatures: list[NDArray[np.float32]]

    @classmethod
    def of(cls, sample: DistinctRows) -> "Design":
        """Return the design of rows without constant columns."""
        flipped = sample.means > 0.5
        lists = sparse.csr_array(sample.rows ^ flipped)
        n_rows, n = sample.rows.shape
        means = np.asarray(lists.T @ sample.weights)
        shares = sparse.csr_array(
            (np.repeat(sample.weights, np.diff(lists.indptr)), lists.indices, lists.indptr),
            shape=lists.shape,
        )
        covariance = (lists.T.astype(np.float64) @ shares).toarray() - np.outer(means, means)
        return cls(
            _jit.Rows(lists.indptr, lists.indices, sample.weights),
            means,
            covariance,
            np.where(flipped, -1.0, 1.0),
            [np.empty((n_rows, min(WIDTH, n - i)), np.float32) for i in range(0, n, WIDTH)],
        )

    @property
    def variances(self) -> NDArray[np.float64]:
        """Mean of p (1 - p) for each site, at the latest gradient."""
        sums = [part.sum(axis=0, dtype=np.float64) for part in self.curvatures]
        return np.maximum(np.concatenate(sums), LEAST_VARIANCE)

    def losses(
        self, theta: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the loss of every site and gradient; ``theta`` is V with c as its last line."""
        sums = self._pass(theta, losses=True)
        return sums[-1], self._centre(sums[:-1])

    def bend(self, direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply the Hessian at the latest gradient by a direction."""
        return self._centre(self._pass(direction, losses=False))

    def _pass(self, theta: NDArray[np.float64], *, losses: bool) -> NDArray[np.float64]:
        """Sum residuals and losses over the rows, or changes of residuals along ``theta``."""
        n = len(self.means)
        couplings, base = theta[:-1], theta[-1] - self.means @ theta[:-1]
        sums = np.empty((n + 1 + losses, n))
        for first, curvature in zip(range(0, n, WIDTH), self.curvatures, strict=True):
            part = slice(first, first + curvature.shape[1])
            block = np.ascontiguousarray(couplings[:, part])
            found = np.zeros((len(sums), curvature.shape[1]))
            if losses:
                _jit.residuals(self.rows, first, block, base[part], found, curvature)
            else:
                _jit.bends(self.rows, block, base[part], curvature, found)
            sums[:, part] = found
        return sums

    def start(self) -> NDArray[np.float64]:
        """Return independent sites: no couplings, and log odds."""
        theta = np.zeros((len(self.means) + 1, len(self.means)))
        theta[-1] = np.log(self.means) - np.log1p(-self.means)
        return theta

    def enter(
        self, couplings: NDArray[np.float64], biases: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Turn couplings and biases of 0/1 states into parameters."""
        means = np.where(self.signs < 0, 1 - self.means, self.means)
        fields = biases + couplings @ means
        return np.vstack([couplings.T * np.outer(self.signs, self.signs), fields * self.signs])

    def leave(self, theta: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Turn parameters into couplings, not necessarily symmetric, and biases of 0/1 states.

        Line i of the couplings belongs to the conditional distribution of site i.
        """
        means = np.where(self.signs < 0, 1 - self.means, self.means)
        couplings = theta[:-1].T * np.outer(self.signs, self.signs) + 0.0
        return couplings, theta[-1] * self.signs - couplings @ means

    def raw(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn a gradient in (V, c) into one in (W, b) of 0/1 states as they came."""
        means = np.where(self.signs < 0, 1 - self.means, self.means)
        biases = gradient[-1] * self.signs
        couplings = gradient[:-1] * np.outer(self.signs, self.signs) + np.outer(means, biases)
        return np.vstack([couplings, biases])

    def _centre(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        sums[:-1] -= np.outer(self.means, sums[-1])
        return sums
