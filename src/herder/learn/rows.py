"""Rows of binary states: what they hold, checked, as 0/1 codes, and equal rows merged."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from herder._errors import ParameterError
from herder._validation import finite_number, fit_rows, row_weights
from herder.models.pairwise import check_alphabet

__all__ = [
    "ConstantColumnWarning",
    "Sample",
    "column_names",
    "constant_bias",
    "effective_rows",
    "find_duplicate_columns",
    "merge_rows",
    "read_codes",
    "warn_of_constants",
]

#: Numbers that are looked at at a time.
BLOCK = 2**22

#: Columns that a warning names.
NAMED = 5


class ConstantColumnWarning(UserWarning):
    """A column has one value only, so that nothing can be learnt about it."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Distinct rows and the share of each.

    Parameters
    ----------
    rows : ndarray of shape (n_distinct, n) and dtype uint8
        0 for the lower and 1 for the upper state.
    weights : ndarray of shape (n_distinct,)
        Shares, which sum to 1.
    total : float
        Number of rows, or the sum of their weights.
    """

    rows: NDArray[np.uint8]
    weights: NDArray[np.float64]
    total: float

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """Share of the upper state in each column."""
        found = np.zeros(self.rows.shape[1])
        for part in blocks(self.rows):
            found += self.weights[part] @ self.rows[part]
        return found

    @cached_property
    def pairs(self) -> NDArray[np.float64]:
        """Share of rows where two columns are both at the upper state."""
        found = np.zeros((self.rows.shape[1], self.rows.shape[1]))
        for part in blocks(self.rows):
            rows = self.rows[part].astype(np.float64)
            found += rows.T @ (self.weights[part, None] * rows)
        return found

    def varying(self) -> NDArray[np.bool_]:
        """Which columns have both states."""
        return (self.rows != self.rows[0]).any(axis=0)

    def columns(self, chosen: NDArray[Any]) -> "Sample":
        """Give the sample of some columns."""
        if chosen.all():
            return self
        return Sample(np.ascontiguousarray(self.rows[:, chosen]), self.weights, self.total)


def read_codes(
    estimator: Any,
    X: object,
    states: str | Sequence[int],
    *,
    reset: bool = True,
    missing: bool = False,
    binarize: float | None = None,
) -> tuple[Any, tuple[int, int]]:
    """Check ``X`` and give it as 0/1 codes, with the alphabet that it is in.

    Parameters
    ----------
    estimator : BaseEstimator
        Learns, or knows, the number and names of the columns.
    X : array-like, frame or sparse matrix of shape (n_rows, n), or mapping of columns by name
        The rows.
    states : "auto", (0, 1) or (-1, 1)
        What the rows hold; "auto" looks.
    reset : bool
        Whether the estimator is being fitted.
    missing : bool
        Whether NaN is allowed; the codes are then floats with NaN.
    binarize : float, optional
        Numbers above it are the upper state, all others the lower one.
    """
    wanted = None
    if not (isinstance(states, str) and states == "auto"):
        wanted = check_alphabet(states, "'auto', (0, 1) or (-1, 1)")
    if binarize is not None:
        binarize = finite_number(binarize, "binarize")
    accepted = "0 or 1, or -1 or 1," if wanted is None else f"{wanted[0]} or 1"
    rows = _read_numbers(estimator, X, reset=reset)
    codes = np.empty(rows.shape, np.float64 if missing else np.uint8)
    lows: set[int] = set()
    for part in blocks(rows):
        values = rows[part].toarray() if hasattr(rows, "indptr") else rows[part]
        unknown = np.isnan(values)
        gaps = np.isinf(values) if missing else ~np.isfinite(values)
        _refuse_gaps(estimator, gaps, values, part.start)
        if binarize is None:
            others = values[(values != 1) & ~unknown]
            lows |= {low for low in (0, -1) if (others == low).any()}
            strange = others[(others != 0) & (others != -1)]
            if strange.size:
                raise ParameterError(
                    "X",
                    f"hold {accepted} only",
                    got=f"{strange[0]:g}; binarize= cuts numbers in two",
                )
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
    """Give what to call the columns in messages: their names, or x0, x1 and so on."""
    known = vars(estimator).get("feature_names_in_")
    if known is None:
        return [f"x{i}" for i in range(estimator.n_features_in_)]
    return [str(name) for name in known]


def _read_numbers(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check the form of ``X``; its numbers may be NaN or infinite."""
    is_named = isinstance(X, Mapping) and not sparse.issparse(X)  # a DOK matrix is a dict too
    try:
        if is_named:
            return _read_columns(estimator, X, reset=reset)
        return fit_rows(estimator, X, reset=reset, finite=False)
    except ValueError:
        text = _first_text(dict(X) if is_named else X)
        if text is None:
            raise
    raise ParameterError(
        "X", "be numbers", got=f"{text}: recode texts, such as yes and no as 1 and 0"
    ) from None


