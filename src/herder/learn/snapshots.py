"""A conditional herd that learns in strides, and snapshots of its weights that vote."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from herder.core.plain import Arrays, read_array
from herder.fields.conditional_engine import ConditionalHerd

__all__ = ["VotingHerd"]

#: Most updates between two looks at the clock, the user and the weights.
STRIDE = 1000


class VotingHerd:
    """A herd, and its weights at equal distances in time.

    When there are too many snapshots, every second one is dropped. So those that are kept depend
    on the updates alone, not on the calls in which they were made.

    Parameters
    ----------
    herd : ConditionalHerd
        What learns; its weights are changed.
    limit : int
        Most snapshots.
    """

    def __init__(self, herd: ConditionalHerd, limit: int) -> None:
        self.herd, self.limit, self.gap = herd, limit, 1
        self.steps: list[int] = []
        self.snapshots: list[NDArray[Any]] = []

    def twin(self) -> Self:
        """Return a copy, which learns apart."""
        new = type(self)(self.herd.twin(), self.limit)
        new.gap, new.steps, new.snapshots = self.gap, [*self.steps], [*self.snapshots]
        return new

    def stride(self, inputs: Any, labels: NDArray[np.intp], end: int, **how: int) -> None:
        """Take some of the updates up to number ``end``."""
        now, n_batches = self.herd.n_steps, -(-len(labels) // how["size"])
        n_steps = min(end - now, self.gap - now % self.gap, STRIDE)
        self.herd.run(inputs, labels, n_steps, place=now % n_batches, **how)
        if self.herd.n_steps % self.gap:
            return
        self.steps.append(self.herd.n_steps)
        self.snapshots.append(self.herd.weights.copy())
        while len(self.steps) > self.limit:
            self.gap *= 2
            kept = [i for i, step in enumerate(self.steps) if step % self.gap == 0]
            self.steps = [self.steps[i] for i in kept]
            self.snapshots = [self.snapshots[i] for i in kept]

    def voters(self, burn_in: float) -> list[NDArray[Any]]:
        """Return the snapshots after a share of the updates."""
        pairs = zip(self.steps, self.snapshots, strict=True)
        return [weights for step, weights in pairs if step > burn_in * self.steps[-1]]

    def shares(self, inputs: Any, burn_in: float) -> NDArray[np.float64]:
        """Return the share of votes for each class of each row."""
        herd, rows, voters = self.herd.twin(), np.arange(inputs.shape[0]), self.voters(burn_in)
        votes = np.zeros((len(rows), len(herd.herd.codes)))
        for weights in voters:
            herd.weights[:] = weights
            votes[rows, herd.classify(inputs)] += 1
        return votes / len(voters)

    def arrays(self) -> Arrays:
        """Return the weights, the counts and the snapshots, by name."""
        found = {"weights": self.herd.weights, "counts": self.herd.counts}
        steps = np.array(self.steps, np.int64)
        return found | {"steps": steps, "snapshots": np.array(self.snapshots)}

    def restore(self, arrays: Arrays) -> None:
        """Take what `arrays` gave."""
        size, kind = self.herd.weights.size, self.herd.weights.dtype
        self.herd.weights[:] = read_array(arrays, "weights", (size,), kind)
        self.herd.counts[:] = read_array(arrays, "counts", (4,), np.int64, low=0)
        steps = read_array(arrays, "steps", (None,), np.int64, low=1)
        if not len(steps) or (np.diff(steps) <= 0).any():
            raise ValueError("steps that do not increase")
        self.steps = steps.tolist()
        self.snapshots = [*read_array(arrays, "snapshots", (len(steps), size), kind)]
        while self.gap * 2 <= (steps[1] - steps[0] if len(steps) > 1 else steps[0]):
            self.gap *= 2
