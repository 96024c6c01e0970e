"""The fourth scene: an Ising field, sampled by three methods side by side."""

from itertools import islice
from typing import Any

import numpy as np

from herder.explore.frames import Frame
from herder.explore.settings import Settings
from herder.models.pairwise import PairwiseModel
from herder.samplers.endless import stream

__all__ = ["FieldScene"]

#: Sites along each side, sweeps of one frame, and of a run.
SIDE, FRAME_SWEEPS, RUN_SWEEPS = 64, 64, 1_000_000

METHODS = ("gibbs", "herded-gibbs", "swendsen-wang")


class FieldScene:
    """Three chains of one model, a periodic grid of 64 x 64 sites.

    Parameters
    ----------
    settings : Settings
        ``temperature``; with ``keep`` the states are those of the scene before.
    previous : object
        The scene before.
    """

    def __init__(self, settings: Settings, previous: object) -> None:
        temperature = settings.number("temperature", 0.1, 20.0)
        shape = (SIDE, SIDE)
        self.unit = PairwiseModel.grid(shape, periodic=True)
        model = self.unit.at_temperature(temperature)
        self.number = 0
        first = np.random.default_rng(0).choice(np.array([-1, 1], np.int8), SIDE**2)
        self.states = np.stack([first] * len(METHODS))
        if settings.flag("keep") and isinstance(previous, FieldScene):
            self.states, self.number = previous.states, previous.number + 1
        # another seed each time: a chain must not see the same numbers again
        drawn: dict[str, Any] = {"random_state": self.number}
        seeds = drawn, {}, drawn
        self.chains = [
            stream(model, method, start=start, **seed)
            for method, start, seed in zip(METHODS, self.states, seeds, strict=True)
        ]
        self.t = 0

    def first(self) -> Frame:
        """Return the states before the first sweep."""
        return {**self._frame(), "limit": RUN_SWEEPS}

    def advance(self, settings: Settings) -> Frame:
        """Return the states after some more sweeps of each chain."""
        n = min(settings.whole("n", FRAME_SWEEPS), RUN_SWEEPS - self.t)
        if n > 0:
            self.states = np.stack([next(islice(one, n - 1, None)) for one in self.chains])
            self.t += n
        return self._frame()

    def _frame(self) -> Frame:
        """Return the states, and magnetisation and energy of a site."""
        return {
            "t": self.t,
            "spins": (self.states > 0).astype(np.uint8),
            "magnetisation": self.states.mean(axis=1),
            "energy": self.unit.energy(self.states) / SIDE**2,
        }
