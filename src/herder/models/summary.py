"""What summaries say of moments: what is counted, what it leaves free, what may identify a row."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import TYPE_CHECKING

from herder.core.summary import Block, Fact, Facts, Section, Summary, Table, Text, counted, listed
from herder.data.binning import MAX_LABELS
from herder.data.variables import Variable
from herder.models.layout import single_counts

if TYPE_CHECKING:
    from herder.models.moments import Moments

__all__ = [
    "bin_facts",
    "free_groups",
    "identifying",
    "log_identifying",
    "moments_summary",
    "moments_title",
]

_log = logging.getLogger("herder")

#: Contradictions, and groups of columns that are free, that are shown.
N_SHOWN = 10

#: So many values may occur once without being said to.
FEW_ONCE = 10


def moments_title(moments: Moments) -> str:
    """Return what is counted, of what."""
    sizes = [len(clique) for clique in moments.cliques]
    words = {1: "single column", 2: "pair", 3: "triple"}
    kinds = ", ".join(
        counted(sizes.count(size), words.get(size, f"{size}-column group"))
        for size in sorted(set(sizes))
    )
    total = moments.common_total
    rows = "rows" if total is None else counted(total, "row")
    behind = f"counted from {rows}" if moments.from_rows else "as given"
    tables = f"{counted(len(moments.cliques), 'table')} of counts"
    return f"{tables} ({kinds}) of {counted(moments.n_variables, 'column')}, {behind}"


def moments_summary(moments: Moments) -> Summary:
    """Return what is counted, and whether the counts contradict each other."""
    found = moments.contradictions()
    reason = " (they come from rows)" if moments.from_rows else ""
    blocks: list[Block] = [Text(f"contradictions: none{reason}")]
    if found:
        note = Text(f"contradictions: {len(found):,}, the worst first", "warning")
        rows = [(one.kind, one.size, one.message) for one in found[:N_SHOWN]]
        table = Table(("kind", "off by", "contradiction"), rows, ("", ".3g", ""))
        blocks = [note, table]
    if moments.rounding:
        within = "differences within the rounding are no contradictions"
        blocks.append(Text(f"counts are multiples of {moments.rounding:g}: {within}"))
    positive = moments.counts[moments.counts > 0]
    if moments.common_total is not None and len(positive):  # by which single rows may be known
        least = float(positive.min())
        cells = counted(int((positive == least).sum()), "cell")
        blocks.append(Text(f"smallest count above zero: {least:g}, in {cells}"))
    blocks += [Text(line) for line in free_groups(moments)]
    blocks += [Text(warning, "warning") for warning in identifying(moments)]
    if facts := bin_facts(moments.variables):
        blocks.insert(0, Facts(facts))
    return Summary(moments_title(moments), blocks, bin_sections(moments.variables))


def free_groups(moments: Moments) -> Iterator[str]:
    """Yield which pairs, triples and so on are in no table, so that nothing is asked of them.

    Examples
    --------
    >>> from herder import Moments
    >>> chain = Moments.from_data([[0, 1, 1], [1, 1, 0]], cliques=[[0, 1], [1, 2]])
    >>> list(free_groups(chain))
    ['not listed, and therefore free: 1 of 3 pairs: x0 and x2']
    """
    sizes = () if moments.is_complete else range(2, moments.order + 1)
    for size in sizes:
        within = (combinations(clique, size) for clique in moments.cliques)
        known = {group for groups in within for group in groups}
        n = math.comb(moments.n_variables, size)
        if len(known) == n:
            continue
        every = combinations(range(moments.n_variables), size)
        free = islice((group for group in every if group not in known), N_SHOWN)
        named = "; ".join(" and ".join(moments.names[i] for i in group) for group in free)
        more = "; ..." if n - len(known) > N_SHOWN else ""
        kind = {2: "pair", 3: "triple"}.get(size, f"{size}-column group")
        groups = f"{n - len(known):,} of {counted(n, kind)}"
        yield f"not listed, and therefore free: {groups}: {named}{more}"


def identifying(moments: Moments) -> list[str]:
    """Return a warning of columns by which rows can be known, if there are any.

    Most values of such a column occur once, as free text does, or it numbers the rows.

    Examples
    --------
    >>> from herder import Moments
    >>> identifying(Moments.from_data({"name": [f"N. {k}" for k in range(20)]}))[0][:51]
    "'name' has values that occur once (20 of 20), which"
    """
    found: list[str] = []
    for i, variable in enumerate(moments.variables):
        many = variable.n_values > FEW_ONCE
        once = int((single_counts(moments, i) == 1).sum()) if many else 0
        if once > max(FEW_ONCE, variable.n_values / 2):
            values = f"{once:,} of {variable.n_values:,}"
            come = "which come out word for word"
            found.append(f"{variable.name!r} has values that occur once ({values}), {come}")
        elif variable.name in moments.numbering and moments.totals[0] > MAX_LABELS:
            found.append(f"{variable.name!r} has another whole number in each row, as an id has")
    remedy = "leave out columns by which rows can be known (--drop on the command line)"
    return [f"{'; '.join(found)}: {remedy}"] if found else []


def log_identifying(moments: Moments) -> None:
    """Log the warning of `identifying`."""
    for warning in identifying(moments):
        _log.warning(warning)


def bin_facts(variables: Sequence[Variable]) -> list[Fact]:
    """Return one line on how many bins columns have, if any have."""
    found = _bins(variables)
    if not found:
        return []
    each = listed([f"{name} {len(bins)}" for name, bins in found])
    beyond = "those beyond the outermost bins are counted in them"
    meaning = f"{each}; values come back spread evenly within their bin; {beyond}"
    return [Fact("bins", counted(len(found), "column"), "", meaning)]


def bin_sections(variables: Sequence[Variable]) -> list[Section]:
    """Return the bins of all columns, for a page, if there are any."""
    found = _bins(variables)
    if not found:
        return []
    text = (
        "Columns of numbers and dates were cut into bins: from the first number up to, not "
        "including, the second one. A single number is a frequent value, which comes back as it "
        "is; all others are spread evenly within their bin. The first and the last bin end near "
        "the bulk of the data, not at the smallest and the largest value: values beyond the "
        "outermost bins are counted in them."
    )
    rows = [(name, len(bins), "  ".join(bins)) for name, bins in found]
    table = Table(("column", "number", "bins"), rows, ("", "d", ""), "Bins of each column")
    return [Section("Bins", [Text(text), table])]


def _bins(variables: Sequence[Variable]) -> list[tuple[str, list[str]]]:
    return [
        (variable.name, [str(value) for value in variable.values if value is not None])
        for variable in variables
        if variable.scale is not None
    ]
