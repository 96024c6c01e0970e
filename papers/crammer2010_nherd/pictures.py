"""One way to draw: no window, the same bytes on each run."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

#: The five of the tournament, told apart in grey too.
COLOURS = {
    "NHERD_P": "#1b6ca8",
    "NHERD_E": "#2a9d8f",
    "NHERD_D": "#8ab17d",
    "AROW_P": "#b03a2e",
    "AROW_D": "#d9a441",
}
INK, PALE = "#222222", "#9aa5b1"


def tidy(axes: Axes, x: str, y: str, title: str = "") -> None:
    """Name the axes, drop the frame on two sides and set the title to the left."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def save(figure: Figure, path: Path, *, dpi: int = 110) -> None:
    """Write a PNG without the date and the version of the program."""
    figure.savefig(path, dpi=dpi, metadata={"Software": None}, bbox_inches="tight")
