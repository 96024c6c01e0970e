"""Moments among the rows in which some columns have known values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import mapping
from herder.data.variables import Variable

if TYPE_CHECKING:
    from herder.models.moments import Moments

__all__ = ["column_codes", "conditional_tables"]


def column_codes(moments: Moments, where: Iterable[tuple[str, Hashable]]) -> dict[int, int]:
    """Return the columns of some conditions, by position, with the codes of their values."""
    found: dict[int, int] = {}
    for name, label in where:
        if not isinstance(name, str) or name not in moments.names:
            raise ParameterError("where", f"name columns of {list(moments.names)}", name)
        column = moments.names.index(name)
        code = moments.variables[column].code(label)
        if found.setdefault(column, code) != code:
            raise ParameterError("where", "give a column one value", got=f"two for {name!r}")
    return found


def conditional_tables(
    moments: Moments, where: Mapping[str, Hashable]
) -> tuple[tuple[Variable, ...], dict[tuple[int, ...], NDArray[np.float64]]]:
    """Return the columns that are left, and the counts of their cliques given the others.

    Parameters
    ----------
    moments : Moments
        Counts of all rows.
    where : mapping of column name to label
        The conditions.
    """
    fixed = column_codes(moments, mapping(where, "where", "column to value").items())
    if not fixed or len(fixed) == moments.n_variables:
        raise ParameterError("where", f"fix some of the {moments.n_variables} columns", len(fixed))
    tables: dict[tuple[int, ...], NDArray[np.float64]] = {}
    for clique in moments.cliques:
        rest = tuple(i for i in clique if i not in fixed)
        if rest and len(rest) + len(fixed) == len(clique):
            at = tuple(fixed.get(i, slice(None)) for i in clique)
            tables[rest] = moments.table(clique)[at]
    if not tables:
        rule = f"leave columns that share a clique with all of {list(where)}"
        got = f"moments of order {moments.order}: count a higher order"
        raise ParameterError("where", rule, got=got)
    if not all(table.sum() > 0 for table in tables.values()):
        raise ParameterError("where", "have a positive count", got=f"none for {dict(where)}")
    left = sorted({i for rest in tables for i in rest})
    place = {i: new for new, i in enumerate(left)}
    moved = {tuple(place[i] for i in rest): table for rest, table in tables.items()}
    return tuple(moments.variables[i] for i in left), moved
