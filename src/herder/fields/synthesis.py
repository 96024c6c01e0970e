"""Rows that match the counts of a table, made in chunks, and how closely they match.

A table may be larger than memory, and so may the rows made from its counts: a `Synthesis` makes
them in chunks and keeps statistics in constant memory: how closely the counts are matched, how
many rows copy a row of the table, and how many ones rows have.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import flag, function_or_none, non_negative_int
from herder.core.summary import (
    Block,
    Fact,
    Facts,
    Picture,
    Section,
    Summarised,
    Summary,
    Table,
    Text,
    counted,
    listed,
)
from herder.data.columns import as_numbers
from herder.data.decoding import Decoder
from herder.data.variables import Codes
from herder.fields.bounds import count_bounds
from herder.fields.diagnostics import MomentDiagnostics, moment_diagnostics
from herder.fields.live import MomentHerd
from herder.fields.number_columns import NumberColumn, number_facts, number_section
from herder.fields.row_filter import RowFilter
from herder.fields.row_index import CopyCount, RowIndex
from herder.fields.uncertainty import count_estimate
from herder.metrics import total_variation
from herder.models.moments import Moments
from herder.models.plain_text import shown
from herder.models.summary import bin_facts, free_groups, identifying

__all__ = ["Synthesis", "worst_cells"]

#: Cells of one chunk; fixed, so that the bytes of a file do not depend on the machine.
CHUNK_CELLS = 2**21

#: States herded at a time where rows must meet a condition.
BLOCK = 16_384

#: Rows of each variant that the spread of a probability is taken over, at most.
SPREAD_STEPS = 50_000

#: Rows of the table of worst agreement.
N_WORST = 10


class Synthesis(Summarised):
    """Rows of a moment herd in chunks; `herder.MomentHerder.synthesise` starts one.

    The rows are made while `codes` or `chunks` is iterated, once; `summary` describes them
    afterwards.

    Parameters
    ----------
    live : MomentHerd
        The herd, past its burn-in.
    n_rows : int
        Rows to make.
    condition : RowFilter, optional
        What the rows must meet; those that do not are herded and left out.
    index : RowIndex, optional
        Of the table's rows, to find copies of them.
    count_above : int, optional
        Report the probability that more than so many of the 0/1 columns are 1.
    count_cells : bool
        Whether to count all cells of all herded rows, for `reached`.
    progress : callable, optional
        Called with the share that is done, and a note.

    Attributes
    ----------
    moments : Moments
        The counts that are matched.
    ones : ndarray or None
        Rows made so far with k ones, of 0/1 columns.
    """

    def __init__(
        self,
        live: MomentHerd,
        n_rows: int,
        *,
        condition: RowFilter | None = None,
        index: RowIndex | None = None,
        count_above: int | None = None,
        count_cells: bool = False,
        progress: Callable[[float, str], None] | None = None,
    ) -> None:
        self.live = live
        self.moments = live.moments
        self.n_rows = n_rows
        self.condition = condition
        self.index = index
        self.count_above = count_above
        other = [v.name for v in self.moments.variables if not v.is_binary]
        width = self.moments.n_variables
        if count_above is not None and other:
            got = f"column {other[0]!r}"
            raise ParameterError("count_above", "go with 0/1 columns only", got=got)
        if count_above is not None and not non_negative_int(count_above, "count_above") < width:
            rule = f"be less than the number of columns, {width}"
            raise ParameterError("count_above", rule, count_above)
        self.ones = None if other else np.zeros(width + 1, dtype=np.int64)
        counts_cells = flag(count_cells, "count_cells")
        self._cells = np.zeros(len(self.moments.counts)) if counts_cells else None
        self._progress = function_or_none(progress, "progress")
        self._found = 0
        self._copies = None if index is None else CopyCount(index, self.moments.variables)
        known = {} if index is None or condition is not None else index.columns
        self._numbers = {name: NumberColumn() for name in known}

    def codes(self) -> Iterator[NDArray[np.integer]]:
        """Yield the rows, as codes, in chunks of one size but for the last."""
        yield from (codes for codes, _ in self._parts())

    def chunks(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the rows as columns of labels, in chunks of one size but for the last."""
        yield from (columns for _, columns in self._parts())

    def _parts(self) -> Iterator[tuple[NDArray[np.integer], dict[str, NDArray[Any]]]]:
        """Yield the rows as codes and as columns of labels."""
        size = max(CHUNK_CELLS // self.moments.n_variables, 1)
        left, decoder = self.n_rows, Decoder(self.moments.variables)
        rows = self._herd(left, size)
        while left:
            wanted = min(size, left)
            while len(rows) < wanted:
                rows = np.concatenate([rows, self._herd(left - len(rows), size)])
            chunk, rows = rows[:wanted], rows[wanted:]
            columns = decoder.columns(chunk)
            self._look_at(chunk, columns)
            yield chunk, columns
            left -= wanted

    def labels(self) -> dict[str, NDArray[Any]]:
        """Return every label of every column, in as many rows as the longest alphabet has."""
        n_values = np.array(self.moments.n_values)
        decoder = Decoder(self.moments.variables)
        return decoder.columns(np.arange(n_values.max())[:, None] % n_values)

    @property
    def diagnostics(self) -> MomentDiagnostics:
        """Diagnostics of the rows made so far."""
        return moment_diagnostics(self.live, self._copies)

    def reached(self) -> Moments | None:
        """Return the counts of all herded rows, if they were counted."""
        if self._cells is None:
            return None
        totals = np.full(len(self.moments.cliques), float(self.live.n_counted))
        return replace(
            self.moments, counts=self._cells, totals=totals, from_rows=True, rounding=0.0
        )

    def count_distributions(self) -> dict[str, NDArray[np.float64]]:
        """Return P(k) of the table, if it is known, and of the rows made, for 0/1 columns."""
        if self.ones is None:
            return {}
        table = None if self.index is None else self.index.counts
        known = {} if table is None else {"table": table}
        return {**known, "synthetic rows": self.ones / max(self.ones.sum(), 1)}

    def _herd(self, n: int, size: int) -> NDArray[np.integer]:
        """Return the next rows that meet the condition, at most ``n``."""
        wanted = min(n, size) if self.condition is None else min(max(4 * n, 1024), BLOCK)
        report = None if self._progress is None else self._report
        block = self.live.advance(wanted, on_progress=report)
        if self._cells is not None:
            goal = self.moments
            cliques = None if goal.is_complete else goal.cliques
            codes = Codes(goal.variables, block)
            self._cells += Moments.from_codes(codes, goal.order, cliques=cliques).counts
        if self.condition is not None:
            block = self.condition.select(block)[:n]
            self._found += len(block)
        return block

    def _report(self, live: MomentHerd) -> None:
        found = live.n_counted if self.condition is None else self._found
        if self._progress is not None:
            note = f"herding, moment error {live.last_error:.1e}"
            self._progress(found / self.n_rows, note)

    def _look_at(self, codes: NDArray[np.integer], columns: dict[str, NDArray[Any]]) -> None:
        if self._copies is not None:
            self._copies.add(codes, columns)
        for name, numbers in self._numbers.items():
            numbers.add(as_numbers(columns[name]))
        if self.ones is not None:
            ones = codes.sum(axis=1, dtype=np.intp)
            self.ones += np.bincount(ones, minlength=len(self.ones))

    def summary(self, *, source: str = "the table") -> Summary:
        """Return what was matched, how closely, and how many rows are copies.

        Parameters
        ----------
        source : str
            Name of the table or of the file of counts.
        """
        matched, names = self.moments.summary(), Text(listed(self.moments.names))
        found = self.diagnostics
        facts = found.facts("" if self.condition is None else "; of all herded rows")
        warnings = found.warnings()
        warnings += [Text(warning, "warning") for warning in identifying(self.moments)]
        used = [Fact("used", *self._used(source))]
        if self.condition is not None:
            herded = f"{self.n_rows:,} of {self.live.n_counted:,} herded rows"
            used.append(Fact("where", self.condition.text, "", herded))
        used += bin_facts(self.moments.variables)
        if self.index is not None and self._numbers:
            facts += number_facts(self.index.columns, self._numbers)
        free = [Text(line) for line in free_groups(self.moments)]
        blocks: list[Block] = [Facts([*used, *facts]), *warnings, *free]
        if self.index is not None and self.index.one_in > 1:
            part = f"only one in {self.index.one_in} distinct rows was compared"
            blocks.append(Text(f"to stay within the memory limit, {part}"))
        if self.count_above is not None:
            blocks.append(Facts(self._tail(self.count_above, found.moment_error)))
        text = f"{matched.title}. Each counts how often every combination of values occurs."
        sections = [Section("What was matched", [Text(text), names, *matched.blocks])]
        sections += matched.sections
        reached = self.reached()
        if reached is not None:
            sections.append(Section("Pair by pair", self._agreement(reached)))
        if self.index is not None and self._numbers:
            sections.append(number_section(self.index.columns, self._numbers))
        if self.ones is not None:
            sections.append(Section("Number of ones in a row", self._counts()))
        title = f"{counted(self.n_rows, 'row')} of {counted(self.moments.n_variables, 'column')}"
        return Summary(title, blocks, [*sections, *found.sections()])

    def _used(self, source: str) -> tuple[str, str, str]:
        if self.live.restarts == "rows":
            return "counts and rows", "", f"of {source}; searches started at rows of it"
        if self.index is None:
            return "counts", "", f"in {source}"
        return "only counts", "", f"of {source}, none of its rows"

    def _agreement(self, reached: Moments) -> list[Block]:
        text = (
            "Every dot is one combination of values. On the left its share among the herded rows "
            "against its share in the given counts: on the line they are equal. On the right the "
            "difference between the two."
        )
        description = "Shares among the rows against shares in the given counts, with differences."
        dots = Picture("agreement", self.moments, description, "", {"reached": reached})
        return [Text(text), dots, worst_cells(self.moments, reached)]

    def _counts(self) -> list[Block]:
        shares, text = self.count_distributions(), "How many of the columns are 1 in a row."
        if "table" in shares:
            apart = total_variation(shares["table"], shares["synthetic rows"])
            change = f"{apart:.1%} of the rows would have to change for the two to be equal"
            text += f" This statistic was not fitted: {change}."
        else:
            text += " The counts of pairs do not determine it: other tables with them can differ."
        if self.condition is not None:
            text += f" The synthetic rows are those where {self.condition.text}."
        description = "Distribution of the number of ones in a row."
        return [Text(text), Picture("counts", self, description)]

    def _tail(self, k: int, moment_error: float) -> list[Fact]:
        """Return how often more than ``k`` columns are 1, and how far to trust it."""
        shares = self.count_distributions()
        share = float(shares["synthetic rows"][k + 1 :].sum())
        event = f"P(more than {k} of {self.moments.n_variables} columns are 1)"
        if self.condition is not None:
            return [Fact(event, share, ".4f", f"among rows where {self.condition.text}")]
        off = f"where matched moments are off by at most {moment_error:.1e}"
        facts = [Fact(event, share, ".4f", off)]
        if "table" in shares:
            facts.append(Fact("in the table", float(shares["table"][k + 1 :].sum()), ".4f"))
        steps = min(max(self.n_rows, 1000), SPREAD_STEPS)
        spread = count_estimate(self.moments, steps, tail=True, bounds=False)
        low, high = min(float(spread.lowest[k]), share), max(float(spread.highest[k]), share)
        others = "other encodings, scan orders and starts that match the same counts"
        if self.moments.rounding:
            others += "; the rounding of the counts is left out"
        facts.append(Fact("spread", f"{low:.4f} to {high:.4f}", "", f"over {others}"))
        if self.moments.rounding:
            return [*facts, Fact("bounds", "not computed", "", "the counts are rounded")]
        try:
            bounds = count_bounds(self.moments, tail=True)
        except ValueError:  # there is no range at all
            return [*facts, Fact("bounds", "none", "", "no table has all these counts")]
        ends = f"{bounds.lower[k]:.4f} to {bounds.upper[k]:.4f}"
        kind = "exactly what the counts allow" if bounds.sharp else "from sums of the counts"
        return [*facts, Fact("bounds", ends, "", f"by the counts alone, {kind}")]


def worst_cells(target: Moments, reached: Moments, n: int = N_WORST) -> Table:
    """Return the groups of columns that agree least: the worst cell of each, worst first.

    The first difference is the moment error.

    Parameters
    ----------
    target, reached : Moments
        Counts to match, and counts of the samples, over the same cliques.
    n : int, default 10
        How many to list.
    """
    layout = target.layout
    wanted, got = target.probabilities(), reached.probabilities()
    gap = np.abs(got - wanted)
    worst = np.maximum.reduceat(gap, layout.offsets[:-1])
    rows = []
    for c in np.argsort(-worst, kind="stable")[:n].tolist():
        start, stop = layout.offsets[c : c + 2]
        cell = int(start + np.argmax(gap[start:stop]))
        clique = target.cliques[c]
        codes = np.unravel_index(cell - start, [target.n_values[i] for i in clique])
        what = ", ".join(
            f"{target.names[i]} = {shown(target.variables[i].values[code])}"
            for i, code in zip(clique, codes, strict=True)
        )
        rows.append((what, wanted[cell], got[cell], got[cell] - wanted[cell]))
    return Table(
        ("columns and values", "given", "herded", "difference"),
        rows,
        ("", ".4%", ".4%", "+.4%"),
        f"The {len(rows)} groups of columns that agree least",
    )
