"""Figure 4.8: 1 / E_T grows in proportion to T."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from herder import herd_density
from papers.chen2013_thesis import data, mixtures, pictures
from papers.chen2013_thesis.curves import every, upper_slope
from papers.chen2013_thesis.figure4_7 import BANDWIDTH
from papers.claims import Row

N_POINTS, N_QUICK = 1000, 200


def run(quick: bool, folder: Path) -> list[Row]:
    """Herd the mixture of figure 4.7 further; fit a line to 1 / E_T."""
    target = mixtures.mixture(20, 2)
    n_points = N_QUICK if quick else N_POINTS
    error = herd_density(target, n_points, bandwidth=BANDWIDTH).errors
    random = target.sample(n_points, random_state=np.random.default_rng([data.SEED, 8]))
    usual = mixtures.distances(target, random, BANDWIDTH)
    counts = every(n_points)
    line = np.polyfit(counts, 1 / error, 1)
    unexplained = np.var(1 / error - np.polyval(line, counts)) / np.var(1 / error)
    _draw(1 / error, 1 / usual, line, folder / "figure4_8.png")
    prefix = "quick." if quick else ""
    return [
        Row(f"{prefix}unexplained", float(unexplained), note=f"T up to {n_points}."),
        Row(f"{prefix}slope", upper_slope(error, counts)),
        Row(f"{prefix}growth", float(line[0])),
        Row(f"{prefix}last", float(error[-1]), note=f"Independent points: {usual[-1]:.1e}."),
    ]


def _draw(
    herded: NDArray[np.float64],
    usual: NDArray[np.float64],
    line: NDArray[np.float64],
    path: Path,
) -> None:
    counts = every(len(herded))
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.plot(counts, herded, color=pictures.HERDED, label="herding")
    axes.plot(counts, np.polyval(line, counts), "--", color=pictures.LEVEL, label="a line")
    axes.plot(counts, usual, color=pictures.RANDOM, label="independent points")
    axes.legend(frameon=False, fontsize=9)
    pictures.tidy(axes, "T", "1 / E_T")
    pictures.save(figure, path)
