r"""Mixtures of Gaussians, with densities, kernel means and moments in closed form.

For :math:`p = \sum_k w_k N(m_k, C_k)` and the Gaussian kernel with bandwidth h (one for all
columns or one for each, :math:`H = \operatorname{diag}(h^2)`) the kernel mean and its own mean are

.. math::
    \mu(x) = E_p k(x, \cdot) &= \sum_k w_k \frac{|H|^{1/2}}{|C_k + H|^{1/2}}
        \exp\bigl(-\tfrac{1}{2} (x - m_k)^\top (C_k + H)^{-1} (x - m_k)\bigr), \\
    \|\mu\|^2 = E_p \mu &= \sum_{kl} w_k w_l \frac{|H|^{1/2}}{|C_k + C_l + H|^{1/2}}
        \exp\bigl(-\tfrac{1}{2} (m_k - m_l)^\top (C_k + C_l + H)^{-1} (m_k - m_l)\bigr).

The density and the kernel mean are both sums of Gaussian bumps (`herder.kernel.bumps`). Moments
of one coordinate follow from :math:`E z^n = m E z^{n-1} + (n - 1) s^2 E z^{n-2}` for
:math:`z \sim N(m, s^2)`.
"""

import math
from dataclasses import dataclass
from itertools import count
from typing import Any, Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import generator, positive_int, real_array
from herder.kernel.bumps import Bumps, eliminate

__all__ = ["GaussianMixture", "as_bandwidth", "as_floats", "halton"]

#: Covariances may be asymmetric, and weights may miss the sum of one, by this much (relative to
#: the largest entry): fitted models are not exact.
TOLERANCE = 1e-8


