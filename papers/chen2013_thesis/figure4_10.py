"""Figure 4.10: errors of four expectations when a sample of the 5-D mixture is herded."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from herder import Gaussian, kernel_herd
from papers.chen2013_thesis import data, mixtures, pictures
from papers.chen2013_thesis.curves import every, settled, upper_slope
from papers.chen2013_thesis.figure4_9 import IDS, N_SETS, errors
from papers.claims import Row

Floats = NDArray[np.float64]

N_SAMPLE, N_PICKS = 100_000, 10_000
N_QUICK, N_QUICK_PICKS = 2000, 200

#: Super-samples needed for the precision of D in the thesis.
ENOUGH = (2000, 2000, 2000, 10_000)


def run(quick: bool, folder: Path) -> list[Row]:
    """Herd the sample; measure errors to the sample and to the mixture."""
    n, n_picks = (N_QUICK, N_QUICK_PICKS) if quick else (N_SAMPLE, N_PICKS)
    target = mixtures.mixture(100, 5)
    truth = mixtures.expectations(target, quick)[0]
    random = np.random.default_rng([data.SEED, 10])
    sample = target.sample(n, random_state=random)
    values = mixtures.functions(sample)
    means = tuple(column.mean(axis=0) for column in values)
    picks = sample[kernel_herd(sample, n_picks, kernel=Gaussian(mixtures.BANDWIDTH)).indices]
    to_sample, to_truth = errors(picks, means), errors(picks, truth)
    sets = [errors(target.sample(n_picks, random_state=random), truth) for _ in range(N_SETS)]
    counts = every(n_picks)
    rows, curves = [], []
    prefix = "quick." if quick else ""
    for k, name in enumerate(IDS):
        # Expected error of a sample of this size: the standard error, RMS over dimensions.
        level = float(np.sqrt(values[k].var(axis=0).mean() / n))
        reached = float(np.sqrt(np.square(means[k] - truth[k]).mean()))
        enough = min(ENOUGH[k], n_picks)
        slope = upper_slope(to_sample[k], counts)
        note = f"Error of D: {level:.1e} expected, {reached:.1e} found."
        at = f"{to_truth[k][enough - 1]:.1e} with {enough}."
        rows += [
            Row(f"{prefix}{name}.slope", slope),
            Row(f"{prefix}{name}.count", settled(to_sample[k], counts, level), note=note),
            Row(f"{prefix}{name}.ratio", float(to_truth[k][enough - 1] / reached), note=at),
        ]
        usual = np.mean([found[k] for found in sets], axis=0)
        curves.append((to_sample[k], to_truth[k], usual, reached, slope))
    _draw(curves, folder / "figure4_10.png")
    return rows


def _draw(curves: list[tuple[Floats, Floats, Floats, float, float]], path: Path) -> None:
    figure = Figure(figsize=(8.6, 6.0), layout="constrained")
    for axes, name, (to_sample, to_truth, usual, reached, slope) in zip(
        figure.subplots(2, 2).flat, mixtures.NAMES, curves, strict=True
    ):
        counts = every(len(usual))
        axes.loglog(counts, usual, color=pictures.RANDOM, label="independent points, to p")
        axes.loglog(counts, to_truth, color=pictures.TRUE, lw=0.9, label="herding, to p")
        axes.loglog(counts, to_sample, color=pictures.HERDED, lw=0.9, label="herding, to D")
        axes.axhline(reached, color=pictures.LEVEL, ls="--", lw=0.9, label="D, to p")
        pictures.tidy(axes, "T", "error", f"{name}, slope {slope:.2f}")
    figure.axes[0].legend(frameon=False, fontsize=8)
    pictures.save(figure, path)
