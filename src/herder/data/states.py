"""Rows of binary states in memory: what they hold, checked, as 0/1 codes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from herder._errors import ParameterError
from herder._validation import finite_number, fit_rows, form_of, plain_array
from herder.data.columns import named_columns
from herder.data.numerals import python_reads

__all__ = ["blocks", "check_alphabet", "column_names", "read_codes", "read_numbers"]

#: Numbers that are checked at a time.
BLOCK = 2**22

#: Columns that an error names.
NAMED = 5


def check_alphabet(states: Any, accepted: str = "(0, 1) or (-1, 1)") -> tuple[int, int]:
    """Return ``states`` as one of the two alphabets of a binary site."""
    structured = getattr(getattr(states, "dtype", None), "kind", "") == "V"  # compares with none
    for low in (0, -1):
        if not structured and np.array_equal(states, (low, 1)):
            return (low, 1)
    raise ParameterError("states", f"be {accepted}", states)


def read_codes(
    estimator: Any,
    X: object,
    states: str | Sequence[int],
    *,
    reset: bool = True,
    missing: bool = False,
    binarize: float | None = None,
) -> tuple[Any, tuple[int, int]]:
    """Return ``X`` as 0/1 codes, checked, with the alphabet that it is in.

    Parameters
    ----------
    estimator : BaseEstimator
        Learns, or knows, the number and names of the columns.
    X : array-like, frame or sparse matrix of shape (n_rows, n), or mapping of columns by name
        The rows.
    states : "auto", (0, 1) or (-1, 1)
        What the rows hold; "auto" finds out.
    reset : bool
        Whether the estimator is being fitted.
    missing : bool
        Whether NaN is allowed; the codes are then floats with NaN.
    binarize : float, optional
        Numbers above it are the upper state, all others the lower one.
    """
    is_auto = isinstance(states, str) and states == "auto"
    wanted = None if is_auto else check_alphabet(states, "'auto', (0, 1) or (-1, 1)")
    if binarize is not None:
        binarize = finite_number(binarize, "binarize")
    accepted = "0 or 1, or -1 or 1," if wanted is None else f"{wanted[0]} or 1"
    rows = read_numbers(estimator, X, reset=reset)
    codes = np.empty(rows.shape, np.float64 if missing else np.uint8)
    lows: set[int] = set()
    for part in blocks(rows):
        values = rows[part].toarray() if hasattr(rows, "indptr") else rows[part]
        unknown = np.isnan(values)
        wrong = np.isinf(values) if missing else ~np.isfinite(values)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            value, name = values[row, column], column_names(estimator)[column]
            place = f"in row {part.start + row}, column {name}"
            found = f"{value:g} {place}"
            if np.isnan(value):
                found = f"NaN {place}; a fitted machine fills missing entries by impute"
            raise ParameterError("X", "be finite", got=found)
        if binarize is None:
            others = values[(values != 1) & ~unknown]
            lows |= {low for low in (0, -1) if (others == low).any()}
            strange = others[(others != 0) & (others != -1)]
            if strange.size:
                found = f"{strange[0]:g}; binarize= sets a threshold for numbers"
                raise ParameterError("X", f"hold {accepted} only", got=found)
        upper = values > (0 if binarize is None else binarize)
        codes[part] = np.where(unknown, np.nan, upper) if missing else upper
    if wanted is None:
        if len(lows) == 2:
            raise ParameterError("X", f"hold {accepted} only", got="-1 as well as 0")
        wanted = (-1, 1) if -1 in lows else (0, 1)
    if lows - {wanted[0]}:
        raise ParameterError("X", f"hold {accepted} only", (lows - {wanted[0]}).pop())
    return codes, wanted


def column_names(estimator: Any) -> list[str]:
    """Return what to call the columns in messages: their names, or x0, x1 and so on."""
    known = vars(estimator).get("feature_names_in_")
    if known is None:
        return [f"x{i}" for i in range(estimator.n_features_in_)]
    return [str(name) for name in known]


def read_numbers(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return ``X`` as rows of numbers, which may be NaN or infinite."""
    try:
        if form_of(X) == "mapping":
            return _read_columns(estimator, X, reset=reset)
        return fit_rows(estimator, X, reset=reset, finite=False)
    except ValueError:
        text = _first_text(X)
        if text is None:
            raise
    raise ParameterError("X", "be numbers", got=f"{text}: recode text, e.g. yes and no as 1 and 0")


def _first_text(X: Any) -> str | None:
    """Return the first entry that is text and no number, and where it is, column by column."""
    named = named_columns(X)
    if named is None:
        table = np.asarray(X, object)
        if table.ndim != 2:
            return None
        named = tuple(f"x{i}" for i in range(table.shape[1])), list(table.T)
    for name, column in zip(*named, strict=True):
        for row, value in enumerate(np.ravel(np.asarray(column, object))):
            if isinstance(value, str | bytes) and not python_reads(value):
                return f"{value!r} in row {row}, column {name}"
    return None


def _read_columns(estimator: Any, X: Mapping[Any, Any], *, reset: bool) -> Any:
    """Return columns by name as rows, checked as a frame is, without a frame."""
    from sklearn.base import BaseEstimator

    names = np.array([str(name) for name in X], dtype=object)
    known = vars(estimator).get("feature_names_in_")
    if not reset and known is not None and names.tolist() != known.tolist():
        rule = f"have the columns {known[:NAMED].tolist()} ... of fit in their order"
        raise ParameterError("X", rule, got=f"{names[:NAMED].tolist()} ...")
    columns = [plain_array(column, "X") for column in X.values()]
    shapes = sorted({column.shape for column in columns})
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise ParameterError("X", "have columns of one length", got=f"shapes {shapes}")
    rows = np.column_stack(columns) if columns else np.empty((0, 0))
    if not reset and len(names) != estimator.n_features_in_:
        raise ParameterError("X", f"have {estimator.n_features_in_} columns", len(names))
    rows = fit_rows(BaseEstimator(), rows, finite=False)
    if reset:
        estimator.n_features_in_, estimator.feature_names_in_ = len(names), names
    return rows


def blocks(rows: Any) -> list[slice]:
    """Return slices of rows, of about BLOCK numbers each."""
    size = max(1, BLOCK // max(rows.shape[1], 1))
    return [slice(start, start + size) for start in range(0, rows.shape[0], size)]
