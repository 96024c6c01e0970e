"""Diagnostics of a moment herd: moment error, rate, growth of the weights, copies."""

from dataclasses import dataclass

import numpy as np

from herder._deprecated import renamed_attribute
from herder.core.diagnostics import Diagnosis, explain_growth, fit_rate, growth
from herder.core.summary import (
    Fact,
    Facts,
    Level,
    Picture,
    Section,
    Summarised,
    Summary,
    Text,
    counted,
)
from herder.fields.live import MomentHerd, Trace
from herder.fields.row_index import Copies, CopyCount
from herder.maximise.coordinate import ascend
from herder.maximise.exhaustive import best_state, n_states

__all__ = ["MomentDiagnostics", "moment_diagnostics"]

#: Spaces up to this many states are searched exhaustively to find out why weights grow.
EXHAUSTIVE_STATES = 2**16

#: A weight norm that grows faster than this power of t, over the last decade, still rises.
RISING = 0.1

#: A moment error that falls more slowly than this power of t has not begun to fall.
SLOW_RATE = -0.3


RESTART_WORDS = {
    "visited": "searches that started again, at states made before",
    "rows": "searches that started again, at data rows",
    "none": "not allowed in this run",
}

#: Whether data rows entered the run.
ENTERED = {
    False: "No row of a table entered the run, only counts.",
    True: "Searches started again at rows of the table, so rows of it did enter the run.",
}

#: How shares of copies are to be read.
COPIES = (
    "A row can equal a row of the table by chance: where there are few columns or a few very "
    "common rows, it must. Its own rows show what chance explains: about as many new rows of the "
    "same source would be copies as rows of the table equal another, and as many would be copies "
    "of unique rows as rows of the table equal exactly one other. A copy of a row that is unique "
    "in the table may point to one person."
)
COPIES_BINNED = (
    f"{COPIES} Columns that are binned are compared twice: by their values as they are written "
    "out, and by the bins they lie in, which is how they were counted."
)

#: What is said of weights that will stay bounded, but have not levelled off.
RISING_WORDS = (
    "The weights still grow, more slowly than the number of states: the error falls, but not yet "
    "as 1/T. It does once the weights have levelled off."
)

VERDICTS: dict[str, tuple[Level, str]] = {
    "bounded": (
        "good",
        "The weights have stayed bounded, and as long as they do the error falls as 1/T.",
    ),
    "inconsistent moments": (
        "warning",
        "No table of rows can have all the given counts: they contradict each other. The rows "
        "follow the nearest counts that the herd can reach; more rows will not reduce the error.",
    ),
    "rounded counts": (
        "plain",
        "The given counts are rounded, so that they do not add up exactly. The rows follow the "
        "nearest counts that do; the error stays within the rounding, and more rows will not "
        "reduce it further.",
    ),
    "stuck search": (
        "warning",
        "The search for the next row missed better ones, so the error does not fall as it "
        "should. Try another encoding, or restarts at rows of the table, which then enter the "
        "run.",
    ),
    "undecided": (
        "warning",
        "The run is too short to show whether the error falls as 1/T, or the given counts "
        "contradict each other in a way that no simple check finds. Ask for more rows.",
    ),
}


