r"""Variables of a table: names, labels and the integer codes that are herded.

Every column becomes a `Variable` with a finite alphabet; a row becomes a vector of
codes, ``code = position of the label in the alphabet``. Decoding gives labels, names
and dtypes back as they came.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Codes", "Variable", "code_dtype", "decode", "encode", "named_columns"]

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
        Labels; the code of a value is its position. ``None`` stands for missing.
    dtype : str, default "object"
        NumPy dtype name of the decoded column.
    edges : tuple of float, optional
        Inner bin edges of a measurement; its values are then the mean of each bin.
    """

    name: str
    values: tuple[Hashable, ...]
    dtype: str = "object"
    edges: tuple[float, ...] | None = None

    @property
    def n_values(self) -> int:
        """Size of the alphabet."""
        return len(self.values)

    @property
    def is_switch(self) -> bool:
        """Whether the labels are 0 and 1 (or False and True)."""
        return len(self.values) == 2 and self.values[0] == 0 and self.values[1] == 1

    def code(self, label: Hashable) -> int:
        """Position of ``label`` in the alphabet; numbers and booleans match by value."""
        for position, value in enumerate(self.values):
            if value == label or str(value) == label:
                return position
        raise ValueError(
            f"value of {self.name!r} must be one of {_short(self.values)}, got {label!r}"
        )


@dataclass(frozen=True, slots=True)
class Codes:
    """A coded table: ``rows`` is (n, D) int8 or int16, or a 0/1 matrix in CSR form."""

    variables: tuple[Variable, ...]
    rows: Any

    def dense(self, index: NDArray[np.intp] | slice) -> NDArray[np.integer]:
        """Give some rows as a dense array of codes."""
        rows = self.rows[index]
        return rows if isinstance(rows, np.ndarray) else rows.toarray()


def code_dtype(variables: Sequence[Variable]) -> type[np.int8] | type[np.int16]:
    """Give the dtype of a state: int8 up to 127 values, int16 beyond."""
    return np.int8 if max((v.n_values for v in variables), default=0) <= 127 else np.int16


def named_columns(X: object) -> tuple[tuple[str, ...], list[Any]] | None:
    """Names and columns of a mapping, a pandas or polars frame or an arrow table, else None."""
    if isinstance(X, Mapping):
        return tuple(str(name) for name in X), list(X.values())
    names = getattr(X, "column_names", None)  # pyarrow
    if names is None and hasattr(X, "columns") and hasattr(X, "__getitem__"):
        names = X.columns  # type: ignore[attr-defined]
    if names is None:
        return None
    listed = list(names)
    duplicated = {str(name) for name in listed if listed.count(name) > 1}
    if duplicated:
        raise ValueError(f"X must have unique column names, got {sorted(duplicated)} twice")
    return tuple(str(name) for name in listed), [X[name] for name in listed]  # type: ignore[index]


def encode(
    X: object,
    *,
    variables: Sequence[Variable] | None = None,
    missing: str = "error",
    bins: int | Mapping[str, int] | None = None,
    names: Sequence[str] | None = None,
) -> Codes:
    """Code a table; with ``variables`` given, use their alphabets and refuse other labels."""
    if missing not in ("error", "category"):
        raise ValueError(f"missing must be 'error' or 'category', got {missing!r}")
    if hasattr(X, "tocsr"):
        return _encode_sparse(X, variables, names)
    columns, found = _columns(X, names)
    if not columns:
        raise ValueError("X must have at least 1 column, got 0 feature(s)")
    n_rows = {len(column) for column in columns}
    if len(n_rows) > 1:
        raise ValueError(f"X must have columns of one length, got lengths {sorted(n_rows)}")
    if n_rows == {0}:
        raise ValueError("X must have at least 1 row, got 0 sample(s)")
    if variables is not None and len(variables) != len(columns):
        raise ValueError(f"X must have {len(variables)} columns, got {len(columns)}")
    coded = [
        _encode_column(name, column, known, missing, _n_bins(bins, name))
        for name, column, known in zip(
            found, columns, variables or [None] * len(columns), strict=True
        )
    ]
    out = tuple(variable for variable, _ in coded)
    dtype = code_dtype(out)
    rows = np.empty((n_rows.pop(), len(coded)), dtype=dtype)
    for j, (_, codes) in enumerate(coded):
        rows[:, j] = codes
    return Codes(out, rows)


