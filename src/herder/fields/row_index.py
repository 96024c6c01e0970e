"""What is kept of the rows of a table: hashes, to find copies, and rows to restart from."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from herder.core.plain import Arrays, Header, read_array, read_number
from herder.core.state import State
from herder.data.source import TableSource
from herder.data.variables import Codes, encode
from herder.models.moments import Moments

__all__ = ["RowIndex", "index_source", "restart_rows"]

#: Rows hashed at a time.
BLOCK = 65_536

#: Distinct data rows that restarts may begin from; of larger tables evenly spaced ones.
MAX_RESTART_ROWS = 16_384


@dataclass(frozen=True)
class RowIndex:
    """Hashes of data rows, to find the samples that copy one.

    Of a table too long for the memory limit only rows whose hash is divisible by ``one_in`` are
    kept, and samples are selected by the same rule: equal rows have equal hashes, so the
    shares are those of a sample of the distinct rows.

    Parameters
    ----------
    hashes : ndarray of uint64
        Distinct hashes, sorted.
    duplicate_share : float
        Share of rows that equal another row.
    one_in : int
        A power of two; 1 keeps all.
    counts : ndarray or None
        P(k), the share of rows with k ones, of 0/1 columns.
    """

    hashes: NDArray[np.uint64]
    duplicate_share: float
    one_in: int = 1
    counts: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, codes: Codes) -> "RowIndex":
        """Hash every row of a table."""
        blocks = (codes.dense(slice(k, k + BLOCK)) for k in range(0, codes.rows.shape[0], BLOCK))
        return cls.over(blocks, binary=all(v.is_binary for v in codes.variables))

    @classmethod
    def over(
        cls,
        blocks: Iterable[NDArray[np.integer]],
        *,
        binary: bool,
        n_rows: int = 0,
        max_memory: float = np.inf,
    ) -> "RowIndex":
        """Hash blocks of ``n_rows`` rows in all, with a quarter of ``max_memory`` bytes.

        Of ``binary`` rows the ones are counted.
        """
        one_in = 1
        # kept once, sorted once, and counted: 8 bytes each
        while 24 * n_rows / one_in > max_memory / 4:
            one_in *= 2
        parts: list[NDArray[np.uint64]] = []
        ones = np.zeros(1, dtype=np.int64)
        for block in blocks:
            parts.append(_selected(block, one_in))
            if binary:
                sums = block.sum(axis=1, dtype=np.intp)
                ones = np.bincount(sums, minlength=block.shape[1] + 1) + ones
        hashes = np.concatenate(parts)
        distinct, times = np.unique(hashes, return_counts=True)
        share = float(times[times > 1].sum() / max(len(hashes), 1))
        return cls(distinct, share, one_in, ones / ones.sum() if binary else None)

    def to_state(self) -> State:
        """Return the hashes and P(k), and a header that JSON can hold."""
        binary, share = self.counts is not None, self.duplicate_share
        counts: Arrays = {} if self.counts is None else {"counts": self.counts}
        facts = {"duplicate_share": share, "one_in": self.one_in, "binary": binary}
        return {"hashes": self.hashes, **counts}, facts

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Make an index of what `to_state` returned."""
        hashes = read_array(arrays, "hashes", (None,), np.uint64)
        if (hashes[1:] <= hashes[:-1]).any():
            raise ValueError("hashes that are not in order")
        share = read_number(header, "duplicate_share", float)
        one_in = read_number(header, "one_in")
        if share > 1 or one_in < 1 or one_in & (one_in - 1):
            raise ValueError(f"duplicate_share = {share}, one_in = {one_in}")
        binary = header["binary"]
        counts = read_array(arrays, "counts", (None,), low=0, high=1) if binary else None
        return cls(hashes, share, one_in, counts)

    def count(self, samples: NDArray[np.integer]) -> tuple[int, int]:
        """Return how many samples equal a data row, and how many were compared."""
        hashes = _selected(samples, self.one_in)
        if not len(self.hashes):
            return 0, len(hashes)
        place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return int((self.hashes[place] == hashes).sum()), len(hashes)


def _selected(rows: NDArray[np.integer], one_in: int) -> NDArray[np.uint64]:
    hashes = row_hashes(rows)
    return hashes if one_in == 1 else hashes[hashes % np.uint64(one_in) == 0]


def row_hashes(codes: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row: the sum of one fixed number per column and value."""
    total = np.zeros(len(codes), dtype=np.uint64)
    for j in range(codes.shape[1]):
        total += _mix(codes[:, j].astype(np.uint64) + np.uint64((j + 1) << 16))
    return total


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return splitmix64 of each entry: every bit of the input changes half of the output."""
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def index_source(
    source: TableSource,
    moments: Moments,
    *,
    missing: str,
    keep_rows: bool,
    max_memory: int,
    progress: Callable[[float, str], None],
) -> tuple[RowIndex, NDArray[np.integer] | None]:
    """Return the index of a table file, read in chunks, and rows of it to restart from.

    Parameters
    ----------
    source : TableSource
        The file.
    moments : Moments
        Its counts, whose alphabets are used.
    missing : {"error", "category"}
        As they were counted.
    keep_rows : bool
        Whether to keep rows to restart from: distinct ones, evenly spaced in a long table.
    max_memory : int
        Approximate memory limit in bytes.
    progress : callable
        Called with the share that is done, and a note.
    """
    kept: list[NDArray[np.integer]] = []
    stride = -(-source.n_rows // MAX_RESTART_ROWS)  # rounded up: at most as many

    def coded() -> Iterator[NDArray[np.integer]]:
        seen = 0
        for chunk in source.within(max_memory, "hashing rows", progress):
            rows = encode(chunk, variables=moments.variables, missing=missing).rows
            if keep_rows:
                kept.append(rows[-seen % stride :: stride].copy())
            seen += len(rows)
            yield rows

    binary = all(variable.is_binary for variable in moments.variables)
    index = RowIndex.over(coded(), binary=binary, n_rows=source.n_rows, max_memory=max_memory)
    return index, np.unique(np.concatenate(kept), axis=0) if keep_rows else None


def restart_rows(codes: Codes) -> NDArray[np.integer]:
    """Return distinct rows to restart from, in order; evenly spaced ones if too many."""
    n_rows = codes.rows.shape[0]
    looked_at = min(n_rows, 8 * MAX_RESTART_ROWS)
    rows = codes.dense(np.unique(np.linspace(0, n_rows - 1, looked_at).astype(np.intp)))
    distinct = np.unique(rows, axis=0)
    if len(distinct) <= MAX_RESTART_ROWS:
        return distinct
    return distinct[np.linspace(0, len(distinct) - 1, MAX_RESTART_ROWS).astype(np.intp)]
