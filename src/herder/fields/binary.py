"""The fast herd of 0/1 columns: all singles, pairs or triples, as integers in float64.

`BinaryHerd` owns the live arrays of the compiled loop. It retraces the specification
(`herder.fields.system.MomentSystem`) state for state; `herder.fields._binary_jit` says what
makes it fast.
"""

from itertools import combinations, permutations
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from herder.fields import _binary_jit as _jit
from herder.fields.system import PCT_TOLERANCE, Pool, Setup, StepCounts
from herder.models.features import CliqueFeatures

__all__ = ["BinaryHerd", "Engine", "serves"]

#: D^3 tables up to this many variables (two of int16 and some of int64 in passing: 2 GiB).
MAX_TRIPLE_VARIABLES = 400

#: D^2 tables up to this many variables (two of int32 and some of int64 in passing: 6 GiB).
MAX_PAIR_VARIABLES = 16_384

#: Steps of the compiled loop at a time; the clock is folded away in between.
MAX_STEPS = 2**16

#: Counts are int32 while that leaves room for this many steps, else int64.
MIN_STEPS = 2**10


def serves(features: CliqueFeatures, complete: bool, setup: Setup) -> bool:
    """Return whether the fast loop can run these features: all cliques of binary columns."""
    order = features.layout.members.shape[1]
    if not complete or order > 3 or (features.layout.n_values != 2).any():
        return False
    if features.n_features != len(features.layout.members):  # some are matched cell by cell
        return False
    width = features.n_variables
    if order < 3:
        return width <= MAX_PAIR_VARIABLES
    # triples are kept as counts: their weights must be t * target minus whole counts
    total = features.units.total
    whole = not ((setup.t % total * features.target - setup.weights) % total).any()
    return features.encoding == "01" and width <= MAX_TRIPLE_VARIABLES and whole


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


