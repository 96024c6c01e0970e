"""
Territory in a game of Go
=========================

Who will own which point in the end, after 20, 80, 126 and 127 moves of a famous game: with move
127 Shusaku (Black) is said to have made the ears of Gennan Inseki turn red. A square is the
larger, the surer a point is; one on a stone says that the stone is likely to be captured. Black
won by 2 points.
"""

from pathlib import Path

from herder.apps.go import read_game, territory
from herder.plots import plot_territory

# %%
# The score in a title is the expected one, with its standard deviation; there was no komi.

here = Path("examples") if Path("examples").is_dir() else Path()
game = read_game(here / "ear_reddening.sgf")
moves = [20, 80, 126, 127]
found = [territory(board, move) for move, board in zip(moves, game.positions(moves), strict=True)]
figure = plot_territory(found)
