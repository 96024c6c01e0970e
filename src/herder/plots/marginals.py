"""Pictures of herded marginals."""

import numpy as np

from herder._validation import of_kind
from herder.fields.marginals import MarginalHerding
from herder.plots._style import GREY, SERIES, Figure, new_figure

__all__ = ["plot_marginal_distance"]


def plot_marginal_distance(result: MarginalHerding) -> Figure:
    """Draw the distance to the given marginals by step: it levels off if they are inconsistent.

    Parameters
    ----------
    result : MarginalHerding
        What `herder.herd_marginals` returned.
    """
    path = of_kind(result, "result", MarginalHerding, "a MarginalHerding").path
    steps, distances = path[path[:, 1] > 0].T if (path[:, 1] > 0).any() else path.T
    figure, ax = new_figure(width=6.0)
    ax.plot(steps, distances, "o-", color=SERIES[0], markersize=3, label="averages")
    ax.plot(steps, distances[0] * steps[0] / steps, "--", color=GREY, label="rate 1/T")
    if (distances > 0).all():
        ax.set_yscale("log")
        ax.set_ylim(bottom=float(np.min(distances)) / 2)
    ax.set_xscale("log")
    ax.set_xlabel("step")
    ax.set_ylabel("distance to the given marginals")
    ax.legend(frameon=False, fontsize=9)
    return figure
