"""Table 3.1, one-versus-all procedure: voted perceptrons and conditional herding."""

from pathlib import Path

from papers.chen2013_thesis.classifiers import NAMES, fill
from papers.claims import Row

#: Methods and numbers of hidden units.
COLUMNS = [("vp", 0), ("ch", 100), ("ch", 200)]


def run(quick: bool, folder: Path) -> list[Row]:
    """Fill the table."""
    if quick:
        return [fill(("digits", "one-vs-rest", "ch", 20), quick)]
    return [fill((name, "one-vs-rest", *column), quick) for name in NAMES for column in COLUMNS]
