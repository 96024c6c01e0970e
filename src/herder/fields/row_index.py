"""What is kept of the rows of a table: hashes, to find copies, and rows to restart from.

A row that equals a row of the table may do so by chance. Two shares of the table itself say how
often a new row of the same source would: leave one row out, and it equals one of the others if it
is a duplicate, and one that is unique among the others if it occurs exactly twice.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from herder.core.mixing import splitmix64
from herder.core.plain import Arrays, Header, read_array, read_number
from herder.core.state import State, nest, unnest
from herder.data.columns import as_numbers
from herder.data.decoding import decode
from herder.data.source import TableSource
from herder.data.variables import Codes, Variable, encode
from herder.fields.number_columns import NumberColumn
from herder.models.moments import Moments

__all__ = ["Copies", "CopyCount", "RowIndex", "index_source", "restart_rows", "some_rows"]

#: Rows hashed at a time.
BLOCK = 65_536

#: Distinct data rows that restarts may begin from; of larger tables evenly spaced ones.
MAX_RESTART_ROWS = 16_384

Numbers = Mapping[int, NDArray[np.float64]]


@dataclass(frozen=True)
class RowIndex:
    """Hashes of data rows, to find the samples that copy one.

    Of a table too long for the memory limit only rows whose hash is divisible by ``one_in`` are
    kept, and samples are selected by the same rule: equal rows have equal hashes, so the
    shares are those of a sample of the distinct rows.

    Parameters
    ----------
    hashes : ndarray of uint64
        Distinct hashes of the rows, as codes, sorted.
    duplicate_share : float
        Share of rows that equal another row.
    one_in : int
        A power of two; 1 keeps all.
    counts : ndarray or None
        P(k), the share of rows with k ones, of 0/1 columns.
    unique : ndarray of bool or None
        Which hashes belong to one row only; None in files of earlier versions.
    pair_share : float
        Share of rows that equal exactly one other row.
    values : RowIndex or None
        The same of the rows before binning, where columns are binned.
    columns : mapping of str to NumberColumn
        Statistics of the binned columns of numbers; not kept in files.
    """

    hashes: NDArray[np.uint64]
    duplicate_share: float
    one_in: int = 1
    counts: NDArray[np.float64] | None = None
    unique: NDArray[np.bool_] | None = None
    pair_share: float = 0.0
    values: "RowIndex | None" = None
    columns: Mapping[str, NumberColumn] = field(default_factory=dict)

    @classmethod
    def of(cls, codes: Codes) -> "RowIndex":
        """Hash every row of a table."""
        starts = range(0, codes.rows.shape[0], BLOCK)
        return cls.over(some_rows(codes, slice(k, k + BLOCK)) for k in starts)

    @classmethod
    def over(
        cls, blocks: Iterable[Codes], *, n_rows: int = 0, max_memory: float = np.inf
    ) -> "RowIndex":
        """Hash blocks of ``n_rows`` rows in all, with a quarter of ``max_memory`` bytes.

        Of 0/1 columns the ones are counted.
        """
        one_in = 0
        coded: list[NDArray[np.uint64]] = []
        valued: list[NDArray[np.uint64]] = []
        ones: Any = 0
        columns: dict[str, NumberColumn] = {}
        for block in blocks:
            rows = block.dense(slice(None))
            if not one_in:
                # kept once, sorted once, and counted: 8 bytes each, by codes and by values
                needed, one_in = 24 * n_rows * (2 if block.numbers else 1), 1
                while needed / one_in > max_memory / 4:
                    one_in *= 2
            coded.append(_selected(row_hashes(rows, {}), one_in))
            if block.numbers:
                valued.append(_selected(row_hashes(rows, block.numbers), one_in))
            for j, numbers in block.numbers.items():
                if isinstance(block.variables[j].scale, int):  # numbers, not dates
                    columns.setdefault(block.variables[j].name, NumberColumn()).add(numbers)
            if all(variable.is_binary for variable in block.variables):
                sums = rows.sum(axis=1, dtype=np.intp)
                ones = np.bincount(sums, minlength=rows.shape[1] + 1) + ones
        counts = ones / ones.sum() if isinstance(ones, np.ndarray) else None
        values = cls._sorted(valued, one_in) if valued else None
        index = cls._sorted(coded, one_in)
        return replace(index, counts=counts, values=values, columns=columns)

    @classmethod
    def _sorted(cls, parts: list[NDArray[np.uint64]], one_in: int) -> "RowIndex":
        distinct, times = np.unique(np.concatenate(parts), return_counts=True)
        n = max(int(times.sum()), 1)
        duplicates, pairs = int(times[times > 1].sum()) / n, 2 * int((times == 2).sum()) / n
        return cls(distinct, duplicates, one_in, None, times == 1, pairs)

    def to_state(self) -> State:
        """Return the hashes and P(k), and a header that JSON can hold."""
        arrays: Arrays = {"hashes": self.hashes}
        header: Header = {"duplicate_share": self.duplicate_share, "one_in": self.one_in}
        header |= {"binary": self.counts is not None, "pair_share": self.pair_share}
        if self.counts is not None:
            arrays["counts"] = self.counts
        if self.unique is not None:
            arrays["unique"] = self.unique.astype(np.uint8)
        own, header["values"] = ({}, None) if self.values is None else self.values.to_state()
        return arrays | nest("values.", own), header

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Make an index of what `to_state` returned."""
        hashes = read_array(arrays, "hashes", (None,), np.uint64)
        if (hashes[1:] <= hashes[:-1]).any():
            raise ValueError("hashes that are not in order")
        shares = {"pair_share": 0.0, **header}
        share = read_number(shares, "duplicate_share", float)
        pairs = read_number(shares, "pair_share", float)
        one_in = read_number(header, "one_in")
        if share > 1 or pairs > share or one_in < 1 or one_in & (one_in - 1):
            raise ValueError(f"duplicate_share = {share}, pair_share = {pairs}, one_in = {one_in}")
        binary = header["binary"]
        counts = read_array(arrays, "counts", (None,), low=0, high=1) if binary else None
        unique = None
        if "unique" in arrays:
            unique = read_array(arrays, "unique", (len(hashes),), np.uint8, low=0, high=1) > 0
        values = header.get("values")
        if values is not None:
            values = cls.from_state(unnest("values.", arrays), values)
        return cls(hashes, share, one_in, counts, unique, pairs, values)


