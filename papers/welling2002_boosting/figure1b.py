"""Figure 1b: weights of the units that the fields of both digits found, every tenth round."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from papers import pictures
from papers.claims import Row
from papers.welling2002_boosting import data, digits

#: Every tenth feature of this many rounds, from the first on.
N_ROUNDS, STRIDE = 200, 10

QUICK_ROUNDS = 60


def run(quick: bool, folder: Path) -> list[Row]:
    """Draw the figure; measure how alike neighbouring weights are."""
    n_rounds = QUICK_ROUNDS if quick else N_ROUNDS
    fields = digits.fit_fields(0, True, n_rounds, quick)
    units = [field.parameters_[::STRIDE, :-1] for field in fields]
    side = round(np.sqrt(units[0].shape[1]))
    images = [each.reshape(len(each), side, side) for each in units]
    _draw(images, folder / "figure1b.png")
    alike = float(np.mean([_smoothness(each) for each in images]))
    used = float(np.mean([(field.coefficients_ > 0).mean() for field in fields]))
    if quick:
        return [Row("quick.smooth", alike)]
    pixels = next(data.splits(1, quick=quick)).X.astype(float).reshape(-1, side, side)
    note = f"Images: {_smoothness(pixels):.2f}."
    return [Row("smooth", alike, note=note), Row("used", used)]


def _smoothness(images: NDArray[np.float64]) -> float:
    """Return the mean correlation of a pixel with the one to its right, of all images."""
    return float(
        np.mean([np.corrcoef(each[:, :-1].ravel(), each[:, 1:].ravel())[0, 1] for each in images])
    )


def _draw(images: list[NDArray[np.float64]], path: Path) -> None:
    n = len(images[0])
    per_line = -(-n // 2)
    figure = Figure(figsize=(8.2, 3.6), layout="constrained")
    parts: Any = figure.subfigures(2, 1, hspace=0.06)
    limit = max(float(np.abs(each).max()) for each in images)
    for part, own, title in zip(parts, images, ("twos", "threes"), strict=True):
        part.suptitle(f"field of the {title}", fontsize=10, x=0.01, ha="left")
        axes = part.subplots(2, per_line).ravel()
        for ax in axes:
            ax.set_axis_off()
        for ax, image in zip(axes, own, strict=False):
            ax.imshow(image, cmap="PuOr", vmin=-limit, vmax=limit, interpolation="nearest")
    pictures.save(figure, path)
