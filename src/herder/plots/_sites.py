"""Numbers of very many sites: as a map of their grid, or in order of size."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder.plots._style import SERIES, colour_bar

__all__ = ["draw_map", "draw_sorted", "name_sites"]

#: Names of more sites are too small to be read.
MAX_NAMES = 40


def draw_map(
    ax: Any,
    values: NDArray[np.float64],
    shape: tuple[int, int],
    limits: tuple[float, float],
    label: str,
) -> None:
    """Draw a number of each site as the colour of its cell; non-finite ones stay white."""
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("sites", ("#ffffff", SERIES[0]))
    cells = np.ma.masked_invalid(values).reshape(shape)
    drawn = ax.imshow(cells, interpolation="nearest", cmap=shades, clim=limits)
    ax.grid(visible=False)
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_major_locator().set_params(integer=True)
    colour_bar(ax, drawn, label)


def draw_sorted(
    ax: Any, values: NDArray[np.float64], spread: NDArray[np.float64] | None, style: dict[str, Any]
) -> None:
    """Draw numbers from the smallest to the largest, with a band of ``spread`` about them."""
    order = np.argsort(values, kind="stable")
    ranks = np.arange(1, len(values) + 1)
    ax.plot(ranks, values[order], linewidth=1.5, **style)
    if spread is not None:
        band = values[order] + np.outer([-1, 1], spread[order])
        ax.fill_between(
            ranks, *band, color=style["color"], alpha=0.25, linewidth=0, rasterized=True
        )
    ax.set_xlabel("sites, the smallest first")
    ax.xaxis.get_major_locator().set_params(integer=True)


def name_sites(axis: Any, names: tuple[str, ...] | None) -> None:
    """Write names along an axis if they are few enough to be read, else whole numbers."""
    if names is None or len(names) > MAX_NAMES:
        axis.set_label_text("site")
        axis.get_major_locator().set_params(integer=True)
        return
    turn = 90 if axis.axis_name == "x" else 0
    axis.set_ticks(range(len(names)), names, rotation=turn, fontsize=7)
