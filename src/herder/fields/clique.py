"""The general herd: any cliques, any alphabets, any encoding, per-feature rates.

`CliqueHerd` owns the live arrays of the compiled loop in `herder.fields._clique_jit`, and
retraces the specification (`herder.fields.system.MomentSystem`) state for state.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.fields import _clique_jit as _jit
from herder.fields.engine import MAX_STEPS, Engine
from herder.fields.system import PCT_TOLERANCE, Setup
from herder.models.features import CliqueFeatures

__all__ = ["CliqueHerd"]


class CliqueHerd(Engine):
    """Live state of a herd over listed cliques.

    Parameters
    ----------
    features : CliqueFeatures
        Feature map and targets.
    setup : Setup
        Where and how to start.
    rates : ndarray of int64 of shape (n_features,), optional
        Rate of each feature.
    """

    jit = _jit

    def __init__(
        self, features: CliqueFeatures, setup: Setup, *, rates: NDArray[np.int64] | None = None
    ) -> None:
        super().__init__(features, setup)
        layout, pool, target = features.layout, setup.pool, features.target
        starts = np.cumsum([0, *(len(cliques) for cliques in features.site_cliques)])
        site_clique = np.concatenate(features.site_cliques).astype(np.intp)
        site = np.repeat(np.arange(features.n_variables), np.diff(starts))
        own = layout.members[site_clique] == site[:, None]
        rate = np.ones(features.n_features, dtype=np.int64) if rates is None else rates
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
            feature=feature,
            shared=_shared(features),
            coefficient=coefficient,
            rate=rate[feature],
            drift=coefficient * (rate * target)[feature],
            weight=coefficient * setup.weights[feature],
            scan=setup.scan,
            state=setup.state.astype(np.int16),
            cell=layout.cells(setup.state),
            scores=np.zeros(int(layout.n_values.max()), dtype=np.int64),
            pool=pool.as_ring(),
            tally=np.array([self.total, setup.t, 0, 0, 0, len(pool.rows)], dtype=np.int64),
            number=np.array([0.0, rate * self._target @ target, PCT_TOLERANCE * self._norm2]),
        )
        self._refresh()

    def _run(self, states: NDArray[Any]) -> None:
        work = np.empty(states.shape, dtype=np.int16)
        _jit.herd_cliques(self._herd, work, self.max_sweeps, self.remember)
        states[:] = work
        self._refresh()

    def _make_room(self) -> int:
        """Return how many steps may follow before a score could leave int64."""
        herd = self._herd
        limit = 2**62 // len(herd.cell)
        fired = int(herd.rate.max()) * int(herd.tally[_jit.TOTAL])
        step = max(fired, int(np.abs(herd.drift).max(initial=0)), 1)
        room = (limit - int(np.abs(herd.weight).max(initial=0))) // step
        if room < 1:
            raise OverflowError("weights must stay below 2^62 units: herd fewer steps")
        return min(room, MAX_STEPS)

    @property
    def state(self) -> NDArray[np.int16]:
        """The current state."""
        return self._herd.state.copy()

    @property
    def weights(self) -> NDArray[np.int64]:
        """The current weights, one per feature."""
        return self._herd.weight[self._shown] * self._herd.coefficient[self._shown]

    def _refresh(self) -> None:
        """Sum <w, n> afresh."""
        self._herd.number[_jit.VALUE] = float(self.weights.astype(float) @ self._target)


def _shared(features: CliqueFeatures) -> NDArray[np.bool_]:
    """Return in which cliques cells share a feature."""
    starts = features.layout.offsets
    clique = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((features.feature, clique))
    same = (np.diff(clique[order]) == 0) & (np.diff(features.feature[order]) == 0)
    return np.bincount(clique[order][1:][same], minlength=len(starts) - 1) > 0
