r"""Choose m rows by hand of the MMD: greedily, then by exchange.

For m rows s with equal weights and a target mean t, up to a constant,

.. math:: \mathrm{MMD}^2 = \tfrac{1}{m^2} \sum_{s, s'} k(s, s') - \tfrac2m \sum_s t(s).

*Greedy*: with T rows chosen, the best next one maximises
:math:`t(x) - \frac{1}{T+1} [\sum_s k(x, s) + \tfrac12 k(x, x)]`. Where k(x, x) is the same for
all rows this is herding (equation 4.20 of [chen2014]_); where it is not, the last term is what
makes the step greedy. *Exchange*: take one chosen row out, put the best one in,
:math:`\arg\max_x t(x) - \frac1m [\sum_{s \ne \mathrm{out}} k(x, s) + \tfrac12 k(x, x)]`,
for each in turn, until nothing changes: the MMD falls with every exchange.

A greedy sequence is nested: its first T rows are the choice of size T. An exchanged set is not.
In a large sample the exchange begins within a small pool of rows, and then opens to all of them;
and for a smooth kernel it begins with the choice of a rough one. That costs little, and the sets
are nearer by a third in five dimensions and several times nearer in the plane.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from herder.core.lanes import Progress
from herder.kernel.bandwidth import even_rows
from herder.kernel.candidates import ArrayCandidates, Candidates, PairCandidates
from herder.kernel.functions import Kernel, Laplace, Radial

__all__ = [
    "DOUBLE_TIES",
    "SINGLE_TIES",
    "SWEEPS",
    "Rules",
    "choose",
    "pick_first",
    "typical",
]

#: Scores this close, relative to the median k(x, x), tie, and the lowest index wins: far above the
#: rounding of sums in double precision, and above that of sums of single-precision values.
DOUBLE_TIES, SINGLE_TIES = 1e-9, 1e-7

#: Exchanges begin among this many rows, spread evenly, or so many for each row wanted. A set
#: that is good among few rows is a better start for all of them than a greedy one, and cheaper.
POOL_ROWS, POOL_PER_ROW = 2048, 8
#: Sweeps in the pool, which only has to give a good start.
POOL_SWEEPS = 3
#: Sweeps over all rows of a small sample at most; mostly they end before. Fewer where they would
#: take more than so many kernel values.
SMALL_SWEEPS, QUICK_VALUES = 20, 2**24
#: Sweeps over all rows of a large sample: each is as dear as twice the greedy picks, and gains
#: less than the one before.
SWEEPS = 2

#: A small sample is thinned twice, from two starts, where one row in so many or fewer is wanted;
#: beyond that there is little to choose.
SHARE_FOR_TWO = 4

#: Kernel values of chosen rows that the NumPy steps keep: 16 MB.
KEPT_VALUES = 2**21

#: Positions tried between two reports of progress.
STRIDE = 64


@dataclass(frozen=True)
class Rules:
    """What a choice must keep to.

    Parameters
    ----------
    unique : bool
        No row twice.
    include : array of int
        Rows that are in whatever happens, first in the order.
    exclude : array of int
        Rows that stay out.
    sweeps : int or None
        Exchange sweeps at most; 0 keeps the greedy order, None takes as many as pay.
    """

    unique: bool
    include: NDArray[np.intp]
    exclude: NDArray[np.intp]
    sweeps: int | None


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

    ``mass`` holds the weights of the rows if ``target`` is their mean: then exchanges may begin
    with the choice of a rougher kernel.
    """
    pool = max(POOL_ROWS, POOL_PER_ROW * n_select)
    large = candidates.n_rows > 2 * pool
    if rules.sweeps is None:
        sweeps = SWEEPS if large else quick_sweeps(candidates.n_rows, n_select)
        rules = replace(rules, sweeps=sweeps)
    if rules.sweeps and rules.unique and n_select == candidates.n_rows - len(rules.exclude):
        settled = np.concatenate([rules.include, rules.exclude])
        return np.concatenate([rules.include, np.delete(np.arange(candidates.n_rows), settled)])
    if not rules.sweeps or not isinstance(candidates, PairCandidates | ArrayCandidates):
        return _improve(candidates, target, n_select, rules, rules.include, progress)
    rough = _rough_kernel(candidates.kernel) if mass is not None and mass.any() else None
    if large:
        start = _choose_in_pool(candidates, target, n_select, rules, pool, mass, rough)
        return _improve(candidates, target, n_select, rules, start, progress)
    found = _improve(candidates, target, n_select, rules, rules.include, progress)
    if mass is None or rough is None or SHARE_FOR_TWO * n_select > candidates.n_rows:
        return found
    part = candidates.under(rough)
    near = part.mean(mass / mass.sum(), precision="single")
    start = _improve(part, near, n_select, rules, rules.include, None)
    other = _improve(candidates, target, n_select, rules, start, progress)
    both = [_objective(candidates, target, rows) for rows in (found, other)]
    return other if both[1] < both[0] else found


