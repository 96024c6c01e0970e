"""What a run will cost, before it runs."""

from dataclasses import dataclass

from herder.kernel._lanes import LANES, count_threads
from herder.kernel.choice import SWEEPS

__all__ = ["LONG_SECONDS", "Cost", "exact_cost"]

#: A run estimated to take longer than this says so first.
LONG_SECONDS = 20.0

#: Seconds per pair and thread, and per pair and column: measured on a machine of 2023; others
#: differ by a factor of two or so, hence "about".
PAIR_SECONDS, COLUMN_SECONDS = 7e-10, 5e-11


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
    picks = float(n) * m * (1 + 2 * (SWEEPS if sweeps is None else sweeps))
    each = (PAIR_SECONDS + d * COLUMN_SECONDS) * (2 if double else 1)
    threads = min(count_threads(n_jobs), LANES)
    seconds = each * (mean / threads + picks)
    memory = n * (12.0 * d + 8 * (LANES + 8))
    return Cost(mean + picks, seconds, memory)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} hours"
