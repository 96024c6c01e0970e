"""Figure 4.11: error of the predictive probability with T draws of the posterior."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from papers.chen2013_thesis import data, pictures
from papers.chen2013_thesis.curves import counts_to, settled, upper_slope
from papers.chen2013_thesis.posterior import reference
from papers.chen2013_thesis.predictions import bootstrap, experiment, running_predictions
from papers.claims import Row

Floats = NDArray[np.float64]

N_SETS = 10

#: The error to the reference has levelled off once it is below this multiple of that of D.
LEVELS = (1.1, 1.05, 1.2)


def run(quick: bool, folder: Path) -> list[Row]:
    """Measure equation 4.30 for herded and random draws, to D and to the reference."""
    found = experiment(quick)
    with threadpool_limits(1, "blas"):  # draws must not depend on the number of threads
        larger, accepted = reference(quick)
    counts = counts_to(len(found.picks))
    herded = running_predictions(found.draws[found.picks], counts, quick)
    random = np.random.default_rng([data.SEED, 11])
    usual = [
        running_predictions(bootstrap(found.draws, int(counts[-1]), random), counts, quick)
        for _ in range(N_SETS)
    ]
    to_draws, to_reference = _rmse(herded, found.mean), _rmse(herded, larger)
    chance = np.mean([_rmse(other, found.mean) for other in usual], axis=0)
    expected = float(found.spread.mean() / np.sqrt(len(found.draws)))
    reached = float(_rmse(found.mean[None], larger)[0])
    to_larger = np.mean([_rmse(other, larger) for other in usual], axis=0)
    curves = {
        "random, to D": (chance, pictures.RANDOM, "-"),
        "random, to the larger set": (to_larger, pictures.RANDOM, ":"),
        "herding, to D": (to_draws, pictures.HERDED, "-"),
        "herding, to the larger set": (to_reference, pictures.TRUE, "-"),
    }
    _draw(counts, curves, expected, reached, folder / "figure4_11.png")
    prefix = "quick." if quick else ""
    half = counts[counts <= counts[-1] // 2]
    early, late = upper_slope(to_draws[: len(half)], half), upper_slope(to_draws, counts, 100)
    later = f"Up to T = {half[-1]}: {early:.2f}. From T = 100 on: {late:.2f}."
    last = f"At T = {counts[-1]}: herding {to_draws[-1]:.1e}, random {chance[-1]:.1e}."
    rates = f"Accepted: {found.accepted:.2f} (D), {accepted:.2f} (larger set)."
    level, near, far = (settled(to_reference, counts, by * reached) for by in LEVELS)
    return [
        Row(f"{prefix}slope", upper_slope(to_draws, counts), note=f"{later} {last}"),
        Row(f"{prefix}random", upper_slope(chance, counts), note=f"Mean of {N_SETS} sets."),
        Row(f"{prefix}expected", expected),
        Row(f"{prefix}reached", reached, note=rates),
        Row(f"{prefix}count", settled(to_draws, counts, expected)),
        Row(f"{prefix}level", level),
        Row(f"{prefix}level.narrow", near),
        Row(f"{prefix}level.wide", far),
        Row(f"{prefix}converged", float(to_reference[-1] / reached), note=f"T = {counts[-1]}."),
    ]


def _rmse(predicted: Floats, truth: Floats) -> Floats:
    return np.sqrt(np.square(predicted - truth).mean(axis=1))


def _draw(
    counts: NDArray[np.intp],
    curves: dict[str, tuple[Floats, str, str]],
    expected: float,
    reached: float,
    path: Path,
) -> None:
    figure = Figure(figsize=(6.8, 4.6), layout="constrained")
    axes = figure.subplots()
    for name, (curve, colour, style) in curves.items():
        axes.loglog(counts, curve, style, color=colour, label=name)
    axes.axhline(expected, color=pictures.LEVEL, ls="--", lw=0.9, label="D, if independent")
    axes.axhline(reached, color=pictures.LEVEL, ls=":", lw=0.9, label="D, to the larger set")
    axes.legend(frameon=False, fontsize=8)
    pictures.tidy(axes, "T", "RMSE of the probability")
    pictures.save(figure, path)
