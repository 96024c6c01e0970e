"""The fast herd of columns with any alphabets: singles and pairs, as integers in float64.

`AtomHerd` owns the live arrays of the compiled loop in `herder.fields._atom_jit`, and retraces
the specification (`herder.fields.system.MomentSystem`) state for state.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.fields import _atom_jit as _jit
from herder.fields.binary import MAX_STEPS, fitted, room_in
from herder.fields.system import PCT_TOLERANCE, Setup, StepCounts
from herder.models.features import CliqueFeatures

__all__ = ["AtomHerd", "serves"]

#: A^2 tables up to this many atoms (two of int32 and some of int64 in passing: 6 GiB).
MAX_ATOMS = 16_384


def serves(features: CliqueFeatures) -> bool:
    """Whether the fast loop can run these features: singles and pairs, one cell a feature."""
    if features.layout.members.shape[1] > 2 or features.encoding == "+-1":
        return False
    return int(features.layout.n_values.sum()) <= MAX_ATOMS


class AtomHerd:
    """Live state of a herd over pairs of columns; `run` goes on from where it stands.

    Parameters
    ----------
    features : CliqueFeatures
        Singles and pairs, each cell with a feature of its own or none.
    setup : Setup
        Where and how to start.
    """

    def __init__(
        self,
        features: CliqueFeatures,
        setup: Setup,
    ) -> None:
        pool, scan = setup.pool, setup.scan
        self.max_sweeps = setup.max_sweeps
        self.remember = pool.visited
        self.total = features.units.total
        self._features = features
        first = np.concatenate([[0], np.cumsum(features.layout.n_values)]).astype(np.intp)
        self._atoms = _atoms_of_features(features, first)
        target = self._dense(features.target)
        weight = self._dense(setup.weights)
        has = self._dense(np.ones(features.n_features, dtype=np.int64))
        number = np.zeros(6)
        number[_jit.TOTAL] = self.total
        number[_jit.NORM2] = float(np.dot(features.target.astype(float), features.target))
        number[_jit.TOLERANCE] = PCT_TOLERANCE * number[_jit.NORM2]
        tally = np.zeros(5, dtype=np.int64)
        tally[_jit.STEPS] = setup.t
        tally[_jit.POOL] = len(pool.rows)
        self._herd = _jit.Herd(
            first=first,
            target1=target[0].astype(float),
            target2=fitted(target[1], 0, np.int32),
            has1=has[0].astype(float),
            has2=has[1].astype(np.int8),
            debt1=-weight[0].astype(float),
            debt2=fitted(-weight[1], self.total, np.int32),
            field=np.zeros(int(first[-1])),
            on=first[:-1] + setup.state.astype(np.intp),
            drift=np.zeros(int(first[-1])),
            scan=scan,
            pool=pool.as_ring(),
            tally=tally,
            number=number,
        )
        self._refresh()

    def run(self, states: NDArray[Any]) -> None:
        """Go on for ``len(states)`` steps and fill ``states``."""
        start = 0
        while start < len(states):
            stop = min(start + self._make_room(), len(states))
            work = np.empty((stop - start, states.shape[1]), dtype=np.int16)
            _jit.herd_atoms(self._herd, work, self.max_sweeps, self.remember)
            states[start:stop] = work
            start = stop

    @property
    def state(self) -> NDArray[np.int16]:
        """The current state."""
        return (self._herd.on - self._herd.first[:-1]).astype(np.int16)

    @property
    def weights(self) -> NDArray[np.int64]:
        """The current weights, one per feature."""
        herd = self._herd
        clock = int(herd.number[_jit.CLOCK])
        a, b = self._atoms
        single = clock * herd.target1[a] - herd.debt1[a]
        pair = clock * herd.target2[a, b].astype(np.int64) - herd.debt2[a, b]
        return np.where(a == b, np.rint(single).astype(np.int64), pair)

    @property
    def step_counts(self) -> StepCounts:
        """Flips, restarts and violations so far."""
        counts = self._herd.tally
        return StepCounts(*(int(counts[k]) for k in range(_jit.FLIPS, _jit.VIOLATIONS + 1)))

    @property
    def visited(self) -> NDArray[np.int16]:
        """States in the pool, as rows of codes."""
        return self._herd.pool[: self._herd.tally[_jit.POOL]].copy()

    def _dense(self, flat: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Spread one number per feature over atoms and pairs of atoms."""
        a, b = self._atoms
        n_atoms = int(self._features.layout.n_values.sum())
        single = np.zeros(n_atoms, dtype=np.int64)
        pair = np.zeros((n_atoms, n_atoms), dtype=np.int64)
        own = a == b
        single[a[own]] = flat[own]
        pair[a[~own], b[~own]] = flat[~own]
        pair[b[~own], a[~own]] = flat[~own]
        return single, pair

    def _refresh(self) -> None:
        """Compute score, value and fields from the weights."""
        herd, weights = self._herd, self.weights
        phi = self._features.features(self.state)
        herd.number[_jit.SCORE] = float(np.dot(weights.astype(float), phi))
        herd.number[_jit.VALUE] = float(np.dot(weights.astype(float), self._features.target))
        single, pair = self._dense(weights)
        herd.field[:] = single + pair[:, herd.on].sum(axis=1)

    def _make_room(self) -> int:
        """Fold the clock away so that no count overflows; return how many steps may follow."""
        herd = self._herd
        single, pair = self._dense(self.weights)
        herd.debt1[:] = -single
        herd.number[_jit.CLOCK] = 0.0
        debt2 = fitted(-pair, self.total, herd.debt2.dtype)
        self._herd = herd._replace(debt2=debt2)
        return min(MAX_STEPS, room_in(debt2, self.total))


def _atoms_of_features(
    features: CliqueFeatures, first: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the two atoms of each feature; a single has the same one twice."""
    layout = features.layout
    clique, local = layout.places()
    members = layout.members[clique]
    if members.shape[1] == 1:
        a = b = first[members[:, 0]] + local
    else:
        pair = members[:, 1] >= 0
        size = np.where(pair, layout.n_values[members[:, 1]], 1)
        a = first[members[:, 0]] + local // size
        b = np.where(pair, first[members[:, 1]] + local % size, a)
    fires = np.flatnonzero(features.coefficient)
    atoms = np.zeros((2, features.n_features), dtype=np.intp)
    atoms[:, features.feature[fires]] = a[fires], b[fires]
    return atoms[0], atoms[1]
