r"""A Gaussian over the weights in a feature space, seen from the span of some supports.

The Cholesky factor of the Gram matrix of the supports, :math:`G = L L^T`, is an orthonormal basis
of their span. We keep it, the covariance S in that basis and the coefficients a of the mean,
:math:`\mu = \sum_i a_i \phi(x_i)`. A row with the kernel values :math:`k` to the supports and
:math:`k_0` to itself has the coordinates :math:`z = L^{-1} k` within the span and the squared
length :math:`r = k_0 - z^T z` outside, where the covariance is still the identity:

.. math:: v = z^T S z + r, \qquad a \leftarrow a + y \alpha L^{-T} S z, \qquad
          S \leftarrow S - h S z z^T S, \qquad h = 1 / (1/\beta + v).

A row that becomes a support first adds :math:`\sqrt r` to its z and a one to the diagonal of S.
Else its projection on the span takes its place, and nothing is lost where r = 0. Elsewhere r may
leave v or stay in it, as noise of that row; S stays positive either way.

Forgetting, :math:`\Sigma \leftarrow (1 - f) \Sigma + f I`, changes S alone: the matrix that is
kept is C in :math:`S = q C + (1 - q) I`, and q shrinks by 1 - f.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.core.plain import POSITIVE, Arrays, read_array
from herder.online import _dual_jit as _jit

__all__ = ["Sight", "SpanGaussian", "with_room"]

#: Units of rounding in a kernel value. With that error e, relative to k(x, x), to leave out a
#: residual r costs about r^(1/2), and to take it up as a direction e / r, for its length is wrong
#: by as much: the two meet at e^(2/3), 1e-10 in double precision.
NOISE = 5

#: Units of rounding below which, relative to the squared length of a row, a variance is none:
#: sums of some thousand products are no better than that.
ROUNDING = 4096

#: A residual this far below zero, relative to k(x, x), is no rounding error of a Mercer kernel.
NOT_MERCER = 0.1


class Sight(NamedTuple):
    """A row as seen from the span."""

    place: NDArray[np.float64]  # z and one entry to spare
    image: NDArray[np.float64]  # S z and one entry to spare
    within: float  # z'Sz; 0 if it is too small to be narrowed any further
    residual: float  # r; 0 if the row lies in the span
    variance: float  # v


class SpanGaussian:
    """Mean and covariance, with the triangles that `herder.online.dual` needs.

    Parameters
    ----------
    precision : float
        Relative size of the last digit of the kernel's values.
    """

    def __init__(self, precision: float = float(np.finfo(np.float64).eps)) -> None:
        self.precision = precision
        self.keep = 1.0
        self.size = 0
        self._coef = np.empty(0)
        self._drift = np.empty(0)  # sum over rows of (rows before) * step
        self._factor = np.empty(0)  # L and C, packed as in _dual_jit
        self._cover = np.empty(0)

    @property
    def coef(self) -> NDArray[np.float64]:
        """Coefficients of the supports in the mean."""
        return self._coef[: self.size]

    def averaged(self, n_seen: int) -> NDArray[np.float64]:
        """Coefficients of the average of the means after each of ``n_seen`` rows."""
        return self.coef - self._drift[: self.size] / max(n_seen, 1)

    def relax(self, forget: float) -> None:
        """Restore a share of the prior's variance."""
        self.keep *= 1.0 - forget
        if self.keep < 0.5:
            _jit.relax(self._cover, self.size, self.keep)
            self.keep = 1.0

    def look(self, values: NDArray[np.float64], prior: float, *, project: bool) -> Sight:
        """See a row with kernel ``values`` to the supports and ``prior`` to itself.

        With ``project`` the variance is that of the row's projection on the span alone.
        """
        place, image = np.empty(self.size + 1), np.empty(self.size + 1)
        length, within = _jit.look(self._factor, self._cover, self.keep, values, place, image)
        residual = prior - length
        if residual < -NOT_MERCER * prior or prior < 0.0:
            raise ParameterError(
                "kernel",
                "be a Mercer kernel",
                got=f"a Gram matrix that is not positive semi-definite: {prior:.6g} on its "
                f"diagonal, {length:.6g} from the other rows",
            )
        if residual <= (NOISE * self.precision) ** (2 / 3) * prior:
            residual = 0.0
        least = ROUNDING * self.precision * length
        within = within if within > least else 0.0
        variance = max(within, least) + (0.0 if project else residual)
        return Sight(place, image, within, residual, variance)

    def widen(self, sight: Sight) -> Sight:
        """Take a row that has a residual as a support; see it from the wider span."""
        n, end = self.size, self.size * (self.size + 1) // 2
        height = math.sqrt(sight.residual)
        sight.place[n] = sight.image[n] = height
        self._factor = with_room(self._factor, end + n + 1)
        self._factor[end : end + n + 1] = sight.place
        self._cover = with_room(self._cover, end + n + 1)
        self._cover[end : end + n] = 0.0
        self._cover[end + n] = 1.0
        self._coef, self._drift = with_room(self._coef, n + 1), with_room(self._drift, n + 1)
        self._coef[n] = self._drift[n] = 0.0
        self.size = n + 1
        return sight._replace(within=sight.variance, residual=0.0)

    def move(self, sight: Sight, step: float, gain: float, n_before: int) -> None:
        """Learn a row: ``step`` carries the sign of its label, ``n_before`` rows were seen."""
        image = sight.image[: self.size]
        shares = np.empty(self.size)
        _jit.back(self._factor, image, shares)
        shares *= step
        self.coef[:] += shares
        self._drift[: self.size] += n_before * shares
        if gain > 0.0 and sight.within > 0.0:
            weight = 1.0 / (1.0 / gain + sight.variance)
            _jit.narrow(self._cover, image, weight / self.keep)

    def triangles(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """L and S, as square matrices."""
        corner = np.tril_indices(self.size)
        factor, cover = np.zeros((2, self.size, self.size))
        factor[corner] = self._factor[: len(corner[0])]
        cover[corner] = self._cover[: len(corner[0])]
        cover += np.tril(cover, -1).T
        cover *= self.keep
        cover[np.diag_indices(self.size)] += 1.0 - self.keep
        return factor, cover

    def variances(
        self,
        values: NDArray[np.float64],
        prior: NDArray[np.float64],
        triangles: tuple[NDArray[np.float64], NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Variances of many rows: ``values`` (n_rows, size), ``prior`` (n_rows,)."""
        from scipy.linalg import solve_triangular

        factor, cover = triangles
        place = solve_triangular(factor, values.T, lower=True, check_finite=False)
        length = np.einsum("ij,ij->j", place, place)
        within = np.einsum("ij,ij->j", place, cover @ place)
        least = ROUNDING * self.precision * length
        return np.maximum(within, least) + np.maximum(prior - length, 0.0)

    def arrays(self) -> Arrays:
        """All of it, by name."""
        packed = self.size * (self.size + 1) // 2
        return {
            "scales": np.array([self.keep, self.precision]),
            "coef": self._coef[: self.size].copy(),
            "drift": self._drift[: self.size].copy(),
            "factor": self._factor[:packed].copy(),
            "cover": self._cover[:packed].copy(),
        }

    def restore(self, arrays: Arrays) -> None:
        """Take what `arrays` gave."""
        self._coef = read_array(arrays, "coef", (None,))
        self.size = len(self._coef)
        packed = self.size * (self.size + 1) // 2
        self._drift = read_array(arrays, "drift", (self.size,))
        self._factor = read_array(arrays, "factor", (packed,))
        if not (self._factor[np.cumsum(np.arange(1, self.size + 1)) - 1] > 0).all():
            raise ValueError("a factor with zeros on its diagonal")
        self._cover = read_array(arrays, "cover", (packed,))
        scales = read_array(arrays, "scales", (2,), low=POSITIVE, high=1.0)
        self.keep, self.precision = scales.tolist()


def with_room(array: NDArray[Any], length: int) -> NDArray[Any]:
    """Return ``array``, or a copy at least twice as long if it has not ``length`` entries."""
    if len(array) >= length:
        return array
    longer = np.empty((max(length, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer
