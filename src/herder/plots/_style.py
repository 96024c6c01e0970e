"""One look for all pictures. Figures are made without pyplot, so nothing stays open."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "pictures need matplotlib, which is not installed: pip install 'herder[report]'"
    ) from None

__all__ = [
    "BESIDE",
    "GREY",
    "INK",
    "SERIES",
    "STATES",
    "Figure",
    "colour_bar",
    "line_style",
    "log_line",
    "new_figure",
    "tidy",
]

INK = "#1f2933"
GREY = "#9aa5b1"

#: Colours of what is compared, the herd first; they differ in lightness as well as in hue.
SERIES = ("#0f766e", "#d97706", "#7c3aed", "#be123c")

#: Pale fills of regions, one per state.
STATES = ("#99d8cf", "#fcd9a0", "#d3c3f7", "#f5b5c4", "#bcd7f5", "#d5e3a3")

#: Place of a legend to the right of the axes.
BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}


def new_figure(
    n_axes: int = 1, *, width: float = 5.4, height: float = 3.5, n_rows: int = 1
) -> tuple[Figure, Any]:
    """Return a figure and its axes, side by side or in rows of that many; one Axes if one."""
    figure = Figure(figsize=(width * n_axes, height), layout="constrained")
    axes = figure.subplots(n_rows, n_axes)
    for ax in figure.axes:
        tidy(ax)
    return figure, axes


def line_style(place: int) -> dict[str, Any]:
    """Return colour and dashes of the line at a place: after the colours, dashes differ."""
    return {
        "color": SERIES[place % len(SERIES)],
        "linestyle": ("-", "--", ":")[place // len(SERIES) % 3],
    }


def log_line(
    ax: Axes, t: NDArray[np.float64], values: NDArray[np.float64], **style: Any
) -> NDArray[np.bool_]:
    """Draw the positive values, as logarithmic axes have no zero; return which they are."""
    positive = values > 0
    ax.plot(t[positive], values[positive], linewidth=1.4, **style)
    return positive


def colour_bar(ax: Axes, drawn: Any, label: str, **options: Any) -> None:
    """Add the scale of colours to the right of a picture."""
    bar = drawn.get_figure().colorbar(drawn, ax=ax, shrink=0.85, **options)
    bar.set_label(label, fontsize=9)
    bar.ax.tick_params(labelsize=8)


def tidy(ax: Axes) -> None:
    """Leave two spines, a faint grid behind the data, and small type."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["bottom", "left"]].set_color(GREY)
    ax.grid(visible=True, color="#e4e7eb", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=9, color=GREY, labelcolor=INK, which="both")
