"""Colours of the thesis's figures, and the way all papers draw."""

from papers.pictures import save, tidy

__all__ = ["HERDED", "LEVEL", "RANDOM", "TRUE", "save", "tidy"]

#: Herding, herding against the truth, random, level lines: told apart in grey too.
HERDED, TRUE, RANDOM, LEVEL = "#1b6ca8", "#b03a2e", "#d9a441", "#222222"
