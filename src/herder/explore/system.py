r"""The first scene: herding of a few states with two features, at any temperature.

The moment error after t steps is :math:`|w_t - w_0| / t`, since the residuals sum to the way that
the weights have come. Beside it stand independent samples from the distribution of largest entropy
with the same moments, whose error is :math:`O(1 / \sqrt t)`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.core.enumerated import TIE_TOL
from herder.explore.frames import Frame
from herder.explore.settings import Settings
from herder.study import bifurcation
from herder.study.dynamics import as_system, orbit

__all__ = ["SystemScene"]

Floats = NDArray[np.float64]

#: States at most, steps of one frame, and of a run.
MOST_STATES, FRAME_STEPS, RUN_STEPS = 12, 20_000, 10_000_000

#: Numbers of steps after which errors are shown: about 20 for each factor of ten.
TIMES = np.unique(np.rint(10 ** (np.arange(141) / 20)).astype(np.int64))


class SystemScene:
    """Weights that walk over the cones of a system.

    Parameters
    ----------
    settings : Settings
        ``states``, points of the plane; ``target``, a point in their hull; ``temperature``; with
        ``keep`` the weights are those of the scene before.
    previous : object
        The scene before.
    """

    def __init__(self, settings: Settings, previous: object) -> None:
        states = settings.points("states", MOST_STATES)
        self.table, self.target = as_system(states, settings.points("target", 1)[0])
        self.temperature = settings.number("temperature", 0.0, 1e3)
        self.weights: Floats = np.zeros(2)
        if settings.flag("keep") and isinstance(previous, SystemScene):
            self.weights = previous.weights
        self.start, self.t = self.weights.copy(), 0
        self.shares = _most_random(self.table, self.target)
        self.drawn = np.zeros(2)
        self.rng = np.random.default_rng(0)

    def first(self) -> Frame:
        """Return the attractor: its period, 0 if there is none, and one turn of it."""
        found = bifurcation(self.table, self.target, [self.temperature])
        period = int(found.periods[0])
        cycle = found.attractors[0] if period else np.empty((0, 2))
        return {"period": period, "cycle": cycle.astype(np.float32), "limit": RUN_STEPS}

    def advance(self, settings: Settings) -> Frame:
        """Return the weights after each of some steps, and errors at some of them."""
        n = min(settings.whole("n", FRAME_STEPS), RUN_STEPS - self.t)
        if n <= 0:
            raise ParameterError("n", f"end the run after {RUN_STEPS:,} steps")
        before = self.weights.copy()
        points = orbit(self.table, self.target, self.temperature, self.weights, n)
        scores = np.vstack([before, points[:-1]]) @ self.table.T
        slack = TIE_TOL * np.abs(scores).max(axis=1, keepdims=True)
        best = (scores >= scores.max(axis=1, keepdims=True) - slack).argmax(axis=1)
        draws = self.rng.choice(len(self.table), n, p=self.shares)
        ways = self.drawn + np.cumsum((self.table - self.shares @ self.table)[draws], axis=0)
        self.drawn = ways[-1]
        low, high = np.searchsorted(TIMES, [self.t, self.t + n], side="right")
        times = TIMES[low:high]
        seen = times - self.t - 1
        self.t += n
        return {
            "t": self.t,
            "points": points.astype(np.float32),
            "states": best.astype(np.uint8),
            "times": times.astype(np.float64),
            "herded": np.linalg.norm(points[seen] - self.start, axis=1) / times,
            "random": np.linalg.norm(ways[seen], axis=1) / times,
        }


def _most_random(table: Floats, target: Floats) -> Floats:
    """Return the distribution of largest entropy whose mean is (next to) the target."""
    from scipy.optimize import minimize
    from scipy.special import logsumexp, softmax

    rows = table - target
    found: Any = minimize(
        lambda w: logsumexp(rows @ w), np.zeros(2), jac=lambda w: softmax(rows @ w) @ rows
    )
    return softmax(rows @ found.x)
