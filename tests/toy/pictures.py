"""Pictures of the toy family."""

from typing import TYPE_CHECKING

import numpy as np

from herder.plots._style import SERIES, new_figure
from tests.toy.herding import ToyHerding

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_shares(result: ToyHerding) -> "Figure":
    """Draw the share of each state, and its target."""
    figure, ax = new_figure()
    states = np.arange(len(result.counts))
    ax.bar(states, result.shares, color=SERIES[0])
    ax.plot(states, result.counts / result.counts.sum(), "o", color=SERIES[1])
    ax.set_xlabel("state")
    ax.set_ylabel("share")
    return figure