def _choose_in_pool(
    candidates: ArrayCandidates | PairCandidates,
    target: NDArray[np.float64],
    n_select: int,
    rules: Rules,
    pool: int,
    mass: NDArray[np.float64] | None,
    rough: Laplace | None,
) -> NDArray[np.intp]:
    """Find a good set among some rows, spread evenly, for the sweeps over all to start from."""
    allowed = np.delete(np.arange(candidates.n_rows), rules.exclude)
    rows = np.union1d(allowed[even_rows(len(allowed), pool)], rules.include)
    settled = np.searchsorted(rows, rules.include)
    inner = Rules(rules.unique, settled, np.empty(0, dtype=np.intp), POOL_SWEEPS)
    part, start = candidates.subset(rows), settled
    if rough is not None and mass is not None and mass[rows].sum() > 0:
        own = part.under(rough)
        near = own.mean(mass[rows] / mass[rows].sum(), precision="single")
        start = _improve(own, near, n_select, inner, settled, None)
    return rows[_improve(part, target[rows], n_select, inner, start, None)]


def _rough_kernel(kernel: Kernel) -> Laplace | None:
    """Return a Laplace kernel of the same bandwidth, in place of a smoother one.

    A smooth kernel is content with sets that are poor beyond its reach, and exchanges one by one
    do not lead out of them. The choice of a rough kernel is good on all scales.
    """
    if not isinstance(kernel, Radial) or isinstance(kernel, Laplace):
        return None
    return Laplace(kernel.bandwidth)


