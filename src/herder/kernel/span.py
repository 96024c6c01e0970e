r"""The span of some kernel functions, in an orthonormal basis, while rows leave and enter.

A function in the span is a vector of coordinates. The basis is kept as values at the rows of a
pool; an exchange appends one function to it, orthogonal to all before, so that all earlier
coordinates stay valid, and after m/4 exchanges it is built anew. Column s of ``dual`` is the
function :math:`\ell_s` that is one at support row s and zero at the others. Its direction is
what the span loses when s leaves,

.. math:: r \leftarrow r + \frac{\langle \ell_s, t \rangle}{|\ell_s|^2} \ell_s, \qquad
          p \leftarrow p + \ell_s^2 / |\ell_s|^2,

and its product with the target is the weight of s. A row j that enters brings the direction f of
what is left of its kernel function: the same with the signs turned. All directions are unit
vectors, so no digits are lost where the Gram matrix is nearly singular; the entries of its
inverse, which would do as well on paper, are then so large that none are left.
"""

import math

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.kernel.candidates import Candidates

__all__ = ["LAST_RIDGE", "Span", "lower_factor"]

#: Exchanges between two rebuilds of the basis, per row of the support.
DELAY = 0.25

#: Least ridge, relative to the mean of k(x, x): a thousand times the rounding error of a kernel
#: value.
LAST_RIDGE = 2e-13

#: A Gram matrix that needs a larger ridge, relative to its scale, is not one.
LARGEST_RIDGE = 1e-4


def lower_factor(
    gram: NDArray[np.float64], ridge: float, scale: float
) -> tuple[NDArray[np.float64], float]:
    """Return the Cholesky factor of a Gram matrix with a ridge on its diagonal, and the ridge.

    The ridge grows tenfold until it covers the rounding errors of the kernel values.
    """
    from scipy.linalg import cholesky

    if not np.isfinite(gram).all():
        raise ParameterError("kernel", "return finite values", got="NaN or infinity")
    while True:
        matrix = gram.copy()
        matrix[np.diag_indices_from(matrix)] += ridge
        try:
            return cholesky(matrix, lower=True, overwrite_a=True, check_finite=False), ridge
        except np.linalg.LinAlgError:
            ridge = max(10 * ridge, LAST_RIDGE * scale)
            if ridge > LARGEST_RIDGE * scale:
                got = f"a Gram matrix with an eigenvalue of {np.linalg.eigvalsh(gram)[0]:.3g}"
                raise ParameterError("kernel", "be positive semi-definite", got=got) from None


