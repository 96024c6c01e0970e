r"""Moment herding as a herding system: the specification of the compiled loops.

.. math:: s_t = \mathrm{ascend}(w, s_{t-1}), \qquad w \leftarrow w + n - N \phi(s_t),

with :math:`n` the targets in units of 1/N (`CliqueFeatures`). After each ascent the
inequality of the perceptron cycling theorem is checked, :math:`\langle w, \phi(s) \rangle
\ge \langle w, n \rangle / N`. Where it fails, the ascent starts again from the state of a
pool that scores best: data rows, whose mean is the target, so that the best of them
satisfies it and the ascent only raises the score; or states visited before, which nearly
always do. (Of very many data rows only some are kept, and then nearly always it is.)
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder.maximise.coordinate import ascend
from herder.models.features import CliqueFeatures

__all__ = ["PCT_TOLERANCE", "MomentSystem", "Pool", "Setup", "StepCounts"]

#: PCT holds when it fails by less than this, relative to |target|^2: far below what would let
#: weights grow, and far above the rounding of large sums.
PCT_TOLERANCE = 1e-9


class StepCounts(NamedTuple):
    """Work of a run: flips, restarts, and PCT violations that remained."""

    flips: int = 0
    restarts: int = 0
    violations: int = 0


@dataclass(frozen=True, slots=True)
class Pool:
    """States to restart from: fixed ``rows``, or a ring of the last ``size`` states visited."""

    rows: NDArray[np.integer]
    visited: bool = False
    size: int = 0

    def as_ring(self) -> NDArray[np.int16]:
        """Return the rows, padded to the capacity of the pool."""
        capacity = max(self.size if self.visited else len(self.rows), 1)
        ring = np.zeros((capacity, self.rows.shape[1]), dtype=np.int16)
        ring[: len(self.rows)] = self.rows
        return ring


@dataclass(frozen=True, slots=True)
class Setup:
    """Where and how a compiled loop starts.

    Parameters
    ----------
    weights : ndarray of int64 of shape (n_features,)
        Weights to start from.
    state : ndarray of shape (n_variables,)
        State to start from.
    t : int
        Steps done before.
    pool : Pool
        States to restart from when the PCT inequality fails.
    scan : ndarray of intp
        The order in which variables are visited.
    max_sweeps : int
        Limit on sweeps per step; 0 for none.
    """

    weights: NDArray[np.int64]
    state: NDArray[np.integer]
    t: int
    pool: Pool
    scan: NDArray[np.intp]
    max_sweeps: int = 0


class MomentSystem:
    """A herding system over clique features, with restarts when the PCT inequality fails.

    Parameters
    ----------
    features : CliqueFeatures
        Feature map and targets.
    pool : Pool
        States to restart from; an empty pool counts violations only.
    scan : ndarray of intp, optional
        The order in which variables are visited.
    max_sweeps : int, default 0
        Limit on sweeps per step; 0 for none.
    """

    def __init__(
        self,
        features: CliqueFeatures,
        pool: Pool,
        *,
        scan: NDArray[np.intp] | None = None,
        max_sweeps: int = 0,
    ) -> None:
        self.features = features
        self.scan = np.arange(features.n_variables) if scan is None else scan
        self.max_sweeps = max_sweeps
        self.pool = pool
        self.restarts = 0
        self.violations = 0
        self._ring = [row.copy() for row in pool.rows]
        target = features.target.astype(float)
        self._tolerance = PCT_TOLERANCE * float(target @ target)

    def maximise(
        self, weights: NDArray[np.int64], previous: NDArray[np.integer] | None
    ) -> NDArray[np.integer]:
        """Ascend from the previous state, or from the pool where that fails the PCT."""
        features = self.features
        if previous is None:
            previous = np.zeros(features.n_variables, dtype=np.int16)
        state = self._ascend(weights, previous)
        if self._fails(weights, state) and self._ring:
            scores = [self._score(weights, row) for row in self._ring]
            best = int(np.argmax(scores))
            if scores[best] > self._score(weights, state):
                state = self._ascend(weights, self._ring[best])
                self.restarts += 1
        if self._fails(weights, state):
            self.violations += 1
        return state

    def residual(
        self, weights: NDArray[np.int64], state: NDArray[np.integer], t: int
    ) -> NDArray[np.int64]:
        """Return target minus features, in units of 1/N, and remember a visited state."""
        if self.pool.visited:
            if len(self._ring) < self.pool.size:
                self._ring.append(state.copy())
            else:
                self._ring[t % self.pool.size] = state.copy()
        return self.features.target - self.features.units.total * self.features.features(state)

    def _ascend(
        self, weights: NDArray[np.int64], state: NDArray[np.integer]
    ) -> NDArray[np.integer]:
        scan = self.scan.tolist()
        return ascend(self.features, weights, state, scan=scan, max_sweeps=self.max_sweeps)

    def _score(self, weights: NDArray[np.int64], state: NDArray[np.integer]) -> Any:
        features, cells = self.features, self.features.layout.cells(state)
        return int((weights[features.feature[cells]] * features.coefficient[cells]).sum())

    def _fails(self, weights: NDArray[np.int64], state: NDArray[np.integer]) -> bool:
        value = sum(int(w) * int(n) for w, n in zip(weights, self.features.target, strict=True))
        return self._score(weights, state) * self.features.units.total - value < -self._tolerance
