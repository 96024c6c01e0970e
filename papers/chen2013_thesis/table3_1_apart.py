"""Table 3.1, one-versus-all procedure."""

from pathlib import Path

from papers.chen2013_thesis.classifiers import NAMES, fill
from papers.claims import Row

#: Methods and numbers of hidden units.
COLUMNS = [("vp", 0), ("drbm", 100), ("drbm", 200), ("ch", 100), ("ch", 200)]

#: Data sets on which discriminative RBMs, one for each class, would take hours.
LARGE = ("mnist", "news")


def run(quick: bool, folder: Path) -> list[Row]:
    """Fill the table."""
    if quick:
        return [fill(("digits", "one-vs-rest", "ch", 20), quick)]
    return [
        fill((name, "one-vs-rest", *column), quick)
        for name in NAMES
        for column in COLUMNS
        if name not in LARGE or column[0] != "drbm"
    ]
