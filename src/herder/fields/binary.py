"""The fast herd of 0/1 columns: all singles, pairs or triples, as integers in float64.

`BinaryHerd` owns the live arrays of the compiled loop. It retraces the specification
(`herder.fields.system.MomentSystem`) state for state; `herder.fields._binary_jit` says what
makes it fast, and how weights of cells become weights of products.
"""

from itertools import combinations, permutations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.fields import _binary_jit as _jit
from herder.fields.engine import MAX_STEPS, Engine, fitted, room_in
from herder.fields.system import PCT_TOLERANCE, Pool, Setup
from herder.models.features import CliqueFeatures

__all__ = ["BinaryHerd", "serves"]

#: D^3 tables up to this many variables (two of int16 and some of int64 in passing: 2 GiB).
MAX_TRIPLE_VARIABLES = 400

#: D^2 tables up to this many variables (two of int32 and some of int64 in passing: 6 GiB).
MAX_PAIR_VARIABLES = 16_384

#: Numbers up to this are sums of integers without rounding.
LARGEST_EXACT = 2**53


def serves(features: CliqueFeatures, complete: bool, setup: Setup) -> bool:
    """Return whether the fast loop can run these features: all cliques of binary columns."""
    order, width = features.layout.members.shape[1], features.n_variables
    if not complete or order > 3 or not features.closed.all():
        return False
    if width > (MAX_PAIR_VARIABLES if order < 3 else MAX_TRIPLE_VARIABLES):
        return False
    if features.encoding == "indicator":
        ones, total = _ones(features, setup.weights)
        if not np.array_equal(_cells(features, ones, total), setup.weights):
            return False  # the tables of weights disagree on what they share
    # triples are kept as counts: their weights must be t * target minus whole counts
    return order < 3 or (features.encoding != "+-1" and _counts(features, setup) is not None)


