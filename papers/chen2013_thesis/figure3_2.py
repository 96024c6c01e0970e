"""Figure 3.2: squared error of the regression along its own herd, learnt in one phase or two."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from papers.chen2013_thesis import codes, hidden, pictures, regression
from papers.chen2013_thesis.curves import mean_and_spread
from papers.claims import Row

N_STEPS, N_QUICK = 10_000, 100

#: Steps of a point of the picture.
BLOCK = 100


def run(quick: bool, folder: Path) -> list[Row]:
    """Measure both regressions while nothing is learnt."""
    n_steps = N_QUICK if quick else N_STEPS
    one, both = (regression.learnt(quick, k).go_on(n_steps, top=0.0) for k in (1, 2))
    _draw({"phase 1 only": one, "both phases": both}, folder / "figure3_2.png")
    rounded = codes.learn_prototypes("8", quick, 4 if quick else regression.N_PROTOTYPES)
    errors = rounded.errors(hidden.images("8", quick).train, n_steps // 10)
    prefix = "quick." if quick else ""
    note = f"Over {n_steps} steps."
    return [
        Row(f"{prefix}one", *mean_and_spread(one), note=note),
        Row(f"{prefix}both", *mean_and_spread(both), note=note),
        Row(f"{prefix}mean", float(both.mean() / one.mean())),
        Row(f"{prefix}spread", float(both.std() / one.std())),
        Row(f"{prefix}rounded", *mean_and_spread(errors), note=f"Over {n_steps // 10} steps."),
    ]


def _draw(given: dict[str, hidden.Floats], path: Path) -> None:
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for (name, errors), colour in zip(
        given.items(), (pictures.RANDOM, pictures.HERDED), strict=True
    ):
        size = min(BLOCK, len(errors) // 10)
        blocks = errors[: len(errors) // size * size].reshape(-1, size)
        steps = size * np.arange(1, len(blocks) + 1)
        axes.plot(steps, blocks.mean(axis=1), color=colour, label=name)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=9)
    pictures.tidy(axes, "step", "squared error", f"means over {BLOCK} steps")
    pictures.save(figure, path)
