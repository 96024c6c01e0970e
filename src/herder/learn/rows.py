"""Equal rows of binary states merged, and constant or duplicate columns."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import row_weights
from herder.core.summary import listed
from herder.data.states import blocks

__all__ = [
    "ConstantColumnWarning",
    "DistinctRows",
    "constant_bias",
    "count_rows",
    "effective_rows",
    "find_duplicate_columns",
    "merge_rows",
    "warn_of_constants",
]

#: Columns that a warning names.
NAMED = 5

#: Rows that a float can count one by one.
MOST_ROWS = 2.0**53


class ConstantColumnWarning(UserWarning):
    """A column has one value only, so that nothing can be learnt about it."""


@dataclass(frozen=True, eq=False)
class DistinctRows:
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

    def columns(self, chosen: NDArray[Any]) -> "DistinctRows":
        """Return the sample of some columns."""
        if chosen.all():
            return self
        return DistinctRows(np.ascontiguousarray(self.rows[:, chosen]), self.weights, self.total)


def count_rows(sample_weight: object, n_rows: int) -> NDArray[np.float64]:
    """Return how often each row counts."""
    counts = row_weights(sample_weight, n_rows)
    if counts.sum() > MOST_ROWS:
        rule = f"have a sum of at most {MOST_ROWS:g}, to which a row more can be added"
        raise ParameterError("sample_weight", rule, got=f"{counts.sum():g}: divide by a constant")
    return counts


def merge_rows(codes: NDArray[np.uint8], sample_weight: object = None) -> DistinctRows:
    """Merge equal rows, and leave out rows of weight zero."""
    counts = count_rows(sample_weight, len(codes))
    if sample_weight is not None and not counts.all():
        codes, counts = codes[counts > 0], counts[counts > 0]
        if not len(codes):
            raise ParameterError("sample_weight", "have a number above zero", got="zeros only")
    total = effective_rows(counts)
    packed = np.packbits(codes, axis=1)
    words = np.zeros((len(codes), -(-packed.shape[1] // 8)), np.uint64)
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    # Equal rows have equal keys and are sorted together. Unequal rows of one key would at worst
    # separate some equal ones, which costs time and changes nothing.
    order = np.argsort(_keys(words), kind="stable")
    words = words[order]
    is_new = np.ones(len(words), bool)
    is_new[1:] = (words[1:] != words[:-1]).any(axis=1)
    firsts = np.flatnonzero(is_new)
    weights = np.add.reduceat(counts[order], firsts) / counts.sum()
    return DistinctRows(np.ascontiguousarray(codes[order[firsts]]), weights, total)


def effective_rows(counts: NDArray[np.float64]) -> float:
    """Return the number of rows that weights amount to.

    Whole weights are counts. Others are relative, as those that sum to 1 are; then it is Kish's
    effective sample size, that of equal weights with the same variance of a mean.
    """
    if (counts == np.floor(counts)).all():
        return float(counts.sum())
    # times a power of two, which changes no digit and keeps squares from overflow and zero
    scaled = np.ldexp(counts, -np.frexp(counts.max())[1])
    return float(scaled.sum() ** 2 / (scaled**2).sum())


def _keys(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return one number for each line of words, different ones for almost all lines."""
    key = words[:, 0].copy()
    for column in words.T[1:]:
        key = (key ^ (key >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15) + column
    return key


def find_duplicate_columns(
    means: NDArray[np.float64], both: NDArray[np.float64], names: Sequence[str], *, least: float
) -> tuple[tuple[str, str, str], ...]:
    """Return pairs of columns that are equal, or opposite, in all rows.

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
    """Warn which columns never vary, and what was done about them."""
    verb = "has" if len(names) == 1 else "have"
    warnings.warn(
        f"{len(names)} of {n_columns} columns {verb} one value only ({listed(names, NAMED)}). No "
        "bias is too large for such a column, and the penalty is on couplings alone: it gets no "
        "couplings, and a bias as if half a row more were at each state. Leave it out if it has "
        "no meaning",
        ConstantColumnWarning,
        stacklevel=3,
    )


def constant_bias(sample: DistinctRows) -> NDArray[np.float64]:
    """Return the log odds of each column with half a row added to either state."""
    share = (sample.means * sample.total + 0.5) / (sample.total + 1)
    return np.log(share) - np.log1p(-share)
