r"""Variables of a table: names, labels and the integer codes that are herded.

Every column becomes a `Variable` with a finite alphabet; a row becomes a vector of
codes, ``code = position of the label in the alphabet``. Decoding restores labels, names
and dtypes.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from herder._csr import summed_csr
from herder._deprecated import renamed_attribute
from herder._errors import ParameterError, ParameterTypeError, with_nearest
from herder._validation import listed, of_kind, one_of, positive_int
from herder.data.binning import MAX_LABELS, auto_bins, bins_of
from herder.data.columns import Column, as_numbers, table_columns
from herder.data.intervals import Interval, date_ticks, find_bin, inner_edges, read_dates
from herder.data.source import TableSource

__all__ = ["Bins", "Codes", "Variable", "code_dtype", "encode", "file_bins", "unite"]

#: How columns of numbers and dates are binned: a number, one for each column, "auto", or not.
Bins: TypeAlias = int | Mapping[str, int] | str | None

#: Floats that are not whole numbers are labels only up to this many distinct values;
#: beyond it the column is a measurement and wants bins.
MAX_FLOAT_LABELS = 64

#: Rows that the bins of a long file are taken from.
SPREAD_ROWS = 100_000

#: Codes are int16 at most.
MAX_VALUES = 32_767


@dataclass(frozen=True, slots=True)
class Variable:
    """One column: its name, its labels in code order, and the dtype they come back in.

    Parameters
    ----------
    name : str
        Name of the column.
    values : tuple
        Labels; the code of a value is its position. ``None`` is a missing value, an `Interval`
        a bin.
    dtype : str, default "object"
        NumPy dtype name of the decoded column.
    edges : tuple of float, optional
        Inner bin edges of a measurement, whose values are then its bins.

    Attributes
    ----------
    n_values : int
        Size of the alphabet.
    is_binary : bool
        Whether the labels are 0 and 1 (or False and True).
    scale : int, str or None
        That of its bins: decimals of numbers, unit of dates; None without an `Interval`.
    """

    name: str
    values: tuple[Hashable, ...]
    dtype: str = "object"
    edges: tuple[float, ...] | None = None
    n_values: int = field(init=False, repr=False, compare=False)
    is_binary: bool = field(init=False, repr=False, compare=False)
    scale: int | str | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        of_kind(self.name, "name", str, "a text")
        of_kind(self.values, "values", tuple, "a tuple of labels")
        object.__setattr__(self, "n_values", len(self.values))
        object.__setattr__(self, "is_binary", self.values == (0, 1))
        scales = (value.scale for value in self.values if isinstance(value, Interval))
        object.__setattr__(self, "scale", next(scales, None))

    @classmethod
    def binned(
        cls, name: str, bins: Sequence[Hashable], dtype: str, *, missing: bool
    ) -> "Variable":
        """Return a column of bins, in order, and of missing values if there are any."""
        return cls(name, (*bins, None) if missing else tuple(bins), dtype, inner_edges(bins))

    is_switch = renamed_attribute("is_switch", "is_binary")

    def code(self, label: Hashable) -> int:
        """Return the position of a label in the alphabet.

        Numbers and booleans match by value, text also by how a label prints; in a binned column
        a number (or date) stands for the bin that holds it.
        """
        if self.edges is not None and label is not None:
            found = find_bin(self.values, self.edges, _number(label, self.scale))
            if found is not None:
                return found
        for position, value in enumerate(self.values if isinstance(label, Hashable) else ()):
            if value == label or (value is not None and str(value) == label):
                return position
        rule = f"be one of {_short(self.values)}"
        if self.edges is not None:
            rule = f"lie in one of its bins, {self.values[0]} to {self.values[len(self.edges)]}"
        raise ParameterError(f"value of {self.name!r}", rule, label)


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """A coded table: ``rows`` is (n, D) int8 or int16, or a 0/1 matrix in CSR form.

    ``numbers`` are the values of the binned columns before binning, by position; NaN if missing.
    """

    variables: tuple[Variable, ...]
    rows: Any
    numbers: Mapping[int, NDArray[np.float64]] = field(default_factory=dict)

    def dense(self, index: NDArray[np.intp] | slice) -> NDArray[np.integer]:
        """Return some rows as a dense array of codes."""
        rows = self.rows[index]
        return rows if isinstance(rows, np.ndarray) else rows.toarray()


def code_dtype(variables: Sequence[Variable]) -> type[np.int8] | type[np.int16]:
    """Return the dtype of a state: int8 up to 127 values, int16 beyond."""
    return np.int8 if max((v.n_values for v in variables), default=0) <= 127 else np.int16


def encode(
    X: object,
    *,
    variables: Sequence[Variable | None] | None = None,
    missing: str = "error",
    bins: Bins = None,
    order: int = 2,
    names: Sequence[str] | None = None,
) -> Codes:
    """Return a table as codes.

    Parameters
    ----------
    X : array, sparse matrix, pandas or polars frame, or mapping of columns
        Rows of 0/1 or categorical values.
    variables : list of Variable or None, optional
        Alphabets to use, one per column; other labels are then refused. None for a column
        takes its alphabet from the column.
    missing : {"error", "category"}, default "error"
        Whether missing values are refused or are a category of their own.
    bins : "auto", int or mapping of column to int, optional
        Bin columns of numbers or dates with more distinct values into so many bins of equally
        many rows, a frequent value being a bin of its own. "auto" is for those with more than
        32 distinct values, in as many bins as the rows allow; so are columns that a mapping
        does not name. None bins nothing.
    order : int, default 2
        How many columns are counted together, for "auto".
    names : list of str, optional
        Names of the columns, in place of the table's own.

    Examples
    --------
    >>> encode({"size": ["s", "l", "s"]}).rows.ravel()
    array([1, 0, 1], dtype=int8)
    """
    one_of(missing, "missing", ("error", "category"))
    if hasattr(X, "tocsr"):
        return _encode_sparse(X, variables, names)
    columns = table_columns(X, names)
    if variables is None:
        variables = [None] * len(columns)
    variables = [
        of_kind(one, "variables", (Variable, type(None)), "a sequence of Variable or None")
        for one in listed(variables, "variables", "Variable or None")
    ]
    if len(variables) != len(columns):
        raise ParameterError("X", f"have {len(variables)} columns", len(columns))
    order = positive_int(order, "order")
    out: list[Variable] = []
    for column, known, n in zip(columns, variables, _n_bins(bins, columns), strict=True):
        _check_column(column, missing)
        out.append(known or _measurement(column, n, order) or _category(column))
    rows = np.empty((len(columns[0].index), len(columns)), dtype=code_dtype(out))
    numbers: dict[int, NDArray[np.float64]] = {}
    for j, (column, variable) in enumerate(zip(columns, out, strict=True)):
        rows[:, j] = _codes_of(column, variable)[column.index]
        if variable.edges is not None:
            numbers[j] = as_numbers(np.array(column.labels, dtype=object))[column.index]
    return Codes(tuple(out), rows, numbers)


def file_bins(
    source: TableSource, bins: Bins, *, order: int, missing: str, max_memory: int
) -> Any:
    """Return the bins of a file that is read in parts, from rows all over it.

    If the file is one part, bins are left to `encode`.
    """
    rows = None if bins is None else source.spread(SPREAD_ROWS, max_memory)
    if rows is None:
        return bins
    codes = encode(rows, missing=missing, bins=bins, order=order)
    return {v.name: v if v.edges is not None else None for v in codes.variables}


def alphabet(labels: set[Any]) -> tuple[Hashable, ...]:
    """Return labels in order; a column in which only 0 or only 1 occurs is binary all the same.

    Numbers come first, with bins among them, then the other kinds by name of their type, each in
    its own order.

    Examples
    --------
    >>> alphabet({"b", 10, 9, "a"}), alphabet({1})
    ((9, 10, 'a', 'b'), (0, 1))
    """
    if labels and all(isinstance(label, bool) for label in labels):
        return (False, True)
    if labels and all(isinstance(label, int | float) and label in (0, 1) for label in labels):
        return (0.0, 1.0) if any(isinstance(label, float) for label in labels) else (0, 1)

    def rank(label: Any) -> tuple[str, Any, bool]:
        if isinstance(label, Interval):  # a number is a bin of its own before others
            return "", label.start, True
        return "" if isinstance(label, int | float) else type(label).__name__, label, False

    return tuple(sorted(labels, key=rank))


def unite(a: Variable, b: Variable, seen: set[Hashable]) -> Variable:
    """Return the alphabet of a column whose parts have the alphabets of ``a`` and ``b``.

    It is what `encode` would find in all rows at once, ``seen`` being the labels that occur
    in them.
    """
    if a == b:
        return a
    if a.edges != b.edges:
        found = f"edges {a.edges} and {b.edges}"
        raise ParameterError("parts", f"bin {a.name!r} in the same way", got=found)
    dtype = _common_dtype(a.dtype, b.dtype)
    if a.values == b.values:
        return replace(a, dtype=dtype)
    values = [label for label in a.values if label is not None]
    if a.edges is None:
        values = list(alphabet({label for label in seen if label is not None}))
    return Variable(a.name, (*values, None) if None in seen else tuple(values), dtype, a.edges)


def _common_dtype(a: str, b: str) -> str:
    if a == b:
        return a
    first, second = np.dtype(a), np.dtype(b)
    if first.kind in "iuf" and second.kind in "iuf":
        return np.promote_types(first, second).name
    return "object"


def _encode_sparse(
    X: Any, variables: Sequence[Variable | None] | None, names: Sequence[str] | None
) -> Codes:
    matrix = summed_csr(X)
    if matrix.ndim != 2 or 0 in matrix.shape:
        found = f"shape {matrix.shape}: 0 sample(s)"
        raise ParameterError("X", "have at least 1 row and 1 column", got=found)
    width = matrix.shape[1]
    right = np.isin(matrix.data, (0, 1))
    if matrix.dtype.kind == "c":
        raise ParameterTypeError("X", "be real", got="others: Complex data not supported")
    if not right.all():
        rule = "hold 0 and 1 only when it is sparse"
        raise ParameterError("X", rule, matrix.data[~right].tolist()[0])
    labels = [f"x{j}" for j in range(width)] if names is None else [str(name) for name in names]
    if len(labels) != width:
        raise ParameterError("names", f"have one name per column ({width})", len(labels))
    given = [None] * width if variables is None else variables
    if len(given) != width:
        raise ParameterError("X", f"have {len(given)} columns", width)
    values = (False, True) if matrix.dtype.kind == "b" else (0, 1)
    out = tuple(
        known or Variable(name, values, matrix.dtype.name)
        for name, known in zip(labels, given, strict=True)
    )
    other = [variable for variable in out if not variable.is_binary]
    if other:
        rule = "be dense when a column has values other than 0 and 1"
        raise ParameterError("X", rule, got=str(other[0]))
    matrix = matrix.astype(np.int8)
    matrix.eliminate_zeros()
    return Codes(out, matrix)


def _check_column(column: Column, missing: str) -> None:
    if missing == "error" and None in column.labels:
        rows = np.flatnonzero(column.index == column.labels.index(None))
        found = f"{len(rows)} in column {column.name!r} (first at row {rows[0]})"
        remedy = "pass missing='category' to make them a category"
        rule = "not contain NaN or missing values"
        raise ParameterError("X", rule, got=f"{found}; {remedy}")
    if any(isinstance(label, float) and math.isinf(label) for label in column.present):
        raise ParameterError("X", "be finite", got=f"infinity in column {column.name!r}")


def _measurement(column: Column, n_bins: Any, order: int) -> Variable | None:
    """Bin a column of numbers or dates if it has many distinct values, or as it is known."""
    n_distinct, found = len(column.present), None
    if isinstance(n_bins, Variable):
        found = tuple(value for value in n_bins.values if value is not None), n_bins.dtype
    elif n_bins == "auto" and n_distinct > MAX_LABELS:
        found = bins_of(column, auto_bins(len(column.index), order), tails=True)
    elif isinstance(n_bins, int) and n_distinct > n_bins:
        found = bins_of(column, n_bins, tails=False)
    if found is not None:
        return Variable.binned(column.name, *found, missing=None in column.labels)
    if n_distinct > MAX_FLOAT_LABELS and column.is_numeric:
        distinct = np.array(column.present, dtype=float)
        if (distinct != np.rint(distinct)).any():
            raise ValueError(
                f"column {column.name!r} must be categorical or binned, got {n_distinct} "
                f"distinct numbers: pass bins={{{column.name!r}: 5}} to bin them"
            )
    return None


def _category(column: Column) -> Variable:
    labels = alphabet(set(column.present))
    if len(labels) >= MAX_VALUES:
        raise ValueError(
            f"column {column.name!r} must have fewer than {MAX_VALUES} distinct values, "
            f"got {len(labels)}: pass bins={{{column.name!r}: 5}} if it holds numbers, or "
            "leave it out"
        )
    if None not in column.labels:
        return Variable(column.name, labels, column.dtype)
    kind = "float64" if column.dtype.startswith(("int", "uint")) else column.dtype
    return Variable(column.name, (*labels, None), kind)


def _codes_of(column: Column, variable: Variable) -> NDArray[np.intp]:
    """Return the code of each of the column's labels."""
    position: dict[Hashable, int] = {label: code for code, label in enumerate(variable.values)}
    if None in column.labels and None not in position:
        raise ValueError(f"column {variable.name!r} must not have missing values here")
    if variable.edges is not None:
        kind, numbers = "numbers", None
        if isinstance(variable.scale, str):
            kind, numbers = "dates", date_ticks(column.labels, variable.scale)
        elif column.is_numeric or not column.present:
            numbers = np.array(column.labels, dtype=float)  # None becomes NaN
        if numbers is None:
            found = _short(column.present)
            raise ValueError(f"column {variable.name!r} must hold {kind}, got {found}")
        codes = np.searchsorted(variable.edges, numbers, side="right")
        return np.where(np.isnan(numbers), position.get(None, -1), codes)
    unknown = [label for label in column.labels if label not in position]
    if unknown:
        known = _short(variable.values)
        raise ValueError(f"column {variable.name!r} must hold only {known}, got {unknown[0]!r}")
    return np.array([position[label] for label in column.labels], dtype=np.intp)


