r"""Pictures of a moment herd: agreement of the counts, P(k), moment error, weight norm.

The moment error of a herd whose weights stay bounded lies below :math:`c / T`; on two
logarithmic axes that is a line of slope -1, which `plot_moment_error` draws beside it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import of_kind, one_of
from herder.fields.live import Trace
from herder.fields.synthesis import Synthesis
from herder.learn.comparison import FitCheck
from herder.models.moments import Moments
from herder.plots._inputs import by_label, numbers
from herder.plots._style import GREY, INK, SERIES, Figure, new_figure

__all__ = ["plot_agreement", "plot_count_distribution", "plot_moment_error", "plot_weight_norm"]

#: More points than this are drawn as one image inside the picture, to keep it small.
MAX_VECTOR_POINTS = 1500

#: Counts k that every distribution holds less often than this are left out at both ends.
SMALLEST_SHARE = 5e-4


def plot_agreement(target: Moments, reached: Moments) -> Figure:
    """Draw the share of every cell among the samples against its share in the table.

    Parameters
    ----------
    target : Moments
        Counts that were to be matched.
    reached : Moments
        Counts of the samples, over the same columns and cliques.

    Returns
    -------
    Figure
        On the left the shares with the diagonal, on the right their differences.
    """
    for name, one in (("target", target), ("reached", reached)):
        of_kind(one, name, Moments, "Moments")
    if target.variables != reached.variables or target.cliques != reached.cliques:
        raise ParameterError("reached", "have the columns and the cliques of target")
    wanted, got = target.probabilities(), reached.probabilities()
    sizes = np.repeat([len(clique) for clique in target.cliques], np.diff(target.layout.offsets))
    figure, (left, right) = new_figure(2, width=4.4, height=3.7)
    left.axline((0, 0), slope=1, color=GREY, linewidth=1, zorder=1)
    right.axhline(0, color=GREY, linewidth=1, zorder=1)
    names = {1: "single columns", 2: "pairs", 3: "triples"}
    for size in sorted(set(sizes.tolist()), reverse=True):
        held = sizes == size
        label = names.get(size, f"groups of {size}")
        style = {
            "s": {1: 20, 2: 11}.get(size, 6),
            "color": SERIES[(size - 2) % len(SERIES)],
            "alpha": 0.65,
            "linewidths": 0,
            "rasterized": bool(held.sum() > MAX_VECTOR_POINTS),
        }
        left.scatter(wanted[held], got[held], label=label, **style)
        right.scatter(wanted[held], got[held] - wanted[held], **style)
    given = "table" if target.from_rows else "counts"
    left.set(xlabel=f"share in the {given}", ylabel="share among the samples")
    left.set_aspect("equal", adjustable="datalim")
    right.set(xlabel=f"share in the {given}", ylabel=f"samples minus {given}")
    right.ticklabel_format(axis="y", style="sci", scilimits=(-3, 3), useMathText=True)
    left.legend(frameon=False, fontsize=9, loc="upper left", markerscale=1.4)
    return figure


def plot_count_distribution(
    distributions: Mapping[str, ArrayLike], *, bars: str | None = None
) -> Figure:
    """Draw distributions P(k) of the number of ones.

    Parameters
    ----------
    distributions : mapping of label to array-like of shape (D + 1,)
        P(k), k = 0, ..., D, of each sample that is compared.
    bars : str, optional
        Label of the one to draw as bars, the first by default; the others are dots.
    """
    given = by_label(distributions, "distributions")
    shares = {label: numbers(values, "distributions") for label, values in given.items()}
    lengths = {len(values) for values in shares.values()}
    if len(lengths) > 1:
        raise ParameterError("distributions", "have one length", got=f"lengths {sorted(lengths)}")
    base = next(iter(shares)) if bars is None else one_of(bars, "bars", list(shares))
    k = np.arange(lengths.pop())
    figure, ax = new_figure(width=6.4)
    colour = "#cbd2d9" if len(shares) > 1 else SERIES[0]
    drawn = [ax.bar(k, shares[base], width=0.82, color=colour, label=base)]
    others = [label for label in shares if label != base]
    for label, colour, marker in zip(others, SERIES, "os^D", strict=False):
        style: dict[str, Any] = {"marker": marker, "markersize": 4.5, "color": colour}
        drawn += ax.plot(k, shares[label], linewidth=1.2, label=label, **style)
    held = np.nonzero(np.max(list(shares.values()), axis=0) > SMALLEST_SHARE)[0]
    if len(held):
        ax.set_xlim(max(held[0] - 1, 0) - 0.6, min(held[-1] + 1, k[-1]) + 0.6)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.grid(visible=False, axis="x")
    ax.set(xlabel="number of ones in a row, k", ylabel="share of rows, P(k)")
    ax.legend(handles=drawn, frameon=False, fontsize=9)
    return figure


def draw_fit_agreement(check: FitCheck) -> Figure:
    """Draw the shares of single columns and pairs in a fitted model against those in rows."""
    return plot_agreement(_pair_shares(check, "rows"), _pair_shares(check, "model"))


def draw_fit_counts(check: FitCheck) -> Figure:
    """Draw P(k) of rows and of a fitted model."""
    return plot_count_distribution({"rows": check.counts.rows, "model": check.counts.model})


def _pair_shares(check: FitCheck, side: str) -> Moments:
    n = len(check.names)
    matrix: NDArray[np.float64] = np.diag(getattr(check.means, side))
    i, j = check.pairs.labels.T
    matrix[i, j] = matrix[j, i] = getattr(check.pairs, side)
    names = check.names if n == len(set(check.names)) else [str(k) for k in range(n)]
    return Moments.from_counts(matrix, total=1, names=list(names), contradictions="allow")


def draw_counts(synthesis: Synthesis) -> Figure:
    """Draw P(k) of the rows made, and of the table if it is known."""
    return plot_count_distribution(synthesis.count_distributions())


def plot_moment_error(trace: Trace) -> Figure:
    """Draw the moment error against the number of samples, with a line of slope -1."""
    of_kind(trace, "trace", Trace, "a Trace")
    figure, ax = new_figure()
    t = trace.t.astype(float)
    lines = ((trace.error, "largest error", "o"), (trace.rms, "root mean square", "s"))
    for (error, label, marker), colour in zip(lines, SERIES, strict=False):
        style = {"marker": marker, "markersize": 4, "color": colour, "linewidth": 1.4}
        held = error > 0  # logarithmic axes have no zero
        ax.plot(t[held], error[held], label=label, **style)
    held = trace.error > 0
    if held.any():
        at = np.nonzero(held)[0][-1]
        line = trace.error[at] * t[at] / t
        ax.plot(t, line, color=GREY, linestyle="--", linewidth=1.2, label="1/T")
    ax.set(xscale="log", yscale="log", xlabel="samples so far, T", ylabel="moment error")
    ax.legend(frameon=False, fontsize=9)
    return figure


def plot_weight_norm(trace: Trace) -> Figure:
    """Draw the Euclidean norm of the weights against the number of samples."""
    of_kind(trace, "trace", Trace, "a Trace")
    figure, ax = new_figure()
    ax.plot(trace.t, trace.norm, marker="o", markersize=4, color=SERIES[0], linewidth=1.4)
    ax.set(xscale="log", xlabel="samples so far, T", ylabel="norm of the weights")
    ax.set_ylim(0, 1.15 * float(np.max(trace.norm, initial=1e-9)))
    ax.tick_params(axis="x", which="minor", color=INK)
    return figure
