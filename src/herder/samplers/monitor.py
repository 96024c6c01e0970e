r"""Averages over the sweeps of a chain, and their errors.

Sums are kept for the whole run and for up to 32 batches of equal length L, which doubles when
they are full. From the means :math:`m_k` of K batches over all chains,

.. math:: \sigma^2 = \frac{L}{K - 1} \sum_k (m_k - \bar m)^2, \qquad
          \mathrm{error} = \sigma / \sqrt{n}, \qquad
          \mathrm{ESS} = n \, \bar m (1 - \bar m) / \sigma^2,

and R-hat compares the variance within the two halves of each chain with that between them
[gelman1992]_. Both are of the indicator of each state of each site. Where R-hat is above 1.1,
as when each chain stays in its mode, the error is that of the means of the chains. Averages of
functions have errors from the same batches, and from the chains if any site is above 1.1. Nothing
depends on how a run was cut into calls, except for the rounding of functions.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import plain_array
from herder.core.plain import Arrays, read_array
from herder.core.state import nest, unnest
from herder.samplers import _monitor_jit as _jit

__all__ = [
    "FEW_DRAWS",
    "LARGEST_R_HAT",
    "Functions",
    "Monitor",
    "batch_errors",
    "function_errors",
    "split_r_hat",
]

#: Chains whose R-hat is above this do not agree yet.
LARGEST_R_HAT = 1.01

#: Chains whose R-hat is above this are in different modes.
APART = 1.1

#: Fewer effective draws than this make a poor average.
FEW_DRAWS = 100

#: Batches of this many sweeps are counted in 64 bits from then on.
LONG_BATCH = 2**30

#: Batches that are kept at most; always even, so that they merge in pairs.
N_BATCHES = 32

#: Called with states (n, n_sites), each returns n numbers or n arrays.
Functions = Mapping[str, Callable[[NDArray[np.int8]], Any]]


class Monitor:
    """What is averaged along one chain.

    Parameters
    ----------
    n_sites, n_states : int
        Size of the model.
    edges : ndarray of shape (n_edges, 2) or None
        Pairs of sites to be counted.
    functions : mapping
        Functions of states to be averaged.
    """

    def __init__(
        self, n_sites: int, n_states: int, edges: NDArray[np.intp] | None, functions: Functions
    ) -> None:
        self.n_states, self.edges, self.functions = n_states, edges, functions
        self.counted = np.empty((0, 2), np.intp) if edges is None else edges
        self.n_sweeps, self.length = 0, 1
        shape = (N_BATCHES, n_sites, 1 if n_states == 2 else n_states)
        self.batches = np.zeros(shape, np.int32)
        self.pairs = np.zeros((len(self.counted), n_states, n_states), dtype=np.int64)
        self.sums: dict[str, NDArray[np.float64]] = {}
        self.sums_by_batch: dict[str, NDArray[np.float64]] = {}

    def add(self, block: NDArray[np.uint8], states: NDArray[np.int8]) -> None:
        """Count a block of states, as codes and, for functions, as they are."""
        if len(self.counted):
            self._add_pairs(block)
        values = {k: self._values(k, f(states), len(block)) for k, f in self.functions.items()}
        count = _jit.count_upper if self.n_states == 2 else _jit.count_states
        start = 0
        while start < len(block):
            batch, done = divmod(self.n_sweeps, self.length)
            if batch == N_BATCHES:
                for batches in (self.batches, *self.sums_by_batch.values()):
                    batches[: N_BATCHES // 2] = batches[::2] + batches[1::2]
                    batches[N_BATCHES // 2 :] = 0
                self.length *= 2
                if self.length == LONG_BATCH:
                    self.batches = self.batches.astype(np.int64)
                continue
            stop = min(len(block), start + self.length - done)
            count(block[start:stop], self.batches[batch])
            for name, batches in self.sums_by_batch.items():
                batches[batch] += values[name][start:stop].sum(axis=0)
            self.n_sweeps += stop - start
            start = stop

    def _add_pairs(self, block: NDArray[np.uint8]) -> None:
        if self.n_states > 2 or len(self.counted) < block.shape[1] ** 2 // 8:
            _jit.count_pairs(block, self.counted, self.pairs)
            return
        # Many pairs of binary sites: one product of matrices, exact in float32 up to 2^24 rows.
        upper = block.astype(np.float32)
        both = (upper.T @ upper).astype(np.int64)
        i, j = self.counted.T
        one, other, joint = both[i, i], both[j, j], both[i, j]
        self.pairs[:, 1, 1] += joint
        self.pairs[:, 1, 0] += one - joint
        self.pairs[:, 0, 1] += other - joint
        self.pairs[:, 0, 0] += len(block) - one - other + joint

    def _values(self, name: str, values: Any, n_rows: int) -> NDArray[np.float64]:
        """Return the values of a function, checked and added to its sum."""
        found = plain_array(values, "functions", "return numbers")
        if found.dtype.kind not in "biuf":
            raise ParameterTypeError("functions", "return numbers", got=f"{found.dtype} of {name}")
        if found.shape[:1] != (n_rows,):
            rule = f"return one value for each of {n_rows} states"
            raise ParameterError("functions", rule, got=f"shape {found.shape} of {name}")
        before = self.sums.get(name, np.zeros(found.shape[1:]))
        if before.shape != found.shape[1:]:
            rule = f"return values of shape {before.shape}, as before"
            raise ParameterError("functions", rule, got=f"shape {found.shape[1:]} of {name}")
        found = found.astype(np.float64)
        if name not in self.sums:
            self.sums_by_batch[name] = np.zeros((N_BATCHES, *found.shape[1:]))
        self.sums[name] = before + found.sum(axis=0)
        return found

    @property
    def totals(self) -> NDArray[np.int64]:
        """Counts of all sweeps, (n_sites, n_columns)."""
        return self.batches.sum(axis=0, dtype=np.int64)

    def arrays(self) -> Arrays:
        """Return a copy of all that has been counted, to resume from."""
        found = {
            "counts": np.array([self.n_sweeps, self.length], dtype=np.int64),
            "batches": self.batches.copy(),
            "pairs": self.pairs.copy(),
            "edges": self.counted.copy(),
        }
        found |= nest("batch.", {k: batches.copy() for k, batches in self.sums_by_batch.items()})
        old = self.sums.keys() - self.sums_by_batch.keys()
        return found | nest("sum.", {k: np.asarray(self.sums[k]) for k in sorted(old)})

    def check_same(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Refuse averages of other pairs or functions."""
        if not np.array_equal(arrays.get("edges", ()), self.counted):
            raise ParameterError("resume", "come from a run with the same pairs", got="others")
        known = sorted([*unnest("batch.", arrays), *unnest("sum.", arrays)])
        if known != sorted(self.functions):
            raise ParameterError("resume", "come from a run with the same functions", known)

    def restore(self, arrays: Arrays) -> None:
        """Resume from what `arrays` returned."""
        n_sweeps, length = read_array(arrays, "counts", (2,), np.int64, low=1).tolist()
        # batches are merged in pairs when all are full, so that half of them always are
        fewest = 1 if length == 1 else N_BATCHES * length // 2
        if length & (length - 1) or not fewest <= n_sweeps <= N_BATCHES * length:
            raise ValueError(f"{n_sweeps} sweeps in batches of {length}")
        kind = np.int32 if length < LONG_BATCH else np.int64
        shape = self.batches.shape
        self.batches = read_array(arrays, "batches", shape, kind, low=0, high=length)
        lengths = np.clip(n_sweeps - length * np.arange(N_BATCHES), 0, length)[:, None]
        totals = self.batches.sum(axis=2, dtype=np.int64)
        if (totals != lengths if shape[2] > 1 else totals > lengths).any():
            raise ValueError(f"batches that do not count {n_sweeps} sweeps")
        self.pairs = read_array(arrays, "pairs", self.pairs.shape, np.int64, low=0, high=n_sweeps)
        if (self.pairs.sum(axis=(1, 2)) != n_sweeps).any():
            raise ValueError(f"pairs that do not count {n_sweeps} sweeps")
        self.n_sweeps, self.length = n_sweeps, length
        self.sums = {k: _read_sums(v, f"sum.{k}") for k, v in unnest("sum.", arrays).items()}
        # a run of version 0.1.0 kept sums only: their errors are unknown
        by_batch = unnest("batch.", arrays)
        self.sums_by_batch = {k: _read_sums(v, f"batch.{k}") for k, v in by_batch.items()}
        for name, batches in self.sums_by_batch.items():
            if batches.shape[:1] != (N_BATCHES,):
                raise ValueError(f"batch.{name} of shape {batches.shape}")
            self.sums[name] = batches.sum(axis=0)


