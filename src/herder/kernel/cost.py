"""What a run will cost, before it runs."""

from dataclasses import dataclass

from herder.core.lanes import LANES, count_threads
from herder.kernel.choice import choice_values

__all__ = ["LONG_SECONDS", "Cost", "exact_cost"]

#: A run estimated to take longer than this says so first.
LONG_SECONDS = 20.0

#: Seconds per pair of the kernel mean and thread, and per pair and column; the same for a kernel
#: value of a pick or an exchange, which one thread computes: measured on a machine of 2023; others
#: differ by a factor of two or so, hence "about".
PAIR_SECONDS, COLUMN_SECONDS = 7e-10, 5e-11
TRIAL_SECONDS, TRIAL_COLUMN_SECONDS = 1.3e-9, 1e-10


@dataclass(frozen=True)
class Cost:
    """An estimate: kernel values to compute, seconds, and bytes beside the data."""

    pairs: float
    seconds: float
    memory: float

    def __str__(self) -> str:
        """Say it in a line."""
        return (
            f"{self.pairs:.1e} pairs of rows, about {_duration(self.seconds)}, "
            f"{self.memory / 1e6:,.0f} MB beside the data"
        )


def exact_cost(
    n: int, d: int, m: int, *, sweeps: int | None, n_jobs: int | None = None, double: bool = False
) -> Cost:
    """Cost of the kernel mean, of m greedy picks and of exchange sweeps."""
    mean = n * (n - 1) / 2
    trials = choice_values(n, m, sweeps)
    double_factor = 2 if double else 1
    threads = min(count_threads(n_jobs), LANES)
    each = (PAIR_SECONDS + d * COLUMN_SECONDS) * double_factor
    trial = (TRIAL_SECONDS + d * TRIAL_COLUMN_SECONDS) * double_factor
    seconds = each * mean / threads + trial * trials
    memory = n * (12.0 * d + 8 * (LANES + 8))
    return Cost(mean + trials, seconds, memory)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} hours"
