r"""Error of a thinned sample per column: means, spreads, quantiles, distributions.

Let a column have values :math:`x_i` of weight :math:`q_i` and let rows :math:`s_t` of weight
:math:`w_t` be chosen, both weights divided by their sums. Compared are

.. math:: \mu = \sum_i q_i x_i, \qquad \sigma^2 = \sum_i q_i (x_i - \mu)^2, \qquad
          F(x) = \sum_{i : x_i \le x} q_i, \qquad
          Q(p) = \tfrac{1}{2} \bigl( \min\{x : F(x) \ge p\} + \inf\{x : F(x) > p\} \bigr)

with the same of the chosen rows. This quantile is the middle of those values that qualify, takes
a weight of 2 as two rows, and mirrors with the data. Changes are in units of the column's
:math:`\sigma`, and the distance of two distributions as :math:`\sup_x |F(x) - F'(x)|`
(Kolmogorov), which is attained beside a chosen value.

The mean of a random subset of m of n rows, drawn without replacement, has a root mean squared
error of

.. math:: \sigma \sqrt{\frac{1}{m} \, \frac{n - m}{n - 1}}

whatever the column; with weights, rows drawn in proportion to them with replacement have one of
:math:`\sigma / \sqrt m`.

How many independent draws the chosen rows are worth follows from averages of functions f of a
column: m independent draws have a mean squared error of var(f) / m, so that errors e of the
chosen rows are those of

.. math:: \frac{1}{\operatorname{mean}(e^2 / \operatorname{var} f)}

draws. No subset is worth more than all n rows against what they were drawn from, so that more
than n is said as "at least all". The mean is over columns, with f = x for means,
:math:`(x - \mu)^2` for standard deviations, and over the levels p as well with
:math:`f = [x \le Q(p)]` for quantiles. Of a column of categories only the shares are compared, by
:math:`\sum e^2 / \sum \operatorname{var}(f)`.

Optimal weights may be negative: F' then falls here and there, Q' uses its running maximum, and
:math:`\sigma'` is zero where its square would be negative.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import positive_int, real_array
from herder.core.blas import one_blas_thread
from herder.core.summary import Summarised, Summary, Table, Text, counted, show
from herder.data.categories import Labels
from herder.kernel.distribution import (
    Distribution,
    average,
    mean_and_spread,
    relative_square,
)

__all__ = ["ColumnErrors", "compare_columns", "draws_text"]

#: Bytes of the columns that are read together.
BLOCK_BYTES = 64 * 2**20

#: What is averaged, as rows of `ColumnErrors.squares`.
AVERAGES = ("means", "standard deviations", "quantiles", "shares of categories")

#: Columns that the printed table shows.
N_SHOWN = 8


@dataclass(frozen=True, eq=False)
class ColumnErrors(Summarised):
    """Error of a thinned sample in each of d columns, in units of the column's spread.

    Parameters
    ----------
    names : tuple of str
        Of the columns.
    n_rows, n_select : int
        Rows before and after.
    quantiles : tuple of float
        Levels of the p quantiles, which are those of NumPy's method "averaged_inverted_cdf".
    mean_before, mean_after, sd_before, sd_after : ndarray of shape (d,)
        Means and standard deviations (divided by the weight, not by one less); NaN, as are
        quantiles, for a column of categories.
    quantiles_before, quantiles_after : ndarray of shape (p, d)
        Quantiles.
    distance : ndarray of shape (d,)
        Largest difference of the distribution functions, from 0 to 1; of the shares of a
        category.
    squares : ndarray of shape (4, d)
        Squared errors in variances of a row: of averages of the column, of its squared deviation
        from the mean, of the shares below its quantiles, and of the shares of its categories;
        NaN for what a column has not.
    random_change : float
        Change of a mean that a random subset of that size would have, root mean square.
    n_others : int
        Columns that were left out by `worst`.
    """

    names: tuple[str, ...]
    n_rows: int
    n_select: int
    quantiles: tuple[float, ...]
    mean_before: NDArray[np.float64]
    mean_after: NDArray[np.float64]
    sd_before: NDArray[np.float64]
    sd_after: NDArray[np.float64]
    quantiles_before: NDArray[np.float64]
    quantiles_after: NDArray[np.float64]
    distance: NDArray[np.float64]
    squares: NDArray[np.float64]
    random_change: float
    n_others: int = 0

    @property
    def mean_change(self) -> NDArray[np.float64]:
        """Changes of the means."""
        return self._relative(self.mean_after - self.mean_before)

    @property
    def sd_change(self) -> NDArray[np.float64]:
        """Changes of the standard deviations."""
        return self._relative(self.sd_after - self.sd_before)

    @property
    def quantile_change(self) -> NDArray[np.float64]:
        """Changes of the quantiles, of shape (p, d)."""
        return self._relative(self.quantiles_after - self.quantiles_before)

    @property
    def largest_change(self) -> NDArray[np.float64]:
        """Largest size of all changes of each column."""
        changes = np.vstack([self.mean_change, self.sd_change, self.quantile_change])
        return np.abs(changes).max(axis=0)

    def worst(self, n: int = 1) -> "ColumnErrors":
        """Return the n columns with the largest errors, worst first.

        They are ranked by the largest of all changes, of quantiles too, and the distance.
        """
        n = min(positive_int(n, "n"), len(self.names))
        severity = np.fmax(self.largest_change, self.distance)  # categories have no changes
        order = np.argsort(-severity, kind="stable")[:n]
        kept = {k: v[..., order] for k, v in vars(self).items() if isinstance(v, np.ndarray)}
        names = tuple(self.names[j] for j in order.tolist())
        return replace(self, names=names, n_others=self.n_others + len(self.names) - n, **kept)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return plain lists by heading, one entry per column, as JSON and frames take them."""
        columns: dict[str, list[Any]] = {"column": list(self.names)}

        def add(name: str, *values: NDArray[np.float64]) -> None:
            for when, numbers in zip(("before", "after", "change"), values, strict=True):
                columns[f"{name}_{when}"] = _plain(numbers)

        add("mean", self.mean_before, self.mean_after, self.mean_change)
        columns["mean_change_random"] = [self.random_change] * len(self.names)
        add("sd", self.sd_before, self.sd_after, self.sd_change)
        quantiles = self.quantiles_before, self.quantiles_after, self.quantile_change
        for level, *values in zip(self.quantiles, *quantiles, strict=True):
            add(f"q{100 * level:g}", *values)
        largest, distance = _plain(self.largest_change), self.distance.tolist()
        return columns | {"largest_change": largest, "distance": distance}

    def table(self, n: int) -> Table:
        """Return the errors of the n worst columns, in standard deviations of the column."""
        shown = self.worst(n)
        levels = [f"{100 * p:g}%" for p in self.quantiles]
        changes = shown.mean_change, shown.sd_change, shown.quantile_change
        cells = np.vstack([*changes, shown.distance]).T
        rows = [(name, *_plain(row)) for name, row in zip(shown.names, cells, strict=True)]
        specs = ("", *["+.3f"] * (2 + len(levels)), ".3f")
        return Table(("column", "mean", "sd", *levels, "distance"), rows, specs)

    def summary(self) -> Summary:
        """Return the columns with the largest errors, worst first."""
        texts = [self.others(N_SHOWN), self.comparison, self.worth]
        return Summary(
            f"{self.n_select:,} of {self.n_rows:,} rows: error per column in its standard "
            "deviations; distance of the distributions, 0 to 1",
            [self.table(N_SHOWN), *(Text(text) for text in texts if text)],
        )

    def others(self, n: int) -> str:
        """Return how many columns a table of the n worst leaves out, in words."""
        left = len(self.names) - n
        return f"and {counted(left, 'more column')} with smaller errors" if left > 0 else ""

    @property
    def comparison(self) -> str:
        """The largest error of a mean beside that of a random subset, in words."""
        changes = np.abs(self.mean_change)
        if np.isnan(changes).all():
            return f"error of the share of a category: at most {self.distance.max():.3g}"
        largest = show(float(np.nanmax(changes)), ".3g")
        return (
            f"error of a mean: at most {largest} standard deviations; a random subset of that "
            f"size has ±{self.random_change:.3g} in a typical column"
        )

    @property
    def independent_draws(self) -> dict[str, float]:
        """Number of independent draws with the same mean squared errors, by what is averaged.

        Errors are those against all rows, which have an error of their own: more than ``n_rows``
        means no loss beside them.
        """
        found = {}
        for name, squares in zip(AVERAGES, self.squares, strict=True):
            if not np.isnan(squares).all():
                mean = float(np.nanmean(squares))
                found[name] = 1 / mean if mean else math.inf
        return found

    @property
    def worth(self) -> str:
        """The `independent_draws` in words; empty if all columns are constant."""
        parts = [
            f"{draws_text(draws, self.n_rows)} for {name}"
            for name, draws in self.independent_draws.items()
        ]
        beside = f"compared with all {counted(self.n_rows, 'row')}"
        return f"worth in independent draws, {beside}: {', '.join(parts)}" if parts else ""

    def _relative(self, change: NDArray[np.float64]) -> NDArray[np.float64]:
        """Divide by the spread; a constant column with the same value has no change."""
        still = change == 0
        with np.errstate(divide="ignore"):
            return np.where(still, 0.0, change / np.where(still, 1.0, self.sd_before))


