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
SAME, OTHERS = 2, (1, 4)


def run(quick: bool, folder: Path) -> list[Row]:
    """Find the number of draws after which the accuracy stays at that of D."""
    found, label = experiment(quick), data.task(quick).y_test
    counts = every(len(found.picks) if quick else N_DRAWS)
    whole = float(np.mean((found.mean > 0.5) == label))
    herded = _accuracy(found.draws[found.picks], counts, quick)
    random = np.random.default_rng([data.SEED, 12])
    sets = [
        _accuracy(bootstrap(found.draws, len(counts), random), counts, quick)
        for _ in range(N_SETS)
    ]
    needed, quartiles = {}, {}
    for rows in (SAME, *OTHERS):
        # Half a row more, so that rounding has no effect.
        off = (rows + 0.5) / len(label)
        needed[rows] = settled(np.abs(herded - whole), counts, off)
        by_chance = [settled(np.abs(other - whole), counts, off) for other in sets]
        # A subset that never reaches the level ranks last.
        ranked = np.nan_to_num(by_chance, nan=np.inf)
        quartiles[rows] = np.quantile(ranked, (0.25, 0.5, 0.75), method="lower")
    _draw(counts, herded, sets[:N_DRAWN], whole, folder / "figure4_12.png")
    prefix = "quick." if quick else ""
    low, middle, high = quartiles[SAME]
    note = f"Median of {N_SETS} subsets; quartiles {low:.0f} and {high:.0f}."
    return [
        Row(f"{prefix}accuracy", whole, note=f"Herding with 20 draws: {herded[19]:.4f}."),
        Row(f"{prefix}herded", needed[SAME], note=_others(needed)),
        Row(
            f"{prefix}random",
            float(middle),
            note=f"{note} {_others({k: float(q[1]) for k, q in quartiles.items()})}",
        ),
    ]


def _others(needed: dict[int, float]) -> str:
    return " ".join(f"Within {k} row{'s'[: k > 1]}: {needed[k]:.0f}." for k in OTHERS)


def _accuracy(draws: Floats, counts: NDArray[np.intp], quick: bool) -> Floats:
    predicted = running_predictions(draws, counts, quick) > 0.5
    return (predicted == data.task(quick).y_test).mean(axis=1)


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
