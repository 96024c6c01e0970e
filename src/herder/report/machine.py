"""The page that goes with a Boltzmann machine: couplings, biases, and whether to trust them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from herder.learn.boltzmann import BoltzmannMachine
from herder.learn.check import Comparison, FitCheck
from herder.models.moments import Moments
from herder.plots.fields import plot_couplings
from herder.plots.moments import plot_agreement, plot_count_distribution
from herder.report.page import Block, Facts, Page, Picture, Table, Text

__all__ = ["MachineReport", "machine_page"]

#: Rows of tables.
N_ROWS = 15

#: What differences of means, of pairs and of numbers of ones are measured in.
UNITS = ("standard deviations", "as a correlation", "of all rows")

#: Machines of more columns get no picture of all pairs: it would be one cloud.
MAX_COLUMNS = 250


@dataclass(frozen=True)
class MachineReport:
    """A fitted machine, for `machine_page`.

    Parameters
    ----------
    source : str
        The table that was learnt.
    machine : BoltzmannMachine
        Fitted.
    check : FitCheck
        The machine beside rows.
    against : str
        Which rows these are.
    notes : sequence of str
        Anything else that the reader should know.
    command, version : str
        What to type to get the same machine, and with which herder.
    """

    source: str
    machine: BoltzmannMachine
    check: FitCheck
    against: str = "the rows"
    notes: Sequence[str] = ()
    command: str = ""
    version: str = ""


def machine_page(report: MachineReport) -> Page:
    """Build the page of a machine.

    Parameters
    ----------
    report : MachineReport
        The fitted machine and its check.
    """
    check = report.check
    page = Page(
        "A Boltzmann machine",
        f"{len(check.names):,} columns of {report.source}, and how each pair of them goes "
        "together when all others are held. This page says what was learnt, how its own rows "
        f"compare with {report.against}, and whether to trust it.",
    )
    page.add("Whether to trust it", *_trust(report))
    page.add("Rows and machine beside each other", *_beside(report))
    page.add("Couplings", *_couplings(report))
    page.add("Biases", *_biases(report))
    page.add("To repeat it", *_repeat(report))
    return page


def _trust(report: MachineReport) -> list[Block]:
    check, fit = report.check, report.machine.diagnostics_
    blocks: list[Block] = [Text(check.verdict, "good" if check.trust else "warning")]
    blocks += [Text(f"Mind: {doubt}", "warning") for doubt in fit.doubts]
    gradient = "" if np.isnan(fit.gradient_norm) else f", gradient {fit.gradient_norm:.1e}"
    weight = "" if fit.penalty == "none" else f"with weight {fit.alpha:.3g}"
    rows = [
        ("rows", f"{fit.n_rows:,.6g}", ""),
        (
            "parameters",
            f"{fit.n_parameters:,}",
            f"couplings and biases; {fit.rows_per_parameter:,.3g} rows for each",
        ),
        ("couplings", f"{fit.n_couplings:,}", "that are not zero"),
        ("method", fit.method, f"{fit.n_iter:,} iterations{gradient}"),
        ("converged", "yes" if fit.converged else "no", ""),
        ("penalty", fit.penalty, weight),
    ]
    if fit.held_out is not None and fit.held_out_independent is not None:
        rows.append(
            (
                "held-back rows",
                f"{fit.held_out:.4f}",
                "log pseudo-likelihood of a row; with independent columns "
                f"{fit.held_out_independent:.4f}",
            )
        )
    return [*blocks, Facts(rows), *(Text(note) for note in report.notes)]


def _beside(report: MachineReport) -> list[Block]:
    check = report.check
    source = (
        f"from {check.n_samples:,} samples of the machine"
        if check.n_samples
        else "summed over all states of the machine"
    )
    parts = (check.means, check.pairs, check.counts)
    facts = [
        (
            part.what,
            f"{part.largest:.1f} standard errors",
            f"at most; up to {part.threshold:.1f} would be chance. However many rows there are: "
            f"{part.size:.3f} {unit}",
        )
        for part, unit in zip(parts, UNITS, strict=True)
        if len(part.z)
    ]
    if check.held_out:
        facts.append(
            (
                "gain",
                f"{check.gain:+.4f}",
                "log pseudo-likelihood of a row that was not learnt, against independent columns; "
                f"standard error {check.gain_error:.4f}",
            )
        )
    blocks: list[Block] = [
        Text(
            "How often each column is in its upper state, how often two are together, and how "
            f"many are in one row: counted in {report.against}, and {source}."
        ),
        Facts(facts),
    ]
    if 2 <= len(check.names) <= MAX_COLUMNS:
        table, machine = (_moments(check, part) for part in ("rows", "model"))
        blocks.append(
            Picture(
                plot_agreement(table, machine),
                "Scatter of shares in the machine against shares in the rows, with differences.",
                "Every dot is one combination of values; samples are those of the machine.",
            )
        )
    shares = {"rows": check.counts.rows, "machine": check.counts.model}
    blocks.append(
        Picture(
            plot_count_distribution(shares),
            "Distribution of the number of upper states in a row, of rows and machine.",
        )
    )
    if len(check.pairs.z):
        blocks.append(_worst(check, check.pairs))
    return blocks


def _moments(check: FitCheck, part: str) -> Moments:
    """Give the probabilities of one side as counts of pairs."""
    n = len(check.names)
    matrix: NDArray[np.float64] = np.diag(getattr(check.means, part))
    i, j = check.pairs.labels.T
    matrix[i, j] = matrix[j, i] = getattr(check.pairs, part)
    names = check.names if n == len(set(check.names)) else [str(k) for k in range(n)]
    return Moments.from_counts(matrix, total=1, names=list(names), contradictions="allow")


def _worst(check: FitCheck, part: Comparison) -> Table:
    order = np.argsort(-np.abs(part.z), kind="stable")[:N_ROWS]
    rows = [
        (
            ", ".join(check.names[column] for column in part.labels[k]),
            f"{part.rows[k]:.4f}",
            f"{part.model[k]:.4f}",
            f"{part.z[k]:+.1f}",
        )
        for k in order
    ]
    header = ("both in the upper state", "in the rows", "in the machine", "standard errors")
    return Table(header, rows, "The pairs that agree least")


def _couplings(report: MachineReport) -> list[Block]:
    model, names = report.machine.model_, report.check.names
    weights = model.edge_weights
    if not len(weights):
        return [Text("There are none: all columns are independent.")]
    order = np.argsort(-np.abs(weights), kind="stable")[:N_ROWS]
    rows = [
        (", ".join(names[site] for site in model.edges[edge]), f"{weights[edge]:+.4f}")
        for edge in order
    ]
    return [
        Text(
            "A positive coupling makes two columns go together, a negative one keeps them apart, "
            "when all other columns are held: a pair that only follows a third one has none."
        ),
        Picture(plot_couplings(model), "Couplings of all pairs as a matrix of colours."),
        Table(("columns", "coupling"), rows, "The strongest couplings"),
    ]


def _biases(report: MachineReport) -> list[Block]:
    machine, check = report.machine, report.check
    constant = [name in machine.diagnostics_.constant for name in check.names]
    sizes = np.where(constant, -1.0, np.abs(machine.biases_))  # those of constants say little
    order = np.argsort(-sizes, kind="stable")[:N_ROWS]
    rows = [
        (
            check.names[column],
            f"{machine.biases_[column]:+.4f}",
            f"{check.means.rows[column]:.4f}",
            f"{check.means.model[column]:.4f}",
        )
        for column in order
    ]
    low, high = machine.states_
    return [
        Text(
            f"States are {low} and {high}. The bias of a column speaks for its upper state when "
            + (
                "all others are in their lower one."
                if low == 0
                else "couplings to the others cancel."
            )
        ),
        Table(
            ("column", "bias", "upper in the rows", "in the machine"),
            rows,
            "The strongest biases",
        ),
    ]


def _repeat(report: MachineReport) -> list[Block]:
    text = (
        f"Made by herder {report.version}. The same table, options, version and machine to run on "
        "give the same couplings."
    )
    blocks: list[Block] = [Text(text)]
    if report.command:
        blocks.append(Text(report.command, "code"))
    return blocks
