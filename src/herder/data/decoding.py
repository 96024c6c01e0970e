"""From codes back to labels, to values within bins, and to the form that a table came in.

Values are spread evenly over their bin. The k-th row that falls into a bin takes the k-th point
of a van der Corput sequence in which the points of each block of 2^m have changed places, in an
order that a hash of the column and the bin determines [owen1995]_ [burley2020]_. So the first
2^m rows of a bin, and the next ones, lie in 2^m different equal parts of it, and quantiles hold
in short tables and long ones; but columns do not move in step, as they would with sequences in
different bases or multiples of irrational numbers, and are not correlated within bins. Nothing
is random, and a row depends only on the rows before it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import form_of, listed, of_kind, plain_array
from herder.data.columns import named_columns
from herder.data.intervals import Interval
from herder.data.variables import Variable

__all__ = ["Decoder", "TableForm", "decode", "read_codes", "read_form"]


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
        self._spreads = {
            j: _Spread(j, v) for j, v in enumerate(self.variables) if v.scale is not None
        }

    def columns(self, rows: ArrayLike) -> dict[str, NDArray[Any]]:
        """Return the next rows, as columns."""
        codes = read_codes(rows, self.variables)
        columns: dict[str, NDArray[Any]] = {}
        for j, variable in enumerate(self.variables):
            column = columns[variable.name] = self._labels[j][codes[:, j]]
            if j in self._spreads:
                self._spreads[j].fill(column, codes[:, j])
        return columns


def read_codes(
    rows: ArrayLike,
    variables: Sequence[Variable],
    name: str = "rows",
    whose: str = "the variables",
) -> NDArray[np.integer]:
    """Return rows of codes, which must be those of some variables."""
    codes, width = plain_array(rows, name, "be codes"), len(variables)
    if codes.ndim != 2 or codes.shape[1] != width or codes.dtype.kind not in "iu":
        rule = f"be codes of shape (n, {width})"
        raise ParameterError(name, rule, got=f"shape {codes.shape} of {codes.dtype}")
    n_values = np.array([variable.n_values for variable in variables])
    if ((codes < 0) | (codes >= n_values)).any():
        raise ParameterError(name, f"hold codes of {whose}", got="others")
    return codes


class _Spread:
    """Where in their bins the rows of one column have been so far."""

    def __init__(self, column: int, variable: Variable) -> None:
        self.low, self.width, self.seen = np.zeros((3, variable.n_values), dtype=np.int64)
        bins = {k: one for k, one in enumerate(variable.values) if isinstance(one, Interval)}
        self.one = next(iter(bins.values()))  # all of them have its scale
        for code, value in bins.items():
            self.low[code], self.width[code] = value.low, value.high - value.low
        self.seeds = _seeds(column, variable.n_values)

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


@dataclass(frozen=True, slots=True)
class TableForm:
    """What kind of table: ``"array"``, ``"sparse"``, ``"mapping"``, ``"pandas"``, ``"polars"``.

    Parameters
    ----------
    kind : str
        One of the above.
    names : tuple of str
        Column names, empty when the table had none.
    dtype : numpy dtype, optional
        Of an array or sparse matrix.
    schema : object, optional
        Column dtypes of a frame.
    labels : sequence, optional
        Column labels of a pandas frame, which need not be text.

    Attributes
    ----------
    named : bool
        Whether the columns had names, all of them text.
    """

    kind: str
    names: tuple[str, ...] = ()
    dtype: Any = None
    schema: Any = None
    labels: Any = None
    named: bool = field(init=False)

    def __post_init__(self) -> None:
        texts = self.labels is None or all(isinstance(label, str) for label in self.labels)
        object.__setattr__(self, "named", bool(self.names) and texts)

    def build(self, codes: NDArray[np.integer], decoder: Decoder) -> Any:
        """Return a table of this form from the next codes."""
        if self.kind == "sparse":
            from scipy.sparse import csr_matrix

            return csr_matrix(codes, dtype=self.dtype)
        columns = decoder.columns(codes)
        if self.kind == "mapping":
            return columns
        binned = {v.name for v in decoder.variables if v.edges is not None}
        if self.kind == "array":
            dtype = np.result_type(self.dtype, *(columns[name].dtype for name in binned))
            return np.column_stack([c.astype(dtype) for c in columns.values()])
        if self.kind == "pandas":
            import pandas as pd

            frame = pd.DataFrame(columns)
            kept = {n: t for n, t in self.schema.items() if _keeps(frame[n], t)}
            return frame.astype(kept).set_axis(self.labels, axis="columns")
        import polars as pl

        frame = pl.DataFrame({n: pl.Series(n, column.tolist()) for n, column in columns.items()})
        odd = {n for n in binned if self.schema[n].is_integer() and not _is_whole(columns[n])}
        kept = {n: t for n, t in self.schema.items() if t != pl.Null and n not in odd}
        return frame.cast(kept, strict=False)

    def rows(self, codes: NDArray[np.integer], decoder: Decoder) -> Iterator[Any]:
        """Yield rows one by one: arrays for an array, else mappings of column to label."""
        if self.kind in ("array", "sparse"):
            yield from TableForm("array", dtype=self.dtype).build(codes, decoder)
            return
        columns = decoder.columns(codes)
        for r in range(len(codes)):
            yield {name: column[r] for name, column in columns.items()}


def read_form(X: Any) -> TableForm:
    """Return the form of a table, without reading its rows."""
    form = form_of(X)
    if form == "sparse":
        return TableForm("sparse", dtype=X.dtype)
    named = named_columns(X)
    if named is None:
        return TableForm("array", dtype=plain_array(X, "X", "be a table").dtype)
    if form not in ("pandas", "polars"):
        return TableForm("mapping", named[0])
    schema = dict(zip(named[0], X.dtypes, strict=True))
    return TableForm(form, named[0], schema=schema, labels=X.columns)


def _is_whole(column: NDArray[Any]) -> bool:
    """Return whether numbers can be integers: the means of bins, of older files, need not be."""
    return column.dtype.kind != "f" or bool((np.isnan(column) | (column == np.rint(column))).all())


def _keeps(column: Any, dtype: Any) -> bool:
    """Return whether a decoded pandas column may take its old dtype: binned integers may not."""
    kind = getattr(dtype, "kind", "O")
    if kind not in "iub" or column.dtype.kind != "f":
        return True
    present = column.dropna()
    nullable = hasattr(dtype, "na_value")
    return bool((nullable or len(present) == len(column)) and (present == present.round()).all())
