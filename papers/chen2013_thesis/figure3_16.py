"""Figure 3.16: cross entropy of herding and of a random field at three stages of the game."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from herder.apps.go import predict
from papers.chen2013_thesis import go, pictures
from papers.claims import Row

Floats = go.Floats

#: Stages at which the thesis has the CRF ahead.
LATE = (80, 150)

#: What is drawn: name and colour.
DRAWN = {
    "herd": ("herding", pictures.HERDED),
    "crf": ("CRF", pictures.RANDOM),
    "cool": ("CRF, one temperature", pictures.TRUE),
    "single": ("single stones", pictures.LEVEL),
}


def run(quick: bool, folder: Path) -> list[Row]:
    """Measure the cross entropy of each test game."""
    train, test = go.games(quick)
    stages = go.QUICK_STAGES if quick else go.STAGES
    found = {move: _stage(quick, move, train, test) for move in stages}
    _draw(found, folder / "figure3_16.png")
    prefix = "quick." if quick else ""
    rows = []
    for move, each in found.items():
        names = [name for name in each if name != "shipped" or not quick]
        for name in names:
            own = each[name]
            rows.append(Row(f"{prefix}{name}.{move}", float(own.mean()), float(own.std())))
        for other in ("crf", "cool"):
            gap = each["herd"] - each[other]
            error = 2 * gap.std() / np.sqrt(len(gap))
            note = f"95 % interval: +- {error:.3f}."
            rows.append(Row(f"{prefix}gap.{other}.{move}", float(gap.mean()), note=note))
            ratio = float(each["herd"].std() / each[other].std())
            rows.append(Row(f"{prefix}spread.{other}.{move}", ratio))
        if move in LATE and not quick:
            rows.append(Row(f"late.{move}", float(each["crf"].mean() - each["herd"].mean())))
    return rows


def _stage(quick: bool, move: int, train: go.Games, test: go.Games) -> dict[str, Floats]:
    """Return the entropies of all games by method."""
    new, tables = test.boards[move], go.patches(train, move)
    model = go.field(quick, move)
    beliefs = go.believe(new, model)
    single = tables["single"][np.where(new < 0, 2, new), 1].reshape(len(new), -1)
    chances = {
        "single": single,
        "herd": go.herd(new, tables, go.N_QUICK_STEPS if quick else go.N_STEPS),
        "crf": beliefs,
        "cool": go.calibrate(beliefs, model),
    }
    if not quick:
        chances["shipped"] = np.array([predict(board, move).ravel() for board in new])
    return {name: go.entropies(own, test.owners) for name, own in chances.items()}


def _draw(found: dict[int, dict[str, Floats]], path: Path) -> None:
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for place, (name, (label, colour)) in enumerate(DRAWN.items()):
        own = [each[name] for each in found.values()]
        at = np.arange(len(own)) + 0.08 * (place - 1.5)
        means, spreads = [each.mean() for each in own], [each.std() for each in own]
        axes.errorbar(at, means, spreads, fmt="o-", color=colour, ms=4, capsize=3, label=label)
    axes.set_xticks(range(len(found)), [f"move {move}" for move in found])
    axes.legend(frameon=False, fontsize=9)
    pictures.tidy(axes, "", "cross entropy, nats a point")
    pictures.save(figure, path)
