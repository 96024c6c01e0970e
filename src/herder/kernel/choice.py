r"""Choose the m rows of smallest MMD: greedily, then by exchange.

For m rows s with equal weights and a target mean t, up to a constant,

.. math:: \mathrm{MMD}^2 = \tfrac{1}{m^2} \sum_{s, s'} k(s, s') - \tfrac{2}{m} \sum_s t(s).

*Greedy*: with T rows chosen, the best next one maximises
:math:`t(x) - \frac{1}{T+1} [\sum_s k(x, s) + \tfrac{1}{2} k(x, x)]`. Where k(x, x) is the same for
all rows this is herding (equation 4.20 of [chen2014]_); where it is not, the last term is what
makes the step greedy. *Exchange*: take one chosen row out, put the best one in,
:math:`\arg\max_x t(x) - \frac{1}{m} [\sum_{s \ne \mathrm{out}} k(x, s) + \tfrac{1}{2} k(x, x)]`,
for each in turn, until nothing changes: the MMD falls with every exchange.

A greedy sequence is nested: its first T rows are the choice of size T. An exchanged set is not.
In a large sample the exchange begins within a small pool of rows, and then opens to all of them;
and for a smooth kernel it begins with the choice of a rough one. That costs little, and the MMD
of the sets is lower by a third in five dimensions and by several times in the plane.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from herder.core.lanes import Progress
from herder.kernel.candidates import (
    ArrayCandidates,
    Candidates,
    PairCandidates,
    candidates_of,
    even_rows,
)
from herder.kernel.functions import Energy, Kernel, Laplace, Radial

__all__ = ["DOUBLE_TIES", "SINGLE_TIES", "SWEEPS", "Rules", "choose", "pick_first", "typical"]

#: Scores this close, relative to the median k(x, x), tie, and the lowest index wins: far above the
#: rounding of sums in double precision, and above that of sums of single-precision values.
DOUBLE_TIES, SINGLE_TIES = 1e-9, 1e-7

#: Exchanges begin among this many rows, spread evenly, or so many for each row wanted. A set
#: that is good among few rows is a better start for all of them than a greedy one, and cheaper.
POOL_ROWS, POOL_PER_ROW = 2048, 8
#: Sweeps in the pool, which is only for a good start.
POOL_SWEEPS = 3
#: Sweeps over all rows of a small sample at most; mostly they end before. Fewer where they would
#: take more than so many kernel values.
SMALL_SWEEPS, QUICK_VALUES = 20, 2**24
#: Sweeps over all rows of a large sample: each costs as much as twice the greedy picks, and gains
#: less than the one before.
SWEEPS = 2

#: A small sample is thinned twice, from two starts, if at most one row in so many is wanted;
#: beyond that there is little choice.
SHARE_FOR_TWO = 4

#: Kernel values of chosen rows that the NumPy steps keep: 16 MB.
KEPT_VALUES = 2**21

#: Positions tried between two reports of progress.
STRIDE = 64


@dataclass(frozen=True)
class Rules:
    """Constraints on a choice of rows.

    Parameters
    ----------
    unique : bool
        Choose no row twice.
    include : array of int
        Rows that are forced in, first in the order.
    exclude : array of int
        Rows that may not be chosen.
    sweeps : int or None
        Exchange sweeps at most; 0 keeps the greedy order, None takes as many as pay.
    """

    unique: bool
    include: NDArray[np.intp]
    exclude: NDArray[np.intp]
    sweeps: int | None

    def spread(self, n_rows: int, most: int) -> NDArray[np.intp]:
        """Return about ``most`` allowed rows of n, spread evenly, with all included ones."""
        allowed = np.delete(np.arange(n_rows), self.exclude)
        return np.union1d(allowed[even_rows(len(allowed), most)], self.include)

    def among(self, rows: NDArray[np.intp]) -> "Rules":
        """Return the rules for a choice from these rows alone, in ascending order."""
        none = np.empty(0, dtype=np.intp)
        return replace(self, include=np.searchsorted(rows, self.include), exclude=none)


def choose(
    candidates: Candidates,
    target: NDArray[np.float64],
    n_select: int,
    rules: Rules,
    *,
    mass: NDArray[np.float64] | None = None,
    progress: Progress | None = None,
) -> NDArray[np.intp]:
    """Choose rows whose mean is near the target.

    Exchanges begin with the choice of a rougher kernel for the rows with weights ``mass``. If
    these are not known, because ``target`` is not a mean of the rows, they are taken as equal, and
    a start without them is tried as well.
    """
    n = candidates.n_rows

    def objective(rows: NDArray[np.intp]) -> float:  # MMD^2 less the squared norm of the target
        return float(candidates.gram(rows).mean() - 2 * target[rows].mean())

    pool = max(POOL_ROWS, POOL_PER_ROW * n_select)
    large = n > 2 * pool
    if rules.sweeps is None:
        rules = replace(rules, sweeps=SWEEPS if large else quick_sweeps(n, n_select))
    if rules.sweeps and rules.unique and n_select == n - len(rules.exclude):
        fixed = np.concatenate([rules.include, rules.exclude])
        return np.concatenate([rules.include, np.delete(np.arange(n), fixed)])
    if not rules.sweeps or not isinstance(candidates, ArrayCandidates):
        return _improve(candidates, target, n_select, rules, progress=progress)
    if large:  # a good set among some rows first, for the sweeps over all to start from
        rows = rules.spread(n, pool)
        inner = replace(rules.among(rows), sweeps=POOL_SWEEPS)
        starts = [_rough_choice(candidates, rows, mass, n_select, inner)]
        if mass is None and starts[0] is not None:
            starts.append(None)
        part = _among(candidates, rows, candidates.kernel)
        tried = [rows[_improve(part, target[rows], n_select, inner, start)] for start in starts]
        start = min(tried, key=objective) if len(tried) > 1 else tried[0]
        return _improve(candidates, target, n_select, rules, start, progress)
    found = _improve(candidates, target, n_select, rules, progress=progress)
    if n < SHARE_FOR_TWO * n_select:
        return found
    start = _rough_choice(candidates, slice(None), mass, n_select, rules)
    if start is None:
        return found
    return min(
        found, _improve(candidates, target, n_select, rules, start, progress), key=objective
    )


def _rough_choice(
    candidates: ArrayCandidates,
    rows: NDArray[np.intp] | slice,
    mass: NDArray[np.float64] | None,
    n_select: int,
    rules: Rules,
) -> NDArray[np.intp] | None:
    """Choose from some rows with a Laplace kernel of the same bandwidth; None if it is no rougher.

    A smooth kernel is content with sets that are poor beyond its reach, and exchanges one by one
    do not lead out of them. The choice of a rough kernel is good on all scales.
    """
    kernel = candidates.kernel
    if not isinstance(kernel, Radial) or isinstance(kernel, Laplace):
        return None
    rough = _among(candidates, rows, Laplace(kernel.bandwidth))
    own = np.ones(rough.n_rows) if mass is None else mass[rows]
    if not own.any():
        return None
    target = rough.mean(own / own.sum(), precision="single")
    return _improve(rough, target, n_select, rules)


def _among(
    candidates: ArrayCandidates, rows: NDArray[np.intp] | slice, kernel: Kernel
) -> ArrayCandidates:
    """Return some of the rows as candidates under a kernel, compiled if all of them are."""
    compiled = isinstance(candidates, PairCandidates)
    values, n_jobs = candidates.values[rows], candidates.n_jobs
    return candidates_of(values, kernel, n_jobs=n_jobs, compiled=compiled)


def quick_sweeps(n_rows: int, n_select: int) -> int:
    """Return as many sweeps as are quick, and no fewer than over all rows of a large sample."""
    return max(SWEEPS, min(SMALL_SWEEPS, QUICK_VALUES // (2 * n_rows * n_select)))


def _improve(
    candidates: Candidates,
    target: NDArray[np.float64],
    n_select: int,
    rules: Rules,
    start_rows: NDArray[np.intp] | None = None,
    progress: Progress | None = None,
) -> NDArray[np.intp]:
    """Complete ``start_rows`` greedily, then exchange all rows but the included ones.

    The included rows come first among ``start_rows``, and are all of them by default.
    """
    chosen = np.zeros(n_select, dtype=np.intp)
    first = rules.include if start_rows is None else start_rows
    chosen[: len(first)] = first
    allowed = target.copy()
    allowed[rules.exclude] = -np.inf
    if isinstance(candidates, PairCandidates):
        steps = _Compiled(candidates, allowed, chosen, rules.unique)
    else:
        steps = _Plain(candidates, allowed, chosen, rules.unique)

    def blocks(start: int, note: str) -> Iterator[tuple[int, int]]:
        for low in range(start, n_select, STRIDE):
            high = min(low + STRIDE, n_select)
            yield low, high
            if progress is not None:
                progress(high / n_select, note)

    for low, high in blocks(len(first), "herding"):
        steps.pick(low, high)
    for sweep in range(rules.sweeps or 0):
        note = f"exchange, sweep {sweep + 1}"
        if not sum(steps.exchange(*block) for block in blocks(len(rules.include), note)):
            break
    return chosen


def typical(diagonal: NDArray[np.float64]) -> float:
    """Return the k(x, x) that tolerances refer to: the median, which one far row cannot change."""
    return float(np.median(diagonal)) or float(diagonal.max())


def pick_first(scores: NDArray[np.float64], tie_tol: float) -> int:
    """Return the lowest index within the tolerance of the highest score."""
    return int(np.argmax(scores >= scores.max() - tie_tol))


class _Plain:
    """The steps in NumPy, for any candidates: what the compiled ones retrace."""

    def __init__(
        self,
        candidates: Candidates,
        target: NDArray[np.float64],
        chosen: NDArray[np.intp],
        unique: bool,
        ties: float = DOUBLE_TIES,
    ) -> None:
        self.candidates, self.target, self.chosen, self.unique = candidates, target, chosen, unique
        self.half = candidates.diagonal / 2
        self.covered = np.zeros(candidates.n_rows)
        self.tie_tol = ties * typical(candidates.diagonal)
        self._n_covered = 0
        self._columns: dict[int, NDArray[np.float64]] = {}

    def pick(self, start: int, stop: int) -> None:
        self._cover(start)
        for t in range(start, stop):
            scores = self.target - (self.covered + self.half) / (t + 1)
            if self.unique:
                scores[self.chosen[:t]] = -np.inf
            self.chosen[t] = pick_first(scores, self.tie_tol)
            self._cover(t + 1)

    def exchange(self, start: int, stop: int) -> int:
        m = len(self.chosen)
        self._cover(m)
        base = self.target - self.half / m
        changed = 0
        for t in range(start, stop):
            old = self.chosen[t]
            self.covered -= self._column(int(old))
            scores = base - self.covered / m
            stay = scores[old]
            if self.unique:
                scores[np.delete(self.chosen, t)] = -np.inf
            top = scores.max()
            if stay < top - 0.1 * self.tie_tol:
                self.chosen[t] = pick_first(scores, min(self.tie_tol, 0.5 * (top - stay)))
                changed += 1
            self.covered += self._column(int(self.chosen[t]))
            if self.chosen[t] != old and not (self.chosen == old).any():
                self._columns.pop(int(old), None)
        return changed

    def _cover(self, stop: int) -> None:
        """Add the kernel values of the chosen rows, in the order of their choice."""
        while self._n_covered < stop:
            self.covered += self._column(int(self.chosen[self._n_covered]))
            self._n_covered += 1

    def _column(self, row: int) -> NDArray[np.float64]:
        """Return the kernel values of a chosen row to all; they are kept while there is room."""
        if row in self._columns:
            return self._columns[row]
        column = self.candidates.column(row)
        if (len(self._columns) + 1) * self.candidates.n_rows <= KEPT_VALUES:
            self._columns[row] = column
        return column


class _Compiled(_Plain):
    """The same steps in compiled loops."""

    def __init__(
        self,
        candidates: PairCandidates,
        target: NDArray[np.float64],
        chosen: NDArray[np.intp],
        unique: bool,
    ) -> None:
        from herder.kernel import _pairs_jit

        self.jit, self.points, self.code = _pairs_jit, candidates.chooser, candidates.code
        ties = SINGLE_TIES if self.points.dtype == np.float32 else DOUBLE_TIES
        super().__init__(candidates, target, chosen, unique, ties)
        self.sign = 1.0
        if isinstance(candidates.kernel, Energy):
            # In a greedy step or an exchange the radii, half the diagonal, of an energy kernel
            # cancel: it may be taken for minus the distance, with a zero diagonal.
            self.target, self.half, self.sign = target - self.half, np.zeros(len(target)), -1.0

    def pick(self, start: int, stop: int) -> None:
        self._cover(start)
        state = self.covered, self.chosen, start, stop, self.unique, self.tie_tol
        pair = self.points, self.code, self.sign
        self.jit.pick_greedily(*pair, self.target, self.half, *state)
        self._n_covered = stop

    def exchange(self, start: int, stop: int) -> int:
        m = len(self.chosen)
        self._cover(m)
        state = self.covered, self.chosen, start, stop, self.unique, self.tie_tol
        pair = self.points, self.code, self.sign
        return self.jit.exchange(*pair, self.target - self.half / m, *state)

    def _column(self, row: int) -> NDArray[np.float64]:
        values = np.empty(len(self.covered))
        self.jit.column(self.points, row, self.code, values)
        return self.sign * values
