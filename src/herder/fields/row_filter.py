"""Conditions on rows: those that meet them are kept, those that no row can meet are refused."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import listed
from herder.data.intervals import Interval
from herder.data.variables import Variable
from herder.models.conditional import column_codes
from herder.models.moments import Moments
from herder.models.plain_text import shown

__all__ = ["RowFilter"]

#: Herded rows without one that meets a condition before the search is given up.
MAX_FRUITLESS = 1_000_000


def _described(variable: Variable, code: int) -> str:
    """Return a condition in words: the bin, unless it holds a single value."""
    value = variable.values[code]
    if isinstance(value, Interval) and value.high > value.low + 1:
        return f"{variable.name} in {value}"
    return f"{variable.name}={shown(value)}"


class RowFilter:
    """Columns that must have given values.

    Parameters
    ----------
    moments : Moments
        What the rows match; a condition that one of its tables excludes is refused at once.
    where : mapping of column to label, or sequence of such pairs
        Columns by name and values by label; a number or date in a binned column stands for
        its bin.
    """

    def __init__(
        self, moments: Moments, where: Mapping[str, Any] | Sequence[tuple[str, Any]]
    ) -> None:
        pairs = list(where.items()) if isinstance(where, Mapping) else where
        pairs = listed(pairs, "where", "pairs of column and value")
        if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            rule = "be a mapping of column to value, or pairs of them"
            raise ParameterTypeError("where", rule, got=type(where).__name__)
        self._wanted = column_codes(moments, pairs)
        self.text = " and ".join(
            _described(moments.variables[column], code) for column, code in self._wanted.items()
        )
        self._fruitless = self._found = 0
        for clique in moments.cliques:
            if not set(clique) <= set(self._wanted):
                continue
            if moments.table(clique)[tuple(self._wanted[i] for i in clique)] <= 0:
                names = ", ".join(moments.names[i] for i in clique)
                got = f"{self.text}, which the counts of {names} exclude"
                raise ParameterError("where", "be met by some rows", got=got)

    def __bool__(self) -> bool:
        """Return whether there are any conditions."""
        return bool(self._wanted)

    def select(self, codes: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the rows that meet the condition; raise an error if there were none for long."""
        keep = np.ones(len(codes), dtype=bool)
        for column, code in self._wanted.items():
            keep &= codes[:, column] == code
        matching = codes[keep]
        self._found += len(matching)
        self._fruitless = 0 if len(matching) else self._fruitless + len(codes)
        if self._fruitless > MAX_FRUITLESS:
            met = (
                f"{self._found} rows met at first and none of the last {self._fruitless:,} herded"
            )
            raise ParameterError("where", "be met by some rows", got=f"{self.text}, which {met}")
        return matching
