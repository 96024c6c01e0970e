"""Figure 3.17: predictions of territory by herding and by a random field, on one test game."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from papers.chen2013_thesis import go, pictures
from papers.claims import Row

#: The test game that is drawn.
GAME = 4

#: Points are in an empty area if no stone is within so many lines.
FAR = 2


def run(quick: bool, folder: Path) -> list[Row]:
    """Draw the predictions, and measure how sure they are in empty areas."""
    train, test = go.games(quick)
    stages = go.QUICK_STAGES if quick else go.STAGES
    prefix = "quick." if quick else ""
    boards: list[tuple[str, Any, Any]] = []
    rows = []
    for move in stages:
        new = test.boards[move]
        if quick or move != stages[0]:
            new = new[: GAME + 1]
        model = go.field(quick, move)
        herded = go.herd(new, go.patches(train, move), go.N_QUICK_STEPS if quick else go.N_STEPS)
        found = {"herding": herded, "CRF": go.believe(new, model)}
        empty = np.array([_far(board) for board in new])
        for name, chances in found.items():
            boards.append((f"move {move}, {name}", new[GAME], chances[GAME].reshape(19, 19)))
        if move == stages[0]:
            sure = {name: np.abs(2 * own - 1)[empty].mean() for name, own in found.items()}
            rows.append(Row(f"{prefix}sure.herd", float(sure["herding"])))
            rows.append(Row(f"{prefix}sure.crf", float(sure["CRF"])))
            rows.append(Row(f"{prefix}sure", float(sure["herding"] - sure["CRF"])))
    _draw(boards, folder / "figure3_17.png")
    return rows


def _far(board: go.Boards) -> Any:
    """Return the points without a stone near them, (361,)."""
    stones = np.pad(board != 0, FAR)
    size = 2 * FAR + 1
    near = np.lib.stride_tricks.sliding_window_view(stones, (size, size)).any(axis=(2, 3))
    return ~near.ravel()


def _draw(boards: list[tuple[str, Any, Any]], path: Path) -> None:
    """Draw stones as circles, and predictions as squares."""
    figure = Figure(figsize=(6.4, 3.3 * len(boards) / 2), layout="constrained")
    axes = np.ravel(figure.subplots(len(boards) // 2, 2))
    row, column = np.indices((19, 19)).reshape(2, -1)
    for ax, (title, board, chances) in zip(axes, boards, strict=True):
        for colour, fill in ((1, "black"), (-1, "white")):
            own = board.ravel() == colour
            ax.scatter(
                column[own], row[own], 62, fill, marker="o", edgecolors="black", linewidths=0.5
            )
            sides = np.maximum(colour * (2 * chances.ravel() - 1), 0)
            shown = (sides > 0.05) & ~own
            style: dict[str, Any] = {"edgecolors": "black", "linewidths": 0.4, "zorder": 3}
            ax.scatter(
                column[shown], row[shown], 28 * sides[shown] ** 2, fill, marker="s", **style
            )
        ax.set(aspect="equal", xlim=(-0.8, 18.8), ylim=(18.8, -0.8), xticks=[], yticks=[])
        ax.set_facecolor("#d9d2c3")
        ax.set_title(title, fontsize=10, loc="left")
    pictures.save(figure, path)
