"""Figure 4.7: the first 20 herded points of a 2-D mixture, and 20 independent ones."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from herder import GaussianMixture, herd_density
from papers.chen2013_thesis import data, mixtures, pictures
from papers.chen2013_thesis.curves import mean_and_spread
from papers.claims import Row

Floats = NDArray[np.float64]

N_POINTS = 20

#: Of the kernel: about the standard deviation of a component.
BANDWIDTH = 0.5

N_SETS = 1000


def run(quick: bool, folder: Path) -> list[Row]:
    """Draw both sets; measure their distance to the mixture and the components they miss."""
    target = mixtures.mixture(20, 2)
    herding = herd_density(target, N_POINTS, bandwidth=BANDWIDTH)
    random = np.random.default_rng([data.SEED, 7])
    sets = [target.sample(N_POINTS, random_state=random) for _ in range(100 if quick else N_SETS)]
    _draw(target, herding.points, sets[0], folder / "figure4_7.png")
    distances = [mixtures.distances(target, points, BANDWIDTH)[-1] for points in sets]
    theirs, spread = mean_and_spread(distances)
    empty = _empty(target, herding.points)
    missed, missed_spread = mean_and_spread([_empty(target, points) for points in sets])
    prefix = "quick." if quick else ""
    note = f"Mean over {len(sets)} sets."
    return [
        Row(f"{prefix}herded.distance", herding.mmd),
        Row(f"{prefix}iid.distance", theirs, spread=spread, note=note),
        Row(f"{prefix}ratio", herding.mmd / theirs),
        Row(f"{prefix}herded.empty", empty, limit=missed),
        Row(f"{prefix}iid.empty", missed, spread=missed_spread, note=note),
    ]


def _empty(target: GaussianMixture, points: Floats) -> float:
    """Components that are the most likely one for none of the points."""
    logs = [
        GaussianMixture(mean[None], covariance[None]).log_density(points)
        for mean, covariance in zip(target.means, target.covariances, strict=True)
    ]
    return float(target.n_components - len(np.unique(np.argmax(logs, axis=0))))


def _draw(target: GaussianMixture, herded: Floats, independent: Floats, path: Path) -> None:
    points = np.vstack([herded, independent, target.means])
    low, high = points.min(axis=0) - 0.8, points.max(axis=0) + 0.8
    x, y = (np.linspace(low[j], high[j], 200) for j in (0, 1))
    grid = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    density = target.density(grid).reshape(len(y), len(x))
    figure = Figure(figsize=(6.4, 5.4), layout="constrained")
    axes = figure.subplots()
    axes.contour(x, y, density, levels=10, cmap="Greys", linewidths=0.7)
    axes.plot(*independent.T, "o", color=pictures.RANDOM, label="independent")
    axes.plot(*herded.T, "s", color=pictures.TRUE, label="herded")
    axes.set_aspect("equal")
    axes.legend(frameon=False, fontsize=9)
    pictures.tidy(axes, "", "")
    pictures.save(figure, path)
