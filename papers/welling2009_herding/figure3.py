"""Figure 3: P(k) of the bowling data: data, triples, pairs and single marginals."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from herder import MomentHerder, count_distribution, total_variation
from papers.claims import Row
from papers.welling2009_herding import data, pictures

N_SAMPLES = 100_000
NAMES = ("data", "herding with triples", "herding with pairs", "single marginals")


def run(quick: bool, folder: Path) -> list[Row]:
    """Draw the bars; measure the distance of each estimate from the data."""
    table = data.neighbours() if quick else data.bowling()
    n_samples = 3000 if quick else N_SAMPLES
    estimates = [count_distribution(table)]
    for order in (3, 2):
        herder = MomentHerder(order, encoding="01", restarts="none").fit(table)
        estimates.append(count_distribution(herder.herd(n_samples).samples))
    estimates.append(data.independent(table))
    _draw(estimates, folder / "figure3.png", "ones" if quick else "pins that fell")
    triples, pairs, alone = (total_variation(estimates[0], other) for other in estimates[1:])
    name = "quick" if quick else "bowling"
    note = "Total variation distances: triples {:.3f}, pairs {:.3f}, marginals {:.3f}."
    return [
        Row(f"{name}.triples/pairs", triples / pairs, note=note.format(triples, pairs, alone)),
        Row(f"{name}.pairs/marginals", pairs / alone),
    ]


def _draw(estimates: list[NDArray[np.float64]], path: Path, what: str) -> None:
    figure = Figure(figsize=(8.2, 3.6), layout="constrained")
    axes = figure.subplots()
    place = np.arange(len(estimates[0]))
    width = 0.8 / len(estimates)
    for b, (share, name, colour) in enumerate(
        zip(estimates, NAMES, pictures.COLOURS, strict=True)
    ):
        axes.bar(place + (b - 1.5) * width, share, width, label=name, color=colour)
    axes.set_xlabel(f"k, {what}")
    axes.set_ylabel("P(k)")
    axes.set_xticks(place)
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    pictures.save(figure, path)
