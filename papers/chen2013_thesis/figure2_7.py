"""Figure 2.7: sizes of connected components of the states of figure 2.6."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from papers.chen2013_thesis import ising, pictures
from papers.claims import Row

Floats = NDArray[np.float64]

#: Range of sizes for the fit: above a single site, below the size of the lattice.
SMALLEST, LARGEST, QUICK_LARGEST = 4, 512, 64


def run(quick: bool, folder: Path) -> list[Row]:
    """Count components by size; fit the exponent of the power law."""
    edges = ising.torus(quick).edges
    runs = {
        "sampled": ising.sample(quick).states,
        "herded": ising.herd(quick).states,
        "shuffled": ising.herd(quick, "random").states,
    }
    largest = QUICK_LARGEST if quick else LARGEST
    bars: dict[str, tuple[Floats, Floats]] = {}
    slopes: dict[str, float] = {}
    notes: dict[str, str] = {}
    for name, states in runs.items():
        sizes = ising.component_sizes(states, edges)
        bars[name] = _histogram(sizes, len(states))
        slopes[name] = _exponent(*bars[name], largest)
        alone = np.sum(sizes == 1) / len(states)
        notes[name] = f"{len(sizes) / len(states):.0f} components, {alone:.0f} of one site."
    _draw(bars, slopes, folder / "figure2_7.png")
    prefix = "quick." if quick else ""
    gap = abs(slopes["herded"] - slopes["sampled"])
    return [
        *(Row(f"{prefix}{name}", slopes[name], note=notes[name]) for name in runs),
        Row(f"{prefix}gap", gap),
    ]


def _histogram(sizes: NDArray[np.intp], n_states: int) -> tuple[Floats, Floats]:
    """Number of components by size in one state, in bins of doubling width."""
    edges = 2 ** np.arange(int(np.log2(sizes.max())) + 2)
    number = np.histogram(sizes, bins=edges - 0.5)[0] / np.diff(edges) / n_states
    middle = np.sqrt(edges[:-1] * (edges[1:] - 1.0))
    return middle[number > 0], number[number > 0]


def _exponent(middle: Floats, number: Floats, largest: int) -> float:
    kept = (middle > SMALLEST) & (middle < largest)
    return float(-np.polyfit(np.log(middle[kept]), np.log(number[kept]), 1)[0])


def _draw(bars: dict[str, tuple[Floats, Floats]], slopes: dict[str, float], path: Path) -> None:
    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    looks = {
        "sampled": ("Swendsen-Wang", pictures.RANDOM, "o-"),
        "herded": ("herding", pictures.HERDED, "s-"),
        "shuffled": ("herding, random scan", pictures.TRUE, "^-"),
    }
    for name, (label, colour, style) in looks.items():
        label = f"{label}, exponent {slopes[name]:.2f}"
        axes.loglog(*bars[name], style, color=colour, ms=4, lw=1, label=label)
    axes.legend(frameon=False, fontsize=9)
    pictures.tidy(axes, "size of a component", "components of that size in a state")
    pictures.save(figure, path)