@dataclass(frozen=True, slots=True)
class Copies:
    """How many of some rows equal a row of the table.

    Parameters
    ----------
    n_rows : int
        Rows that were compared.
    copied : float
        Share of them that equal a row of the table.
    duplicate_share : float
        Share of the table's own rows that equal another: about what new rows of the same
        source would copy.
    unique_copied : float or None
        Share of the rows that equal a row that occurs once in the table; None if that is not
        known, as in files of earlier versions.
    unique_expected : float
        Share of the table's own rows that equal exactly one other: about what new rows of the
        same source would copy of unique rows.
    unique_found, n_unique : int
        How many of the table's unique rows are among the rows, and how many there are.
    """

    n_rows: int
    copied: float
    duplicate_share: float
    unique_copied: float | None = None
    unique_expected: float = 0.0
    unique_found: int = 0
    n_unique: int = 0

    @property
    def stand_out(self) -> bool:
        """Whether far more rows are copies, of any row or of unique ones, than chance explains."""
        unique = self.unique_copied or 0.0
        many = self.copied > max(0.01, 3 * self.duplicate_share)
        return many or unique > max(0.01, 3 * self.unique_expected)


class CopyCount:
    """Counts, part by part, how many rows equal a row of the table.

    Parameters
    ----------
    index : RowIndex
        Of the table.
    variables : sequence of Variable
        Its columns.
    """

    def __init__(self, index: RowIndex, variables: Sequence[Variable]) -> None:
        self.index = index
        self.variables = variables
        self._found = np.zeros(len(index.hashes), dtype=bool)
        self._rows = self._copied = self._unique = 0
        self._values = None if index.values is None else CopyCount(index.values, variables)
        self._binned = [j for j, variable in enumerate(variables) if variable.edges is not None]

    def add(
        self, rows: NDArray[np.integer], columns: Mapping[str, NDArray[Any]] | None = None
    ) -> None:
        """Compare some rows: their codes, and the columns that are written out for them."""
        self._add(row_hashes(rows, {}))
        if self._values is None:
            return
        written = decode(rows, self.variables) if columns is None else columns
        names = {j: self.variables[j].name for j in self._binned}
        numbers = {j: as_numbers(written[name]) for j, name in names.items()}
        self._values._add(row_hashes(rows, numbers))

    @property
    def copies(self) -> Copies | None:
        """Copies among the rows so far, by the values as they are written out.

        None if only the bins of the table are known, as in files of earlier versions.
        """
        if self._binned:
            return None if self._values is None else self._values._copies()
        return self._copies()

    @property
    def binned(self) -> Copies | None:
        """Copies among the rows so far by their bins, where columns are binned."""
        return self._copies() if self._binned else None

    def _add(self, hashes: NDArray[np.uint64]) -> None:
        chosen = _selected(hashes, self.index.one_in)
        self._rows += len(chosen)
        known = self.index.hashes
        if not len(known):
            return
        place = np.minimum(np.searchsorted(known, chosen), len(known) - 1)
        place = place[known[place] == chosen]
        self._copied += len(place)
        self._found[place] = True
        if self.index.unique is not None:
            self._unique += int(self.index.unique[place].sum())

    def _copies(self) -> Copies:
        index, n = self.index, max(self._rows, 1)
        found = Copies(self._rows, self._copied / n, index.duplicate_share)
        if index.unique is None:
            return found
        return replace(
            found,
            unique_copied=self._unique / n,
            unique_expected=index.pair_share,
            unique_found=int((self._found & index.unique).sum()),
            n_unique=int(index.unique.sum()),
        )