def _read_sums(sums: NDArray[Any], name: str) -> NDArray[np.float64]:
    if sums.dtype != np.float64:
        raise ValueError(f"{name} of {sums.dtype}")
    return np.array(sums)


def batch_errors(monitors: list[Monitor]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return standard errors and effective sample sizes of indicators, (n_sites, n_columns)."""
    n = sum(monitor.n_sweeps for monitor in monitors)
    mean = np.sum([monitor.totals for monitor in monitors], axis=0) / n
    apart = split_r_hat(monitors) > APART
    spread = _spread(monitors, [monitor.batches for monitor in monitors], apart)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(spread / n), n * mean * (1 - mean) / spread


def function_errors(monitors: list[Monitor]) -> dict[str, Any]:
    """Return standard errors of the averages of functions."""
    n = sum(monitor.n_sweeps for monitor in monitors)
    apart = np.any(split_r_hat(monitors) > APART)
    found = {}
    for name, total in monitors[0].sums.items():
        errors = np.full(np.shape(total), np.nan)
        if all(name in monitor.sums_by_batch for monitor in monitors):
            batches = [monitor.sums_by_batch[name] for monitor in monitors]
            errors = np.sqrt(_spread(monitors, batches, apart) / n)
        found[name] = errors if errors.ndim else float(errors)
    return found


def _spread(monitors: list[Monitor], batches: list[NDArray[Any]], apart: Any) -> Any:
    """Return the variance of an average times the sweeps, from the sums of batches.

    Parameters
    ----------
    monitors : list of Monitor
        How many sweeps each chain has made.
    batches : list of ndarray of shape (N_BATCHES, ...)
        Sums of each chain.
    apart : bool or ndarray
        Where chains are in different modes, so that their own means count.
    """
    n_sweeps, length = monitors[0].n_sweeps, monitors[0].length
    full = n_sweeps // length
    means = np.concatenate([sums[:full] for sums in batches]) / length
    if len(means) < 2:
        return np.full(means.shape[1:], np.nan)
    spread = length * means.var(axis=0, ddof=1)
    if len(batches) > 1:
        chains = np.array([sums.sum(axis=0, dtype=np.float64) for sums in batches]) / n_sweeps
        between = n_sweeps * chains.var(axis=0, ddof=1)
        spread = np.where(apart, np.maximum(spread, between), spread)
    return spread


def split_r_hat(monitors: list[Monitor]) -> NDArray[np.float64]:
    """Return R-hat of indicators over half chains, (n_sites, n_columns)."""
    length = monitors[0].length
    half = monitors[0].n_sweeps // length // 2
    if half < 1 or half * length < 2:
        return np.full(monitors[0].batches.shape[1:], np.nan)
    parts = [(m.batches[:half], m.batches[half : 2 * half]) for m in monitors]
    n = half * length
    means = np.array([part.sum(axis=0, dtype=np.int64) / n for pair in parts for part in pair])
    within = np.mean(means * (1 - means), axis=0) * n / (n - 1)
    between = means.var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((n - 1) / n + between / within)
