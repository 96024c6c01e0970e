"""From codes back to labels, and to values within bins.

Values are spread evenly over their bin. The k-th row that falls into a bin takes the k-th point
of a van der Corput sequence in which the points of each block of 2^m have changed places, in an
order that a hash of the column and the bin determines [owen1995]_ [burley2020]_. So the first
2^m rows of a bin, and the next ones, lie in 2^m different equal parts of it, and quantiles hold
in short tables and long ones; but columns do not move in step, as they would with sequences in
different bases or multiples of irrational numbers, and are not correlated within bins. Nothing
is random, and a row depends only on the rows before it.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import listed, of_kind, plain_array
from herder.data.intervals import Interval
from herder.data.variables import Variable

__all__ = ["Decoder", "decode"]


def decode(rows: ArrayLike, variables: Sequence[Variable]) -> dict[str, NDArray[Any]]:
    """Return labelled columns from codes, in the dtypes the table had.

    A column of integers that has missing values comes back as floats with NaN; of other
    labels, as objects with None. Bins come back as values within them, which depend on the
    rows before: a run is decoded as a whole, or by one `Decoder`.

    Examples
    --------
    >>> decode([[0], [1]], [Variable("sex", ("f", "m"))])
    {'sex': array(['f', 'm'], dtype=object)}
    """
    return Decoder(variables).columns(rows)


class Decoder:
    """Codes to columns, part by part: the parts of a table give what the whole table gives.

    Parameters
    ----------
    variables : sequence of Variable
        The columns.
    """

    def __init__(self, variables: Sequence[Variable]) -> None:
        self.variables = tuple(
            of_kind(one, "variables", Variable, "a sequence of Variable")
            for one in listed(variables, "variables", "Variable")
        )
        self._labels = [_labels(variable) for variable in self.variables]
        self._spreads = [_Spread.of(j, variable) for j, variable in enumerate(self.variables)]

    def columns(self, rows: ArrayLike) -> dict[str, NDArray[Any]]:
        """Return the next rows, as columns."""
        codes = plain_array(rows, "rows", "be codes")
        width = len(self.variables)
        if codes.ndim != 2 or codes.shape[1] != width or codes.dtype.kind not in "iu":
            rule = f"be codes of shape (n, {width})"
            raise ParameterError("rows", rule, got=f"shape {codes.shape} of {codes.dtype}")
        n_values = np.array([variable.n_values for variable in self.variables])
        if ((codes < 0) | (codes >= n_values)).any():
            raise ParameterError("rows", "hold codes of the variables", got="others")
        columns: dict[str, NDArray[Any]] = {}
        for j, (variable, spread) in enumerate(zip(self.variables, self._spreads, strict=True)):
            column = self._labels[j][codes[:, j]]
            if spread is not None:
                spread.fill(column, codes[:, j])
            columns[variable.name] = column
        return columns


class _Spread:
    """Where in their bins the rows of one column have been so far."""

    def __init__(self, column: int, bins: list[tuple[int, Interval]], n_values: int) -> None:
        self.one = bins[0][1]
        self.low, self.width = np.zeros((2, n_values), dtype=np.int64)
        for code, interval in bins:
            self.low[code], self.width[code] = interval.low, interval.high - interval.low
        self.seen = np.zeros(n_values, dtype=np.int64)
        self.seeds = _seeds(column, n_values)

    @classmethod
    def of(cls, column: int, variable: Variable) -> "_Spread | None":
        values = enumerate(variable.values)
        bins = [(code, value) for code, value in values if isinstance(value, Interval)]
        return cls(column, bins, variable.n_values) if bins else None

    def fill(self, column: NDArray[Any], codes: NDArray[np.integer]) -> None:
        """Write values into those rows of a column that fall into bins."""
        order = np.argsort(codes, kind="stable")
        counts = np.bincount(codes, minlength=len(self.seen))
        rank = np.empty(len(codes), dtype=np.int64)
        rank[order] = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
        rank += self.seen[codes]
        self.seen += counts
        inside = self.width[codes] > 0
        chosen = codes[inside]
        width = self.width[chosen]
        shares = _points(rank[inside], self.seeds[chosen])
        steps = np.minimum((shares * width).astype(np.int64), width - 1)
        column[inside] = self.one.values(self.low[chosen] + steps)


def _labels(variable: Variable) -> NDArray[Any]:
    """Return the labels of all codes; of a bin its first value."""
    labels = np.empty(variable.n_values, dtype=object)
    for code, value in enumerate(variable.values):
        labels[code] = value
        if isinstance(value, Interval):
            labels[code] = value.values(np.array([value.low])).tolist()[0]
    if variable.dtype == "object":
        return labels
    kind = np.dtype(variable.dtype).kind
    if None in variable.values and kind == "f":
        labels[variable.values.index(None)] = math.nan
    if None not in variable.values or kind in "fM":
        return labels.astype(variable.dtype)
    return labels


def _seeds(column: int, n: int) -> NDArray[np.uint32]:
    """Return a number for each bin of a column, all of them different (splitmix64)."""
    x = np.arange(1, n + 1, dtype=np.uint64) + np.uint64((column + 1) << 16)
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x >> np.uint64(32)).astype(np.uint32)


def _points(index: NDArray[np.int64], seeds: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Return points of permuted van der Corput sequences, in [0, 1).

    The bits of an index in reversed order are the digits of its point. A bit of the hash depends
    on the bits below it alone: so each digit is permuted according to the later ones, which are
    the same for 2^m consecutive points, and these change places.
    """
    x = index.astype(np.uint32)
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        low = np.uint32(mask)
        x = (x >> np.uint32(shift) & low) | ((x & low) << np.uint32(shift))
    x = (x >> np.uint32(16)) | (x << np.uint32(16))
    for factor in (0x3D20ADEA, 0x05526C56, 0x53A22864):
        x = (x ^ x * np.uint32(factor)) * (seeds | np.uint32(1)) + seeds
    return x / 2.0**32
