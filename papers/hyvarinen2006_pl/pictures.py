"""Colours of the paper's figure, and the way all papers draw."""

from papers.pictures import save, tidy

__all__ = ["LIKELIHOOD", "PSEUDO", "RATE", "save", "tidy"]

#: Pseudo-likelihood, likelihood, the rate that theory gives: told apart in grey too.
PSEUDO, LIKELIHOOD, RATE = "#1b6ca8", "#d9a441", "#222222"
