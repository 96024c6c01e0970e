"""A conditional herd that learns in strides, and snapshots of its weights that vote."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from herder.core.plain import Arrays, read_array
from herder.fields.conditional_engine import ConditionalHerd

__all__ = ["VotingHerd"]

#: Products of inputs and weights between two calls of ``progress``: some tenths of a second.
STRIDE = 2**30


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
        self.begun = self.n_batches = (
            0  # updates before the first pass over these rows; its length
        )
        self.kept: list[tuple[int, NDArray[Any]]] = []  # updates so far, and the weights

    def twin(self) -> Self:
        """Return a copy, which learns apart."""
        new = type(self)(self.herd.twin(), self.limit)
        new.gap, new.kept = self.gap, [*self.kept]
        new.begun, new.n_batches = self.begun, self.n_batches
        return new

    def next_pass(self, n_batches: int, *, again: bool) -> int:
        """Return the number of updates at the end of the pass that comes, or goes on.

        With ``again`` a pass over as many batches as before goes on where it was interrupted.
        """
        if not again or n_batches != self.n_batches:
            self.begun, self.n_batches = self.herd.n_steps, n_batches
        return self.begun + ((self.herd.n_steps - self.begun) // n_batches + 1) * n_batches

    def stride(self, inputs: Any, labels: NDArray[np.intp], end: int, **how: int) -> None:
        """Take some of the updates up to number ``end``."""
        now = self.herd.n_steps
        most = 1 + STRIDE // (how["size"] * self.herd.weights.size)
        n_steps = min(end - now, self.gap - now % self.gap, most)
        self.herd.run(inputs, labels, n_steps, place=(now - self.begun) % self.n_batches, **how)
        if self.herd.n_steps % self.gap:
            return
        self.kept.append((self.herd.n_steps, self.herd.weights.copy()))
        while len(self.kept) > self.limit:
            self.gap *= 2
            self.kept = [pair for pair in self.kept if pair[0] % self.gap == 0]

    def voters(self, burn_in: float) -> list[NDArray[Any]]:
        """Return the snapshots after a share of the updates."""
        first = burn_in * self.kept[-1][0]
        return [weights for step, weights in self.kept if step > first]

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
        found["passes"] = np.array([self.begun, self.n_batches], np.int64)
        steps, snapshots = zip(*self.kept, strict=True)
        return found | {"steps": np.array(steps, np.int64), "snapshots": np.array(snapshots)}

    def restore(self, arrays: Arrays) -> None:
        """Take what `arrays` gave."""
        size, kind = self.herd.weights.size, self.herd.weights.dtype
        self.herd.weights[:] = read_array(arrays, "weights", (size,), kind)
        self.herd.counts[:] = read_array(arrays, "counts", (4,), np.int64, low=0)
        self.begun, self.n_batches = read_array(arrays, "passes", (2,), np.int64, low=0).tolist()
        if self.begun > self.herd.n_steps:
            raise ValueError(f"passes from {self.begun} on")
        steps = read_array(arrays, "steps", (None,), np.int64, low=1)
        if not len(steps) or (np.diff(steps) <= 0).any():
            raise ValueError("steps that do not increase")
        snapshots = read_array(arrays, "snapshots", (len(steps), size), kind)
        self.kept = [*zip(steps.tolist(), snapshots, strict=True)]
        while self.gap * 2 <= (steps[1] - steps[0] if len(steps) > 1 else steps[0]):
            self.gap *= 2
