"""Captures, moves that are not legal, and games move by move."""

from pathlib import Path

import numpy as np
import pytest

from herder.apps.go import Game, read_game
from herder.apps.go.board import PASS, chain, play
from tests.naming import refuses

RECORD = Path(__file__).parents[3] / "examples" / "ear_reddening.sgf"


def stones(text: str) -> list[int]:
    """The upper left corner of a board: X black, O white."""
    found = np.zeros((19, 19), int)
    for i, row in enumerate(text.split()):
        for j, letter in enumerate(row):
            found[i, j] = {"X": 1, "O": -1, ".": 0}[letter]
    return found.ravel().tolist()


@pytest.mark.parametrize(
    ("before", "move", "colour", "after"),
    [
        ("OX .X", 19, 1, ".X XX"),  # one stone in the corner
        ("OOX .X.", 19, 1, "..X XX."),  # a chain
        (".X. XOX ...", 2 * 19 + 1, 1, ".X. X.X .X."),  # one in the middle
        (".OX OX. X..", 0, 1, "X.X .X. X.."),  # two at once, by a stone without a liberty
        (".OX OOX XX.", 0, 1, "X.X ..X XX."),
        ("..O .XO", 1, 1, ".XO .XO"),  # nothing
    ],
)
def test_captures(before: str, move: int, colour: int, after: str) -> None:
    position = stones(before)
    play(position, move, colour)
    assert position == stones(after)


def test_a_move_on_a_stone_and_a_suicide_leave_the_position_as_it_was() -> None:
    for move, what in ((1, "on a stone"), (0, "suicide")):
        position = stones(".O OO")
        with pytest.raises(ValueError, match=what):
            play(position, move, 1)
        assert position == stones(".O OO")


def test_a_pass_changes_nothing() -> None:
    position = stones(".O OO")
    play(position, PASS, 1)
    assert position == stones(".O OO")


def test_a_chain_and_its_liberties_a_region_and_its_border() -> None:
    position = stones("XX. .O.")
    assert chain(position, 0) == ([0, 1], [2, 19])
    region, border = chain(position, 2)
    assert len(region) == 361 - 3
    assert border == [0, 1, 20]


def test_positions_are_those_of_sgfmill() -> None:
    from sgfmill.boards import Board

    game, twin = read_game(RECORD), Board(19)
    moves = [1, 50, 127, 200, 325]
    found = dict(zip(moves, game.positions(moves), strict=True))
    for number, (colour, point) in enumerate(game.moves, start=1):
        twin.play(18 - point // 19, point % 19, "b" if colour > 0 else "w")
        if number in found:
            colours = {None: 0, "b": 1, "w": -1}
            rows = [[colours[twin.get(18 - i, j)] for j in range(19)] for i in range(19)]
            np.testing.assert_array_equal(found[number], rows)


def test_positions_come_in_the_order_asked_for_and_are_copies() -> None:
    game = Game(np.zeros((19, 19), np.int8), [(1, 0), (-1, 1)])
    two, none, again = game.positions([2, 0, 2])
    assert (two[0, :2].tolist(), none.any()) == ([1, -1], False)
    two[:] = none[:] = 1
    assert again[5, 5] == 0
    assert not game.setup.any()


def test_a_move_beyond_the_end_and_illegal_moves_are_refused() -> None:
    game = Game(np.zeros((19, 19), np.int8), [(1, 0), (-1, 0)])
    assert game.positions([1])[0][0, 0] == 1
    with refuses("move", match="at most 2"):
        game.positions([3])
    with refuses("move"):
        game.positions([-1])
    with refuses("game", match="move 2 on a stone"):
        game.positions([2])
