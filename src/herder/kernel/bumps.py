r"""Sums of Gaussian bumps, with their gradients and Hessians.

With :math:`z_k = R_k (x - m_k)` and :math:`b_k = \exp(\ell_k - |z_k|^2 / 2)`,

.. math::
    f = \sum_k b_k, \qquad \nabla f = -\sum_k b_k R_k^\top z_k, \qquad
    \nabla^2 f = \sum_k b_k \bigl(R_k^\top z_k z_k^\top R_k - R_k^\top R_k\bigr).

The density of a mixture of Gaussians and its mean under a Gaussian kernel are both such sums.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bumps", "eliminate"]

#: Numbers held at a time for points times components: 8 MB of them.
BLOCK = 2**20


@dataclass(frozen=True, eq=False)
class Bumps:
    r"""A sum of Gaussian bumps, :math:`\sum_k \exp(\ell_k - |R_k (x - m_k)|^2 / 2)`.

    Parameters
    ----------
    means : ndarray of shape (k, d)
        Where the bumps are, :math:`m_k`.
    roots, precisions : ndarray of shape (k, d, d)
        :math:`R_k` and the inverse covariances :math:`R_k^\top R_k`.
    logs : ndarray of shape (k,)
        Logarithm of the height of each bump, :math:`\ell_k`.
    """

    means: NDArray[np.float64]
    roots: NDArray[np.float64]
    precisions: NDArray[np.float64]
    logs: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        means: NDArray[np.float64],
        covariances: NDArray[np.float64],
        log_weights: NDArray[np.float64],
    ) -> Self:
        """Set the bump of component k to the height ``exp(log_weights[k]) / |C_k|^(1/2)``."""
        lower = np.linalg.cholesky(covariances)
        roots = np.asarray(np.linalg.inv(lower), np.float64)
        precisions = np.einsum("kli,klj->kij", roots, roots)
        logs = log_weights - np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
        return cls(means, roots, precisions, logs)

    def value(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the bumps at each point, (n,)."""
        return np.exp(self.log_value(points))

    def gradient(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient of `value` at each point, (n, d)."""
        return self.value(points)[:, None] * self.log_gradient(points)

    def log_value(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithm of `value`, also where that underflows."""
        found = np.empty(len(points))
        for part in self._parts(len(points)):
            terms, _ = self._terms(points[part])
            top = terms.max(axis=1, keepdims=True)
            found[part] = top[:, 0] + np.log(np.exp(terms - top).sum(axis=1))
        return found

    def log_gradient(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the gradient of `log_value` at each point, (n, d)."""
        found = np.empty_like(points)
        for part in self._parts(len(points)):
            terms, white = self._terms(points[part])
            share = np.exp(terms - terms.max(axis=1, keepdims=True))
            share /= share.sum(axis=1, keepdims=True)
            slope = np.einsum("kij,nki->nkj", self.roots, white)
            found[part] = -np.einsum("nk,nkj->nj", share, slope)
        return found

    def derivatives(
        self, x: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """Return value, gradient and Hessian at one point."""
        white = np.einsum("kij,kj->ki", self.roots, x - self.means)
        height = np.exp(self.logs - 0.5 * np.einsum("ki,ki->k", white, white))
        slope = np.einsum("kij,ki->kj", self.roots, white)
        lean = height[:, None] * slope
        hessian = np.einsum("ki,kj->ij", lean, slope)
        hessian -= np.einsum("k,kij->ij", height, self.precisions)
        return float(height.sum()), -lean.sum(axis=0), hessian

    def _terms(self, points: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the logarithm of every bump at every point, and the whitened differences."""
        white = np.einsum("kij,nkj->nki", self.roots, points[:, None, :] - self.means)
        return self.logs - 0.5 * np.square(white).sum(axis=2), white

    def _parts(self, n: int) -> Iterator[slice]:
        step = max(1, BLOCK // self.means.size)
        for start in range(0, n, step):
            yield slice(start, start + step)


def eliminate(
    matrices: NDArray[np.float64], vectors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log of the root of each determinant, and v' M^-1 v, in d steps for all."""
    left, v = matrices.copy(), vectors.copy()
    log_root, square = np.zeros(len(v)), np.zeros(len(v))
    for i in range(v.shape[1]):
        pivot = left[:, i, i]
        log_root += 0.5 * np.log(pivot)
        square += v[:, i] ** 2 / pivot
        ratio = left[:, i + 1 :, i] / pivot[:, None]
        v[:, i + 1 :] -= ratio * v[:, i, None]
        left[:, i + 1 :, i + 1 :] -= ratio[:, :, None] * left[:, None, i, i + 1 :]
    return log_root, square
