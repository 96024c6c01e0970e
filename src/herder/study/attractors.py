r"""The attractor of herding itself, at temperature 0: its points, and how many dimensions it has.

In the cone in which a state is the best every point moves by the same vector, the target minus the
features of that state. Parts of the plane are cut at the borders of the cones and pushed onto each
other, and what is left is often a fractal ([welling2009]_, section 3; [chen2014]_, section 2.6.2).

With :math:`N(\epsilon)` boxes of side :math:`\epsilon` that hold a point, and the share
:math:`C(r)` of pairs of points that are nearer than r,

.. math:: N(\epsilon) \propto \epsilon^{-D_0}, \qquad C(r) \propto r^{D_2},

with the box-counting dimension and the correlation dimension, :math:`D_2 \le D_0`. Both are fitted
over a range which leaves out the scales of the whole, and those at which there are too few points:
a box needs 20 of them on average, a distance 1,000 pairs.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import non_negative_int, of_kind, positive_int
from herder.core.mixing import splitmix64
from herder.core.summary import Fact, Facts, Picture, Section, Summarised, Summary, counted
from herder.metrics import total_variation
from herder.study import _boxes_jit as _jit
from herder.study.dynamics import Floats, as_start, as_system, orbit
from herder.study.slopes import Exponent, mean_slope

__all__ = ["Attractor", "attractor", "box_counts"]

#: Steps before the attractor at most, about a minute.
MOST_BEFORE = 10**9

#: Boxes of the finest grid, as a power of two, over all dimensions.
FINEST = 24

#: Coarsest grid that is fitted, 2^3 boxes along an axis.
COARSEST = 3

#: Points for each box, and pairs for each distance, of the finest scale that is fitted.
POINTS_PER_BOX, FEWEST_PAIRS = 20, 1000

#: Points whose pairs are counted, and how often distances are halved.
N_POINTS, HALVINGS = 10_000, 30

#: Boxes along an axis in which two attractors are compared.
COMPARED = 32


@dataclass(frozen=True, eq=False)
class Attractor(Summarised):
    """Weights of herding, after those on the way to the attractor.

    Parameters
    ----------
    features : ndarray of shape (n_states, n_features)
        One row per state.
    moments : ndarray of shape (n_features,)
        The target.
    points : ndarray of shape (n_steps, n_features)
        The weights after each step.
    """

    features: Floats
    moments: Floats
    points: Floats

    def box_dimension(self) -> Exponent:
        """Return the box-counting dimension; the range is the side of a box."""
        side, _ = self._sides()
        counts = self._boxes()
        levels = np.arange(1, len(counts) + 1)
        fitted = (levels >= COARSEST) & (counts * POINTS_PER_BOX <= len(self.points))
        fitted |= levels == COARSEST
        kept = np.flatnonzero(fitted)
        last = min(kept[-1] + 1, len(counts) - 1)
        slopes = np.diff(np.log2(counts[kept[0] : last + 1]))
        ends = side * 0.5 ** levels.astype(np.float64)
        return mean_slope(slopes, float(ends[last]), float(ends[kept[0]]))

    def correlation_dimension(self) -> Exponent:
        """Return the correlation dimension; the range is the distance of two points."""
        side, _ = self._sides()
        # even spacing would be in step with an orbit that almost repeats itself
        places = splitmix64(np.arange(N_POINTS, dtype=np.uint64)) % np.uint64(len(self.points))
        pairs = np.zeros(HALVINGS, dtype=np.int64)
        _jit.count_pairs(self.points[places.astype(np.intp)], side, pairs)
        nearer = pairs[::-1].cumsum()[::-1]
        last = COARSEST + 2
        while last + 1 < HALVINGS and nearer[last + 1] >= FEWEST_PAIRS:
            last += 1
        slopes = -np.diff(np.log2(np.maximum(nearer[COARSEST : last + 1], 1)))
        return mean_slope(slopes, side * 0.5**last, side * 0.5**COARSEST)

    def distance(self, other: "Attractor") -> float:
        """Return how differently two orbits fill boxes: total variation, from 0 to 1.

        Parameters
        ----------
        other : Attractor
            Of the same system, from another start.
        """
        of_kind(other, "other", Attractor, "an Attractor")
        if other.points.shape[1] != self.points.shape[1]:
            got = f"{counted(other.points.shape[1], 'feature')}"
            raise ParameterError("other", "come from the same system", got=got)
        low = np.minimum(self.points.min(axis=0), other.points.min(axis=0))
        high = np.maximum(self.points.max(axis=0), other.points.max(axis=0))
        side = _side(low, high)
        n = COMPARED if self.points.shape[1] < 4 else 2 ** (FINEST // self.points.shape[1])
        first, second = (box_counts(one.points, low, side, n) for one in (self, other))
        return total_variation(first, second)

    def summary(self) -> Summary:
        """Return the dimensions."""
        n, k = self.points.shape
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        extent = " by ".join(f"{size:.3g}" for size in high - low)
        facts = [
            Fact("extent", extent, "", "of the attractor"),
            Fact("box dimension", str(self.box_dimension()), "", "side of a box"),
            Fact("correlation dimension", str(self.correlation_dimension()), "", "distance"),
        ]
        pictures = []
        if k == 2:
            pictures = [
                Picture("attractor", self, "Weights of herding in the plane, by density."),
                Picture("cones", self, "Cones of the states, with their translations."),
                Picture("tipi", self, "The Tipi function, with weights of herding on it."),
            ]
        title = f"{counted(n, 'step')} of herding {counted(len(self.features), 'state')}"
        return Summary(title, [Facts(facts)], [Section("Attractor", pictures)])

    def _sides(self) -> tuple[float, Floats]:
        low = self.points.min(axis=0)
        return _side(low, self.points.max(axis=0)), low

    def _boxes(self) -> NDArray[np.int64]:
        """Return how many boxes hold a point, along an axis 2, 4, 8, ... of them."""
        k = self.points.shape[1]
        levels = max(FINEST // k, 1)
        side, low = self._sides()
        held = box_counts(self.points, low, side, 2**levels) > 0
        counts = [int(held.sum())]
        for level in range(levels - 1, 0, -1):
            pairs = held.reshape((2**level, 2) * k)
            held = pairs.any(axis=tuple(range(1, 2 * k, 2)))
            counts.append(int(held.sum()))
        return np.array(counts[::-1], dtype=np.int64)


def attractor(
    features: ArrayLike,
    moments: ArrayLike,
    n_steps: int = 1_000_000,
    *,
    start: ArrayLike | None = None,
    burn_in: int = 10_000,
) -> Attractor:
    """Herd, and keep the weights.

    Parameters
    ----------
    features : array-like of shape (n_states, n_features)
        One row per state.
    moments : array-like of shape (n_features,)
        A mean of the rows.
    n_steps : int, default 1000000
        Number of points.
    start : array-like of shape (n_features,), optional
        Weights before the first step; zero by default.
    burn_in : int, default 10000
        Steps before, on the way to the attractor.

    Examples
    --------
    >>> from herder.study import six_states
    >>> found = attractor(*six_states(), 200_000)
    >>> found.points.shape
    (200000, 2)
    >>> 1 < found.box_dimension().value < 2
    True
    """
    table, target = as_system(features, moments)
    n_steps = positive_int(n_steps, "n_steps")
    weights = as_start(start, len(target))
    before = non_negative_int(burn_in, "burn_in")
    if before > MOST_BEFORE:
        raise ParameterError("burn_in", f"be at most {MOST_BEFORE:,}", before)
    for done in range(0, before, 2**20):
        orbit(table, target, 0.0, weights, min(2**20, before - done))
    return Attractor(table, target, orbit(table, target, 0.0, weights, n_steps))


def box_counts(points: Floats, low: Floats, side: float, n: int) -> NDArray[np.int32]:
    """Return how many points are in each of n boxes along each axis."""
    counts = np.zeros(n ** points.shape[1], dtype=np.int32)
    _jit.count_boxes(points, low, n / side, n, counts)
    return counts


def _side(low: Floats, high: Floats) -> float:
    """Return the side of a box that holds all points, which is never 0."""
    return float((high - low).max()) or 1.0
