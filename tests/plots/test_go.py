"""Boards with stones and squares."""

from typing import Any

import numpy as np
import pytest

from herder.apps.go import territory
from herder.plots import draw, plot_territory
from tests.naming import refuses


@pytest.fixture(scope="module")
def found() -> Any:
    board = np.zeros((19, 19), int)
    board[3, 3] = board[3, 15] = 1
    board[15, 3] = -1
    return territory(board, 20)


def test_a_board_has_its_stones_and_squares_on_the_points_of_the_other_colour(found: Any) -> None:
    (ax,) = draw(found.summary().sections[0].blocks[0]).axes
    black, black_squares, white, white_squares = (
        len(own.get_paths()) for own in ax.collections[2:]
    )
    assert (black, white) == (2, 1)
    likely = (2 * found.probability - 1) * (found.board == 0)
    assert black_squares >= (likely > 0.1).sum()
    assert white_squares >= (likely < -0.1).sum()
    assert ax.get_title().startswith("move 20: B+")


def test_several_boards(found: Any) -> None:
    figure = plot_territory([found] * 4)
    assert len(figure.axes) == 6
    assert [ax.get_visible() for ax in figure.axes] == [True] * 4 + [False] * 2
    assert len(plot_territory([found] * 2).axes) == 2


def test_only_territories_are_drawn(found: Any) -> None:
    with refuses("found", TypeError):
        plot_territory(found.board)
    with refuses("found", TypeError):
        plot_territory([found, 1])  # pyright: ignore[reportArgumentType]
    with refuses("found"):
        plot_territory([])
