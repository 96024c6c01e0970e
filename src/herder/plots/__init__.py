"""Pictures of results: each function takes a result and gives a matplotlib Figure."""

from herder.plots.convergence import plot_convergence, plot_scan_report
from herder.plots.dynamics import plot_tipi
from herder.plots.fields import plot_couplings, plot_energies, plot_sampling, plot_state
from herder.plots.moments import (
    plot_agreement,
    plot_count_distribution,
    plot_moment_error,
    plot_weight_norm,
)
from herder.plots.online import (
    plot_calibration,
    plot_progressive,
    plot_update,
    plot_weights,
)
from herder.plots.thinning import plot_density, plot_marginals, plot_mmd_path, plot_picks

__all__ = [
    "plot_agreement",
    "plot_calibration",
    "plot_convergence",
    "plot_count_distribution",
    "plot_couplings",
    "plot_density",
    "plot_energies",
    "plot_marginals",
    "plot_mmd_path",
    "plot_moment_error",
    "plot_picks",
    "plot_progressive",
    "plot_sampling",
    "plot_scan_report",
    "plot_state",
    "plot_tipi",
    "plot_update",
    "plot_weight_norm",
    "plot_weights",
]
