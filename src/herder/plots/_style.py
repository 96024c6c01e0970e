"""One look for all pictures. Figures are made without pyplot, so nothing stays open."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["GREY", "INK", "SERIES", "STATES", "line_style", "new_figure", "tidy"]

INK = "#1f2933"
GREY = "#9aa5b1"

#: Colours of what is compared, the herd first; they differ in lightness as well as in hue.
SERIES = ("#0f766e", "#d97706", "#7c3aed", "#be123c")

#: Pale fills of regions, one per state.
STATES = ("#99d8cf", "#fcd9a0", "#d3c3f7", "#f5b5c4", "#bcd7f5", "#d5e3a3")


def new_figure(
    n_axes: int = 1, *, width: float = 5.4, height: float = 3.5, n_rows: int = 1
) -> "tuple[Figure, Any]":
    """Return a figure and its axes, side by side or in rows of that many; one Axes if one."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "pictures need matplotlib, which is not installed: pip install 'herder[report]'"
        ) from None
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


def tidy(ax: "Axes") -> None:
    """Leave two spines, a faint grid behind the data, and small type."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["bottom", "left"]].set_color(GREY)
    ax.grid(visible=True, color="#e4e7eb", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=9, color=GREY, labelcolor=INK, which="both")
