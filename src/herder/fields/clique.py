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
        tally = np.zeros(6, dtype=np.int64)
        tally[_jit.TOTAL] = features.units.total
        tally[_jit.STEPS] = t
        tally[_jit.POOL] = len(pool.rows)
        target = features.target
        rate = np.ones(features.n_features, dtype=np.int64) if rates is None else rates
        norm2 = float(target.astype(float) @ target)
        coefficient, feature = features.coefficient, features.feature
        # one cell of each feature that shows its weight, and with which sign
        self._shown = np.zeros(features.n_features, dtype=np.intp)
        fires = np.flatnonzero(coefficient)
        self._shown[feature[fires]] = fires
        self._herd = _jit.Herd(
            n_values=layout.n_values,
            members=layout.members,
            strides=layout.strides,
            offsets=layout.offsets,
            site_start=starts.astype(np.intp),
            site_clique=site_clique,
            site_stride=(layout.strides[site_clique] * own).sum(axis=1),
            shared=feature[layout.offsets[:-1]] == feature[layout.offsets[1:] - 1],
            coefficient=coefficient,
            rate=rate[feature],
            drift=coefficient * (rate * target)[feature],
            weight=coefficient * weights[feature],
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
        self._refresh()

    def run(self, states: NDArray[Any]) -> None:
        """Go on for ``len(states)`` steps and fill ``states``."""
        work = np.empty(states.shape, dtype=np.int16)
        _jit.herd_cliques(self._herd, work, self.max_sweeps, self.remember)
        states[:] = work
        self._refresh()

    @property
    def state(self) -> NDArray[np.int16]:
        """The current state."""
        return self._herd.state.copy()

    @property
    def weights(self) -> NDArray[np.int64]:
        """The current weights, one per feature."""
        return self._herd.weight[self._shown] * self._herd.coefficient[self._shown]

    @property
    def tally(self) -> Tally:
        """Flips, restarts and violations so far."""
        counts = self._herd.tally
        return Tally(*(int(counts[k]) for k in range(_jit.FLIPS, _jit.VIOLATIONS + 1)))

    @property
    def visited(self) -> NDArray[np.int16]:
        """States in the pool, as rows of codes."""
        return self._herd.pool[: self._herd.tally[_jit.POOL]].copy()

    def _refresh(self) -> None:
        """Sum <w, n> afresh."""
        target = self._features.target.astype(float)
        self._herd.number[_jit.VALUE] = float(self.weights.astype(float) @ target)
