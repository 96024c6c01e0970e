r"""Read a sample: rows of numbers, their weights and labels, rows forced in or excluded.

Weights are normalised to :math:`\sum_i q_i = 1`. Importance samplers return their logarithms,
:math:`\ell_i`, which may be far below what a float can hold as a weight, so

.. math:: q_i = \frac{\exp(\ell_i - \max_j \ell_j)}{\sum_k \exp(\ell_k - \max_j \ell_j)}.

Every value must be finite and of a size whose square is a float64 too: kernels see squared
distances. The check looks at blocks of rows and makes no copy, so that a memory-mapped file
of any size passes through.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import form_of, plain_array, row_weights
from herder.core.summary import counted
from herder.data.categories import Labels
from herder.data.columns import is_missing
from herder.data.forms import locate, read_mixed, read_numbers, take_rows

__all__ = [
    "Rows",
    "locate",
    "read_choice",
    "read_labels",
    "read_rows",
    "read_weights",
    "require_finite",
]

#: Values larger than this are refused: the squared distance of two such rows, a sum of up to
#: a million squares of (2 x), must stay below 1.8e308.
MAX_SIZE = 1e150

#: Cells that are checked together: 8 MB, which a processor's cache about holds.
BLOCK_CELLS = 2**20

#: Columns that an error names.
N_NAMED = 3


@dataclass(frozen=True, slots=True)
class Rows:
    """A sample as numbers, and what is needed to return its rows in their own form.

    Parameters
    ----------
    values : ndarray of shape (n, d)
        float64, or float32 if it came so; a view of the input where that is possible.
    names : tuple of str
        Of the columns.
    shape : tuple of int
        (n,), or (chains, draws) where rows are counted chain by chain.
    kind : str
        Form of the input: "array", "mapping", "pandas", "polars", "dataarray", "dataset", "tree";
        or "file" for rows that were read from one.
    labels : tuple
        Categories of each column, None for a column of numbers; empty if all are numbers. A
        column of categories has an indicator for each of them among the values.
    """

    values: NDArray[np.floating]
    names: tuple[str, ...]
    shape: tuple[int, ...]
    kind: str
    labels: Labels = ()

    @property
    def columns(self) -> NDArray[np.intp]:
        """Column of the table that each column of the values belongs to."""
        widths = [1 if own is None else len(own) for own in self.labels]
        return (
            np.arange(self.values.shape[1])
            if not widths
            else np.arange(len(widths)).repeat(widths)
        )

    @property
    def is_indicator(self) -> NDArray[np.bool_]:
        """Which columns of the values are indicators of a category."""
        known = [own is not None for own in self.labels] or [False] * self.values.shape[1]
        return np.array(known)[self.columns]

    @property
    def value_names(self) -> tuple[str, ...]:
        """Names of the columns of the values; ``sex=F`` for an indicator."""
        parts = [
            [name] if own is None else [f"{name}={label}" for label in own]
            for name, own in zip(self.names, self.labels or [None] * len(self.names), strict=True)
        ]
        return tuple(itertools.chain.from_iterable(parts))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.values.shape[0]

    def take(self, table: Any, indices: NDArray[np.intp]) -> Any:
        """Return rows of a table that is aligned with this sample, in the table's own form.

        Arrays and sparse matrices return rows (chains and draws flattened), frames and mappings
        their own kind; xarray objects keep chain and draw as coordinates of one new dimension
        ``sample``. ArviZ objects return their own kind, with the rows as draws 0, 1, ... of one
        chain in each group that has chain and draw; ``original_chain`` and ``original_draw`` are
        coordinates. Other groups come whole, and so do the prior and the warm-up.
        """
        return take_rows(table, np.asarray(indices, dtype=np.intp), self.shape)


def read_rows(X: Any, *, mixed: bool = False) -> Rows:
    """Read a sample in any of its forms; errors name columns, rows and what to do.

    Parameters
    ----------
    X : array-like, frame, xarray or ArviZ object, or mapping
        Rows by columns; or draws, (chain, draw, ...), whose other dimensions become columns. A
        mapping holds such draws by name, or columns of one length.
    mixed : bool, default False
        Whether columns of frames and mappings may hold categories, else they are refused.

    Examples
    --------
    >>> rows = read_rows({"mu": [[0.0, 1.0, 2.0]], "theta": [[[3, 4], [5, 6], [7, 8]]]})
    >>> rows.names, rows.shape
    (('mu', 'theta[0]', 'theta[1]'), (1, 3))
    """
    if isinstance(X, Rows):
        return X
    form = form_of(X)
    (values, names, shape), labels = read_mixed(X, form) if mixed else (read_numbers(X, form), ())
    if 0 in values.shape:
        sizes = "{} sample(s), {} feature(s)".format(*values.shape)
        found = f"{sizes} (shape={values.shape}) while a minimum of 1 is required."
        raise ParameterError("X", "have at least one row and one column", got=found)
    rows = Rows(values, names, shape, form, labels)
    require_finite(rows)
    return rows


def _blocks(values: NDArray[np.floating]) -> Iterator[tuple[int, NDArray[np.floating]]]:
    size = max(1, BLOCK_CELLS // values.shape[1])
    for start in range(0, values.shape[0], size):
        yield start, values[start : start + size]


def _is_ordinary(block: NDArray[np.floating]) -> bool:
    # Minimum and maximum pass a NaN on, and need no array beside the block.
    return float(block.min()) >= -MAX_SIZE and float(block.max()) <= MAX_SIZE


def require_finite(rows: Rows, place: Callable[[int], str] | None = None) -> None:
    """Refuse values that are not finite, or too large to be squared; name columns and rows.

    ``place`` says where a row is, if it came from a file.
    """
    if all(_is_ordinary(block) for _, block in _blocks(rows.values)):
        return
    checks = {
        "NaN": np.isnan,
        "infinite values": np.isinf,
        f"values beyond {MAX_SIZE:g}, whose squares overflow,": lambda x: np.abs(x) > MAX_SIZE,
    }
    for words, check in checks.items():
        counts, first = np.zeros((2, rows.values.shape[1]), dtype=np.int64)
        for start, block in _blocks(rows.values):
            wrong = check(block)
            new = wrong.any(axis=0) & (counts == 0)
            first[new] = start + wrong[:, new].argmax(axis=0)
            counts += wrong.sum(axis=0)
        # where a category is missing, all its indicators are
        columns = {int(rows.columns[j]): j for j in np.flatnonzero(counts).tolist()}
        if columns:
            shown = "; ".join(
                f"in {counted(int(counts[j]), 'row')} of column {rows.names[column]!r}, first in "
                f"{place(int(first[j])) if place else _place(rows, int(first[j]))}"
                for column, j in list(columns.items())[:N_NAMED]
            )
            more = len(columns) - N_NAMED
            shown += f"; and in {more} more columns" if more > 0 else ""
            found = f"{words} {shown}. {_remedy(rows, words, rows.names[min(columns)])}"
            raise ParameterError("X", "have finite values of ordinary size", got=found)


def _remedy(rows: Rows, words: str, column: str) -> str:
    if words.startswith("values"):
        return "Divide the column by a constant, or drop it"
    if rows.kind == "file":
        return f"Drop these rows from the file, fill them in, or pass drop={column}"
    is_nan = words == "NaN"
    keep = {
        "pandas": "X.dropna()" if is_nan else "X.replace([np.inf, -np.inf], np.nan).dropna()",
        "polars": "X.filter(pl.all_horizontal(pl.all().is_finite()))",
        "mapping": "a mask over each array",
        "array": "X[np.isfinite(X).all(axis=1)]",
    }.get(rows.kind, "X.dropna('draw')")
    if rows.kind == "array" and len(rows.shape) == 2:
        keep = f"X.reshape({rows.n_rows}, -1) and a mask over its rows"
    fill = " (a missing value is NaN here)" if rows.kind in ("pandas", "polars") else ""
    return f"Drop these rows with {keep}, or fill them in{fill}"


def _place(rows: Rows, row: int) -> str:
    if len(rows.shape) == 1:
        return f"row {row}"
    chain, draw = divmod(row, rows.shape[1])
    return f"chain {chain}, draw {draw}"


def read_weights(
    sample_weight: ArrayLike | None,
    log_weight: ArrayLike | None,
    n: int,
    shape: tuple[int, ...] | None = None,
    *,
    name: str = "sample_weight",
) -> NDArray[np.float64] | None:
    """Read the weights of n rows, or their logarithms.

    Parameters
    ----------
    sample_weight : array-like of shape (n,) or (chain, draw), optional
        Finite and non-negative, not all zero.
    log_weight : the same, optional
        Logarithms up to a constant; minus infinity is a weight of zero. Not with the other.
    n : int
        Number of rows.
    shape : tuple of int, optional
        Leading shape of the sample, (n,) by default.
    name : str
        What the caller calls ``sample_weight``.

    Returns
    -------
    ndarray of shape (n,) or None
        Weights that sum to one; None when all rows count alike.
    """
    if sample_weight is not None and log_weight is not None:
        raise ParameterError("sample_weight", "be None when log_weight is given", got="both")
    if sample_weight is None and log_weight is None:
        return None
    logarithms = sample_weight is None
    name = "log_weight" if logarithms else name
    given = _per_row(log_weight if logarithms else sample_weight, name, n, shape)
    if given.dtype.kind not in "biuf":
        raise ParameterTypeError(name, "hold numbers", got=f"dtype {given.dtype}")
    if logarithms:
        weight = given.astype(np.float64)
        wrong = ~(weight < np.inf)
        if wrong.any():
            found = f"{weight[wrong][0]} in row {wrong.argmax()}"
            raise ParameterError(name, "hold finite logarithms, or minus infinity", got=found)
    else:
        weight = row_weights(given, n, name, summed=False)
    top = weight.max()
    if top == (-np.inf if logarithms else 0):
        rule = "be finite for some row" if logarithms else "be more than zero for some row"
        raise ParameterError(name, rule, got=f"{top} for all")
    # relative to the largest, so that the sum cannot overflow
    weight = np.exp(weight - top) if logarithms else weight / top
    return None if weight.min() == weight.max() else weight / weight.sum()


def read_labels(y: ArrayLike, n: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Read one label per row: the distinct labels, sorted, and the number of each row's.

    Parameters
    ----------
    y : array-like of shape (n,)
        Text, whole numbers or booleans; a column of a frame.
    n : int
        Number of rows.
    """
    labels = _per_row(y, "y", n, None)
    if labels.dtype.kind == "f":
        wrong = ~np.isfinite(labels) | (labels != np.round(labels))
        if wrong.any():
            found = f"{labels[wrong][0]} in row {wrong.argmax()}"
            raise ParameterError("y", "hold text or whole numbers", got=found)
    if labels.dtype.kind == "O":
        absent = np.array([is_missing(item) for item in labels])
        if absent.any():
            found = f"none in {counted(int(absent.sum()), 'row')}, first in row {absent.argmax()}"
            raise ParameterError("y", "have a label in every row", got=found)
    elif labels.dtype.kind not in "biufUS":
        raise ParameterTypeError("y", "hold text or whole numbers", got=f"dtype {labels.dtype}")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(item).__name__ for item in labels})
        raise ParameterTypeError("y", "hold labels of one kind", got=", ".join(kinds)) from None
    return classes, codes.astype(np.intp, copy=False).reshape(n)


