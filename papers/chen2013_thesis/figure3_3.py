"""Figure 3.3: prototypes of digit 8 as pictures."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from papers.chen2013_thesis import hidden, pictures, regression
from papers.claims import Row

#: Prototypes of a line of the picture.
COLUMNS = 10


def run(quick: bool, folder: Path) -> list[Row]:
    """Draw the prototypes; measure how near they are to images."""
    given, learner = hidden.images("8", quick), regression.learnt(quick, 2).learner
    order = np.argsort(-learner.shares)
    prototypes = learner.parameters["A"][order]
    _draw(prototypes, given.side, folder / "figure3_3.png")
    shown, rows = np.where(prototypes > 0, 1, -1), 2 * given.train.astype(int) - 1
    width = rows.shape[1]
    near = (width - shown @ rows.T).min(axis=1) / 2
    between = (width - rows @ rows.T) / 2
    np.fill_diagonal(between, width)
    prefix = "quick." if quick else ""
    note = f"Two images: {between[between < width].mean():.1f} on average."
    return [
        Row(f"{prefix}near", float(near.mean()), note=note),
        Row(f"{prefix}images", float(between.min(axis=1).mean())),
        Row(f"{prefix}largest", float(learner.shares.max())),
    ]


def _draw(prototypes: hidden.Floats, side: int, path: Path) -> None:
    n_lines = -(-len(prototypes) // COLUMNS)
    figure = Figure(figsize=(COLUMNS * 0.8, n_lines * 0.8), layout="constrained")
    grid = np.atleast_1d(figure.subplots(n_lines, COLUMNS)).ravel()
    for axes in grid:
        axes.set_axis_off()
    for axes, prototype in zip(grid, prototypes, strict=False):
        axes.imshow(-prototype.reshape(side, side), cmap="gray", vmin=-1, vmax=1)
    pictures.save(figure, path)
