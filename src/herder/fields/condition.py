"""Conditions on rows: those that meet them are kept, those that no row can meet are refused."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.models.moments import Moments

__all__ = ["Condition"]

#: Herded rows in a row that do not meet a condition before it is given up.
MAX_FRUITLESS = 1_000_000


class Condition:
    """Columns that must have given values.

    Parameters
    ----------
    moments : Moments
        What the rows match; a condition that one of its tables excludes is refused at once.
    wanted : sequence of (int, int)
        Columns and the codes they must have.
    """

    def __init__(self, moments: Moments, wanted: Sequence[tuple[int, int]]) -> None:
        self._wanted = dict(wanted)
        for column, code in wanted:
            if self._wanted[column] != code:
                name = moments.names[column]
                raise ParameterError("where", "give a column one value", got=f"two for {name!r}")
        self._text = ", ".join(
            f"{moments.names[column]}={moments.variables[column].values[code]}"
            for column, code in self._wanted.items()
        )
        self._fruitless = 0
        self._found = 0
        for clique in moments.cliques:
            if not set(clique) <= set(self._wanted):
                continue
            if moments.table(clique)[tuple(self._wanted[i] for i in clique)] <= 0:
                names = ", ".join(moments.names[i] for i in clique)
                raise ParameterError(
                    "where",
                    "be met by some rows",
                    got=f"{self._text}, which the counts of {names} exclude",
                )

    @classmethod
    def of(cls, moments: Moments, where: Mapping[str, Any]) -> Self:
        """Take columns by name and values by label."""
        wanted = []
        for name, label in where.items():
            if name not in moments.names:
                raise ParameterError("where", f"name columns {list(moments.names)}", name)
            column = moments.names.index(name)
            wanted.append((column, moments.variables[column].code(label)))
        return cls(moments, wanted)

    def select(self, codes: NDArray[np.integer]) -> NDArray[np.integer]:
        """Give the rows that meet the condition; raise when they have stopped coming."""
        keep = np.ones(len(codes), dtype=bool)
        for column, code in self._wanted.items():
            keep &= codes[:, column] == code
        matching = codes[keep]
        self._found += len(matching)
        self._fruitless = 0 if len(matching) else self._fruitless + len(codes)
        if self._fruitless > MAX_FRUITLESS:
            raise ParameterError(
                "where",
                "be met by some rows",
                got=f"{self._text}, which {self._found} rows met at first and none of the "
                f"last {self._fruitless:,} herded",
            )
        return matching
