r"""Tempered herding: the attractor at each temperature, its period, and where that doubles.

At a high temperature the weights settle on one point, the maximum of the likelihood. As the system
cools this becomes a cycle of two points, of four, and so on, up to a temperature below which
there is no period ([chen2014]_, figure 2.1).

Just below a doubling the weights leave the old cycle so slowly that no number of steps will do to
tell the period. So steps only lead near a cycle, of whatever length the orbit returns after;
Newton's method finds the cycle itself,

.. math:: F^p(w) = w, \qquad w \leftarrow w - (DF^p - I)^{-1} (F^p(w) - w),

and it is the attractor if all multipliers, the eigenvalues of :math:`DF^p`, are inside the unit
circle. A period doubles where one of them is -1, :math:`\det(DF^p + I) = 0` along the cycle.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import real_array
from herder.core.summary import Fact, Facts, Picture, Section, Summarised, Summary, Table, counted
from herder.study import _dynamics_jit as _jit
from herder.study.dynamics import Floats, as_system, fill_box, orbit

__all__ = ["Bifurcation", "bifurcation"]

#: Steps before a cycle is looked for first; twice as many each time that none is found.
FIRST_STEPS = 2**10

#: Longest run, and longest period that is looked for.
MOST_STEPS, LONGEST_PERIOD = 2**17, 256

#: Points that are kept of an attractor without a period.
KEPT = 500

#: An orbit that returns to within this part of the range of the features may be near a cycle.
NEAR = 0.1

#: Residual of a cycle, and distance of weights that count as equal, relative to that range.
EXACT, SAME = 1e-12, 1e-8

#: Steps of Newton's method; it needs five, or ten next to a doubling.
NEWTON_STEPS = 40

#: Next to a doubling, by this part of its temperature, the longer cycle is there to be found.
BELOW = 1e-3

#: Parts in which a cycle is followed from one temperature to the next.
PARTS = 16


@dataclass(frozen=True, eq=False)
class Bifurcation(Summarised):
    """Attractors of tempered herding.

    Parameters
    ----------
    temperatures : ndarray of shape (n,)
        As given.
    periods : ndarray of intp of shape (n,)
        Number of points of each attractor; 0 if it is not periodic, or its period is above 256.
    attractors : tuple of ndarray of shape (n_points, n_features)
        The cycle, or 500 successive points where there is none.
    thresholds : dict of int to float
        For each period the temperature at which it doubles, if that is between two of those given.
    """

    temperatures: Floats
    periods: NDArray[np.intp]
    attractors: tuple[Floats, ...]
    thresholds: dict[int, float]

    def summary(self) -> Summary:
        """Return the periods and where they double."""
        low, high = self.temperatures.min(), self.temperatures.max()
        found = sorted({int(p) for p in self.periods if p})
        facts = [
            Fact("temperatures", f"{low:g} to {high:g}", "", counted(len(self.periods), "value")),
            Fact("periods", ", ".join(map(str, found)) or "none"),
            Fact("not periodic", int((self.periods == 0).sum()), "", "of these temperatures"),
        ]
        doublings = [(f"{p} to {2 * p}", t) for p, t in sorted(self.thresholds.items())]
        table = Table(["period", "doubles at"], doublings, ["", ".6g"])
        picture = Picture("bifurcation", self, "Points of the attractor by temperature.")
        blocks = [Facts(facts), table] if doublings else [Facts(facts)]
        return Summary("Tempered herding", blocks, [Section("Attractors", [picture])])


def bifurcation(features: ArrayLike, moments: ArrayLike, temperatures: ArrayLike) -> Bifurcation:
    """Find the attractor of tempered herding at each temperature.

    Parameters
    ----------
    features : array-like of shape (n_states, n_features)
        One row per state.
    moments : array-like of shape (n_features,)
        A mean of the rows.
    temperatures : array-like of shape (n,)
        Each 0 or above; 0 is herding itself.

    Examples
    --------
    >>> from herder.study import four_states
    >>> found = bifurcation(*four_states(), [0.6, 0.3, 0.13, 0.05])
    >>> found.periods
    array([1, 2, 4, 0])
    >>> round(found.thresholds[1], 4)
    0.4559
    """
    system = as_system(features, moments)
    heats = real_array(temperatures, "temperatures").copy()
    if heats.ndim != 1 or not heats.size:
        raise ParameterError("temperatures", "be a row of numbers", got=f"shape {heats.shape}")
    if not (heats >= 0).all() or not np.isfinite(heats).all():
        wrong = heats[~((heats >= 0) & np.isfinite(heats))][0]
        raise ParameterError("temperatures", "be finite, 0 or above", float(wrong))
    found = [_settle(system, heat) for heat in heats.tolist()]
    periods = np.array([period for period, _ in found], dtype=np.intp)
    thresholds: dict[int, float] = {}
    order: list[int] = np.argsort(-heats, kind="stable").tolist()
    ends = [(heat, *one) for heat, one in zip(heats.tolist(), found, strict=True)]
    for high, low in pairwise(order):
        _double(system, ends[high], ends[low], thresholds)
    return Bifurcation(heats, periods, tuple(points for _, points in found), thresholds)


def _settle(system: tuple[Floats, Floats], heat: float) -> tuple[int, Floats]:
    """Return the period of the attractor, 0 if there is none, and its points."""
    table, target = system
    size = float(np.ptp(table, axis=0).max())
    corner = np.full(len(target), size)
    (weights,) = fill_box(-corner, corner, 1)  # a point of no symmetry: 0 may be an unstable cycle
    n_steps = FIRST_STEPS
    points = orbit(table, target, heat, weights, n_steps)
    while True:
        cycle = _return(points, size) if heat == 0 else _cycle(system, heat, points, size)
        if cycle is not None:
            return len(cycle), cycle
        if n_steps >= MOST_STEPS:
            return 0, points[-KEPT:].copy()
        points = orbit(table, target, heat, weights, n_steps)
        n_steps *= 2


def _return(points: Floats, size: float) -> Floats | None:
    """Return the cycle that the orbit has gone around already: translations have no other."""
    last = points[-2 * LONGEST_PERIOD :]
    for period in range(1, LONGEST_PERIOD + 1):
        if np.abs(last[period:] - last[:-period]).max() < SAME * size:
            return last[-period:].copy()
    return None


def _cycle(
    system: tuple[Floats, Floats], heat: float, points: Floats, size: float
) -> Floats | None:
    """Return the stable cycle that the orbit comes ever nearer to."""
    table, target = system
    now = points[-1]
    gaps = np.abs(points[-2 : -LONGEST_PERIOD - 2 : -1] - now).max(axis=1)
    least = NEAR * size
    for period in range(1, LONGEST_PERIOD + 1):
        if gaps[period - 1] >= least:
            continue
        least = gaps[period - 1]
        found = _newton(system, heat, period, now, size)
        if found is None:
            continue
        at, slope = found
        apart = np.abs(at - now).max()
        if np.abs(np.linalg.eigvals(slope)).max() >= 1:
            continue
        cycle = orbit(table, target, heat, at.copy(), period)
        later = orbit(table, target, heat, now.copy(), 64 * period)[-1]
        if np.abs(later - at).max() > max(apart, SAME * size):
            continue
        shorter = [p for p in range(1, period) if period % p == 0]
        for p in shorter:  # divisors that the orbit has not come near to
            if np.abs(cycle[p - 1] - cycle[-1]).max() < SAME * size:
                return cycle[:p]
        return cycle
    return None


def _newton(
    system: tuple[Floats, Floats], heat: float, period: int, start: Floats, size: float
) -> tuple[Floats, Floats] | None:
    """Return a point of a cycle near a start, and the derivative once around it."""
    table, target = system
    at, slope = start.copy(), np.empty((len(start), len(start)))
    reach = max(size, 10 * heat / size)  # the maximum of the likelihood is far off if it is hot
    for _ in range(NEWTON_STEPS):
        end = at.copy()
        _jit.around(table, target, heat, period, end, slope)
        apart = end - at
        if not np.isfinite(slope).all():  # so cold that the covariance over T is no float
            return None
        if np.abs(apart).max() < EXACT * max(size, float(np.abs(at).max())):
            return at, slope
        try:
            at = at - np.linalg.solve(slope - np.eye(len(at)), apart)
        except np.linalg.LinAlgError:  # cold: within one cone every orbit is as good
            return None
        if not np.abs(at - start).max() < reach:
            return None
    return None


def _double(
    system: tuple[Floats, Floats],
    high: tuple[float, int, Floats],
    low: tuple[float, int, Floats],
    thresholds: dict[int, float],
) -> None:
    """Enter the doublings between two temperatures, from the high one down."""
    (heat, period, cycle), (floor, last, _) = high, low
    while period and period != last and (last == 0 or last % (2 * period) == 0):
        found = _threshold(system, period, cycle[-1], heat, floor)
        if found is None:
            return
        thresholds.setdefault(period, found)
        heat = max(found * (1 - BELOW), floor)
        doubled, cycle = _settle(system, heat)
        if heat == floor or doubled != 2 * period:
            return
        period = doubled


def _threshold(
    system: tuple[Floats, Floats], period: int, at: Floats, heat: float, floor: float
) -> float | None:
    """Return the temperature at which a multiplier of the cycle is -1, by bisection along it."""
    size, eye = float(np.ptp(system[0], axis=0).max()), np.eye(len(at))

    def sign(start: Floats, heat: float) -> tuple[Floats, float] | None:
        found = _newton(system, heat, period, start, size)
        if found is None:
            return None
        half = orbit(*system, heat, found[0].copy(), max(period // 2, 1))[-1]
        if period > 1 and np.abs(half - found[0]).max() < SAME * size:
            return None  # on the cycle that this one branched off from
        return found[0], float(np.linalg.det(found[1] + eye))

    step = (heat - floor) / PARTS
    while True:  # down to the first part that the multiplier passes -1 in
        cooler = heat - step
        if step < EXACT * heat or cooler <= 0:
            return None
        found = sign(at, cooler)
        if found is None:
            step /= 2
        elif found[1] > 0:
            at, heat = found[0], cooler
            if heat <= floor:
                return None
        else:
            break
    while heat - cooler > EXACT * heat:
        middle = (heat + cooler) / 2
        found = sign(at, middle)
        if found is not None and found[1] > 0:
            at, heat = found[0], middle
        else:
            cooler = middle
    return float(heat)
