r"""Variables of a table: names, labels and the integer codes that are herded.

Every column becomes a `Variable` with a finite alphabet; a row becomes a vector of
codes, ``code = position of the label in the alphabet``. Decoding restores labels, names
and dtypes.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._arguments import listed, of_kind
from herder._csr import summed_csr
from herder._deprecated import renamed_attribute
from herder._errors import ParameterError, ParameterTypeError, with_nearest
from herder._validation import one_of, plain_array
from herder.data.columns import Column, table_columns

__all__ = ["Codes", "Variable", "code_dtype", "decode", "encode", "unite"]

#: Floats that are not whole numbers are labels only up to this many distinct values;
#: beyond it the column is a measurement and wants bins.
MAX_FLOAT_LABELS = 64

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
        Labels; the code of a value is its position. ``None`` is a missing value.
    dtype : str, default "object"
        NumPy dtype name of the decoded column.
    edges : tuple of float, optional
        Inner bin edges of a measurement; its values are then the mean of each bin.

    Attributes
    ----------
    n_values : int
        Size of the alphabet.
    is_binary : bool
        Whether the labels are 0 and 1 (or False and True).
    """

    name: str
    values: tuple[Hashable, ...]
    dtype: str = "object"
    edges: tuple[float, ...] | None = None
    n_values: int = field(init=False, repr=False, compare=False)
    is_binary: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        of_kind(self.name, "name", str, "a text")
        of_kind(self.values, "values", tuple, "a tuple of labels")
        object.__setattr__(self, "n_values", len(self.values))
        object.__setattr__(self, "is_binary", self.values == (0, 1))

    is_switch = renamed_attribute("is_switch", "is_binary")

    def code(self, label: Hashable) -> int:
        """Return the position of a label in the alphabet.

        Numbers and booleans match by value, text also by how a label prints; any number
        belongs to a bin of a binned column.
        """
        if self.edges is not None and isinstance(label, int | float | np.number | str):
            try:
                number = float(label)
            except ValueError:
                number = math.nan
            if not math.isnan(number):
                return int(np.searchsorted(self.edges, number, side="right"))
        for position, value in enumerate(self.values if isinstance(label, Hashable) else ()):
            if value == label or (value is not None and str(value) == label):
                return position
        numbers = "a number or " if self.edges is not None else ""
        raise ValueError(
            f"value of {self.name!r} must be {numbers}one of {_short(self.values)}, got {label!r}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """A coded table: ``rows`` is (n, D) int8 or int16, or a 0/1 matrix in CSR form."""

    variables: tuple[Variable, ...]
    rows: Any

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
    bins: int | Mapping[str, int] | None = None,
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
    bins : int or mapping of column to int, optional
        Bin numeric columns with more distinct values into that many quantile bins.
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
    n_bins = _n_bins(bins, columns)
    out: list[Variable] = []
    for column, known, n in zip(columns, variables, n_bins, strict=True):
        _check_column(column, missing)
        out.append(known or _measurement(column, n) or _category(column))
    rows = np.empty((len(columns[0].index), len(columns)), dtype=code_dtype(out))
    for j, (column, variable) in enumerate(zip(columns, out, strict=True)):
        rows[:, j] = _codes_of(column, variable)[column.index]
    return Codes(tuple(out), rows)


def decode(rows: ArrayLike, variables: Sequence[Variable]) -> dict[str, NDArray[Any]]:
    """Return labelled columns from codes, in the dtypes the table had.

    A column of integers that has missing values comes back as floats with NaN; of other
    labels, as objects with None.

    Examples
    --------
    >>> decode([[0], [1]], [Variable("sex", ("f", "m"))])
    {'sex': array(['f', 'm'], dtype=object)}
    """
    codes = plain_array(rows, "rows", "be codes")
    variables = [
        of_kind(one, "variables", Variable, "a sequence of Variable")
        for one in listed(variables, "variables", "Variable")
    ]
    if codes.ndim != 2 or codes.shape[1] != len(variables) or codes.dtype.kind not in "iu":
        rule = f"be codes of shape (n, {len(variables)})"
        raise ParameterError("rows", rule, got=f"shape {codes.shape} of {codes.dtype}")
    n_values = np.array([variable.n_values for variable in variables])
    if ((codes < 0) | (codes >= n_values)).any():
        raise ParameterError("rows", "hold codes of the variables", got="others")
    columns: dict[str, NDArray[Any]] = {}
    for j, variable in enumerate(variables):
        labels = np.empty(variable.n_values, dtype=object)
        labels[:] = variable.values
        if variable.dtype != "object":
            kind = np.dtype(variable.dtype).kind
            if None in variable.values and kind == "f":
                labels[variable.values.index(None)] = math.nan
            if None not in variable.values or kind in "fM":
                labels = labels.astype(variable.dtype)
        columns[variable.name] = labels[codes[:, j]]
    return columns


def alphabet(labels: set[Any]) -> tuple[Hashable, ...]:
    """Return labels in order; a column in which only 0 or only 1 occurs is binary all the same.

    Numbers come first, then the other kinds by name of their type, each in its own order.

    Examples
    --------
    >>> alphabet({"b", 10, 9, "a"}), alphabet({1})
    ((9, 10, 'a', 'b'), (0, 1))
    """
    if labels and all(isinstance(label, bool) for label in labels):
        return (False, True)
    if labels and all(isinstance(label, int | float) and label in (0, 1) for label in labels):
        return (0.0, 1.0) if any(isinstance(label, float) for label in labels) else (0, 1)

    def rank(label: Any) -> tuple[str, Any]:
        return ("" if isinstance(label, int | float) else type(label).__name__, label)

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


def _measurement(column: Column, n_bins: int | None) -> Variable | None:
    """Bin a numeric column by quantiles when that was asked for and it is needed."""
    if not column.is_numeric:
        return None
    distinct = np.array(column.present, dtype=float)
    if n_bins is None or len(distinct) <= n_bins:
        if len(distinct) > MAX_FLOAT_LABELS and (distinct != np.rint(distinct)).any():
            raise ValueError(
                f"column {column.name!r} must be categorical or binned, got "
                f"{len(distinct)} distinct numbers: pass bins=5 to bin them"
            )
        return None
    present = np.array(column.labels, dtype=float)[column.index]  # None becomes NaN
    present = present[~np.isnan(present)]
    edges = np.unique(np.quantile(present, np.linspace(0, 1, n_bins + 1)[1:-1]))
    which = np.searchsorted(edges, present, side="right")
    used = np.unique(which)
    if len(used) <= len(edges):  # a heavy value can leave a bin empty
        edges = edges[used[1:] - 1]
        which = np.searchsorted(edges, present, side="right")
    means = (np.bincount(which, weights=present) / np.bincount(which)).tolist()
    values = (*means, None) if None in column.labels else tuple(means)
    return Variable(column.name, values, "float64", tuple(edges.tolist()))


def _category(column: Column) -> Variable:
    labels = alphabet(set(column.present))
    if len(labels) >= MAX_VALUES:
        raise ValueError(
            f"column {column.name!r} must have fewer than {MAX_VALUES} distinct values, "
            f"got {len(labels)}: pass bins=5 if it holds numbers, or leave it out"
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
        if column.present and not column.is_numeric:
            found = _short(column.present)
            raise ValueError(f"column {variable.name!r} must hold numbers, got {found}")
        numbers = np.array(column.labels, dtype=float)  # None becomes NaN
        codes = np.searchsorted(variable.edges, numbers, side="right")
        return np.where(np.isnan(numbers), position.get(None, -1), codes)
    unknown = [label for label in column.labels if label not in position]
    if unknown:
        known = _short(variable.values)
        raise ValueError(f"column {variable.name!r} must hold only {known}, got {unknown[0]!r}")
    return np.array([position[label] for label in column.labels], dtype=np.intp)


def _n_bins(bins: int | Mapping[str, int] | None, columns: Sequence[Column]) -> list[int | None]:
    """Return the number of bins of each column, or None."""
    if not isinstance(bins, Mapping):
        chosen: list[int | None] = [bins] * len(columns)
    else:
        by_name = {column.name: column for column in columns}
        for name in bins:
            if name not in by_name:
                got = with_nearest(name, by_name)
                raise ParameterError("bins", "name columns of the table", got=got)
            labels = by_name[name].present
            if labels and not by_name[name].is_numeric:
                found = f"{name!r} with the labels {_short(labels)}"
                raise ParameterError("bins", "name columns of numbers", got=found)
        chosen = [bins.get(column.name) for column in columns]
    for n in chosen:
        if n is not None and not (isinstance(n, int | np.integer) and n >= 2):
            raise ParameterError("bins", "be whole numbers of at least 2", n)
    return chosen


def _short(values: Sequence[Hashable]) -> str:
    shown = ", ".join(repr(v) for v in values[:8])
    return f"{shown}, ... ({len(values)} values)" if len(values) > 8 else shown