def _first_text(X: Any) -> str | None:
    """Say what the first entry is that is text and no number, and where, column by column."""
    if isinstance(X, dict):
        names, columns = list(X), [np.asarray(column, object) for column in X.values()]
    else:
        table = np.asarray(X, object)
        if table.ndim != 2:
            return None
        names = getattr(X, "columns", [f"x{i}" for i in range(table.shape[1])])
        columns = list(table.T)
    for name, column in zip(names, columns, strict=True):
        for row, value in enumerate(column):
            if isinstance(value, str | bytes) and not _is_number(value):
                return f"{value!r} in row {row}, column {name}"
    return None


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _refuse_gaps(
    estimator: Any, gaps: NDArray[np.bool_], values: NDArray[Any], first: int
) -> None:
    """Say where the first number is that is NaN or infinite, if one is."""
    if not gaps.any():
        return
    row, column = np.argwhere(gaps)[0].tolist()
    place = f"in row {first + row}, column {column_names(estimator)[column]}"
    if np.isnan(values[row, column]):
        raise ParameterError(
            "X",
            "have no missing entries here",
            got=f"NaN {place}: leave such rows out; impute of a fitted machine fills them",
        )
    raise ParameterError("X", "be finite", got=f"{values[row, column]:g} {place}")


def _read_columns(estimator: Any, X: Mapping[Any, Any], *, reset: bool) -> Any:
    """Check columns by name as rows of a frame are checked, without a frame."""
    from sklearn.base import BaseEstimator

    names = np.array([str(name) for name in X], dtype=object)
    known = vars(estimator).get("feature_names_in_")
    if not reset and known is not None and names.tolist() != known.tolist():
        raise ParameterError(
            "X",
            f"have the columns {known[:NAMED].tolist()} ... of fit in their order",
            got=f"{names[:NAMED].tolist()} ...",
        )
    columns = [np.asarray(column) for column in X.values()]
    if len({column.shape for column in columns}) > 1 or any(c.ndim != 1 for c in columns):
        shapes = sorted({column.shape for column in columns})
        raise ParameterError("X", "have columns of one length", got=f"shapes {shapes}")
    rows = np.column_stack(columns) if columns else np.empty((0, 0))
    if not reset and len(names) != estimator.n_features_in_:
        raise ParameterError("X", f"have {estimator.n_features_in_} columns", len(names))
    rows = fit_rows(BaseEstimator(), rows, finite=False)
    if reset:
        estimator.n_features_in_, estimator.feature_names_in_ = len(names), names
    return rows


