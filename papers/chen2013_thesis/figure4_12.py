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

#: "The same accuracy" as D: the number of correct test rows differs by at most this many. The
#: thesis does not say how many; these levels have rows of their own.
LEVELS = range(9)
SHOWN = (2, 1, 4)


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
    prefix = "quick." if quick else ""
    note = f"Herding with 20 draws: {herded[19]:.4f}."
    rows = [Row(f"{prefix}accuracy", whole, note=note)]
    # Half a row more, so that rounding has no effect.
    offs = [(level + 0.5) / len(label) for level in LEVELS]
    ours = np.array([needed(herded, whole, counts, off) for off in offs])
    theirs = np.array(
        [
            np.quantile(
                [needed(other, whole, counts, off) for other in sets],
                (0.25, 0.5, 0.75),
                method="lower",
            )
            for off in offs
        ]
    )
    for level in SHOWN:
        low, middle, high = theirs[level]
        note = f"Median of {N_SETS} subsets; quartiles {_count(low)} and {_count(high)}."
        rows += [
            Row(f"{prefix}herded.{level}", float(ours[level])),
            Row(f"{prefix}random.{level}", float(middle), note=note),
        ]
    reverses = next((k for k in LEVELS if theirs[k, 1] <= ours[k] < np.inf), np.nan)
    levels = f"Levels {LEVELS[0]} to {LEVELS[-1]}"
    note = f"{levels}: herding {_list(ours)}; random {_list(theirs[:, 1])}."
    rows.append(Row(f"{prefix}reverses", float(reverses), note=note))
    _draw(counts, herded, sets[:N_DRAWN], whole, ours, theirs, folder / "figure4_12.png")
    return rows


def _count(number: float) -> str:
    return f"{number:.0f}" if np.isfinite(number) else "more"


def _list(numbers: Floats) -> str:
    return ", ".join(map(_count, numbers))


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
    counts: NDArray[np.intp],
    herded: Floats,
    sets: list[Floats],
    whole: float,
    ours: Floats,
    theirs: Floats,
    path: Path,
) -> None:
    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    axes, levels = figure.subplots(1, 2, width_ratios=(3, 2))
    for k, other in enumerate(sets):
        label = f"{len(sets)} random subsets" if k == 0 else None
        axes.semilogx(counts, other, color=pictures.RANDOM, lw=0.7, label=label)
    axes.semilogx(counts, herded, color=pictures.LEVEL, label="herding")
    axes.axhline(whole, color=pictures.TRUE, ls="--", lw=1.0, label="all draws")
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    pictures.tidy(axes, "T", "accuracy")
    low, middle, high = np.minimum(theirs, counts[-1]).T
    levels.fill_between(LEVELS, low, high, color=pictures.RANDOM, alpha=0.35, lw=0)
    levels.semilogy(LEVELS, middle, "s-", ms=4, color=pictures.RANDOM, label="random, quartiles")
    levels.semilogy(
        LEVELS, np.minimum(ours, counts[-1]), "o-", ms=4, color=pictures.LEVEL, label="herding"
    )
    levels.legend(frameon=False, fontsize=9)
    pictures.tidy(levels, "level: test rows of difference", "draws needed")
    pictures.save(figure, path)