@one_blas_thread()
def compare_columns(
    values: NDArray[np.floating],
    indices: ArrayLike,
    weights: ArrayLike | None = None,
    sample_weight: NDArray[np.float64] | None = None,
    names: Sequence[str] | None = None,
    quantiles: Sequence[float] = (0.025, 0.25, 0.5, 0.75, 0.975),
    labels: Labels = (),
) -> ColumnErrors:
    """Compare the columns of a table with those of chosen rows.

    Parameters
    ----------
    values : ndarray of shape (n, d)
        The table; it may be memory-mapped, and is read a few columns at a time.
    indices : array-like of int
        The chosen rows; a row may come twice.
    weights : array-like, optional
        Of the chosen rows, equal by default. They are divided by their sum.
    sample_weight : ndarray of shape (n,), optional
        Of all rows, equal by default.
    names : sequence of str, optional
        Of the columns; x0, x1, ... by default.
    quantiles : sequence of float
        Levels strictly between 0 and 1.
    labels : tuple, optional
        Categories of each column, whose indicators the values hold, or None for numbers; by
        default all are numbers.

    Examples
    --------
    >>> import numpy as np
    >>> compare_columns(np.arange(5.0)[:, None], [0, 4]).sd_after
    array([2.])
    """
    n, d = values.shape
    chosen = np.asarray(indices, dtype=np.intp)
    levels = real_array(quantiles, "quantiles")
    if not chosen.size:
        raise ParameterError("indices", "hold at least one row", got="none")
    if not ((levels > 0) & (levels < 1)).all():
        raise ParameterError("quantiles", "lie strictly between 0 and 1", list(quantiles))
    after = _share(np.ones(len(chosen)) if weights is None else weights, "weights")
    before = None if sample_weight is None else _share(sample_weight, "sample_weight")
    # Mean, standard deviation and quantiles of each column, before and after.
    owner, d = _owners(labels, d)
    found, distance = np.full((2, 2 + len(levels), d), np.nan), np.zeros(d)
    squares, total = np.full((4, d), np.nan), np.zeros((2, d))
    for j, column in ((owner[place], column) for place, column in _columns(values)):
        picked = column[chosen]
        if labels and labels[j] is not None:
            share, change = average(column, before), average(picked, after)
            change -= share
            distance[j] = max(distance[j], abs(change))
            total[:, j] += change**2, share * (1 - share)
            continue
        whole, part = Distribution(column, before), Distribution(picked, after)
        found[0, :, j] = *mean_and_spread(column, before), *whole.quantiles(levels)
        found[1, :, j] = *mean_and_spread(picked, after), *part.quantiles(levels)
        distance[j] = whole.distance(part)
        mean, sd = found[0, :2, j]
        if sd > 0:
            apart, near = np.square((column - mean) / sd), np.square((picked - mean) / sd)
            squares[0, j] = ((found[1, 0, j] - mean) / sd) ** 2
            squares[1, j] = relative_square(apart, near, before, after)
            squares[2, j] = whole.squared_error(part, found[0, 2:, j])
    np.divide(*total, out=squares[3], where=total[1] > 0)
    (mean_before, mean_after), (sd_before, sd_after) = found[:, 0], found[:, 1]
    m = len(chosen)
    # Without replacement more than n rows cannot be drawn; then, and with weights, with it.
    left = (n - m) / (n - 1) if before is None and m <= n and n > 1 else 1.0
    return ColumnErrors(
        names=tuple(f"x{j}" for j in range(d)) if names is None else tuple(names),
        n_rows=n,
        n_select=m,
        quantiles=tuple(levels.tolist()),
        mean_before=mean_before,
        mean_after=mean_after,
        sd_before=sd_before,
        sd_after=sd_after,
        quantiles_before=found[0, 2:],
        quantiles_after=found[1, 2:],
        random_change=math.sqrt(left / m) if n > 1 else 0.0,
        distance=distance,
        squares=squares,
    )


def draws_text(draws: float, n_rows: int) -> str:
    """Return a number of draws with three digits; never more than there are rows."""
    return f"at least all {n_rows:,}" if draws >= n_rows else f"{float(f'{draws:.3g}'):,.0f}"


def _plain(values: NDArray[np.float64]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]


def _owners(labels: Labels, width: int) -> tuple[list[int], int]:
    """Return the column that each column of the values belongs to, and how many there are."""
    widths = [1 if own is None else len(own) for own in labels] or [1] * width
    return [j for j, own in enumerate(widths) for _ in range(own)], len(widths)


def _share(weights: ArrayLike, name: str) -> NDArray[np.float64]:
    given = real_array(weights, name)
    total = given.sum()
    if not 0 < total < np.inf:
        raise ParameterError(name, "have a positive finite sum", total)
    return given / total


def _columns(values: NDArray[np.floating]) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield float64 columns one by one, read from the table several at a time."""
    n, d = values.shape
    width = max(1, BLOCK_BYTES // (8 * n))
    for start in range(0, d, width):
        block = np.array(values[:, start : start + width].T, dtype=np.float64, order="C")
        for k, column in enumerate(block):
            yield start + k, column
