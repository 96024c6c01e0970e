"""Drawing without a window, with the same bytes on each run."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["save", "tidy"]


def tidy(axes: Axes, x: str, y: str, title: str = "") -> None:
    """Label the axes, remove two sides of the frame and align the title to the left."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def save(figure: Figure, path: Path, *, dpi: int = 110) -> None:
    """Write a PNG without the date and the version of the program."""
    figure.savefig(path, dpi=dpi, metadata={"Software": None}, bbox_inches="tight")
