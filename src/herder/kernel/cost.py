"""Estimates of the time and memory of a run, before it starts."""

from dataclasses import dataclass

from herder.core.lanes import LANES, count_threads
from herder.kernel.approximate import Chunks, RandomFeatures, Subsample
from herder.kernel.choice import (
    POOL_PER_ROW,
    POOL_ROWS,
    POOL_SWEEPS,
    SHARE_FOR_TWO,
    SWEEPS,
    quick_sweeps,
)

__all__ = ["LONG_SECONDS", "Cost", "ThinningCost", "exact_cost"]

#: A run estimated to take longer than this logs a warning first.
LONG_SECONDS = 20.0

#: Seconds per pair of the kernel mean and thread, and per pair and column; the same for a kernel
#: value of a pick or an exchange, which one thread computes: measured on a machine of 2023; others
#: differ by a factor of two or so, hence "about".
PAIR_SECONDS, COLUMN_SECONDS = 7e-10, 5e-11
TRIAL_SECONDS, TRIAL_COLUMN_SECONDS = 1.3e-9, 1e-10


#: Seconds per pair of rows of the Stein kernel, and per pair and column.
STEIN_SECONDS, STEIN_COLUMN_SECONDS = 2e-9, 7e-10

#: Seconds per row and feature: a cosine or a sine.
FEATURE_SECONDS = 2e-8

#: Bytes per row and column that sub-samples and chunks hold at their largest, and bytes per row
#: that everything holds beside its columns.
APPROXIMATE_BYTES, ROW_BYTES = 20, 64


@dataclass(frozen=True)
class Cost:
    """An estimate: kernel values to compute, seconds, and bytes beside the data."""

    pairs: float
    seconds: float
    memory: float

    def __str__(self) -> str:
        """Return the estimate in one line."""
        time, size = _duration(self.seconds), f"{self.memory / 1e6:,.0f} MB"
        return f"{self.pairs:.1e} pairs of rows, about {time}, {size} beside the data"


def exact_cost(
    n: int, d: int, m: int, *, sweeps: int | None, n_jobs: int | None = None, double: bool = False
) -> Cost:
    """Return the cost of the kernel mean, of m greedy picks and of exchange sweeps."""
    mean = n * (n - 1) / 2
    trials = _choice_values(n, m, sweeps)
    each = (PAIR_SECONDS + d * COLUMN_SECONDS) * (1 + double)
    trial = (TRIAL_SECONDS + d * TRIAL_COLUMN_SECONDS) * (1 + double)
    seconds = each * mean / _threads(n_jobs) + trial * trials
    return Cost(mean + trials, seconds, n * (12.0 * d + 8 * (LANES + 8)))


def _threads(n_jobs: int | None) -> int:
    return min(count_threads(n_jobs), LANES)


def _choice_values(n_rows: int, n_select: int, sweeps: int | None) -> float:
    """Return the number of kernel values that `choose` computes at most."""
    pool = max(POOL_ROWS, POOL_PER_ROW * n_select)
    large = n_rows > 2 * pool
    if sweeps is None:
        sweeps = SWEEPS if large else quick_sweeps(n_rows, n_select)
    each = float(n_rows) * n_select * (1 + 2 * sweeps)
    if sweeps and large:
        return each + 2.0 * pool * n_select * (1 + 2 * POOL_SWEEPS)
    return 2 * each if sweeps and SHARE_FOR_TWO * n_select <= n_rows else each


@dataclass(frozen=True)
class ThinningCost:
    """Cost of a call of `thin`, by its sizes and options."""

    n: int
    d: int
    m: int
    kernel: str
    approximate: str | None
    refine: bool
    weighted: bool
    threads: int | None

    def choice(self) -> Cost:
        """Return the cost of choosing, beside the data."""
        n, d, m = self.n, self.d, self.m
        if self.approximate is not None:
            return self._approximate()
        if self.kernel == "stein":
            # No mean to compute; rows with their scores, and once more by columns.
            pairs = n * m * self._rounds
            return Cost(pairs, self._stein_pair * pairs, 32.0 * n * d + ROW_BYTES * n)
        sweeps = None if self.refine else 0
        return exact_cost(n, d, m, sweeps=sweeps, n_jobs=self.threads, double=self.weighted)

    def distance(self) -> Cost:
        """Return the cost of the exact MMD, and of that of random subsets."""
        if self.kernel == "stein":
            pairs = self.n * (self.n - 1) / 2
            seconds = self._stein_pair * pairs / _threads(self.threads)
            return Cost(pairs, seconds, 8.0 * LANES * self.n)
        return exact_cost(self.n, self.d, 0, sweeps=0, n_jobs=self.threads, double=True)

    @property
    def _stein_pair(self) -> float:
        return STEIN_SECONDS + self.d * STEIN_COLUMN_SECONDS

    @property
    def _rounds(self) -> int:
        """Kernel values per row for each chosen one."""
        return 1 + 2 * (SWEEPS if self.refine else 0)

    def _approximate(self) -> Cost:
        n, d, m = float(self.n), self.d, self.m
        if self.approximate == "features":
            method = RandomFeatures()
            pool = max(method.n_candidates, 8 * m)
            values, trials = n * method.n_features, pool * m * self._rounds
            seconds = FEATURE_SECONDS * values + PAIR_SECONDS * method.n_features * trials
            return Cost(values + trials, seconds, 8.0 * pool * method.n_features)
        if self.approximate == "subsample":
            rows = min(max(Subsample().n_candidates, 2 * m), n)
            across, within = rows * n, rows * m * self._rounds
        else:
            chunks = min(Chunks().n_chunks, max(1, self.n // (2 * m)))
            across = n * n / (2 * chunks) + chunks * m * n
            within = (n + chunks * m) * m * self._rounds
        each = PAIR_SECONDS + d * COLUMN_SECONDS
        seconds = each * (across / _threads(self.threads) + within)
        return Cost(across + within, seconds, n * (APPROXIMATE_BYTES * d + ROW_BYTES))


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} hours"