def _n_bins(bins: Bins, columns: Sequence[Column]) -> list[Any]:
    """Return the number of bins of each column, "auto", None, or the bins that are known."""
    by_name = {column.name: column for column in columns}
    given = bins if isinstance(bins, Mapping) else dict.fromkeys(by_name, bins)
    for name, n in given.items():
        if name not in by_name:
            got = with_nearest(name, by_name)
            raise ParameterError("bins", "name columns of the table", got=got)
        whole = isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 2
        known = n is None or isinstance(n, Variable) or (isinstance(n, str) and n == "auto")
        if not whole and not known:
            raise ParameterError("bins", "be 'auto' or whole numbers of at least 2", n)
        labels = by_name[name].present if whole and isinstance(bins, Mapping) else []
        if labels and not by_name[name].is_numeric and read_dates(labels) is None:
            got = f"{name!r} with the labels {_short(labels)}"
            raise ParameterError("bins", "name columns of numbers or dates", got=got)
    found = [given.get(column.name, "auto") for column in columns]
    return [int(n) if isinstance(n, np.integer) else n for n in found]


def _number(label: Any, scale: int | str | None) -> float:
    """Return a label as the number that edges are compared with, or NaN."""
    if isinstance(scale, str):
        label = label.item() if isinstance(label, np.datetime64) else label
        ticks = date_ticks([label], scale)
        return math.nan if ticks is None else float(ticks[0])
    try:
        return float(label) if isinstance(label, int | float | np.number | str) else math.nan
    except ValueError:
        return math.nan


def _short(values: Sequence[Hashable]) -> str:
    shown = ", ".join("(missing)" if v is None else repr(v) for v in values[:8])
    return f"{shown}, ... ({len(values)} values)" if len(values) > 8 else shown
