r"""Averages over the sweeps of a chain, and their errors.

Sums are kept for the whole run and for up to 32 batches of equal length L, which doubles when
they are full. From the means :math:`m_k` of K batches over all chains,

.. math:: \sigma^2 = \frac{L}{K - 1} \sum_k (m_k - \bar m)^2, \qquad
          \mathrm{error} = \sigma / \sqrt{n}, \qquad
          \mathrm{ESS} = n \, \bar m (1 - \bar m) / \sigma^2,

and R-hat compares the variance within the two halves of each chain with that between them
[gelman1992]_. Both are of the indicator of each state of each site. Where R-hat is above 1.1,
as when each chain stays in its mode, the error is that of the means of the chains. Nothing
depends on how a run was cut into calls, except for the rounding of functions.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import any_array
from herder.core.plain import Arrays, read_array
from herder.core.state import nest, unnest
from herder.samplers import _monitor_jit as _jit

__all__ = ["FEW_DRAWS", "LARGEST_R_HAT", "Functions", "Monitor", "batch_errors", "split_r_hat"]

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

    def add(self, block: NDArray[np.uint8], states: NDArray[np.int8]) -> None:
        """Count a block of states, as codes and, for functions, as they are."""
        if len(self.counted):
            self._add_pairs(block)
        for name, function in self.functions.items():
            self._add_values(name, function(states), len(block))
        count = _jit.count_upper if self.n_states == 2 else _jit.count_states
        start = 0
        while start < len(block):
            batch, done = divmod(self.n_sweeps, self.length)
            if batch == N_BATCHES:
                self.batches[: N_BATCHES // 2] = self.batches[::2] + self.batches[1::2]
                self.batches[N_BATCHES // 2 :] = 0
                self.length *= 2
                if self.length == LONG_BATCH:
                    self.batches = self.batches.astype(np.int64)
                continue
            stop = min(len(block), start + self.length - done)
            count(block[start:stop], self.batches[batch])
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

    def _add_values(self, name: str, values: Any, n_rows: int) -> None:
        found = any_array(values, "functions", "return numbers")
        if found.dtype.kind not in "biuf":
            raise ParameterTypeError("functions", "return numbers", got=f"{found.dtype} of {name}")
        if found.shape[:1] != (n_rows,):
            rule = f"return one value for each of {n_rows} states"
            raise ParameterError("functions", rule, got=f"shape {found.shape} of {name}")
        before = self.sums.get(name, np.zeros(found.shape[1:]))
        if before.shape != found.shape[1:]:
            rule = f"return values of shape {before.shape}, as before"
            raise ParameterError("functions", rule, got=f"shape {found.shape[1:]} of {name}")
        self.sums[name] = before + found.astype(np.float64).sum(axis=0)

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
        return found | nest("sum.", {k: np.asarray(total) for k, total in self.sums.items()})

    def check_same(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Refuse averages of other pairs or functions."""
        if not np.array_equal(arrays.get("edges", ()), self.counted):
            raise ParameterError("resume", "come from a run with the same pairs", got="others")
        known = sorted(unnest("sum.", arrays))
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
        self.sums = {k: _read_sum(v, k) for k, v in unnest("sum.", arrays).items()}


def _read_sum(total: NDArray[Any], name: str) -> NDArray[np.float64]:
    if total.dtype != np.float64:
        raise ValueError(f"sum.{name} of {total.dtype}")
    return np.array(total)


def batch_errors(monitors: list[Monitor]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return standard errors and effective sample sizes of indicators, (n_sites, n_columns)."""
    length = monitors[0].length
    full = monitors[0].n_sweeps // length
    means = np.concatenate([monitor.batches[:full] for monitor in monitors]) / length
    n = sum(monitor.n_sweeps for monitor in monitors)
    mean = np.sum([monitor.totals for monitor in monitors], axis=0) / n
    if len(means) < 2:
        unknown = np.full(mean.shape, np.nan)
        return unknown, unknown
    spread = length * means.var(axis=0, ddof=1)
    if len(monitors) > 1:
        chains = np.array([monitor.totals for monitor in monitors]) / monitors[0].n_sweeps
        between = monitors[0].n_sweeps * chains.var(axis=0, ddof=1)
        spread = np.where(split_r_hat(monitors) > APART, np.maximum(spread, between), spread)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(spread / n), n * mean * (1 - mean) / spread


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