@dataclass(frozen=True)
class MomentDiagnostics(Summarised):
    """Moment error, rate, weight norm, restarts and verdict of a run.

    Parameters
    ----------
    n_steps : int
        States counted.
    exact : bool
        Whether the moments were herded as the counts they are; else they were rounded to
        multiples of ``1 / total``.
    total : int
        The unit: N for counts, 2^24 otherwise.
    moment_error : float
        Largest difference between the given share of a cell and its share among the states,
        over all cells of all tables that are matched, whatever the encoding.
    moment_error_rms : float
        Root mean square of the differences of all cells.
    worst : tuple of str
        Columns of the worst cell.
    rate : float
        Fitted exponent of the moment error over the last half of the doublings; near -1 in a
        run whose weights stay bounded.
    trace : Trace
        Error and weight norm at doubling step counts.
    restarts : int
        Searches that had to start again.
    violations : int
        Steps that broke the PCT inequality after a restart, too.
    growth : Diagnosis
        Whether the weights stay bounded, and if not, why.
    distance : float
        Euclidean distance between the moments and their averages, the distance to the
        nearest consistent moments when they contradict each other (see ``growth``).
    contradictions : tuple of str
        What no table could have among the given moments, worst first.
    copies : Copies or None
        Rows that equal a row of the table, all values being compared as they are written out.
    copies_binned : Copies or None
        The same by the bins of columns that are binned.
    restarts_at : {"visited", "rows", "none"}
        Where searches started again.
    rounding : float
        What the given counts were rounded to multiples of; 0 if they were not.

    Attributes
    ----------
    copied : float or None
        Share of the rows that equal a row of the table.
    duplicate_share : float or None
        Share of the table's rows that equal another: what to expect by chance.
    """

    n_steps: int
    exact: bool
    total: int
    moment_error: float
    moment_error_rms: float
    worst: tuple[str, ...]
    rate: float
    trace: Trace
    restarts: int
    violations: int
    growth: Diagnosis
    distance: float
    contradictions: tuple[str, ...] = ()
    copies: Copies | None = None
    copies_binned: Copies | None = None
    restarts_at: str = "visited"
    rounding: float = 0.0

    twins = renamed_attribute("twins", "duplicate_share")

    @property
    def copied(self) -> float | None:
        """Share of the rows that equal a row of the table."""
        return None if self.copies is None else self.copies.copied

    @property
    def duplicate_share(self) -> float | None:
        """Share of the table's rows that equal another."""
        return None if self.copies is None else self.copies.duplicate_share

    @property
    def copies_stand_out(self) -> bool:
        """Whether far more rows are copies, of any row or of unique ones, than chance explains."""
        return any(found.stand_out for found in (self.copies, self.copies_binned) if found)

    @property
    def still_rising(self) -> bool:
        """Whether weights that will stay bounded, as far as can be said, have not levelled off."""
        if self.growth.verdict != "bounded" or len(self.trace.t) < 2:
            return False
        return growth(self.trace.t, self.trace.norm).exponent > RISING

    def summary(self) -> Summary:
        """Return how closely the moments are matched, and whether to trust the run."""
        title = f"{counted(self.n_steps, 'state')} that match moments"
        return Summary(title, [Facts(self.facts()), *self.warnings()], self.sections())

    def facts(self, note: str = "") -> list[Fact]:
        """Return the short form of the summary, with a ``note`` on the moment error."""
        error = f"at most, for {', '.join(self.worst)}" if self.moment_error else "at most"
        if self.growth.verdict == "inconsistent moments":
            error += "; it will not fall: no table has all these counts"
        elif self.growth.verdict == "rounded counts":
            error += "; within the rounding of the counts"
        elif self.rate > SLOW_RATE:
            more = "" if self.growth.verdict == "stuck search" else " yet: more states are needed"
            error += f"; hardly falling (t^{self.rate:.2f}){more}"
        elif not np.isnan(self.rate):
            error += f"; falling as t^{self.rate:.2f}"
        growing = "rising slowly" if self.still_rising else self.growth.verdict
        form, units = "rounded", f"shares, to multiples of 1/{self.total:,}"
        if self.exact:
            how = f"to multiples of {self.rounding:g}" if self.rounding else "as they are"
            form = "rounded" if self.rounding else "exact"
            units = f"counts of {counted(self.total, 'row')}, {how}"
        facts = [
            Fact("moments", form, "", units),
            Fact("moment error", self.moment_error, ".2e", error + note),
            Fact("restarts", self.restarts, "", RESTART_WORDS[self.restarts_at]),
            Fact("PCT violations", self.violations, "", f"of {counted(self.n_steps, 'step')}"),
            Fact("weights", growing, "", self.growth.reason),
        ]
        if self.growth.verdict != "bounded":
            facts.append(Fact("distance", self.distance, ".2e", "from the given moments"))
        return facts + self._copy_facts()

    def _copy_facts(self) -> list[Fact]:
        """Return how many rows are copies, of any row and of unique ones, and what to expect."""
        how = "" if self.copies_binned is None else ", all values as written"
        facts: list[Fact] = []
        for found, label, what in (
            (self.copies, "", f"of the table{how}"),
            (self.copies_binned, ", binned", "of the table in all bins"),
        ):
            if found is None:
                continue
            own = f"of its own rows {found.duplicate_share:.2%} equal another"
            equal = f"equal a row {what}; {own}"
            facts.append(Fact(f"copied rows{label}", found.copied, ".2%", equal))
            if found.unique_copied is None:
                continue
            chance = f"about {found.unique_expected:.2%} by chance"
            once = f"equal a row that is unique there; {chance}"
            n = f"{found.unique_found:,} of {found.n_unique:,}"
            facts.append(Fact(f"unique copied{label}", found.unique_copied, ".2%", once))
            facts.append(Fact(f"unique found{label}", n, "", "of its unique rows were made"))
        return facts

    def warnings(self) -> list[Text]:
        """Return contradictions of the moments, and whether too many states are copies."""
        warnings = []
        if self.contradictions:
            n, worst = len(self.contradictions), self.contradictions[0]
            warnings.append(f"contradictions: {n:,}, the worst: {worst}")
        if self.copies_stand_out:
            copies = "far more rows copy a row of the table than chance explains"
            warnings.append(f"{copies}; do not publish them as anonymous")
        return [Text(warning, "warning") for warning in warnings]

    def sections(self) -> list[Section]:
        """Return the details, for a page."""
        level, words = VERDICTS[self.growth.verdict]
        if self.still_rising:
            level, words = "plain", RISING_WORDS
        if self.growth.verdict == "bounded" and not np.isnan(self.rate):
            words += f" In this run the error fell as T^{self.rate:.2f}."
        error = [
            Fact("largest error", self.moment_error, ".2e", f"for {' and '.join(self.worst)}"),
            Fact("typical error", self.moment_error_rms, ".2e", "root mean square of all"),
            Fact("rate", f"T^{self.rate:.2f}", "", "-1 is the best there is, random rows: -0.5"),
        ]
        chance = COPIES_BINNED if self.copies_binned else COPIES
        if self.copies is None:
            chance = "The table itself was not available, so nothing was compared."
        copied = [Facts(facts)] if (facts := self._copy_facts()) else []
        falling = Picture(
            "error",
            self.trace,
            "Moment error against the number of states on logarithmic axes, with a 1/T line.",
            "The error of the matched moments after T states. The dashed line falls as 1/T.",
        )
        norm = Picture(
            "norm",
            self.trace,
            "Norm of the weights against the number of states.",
            "The guarantee holds if the weights level off, and not if the curve, on a logarithmic "
            "axis, gets ever steeper.",
        )
        return [
            Section("Moment error", [Facts(error), falling]),
            Section("Weights", [Text(words, level), norm]),
            Section(
                "Copied rows", [Text(f"{ENTERED[self.restarts_at == 'rows']} {chance}"), *copied]
            ),
        ]


