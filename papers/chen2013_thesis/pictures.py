"""Colours of the thesis's figures, and the common drawing functions."""

from papers.pictures import save, tidy

__all__ = ["HERDED", "LEVEL", "RANDOM", "TRUE", "save", "tidy"]

#: Herding, error of herding to the truth, random, level lines: distinguishable in greyscale.
HERDED, TRUE, RANDOM, LEVEL = "#1b6ca8", "#b03a2e", "#d9a441", "#222222"
