"""What the compiled loops of moment herding have in common: live arrays, and room in them."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from herder.fields.system import Setup, StepCounts
from herder.models.features import CliqueFeatures

__all__ = ["MAX_STEPS", "Engine", "fitted", "room_in"]

#: Steps of the compiled loop at a time; the clock is folded away in between.
MAX_STEPS = 2**16

#: Counts are int32 while that leaves room for this many steps, else wider.
MIN_STEPS = 2**10


class Engine:
    """Live arrays of a compiled loop: what all such loops have in common.

    Parameters
    ----------
    features : CliqueFeatures
        Feature map and targets.
    setup : Setup
        Where and how to start.
    """

    #: The module of the compiled loop, which names the entries of its arrays.
    jit: ClassVar[Any]

    _herd: Any

    def __init__(self, features: CliqueFeatures, setup: Setup) -> None:
        self.max_sweeps = setup.max_sweeps
        self.remember = setup.pool.visited
        self.total = features.units.total
        self._features = features
        self._target = features.target.astype(float)
        self._norm2 = float(self._target @ self._target)

    def run(self, states: NDArray[Any]) -> None:
        """Continue for ``len(states)`` steps and fill ``states``."""
        start = 0
        while start < len(states):
            stop = min(start + self._make_room(), len(states))
            self._run(states[start:stop])
            start = stop

    def _make_room(self) -> int:
        """Return how many steps may follow before a number could overflow."""
        raise NotImplementedError

    def _run(self, states: NDArray[Any]) -> None:
        raise NotImplementedError

    @property
    def state(self) -> NDArray[np.integer]:
        """The current state."""
        raise NotImplementedError

    @property
    def weights(self) -> NDArray[np.int64]:
        """The current weights, one per feature."""
        raise NotImplementedError

    @property
    def visited(self) -> NDArray[np.integer]:
        """States in the pool, as rows of codes."""
        return self._herd.pool[: self._herd.tally[self.jit.POOL]].copy()

    @property
    def step_counts(self) -> StepCounts:
        """Flips, restarts and violations so far."""
        return StepCounts(*self._herd.tally[self.jit.FLIPS : self.jit.POOL].tolist())

    def _score(self) -> tuple[float, float]:
        """Return <w, phi> of the current state and <w, n>."""
        weights = self.weights.astype(float)
        return float(weights @ self._features.features(self.state)), float(weights @ self._target)


def room_in(table: NDArray[Any], step: int) -> int:
    """Return how many additions of ``step`` fit into every entry of a table."""
    largest = int(np.abs(table).max(initial=0))
    return (_limit(table.dtype) - largest) // step


def fitted(
    table: NDArray[np.integer],
    step: int,
    least: Any,
    kinds: Sequence[Any] = (np.int16, np.int32, np.int64),
) -> NDArray[Any]:
    """Return the table in the first type from ``least`` on with room for `MIN_STEPS` steps."""
    largest = int(np.abs(table).max(initial=0)) + MIN_STEPS * step
    for kind in kinds:
        if np.dtype(kind).itemsize >= np.dtype(least).itemsize and largest <= _limit(kind):
            return table.astype(kind, copy=False)
    raise OverflowError("weights must stay below 2^53 units: herd fewer steps")


def _limit(kind: Any) -> int:
    """Return up to which number a type holds every integer."""
    return 2**53 if np.dtype(kind).kind == "f" else int(np.iinfo(kind).max)
