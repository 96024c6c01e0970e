"""Figure 2: the Tipi function of sin and cos at seven points, and the herding weights."""

from itertools import islice
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from herder import EnumeratedSystem, herd
from papers.claims import ROUNDING, Row
from papers.welling2009_herding import pictures

N_STEPS = 5000

#: Half the side of the square over which the function is drawn and checked.
REACH = 2.5


def run(quick: bool, folder: Path) -> list[Row]:
    """Draw function and weights; measure the properties proved in section 3."""
    x = -np.pi + np.arange(7)
    system = EnumeratedSystem(
        np.column_stack([np.sin(x), np.cos(x)]), probabilities=np.full(7, 1 / 7)
    )
    steps = list(islice(herd(system, np.array([1.0, 0.5])), 500 if quick else N_STEPS))
    axis = np.linspace(-REACH, REACH, 101)
    height = np.array([[system.tipi(np.array([a, b])) for a in axis] for b in axis], dtype=float)
    away = np.ones_like(height, dtype=bool)
    away[50, 50] = False
    twice = np.array([[system.tipi(np.array([2 * a, 2 * b])) for a in axis] for b in axis])
    middle = height[1:-1, 1:-1]
    sagging = [
        (height[:-2, 1:-1] + height[2:, 1:-1]) / 2 - middle,
        (height[1:-1, :-2] + height[1:-1, 2:]) / 2 - middle,
        (height[:-2, :-2] + height[2:, 2:]) / 2 - middle,
        (height[:-2, 2:] + height[2:, :-2]) / 2 - middle,
    ]
    weights = np.array([step.weights for step in steps])
    states = np.bincount([step.state for step in steps], minlength=7) / len(steps)
    error = np.abs(states @ system.features - system.target).max()
    _draw(axis, height, weights, folder / "figure2.png")
    prefix = "quick." if quick else ""
    return [
        Row(f"{prefix}tipi.origin", abs(float(height[50, 50]))),
        Row(f"{prefix}tipi.max", float(height[away].max())),
        Row(f"{prefix}tipi.scale", float(np.abs(twice - 2 * height).max())),
        Row(f"{prefix}tipi.concave", float(max(part.max() for part in sagging))),
        Row(f"{prefix}pct", float(np.mean([step.tipi > ROUNDING for step in steps]))),
        Row(f"{prefix}norm", float(np.linalg.norm(weights, axis=1).max())),
        Row(f"{prefix}moments", float(error), note=f"After {len(steps)} steps."),
    ]


def _draw(
    axis: NDArray[np.float64],
    height: NDArray[np.float64],
    weights: NDArray[np.float64],
    path: Path,
) -> None:
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    solid = figure.add_subplot(1, 2, 1, projection="3d")
    grid = np.meshgrid(axis, axis)
    solid.plot_surface(  # type: ignore[attr-defined]
        *grid, height, cmap="copper", rcount=50, ccount=50, linewidth=0, alpha=0.9
    )
    solid.set_xlabel("weight of sin")
    solid.set_ylabel("weight of cos")
    solid.set_title("Tipi function", fontsize=10, loc="left")
    flat = figure.add_subplot(1, 2, 2)
    levels = flat.contour(axis, axis, height, levels=12, cmap="copper", linewidths=0.8)
    figure.colorbar(levels, ax=flat, shrink=0.8)
    flat.plot(*weights.T, ".", markersize=1.5, color=pictures.COLOURS[1])
    flat.set_xlabel("weight of sin")
    flat.set_ylabel("weight of cos")
    flat.set_aspect("equal")
    flat.set_title(f"contours, and the weights of {len(weights)} steps", fontsize=10)
    pictures.save(figure, path)
