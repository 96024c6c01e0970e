"""Pictures of Go: stones, and squares where a point is likely to be owned by a player."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from herder._errors import ParameterError
from herder._validation import of_kind
from herder.apps.go.board import BLACK, SIZE, WHITE
from herder.apps.go.prediction import Territory, score_text
from herder.plots._style import INK, Axes, Figure, new_figure

__all__ = ["plot_territory"]

#: Colours of the board, its lines, and the players.
WOOD, LINES, COLOURS = "#e8c88f", "#8a6d3b", {BLACK: "#111111", WHITE: "#ffffff"}

#: Points with a dot on a board, and letters of the columns.
STARS, LETTERS = (3, 9, 15), "ABCDEFGHJKLMNOPQRST"

#: Side of a square at certainty, and radius of a stone, in points of the board.
SIDE, RADIUS = 0.62, 0.47

#: Squares with a smaller side than this are not drawn.
SMALLEST = 0.05

MAX_COLUMNS = 3


def plot_territory(found: Territory | Sequence[Territory]) -> Figure:
    """Draw positions with their stones, and a square on each point by who is likely to own it.

    The side of a square is in proportion to how far the probability is from one half; a square on
    a stone of the other colour says that the stone is likely to be captured.

    Parameters
    ----------
    found : Territory or sequence of Territory
        What `herder.apps.go.territory` returned, for one position or several.
    """
    several = list(found) if isinstance(found, Sequence) else [found]
    if not several:
        raise ParameterError("found", "have one position or more", got="none")
    for one in several:
        of_kind(one, "found", Territory, "what herder.apps.go.territory returned")
    columns = min(len(several), MAX_COLUMNS)
    rows = -(-len(several) // columns)
    width = 5.0 if len(several) == 1 else 4.0
    figure, axes = new_figure(columns, width=width, height=(width + 0.25) * rows, n_rows=rows)
    for ax, one in zip(np.ravel(axes), several, strict=False):
        _draw_board(ax, one)
    for ax in np.ravel(axes)[len(several) :]:
        ax.set_visible(False)
    return figure


def _draw_board(ax: Axes, found: Territory) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle

    last = SIZE - 1
    ax.set_facecolor(WOOD)
    ax.grid(visible=False)
    ends = np.zeros(SIZE), np.full(SIZE, last)
    ax.hlines(np.arange(SIZE), *ends, color=LINES, linewidth=0.5, zorder=1)
    ax.vlines(np.arange(SIZE), *ends, color=LINES, linewidth=0.5, zorder=1)
    ax.plot(np.repeat(STARS, 3), STARS * 3, "o", color=LINES, markersize=2.2, zorder=1)
    lead = 2 * found.probability - 1
    for colour, fill in COLOURS.items():
        stones = [Circle((j, i), RADIUS) for i, j in np.argwhere(found.board == colour)]
        edge = {"edgecolor": INK, "linewidth": 0.5}
        ax.add_collection(PatchCollection(stones, facecolor=fill, zorder=2, **edge))
        sides = SIDE * np.maximum(colour * lead, 0)
        there = np.argwhere((sides > SMALLEST) & (found.board != colour)).tolist()
        squares = [_square(i, j, float(sides[i, j])) for i, j in there]
        ax.add_collection(PatchCollection(squares, facecolor=fill, zorder=3, **edge))
    ax.set_xticks(range(SIZE), LETTERS, fontsize=6)
    ax.set_yticks(range(SIZE), [str(row) for row in range(SIZE, 0, -1)], fontsize=6)
    ax.tick_params(length=0, pad=2)
    ax.spines[:].set_visible(False)
    ax.set(aspect="equal", xlim=(-0.8, last + 0.8), ylim=(last + 0.8, -0.8))
    score = score_text(found.score, found.spread)
    ax.set_title(f"move {found.move}: {score}", fontsize=10, color=INK)


def _square(row: int, column: int, side: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((column - side / 2, row - side / 2), side, side)
