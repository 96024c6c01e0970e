r"""The maximisation in herding of a density: ascend from a start to a peak of the score.

After T picks the score of equation 4.20 of [chen2014]_ is

.. math:: f(x) = \mu(x) - \frac{1}{T+1} \sum_{t \le T} k(x, s_t).

*A mixture of Gaussians with a Gaussian kernel* (`MixtureLandscape`) has its gradient g and Hessian
A in closed form, at the price of about one more value each, so that Newton's method is used where
the thesis uses gradient ascent. With :math:`A = V \Lambda V^\top` the step is
:math:`V |\Lambda|^{-1} V^\top g`, which goes uphill whatever the signs of the eigenvalues, no
longer than a limit, and halved until the score has risen. At a saddle, where g is zero, it
goes along the direction that bends upwards most. Near a peak the steps converge quadratically, to
rounding error. Herds are chaotic: a difference in the last digit of one pick grows until, some
hundred picks later, the herd is a different one. So peaks are rounded to a grid.

*A function* (`FunctionLandscape`) is climbed by L-BFGS if its gradient is known and the kernel is
smooth, and by the simplex of Nelder and Mead if not: no differences are taken, so that noise in
the function is not amplified, but it is slow beyond about ten dimensions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder.kernel.functions import Kernel, Radial
from herder.kernel.mixture import GaussianMixture, as_floats

__all__ = ["FunctionLandscape", "KernelMean", "MixtureLandscape", "Peak", "PointFunction"]

#: One number, or one row, for each row.
PointFunction: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]

#: Newton steps at most. Five or six are usual; starts in flat regions take longer.
MAX_STEPS = 100

#: Longest first step, in bandwidths: beyond it the quadratic model of one kernel is no guide. The
#: limit doubles with every step that reached it, for kernels much narrower than the target.
FIRST_LENGTH = 1.0

#: A predicted gain below this part of the two sums that make the score is rounding.
FLAT = 1e-14

#: Steps shorter than this many bandwidths change nothing.
SHORT = 1e-12

#: A last step that is justified by the gradient alone is at most this long, in bandwidths.
NEAR = 1e-3

#: Picks lie on a grid of this many points to a bandwidth: far coarser than the rounding error of
#: a peak, so that other machines find the same picks, and far too fine to lower a score.
GRID = 2.0**22

#: Curvature below this part of the largest counts as none.
LEAST_CURVATURE = 1e-8

#: First step away from a saddle, in bandwidths.
NUDGE = 0.1

#: Picks that are summed together, so that they stay in the cache.
BLOCK = 4096


@dataclass(frozen=True, eq=False)
class KernelMean:
    """The kernel mean of a density, given as a function.

    Parameters
    ----------
    function : callable
        Takes points (n, d), returns the mean of ``k(x, .)`` under the density at each, (n,).
    gradient : callable, optional
        Takes points (n, d), returns the gradient of ``function`` at each, (n, d). Without it each
        maximisation is a simplex search: fine in a few dimensions, slow in many.
    squared_norm : float, optional
        Mean of ``function`` under the density. Without it errors are not known (NaN).
    bounds : array-like of shape (d, 2), optional
        Lowest and highest value of each coordinate; picks stay inside.
    """

    function: Callable[[NDArray[np.float64]], ArrayLike]
    gradient: Callable[[NDArray[np.float64]], ArrayLike] | None = None
    squared_norm: float | None = None
    bounds: ArrayLike | None = None

    def __post_init__(self) -> None:
        for name, given in (("function", self.function), ("gradient", self.gradient)):
            if not callable(given) and (name == "function" or given is not None):
                raise ParameterTypeError(name, "be callable", got=type(given).__name__)
        if self.squared_norm is not None and as_floats(self.squared_norm, "squared_norm").ndim:
            raise ParameterError("squared_norm", "be a number", self.squared_norm)
        box = self.box
        if box is not None and (
            box.ndim != 2 or box.shape[1] != 2 or not len(box) or (box[:, 0] >= box[:, 1]).any()
        ):
            rule = "be a pair (lowest, highest) for each coordinate, lowest first"
            raise ParameterError("bounds", rule, self.bounds)

    @property
    def box(self) -> NDArray[np.float64] | None:
        """The bounds as an array."""
        return None if self.bounds is None else as_floats(self.bounds, "bounds")

    @property
    def n_features(self) -> int | None:
        """Number of dimensions, if there are bounds."""
        return None if self.box is None else len(self.box)

    def mean(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Call the function and check its values."""
        points = _points(points)
        return _checked(self.function(points), (len(points),), "function")

    def slopes(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Call the gradient and check its values."""
        if self.gradient is None:
            raise ParameterTypeError("gradient", "be callable", None)
        points = _points(points)
        return _checked(self.gradient(points), points.shape, "gradient")


def _points(points: ArrayLike) -> NDArray[np.float64]:
    rows = as_floats(points, "points")
    if rows.ndim != 2 or not rows.shape[1]:
        raise ParameterError("points", "have the shape (n, d)", rows.shape)
    return rows


def _checked(found: ArrayLike, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    name = f"values of the {name} of the target"
    values = as_floats(found, name)
    if values.shape != shape:
        rule = f"have the shape {shape} for {shape[0]} points"
        raise ParameterError(name, rule, got=f"the shape {values.shape}")
    return values


class Peak(NamedTuple):
    """A pick: where it is, the kernel mean there, and the sum of k to all earlier picks."""

    point: NDArray[np.float64]
    mean: float
    total: float


class _View(NamedTuple):
    """The score, its gradient and its Hessian at one place, in bandwidths."""

    place: NDArray[np.float64]
    mean: float
    total: float
    score: float
    gradient: NDArray[np.float64]
    hessian: NDArray[np.float64]


class MixtureLandscape:
    """Score of a mixture of Gaussians under a Gaussian kernel, with Newton's method.

    Parameters
    ----------
    mixture : GaussianMixture
        The target.
    length : ndarray of shape (d,)
        Bandwidth of each dimension.
    room : int
        Picks there will be at most.
    """

    def __init__(self, mixture: GaussianMixture, length: NDArray[np.float64], room: int) -> None:
        self._length = length
        # In bandwidths, so that the kernel is exp(-r^2 / 2) and steps have no unit.
        covariances = mixture.covariances / length[:, None] / length
        scaled = GaussianMixture(mixture.means / length, covariances, mixture.weights)
        self._scaled, self._bumps = scaled, scaled.kernel_bumps(1.0)
        self._picks = np.empty((len(length), room))
        self._n = 0

    @property
    def squared_norm(self) -> float:
        """Squared norm of the kernel mean."""
        return self._scaled.kernel_norm(1.0)

    def mean(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the kernel mean at each point."""
        return self._bumps.value(points / self._length)

    def add(self, point: NDArray[np.float64]) -> None:
        """Add a pick, which lowers the score around it."""
        self._picks[:, self._n] = point / self._length
        self._n += 1

    def climb(self, start: NDArray[np.float64]) -> Peak:
        """Ascend from ``start`` to a peak."""
        here = self._look(start / self._length)
        limit = FIRST_LENGTH
        for _ in range(MAX_STEPS):
            step = _newton_step(here, limit)
            gain = here.gradient @ step + 0.5 * step @ here.hessian @ step
            if np.abs(step).max() <= SHORT or gain <= 0:
                break
            if gain <= FLAT * (here.mean + here.total / (self._n + 1)):
                # Scores no longer differ, but the gradient still does, if the step is short.
                if np.abs(step).max() <= NEAR:
                    here = here._replace(place=here.place + step)
                break
            there = self._rise(here, step, float(gain))
            if there is None:
                break
            limit *= 2.0 if np.array_equal(there.place, here.place + step) else 0.5
            here = there
        peak = self._look(np.rint(here.place * GRID) / GRID)
        return Peak(peak.place * self._length, peak.mean, peak.total)

    def _rise(self, here: _View, step: NDArray[np.float64], gain: float) -> _View | None:
        """Halve the step until the score rises by a fair part of the predicted gain."""
        part = 1.0
        while part > SHORT:
            there = self._look(here.place + part * step)
            # A nudge from a saddle gains with the square of its length.
            if there.score - here.score > 1e-4 * part * part * gain:
                return there
            part /= 2
        return None

    def _look(self, place: NDArray[np.float64]) -> _View:
        mean, gradient, hessian = self._bumps.derivatives(place)
        total = 0.0
        pull, bend = np.zeros_like(gradient), np.zeros_like(hessian)
        for first in range(0, self._n, BLOCK):
            away = place[:, None] - self._picks[:, first : min(first + BLOCK, self._n)]
            near = np.exp(-0.5 * np.einsum("it,it->t", away, away))
            lean = away * near
            total += float(near.sum())
            pull += lean.sum(axis=1)
            bend += lean @ away.T
        rate = 1 / (self._n + 1)
        bend.ravel()[:: len(place) + 1] -= total
        return _View(
            place, mean, total, mean - rate * total, gradient + rate * pull, hessian - rate * bend
        )


def _newton_step(here: _View, limit: float) -> NDArray[np.float64]:
    """Return the uphill step of the quadratic model, at most ``limit`` long."""
    curvature, axes = np.linalg.eigh(here.hessian)
    size = np.abs(curvature)
    largest = size.max()
    if largest == 0:
        return np.zeros_like(here.gradient)
    along = here.gradient @ axes
    step = axes @ (along / np.maximum(size, LEAST_CURVATURE * largest))
    length = float(np.sqrt(step @ step))
    if length < NUDGE * LEAST_CURVATURE and curvature[-1] > LEAST_CURVATURE * largest:
        upwards = axes[:, -1]
        return NUDGE * upwards * np.sign(upwards[np.abs(upwards).argmax()])
    return step if length <= limit else step * (limit / length)


class FunctionLandscape:
    """Score of a target whose kernel mean is a function, with SciPy's optimisers.

    Parameters
    ----------
    target : KernelMean
        The target.
    kernel : Kernel
        The kernel that it is the mean of.
    scale : ndarray of shape (d,)
        Natural length of each dimension.
    room : int
        Picks there will be at most.
    """

    def __init__(
        self, target: KernelMean, kernel: Kernel, scale: NDArray[np.float64], room: int
    ) -> None:
        self.squared_norm = np.nan if target.squared_norm is None else float(target.squared_norm)
        self.mean = target.mean
        self._target, self._kernel, self._scale = target, kernel, scale
        self._slope, self._length = None, 1.0
        if target.gradient is not None and isinstance(kernel, Radial):
            self._slope, self._length = _SLOPES.get(kernel.shape), kernel.bandwidth
        self._box = None if target.box is None else target.box / scale[:, None]
        self._picks = np.empty((room, len(scale)))
        self._n = 0

    def add(self, point: NDArray[np.float64]) -> None:
        """Add a pick, which lowers the score around it."""
        self._picks[self._n] = point
        self._n += 1

    def climb(self, start: NDArray[np.float64]) -> Peak:
        """Ascend from ``start`` to a peak."""
        from scipy.optimize import minimize

        first = self._peak(start)
        size = abs(first.mean) + first.total / (self._n + 1) or 1.0
        place, slope = start / self._scale, self._slope

        def fall(z: NDArray[np.float64]) -> float:
            return self._score(self._peak(z * self._scale)) / -size

        if slope is None:
            options = {"initial_simplex": self._simplex(place), "xatol": 1e-8, "fatol": FLAT}
            method, jac = "Nelder-Mead", None
        else:
            options = {"ftol": FLAT, "gtol": 1e-10}
            method, jac = "L-BFGS-B", lambda z: self._downhill(z * self._scale, slope) / size
        found = minimize(fall, place, method=method, jac=jac, bounds=self._box, options=options)
        last = self._peak(found.x * self._scale)
        return last if self._score(last) > self._score(first) else first

    def _score(self, peak: Peak) -> float:
        return peak.mean - peak.total / (self._n + 1)

    def _peak(self, point: NDArray[np.float64]) -> Peak:
        near = self._kernel(point[None], self._picks[: self._n])
        return Peak(point, float(self.mean(point[None])[0]), float(near.sum()))

    def _downhill(self, point: NDArray[np.float64], slope: PointFunction) -> NDArray[np.float64]:
        """Return the gradient of minus the score in scaled coordinates."""
        away = (point - self._picks[: self._n]) / self._length
        slopes = slope(np.einsum("ti,ti->t", away, away))
        pull = 2 * np.einsum("t,ti->i", slopes, away) / self._length
        return (pull / (self._n + 1) - self._target.slopes(point[None])[0]) * self._scale

    def _simplex(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return corners a quarter of a length from the start, inside the box."""
        corners = np.vstack([place, place + 0.25 * np.eye(len(place))])
        if self._box is not None:
            for j, (low, high) in enumerate(self._box):
                reach = min(0.25, 0.5 * (high - low))
                corners[j + 1, j] = place[j] + (reach if place[j] + reach <= high else -reach)
        return corners


#: Derivative of smooth radial kernels by the squared scaled distance. A kernel with a kink at
#: zero is not among them: gradients mislead there.
_SLOPES: dict[str, PointFunction] = {
    "gaussian": lambda q: -0.5 * np.exp(-0.5 * q),
    "matern32": lambda q: -1.5 * np.exp(-np.sqrt(3 * q)),
    "matern52": lambda q: -5 / 6 * (1 + np.sqrt(5 * q)) * np.exp(-np.sqrt(5 * q)),
    "inverse-multiquadric": lambda q: -0.5 * (1 + q) ** -1.5,
}
