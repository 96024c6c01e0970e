"""The general herd: any cliques, any alphabets, any encoding, per-feature rates.

`CliqueHerd` owns the live arrays of the compiled loop in `herder.fields._clique_jit`, and
retraces the specification (`herder.fields.system.MomentSystem`) state for state.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.fields import _clique_jit as _jit
from herder.fields.system import PCT_TOLERANCE, Pool, Tally
from herder.models.features import CliqueFeatures

__all__ = ["CliqueHerd"]


class CliqueHerd:
    """Live state of a herd over listed cliques; `run` goes on from where it stands.

    Parameters
    ----------
    features : CliqueFeatures
        Feature map and targets.
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
    rates : ndarray of int64 of shape (n_features,), optional
        Rate of each feature.
    """

    def __init__(
        self,
        features: CliqueFeatures,
        weights: NDArray[np.int64],
        state: NDArray[np.integer],
        *,
        t: int,
        pool: Pool,
        scan: NDArray[np.intp],
        max_sweeps: int,
        rates: NDArray[np.int64] | None = None,
    ) -> None:
        layout = features.layout
        self.max_sweeps = max_sweeps
        self.remember = pool.visited
        self._features = features
        starts = np.cumsum([0, *(len(cliques) for cliques in features.site_cliques)])
        site_clique = np.concatenate(features.site_cliques).astype(np.intp)
        site = np.repeat(np.arange(features.n_variables), np.diff(starts))
        own = layout.members[site_clique] == site[:, None]
        tally = np.zeros(7, dtype=np.int64)
        tally[_jit.TOTAL] = features.units.total
        tally[_jit.STEPS] = t
        tally[_jit.POOL] = len(pool.rows)
        target = features.target
        rate = np.ones(features.n_features, dtype=np.int64) if rates is None else rates
        norm2 = float(target.astype(float) @ target)
        self._herd = _jit.Herd(
            n_values=layout.n_values,
            members=layout.members,
            strides=layout.strides,
            offsets=layout.offsets,
            site_start=starts.astype(np.intp),
            site_clique=site_clique,
            site_stride=(layout.strides[site_clique] * own).sum(axis=1),
            feature=features.feature,
            coefficient=features.coefficient,
            target=target,
            rate=rate,
            base=weights.copy(),
            count=np.zeros(features.n_features, dtype=np.int64),
            scan=scan,
            state=state.astype(np.int16),
            cell=layout.cells(state),
            scores=np.zeros(int(layout.n_values.max()), dtype=np.int64),
            pool=pool.as_ring(),
            tally=tally,
            number=np.array(
                [0.0, float((rate * target.astype(float)) @ target), PCT_TOLERANCE * norm2]
            ),
        )
        self._rebase()

    def run(self, states: NDArray[Any]) -> None:
        """Go on for ``len(states)`` steps and fill ``states``."""
        work = np.empty(states.shape, dtype=np.int16)
        _jit.herd_cliques(self._herd, work, self.max_sweeps, self.remember)
        states[:] = work
        self._rebase()

    @property
    def state(self) -> NDArray[np.int16]:
        """The current state."""
        return self._herd.state.copy()

    @property
    def weights(self) -> NDArray[np.int64]:
        """The current weights, one per feature."""
        herd = self._herd
        lag = herd.tally[_jit.CLOCK] * herd.target - herd.tally[_jit.TOTAL] * herd.count
        return herd.base + herd.rate * lag

    @property
    def tally(self) -> Tally:
        """Flips, restarts and violations so far."""
        counts = self._herd.tally
        return Tally(*(int(counts[k]) for k in range(_jit.FLIPS, _jit.VIOLATIONS + 1)))

    @property
    def visited(self) -> NDArray[np.int16]:
        """States in the pool, as rows of codes."""
        return self._herd.pool[: self._herd.tally[_jit.POOL]].copy()

    def _rebase(self) -> None:
        """Fold the clock into the base weights and sum <w, n> afresh."""
        herd = self._herd
        herd.base[:] = self.weights
        herd.count[:] = 0
        herd.tally[_jit.CLOCK] = 0
        herd.number[_jit.VALUE] = float(herd.base.astype(float) @ herd.target)