def _ones(features: CliqueFeatures, flat: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return the cell of all ones of each clique, and what each table sums to."""
    if features.encoding != "indicator":
        return flat, 0
    return flat[features.layout.offsets[1:] - 1], int(flat[0] + flat[1])


def _cells(features: CliqueFeatures, ones: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Return all cells from what `_ones` returned."""
    cells = np.zeros(features.n_features, dtype=np.int64)
    features.tables.fill(cells, ones, total)
    return cells


def _counts(features: CliqueFeatures, setup: Setup) -> tuple[int, NDArray[np.int64], int] | None:
    """Return a clock t and counts for which weights are t * target - N * counts, if any are.

    The last count is that of the empty set, behind what each table sums to.
    """
    total = features.units.total
    (target, _), (weights, start) = (_ones(features, x) for x in (features.target, setup.weights))
    clock = (setup.t + start // total) % total
    debt = clock * target - weights
    if start % total or (debt % total).any():
        return None
    return clock, debt // total, clock - start // total


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
        self.signed = features.encoding != "01"
        # The loop scans 0, 1, 2, ...: variables are renumbered so that this is ``scan``.
        self._scan, self._back = scan, np.argsort(scan)
        self._plain = bool((scan == np.arange(len(scan))).all())
        self._index = [  # all singles, pairs and triples, each as indices of shape (order, n)
            np.array([*combinations(range(width), k)], dtype=np.intp).reshape(-1, k).T
            for k in range(1, self.order + 1)
        ]
        self._sorted = [tuple(np.sort(self._back[axes], axis=0)) for axes in self._index]
        clock, counts, count0 = 0, np.zeros(0, dtype=np.int64), 0
        if self.order == 3:
            clock, counts, count0 = _counts(features, setup) or (clock, counts, count0)
        self._start = _ones(features, setup.weights)[1]  # what tables of weights sum to
        self._rates, scale, constant = [1, 1], 1, 0
        if features.encoding == "indicator":
            constant, *self._rates = (_rate(width, self.order, size) for size in range(3))
            scale = 2**self.order
        target = self._dense(self._products(features.target))
        level = self._dense(self._products(setup.weights))
        pull1, pull2, empty_pull = self._in_empty_state(target)
        single, pair, empty = self._in_empty_state(level)
        triples = self.order == 3 and self.signed
        # large pairs are floats, as pairs of signed triples are, up to 2^53: one compilation
        self._debts = (np.float64,) if triples else (np.int32, np.float64, np.int64)
        self._fired = self.total  # what one step adds to debt2, at most
        if self.signed:
            self._fired *= 4 * (self._rates[1] + width) if triples else 4
        count = self._dense(counts) if self.order == 3 else level
        if self.order == 3:
            self._arrange(count)
            target[2] *= np.triu(np.ones((width, width), dtype=np.int64), 1)[:, :, None]
        # below order 3 empty, of the dtypes that triples of few rows have: one compilation
        many = self.order == 3 and self.total >= 2**15
        count3 = fitted(count[2], 1, np.int32 if many else np.int16)
        rows, sizes = _pool_lists(pool, self._back)
        fixed = not pool.visited and len(pool.rows) > 0
        number = np.zeros(14)
        number[[_jit.CLOCK, _jit.COUNT0, _jit.TOTAL]] = clock, count0, self.total
        number[[_jit.EMPTY, _jit.EMPTY_PULL]] = empty, empty_pull
        number[[_jit.RATE1, _jit.RATE2]] = self._rates
        weights = setup.weights.astype(float)
        score = float(weights @ features.features(setup.state))
        value = float(weights @ self._target)
        # of cells, sums of products are 2^order times as large, but for a constant
        number[_jit.SCORE] = scale * score - constant * self._start
        number[_jit.VALUE] = scale * value - constant * self._start * self.total
        number[_jit.NORM2] = scale * self._norm2 - constant * self.total**2
        number[_jit.TOLERANCE] = scale * PCT_TOLERANCE * self._norm2
        self._herd = _jit.Herd(
            target1=pull1.astype(float),
            target2=fitted(pull2, 0, np.int32),
            target3=fitted(target[2], 0, np.int16),
            single=single.astype(float),
            debt2=fitted(-pair, self._fired, np.int32, self._debts),
            count3=count3,
            lift=np.zeros(width),
            count1=count[0].astype(float),
            count2=(count[1] if triples else count[1][:0]).astype(np.int32),
            near=np.zeros(width),
            field=np.zeros(width),
            sign=np.ones(width),
            on=np.zeros(width, dtype=np.int8),
            active=np.zeros(width, dtype=np.intp),
            place=np.zeros(width, dtype=np.intp),
            pool=rows,
            pool_size=sizes,
            pool_score=np.zeros(len(sizes)),
            pool_pull=np.zeros(len(sizes)),
            member=np.zeros((width, len(sizes)) if fixed else (0, 0), dtype=np.int8),
            overlap=np.zeros(len(sizes), dtype=np.int16),
            shared=self._shared(width),
            drift=np.zeros(width),
            pull3=np.zeros(width),
            rows3=np.zeros((2, width), dtype=_sums(count3)),
            number=number,
            tally=np.array([0, setup.t, 0, 0, 0, len(pool.rows), 0], dtype=np.int64),
        )
        self._ones = [*target[:2], self._herd.target3]  # what counts lose with the clock
        if triples:
            self._ones = self._dense(_ones(features, features.target)[0])
            self._arrange(self._ones)
            self._ones[2] = fitted(self._ones[2], 0, np.int16)
        on = np.flatnonzero(setup.state[scan]).astype(np.int32)
        self._herd.tally[_jit.ACTIVE] = _jit.jump(self._herd, on, self.order, self.signed)
        if fixed:
            self._follow_pool(pool)

    def _follow_pool(self, pool: Pool) -> None:
        """Prepare to move the scores of a fixed pool along with the weights."""
        herd = self._herd
        herd.member[:] = pool.rows[:, self._scan].T
        _jit.score_pool(herd, 1.0, self.order, self.signed)
        after = herd.pool_score.copy()
        _jit.score_pool(herd, 0.0, self.order, self.signed)
        herd.pool_pull[:] = after - herd.pool_score  # a step without features adds <n, phi>
        # one step of catching up costs about as much as four features of each state
        ones = _subsets(herd.pool_size.astype(float), self.order)
        herd.tally[_jit.CATCH_UP] = int(ones.mean() / 4)

    def _run(self, states: NDArray[Any]) -> None:
        direct = self._plain and states.dtype == np.int8
        work = states if direct else np.empty(states.shape, dtype=np.int8)
        _jit.herd_binary(self._herd, work, self.order, self.signed, self.max_sweeps, self.remember)
        if not direct:
            states[:] = work[:, self._back]

    def _make_room(self) -> int:
        """Fold the clocks away so that no count overflows; return how many steps may follow."""
        herd, room = self._herd, MAX_STEPS
        debt2 = -self._pairs().astype(np.int64)
        herd.lift[:] = 0.0
        herd.number[[_jit.LAPSE, _jit.SHIFT]] = 0.0
        turns = int(herd.number[_jit.CLOCK]) // self.total
        if self.order == 3:
            # t n - N c is the same with t - N and c - n in place of t and c
            count3 = herd.count3
            if turns:
                herd.number[_jit.CLOCK] -= turns * self.total
                ones1, ones2, ones3 = self._ones
                count3 = count3 - turns * ones3.astype(np.int64)
                if self.signed:
                    herd.number[_jit.COUNT0] -= turns * self.total
                    herd.count1[:] -= turns * ones1
                    herd.count2[:] -= turns * ones2
            if self.signed:
                herd.near[:] = 8.0 * self.total * (herd.count2 @ herd.on.astype(float))
                reach = np.abs(herd.number[[_jit.CLOCK, _jit.COUNT0]]).max() + MAX_STEPS
                size = 64 * len(herd.on) * self.total * max(reach, np.abs(herd.count1).max())
                herd.number[_jit.EXACT] = size < LARGEST_EXACT
            count3 = fitted(count3, 1, herd.count3.dtype)
            rows3 = herd.rows3.astype(_sums(count3), copy=False)
            self._herd = herd = herd._replace(count3=count3, rows3=rows3)
            room = room_in(count3, 1)
        debt2 = fitted(debt2, self._fired, herd.debt2.dtype, self._debts)
        self._herd = herd._replace(debt2=debt2)
        return min(MAX_STEPS, room, room_in(debt2, self._fired))

    @property
    def state(self) -> NDArray[np.int8]:
        """The current state."""
        return self._herd.on[self._back]

    @property
    def weights(self) -> NDArray[np.int64]:
        """The current weights, one per feature."""
        herd, start = self._herd, self._start
        indicator = self._features.encoding == "indicator"
        clock = int(herd.number[_jit.CLOCK])
        if indicator and self.order == 3:
            counts = self._flat([herd.count1, herd.count2, herd.count3])
            ones = clock * _ones(self._features, self._features.target)[0] - self.total * counts
            return _cells(self._features, ones, start)
        pair = self._pairs()
        single = herd.single
        if self.signed:
            single = (single + pair.sum(axis=1)) / self._rates[0]
        if indicator:
            single = (single + start) / 2
            pair = (pair + 2 * single[:, None] + 2 * single - start) / 4
        levels: list[NDArray[Any]] = [single, pair, herd.target3]
        if self.order == 3:
            fired = self.total * herd.count3.astype(np.int64)
            levels[2] = clock * herd.target3.astype(np.int64) - fired
        ones = self._flat(levels)
        return _cells(self._features, ones, start) if indicator else ones

    @property
    def visited(self) -> NDArray[np.int8]:
        """States in the pool, as rows of codes."""
        herd = self._herd
        rows = np.zeros((int(herd.tally[_jit.POOL]), len(herd.on)), dtype=np.int8)
        for r in range(len(rows)):
            rows[r, self._scan[herd.pool[r, : herd.pool_size[r]]]] = 1
        return rows

    def _pairs(self) -> NDArray[np.float64]:
        """Return what pairs add to the score (B of `herder.fields._binary_jit`)."""
        herd = self._herd
        pair = herd.number[_jit.LAPSE] * herd.target2 - herd.debt2
        pair += herd.lift[:, None] + herd.lift + herd.number[_jit.SHIFT]
        np.fill_diagonal(pair, 0.0)
        return pair if self.order > 1 else 0.0 * pair

    def _products(self, flat: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return one number per clique: of cells, their sum with the sign of a product."""
        if self._features.encoding != "indicator":
            return flat
        sign, signs = np.ones(1, dtype=np.int64), []
        for axes in self._index:
            sign = np.kron(sign, [-1, 1])
            signs.append(np.tile(sign, axes.shape[1]))
        return np.add.reduceat(flat * np.concatenate(signs), self._features.layout.offsets[:-1])

    def _flat(self, levels: list[NDArray[Any]]) -> NDArray[np.int64]:
        """Return one number per clique from arrays of orders 1, 2 and 3."""
        flat = [level[axes] for level, axes in zip(levels, self._sorted, strict=False)]
        return np.rint(np.concatenate(flat)).astype(np.int64)

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

    def _arrange(self, count: list[NDArray[np.int64]]) -> None:
        """Keep the rows [i < j, :] of counts of triples, with what the loop needs beside them."""
        width = len(self._scan)
        upper = np.triu(np.ones((width, width), dtype=np.int64), 1)
        count[2] *= upper[:, :, None]
        if self.signed:
            np.fill_diagonal(count[1], count[0])
            i, j = np.nonzero(upper)
            count[2][i, j, i] = count[2][i, j, j] = count[1][i, j]

    def _in_empty_state(
        self, level: list[NDArray[np.int64]]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return first and second derivatives, and the score, where no variable is on."""
        single, pair, triple = level
        if not self.signed:
            return single, pair, 0
        single, pair = self._rates[0] * single, self._rates[1] * pair
        rows = triple.sum(axis=2) if self.order == 3 else np.zeros_like(pair)
        empty = pair.sum() // 2 - single.sum() - rows.sum() // 6
        return single - pair.sum(axis=1) + rows.sum(axis=1) // 2, pair - rows, int(empty)

    def _shared(self, width: int) -> NDArray[np.float64]:
        """Return <phi, phi'> of states by common ones, or by codes that differ if signed."""
        if not self.signed:
            return _subsets(np.arange(width + 1.0), self.order)
        spin = width - 2.0 * np.arange(width + 1)
        shared: Any = self._rates[0] * spin
        if self.order > 1:
            shared += self._rates[1] * (spin**2 - width) / 2
        if self.order == 3:
            shared += spin * (spin**2 - 3 * width + 2) / 6
        return shared


def _rate(width: int, order: int, size: int) -> int:
    """Return how often cells of up to ``order`` columns weigh a product of ``size`` of them."""
    sizes = range(max(size, 1), order + 1)
    return sum(2 ** (order - m) * comb(width - size, m - size) for m in sizes)


def _subsets(n: NDArray[np.float64], order: int) -> NDArray[np.float64]:
    """Return how many sets of 1 up to ``order`` things there are among n."""
    terms = [n, n * (n - 1) / 2, n * (n - 1) * (n - 2) / 6]
    return np.sum(terms[:order], axis=0)


def _sums(counts: NDArray[np.integer]) -> type[np.signedinteger]:
    """Return the dtype that rows of counts are summed in."""
    return np.int32 if counts.dtype == np.int16 else np.int64


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