class Span:
    """Span of a support, seen from the rows of a pool.

    Parameters
    ----------
    candidates : Candidates
        All rows, under one kernel.
    target : array of shape (n_rows,)
        Target mean at every row.
    support : array of int
        Rows whose kernel functions span the space.
    pool : array of int
        Rows that may enter.
    shift : float
        Constant c added to the kernel.
    ridge : float
        Penalty on the squared weights.
    """

    def __init__(
        self,
        candidates: Candidates,
        target: NDArray[np.float64],
        support: NDArray[np.intp],
        pool: NDArray[np.intp],
        shift: float,
        ridge: float,
    ) -> None:
        self.candidates, self.shift, self.ridge = candidates, shift, ridge
        self.rows = np.concatenate([support, np.setdiff1d(pool, support, assume_unique=True)])
        self.places = np.arange(len(support))
        self.target = target[self.rows] + shift
        self.delay = math.ceil(DELAY * len(support))
        self.values = np.empty((len(support) + self.delay, len(self.rows)))
        self.build()

    @property
    def support(self) -> NDArray[np.intp]:
        """Rows in the support."""
        return self.rows[self.places]

    def build(self) -> None:
        """Orthonormalise the kernel functions of the support anew."""
        from scipy.linalg import solve_triangular

        m = len(self.places)
        size = m + self.delay
        cross = self.candidates.gram(self.support, self.rows)
        cross += self.shift
        factor, ridge = lower_factor(cross[:, self.places], self.ridge, self.shift)
        self.ridge = ridge
        cross[np.arange(m), self.places] += ridge
        basis = solve_triangular(factor, cross, lower=True, overwrite_b=True, check_finite=False)
        self.size = m
        self.values[:m] = basis
        self.corners = np.zeros((size, m))  # coordinates of the kernel functions
        self.corners[:m] = factor.T
        self.dual = np.zeros((size, m))
        self.dual[:m] = solve_triangular(factor, np.eye(m), lower=True, check_finite=False)
        self.aim = np.zeros(size)  # coordinates of the target
        self.aim[:m] = solve_triangular(
            factor, self.target[self.places], lower=True, check_finite=False
        )
        self.residual = self.target - self.aim[:m] @ basis
        diagonal = self.candidates.diagonal[self.rows] + (self.shift + ridge)
        self.power = diagonal - np.einsum("ij,ij->j", basis, basis)
        # The dual functions at the rows: as built, and what exchanges since then have added.
        self.built = self.dual[:m].T @ basis
        self.kept = np.ones(m)
        self.added = np.empty((2 * self.delay, len(self.rows)))
        self.shares = np.zeros((2 * self.delay, m))
        self.n_added = 0

    def without(
        self, k: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the direction the span loses without its k-th row; residual and power then."""
        dual = self.dual[: self.size, k]
        length = math.sqrt(float(dual @ dual))
        direction = dual / length
        lost = self.shares[: self.n_added, k] @ self.added[: self.n_added]
        lost += self.kept[k] * self.built[k]
        lost /= length
        self.lost = lost
        residual = self.residual + float(direction @ self.aim[: self.size]) * lost
        return direction, residual, self.power + lost * lost

    def swap(
        self,
        k: int,
        j: int,
        direction: NDArray[np.float64],
        residual: NDArray[np.float64],
        power: NDArray[np.float64],
    ) -> None:
        """Put pool row j in place of the k-th support row; the rest comes from `without`."""
        size = self.size
        dual, values = self.dual[:size], self.values[:size]
        column = self.candidates.gram(self.rows[j : j + 1], self.rows)[0] + self.shift
        column[j] += self.ridge
        place = values[:, j].copy()
        leaving = direction @ dual
        inner = place @ dual - float(place @ direction) * leaving
        inner[k] = 0.0
        fresh = place - self.corners[:size] @ inner
        self.aim[:size] -= float(direction @ self.aim[:size]) * direction
        # A row that is new to the basis brings at least the ridge, and a function that is zero at
        # all rows it was built from; one that was in it before lies in its span.
        rest = float(column[j] - place @ place)
        if rest > 0.5 * self.ridge:
            within, profile = np.stack([place, fresh]) @ values
            height = math.sqrt(rest)
            self.values[size] = (column - within) / height
            profile += height * self.values[size]
            place, fresh = np.append(place, height), np.append(fresh, height)
            direction = np.append(direction, 0.0)
            self.size = size = size + 1
        else:
            profile = fresh @ values
        length = math.sqrt(float(fresh @ fresh))
        fresh /= length
        profile /= length
        inner /= length
        step = float(residual[j]) / length
        self.residual = residual - step * profile
        self.power = power - profile * profile
        self.aim[:size] += step * fresh
        self.dual[:size] -= np.column_stack([direction, fresh]) @ np.stack([leaving, inner])
        self.dual[:size, k] = fresh / length
        self.corners[:size, k] = place
        self.corners[size:, k] = 0.0
        n = self.n_added
        self.added[n : n + 2] = self.lost, profile
        self.shares[n : n + 2] = -leaving, -inner
        self.shares[:, k] = 0.0
        self.shares[n + 1, k] = 1 / length
        self.kept[k] = 0.0
        self.n_added = n + 2
        self.places[k] = j
        if self.n_added == len(self.added):
            self.build()
