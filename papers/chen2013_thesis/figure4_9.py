"""Figure 4.9: errors of four expectations under a 5-D mixture, herded and random points."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.stats import t as student

from herder import herd_density
from papers.chen2013_thesis import data, mixtures, pictures
from papers.chen2013_thesis.curves import every, running_error, upper_slope
from papers.claims import Row

Floats = NDArray[np.float64]

N_POINTS, N_QUICK = 10_000, 150
N_SETS = 20

#: Mixtures, of which all but the first only give slopes.
N_MIXTURES, N_MIXTURES_QUICK = 10, 2

#: A smaller and a larger bandwidth, to show the effect of the choice.
OTHERS = (1.0, 2.0)

IDS = ("x", "x2", "x3", "sin")


def run(quick: bool, folder: Path) -> list[Row]:
    """Herd mixtures themselves; fit the upper bounds of the errors."""
    target = mixtures.mixture(100, 5)
    means, spread = mixtures.expectations(target, quick)
    n_points = N_QUICK if quick else N_POINTS
    points = herd_density(target, n_points, bandwidth=mixtures.BANDWIDTH).points
    random = np.random.default_rng([data.SEED, 9])
    sets = [target.sample(n_points, random_state=random) for _ in range(N_SETS)]
    herded = errors(points, means)
    others = [
        errors(herd_density(target, n_points, bandwidth=length).points, means) for length in OTHERS
    ]
    usual = [errors(other, means) for other in sets]
    counts = every(n_points)
    again = [
        _slopes(number, n_points, quick)
        for number in range(1, N_MIXTURES_QUICK if quick else N_MIXTURES)
    ]
    rows, curves = [], []
    prefix = "quick." if quick else ""
    for k, name in enumerate(IDS):
        level = np.array([found[k] for found in usual])
        slope = upper_slope(herded[k], counts)
        ratio = float(herded[k][n_points // 2 :].max() / level[:, n_points // 2 :].mean())
        narrow, wide = (upper_slope(found[k], counts) for found in others)
        slopes = np.array([slope, *(found[k] for found in again)])
        mean, low, high = interval(slopes)
        note = (
            f"95 % interval {low:.2f} to {high:.2f}; single mixtures {slopes.min():.2f} to "
            f"{slopes.max():.2f}. The first: {slope:.2f}; with the bandwidths "
            f"{OTHERS[0]} and {OTHERS[1]}: {narrow:.2f} and {wide:.2f}."
        )
        if name == "sin":
            note += f" Standard error of the true mean: {spread:.0e}."
        rows += [
            Row(f"{prefix}{name}.slope", mean, float(slopes.std(ddof=1)), upper=high, note=note),
            Row(f"{prefix}{name}.random", upper_slope(level.mean(axis=0), counts)),
            Row(f"{prefix}{name}.ratio", ratio),
        ]
        curves.append((herded[k], level.mean(axis=0), level.std(axis=0), slope))
    _draw(curves, folder / "figure4_9.png")
    return rows


def interval(numbers: Floats) -> tuple[float, float, float]:
    """Mean of independent numbers, and its 95 % interval by Student's t."""
    reach = student.ppf(0.975, len(numbers) - 1) * numbers.std(ddof=1) / np.sqrt(len(numbers))
    return float(numbers.mean()), float(numbers.mean() - reach), float(numbers.mean() + reach)


def _slopes(number: int, n_points: int, quick: bool) -> list[float]:
    """Slopes of herding for another mixture."""
    target = mixtures.mixture(100, 5, number)
    means, _ = mixtures.expectations(target, quick)
    points = herd_density(target, n_points, bandwidth=mixtures.BANDWIDTH).points
    return [upper_slope(error, every(n_points)) for error in errors(points, means)]


def errors(points: Floats, means: tuple[Floats, ...]) -> list[Floats]:
    """Errors of the four expectations after each of the points."""
    found = mixtures.functions(points)
    return [running_error(values, mean) for values, mean in zip(found, means, strict=True)]


def _draw(curves: list[tuple[Floats, Floats, Floats, float]], path: Path) -> None:
    figure = Figure(figsize=(8.6, 6.0), layout="constrained")
    for axes, name, (herded, mean, spread, slope) in zip(
        figure.subplots(2, 2).flat, mixtures.NAMES, curves, strict=True
    ):
        counts = every(len(herded))
        # Clipped at a hundredth of the mean, since the lower band may be negative.
        low = np.maximum(mean - spread, mean / 100)
        axes.fill_between(counts, low, mean + spread, color=pictures.RANDOM, alpha=0.35, lw=0)
        axes.loglog(counts, mean, color=pictures.RANDOM, label="independent points")
        axes.loglog(counts, herded, color=pictures.HERDED, lw=0.9, label="herding")
        pictures.tidy(axes, "T", "error", f"{name}, slope {slope:.2f}")
    figure.axes[0].legend(frameon=False, fontsize=9)
    pictures.save(figure, path)