def decode(rows: ArrayLike, variables: Sequence[Variable]) -> dict[str, NDArray[Any]]:
    """Turn codes into labelled columns, in the dtypes the table had.

    Examples
    --------
    >>> decode([[0], [1]], [Variable("sex", ("f", "m"))])
    {'sex': array(['f', 'm'], dtype=object)}
    """
    codes = np.asarray(rows)
    columns: dict[str, NDArray[Any]] = {}
    for j, variable in enumerate(variables):
        labels = np.empty(variable.n_values, dtype=object)
        labels[:] = variable.values
        column = labels[codes[:, j]]
        if variable.dtype != "object":
            if None in variable.values and np.dtype(variable.dtype).kind == "f":
                column = np.where(column == None, np.nan, column)  # noqa: E711 (elementwise)
            if None not in variable.values or np.dtype(variable.dtype).kind == "f":
                column = column.astype(variable.dtype)
        columns[variable.name] = column
    return columns


def _columns(
    X: object, names: Sequence[str] | None
) -> tuple[list[NDArray[Any]], tuple[str, ...]]:
    """Split any table into NumPy columns."""
    named = named_columns(X)
    if named is not None:
        found, raw = named
        return [_as_numpy(column) for column in raw], tuple(names or found)
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(
            f"X must be a table with rows and columns (2-D), got shape {array.shape}. "
            "Reshape your data with X.reshape(-1, 1) if it is a single column"
        )
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: X must be real or categorical")
    width = array.shape[1]
    if names is not None and len(names) != width:
        raise ValueError(f"names must have one name per column ({width}), got {len(names)}")
    return list(array.T), tuple(names or (f"x{j}" for j in range(width)))


def _as_numpy(column: Any) -> NDArray[Any]:
    """Give a frame's column as NumPy; categories and nulls become objects."""
    if hasattr(column, "cat") and str(getattr(column, "dtype", "")) == "category":
        return np.asarray(column.astype(object), dtype=object)
    if hasattr(column, "to_numpy"):
        array = column.to_numpy()
    else:
        array = np.asarray(column)
    return array if array.dtype.kind in "biufOUS" else array.astype(object)


def _encode_sparse(
    X: Any, variables: Sequence[Variable] | None, names: Sequence[str] | None
) -> Codes:
    matrix = X.tocsr()
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise ValueError(
            f"X must have at least 1 row and 1 column, got shape {matrix.shape}: 0 sample(s)"
        )
    if not np.isin(matrix.data, (0, 1)).all():
        wrong = matrix.data[~np.isin(matrix.data, (0, 1))][0]
        raise ValueError(f"a sparse X must hold 0 and 1 only, got {wrong!r}")
    found = tuple(names or (f"x{j}" for j in range(matrix.shape[1])))
    kind = "int8" if matrix.dtype.kind == "b" else np.dtype(matrix.dtype).name
    out = tuple(variables or (Variable(name, (0, 1), kind) for name in found))
    if len(out) != matrix.shape[1]:
        raise ValueError(f"X must have {len(out)} columns, got {matrix.shape[1]}")
    matrix = matrix.astype(np.int8)
    matrix.eliminate_zeros()
    return Codes(out, matrix)


def _encode_column(
    name: str, column: NDArray[Any], known: Variable | None, missing: str, n_bins: int | None
) -> tuple[Variable, NDArray[np.integer]]:
    absent = _missing(column)
    if absent.any() and missing == "error":
        raise ValueError(
            f"X must not contain NaN or missing values, got {int(absent.sum())} in column "
            f"{name!r} (first at row {int(np.argmax(absent))}); "
            "pass missing='category' to make them a category"
        )
    if column.dtype.kind == "f" and np.isinf(column).any():
        raise ValueError(f"X must be finite, got infinity in column {name!r}")
    if known is not None:
        return known, _codes_of(column, absent, known)
    present = column[~absent]
    variable = _measurement(name, present, n_bins) or _category(name, present)
    if absent.any():
        kind = "float64" if variable.dtype.startswith(("int", "uint")) else variable.dtype
        variable = Variable(name, (*variable.values, None), kind, variable.edges)
    if variable.n_values > MAX_VALUES:
        raise ValueError(
            f"column {name!r} must have at most {MAX_VALUES} distinct values, "
            f"got {variable.n_values}: pass bins= or leave it out"
        )
    return variable, _codes_of(column, absent, variable)


