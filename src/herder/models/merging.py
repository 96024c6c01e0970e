"""Adding up moments of parts of a table whose alphabets may differ."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.data.variables import Variable, unite
from herder.models.layout import CliqueLayout, single_counts

if TYPE_CHECKING:
    from herder.models.moments import Moments

    M = TypeVar("M", bound=Moments)

__all__ = ["add", "growing"]


def add(whole: M, part: Moments) -> M:
    """Return the moments of two parts together; alphabets become those of all their rows."""
    if part.names != whole.names:
        raise ParameterError("parts", f"have the columns {whole.names}", part.names)
    if part.cliques != whole.cliques:
        sizes = [f"{len(m.cliques)} up to order {m.order}" for m in (whole, part)]
        raise ParameterError("parts", "have the same cliques", got=" and ".join(sizes))
    both = zip(whole.variables, part.variables, strict=True)
    united = tuple(
        a if a == b else unite(a, b, _seen(whole, i) | _seen(part, i))
        for i, (a, b) in enumerate(both)
    )
    return replace(
        whole,
        variables=united,
        counts=_over(whole, united) + _over(part, united),
        totals=whole.totals + part.totals,
        from_rows=whole.from_rows and part.from_rows,
        conflicts=(),
        rounding=whole.rounding + part.rounding,
        numbering=tuple(name for name in whole.numbering if name in part.numbering),
    )


def _seen(moments: Moments, variable: int) -> set[Hashable]:
    """Return the labels of a variable that occur; all of them if it is in no clique."""
    values, counts = moments.variables[variable].values, single_counts(moments, variable)
    if not len(counts):
        return set(values)
    return {label for label, count in zip(values, counts, strict=True) if count > 0}


def _over(moments: Moments, variables: tuple[Variable, ...]) -> NDArray[np.float64]:
    """Return the counts over other alphabets; labels that are lost do not occur."""
    if [v.values for v in moments.variables] == [v.values for v in variables]:
        return moments.counts
    moved = [_codes(old, new) for old, new in zip(moments.variables, variables, strict=True)]
    layout = CliqueLayout.of([variable.n_values for variable in variables], moments.cliques)
    counts = np.zeros(layout.offsets[-1])
    for c, clique in enumerate(moments.cliques):
        table = counts[layout.offsets[c] : layout.offsets[c + 1]].reshape(layout.shape(c))
        here = np.ix_(*(moved[i][0] for i in clique))
        there = np.ix_(*(moved[i][1] for i in clique))
        table[there] = moments.table(clique)[here]
    return counts


def _codes(old: Variable, new: Variable) -> tuple[list[int], list[int]]:
    """Return the codes of the labels that both have, in the one and in the other."""
    if new.edges is not None:  # bins are known by their edges, not by their means
        shared = list(range(len(new.edges) + 1))
        if None in old.values and None in new.values:
            shared.append(len(shared))
        return shared, shared
    position = {label: code for code, label in enumerate(new.values)}
    pairs = [(code, position[v]) for code, v in enumerate(old.values) if v in position]
    return [code for code, _ in pairs], [code for _, code in pairs]


def growing(variable: Variable, missing: str) -> Variable | None:
    """Return the bins of a column, which later parts must keep; missing may be added."""
    if variable.edges is None:
        return None
    if missing == "category" and None not in variable.values:
        return replace(variable, values=(*variable.values, None))
    return variable