def merge_rows(codes: NDArray[np.uint8], sample_weight: object = None) -> Sample:
    """Merge equal rows, and leave out rows of weight zero."""
    counts = row_weights(sample_weight, len(codes))
    if sample_weight is not None and not counts.all():
        codes, counts = codes[counts > 0], counts[counts > 0]
        if not len(codes):
            raise ParameterError("sample_weight", "have a number above zero", got="zeros only")
    total = effective_rows(counts)
    packed = np.packbits(codes, axis=1)
    words = np.zeros((len(codes), -(-packed.shape[1] // 8)), np.uint64)
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    # Equal rows have equal keys and come to lie together. Unequal rows of one key would at worst
    # keep some equal ones apart, which costs time and changes nothing.
    order = np.argsort(_keys(words), kind="stable")
    words = words[order]
    is_new = np.ones(len(words), bool)
    is_new[1:] = (words[1:] != words[:-1]).any(axis=1)
    firsts = np.flatnonzero(is_new)
    weights = np.add.reduceat(counts[order], firsts) / counts.sum()
    return Sample(np.ascontiguousarray(codes[order[firsts]]), weights, total)


def effective_rows(counts: NDArray[np.float64]) -> float:
    """Give the number of rows that weights stand for.

    Whole weights are counts. Others only say how rows compare, as those that sum to 1 do; then it
    is Kish's number, that of equal weights with the same variance of a mean.
    """
    if (counts == np.floor(counts)).all():
        return float(counts.sum())
    return float(counts.sum() ** 2 / (counts**2).sum())


def _keys(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Give one number for each line of words, different ones for almost all lines."""
    key = words[:, 0].copy()
    for column in words.T[1:]:
        key = (key ^ (key >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15) + column
    return key


def find_duplicate_columns(
    means: NDArray[np.float64],
    both: NDArray[np.float64],
    names: Sequence[str],
    *,
    least: float,
) -> tuple[tuple[str, str, str], ...]:
    """Give pairs of columns that are equal, or opposite, in all rows.

    Each column beyond the first of such a group is named once, beside the first.

    Parameters
    ----------
    means : ndarray of shape (n,)
        Shares of ones.
    both : ndarray of shape (n, n)
        Shares of rows where two columns are both one.
    names : sequence of str
        What to call the columns.
    least : float
        Smaller shares are rounding.

    Examples
    --------
    >>> find_duplicate_columns(
    ...     np.array([0.5, 0.5]), np.array([[0.5, 0], [0, 0.5]]), "ab", least=1e-9
    ... )
    (('a', 'b', 'opposite'),)
    """
    only = means[:, None] - both
    equal = np.maximum(only, only.T) < least
    opposite = (both < least) & (1 - means[:, None] - means + both < least)
    varies = (means > least) & (means < 1 - least)
    alike = np.triu((equal | opposite) & np.outer(varies, varies), 1)
    firsts: list[int] = list(np.argmax(alike, axis=0))  # the first column that each is like
    return tuple(
        (names[i], names[j], "equal" if equal[i, j] else "opposite")
        for j, i in enumerate(firsts)
        if alike[i, j]
    )


def warn_of_constants(names: Sequence[str], n_columns: int) -> None:
    """Say which columns never vary, and what was done about them."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    verb = "has" if len(names) == 1 else "have"
    warnings.warn(
        f"{len(names)} of {n_columns} columns {verb} one value only "
        f"({', '.join(names[:NAMED])}{more}). No bias is too far out for such a column, and the "
        "penalty is on couplings alone: it gets no couplings, and a bias as if half a row more "
        "were at each state. Leave it out if it means nothing",
        ConstantColumnWarning,
        stacklevel=3,
    )


def constant_bias(sample: Sample) -> NDArray[np.float64]:
    """Give the log odds of each column with half a row added to either state."""
    share = (sample.means * sample.total + 0.5) / (sample.total + 1)
    return np.log(share) - np.log1p(-share)


def blocks(rows: Any) -> list[slice]:
    """Cut rows into blocks of about BLOCK numbers."""
    size = max(1, BLOCK // max(rows.shape[1], 1))
    return [slice(start, start + size) for start in range(0, rows.shape[0], size)]
