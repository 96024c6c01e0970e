"""Pictures of results: each function takes a result and gives a matplotlib Figure."""

from herder.plots.dynamics import plot_tipi
from herder.plots.moments import (
    plot_agreement,
    plot_count_distribution,
    plot_moment_error,
    plot_weight_norm,
)

__all__ = [
    "plot_agreement",
    "plot_count_distribution",
    "plot_moment_error",
    "plot_tipi",
    "plot_weight_norm",
]