def _measurement(name: str, present: NDArray[Any], n_bins: int | None) -> Variable | None:
    """Bin a numeric column by quantiles when that was asked for and it is needed."""
    if present.dtype.kind not in "iuf" or not len(present):
        return None
    distinct = np.unique(present)
    if n_bins is not None and len(distinct) > n_bins:
        edges = np.unique(np.quantile(present.astype(float), np.linspace(0, 1, n_bins + 1)[1:-1]))
        which = np.searchsorted(edges, present, side="right")
        used = np.unique(which)
        if len(used) <= len(edges):  # a heavy value can leave a bin empty
            edges = edges[used[1:] - 1]
            which = np.searchsorted(edges, present, side="right")
        means = [float(present[which == b].mean()) for b in range(len(edges) + 1)]
        return Variable(name, tuple(means), "float64", tuple(float(e) for e in edges))
    whole = present.dtype.kind != "f" or bool((distinct == np.rint(distinct)).all())
    if not whole and len(distinct) > MAX_FLOAT_LABELS:
        raise ValueError(
            f"column {name!r} must be categorical or binned, got a measurement with "
            f"{len(distinct)} distinct values: pass bins=, for example bins={{{name!r}: 5}}"
        )
    return None


def _category(name: str, present: NDArray[Any]) -> Variable:
    kind = present.dtype.kind
    if kind == "b":
        return Variable(name, (False, True), "bool")
    if kind in "iuf":
        distinct = np.unique(present)
        if np.isin(distinct, (0, 1)).all():
            distinct = np.array([0, 1], dtype=present.dtype)
        return Variable(name, tuple(distinct.tolist()), present.dtype.name)
    labels = _sorted_labels({_plain(value) for value in present.tolist()})
    if labels and all(isinstance(label, bool) for label in labels):
        return Variable(name, (False, True), "object")
    if labels and all(isinstance(v, int | float) and v in (0, 1) for v in labels):
        labels = (0, 1)
    return Variable(name, labels, "object")


def _codes_of(
    column: NDArray[Any], absent: NDArray[np.bool_], variable: Variable
) -> NDArray[np.integer]:
    codes = np.empty(len(column), dtype=np.int32)
    if absent.any():
        if None not in variable.values:
            raise ValueError(f"column {variable.name!r} must not have missing values here")
        codes[absent] = variable.values.index(None)
    present = column[~absent]
    if variable.edges is not None:
        codes[~absent] = np.searchsorted(variable.edges, present.astype(float), side="right")
        return codes
    labels = [value for value in variable.values if value is not None]
    if present.dtype.kind in "biuf" and all(isinstance(v, int | float) for v in labels):
        known = np.array(labels, dtype=float)
        rank = np.argsort(known, kind="stable")
        numbers = present.astype(float)
        place = np.minimum(np.searchsorted(known[rank], numbers), len(known) - 1)
        wrong = known[rank][place] != numbers
        found = rank[place]
    else:
        position = {label: i for i, label in enumerate(labels)}
        found = np.array([position.get(_plain(v), -1) for v in present.tolist()], dtype=np.intp)
        wrong = found < 0
    if wrong.any():
        raise ValueError(
            f"column {variable.name!r} must hold only {_short(variable.values)}, "
            f"got {present[np.argmax(wrong)]!r}"
        )
    codes[~absent] = found
    return codes


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind != "O":
        return np.zeros(len(column), dtype=bool)
    # None, NaN and pandas' NA; only a missing value differs from itself or compares to no truth
    return np.fromiter((_is_missing(value) for value in column), dtype=bool, count=len(column))


def _is_missing(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _plain(value: Any) -> Hashable:
    """Give NumPy scalars as Python ones, so that labels compare and print plainly."""
    return value.item() if isinstance(value, np.generic) else value


def _sorted_labels(labels: set[Any]) -> tuple[Hashable, ...]:
    """Numbers first, then the other kinds by name of their type, each in its own order."""

    def rank(label: Any) -> tuple[str, Any]:
        return ("" if isinstance(label, int | float) else type(label).__name__, label)

    return tuple(sorted(labels, key=rank))


def _n_bins(bins: int | Mapping[str, int] | None, name: str) -> int | None:
    n_bins = bins.get(name) if isinstance(bins, Mapping) else bins
    if n_bins is not None and (isinstance(n_bins, bool) or int(n_bins) != n_bins or n_bins < 2):
        raise ValueError(f"bins must be whole numbers of at least 2, got {n_bins!r}")
    return n_bins


def _short(values: Sequence[Hashable]) -> str:
    shown = ", ".join(repr(v) for v in values[:8])
    return f"{shown}, ... ({len(values)} values)" if len(values) > 8 else shown