def row_hashes(codes: NDArray[np.integer], numbers: Numbers) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row: the sum of one fixed number per column and value.

    Of columns in ``numbers`` the value counts, of all others the code.
    """
    total = np.zeros(len(codes), dtype=np.uint64)
    for j in range(codes.shape[1]):
        key = codes[:, j].astype(np.uint64)
        if j in numbers:
            # equal numbers have equal bits, but for zeros of two signs and many kinds of NaN
            number = np.where(np.isnan(numbers[j]), np.nan, numbers[j] + 0.0)
            key = splitmix64(number.view(np.uint64))
        total += splitmix64(key + np.uint64((j + 1) << 16))
    return total


def _selected(hashes: NDArray[np.uint64], one_in: int) -> NDArray[np.uint64]:
    return hashes if one_in == 1 else hashes[hashes % np.uint64(one_in) == 0]


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

    def coded() -> Iterator[Codes]:
        seen = 0
        for chunk in source.within(max_memory, "hashing rows", progress):
            codes = encode(chunk, variables=moments.variables, missing=missing)
            if keep_rows:
                kept.append(codes.rows[-seen % stride :: stride].copy())
            seen += len(codes.rows)
            yield codes

    index = RowIndex.over(coded(), n_rows=source.n_rows, max_memory=max_memory)
    return index, np.unique(np.concatenate(kept), axis=0) if keep_rows else None


def some_rows(codes: Codes, index: NDArray[np.bool_] | slice) -> Codes:
    """Return some rows of a table."""
    numbers = {j: column[index] for j, column in codes.numbers.items()}
    return Codes(codes.variables, codes.rows[index], numbers)


def restart_rows(codes: Codes) -> NDArray[np.integer]:
    """Return distinct rows to restart from, in order; evenly spaced ones if too many."""
    n_rows = codes.rows.shape[0]
    looked_at = min(n_rows, 8 * MAX_RESTART_ROWS)
    rows = codes.dense(np.unique(np.linspace(0, n_rows - 1, looked_at).astype(np.intp)))
    distinct = np.unique(rows, axis=0)
    if len(distinct) <= MAX_RESTART_ROWS:
        return distinct
    return distinct[np.linspace(0, len(distinct) - 1, MAX_RESTART_ROWS).astype(np.intp)]
