"""Colours of the tournament, and the common drawing functions."""

from papers.pictures import save, tidy

__all__ = ["COLOURS", "INK", "PALE", "save", "tidy"]

#: The five algorithms of the tournament, distinguishable in greyscale.
COLOURS = {
    "NHERD_P": "#1b6ca8",
    "NHERD_E": "#2a9d8f",
    "NHERD_D": "#8ab17d",
    "AROW_P": "#b03a2e",
    "AROW_D": "#d9a441",
}
INK, PALE = "#222222", "#9aa5b1"