def read_choice(
    include: ArrayLike | None, exclude: ArrayLike | None, n: int, n_select: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Read the rows that must be chosen and those that must not, as indices.

    Parameters
    ----------
    include, exclude : array-like of int, or of bool with one per row, optional
        Row numbers from 0, each once; or a mask.
    n : int
        Number of rows.
    n_select : int
        How many will be chosen, which ``include`` must not exceed.
    """
    forced, excluded = _indices(include, "include", n), _indices(exclude, "exclude", n)
    both = np.intersect1d(forced, excluded)
    if both.size:
        raise ParameterError("exclude", "not hold rows of include", got=f"row {both[0]} in both")
    if len(forced) > n_select:
        raise ParameterError("include", f"hold at most n_select rows, {n_select}", len(forced))
    if len(excluded) == n:
        raise ParameterError("exclude", "leave a row to choose", got=f"all {n}")
    return forced, excluded


def _indices(given: ArrayLike | None, name: str, n: int) -> NDArray[np.intp]:
    rows = plain_array([] if given is None else given, name, "be row numbers, or a mask")
    if rows.dtype.kind == "b":
        if rows.size != n:
            raise ParameterError(name, f"have {n} values as a mask", got=f"shape {rows.shape}")
        return np.flatnonzero(rows)
    if rows.size == 0:
        return np.empty(0, dtype=np.intp)
    if rows.dtype.kind not in "iu" or rows.ndim != 1:
        found = f"dtype {rows.dtype} of shape {rows.shape}"
        raise ParameterTypeError(name, "hold row numbers, or a mask of booleans", got=found)
    if rows.min() < 0 or rows.max() >= n:
        wrong = rows[(rows < 0) | (rows >= n)][0]
        raise ParameterError(name, f"hold row numbers from 0 to {n - 1}", wrong)
    distinct, counts = np.unique(rows, return_counts=True)
    if (counts > 1).any():
        raise ParameterError(name, "hold each row once", got=f"{distinct[counts > 1][0]} twice")
    return rows.astype(np.intp)


def _per_row(given: Any, name: str, n: int, shape: tuple[int, ...] | None) -> NDArray[Any]:
    """Return one value per row as a flat array, chain by chain."""
    if form_of(given) == "dataarray" and {"chain", "draw"} <= set(given.dims):
        given = given.transpose("chain", "draw", ...)
    if form_of(given) in ("pandas", "polars") and given.shape[1] == 1:
        given = given.iloc[:, 0] if hasattr(given, "iloc") else given.to_series()
    values = plain_array(given, name, "have one value per row")
    shapes = dict.fromkeys([(n,), shape or (n,)])
    if values.shape not in {(n, 1), *shapes}:
        rule = f"have one value per row, shape {' or '.join(map(str, shapes))}"
        raise ParameterError(name, rule, got=f"shape {values.shape}")
    return values.reshape(n)
