"""Drawing without a window, with the same bytes on each run."""

from pathlib import Path

from matplotlib.figure import Figure

#: Data, triples, pairs, marginals: distinguishable in greyscale.
COLOURS = ("#222222", "#1b6ca8", "#7fb7de", "#d9a441")


def save(figure: Figure, path: Path, *, dpi: int = 110) -> None:
    """Write a PNG without the date and the version of the program."""
    figure.savefig(path, dpi=dpi, metadata={"Software": None}, bbox_inches="tight")
