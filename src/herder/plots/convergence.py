r"""Pictures of samplers: the error against the number of sweeps, and scan orders side by side.

The error of averages over T independent states falls as :math:`1 / \sqrt T`. That of herded Gibbs
falls as :math:`1 / T` on complete graphs [chen2014]_; on others it is below that of Gibbs sampling
until its bias dominates [bornn2013]_.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import listed, of_kind
from herder.plots._inputs import by_label, numbers
from herder.plots._style import BESIDE, GREY, SERIES, Figure, line_style, log_line, new_figure
from herder.samplers.scan_check import ScanReport

__all__ = ["plot_convergence", "plot_scan_report"]


def plot_convergence(
    errors: Mapping[str, tuple[ArrayLike, ArrayLike]], *, ylabel: str = "error of the marginals"
) -> Figure:
    """Draw errors against the number of sweeps, with the slopes 1/T and 1/sqrt(T).

    Parameters
    ----------
    errors : mapping of label to (array-like, array-like)
        Numbers of sweeps T, and the error after each, of every sampler.
    ylabel : str
        What the error is.
    """
    given = by_label(errors, "errors")
    of_kind(ylabel, "ylabel", str, "a text")
    figure, ax = new_figure(width=6.8, height=3.8)
    spans: list[tuple[float, float, float]] = []
    rule = "be pairs of T and error"
    for place, (label, one) in enumerate(given.items()):
        pair = listed(one, "errors", "T and error")
        if len(pair) != 2:
            raise ParameterError("errors", rule, got=f"{len(pair)} at {label!r}")
        t, error = numbers(pair[0], "errors"), numbers(pair[1], "errors")
        if t.shape != error.shape:
            got = f"{label!r}: {t.shape}, {error.shape}"
            raise ParameterError("errors", "have one error for each T", got=got)
        if (t <= 0).any():
            raise ParameterError("errors", "have positive T", t.min())
        style = {"marker": "os^D"[place % 4], "markersize": 3.5, **line_style(place)}
        held = log_line(ax, t, error, label=label, **style)
        if held.any():
            spans.append((t[held].min(), t[held].max(), error[held][0]))
    if spans:
        starts, ends, heights = zip(*spans, strict=True)
        first, height = min(starts), max(heights)
        t = np.geomspace(first, max(ends), 50)
        ax.plot(t, height * np.sqrt(first / t), color=GREY, linestyle="--", label=r"$1/\sqrt{T}$")
        ax.plot(t, height * first / t, color=GREY, linestyle=":", label="$1/T$")
    ax.set(xscale="log", yscale="log", xlabel="sweeps, T", ylabel=ylabel)
    ax.legend(frameon=False, fontsize=9, **BESIDE)
    return figure


def plot_scan_report(report: ScanReport) -> Figure:
    """Draw a `herder.check_scan_orders` report: the error of every scan order, and of Gibbs.

    A dot is the error of the marginals, averaged over the pieces. An order whose two dots lie
    close together has stopped falling.

    Parameters
    ----------
    report : ScanReport
        Of `herder.check_scan_orders`.
    """
    if not isinstance(report, ScanReport):
        raise ParameterTypeError("report", "be a ScanReport", got=type(report).__name__)
    tried = report.orders[::-1]  # the best on top
    height = np.arange(len(tried))
    errors = [(one.error, one.final_error, one.gibbs_error) for one in tried]
    first, last, plain = np.array(errors).T
    figure, ax = new_figure(width=6.0, height=1.2 + 0.45 * len(tried))
    ax.hlines(height, last, first, color=SERIES[0], linewidth=1.2)
    sweeps = report.n_sweeps
    ax.plot(first, height, "o", color="white", markeredgecolor=SERIES[0], label=f"T = {sweeps:,}")
    ax.plot(last, height, "o", color=SERIES[0], label=f"T = {10 * sweeps:,}")
    ax.plot(plain, height, "s", color=SERIES[1], label=f"Gibbs, T = {10 * sweeps:,}")
    ax.set_yticks(height, [one.order for one in tried])
    ax.set(xscale="log", ylim=(-0.6, len(tried) - 0.4), xlabel="error of the marginals")
    ax.legend(frameon=False, fontsize=9, **BESIDE)
    return figure
