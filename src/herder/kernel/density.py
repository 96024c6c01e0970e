r"""Herding of a density in R^d: points that follow it, in order, without randomness.

The points of [chen2014]_ (section 4.2.3.1, equation 4.20) are

.. math:: s_{T+1} = \arg\max_x f_T(x), \qquad
          f_T(x) = \mu(x) - \frac{1}{T+1} \sum_{t \le T} k(x, s_t), \qquad
          \mu(x) = E_p k(x, \cdot),

attracted to high density and repelled by one another. The squared distance to the density,

.. math:: E_T^2 = \Bigl\|\mu - \tfrac{1}{T} \sum_t k(s_t, \cdot)\Bigr\|^2
          = \|\mu\|^2 - \tfrac{2}{T} \sum_t \mu(s_t) + \tfrac{1}{T^2} \sum_{tr} k(s_t, s_r),

is known after every pick, and its root falls about as 1/T. That rate is proved if the feature
space has finite dimension (proposition 4.8) and only observed for the Gaussian kernel.

The maximisation starts at the best of some *auxiliary points* and goes uphill
(`herder.kernel.ascent`). It may end at a peak that is not the highest; what counts for the rate is
that it reaches the mean of the score under the density,
:math:`E_p f_T = \|\mu\|^2 - \frac{1}{T+1} \sum_t \mu(s_t)` (the highest peak always does). Each
pick is recorded against it.

*Departures from the thesis.* It draws "a few auxiliary samples uniformly" and ascends the
gradient. Here the auxiliary points are spread over the density by a fixed sequence, there are
thousands of them, which cost next to nothing as their kernel sums are carried along, and the
ascent is Newton's. More starts per pick did not lower the error in our measurements.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, SupportsIndex, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import function_or_none, positive_int
from herder.core.blas import one_blas_thread
from herder.kernel.ascent import FunctionLandscape, KernelMean, MixtureLandscape, PointFunction
from herder.kernel.bandwidth import median_distance
from herder.kernel.density_herding import ARRAYS, TIE_TOL, DensityHerding, read_picks
from herder.kernel.functions import KERNELS, Bandwidth, Energy, Gaussian, Kernel, Radial, Stein
from herder.kernel.mixture import GaussianMixture, as_bandwidth, as_floats, halton

__all__ = ["herd_density"]

#: Auxiliary points by default. From 1,000 on the error of the herd no longer depended on their
#: number, in 2, 5 and 10 dimensions.
N_AUXILIARY = 4000

#: Points whose median distance is the default bandwidth of a mixture.
N_MEDIAN = 1000

#: Reports of progress in one run, about.
N_REPORTS = 100

#: Names of kernels that a function may be the mean of: those with k(x, x) = 1, so that the
#: score has a maximum.
RADIAL = [name for name, kind in KERNELS.items() if issubclass(kind, Radial)]

Density: TypeAlias = GaussianMixture | KernelMean

Landscape: TypeAlias = MixtureLandscape | FunctionLandscape


def herd_density(
    target: GaussianMixture | KernelMean | Callable[[NDArray[np.float64]], ArrayLike] | Any,
    n_select: SupportsIndex,
    *,
    kernel: str | Kernel = "gaussian",
    bandwidth: ArrayLike | None = None,
    auxiliary: ArrayLike | None = None,
    resume: DensityHerding | None = None,
    progress: Callable[[float, str], None] | None = None,
) -> DensityHerding:
    """Herd ``n_select`` points that follow a density in R^d.

    Parameters
    ----------
    target : GaussianMixture, fitted scikit-learn mixture of Gaussians, KernelMean or callable
        The density. For mixtures all is in closed form; a callable is the kernel mean, as in
        `KernelMean`.
    n_select : int
        Number of points, in addition to those of ``resume``.
    kernel : str or Kernel, default "gaussian"
        Mixtures have a closed form with the Gaussian kernel only. For a function, the kernel
        that it is the mean of: a radial one by name or with its bandwidth, or a callable with
        ``k(x, x) = 1`` for all x.
    bandwidth : float or array of shape (d,), optional
        Length of the kernel, for all coordinates or for each. For a mixture, by default the
        median distance between 1,000 points of its `quasi_sample`; detail much finer than the
        bandwidth is not followed. For a function it must be given unless ``kernel`` carries it.
    auxiliary : int or array-like of shape (m, d), optional
        Points to start from, or how many to spread without randomness: over the density, the
        means of its components first, if it is a mixture (4,000 by default); over the bounds
        if it is a function with bounds. A function without bounds needs the points.
    resume : DensityHerding, optional
        Continue an earlier result with the same target and kernel: n then m picks equal n + m
        picks. Bandwidth and auxiliary points may be left out: they are those of that run.
    progress : callable, optional
        Called at intervals with the fraction done and a note.

    Examples
    --------
    >>> from herder import GaussianMixture, herd_density
    >>> herding = herd_density(GaussianMixture([[-3.0], [3.0]], 1.0, [0.6, 0.4]), 4)
    >>> herding.points.round(1).ravel()
    array([-2.3,  3.2, -3.8,  1.2])
    """
    n_select = positive_int(n_select, "n_select")
    progress = function_or_none(progress, "progress")
    density = _read_target(target)
    _check_resume(density, resume)
    known = _read_kernel(density, kernel, bandwidth, resume)
    places = _read_auxiliary(density, auxiliary, resume)
    room = n_select + (0 if resume is None else len(resume))
    landscape = _landscape(density, known, places, room)
    if resume is None:
        none, zeros = np.empty(0), np.zeros(len(places))
        norm = landscape.squared_norm
        start = DensityHerding(places[:0], known, none, none, norm, places, zeros)
    else:
        start = resume
        mean, earlier = landscape.mean(resume.points[:1])[0], resume.means[0]
        if not np.isclose(mean, earlier, rtol=1e-6, atol=0.0):
            rule = f"come from this target, whose kernel mean at its first point is {mean:.6g}"
            raise ParameterError("resume", rule, got=f"{earlier:.6g}")
    # Small matrices gain nothing from threads, and sums must not depend on their number.
    with one_blas_thread():
        return _herd(landscape, start, n_select, progress)


def _herd(
    landscape: Landscape,
    start: DensityHerding,
    n_select: int,
    progress: Callable[[float, str], None] | None,
) -> DensityHerding:
    """Add picks to those of the earlier result."""
    done, room = len(start), len(start) + n_select
    points = np.empty((room, start.points.shape[1]))
    means, sums = np.empty(room), np.empty(room)
    points[:done], means[:done], sums[:done] = start.points, start.means, start.sums
    for point in start.points:
        landscape.add(point)
    places, place_sums = start.auxiliary, start.auxiliary_sums.copy()
    place_means = landscape.mean(places)
    tie = TIE_TOL * float(np.abs(place_means).max())
    stride = -(-n_select // N_REPORTS)
    for t in range(done, room):
        scores = place_means - place_sums / (t + 1)
        best = int((scores >= scores.max() - tie).argmax())
        points[t], means[t], sums[t] = landscape.climb(places[best])
        landscape.add(points[t])
        place_sums += start.kernel(points[t : t + 1], places)[0]
        n_new = t + 1 - done
        if progress is not None and (n_new % stride == 0 or n_new == n_select):
            progress(n_new / n_select, f"{t + 1:,} points")
    return replace(start, points=points, means=means, sums=sums, auxiliary_sums=place_sums)


def _landscape(
    density: Density, kernel: Kernel, places: NDArray[np.float64], room: int
) -> Landscape:
    """Make the score that is climbed, without picks."""
    d = places.shape[1]
    spread = places.std(axis=0)
    spread[spread == 0] = 1.0
    length = as_bandwidth(kernel.bandwidth if isinstance(kernel, Radial) else spread, d)
    if isinstance(density, GaussianMixture):
        spread = np.sqrt(np.diagonal(density.covariances, axis1=1, axis2=2)).max(axis=0)
        size = np.maximum(np.abs(density.means).max(axis=0), spread)
        if (size / 1e150 > length).any():
            got = f"{length.min():.3g} for a mixture that extends to {size.max():.3g}"
            raise ParameterError("bandwidth", "not vanish against the mixture", got=got)
        return MixtureLandscape(density, length, room)
    return FunctionLandscape(density, kernel, length, room)


def _read_target(target: Any) -> Density:
    """Return the target as a mixture or as a kernel mean."""
    if isinstance(target, GaussianMixture | KernelMean):
        return target
    if hasattr(target, "covariance_type"):
        return GaussianMixture.from_sklearn(target)
    if callable(target):
        return KernelMean(cast("PointFunction", target))
    rule = "be a GaussianMixture, one of scikit-learn, a KernelMean or a function of points"
    got = f"{type(target).__name__}; to follow a sample use thin"
    raise ParameterTypeError("target", rule, got=got)


def _check_resume(density: Density, resume: Any) -> None:
    if resume is None:
        return
    if not isinstance(resume, DensityHerding):
        kind = type(resume).__name__
        raise ParameterTypeError("resume", "be an earlier result of herd_density", got=kind)
    try:
        read_picks({name: np.asarray(getattr(resume, name)) for name in ARRAYS})
    except ValueError as error:
        raise ParameterError("resume", "be a whole result", got=str(error)) from error
    d, earlier = density.n_features, resume.points.shape[1]
    if d not in (None, earlier):
        raise ParameterError("resume", f"come from this target, of {d} dimensions", earlier)


def _read_kernel(
    density: Density,
    kernel: str | Kernel,
    bandwidth: ArrayLike | None,
    resume: DensityHerding | None,
) -> Kernel:
    """Return the kernel with its bandwidth; that of the earlier run if there is one."""
    names = ["gaussian"] if isinstance(density, GaussianMixture) else RADIAL
    if isinstance(kernel, str):
        if kernel not in names:
            raise _kernel_error(density, kernel)
        earlier = None if resume is None else resume.kernel
        if bandwidth is None and isinstance(earlier, Radial):
            bandwidth = earlier.bandwidth
        known: Kernel = KERNELS[kernel](_read_bandwidth(density, bandwidth))
    else:
        closed = isinstance(kernel, Gaussian) or not isinstance(density, GaussianMixture)
        if not callable(kernel) or isinstance(kernel, Energy | Stein | type) or not closed:
            raise _kernel_error(density, kernel)
        if bandwidth is not None:
            raise ParameterError("bandwidth", "be left out if kernel is not a name", bandwidth)
        known = kernel
    if resume is not None and not _same(known, resume.kernel):
        raise ParameterError("kernel", f"be that of resume, {resume.kernel!r}", known)
    return known


def _kernel_error(density: Density, given: object) -> ParameterError:
    if isinstance(density, GaussianMixture):
        remedy = "others have no closed form; draw points with its sample method and use thin"
        return ParameterError("kernel", "be 'gaussian' for a mixture", got=f"{given!r}: {remedy}")
    options = ", ".join(map(repr, RADIAL))
    return ParameterError("kernel", f"be one of {options}, or a callable with k(x, x) = 1", given)


def _read_bandwidth(density: Density, bandwidth: ArrayLike | None) -> Bandwidth:
    if bandwidth is not None and not isinstance(bandwidth, str):
        length = as_floats(bandwidth, "bandwidth")
        return float(length) if length.ndim == 0 else length
    if bandwidth not in (None, "median"):
        rule = "be a number, one for each dimension, or 'median'"
        raise ParameterError("bandwidth", rule, bandwidth)
    if isinstance(density, KernelMean):
        rule = "be given for a function, which is the kernel mean for one bandwidth"
        raise ParameterError("bandwidth", rule, bandwidth)
    return median_distance(density.quasi_sample(N_MEDIAN))


def _read_auxiliary(
    density: Density, auxiliary: ArrayLike | None, resume: DensityHerding | None
) -> NDArray[np.float64]:
    """Return the points to start from; those of the earlier run if there is one."""
    if auxiliary is None and resume is not None:
        return resume.auxiliary
    if auxiliary is None or isinstance(auxiliary, int | np.integer):
        number = positive_int(N_AUXILIARY if auxiliary is None else auxiliary, "auxiliary")
        if isinstance(density, GaussianMixture):
            centres = density.means[density.weights > 0]
            places = np.vstack([centres, density.quasi_sample(number)])
        elif density.box is not None:
            low, high = density.box.T
            places = low + (high - low) * halton(number, len(low))
        else:
            rule = "be points to start from if the target is a function without bounds"
            raise ParameterError("auxiliary", rule, auxiliary)
    else:
        places = as_floats(auxiliary, "auxiliary").copy()
        d = density.n_features
        if places.ndim != 2 or 0 in places.shape or places.shape[1] != (d or places.shape[1]):
            rule = f"be an integer or points (m, {d or 'd'}), at least one"
            raise ParameterError("auxiliary", rule, got=f"the shape {places.shape}")
        box = density.box if isinstance(density, KernelMean) else None
        if box is not None and ((places < box[:, 0]) | (places > box[:, 1])).any():
            raise ParameterError("auxiliary", "lie within the bounds of the target", got="others")
    if resume is not None and not np.array_equal(places, resume.auxiliary):
        rule = f"be the {len(resume.auxiliary)} points of resume, or left out"
        raise ParameterError("auxiliary", rule, got=f"{len(places)} others")
    return places


def _same(kernel: Kernel, other: Kernel) -> bool:
    """Return whether two kernels are equal; bandwidths may be arrays."""
    if type(kernel) is not type(other):
        return False
    if isinstance(kernel, Radial) and isinstance(other, Radial):
        return np.array_equal(kernel.bandwidth, other.bandwidth)
    return kernel is other or kernel == other
