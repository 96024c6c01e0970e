r"""The page that goes with a thinned sample: which rows, how near to all, and what was lost.

The first T of m chosen rows have

.. math:: \mathrm{MMD}_T^2 = c - \frac2T \sum_{t \le T} \bar k(s_t)
          + \frac1{T^2} \sum_{t, t' \le T} k(s_t, s_{t'}),

and the constant :math:`c`, the squared norm of the mean of all rows, follows from that of all m.
A set that was exchanged has no order of its own: its rows are then put into the order in which
herding would take them from the set.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.kernel.comparison import ColumnErrors
from herder.plots import plot_marginals, plot_mmd_path, plot_picks
from herder.report.page import Block, Facts, Page, Picture, Table, Text

__all__ = ["MmdPath", "ThinningReport", "mmd_path", "thinning_page"]

#: Columns in the table of losses, and in the picture of marginals.
N_COLUMNS, N_MARGINALS = 15, 6

#: Sizes at which the path is drawn, about.
N_SIZES = 40


@dataclass(frozen=True)
class MmdPath:
    """MMD of the first T chosen rows (may be empty), and that of T random rows."""

    sizes: NDArray[np.intp]
    chosen: NDArray[np.float64]
    random: NDArray[np.float64]


@dataclass(frozen=True)
class ThinningReport:
    """A finished thinning, for `thinning_page`.

    Parameters
    ----------
    source : str
        The sample that was given.
    values : ndarray of shape (n, d)
        Its numbers; may be memory-mapped.
    indices, weights : ndarray of shape (m,)
        The choice.
    losses : ColumnErrors
        What was lost.
    mode : str
        "uniform", "simplex" or "optimal": how the weights came about.
    whole : str
        What the choice stands for: "all rows", or "the density" for a Stein kernel.
    mmd, mmd_random : float, optional
        Distance to that, and root mean square distance of random subsets.
    path : MmdPath, optional
        How it fell with the number of rows.
    nested : bool
        Whether the order of the choice is that of herding.
    sample_weight : ndarray of shape (n,), optional
        Weights of the rows.
    classes : mapping of label to (share of rows, rows chosen, share chosen)
        When there were labels.
    how : sequence of (what, value, meaning)
        Settings worth knowing.
    notes : sequence of str
        Anything else that the reader should know.
    command, version : str
        What to type to get the same rows, and with which herder.
    """

    source: str
    values: NDArray[Any]
    indices: NDArray[np.intp]
    weights: NDArray[np.float64]
    losses: ColumnErrors
    mode: str = "uniform"
    whole: str = "all rows"
    mmd: float | None = None
    mmd_random: float | None = None
    path: MmdPath | None = None
    nested: bool = False
    sample_weight: NDArray[np.float64] | None = None
    classes: Mapping[str, tuple[float, int, float]] = field(default_factory=dict)
    how: Sequence[tuple[str, str, str]] = ()
    notes: Sequence[str] = ()
    command: str = ""
    version: str = ""


def mmd_path(
    points: NDArray[Any],
    kernel: Callable[[NDArray[Any], NDArray[Any]], NDArray[np.float64]],
    target: NDArray[np.float64],
    mmd: float,
    *,
    keep_order: bool,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Give sizes T and the MMD of the first T of m chosen rows of equal weights.

    Parameters
    ----------
    points : ndarray of shape (m, d)
        The chosen rows.
    kernel : callable
        Gives Gram matrices.
    target : ndarray of shape (m,)
        Kernel mean of all rows at the chosen ones.
    mmd : float
        Of all m.
    keep_order : bool
        Whether they are in herding's order; else they are put into it.
    """
    m = len(points)
    left = np.ones(m, dtype=bool)
    covered, half = np.zeros(m), np.empty(m)
    for i in range(m):
        half[i] = kernel(points[i : i + 1], points[i : i + 1])[0, 0] / 2
    inner, means = np.empty(m), np.empty(m)  # sums of k(s, s') and of the target, up to T
    total_inner = total_mean = 0.0
    for t in range(m):
        scores = np.where(left, target - (covered + half) / (t + 1), -np.inf)
        pick = t if keep_order else int(scores.argmax())
        left[pick] = False
        total_inner += 2 * covered[pick] + 2 * half[pick]
        total_mean += target[pick]
        inner[t], means[t] = total_inner, total_mean
        covered += kernel(points[pick : pick + 1], points)[0]
    t = np.arange(1, m + 1)
    rest = inner / t**2 - 2 * means / t
    squares = mmd**2 + rest - rest[-1]
    sizes = np.unique(np.geomspace(1, m, N_SIZES).round().astype(np.intp))
    return sizes, np.sqrt(squares[sizes - 1].clip(0))


def thinning_page(report: ThinningReport) -> Page:
    """Build the page of a thinned sample.

    Parameters
    ----------
    report : ThinningReport
        The finished run.
    """
    n, m = report.losses.n_rows, report.losses.n_select
    page = Page(
        "A thinned sample",
        f"{m:,} of the {n:,} rows of {report.source}, chosen so that they stand for all of them. "
        "This page says how near they come, what was lost in each column, and how to get the "
        "same rows again.",
    )
    page.add("What was chosen", *_chosen(report))
    page.add("Where the chosen rows lie", *_places(report))
    page.add("Column by column", *_columns(report))
    if report.path is not None:
        page.add("More rows, less error", *_falling(report))
    page.add("To repeat it", *_repeat(report))
    return page


