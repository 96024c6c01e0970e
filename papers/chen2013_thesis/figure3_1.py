"""Figure 3.1: histogram of the elements of the prototypes."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.special import ndtr

from papers.chen2013_thesis import pictures, regression
from papers.chen2013_thesis.hidden import Floats
from papers.claims import Row

#: Elements at least this far from zero are near -1 or 1.
NEAR = 0.75

N_BINS = 41


def run(quick: bool, folder: Path) -> list[Row]:
    """Compare the elements with two Gaussians, of those below and above zero."""
    values = np.sort(regression.learnt(quick, 2).learner.parameters["A"].ravel())
    # By sign, since EM would put one component on the many elements that are exactly -1 or 1.
    sides = (values[values <= 0], values[values > 0])
    parts = [(len(side) / len(values), side.mean(), side.std()) for side in sides]
    expected = sum(share * ndtr((values - mean) / spread) for share, mean, spread in parts)
    # On both sides of a step: many elements are exactly -1 or 1.
    below, upto = (
        np.searchsorted(values, values, side) / len(values) for side in ("left", "right")
    )
    apart = max(np.abs(expected - below).max(), np.abs(expected - upto).max())
    counts, edges = np.histogram(values, N_BINS, (-1.0, 1.0))
    _draw(counts, edges, folder / "figure3_1.png")
    centres = (edges[1:] + edges[:-1]) / 2
    prefix = "quick." if quick else ""
    clipped = f"{np.mean(np.abs(values) == 1):.0%} are exactly -1 or 1, the ends of the range."
    note = " and ".join(f"{mean:.2f} ± {spread:.2f}" for _, mean, spread in parts)
    return [
        Row(f"{prefix}low", _mode(counts, centres, -1)),
        Row(f"{prefix}high", _mode(counts, centres, 1)),
        Row(f"{prefix}near", float(np.mean(np.abs(values) >= NEAR)), note=clipped),
        Row(f"{prefix}means", float(max(1 - abs(mean) for _, mean, _ in parts)), note=note),
        Row(f"{prefix}apart", float(apart)),
    ]


def _mode(counts: NDArray[np.intp], centres: Floats, sign: int) -> float:
    """Return the fullest bin on one side of zero."""
    side = np.flatnonzero(centres * sign > 0)
    return float(centres[side[counts[side].argmax()]])


def _draw(counts: NDArray[np.intp], edges: Floats, path: Path) -> None:
    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.bar(edges[:-1], counts, np.diff(edges), align="edge", color=pictures.HERDED)
    pictures.tidy(axes, "element of a prototype", "number of elements")
    pictures.save(figure, path)
