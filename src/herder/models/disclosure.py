r"""Disclosure control of counts before they are published: small cells, merging, rounding.

- The **threshold rule** of statistical offices: a cell that is not zero must count at least
  K rows (`small_cells`).
- **Recoding** makes cells larger: categories are merged until the rule holds (`merge_small`).
  Cells of a merged category add up, so the counts stay exactly those of a table, one with fewer
  categories.
- **Rounding** of each count by itself to the nearest multiple of B (`rounded`). Counts then do not
  add up to each other; each is off by at most B / 2, and contradictions within that are none
  (`herder.models.consistency`). *Controlled* rounding, which keeps sums, is something else.

None of these is a guarantee such as differential privacy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import positive_number
from herder.data.intervals import as_bins, joined
from herder.data.variables import Codes, Variable, alphabet
from herder.models.plain_text import shown

if TYPE_CHECKING:
    from herder.models.moments import Moments

    M = TypeVar("M", bound=Moments)

__all__ = [
    "merge_categories",
    "merge_small",
    "numbering",
    "rounded",
    "small_cells",
]

#: A column, values of it that were merged, and what they are now.
Merged: TypeAlias = tuple[str, list[Hashable], Hashable]

#: The category that rare ones are merged into, of columns without an order.
OTHER = "other"


def small_cells(moments: Moments, min_count: float) -> list[tuple[dict[str, Hashable], float]]:
    """List the cells that are not zero and count fewer rows than ``min_count``, smallest first.

    Parameters
    ----------
    min_count : float
        The threshold.

    Returns
    -------
    list of (dict, float)
        The value of each column of the cell, and its count.

    Examples
    --------
    >>> from herder import Moments
    >>> Moments.from_data([[0, 1], [1, 1], [0, 0], [1, 1]]).small_cells(2)
    [({'x1': 0}, 1.0), ({'x0': 0, 'x1': 0}, 1.0), ({'x0': 0, 'x1': 1}, 1.0)]
    """
    at = np.flatnonzero(_is_small(moments.counts, positive_number(min_count, "min_count")))
    at = at[np.argsort(moments.counts[at], kind="stable")]
    layout = moments.layout
    found: list[tuple[dict[str, Hashable], float]] = []
    for cell, c in zip(at, np.searchsorted(layout.offsets, at, side="right") - 1, strict=True):
        codes = np.unravel_index(int(cell - layout.offsets[c]), layout.shape(int(c)))
        columns = [moments.variables[i] for i in moments.cliques[c]]
        values = {v.name: v.values[code] for v, code in zip(columns, codes, strict=True)}
        found.append((values, float(moments.counts[cell])))
    return found


def merge_small(moments: M, min_count: float) -> M:
    """Return the counts with categories merged until no cell is below ``min_count`` but zeros.

    The smallest cell comes first, and in it the rarest of its categories: it joins the category
    "other", or, in a column of numbers, the rarer of its two neighbours. Columns keep at least two
    categories. There is no randomness, and ties go to the first.

    Parameters
    ----------
    min_count : float
        The threshold.

    Examples
    --------
    >>> from herder import Moments
    >>> towns = ["a"] * 5 + ["b"] * 3 + ["c"] + ["d"]
    >>> merged = Moments.from_data({"town": towns}).merge_small(2)
    >>> merged.variables[0].values, merged.counts
    (('a', 'b', 'other'), array([5., 3., 2.]))
    """
    return merge_categories(moments, min_count)[0]


def merge_categories(moments: M, min_count: float) -> tuple[M, list[Merged]]:
    """Do what `merge_small` does; return also the column, the values and the new one of each."""
    columns = [_Column(variable) for variable in moments.variables]
    tables = _Tables(moments, columns, positive_number(min_count, "min_count"))
    while tables.merge_next():
        pass
    order = [column.order() for column in columns]
    counts = [
        table[np.ix_(*(order[i] for i in clique))].ravel()
        for clique, table in zip(moments.cliques, tables.tables, strict=True)
    ]
    sizes = [max(map(len, column.members)) for column in columns]
    n_cells = max(math.prod(sizes[i] for i in clique) for clique in moments.cliques)
    merged = replace(
        moments,
        variables=tuple(map(_Column.variable, columns)),
        counts=np.concatenate(counts),
        rounding=moments.rounding * n_cells,
        conflicts=(),
    )
    return merged, [found for column in columns for found in column.merged()]


def rounded(moments: M, base: float) -> M:
    """Return the counts, and the totals, rounded to the nearest multiples of ``base``.

    Ties go to the even multiple. The result knows its ``rounding``, as does a file of it.

    Parameters
    ----------
    base : float
        What all counts will be multiples of.

    Examples
    --------
    >>> from herder import Moments
    >>> Moments.from_data({"a": [0] * 12 + [1] * 2}).rounded(5).counts
    array([10.,  0.])
    """
    base = positive_number(base, "base")
    low, high = float(moments.totals.min()), float(moments.totals.max())
    if not high / 2**53 <= base < 2 * low:  # multiples that float64 distinguishes
        rule = f"be below twice the total {low:g}, and not below {high:g} / 2**53"
        raise ParameterError("base", rule, base)
    totals = np.rint(moments.totals / base) * base
    return replace(
        moments,
        counts=np.rint(moments.counts / base) * base,
        totals=totals,
        from_rows=False,
        rounding=moments.rounding + base,
        conflicts=(),
    )


def numbering(codes: Codes) -> tuple[str, ...]:
    """Return the binned columns of whole numbers of which no two rows have the same."""
    whole = {j: np.dtype(codes.variables[j].dtype).kind in "iu" for j in codes.numbers}
    return tuple(
        codes.variables[j].name
        for j, values in codes.numbers.items()
        if whole[j] and len(np.unique(values)) == len(values)
    )


def _is_small(counts: NDArray[np.float64], min_count: float) -> NDArray[np.bool_]:
    return (counts != 0) & (counts < min_count)


class _Column:
    """The categories of a column, and which ones they were before."""

    def __init__(self, variable: Variable) -> None:
        self.before = variable
        self.values = list(variable.values)
        self.members = [[value] for value in variable.values]
        numbers = [value for value in variable.values if value is not None]
        last = None not in self.values[:-1]
        self.is_ordered = variable.edges is not None or (last and _ascending(numbers))

    def partner(self, code: int, weights: NDArray[np.float64]) -> int | None:
        """Return the category that one is to be merged with, if there is one."""
        if len(self.values) < 3:
            return None
        near = range(len(self.values))
        if self.is_ordered:
            near = () if self.values[code] is None else (code - 1, code + 1)
        elif OTHER in self.values and self.values[code] != OTHER:
            near = (self.values.index(OTHER),)
        known = [g for g in near if 0 <= g < len(self.values) and self.values[g] is not None]
        return min((g for g in known if g != code), key=lambda g: weights[g], default=None)

    def merge(self, low: int, high: int) -> None:
        """Merge two categories into the place of the first."""
        self.values[low] = joined(self.values, low, high) if self.is_ordered else OTHER
        self.members[low] += self.members.pop(high)
        del self.values[high]

    def order(self) -> list[int]:
        """Return the categories in the order of the alphabet."""
        if self.is_ordered or len(self.values) == len(self.before.values):
            return list(range(len(self.values)))
        present = alphabet({value for value in self.values if value is not None})
        missing = [None] if None in self.values else []
        return [self.values.index(value) for value in [*present, *missing]]

    def variable(self) -> Variable:
        """Return the column with its categories."""
        if len(self.values) == len(self.before.values):
            return self.before
        values = tuple(self.values[g] for g in self.order())
        if self.is_ordered:
            bins = as_bins([value for value in values if value is not None], self.before.name)
            missing = None in values
            return Variable.binned(self.before.name, bins, self.before.dtype, missing=missing)
        text = all(isinstance(value, str) for value in self.before.values)
        return replace(self.before, values=values, dtype=self.before.dtype if text else "object")

    def merged(self) -> Iterator[Merged]:
        """Yield the categories that were merged."""
        for value, members in zip(self.values, self.members, strict=True):
            if len(members) > 1:
                yield self.before.name, members, value


class _Tables:
    """Tables of counts, the smallest cell of each, and merging in all of them at once."""

    def __init__(self, moments: Moments, columns: Sequence[_Column], min_count: float) -> None:
        self.columns, self.min_count = columns, min_count
        self.cliques = moments.cliques
        self.tables = [moments.table(clique) for clique in moments.cliques]
        self.holding: list[list[int]] = [[] for _ in columns]
        for c, clique in enumerate(moments.cliques):
            for i in clique:
                self.holding[i].append(c)
        self.least = np.array([self._least(c) for c in range(len(self.tables))])

    def merge_next(self) -> bool:
        """Merge a category of the smallest cell; return whether there was such a cell."""
        c = int(np.argmin(self.least))
        if self.least[c] == np.inf:
            return False
        table, clique = self.tables[c], self.cliques[c]
        small = np.where(_is_small(table, self.min_count), table, np.inf)
        cell = [int(code) for code in np.unravel_index(int(small.argmin()), table.shape)]
        ways: list[tuple[float, int, int, int]] = []
        for slot, (i, code) in enumerate(zip(clique, cell, strict=True)):
            weights = self._weights(i)
            partner = self.columns[i].partner(code, weights)
            if partner is not None:
                ways.append((float(weights[code]), slot, code, partner))
        if not ways:
            named = zip((self.columns[i] for i in clique), cell, strict=True)
            event = ", ".join(
                f"{col.before.name} = {shown(col.values[code])}" for col, code in named
            )
            rule = "be met by merging categories, of which each column keeps at least two"
            got = f"a cell of {self.least[c]:g} for {event} in the end"
            remedy = "leave out a column, count a lower order, or round the counts"
            raise ParameterError("min_count", rule, got=f"{got}: {remedy}")
        _, slot, code, partner = min(ways)
        self._merge(clique[slot], *sorted((code, partner)))
        return True

    def _merge(self, i: int, low: int, high: int) -> None:
        self.columns[i].merge(low, high)
        for c in self.holding[i]:
            axis = self.cliques[c].index(i)
            table = np.moveaxis(self.tables[c], axis, 0)
            whole = np.delete(table, high, axis=0)
            whole[low] += table[high]
            self.tables[c] = np.moveaxis(whole, 0, axis)
            self.least[c] = self._least(c)

    def _least(self, c: int) -> float:
        table = self.tables[c]
        return float(table.min(where=_is_small(table, self.min_count), initial=np.inf))

    def _weights(self, i: int) -> NDArray[np.float64]:
        """Return how many rows each category of a column has."""
        c = self.holding[i][0]
        others = tuple(axis for axis, j in enumerate(self.cliques[c]) if j != i)
        return self.tables[c].sum(axis=others)


def _ascending(labels: Sequence[Any]) -> bool:
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in labels)
    return numbers and all(a < b for a, b in itertools.pairwise(labels))