@dataclass(frozen=True, eq=False)
class GaussianMixture:
    """A mixture of Gaussians in d dimensions, to be herded by `herd_density`.

    Parameters
    ----------
    means : array-like of shape (k, d)
        Mean of each component.
    covariances : array-like of shape (k, d, d), (k, d) or (k,), or a number
        Of each component: a matrix, the variances of the coordinates, or one variance for all
        coordinates; a number is the variance of everything. Stored as matrices.
    weights : array-like of shape (k,), optional
        Probability of each component; equal by default.

    Examples
    --------
    >>> from herder import GaussianMixture
    >>> mixture = GaussianMixture([[0.0], [4.0]], 1.0)
    >>> mixture.moment(2)
    array([9.])
    """

    means: NDArray[np.float64]
    covariances: NDArray[np.float64]
    weights: NDArray[np.float64]

    def __init__(
        self, means: ArrayLike, covariances: ArrayLike, weights: ArrayLike | None = None
    ) -> None:
        centres = as_floats(means, "means")
        if centres.ndim != 2 or 0 in centres.shape:
            got = f"the shape {centres.shape}; for one dimension use means.reshape(-1, 1)"
            raise ParameterError("means", "have the shape (components, dimensions)", got=got)
        matrices = _matrices(covariances, *centres.shape)
        shares = _shares(weights, len(centres))
        for name, array in (("means", centres), ("covariances", matrices), ("weights", shares)):
            own = np.array(array)
            own.flags.writeable = False
            object.__setattr__(self, name, own)

    @classmethod
    def from_sklearn(cls, model: Any) -> Self:
        """Make a mixture of a fitted one of scikit-learn, of any ``covariance_type``.

        Parameters
        ----------
        model : object
            With ``means_``, ``covariances_``, ``weights_`` and ``covariance_type``; Bayesian
            mixtures have them too.
        """
        if not hasattr(model, "covariance_type"):
            kind = type(model).__name__
            raise ParameterTypeError("model", "be a GaussianMixture of scikit-learn", got=kind)
        if not hasattr(model, "means_"):
            raise ParameterError("model", "be fitted", got=f"an unfitted {type(model).__name__}")
        means = np.asarray(model.means_, np.float64)
        covariances = np.asarray(model.covariances_, np.float64)
        if model.covariance_type == "tied":
            covariances = np.broadcast_to(covariances, (len(means), *covariances.shape))
        return cls(means, covariances, model.weights_)

    @property
    def n_components(self) -> int:
        """Number of components, k."""
        return self.means.shape[0]

    @property
    def n_features(self) -> int:
        """Number of dimensions, d."""
        return self.means.shape[1]

    def density(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the density at each of the points (n, d)."""
        return self._density_bumps().value(self._points(points))

    def log_density(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the density, also far out where the density underflows."""
        return self._density_bumps().log_value(self._points(points))

    def score(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the gradient of the log density at points (n, d), as Stein kernels need it."""
        return self._density_bumps().log_gradient(self._points(points))

    def kernel_mean(self, points: ArrayLike, bandwidth: ArrayLike) -> NDArray[np.float64]:
        """Return the mean of the Gaussian kernel under the mixture at each of the points (n, d).

        Parameters
        ----------
        points : array-like of shape (n, d)
            Where.
        bandwidth : float or array-like of shape (d,)
            Of the kernel ``exp(-|(x - y) / bandwidth|^2 / 2)``.
        """
        return self.kernel_bumps(bandwidth).value(self._points(points))

    def kernel_mean_gradient(self, points: ArrayLike, bandwidth: ArrayLike) -> NDArray[np.float64]:
        """Return the gradient of `kernel_mean` at each of the points, (n, d)."""
        return self.kernel_bumps(bandwidth).gradient(self._points(points))

    def kernel_norm(self, bandwidth: ArrayLike) -> float:
        """Return the squared RKHS norm of the kernel mean: its own mean under the mixture."""
        length = as_bandwidth(bandwidth, self.n_features)
        widened = self.covariances + np.diag(length**2)
        found = 0.0
        # One component at a time with itself and, twice, with those after it.
        for k, (mean, covariance) in enumerate(zip(self.means, self.covariances, strict=True)):
            log_root, square = eliminate(widened[k:] + covariance, self.means[k:] - mean)
            row = self.weights[k:] * np.exp(np.log(length).sum() - log_root - square / 2)
            found += float(self.weights[k] * (2 * row.sum() - row[0]))
        return found

    def kernel_bumps(self, bandwidth: ArrayLike) -> Bumps:
        """Return the kernel mean as a sum of bumps."""
        length = as_bandwidth(bandwidth, self.n_features)
        return self._bumps(self.covariances + np.diag(length**2), float(np.log(length).sum()))

    def moment(self, order: SupportsIndex) -> NDArray[np.float64]:
        """Return the mean of ``x_i ** order`` under the mixture for each coordinate i, (d,).

        Parameters
        ----------
        order : int
            1 for the mean, 2 for the raw second moment, and so on.
        """
        order = positive_int(order, "order")
        variance = np.diagonal(self.covariances, axis1=1, axis2=2)
        before, last = np.zeros_like(self.means), np.ones_like(self.means)
        for n in range(1, order + 1):
            before, last = last, self.means * last + (n - 1) * variance * before
        return self.weights @ last

    def sample(
        self, n_samples: SupportsIndex, *, random_state: int | np.random.Generator | None = None
    ) -> NDArray[np.float64]:
        """Draw independent points (n_samples, d).

        Parameters
        ----------
        n_samples : int
            How many.
        random_state : int, Generator or None
            Seed or source of random numbers.
        """
        rng = generator(random_state)
        n_samples = positive_int(n_samples, "n_samples")
        component = rng.choice(self.n_components, size=n_samples, p=self.weights)
        return self._push(component, rng.standard_normal((n_samples, self.n_features)))

    def quasi_sample(self, n_samples: SupportsIndex) -> NDArray[np.float64]:
        """Spread points (n_samples, d) over the mixture evenly and without randomness.

        A Halton sequence of d + 1 coordinates: the first chooses the component, the others go
        through the quantiles of the normal distribution. The average of a function over these
        points is close to its mean; n points are the first n of more.

        Parameters
        ----------
        n_samples : int
            How many.
        """
        from scipy.special import ndtri

        unit = halton(positive_int(n_samples, "n_samples"), self.n_features + 1)
        # The last edge is one up to rounding; without it no number of [0, 1) lies beyond.
        component = np.searchsorted(np.cumsum(self.weights)[:-1], unit[:, 0], side="right")
        return self._push(component, ndtri(unit[:, 1:]))

    def _push(
        self, component: NDArray[np.integer], normal: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Turn standard normal rows into rows of the given components."""
        points = np.empty_like(normal)
        roots = np.linalg.cholesky(self.covariances)
        for k in range(self.n_components):
            mine = component == k
            points[mine] = self.means[k] + np.einsum("ij,nj->ni", roots[k], normal[mine])
        return points

    def _points(self, points: ArrayLike) -> NDArray[np.float64]:
        rows, d = as_floats(points, "points"), self.n_features
        if rows.ndim != 2 or rows.shape[1] != d:
            raise ParameterError("points", f"have the shape (n, {d})", rows.shape)
        if (np.abs(rows) > 1e150).any():  # squares are not floats any more
            raise ParameterError("points", "be numbers up to 1e150", np.abs(rows).max())
        return rows

    def _density_bumps(self) -> Bumps:
        return self._bumps(self.covariances, -0.5 * self.n_features * np.log(2 * np.pi))

    def _bumps(self, covariances: NDArray[np.float64], log_constant: float) -> Bumps:
        with np.errstate(divide="ignore"):  # a component without weight has no bump
            return Bumps.of(self.means, covariances, np.log(self.weights) + log_constant)


def as_bandwidth(bandwidth: ArrayLike, n_features: int) -> NDArray[np.float64]:
    """Return a bandwidth as one positive length for each dimension."""
    length = as_floats(bandwidth, "bandwidth")
    # Squares of lengths beyond these are not floats any more.
    fits = (length > 1e-150) & (length < 1e150)
    if length.shape not in ((), (1,), (n_features,)) or not fits.all():
        numbers = f"or one for each of the {n_features} dimensions, from 1e-150 to 1e150"
        raise ParameterError("bandwidth", f"be a positive number, {numbers}", bandwidth)
    return np.broadcast_to(length, (n_features,)).copy()


def halton(n: int, n_features: int) -> NDArray[np.float64]:
    """Return the first n points of the Halton sequence in the open unit cube.

    They equal those of ``scipy.stats.qmc.Halton(scramble=False)`` after the origin; importing
    `scipy.stats` would take about a second.
    """
    points = np.zeros((n, n_features))
    primes = (p for p in count(2) if all(p % q for q in range(2, math.isqrt(p) + 1)))
    for column, base in zip(points.T, primes, strict=False):
        left, digit_value = np.arange(1, n + 1), 1.0
        while left.any():
            digit_value /= base
            left, digit = np.divmod(left, base)
            column += digit * digit_value
    return points


def _matrices(covariances: ArrayLike, k: int, d: int) -> NDArray[np.float64]:
    """Check covariances and return them as k symmetric positive definite matrices."""
    given = as_floats(covariances, "covariances")
    if given.shape not in ((), (k,), (k, d), (k, d, d)):
        rule = f"be a number or have the shape ({k},), ({k}, {d}) or ({k}, {d}, {d})"
        raise ParameterError("covariances", rule, got=f"the shape {given.shape}")
    matrices = given
    if given.ndim < 3:
        variances = given if given.ndim == 2 else given.reshape(-1, 1)
        matrices = np.broadcast_to(variances, (k, d))[:, :, None] * np.eye(d)
    turned = np.swapaxes(matrices, 1, 2)
    size = np.abs(matrices).max(axis=(1, 2))
    skewed = np.abs(matrices - turned).max(axis=(1, 2)) > TOLERANCE * size
    if skewed.any():
        got = f"another matrix for component {skewed.argmax()}"
        raise ParameterError("covariances", "be symmetric", got=got)
    matrices = matrices / 2 + turned / 2
    flat = (np.diagonal(matrices, axis1=1, axis2=2) <= 0).any(axis=1)
    if flat.any():
        got = f"{matrices[flat.argmax()].tolist()} for component {flat.argmax()}"
        raise ParameterError("covariances", "be positive definite", got=got)
    # Correlations, so that coordinates of very different spread do not look singular.
    spread = np.sqrt(np.maximum(np.diagonal(matrices, axis1=1, axis2=2), np.finfo(float).tiny))
    least = np.linalg.eigvalsh(matrices / spread[:, :, None] / spread[:, None, :])[:, 0]
    if (least <= d * np.finfo(float).eps).any():
        got = f"{matrices[least.argmin()].tolist()} for component {least.argmin()}"
        raise ParameterError("covariances", "be positive definite", got=got)
    return matrices


def _shares(weights: ArrayLike | None, k: int) -> NDArray[np.float64]:
    """Check weights of k components and make their sum exact."""
    if weights is None:
        return np.full(k, 1 / k)
    given = as_floats(weights, "weights")
    if given.shape != (k,):
        raise ParameterError("weights", f"have the shape ({k},)", given.shape)
    if (given < 0).any() or abs(given.sum() - 1) > TOLERANCE:
        got = f"the least {given.min()} and the sum {given.sum()}"
        raise ParameterError("weights", "not be negative and sum to one", got=got)
    return given / given.sum()


def as_floats(values: Any, name: str) -> NDArray[np.float64]:
    """Return ``values`` as finite floats."""
    array = real_array(values, name)
    if not np.isfinite(array).all():
        raise ParameterError(name, "be finite", got="NaN or infinity")
    return array