def _chosen(report: ThinningReport) -> list[Block]:
    losses = report.losses
    blocks: list[Block] = []
    rows = [
        ("rows chosen", f"{losses.n_select:,}", f"of {losses.n_rows:,}"),
        ("columns", f"{len(losses.names)}", _listed(losses.names)),
    ]
    if report.mmd is not None and report.mmd_random is not None:
        blocks.append(_verdict(report, report.mmd, report.mmd_random))
        rows += [
            (
                f"distance to {report.whole}",
                f"{report.mmd:.3e}",
                "maximum mean discrepancy (MMD): the largest error that any function of unit "
                f"norm under the kernel has when the chosen rows stand for {report.whole}",
            ),
            (
                "of a random subset",
                f"{report.mmd_random:.3e}",
                "root mean square over random subsets of the same size",
            ),
        ]
    rows.append(("weights", report.mode, _mode(report)))
    rows += list(report.how)
    blocks.append(Facts(rows))
    if report.classes:
        table = [
            (label, f"{share:.2%}", f"{count:,}", f"{after:.2%}")
            for label, (share, count, after) in report.classes.items()
        ]
        blocks.append(Table(("label", "share of all", "chosen", "share chosen"), table))
    return [*blocks, *(Text(note) for note in report.notes)]


def _verdict(report: ThinningReport, mmd: float, random: float) -> Text:
    if not mmd < random:
        return Text(
            f"The chosen rows are no nearer to {report.whole} than a random subset of the same "
            "size. Choose another --kernel or --bandwidth, or leave out --approximate.",
            "warning",
        )
    better = random / max(mmd, 1e-300)
    text = (
        f"The chosen rows are {better:,.1f} times nearer to {report.whole} than a random subset "
        "of the same size"
    )
    # The MMD of independent draws falls like the root of their number.
    draws = report.losses.n_select * better**2
    if report.whole == "all rows" and draws < 1e12:
        text += f": under this kernel, as near as about {draws:,.0f} independent draws from them"
    return Text(f"{text}.", "good")


def _mode(report: ThinningReport) -> str:
    if report.mode == "uniform":
        return "every chosen row counts the same"
    spread = f"from {report.weights.min():.2e} to {report.weights.max():.2e}"
    if report.mode == "simplex":
        return f"non-negative, sum to one, {spread}: use them in every average"
    return f"the best there are, {spread}, may be negative: use them in every average"


def _places(report: ThinningReport) -> list[Block]:
    weighted = " The area of a dot follows the weight of its row." * (report.mode != "uniform")
    return [
        Text(
            "All rows in grey, the chosen ones on top; beside the axes the distributions of all "
            f"rows (filled) and of the chosen ones (line).{weighted}"
        ),
        Picture(
            plot_picks(
                report.values,
                report.indices,
                weights=report.weights,
                sample_weight=report.sample_weight,
                names=report.losses.names,
            ),
            "Scatter of all rows and the chosen ones, with histograms of both.",
        ),
    ]


def _columns(report: ThinningReport) -> list[Block]:
    losses = report.losses
    worst = losses.worst(N_COLUMNS)
    place = {name: j for j, name in reversed(list(enumerate(losses.names)))}
    drawn = [place[name] for name in worst.names[:N_MARGINALS]]
    levels = [f"{100 * level:g}%" for level in losses.quantiles]
    rows = [
        (
            name,
            f"{worst.mean_before[k]:.5g}",
            f"{worst.mean_after[k]:.5g}",
            f"{worst.mean_change[k]:+.4f}",
            f"{worst.sd_change[k]:+.4f}",
            *(f"{change:+.4f}" for change in worst.quantile_change[:, k]),
            f"{worst.distance[k]:.4f}",
        )
        for k, name in enumerate(worst.names)
    ]
    heads = ("column", "mean before", "mean after", "mean", "sd", *levels, "distance")
    more = f"; {worst.n_others:,} more columns lost less" if worst.n_others else ""
    return [
        Text(
            "Changes of the mean, of the standard deviation (sd) and of quantiles, in standard "
            "deviations of the column, and the largest difference between the two distribution "
            "functions (distance, from 0 to 1). The mean of a random subset would be off by "
            f"about {losses.random_change:.4f} standard deviations; here it is at most "
            f"{np.abs(losses.mean_change).max():.4f}."
        ),
        Table(heads, rows, f"The columns that lost most, worst first{more}"),
        Picture(
            plot_marginals(
                report.values,
                report.indices,
                weights=report.weights,
                sample_weight=report.sample_weight,
                names=losses.names,
                columns=drawn,
            ),
            "Histograms of columns, of all rows and of the chosen ones.",
            "Filled: all rows. Line: the chosen rows. The outermost bars hold what lies beyond.",
        ),
    ]


def _falling(report: ThinningReport) -> list[Block]:
    path = report.path
    if path is None:
        return []
    order = "in the order they were chosen" if report.nested else "in the order herding takes them"
    text = "The MMD of random subsets, by their size"
    if path.chosen.size:
        text = f"The MMD of the first T chosen rows, {order}, beside that of T random rows"
    final = None if report.mmd is None else (report.losses.n_select, report.mmd)
    return [
        Text(f"{text}. The dot is the choice itself."),
        Picture(
            plot_mmd_path(path.sizes, path.chosen, path.random, final=final),
            "MMD against the number of rows on logarithmic axes, chosen rows and random rows.",
            "The dashed line falls like 1/T; random subsets fall like the root of it.",
        ),
    ]


def _repeat(report: ThinningReport) -> list[Block]:
    blocks: list[Block] = [
        Text(
            f"Made by herder {report.version}. There is no randomness in it: the same input, "
            "options, version and machine give the same rows, with any number of threads."
        )
    ]
    if report.command:
        blocks.append(Text(report.command, "code"))
    return blocks


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:12])
    return f"{shown}, ..." if len(names) > 12 else shown
