"""Table 3.1, discriminative RBMs: one-versus-all procedure, and longer learning."""

from pathlib import Path

from papers.chen2013_thesis.classifiers import NAMES, fill
from papers.claims import Row

#: The library's defaults; the other cells stop as the thesis does.
LONGER = {"max_iter": 100, "n_iter_no_change": 20}


def run(quick: bool, folder: Path) -> list[Row]:
    """Fill the table."""
    if quick:
        return [fill(("digits", "one-vs-rest", "drbm", 20), quick)]
    cells = [(name, "one-vs-rest", "drbm", n) for name in NAMES for n in (100, 200)]
    longer = fill(("usps", "joint", "drbm", 100), quick, **LONGER)
    return [*(fill(cell, quick) for cell in cells), longer]