class BinaryHerd(Engine):
    """Live state of a binary herd.

    Parameters
    ----------
    features : CliqueFeatures
        All cliques of binary columns up to order 3.
    setup : Setup
        Where and how to start; triples need its ``t`` to turn weights into counts.
    """

    jit = _jit

    def __init__(self, features: CliqueFeatures, setup: Setup) -> None:
        super().__init__(features, setup)
        pool, scan, width = setup.pool, setup.scan, features.n_variables
        self.order = min(features.layout.members.shape[1], width)
        self.signed = features.encoding == "+-1"
        # The loop scans 0, 1, 2, ...: variables are renumbered so that this is ``scan``.
        self._scan, self._back = scan, np.argsort(scan)
        self._plain = bool((scan == np.arange(len(scan))).all())
        self._index = [  # all singles, pairs and triples, each as indices of shape (order, n)
            np.array([*combinations(range(width), k)], dtype=np.intp).reshape(-1, k).T
            for k in range(1, self.order + 1)
        ]
        self._sorted = [tuple(np.sort(self._back[axes], axis=0)) for axes in self._index]
        self._fired = (4 if self.signed else 1) * self.total  # what one step adds to debt2
        target = self._dense(features.target)
        weight = self._dense(setup.weights)
        clock = setup.t % self.total if self.order == 3 else 0
        if self.order == 3:  # rows [i < j, :] are used, the others stay zero
            upper = np.triu(np.ones((width, width), dtype=np.int64), 1)[:, :, None]
            target[2], weight[2] = target[2] * upper, weight[2] * upper
        count3 = clock * target[2] - weight[2]
        narrow = np.int16 if self.total < 2**15 else np.int32
        on = np.ascontiguousarray(setup.state[scan], dtype=np.int8)
        active = np.argsort(1 - on, kind="stable")  # those that are on first
        norm2, n_on = self._norm2, int(on.sum())
        shift = clock if not self.signed else 0
        rows, sizes = _pool_lists(pool, self._back)
        fixed = not pool.visited and not self.signed and len(pool.rows) > 0
        member = np.zeros((width, len(sizes)) if fixed else (0, 0), dtype=np.int8)
        shared = np.array(
            [sum(comb(c, k) for k in range(1, self.order + 1)) for c in range(width + 1)], float
        )
        self._herd = _jit.Herd(
            target1=target[0].astype(np.float64),
            target2=fitted(target[1], 0, np.int32),
            target3=fitted(target[2], 0, np.int16),
            rest=target[1].sum(axis=0) * float(self.signed),
            debt1=(shift * target[0] - weight[0]).astype(np.float64),
            debt2=fitted(shift * target[1] - weight[1], self._fired, np.int32),
            count3=fitted(count3 // self.total, 1, narrow),
            lift=np.zeros(width),
            field=np.zeros(width),
            sign=np.where(on > 0, -1.0, 1.0),
            on=on,
            active=active,
            place=np.argsort(active),
            pool=rows,
            pool_size=sizes,
            pool_score=np.zeros(len(sizes)),
            pool_pull=np.zeros(len(sizes)),
            member=member,
            overlap=np.zeros(len(sizes), dtype=np.int16),
            shared=shared,
            drift=np.zeros(width),
            pull3=np.zeros(width),
            rows3=np.zeros((2, width), dtype=np.int64),
            number=np.array([clock, 0.0, 0.0, self.total, norm2, PCT_TOLERANCE * norm2]),
            tally=np.array([n_on, setup.t, 0, 0, 0, len(pool.rows), 0], dtype=np.int64),
        )
        self._refresh()
        if fixed:
            self._follow_pool(pool)

    def _follow_pool(self, pool: Pool) -> None:
        """Prepare to move the scores of a fixed pool along with the weights."""
        herd, clock = self._herd, self._herd.number[_jit.CLOCK]
        herd.member[:] = pool.rows[:, self._scan].T
        _jit.score_pool(herd, clock + 1.0, self.order, self.signed)
        after = herd.pool_score.copy()
        _jit.score_pool(herd, clock, self.order, self.signed)
        herd.pool_pull[:] = after - herd.pool_score  # a step without features adds <n, phi>
        # one step of catching up costs about as much as four features of each state
        herd.tally[_jit.CATCH_UP] = int(herd.shared[herd.pool_size].mean() / 4)

    def _run(self, states: NDArray[Any]) -> None:
        direct = self._plain and states.dtype == np.int8
        work = states if direct else np.empty(states.shape, dtype=np.int8)
        _jit.herd_binary(self._herd, work, self.order, self.signed, self.max_sweeps, self.remember)
        if not direct:
            states[:] = work[:, self._back]

    def _make_room(self) -> int:
        """Fold the clock away so that no count overflows; return how many steps may follow."""
        herd = self._herd
        clock = int(herd.number[_jit.CLOCK])
        if self.order == 3:
            # t n - N c is the same with t - N and c - n in place of t and c
            turns = clock // self.total
            count3 = herd.count3 - turns * herd.target3.astype(np.int64)
            herd.debt1[:] -= turns * self.total * herd.target1
            debt2 = herd.debt2 - (turns * self.total) * herd.target2.astype(np.int64)
            herd.number[_jit.CLOCK] = clock - turns * self.total
            count3 = fitted(count3, 1, herd.count3.dtype)
            sums = np.int32 if count3.dtype == np.int16 else np.int64
            rows3 = herd.rows3.astype(sums, copy=False)
            self._herd = herd = herd._replace(count3=count3, rows3=rows3)
            room = room_in(count3, 1)
        else:
            level = self._dense(self.weights)
            herd.debt1[:], debt2 = -level[0], -level[1]
            herd.lift[:] = 0.0
            herd.number[_jit.CLOCK] = 0.0
            room = MAX_STEPS
        debt2 = fitted(debt2, self._fired, herd.debt2.dtype)
        self._herd = herd._replace(debt2=debt2)
        return min(MAX_STEPS, room, room_in(debt2, self._fired))

    @property
    def state(self) -> NDArray[np.int8]:
        """The current state."""
        return self._herd.on[self._back]

    @property
    def weights(self) -> NDArray[np.int64]:
        """The current weights, one per feature."""
        herd = self._herd
        clock = herd.number[_jit.CLOCK]
        single = clock * herd.target1 - herd.debt1
        pair = clock * herd.target2 - herd.debt2
        if self.signed:
            single += clock * self.total
            pair += herd.lift[:, None] + herd.lift - clock * self.total
        levels: list[NDArray[Any]] = [single, pair, herd.target3]
        if self.order == 3:
            fired = self.total * herd.count3.astype(np.int64)
            levels[2] = int(clock) * herd.target3.astype(np.int64) - fired
        flat = [level[axes] for level, axes in zip(levels, self._sorted, strict=False)]
        return np.rint(np.concatenate(flat)).astype(np.int64)

    @property
    def visited(self) -> NDArray[np.int8]:
        """States in the pool, as rows of codes."""
        herd = self._herd
        rows = np.zeros((int(herd.tally[_jit.POOL]), len(herd.on)), dtype=np.int8)
        for r in range(len(rows)):
            rows[r, self._scan[herd.pool[r, : herd.pool_size[r]]]] = 1
        return rows

    def _dense(self, flat: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Spread one number per clique over symmetric arrays of orders 1, 2 and 3."""
        width = len(self._scan)
        shapes = [(width,), (width, width), (width,) * 3 if self.order == 3 else (0, 0, 0)]
        dense = [np.zeros(shape, dtype=np.int64) for shape in shapes]
        start = 0
        for axes in self._index:
            stop = start + axes.shape[1]
            renamed = self._back[axes]
            for axis in permutations(range(len(axes))):
                dense[len(axes) - 1][tuple(renamed[list(axis)])] = flat[start:stop]
            start = stop
        return dense

    def _refresh(self) -> None:
        """Compute score, value and fields from the weights."""
        herd, level = self._herd, self._dense(self.weights)
        herd.number[[_jit.SCORE, _jit.VALUE]] = self._score()
        x = herd.on * 2.0 - 1.0 if self.signed else herd.on.astype(float)
        herd.field[:] = level[0]
        if self.order >= 2:
            herd.field[:] += level[1] @ x
        if self.order == 3:
            on = np.flatnonzero(herd.on)
            herd.field[:] += 0.5 * level[2][:, on][:, :, on].sum(axis=(1, 2))
            target = self._dense(self._features.target)[2]
            herd.pull3[:] = 0.5 * target[:, on][:, :, on].sum(axis=(1, 2))


def room_in(table: NDArray[np.integer], step: int) -> int:
    """Return how many additions of ``step`` fit into every entry of a table."""
    largest = int(np.abs(table).max(initial=0))
    return (int(np.iinfo(table.dtype).max) - largest) // step


def fitted(table: NDArray[np.integer], step: int, least: Any) -> NDArray[np.integer]:
    """Return the table in the narrowest type from ``least`` on with room for `MIN_STEPS` steps."""
    largest = int(np.abs(table).max(initial=0)) + MIN_STEPS * step
    for kind in (np.int16, np.int32, np.int64):
        if np.dtype(kind).itemsize >= np.dtype(least).itemsize and largest <= np.iinfo(kind).max:
            return table.astype(kind, copy=False)
    raise OverflowError("weights must stay below 2^63 units: herd fewer steps")


def _pool_lists(
    pool: Pool, rename: NDArray[np.intp]
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Return the variables that are on in each row of a pool, renamed and ascending."""
    capacity = max(pool.size if pool.visited else len(pool.rows), 1)
    lists = np.zeros((capacity, len(rename)), dtype=np.int32)
    sizes = np.zeros(capacity, dtype=np.intp)
    for r, row in enumerate(pool.rows):
        on = np.sort(rename[np.flatnonzero(row)])
        lists[r, : len(on)] = on
        sizes[r] = len(on)
    return lists, sizes
