"""Where the table of each clique lies in one flat array of cells."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations
from math import comb
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import (
    finite_number,
    flag,
    iterated,
    listed,
    of_kind,
    real_array,
)
from herder.data.variables import Variable

__all__ = [
    "CliqueLayout",
    "NoCliqueError",
    "all_cliques",
    "as_cliques",
    "check_tables",
    "n_cliques",
    "require_room",
    "single_counts",
]

#: More cells than this (2 GiB of float64) are refused; the error names the largest clique.
MAX_CELLS = 2**28


@dataclass(frozen=True, slots=True, eq=False)
class CliqueLayout:
    """Flat layout of clique tables, each in C order.

    Cell ``offsets[c] + sum_m strides[c, m] * x[members[c, m]]`` of the flat array is the
    configuration of clique ``c`` in the state ``x``; ``members`` is padded with -1 and
    ``strides`` with 0.
    """

    n_values: NDArray[np.intp]
    members: NDArray[np.intp]
    strides: NDArray[np.intp]
    offsets: NDArray[np.intp]

    @classmethod
    def of(
        cls, n_values: Sequence[int], cliques: Sequence[Sequence[int]], n_counts: int | None = None
    ) -> "CliqueLayout":
        """Lay out ``cliques`` over variables with the given alphabet sizes.

        ``n_counts`` is the number of cells that there must be in all.
        """
        sizes = np.asarray(n_values, dtype=np.intp)
        width = max((len(clique) for clique in cliques), default=1)
        members = np.full((len(cliques), width), -1, dtype=np.intp)
        lengths = np.fromiter((len(c) for c in cliques), dtype=np.intp, count=len(cliques))
        flat = np.fromiter(chain.from_iterable(cliques), dtype=np.intp, count=lengths.sum())
        if not lengths.all() or (flat < 0).any() or (flat >= len(sizes)).any():
            raise ParameterError("cliques", f"hold columns 0 to {len(sizes) - 1}", got="others")
        members[np.arange(width) < lengths[:, None]] = flat
        radix = np.where(members >= 0, sizes[members], 1)
        strides = np.ones_like(radix)
        for m in range(width - 2, -1, -1):
            strides[:, m] = strides[:, m + 1] * radix[:, m + 1]
        cells = strides[:, 0] * radix[:, 0]
        if cells.sum() > MAX_CELLS:
            largest = f"{tuple(cliques[int(np.argmax(cells))])} with {cells.max()}"
            got = f"{cells.sum()}; the largest is {largest}: bin, merge or drop its variables"
            raise ParameterError("cliques", f"have at most {MAX_CELLS} cells in all", got=got)
        offsets = np.concatenate([[0], np.cumsum(cells)]).astype(np.intp)
        if n_counts not in (None, offsets[-1]):
            raise ParameterError("counts", f"hold {offsets[-1]} cells, of all cliques", n_counts)
        return cls(sizes, members, np.where(members >= 0, strides, 0), offsets)

    @property
    def n_cliques(self) -> int:
        """Number of cliques."""
        return len(self.members)

    def shape(self, clique: int) -> tuple[int, ...]:
        """Return the shape of the table of one clique."""
        members = self.members[clique]
        return tuple(int(k) for k in self.n_values[members[members >= 0]])

    def cells(self, state: NDArray[np.integer]) -> NDArray[np.intp]:
        """Return the flat cell of every clique in ``state``: shape (n_cliques,)."""
        padded = np.where(self.members >= 0, state.astype(np.intp)[self.members], 0)
        return self.offsets[:-1] + (self.strides * padded).sum(axis=1)


@lru_cache(maxsize=4)  # 161,700 triples of 100 columns take longer to list than to count
def all_cliques(n_variables: int, order: int) -> tuple[tuple[int, ...], ...]:
    """Return every set of up to ``order`` variables: singles, then pairs, then triples.

    Examples
    --------
    >>> all_cliques(3, 2)
    ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
    """
    if n_cliques(n_variables, order) > MAX_CELLS:
        raise ParameterError("order", f"be smaller for {n_variables} columns", order)
    levels = (combinations(range(n_variables), k) for k in range(1, order + 1))
    return tuple(chain.from_iterable(levels))


def n_cliques(n_variables: int, order: int) -> int:
    """Count what `all_cliques` lists.

    Examples
    --------
    >>> n_cliques(100, 3)
    166750
    """
    return sum(comb(n_variables, k) for k in range(1, order + 1))


def as_cliques(
    cliques: Iterable[Iterable[int | str]], names: Sequence[str]
) -> tuple[tuple[int, ...], ...]:
    """Return cliques, given by index or name, as sorted tuples of indices, short ones first.

    Examples
    --------
    >>> as_cliques([["b", "a"], [1]], ["a", "b"])
    ((1,), (0, 1))
    """
    position = {name: i for i, name in enumerate(names)}
    found: set[tuple[int, ...]] = set()
    for clique in iterated(cliques, "cliques", "lists of columns"):
        if isinstance(clique, str) or not isinstance(clique, Iterable):
            rule = "be a list of lists of columns"
            raise ParameterTypeError("cliques", rule, got=f"{clique!r} in it")
        given = tuple(listed(clique, "cliques", "columns"))
        members = tuple(_member(member, position, len(names)) for member in given)
        if not members or len(set(members)) != len(members):
            raise ParameterError("cliques", "hold distinct columns, at least one", given)
        found.add(tuple(sorted(members)))
    if not found:
        raise ParameterError("cliques", "hold at least one clique", got="none")
    return tuple(sorted(found, key=lambda clique: (len(clique), clique)))


def _member(member: int | str, position: dict[str, int], width: int) -> int:
    try:
        place = position.get(member, -1) if isinstance(member, str) else index(member)
    except TypeError:
        raise ParameterTypeError("cliques", "name columns or their positions", member) from None
    if not 0 <= place < width:
        raise ParameterError("cliques", "name columns of the table", member)
    return place


class NoCliqueError(ParameterError, KeyError):
    """A group of columns whose joint counts are not known."""


def check_tables(moments: Any) -> dict[str, Any]:
    """Return counts and totals as arrays; the layout of the cliques is checked when it is made."""
    cliques = moments.cliques
    flag(moments.from_rows, "from_rows")
    of_kind(moments.conflicts, "conflicts", tuple, "a tuple of Contradiction")
    for variable in of_kind(moments.variables, "variables", tuple, "a tuple of Variable"):
        of_kind(variable, "variables", Variable, "a tuple of Variable")
    if not isinstance(cliques, tuple) or {*map(type, cliques)} != {tuple}:
        rule = "be a tuple of tuples of columns"
        raise ParameterTypeError("cliques", rule, got=type(cliques).__name__)
    found = {name: real_array(getattr(moments, name), name) for name in ("counts", "totals")}
    for name, values in found.items():
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ParameterError(name, "be a row of finite numbers", got=f"shape {values.shape}")
    if finite_number(moments.rounding, "rounding") < 0:
        raise ParameterError("rounding", "be at least 0", moments.rounding)
    if len(found["totals"]) != len(cliques) or (found["totals"] <= 0).any():
        raise ParameterError("totals", f"be {len(cliques)} positive numbers", found["totals"])
    return found


def single_counts(moments: Any, variable: int) -> NDArray[np.float64]:
    """Return how often each value of a variable occurs; nothing if it is in no clique."""
    clique = next((clique for clique in moments.cliques if variable in clique), None)
    if clique is None:
        return np.empty(0)
    others = tuple(axis for axis, i in enumerate(clique) if i != variable)
    return moments.table(clique).sum(axis=others)


def require_room(variables: Sequence[Variable], order: int, max_memory: int) -> None:
    """Raise an error that names the widest column if counts would exceed a memory limit."""
    n_values = np.array([variable.n_values for variable in variables], dtype=float)
    # power sums yield the elementary symmetric ones: the cells of all singles, pairs, triples
    p1, p2, p3 = n_values.sum(), (n_values**2).sum(), (n_values**3).sum()
    cells = [p1, (p1**2 - p2) / 2, (p1**3 - 3 * p1 * p2 + 2 * p3) / 6]
    # the tables, their sum with a new chunk, the weights and a copy of them
    needed = 4 * 8 * sum(cells[: min(order, len(variables))])
    if needed > max_memory:
        widest = variables[int(n_values.argmax())]
        rule = f"be at least {np.ceil(needed / 2**20):,.0f}M for these counts"
        remedy = f"leave out or bin {widest.name!r}, which has {widest.n_values} values"
        raise ParameterError("max_memory", rule, got=f"{max_memory / 2**20:,.0f}M: {remedy}")
