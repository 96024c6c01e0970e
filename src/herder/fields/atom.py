"""The fast herd of columns with any alphabets: singles and pairs, as integers in float64.

`AtomHerd` owns the live arrays of the compiled loop in `herder.fields._atom_jit`, and retraces
the specification (`herder.fields.system.MomentSystem`) state for state.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.fields import _atom_jit as _jit
from herder.fields.engine import MAX_STEPS, Engine, fitted, room_in
from herder.fields.system import PCT_TOLERANCE, Setup
from herder.models.features import CliqueFeatures

__all__ = ["AtomHerd", "serves"]

#: A^2 tables up to this many atoms (two of int32 and some of int64 in passing: 6 GiB).
MAX_ATOMS = 16_384


def serves(features: CliqueFeatures) -> bool:
    """Return whether the fast loop can run these features: cells of singles and pairs."""
    if features.layout.members.shape[1] > 2 or features.encoding == "+-1":
        return False
    return int(features.layout.n_values.sum()) <= MAX_ATOMS


class AtomHerd(Engine):
    """Live state of a herd over pairs of columns.

    Parameters
    ----------
    features : CliqueFeatures
        Singles and pairs, each cell with a feature of its own or none.
    setup : Setup
        Where and how to start.
    """

    jit = _jit

    def __init__(self, features: CliqueFeatures, setup: Setup) -> None:
        super().__init__(features, setup)
        pool, norm2 = setup.pool, self._norm2
        first = np.concatenate([[0], np.cumsum(features.layout.n_values)]).astype(np.intp)
        self._atoms = _atoms_of_features(features, first)
        target = self._dense(features.target)
        weight = self._dense(setup.weights)
        has = self._dense(np.ones(features.n_features, dtype=np.int64))
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
            scan=setup.scan,
            pool=pool.as_ring(),
            tally=np.array([setup.t, 0, 0, 0, len(pool.rows)], dtype=np.int64),
            number=np.array([0.0, 0.0, 0.0, self.total, norm2, PCT_TOLERANCE * norm2]),
        )
        # score, value and fields from the weights
        self._herd.number[[_jit.SCORE, _jit.VALUE]] = self._score()
        single, pair = self._dense(self.weights)
        self._herd.field[:] = single + pair[:, self._herd.on].sum(axis=1)

    def _run(self, states: NDArray[Any]) -> None:
        work = np.empty(states.shape, dtype=np.int16)
        _jit.herd_atoms(self._herd, work, self.max_sweeps, self.remember)
        states[:] = work

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
    clique = np.repeat(np.arange(layout.n_cliques), np.diff(layout.offsets))
    local = np.arange(layout.offsets[-1]) - layout.offsets[clique]
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