def moment_diagnostics(live: MomentHerd, found: CopyCount | None = None) -> MomentDiagnostics:
    """Return the diagnostics of the counted steps; ``found`` has compared the states."""
    trace, counts, errors = live.trace, live.step_counts, live.cell_errors()
    features = live.features
    at = int(np.argmax(np.abs(errors)))
    clique = int(np.searchsorted(features.layout.offsets, at, side="right")) - 1
    late = trace.t >= max(np.sqrt(trace.t[-1]), 1) if len(trace.t) else trace.t > 0
    usable = late & (trace.error > 0)
    rate = fit_rate(trace.t[usable], trace.error[usable]).slope if usable.sum() > 1 else np.nan
    return MomentDiagnostics(
        n_steps=live.n_counted,
        exact=features.units.exact,
        total=features.units.total,
        moment_error=float(np.abs(errors[at])),
        moment_error_rms=float(np.sqrt(np.mean(errors**2))),
        worst=tuple(live.moments.names[i] for i in live.moments.cliques[clique]),
        rate=float(rate),
        trace=trace,
        restarts=counts.restarts,
        violations=counts.violations,
        growth=_explain(live, trace),
        distance=float(np.linalg.norm(live.errors())),
        contradictions=tuple(str(found) for found in live.moments.contradictions()),
        copies=None if found is None else found.copies,
        copies_binned=None if found is None else found.binned,
        restarts_at=live.restarts,
        rounding=live.moments.rounding,
    )


def _rounding(live: MomentHerd) -> float:
    """Return how far counts that were rounded can be from those of the table they come from.

    A count is off by half a multiple, its total by another half; a feature is one cell, or a sum
    of all cells of a table.
    """
    features, moments = live.features, live.moments
    cells = 1 if features.encoding == "indicator" else int(np.diff(features.layout.offsets).max())
    return cells * moments.rounding / float(moments.totals.min()) * np.sqrt(features.n_features)


def _explain(live: MomentHerd, trace: Trace) -> Diagnosis:
    # two statements of one count were averaged; what matters here is whether the means agree
    impossible = [found for found in live.moments.contradictions() if found.kind != "stated"]
    if impossible:
        distance = float(np.linalg.norm(live.errors()))
        return Diagnosis("inconsistent moments", str(impossible[0]), distance)
    if live.step_counts.violations == 0:
        return Diagnosis("bounded", "the PCT inequality held at every step")
    if len(trace.t) < 3:
        return Diagnosis("undecided", "too few steps to decide")
    # the norm of many weights can hide one that grows: look at the largest as well
    paths = growth(trace.t, trace.norm), growth(trace.t, trace.t * trace.error)
    found = max(paths, key=lambda path: path.exponent)
    if not found.linear:
        return Diagnosis("bounded", f"no linear growth: weights go like t^{found.exponent:.2f}")
    distance = float(np.linalg.norm(live.errors()))
    if 0 < distance <= _rounding(live):
        reason = f"counts rounded to multiples of {live.moments.rounding:g} do not add up exactly"
        return Diagnosis("rounded counts", reason, distance)
    features, position = live.features, live.position
    weights, total = position.weights, features.units.total
    state = ascend(features, weights, position.state)
    exact = None
    if n_states(features) <= EXHAUSTIVE_STATES:
        exact = features.features(best_state(features, weights)).astype(float)
    return explain_growth(
        found,
        weights / total,
        features.target / total,
        features.features(state).astype(float),
        exact=exact,
        from_data=live.moments.from_rows,
    )