def quick_sweeps(n_rows: int, n_select: int) -> int:
    """As many sweeps as are quick, and no fewer than over all rows of a large sample."""
    return max(SWEEPS, min(SMALL_SWEEPS, QUICK_VALUES // (2 * n_rows * n_select)))


def _objective(
    candidates: Candidates, target: NDArray[np.float64], rows: NDArray[np.intp]
) -> float:
    """Squared MMD of equal weights, but for the norm of the target."""
    return float(candidates.gram(rows).mean() - 2 * target[rows].mean())


def _improve(
    candidates: Candidates,
    target: NDArray[np.float64],
    n_select: int,
    rules: Rules,
    start_rows: NDArray[np.intp],
    progress: Progress | None,
) -> NDArray[np.intp]:
    """Fill up greedily what is missing to ``start_rows``, then exchange all but the settled."""
    chosen = np.zeros(n_select, dtype=np.intp)
    n_in, n_start = len(rules.include), len(start_rows)
    chosen[:n_start] = start_rows
    allowed = target.copy()
    allowed[rules.exclude] = -np.inf
    if isinstance(candidates, PairCandidates):
        chooser: _Compiled | _Plain = _Compiled(candidates, allowed, chosen, rules.unique)
    else:
        chooser = _Plain(candidates, allowed, chosen, rules.unique)
    report = _Report(progress, n_select)
    for start in range(n_start, n_select, STRIDE):
        stop = min(start + STRIDE, n_select)
        chooser.pick(start, stop)
        report.tell(stop, "herding")
    for sweep in range(rules.sweeps or 0):
        changed = 0
        for start in range(n_in, n_select, STRIDE):
            stop = min(start + STRIDE, n_select)
            changed += chooser.exchange(start, stop)
            report.tell(stop, f"exchange, sweep {sweep + 1}")
        if not changed:
            break
    return chosen


def typical(diagonal: NDArray[np.float64]) -> float:
    """Size of k(x, x) that tolerances go by: the median, which one far row cannot change."""
    return float(np.median(diagonal)) or float(diagonal.max())


def pick_first(scores: NDArray[np.float64], tie_tol: float) -> int:
    """Lowest index within the tolerance of the highest score."""
    return int(np.argmax(scores >= scores.max() - tie_tol))


class _Plain:
    """The steps in NumPy, for any candidates: what the compiled ones retrace."""

    def __init__(
        self,
        candidates: Candidates,
        target: NDArray[np.float64],
        chosen: NDArray[np.intp],
        unique: bool,
    ) -> None:
        self.candidates, self.target, self.chosen, self.unique = candidates, target, chosen, unique
        self.half = candidates.diagonal / 2
        self.covered = np.zeros(candidates.n_rows)
        self.tie_tol = DOUBLE_TIES * typical(candidates.diagonal)
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
        """Rows are covered in the order of their choice."""
        while self._n_covered < stop:
            self.covered += self._column(int(self.chosen[self._n_covered]))
            self._n_covered += 1

    def _column(self, row: int) -> NDArray[np.float64]:
        """Kernel values of a chosen row to all; they are kept while there is room."""
        if row in self._columns:
            return self._columns[row]
        column = self.candidates.column(row)
        if (len(self._columns) + 1) * self.candidates.n_rows <= KEPT_VALUES:
            self._columns[row] = column
        return column


class _Compiled:
    """The same steps in compiled loops."""

    def __init__(
        self,
        candidates: PairCandidates,
        target: NDArray[np.float64],
        chosen: NDArray[np.intp],
        unique: bool,
    ) -> None:
        self.points, self.code = candidates.chooser, candidates.code
        self.target, self.half, self.sign = candidates.choosing_terms(target)
        self.chosen, self.unique = chosen, unique
        self.base = self.target - self.half / len(chosen)
        self.covered = np.zeros(candidates.n_rows)
        ties = SINGLE_TIES if self.points.dtype == np.float32 else DOUBLE_TIES
        self.tie_tol = ties * typical(candidates.diagonal)
        self._n_covered = 0

    def pick(self, start: int, stop: int) -> None:
        from herder.kernel import _pairs_jit as _jit

        self._cover(start)
        _jit.pick_greedily(
            self.points,
            self.code,
            self.sign,
            self.target,
            self.half,
            self.covered,
            self.chosen,
            start,
            stop,
            self.unique,
            self.tie_tol,
        )
        self._n_covered = stop

    def exchange(self, start: int, stop: int) -> int:
        from herder.kernel import _pairs_jit as _jit

        self._cover(len(self.chosen))
        return _jit.exchange(
            self.points,
            self.code,
            self.sign,
            self.base,
            self.covered,
            self.chosen,
            start,
            stop,
            self.unique,
            self.tie_tol,
        )

    def _cover(self, stop: int) -> None:
        from herder.kernel import _pairs_jit as _jit

        values = np.empty(len(self.covered))
        while self._n_covered < stop:
            _jit.column(self.points, self.chosen[self._n_covered], self.code, values)
            self.covered += self.sign * values
            self._n_covered += 1


class _Report:
    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total = progress, total

    def tell(self, done: int, note: str) -> None:
        if self.progress is not None:
            self.progress(done / self.total, note)
