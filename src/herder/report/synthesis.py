"""The page that goes with a synthetic table: what was matched, how well, what was copied."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from herder.fields.diagnostics import MomentDiagnostics
from herder.models.moments import Moments
from herder.plots import (
    plot_agreement,
    plot_count_distribution,
    plot_moment_error,
    plot_weight_norm,
)
from herder.report.page import Block, Facts, Page, Picture, Table, Text

__all__ = ["Synthesis", "synthesis_page", "worst_cells"]

#: Rows of the table of worst agreement.
N_WORST = 10

#: Contradictions that the page lists.
N_CONTRADICTIONS = 10

VERDICTS = {
    "bounded": (
        "good",
        "All is well: the weights of the herd stayed bounded, which means that the error goes "
        "down in proportion to 1 / (number of rows) in the long run: twice as many rows, half "
        "the error.",
    ),
    "inconsistent moments": (
        "warning",
        "No table of rows can have all the given counts: they contradict each other. The rows "
        "follow counts that can exist, as near to the given ones as the herd gets; more rows "
        "will not bring them nearer.",
    ),
    "stuck search": (
        "warning",
        "The search for the next row missed better ones, so the error does not go down as it "
        "should. Try --restarts rows or another --encoding.",
    ),
    "undecided": (
        "warning",
        "The run does not tell whether the error would go on going down: it was too short, or "
        "the given counts may contradict each other in a way that no simple check finds. Ask "
        "for more rows.",
    ),
}


@dataclass(frozen=True)
class Synthesis:
    """A finished synthesis, for `synthesis_page`.

    Parameters
    ----------
    source : str
        The table or the counts that were given.
    moments : Moments
        The counts that were matched.
    reached : Moments
        The same counts among all herded rows.
    diagnostics : MomentDiagnostics
        Of the run, with the shares of copied rows when the table was at hand.
    n_rows : int
        Rows given out; with conditions fewer than were herded.
    where : sequence of str
        Conditions that the rows meet.
    restarts : str
        Where searches started again: "visited", "rows" or "none".
    table_counts, sample_counts : ndarray, optional
        P(k) of the table and of the rows given out, for 0/1 columns.
    contradictions : sequence of str
        What the given counts have and no table can have, worst first.
    tail : sequence of str
        What was asked about the number of ones, and the answer.
    notes : sequence of str
        Anything else that the reader should know.
    command : str
        What to type to get the same rows again.
    version : str
        Of herder.
    """

    source: str
    moments: Moments
    reached: Moments
    diagnostics: MomentDiagnostics
    n_rows: int
    where: Sequence[str] = ()
    restarts: str = "visited"
    table_counts: NDArray[np.float64] | None = None
    sample_counts: NDArray[np.float64] | None = None
    contradictions: Sequence[str] = ()
    tail: Sequence[str] = ()
    notes: Sequence[str] = ()
    command: str = ""
    version: str = ""


def synthesis_page(synthesis: Synthesis) -> Page:
    """Build the page of a synthetic table.

    Parameters
    ----------
    synthesis : Synthesis
        The finished run.
    """
    page = Page(
        "A synthetic table from counts",
        f"{synthesis.n_rows:,} rows that were made from the counts of {synthesis.source}. This "
        "page says which counts they were made to match, how closely they do, and whether rows "
        "of the original came out again.",
    )
    page.add("What was matched", *_matched(synthesis))
    if synthesis.contradictions:
        page.add("Contradictions in the given counts", *_contradictions(synthesis))
    page.add("Pair by pair", *_agreement(synthesis))
    if synthesis.sample_counts is not None:
        page.add("How many ones a row has", *_counts(synthesis))
    page.add("How the error fell", *_error(synthesis))
    page.add("The weights", *_weights(synthesis))
    page.add("Copied rows", *_copies(synthesis))
    page.add("To repeat it", *_repeat(synthesis))
    return page


def worst_cells(target: Moments, reached: Moments, n: int = N_WORST) -> list[tuple[str, ...]]:
    """List the pairs (or other groups) that agree least: the worst cell of each, worst first.

    Parameters
    ----------
    target, reached : Moments
        Counts to match, and counts of the samples, over the same cliques.
    n : int, default 10
        How many to list.

    Returns
    -------
    list of tuples of str
        Columns and values, share in the table, share among the samples, difference.
    """
    layout = target.layout
    wanted, got = target.probabilities(), reached.probabilities()
    gap = np.abs(got - wanted)
    size = min(2, target.order)
    groups = np.array([c for c, clique in enumerate(target.cliques) if len(clique) >= size])
    worst = np.maximum.reduceat(gap, layout.offsets[:-1])[groups]
    rows = []
    for c in groups[np.argsort(-worst, kind="stable")][:n].tolist():
        start, stop = layout.offsets[c : c + 2]
        cell = int(start + np.argmax(gap[start:stop]))
        codes = np.unravel_index(cell - start, layout.shape(c))
        what = ", ".join(
            f"{target.names[i]} = {_label(target.variables[i].values[code])}"
            for i, code in zip(target.cliques[c], codes, strict=True)
        )
        rows.append(
            (what, f"{wanted[cell]:.4%}", f"{got[cell]:.4%}", f"{got[cell] - wanted[cell]:+.4%}")
        )
    return rows


def _matched(synthesis: Synthesis) -> list[Block]:
    moments, found = synthesis.moments, synthesis.diagnostics
    groups = {1: "single columns", 2: "pairs", 3: "triples"}
    sizes = sorted({len(clique) for clique in moments.cliques})
    numbers = [sum(len(clique) == size for clique in moments.cliques) for size in sizes]
    tables = ", ".join(
        f"{n:,} {groups.get(size, f'groups of {size}')}"
        for size, n in zip(sizes, numbers, strict=True)
    )
    total = moments.common_total
    rows = [
        ("rows made", f"{synthesis.n_rows:,}", _selection(synthesis)),
        ("columns", f"{moments.n_variables}", _names(moments)),
        ("tables of counts", tables, "each says how often every combination of values occurs"),
        (
            "rows behind them",
            f"{total:,}" if total is not None else "not the same for all",
            "as given" if not moments.from_rows else "all rows of the table were counted",
        ),
        (
            "arithmetic",
            "exact" if found.exact else "rounded",
            "whole counts were used as they are: no rounding, the same rows on any machine"
            if found.exact
            else f"shares were rounded to multiples of 1/{found.total:,}",
        ),
    ]
    notes = [Text(note) for note in synthesis.notes]
    return [Facts(rows), *notes]


def _contradictions(synthesis: Synthesis) -> list[Block]:
    found = synthesis.contradictions
    shown = [(str(i), text) for i, text in enumerate(found[:N_CONTRADICTIONS], 1)]
    return [
        Text(
            f"{_times(len(found))} the given numbers rule each other out: no table of rows could "
            "have them all. The rows follow the nearest counts that the herd could reach; the "
            f"distance to the given ones is {synthesis.diagnostics.distance:.2e} (root of the "
            "sum of squared differences of shares).",
            "warning",
        ),
        Table(("", "contradiction, worst first"), shown),
    ]


def _agreement(synthesis: Synthesis) -> list[Block]:
    cells = worst_cells(synthesis.moments, synthesis.reached)
    text = (
        "Every dot is one combination of values. On the left its share among the herded rows "
        "against its share in the given counts: on the line they are equal. On the right the "
        "difference between the two."
    )
    return [
        Text(text),
        Picture(
            plot_agreement(synthesis.moments, synthesis.reached),
            "Scatter of shares among the samples against shares in the table, with differences.",
        ),
        Table(
            ("columns and values", "given", "herded", "difference"),
            cells,
            f"The {len(cells)} groups of columns that agree least",
        ),
    ]


def _counts(synthesis: Synthesis) -> list[Block]:
    from herder.metrics import total_variation

    samples = synthesis.sample_counts
    if samples is None:
        return []
    if synthesis.table_counts is None:
        text = (
            "How many of the columns are 1 in a row. The counts of pairs alone do not fix this: "
            "it is the herd's answer, and other tables with the same counts can differ."
        )
        shares: dict[str, NDArray[np.float64]] = {"synthetic rows": samples}
    else:
        shares = {"table": synthesis.table_counts, "synthetic rows": samples}
        apart = total_variation(synthesis.table_counts, samples)
        text = (
            "How many of the columns are 1 in a row. This was not matched, so it is a test of "
            f"what the counts leave open: {apart:.1%} of the rows would have to change for the "
            "two to be equal."
        )
    if synthesis.where:
        text += f" The synthetic rows are those where {' and '.join(synthesis.where)}."
    return [
        Text(text),
        Picture(plot_count_distribution(shares), "Distribution of the number of ones in a row."),
        *(Text(line) for line in synthesis.tail),
    ]


def _error(synthesis: Synthesis) -> list[Block]:
    found = synthesis.diagnostics
    return [
        Facts(
            [
                (
                    "largest error",
                    f"{found.moment_error:.2e}",
                    f"as a share of rows, for {' and '.join(found.worst)}",
                ),
                ("typical error", f"{found.moment_error_rms:.2e}", "root mean square of all"),
                (
                    "rate",
                    f"T^{found.rate:.2f}",
                    "of the largest error; -1 is the best there is, random rows have -0.5",
                ),
            ]
        ),
        Picture(
            plot_moment_error(found.trace),
            "Moment error against the number of samples on logarithmic axes, with a 1/T line.",
            "The error of the matched quantities after T rows. The dashed line falls like 1/T.",
        ),
    ]


def _weights(synthesis: Synthesis) -> list[Block]:
    found = synthesis.diagnostics
    kind, text = VERDICTS[found.growth.verdict]
    return [
        Text(text, kind),
        Facts(
            [
                ("verdict", found.growth.verdict, found.growth.reason),
                ("searches started again", f"{found.restarts:,}", _restarts(synthesis.restarts)),
                (
                    "steps that broke the rule",
                    f"{found.violations:,}",
                    f"of {found.n_steps:,}: steps where the search fell short of what the "
                    "guarantee asks (the perceptron cycling condition)",
                ),
            ]
        ),
        Picture(
            plot_weight_norm(found.trace),
            "Norm of the weights against the number of samples.",
            "Weights that level off mean that the guarantee holds. The axis is logarithmic: a "
            "curve that gets ever steeper to the right means that it does not.",
        ),
    ]


def _copies(synthesis: Synthesis) -> list[Block]:
    found = synthesis.diagnostics
    if synthesis.restarts == "rows":
        entered = "Searches started again at rows of the table, so rows of it did enter the run."
    else:
        entered = "No row of a table entered the run, only counts."
    if found.copied is None or found.duplicate_share is None:
        return [Text(f"{entered} The table itself was not at hand, so nothing was compared.")]
    chance = (
        "A synthetic row can still equal an original one by chance: where there are few columns "
        "or a few very common rows, it must. What chance gives is seen in the table itself, "
        "where rows equal each other."
    )
    if found.copies_stand_out:
        chance += (
            " Here far more synthetic rows copy the table than that explains: the counts single "
            "rows out. Do not publish these rows as anonymous."
        )
    return [
        Text(f"{entered} {chance}"),
        Facts(
            [
                (
                    "synthetic rows that equal a row of the table",
                    f"{found.copied:.2%}",
                    f"about {round(found.copied * synthesis.n_rows):,} of {synthesis.n_rows:,}",
                ),
                (
                    "table rows that equal another row of the table",
                    f"{found.duplicate_share:.2%}",
                    "what a fresh row of the same kind would do",
                ),
            ]
        ),
    ]


def _repeat(synthesis: Synthesis) -> list[Block]:
    text = (
        f"Made by herder {synthesis.version}. There is no randomness in it: the same input, "
        "options and version give the same rows."
    )
    blocks: list[Block] = [Text(text)]
    if synthesis.command:
        blocks.append(Text(synthesis.command, "code"))
    return blocks


def _selection(synthesis: Synthesis) -> str:
    if not synthesis.where:
        return "all rows of the run"
    return (
        f"those where {' and '.join(synthesis.where)}, of {synthesis.diagnostics.n_steps:,} "
        "herded; everything below but P(k) and copies is about all of these"
    )


def _times(n: int) -> str:
    return "Once" if n == 1 else f"{n:,} times"


def _names(moments: Moments) -> str:
    names = moments.names
    shown = ", ".join(names[:12])
    return f"{shown}, ..." if len(names) > 12 else shown


def _restarts(restarts: str) -> str:
    return {
        "rows": "at rows of the table, where the last row was a bad start",
        "visited": "at rows made before, where the last one was a bad start",
        "none": "not allowed in this run",
    }.get(restarts, restarts)


def _label(value: object) -> str:
    if value is None:
        return "missing"
    return f"{value:g}" if isinstance(value, float) else str(value)
