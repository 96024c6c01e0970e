"""Figure 2: two spirals by dimples, beside a mixture of 30 Gaussians."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity

from herder import BoostedField
from papers import pictures
from papers.claims import Row
from papers.welling2002_boosting import data

Floats = NDArray[np.float64]
Density = Callable[[Floats], Floats]

#: The paper's numbers of rounds and of Gaussians; rounds of a quick run.
N_ROUNDS, N_GAUSSIANS, QUICK_ROUNDS = 400, 30, 20

#: Bandwidths that are tried, in as many folds.
BANDWIDTHS, N_FOLDS = np.geomspace(0.2, 3.0, 25), 10

#: Lines of the grid, from corner to corner.
LINES, CORNERS = 121, ((-14.0, -10.0), (24.0, 15.0))

#: Log densities are drawn from this far below the largest one on; roughness counts there too.
DEPTH = 6.0

#: Rows that are drawn.
N_SHOWN = 600


def run(quick: bool, folder: Path) -> list[Row]:
    """Draw the figure; measure log densities of fresh rows, and how smooth surfaces are."""
    rows, fresh = data.spirals(quick=quick)
    fields = {
        name: BoostedField(
            n_rounds=QUICK_ROUNDS if quick else N_ROUNDS,
            weighted=weighted,
            max_components=0,
            penalty=0,
            n_iter_no_change=N_ROUNDS,
            random_state=data.SEED,
        ).fit(rows)
        for name, weighted in (("unweighted", False), ("weighted", True))
    }
    return measure(rows, fresh, fields, quick, folder)


def measure(
    rows: Floats, fresh: Floats, fields: dict[str, BoostedField], quick: bool, folder: Path
) -> list[Row]:
    """Draw and measure fitted fields."""
    n = 10 if quick else N_GAUSSIANS
    mixture = GaussianMixture(n, random_state=data.SEED).fit(rows)
    window: Any = GridSearchCV(KernelDensity(), {"bandwidth": BANDWIDTHS}, cv=N_FOLDS).fit(rows)
    densities: dict[str, Density] = {
        **{name: field.score_samples for name, field in fields.items()},
        "mixture": mixture.score_samples,
        "kernel": window.best_estimator_.score_samples,
    }
    _draw(fields["weighted"], mixture, rows, folder / "figure2.png")
    means = {name: float(density(fresh).mean()) for name, density in densities.items()}
    rough = {name: _roughness(density) for name, density in densities.items()}
    if quick:
        return [
            Row("quick.gain", means["mixture"] - means["unweighted"]),
            Row("quick.smoother", rough["unweighted"] / rough["mixture"]),
        ]
    bandwidth = f"Bandwidth {window.best_params_['bandwidth']:.2f}."
    notes = {"kernel": bandwidth}
    return [
        *(Row(name, mean, note=notes.get(name, "")) for name, mean in means.items()),
        *(Row(f"rough.{name}", value) for name, value in rough.items()),
        Row("smoother.weighted", rough["weighted"] / rough["mixture"]),
        Row("smoother.unweighted", rough["unweighted"] / rough["mixture"]),
    ]


def _grid() -> tuple[Floats, Floats, Floats]:
    """Return the lines of the grid, and its points in rows."""
    low, high = CORNERS
    across, up = np.linspace(low, high, LINES).T
    return across, up, np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)


def _surface(density: Density) -> tuple[Floats, Floats, Floats]:
    across, up, points = _grid()
    return across, up, density(points).reshape(LINES, LINES)


def _roughness(density: Density) -> float:
    """Return the root mean square Laplacian of the log density, where the density is high."""
    across, up, logs = _surface(density)
    second = [
        np.gradient(np.gradient(logs, line, axis=k), line, axis=k)
        for k, line in enumerate((up, across))
    ]
    laplacian = np.sum(second, axis=0)[logs > logs.max() - DEPTH]
    return float(np.sqrt((laplacian**2).mean()))


def _draw(field: BoostedField, mixture: GaussianMixture, rows: Floats, path: Path) -> None:
    figure = Figure(figsize=(9.2, 8.0), layout="constrained")
    cases = (
        (field.score_samples, field.sample(N_SHOWN), f"{field.n_rounds_} rounds of dimples"),
        (mixture.score_samples, None, f"mixture of {mixture.n_components} Gaussians"),
    )
    for k, (density, others, title) in enumerate(cases):
        across, up, logs = _surface(density)
        low, high = logs.max() - DEPTH, logs.max()
        ax = figure.add_subplot(2, 2, 2 * k + 1)
        levels = np.linspace(low, high, 13)
        ax.contour(across, up, logs, levels=levels, cmap="cividis", linewidths=0.8)
        if others is not None:
            ax.plot(*others.T, ".", color="#d97706", markersize=2.5, label="negative examples")
        ax.plot(*rows.T, "x", color="#1f2933", markersize=3, markeredgewidth=0.6, label="data")
        ax.set_xlim(across[0], across[-1])
        ax.set_ylim(up[0], up[-1])
        pictures.tidy(ax, "", "", f"({'ac'[k]}) {title}, contours of the energy")
        ax.legend(frameon=False, fontsize=8, loc="lower left", ncols=2)
        space: Any = figure.add_subplot(2, 2, 2 * k + 2, projection="3d")
        style = {"cmap": "cividis", "linewidth": 0, "rstride": 3, "cstride": 3}
        grid = np.meshgrid(across, up)
        space.plot_surface(*grid, np.maximum(logs, low), vmin=low, vmax=high, **style)
        space.view_init(elev=52, azim=-70)
        space.set_title(f"({'bd'[k]}) negative energy", fontsize=10, loc="left")
        space.tick_params(labelsize=7)
    pictures.save(figure, path, dpi=70)
