"""Figure 4.12: accuracy on the test set with T draws of the posterior."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from papers.chen2013_thesis import data, pictures
from papers.chen2013_thesis.curves import every, settled
from papers.chen2013_thesis.predictions import bootstrap, experiment, running_predictions
from papers.claims import Row

Floats = NDArray[np.float64]

N_DRAWS = 2000
N_SETS, N_DRAWN = 40, 10

#: "The same accuracy" as D: the number of correct test rows differs by at most this many.
LEVELS = (2, 1, 4)


def run(quick: bool, folder: Path) -> list[Row]:
    """Find the number of draws after which the accuracy stays at that of D."""
    found, label = experiment(quick), data.task(quick).y_test
    counts = every(len(found.picks) if quick else N_DRAWS)
    whole = float(np.mean((found.mean > 0.5) == label))
    herded = accuracy(found.draws[found.picks], counts, quick)
    random = np.random.default_rng([data.SEED, 12])
    sets = [
        accuracy(bootstrap(found.draws, len(counts), random), counts, quick) for _ in range(N_SETS)
    ]
    _draw(counts, herded, sets[:N_DRAWN], whole, folder / "figure4_12.png")
    prefix = "quick." if quick else ""
    note = f"Herding with 20 draws: {herded[19]:.4f}."
    rows = [Row(f"{prefix}accuracy", whole, note=note)]
    for level in LEVELS:
        # Half a row more, so that rounding has no effect.
        off = (level + 0.5) / len(label)
        by_chance = [needed(other, whole, counts, off) for other in sets]
        low, middle, high = np.quantile(by_chance, (0.25, 0.5, 0.75), method="lower")
        note = f"Median of {N_SETS} subsets; quartiles {low:.0f} and {high:.0f}."
        rows += [
            Row(f"{prefix}herded.{level}", needed(herded, whole, counts, off)),
            Row(f"{prefix}random.{level}", float(middle), note=note),
        ]
    return rows


def accuracy(draws: Floats, counts: NDArray[np.intp], quick: bool) -> Floats:
    """Share of test rows that the mean over the first T draws classifies correctly."""
    predicted = running_predictions(draws, counts, quick) > 0.5
    return (predicted == data.task(quick).y_test).mean(axis=1)


def needed(curve: Floats, whole: float, counts: NDArray[np.intp], off: float) -> float:
    """First T after which the accuracy differs from that of D by at most ``off``.

    Infinite if there is none, so that such a set ranks last.
    """
    found = settled(np.abs(curve - whole), counts, off)
    return found if np.isfinite(found) else np.inf


def _draw(
    counts: NDArray[np.intp], herded: Floats, sets: list[Floats], whole: float, path: Path
) -> None:
    figure = Figure(figsize=(6.8, 4.2), layout="constrained")
    axes = figure.subplots()
    for k, other in enumerate(sets):
        label = f"{len(sets)} random subsets" if k == 0 else None
        axes.semilogx(counts, other, color=pictures.RANDOM, lw=0.7, label=label)
    axes.semilogx(counts, herded, color=pictures.LEVEL, label="herding")
    axes.axhline(whole, color=pictures.TRUE, ls="--", lw=1.0, label="all draws")
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    pictures.tidy(axes, "T", "accuracy")
    pictures.save(figure, path)
