"""Colours of the paper's figure, and the common drawing functions."""

from papers.pictures import save, tidy

__all__ = ["LIKELIHOOD", "PSEUDO", "RATE", "save", "tidy"]

#: Pseudo-likelihood, likelihood, the theoretical rate: distinguishable in greyscale.
PSEUDO, LIKELIHOOD, RATE = "#1b6ca8", "#d9a441", "#222222"
