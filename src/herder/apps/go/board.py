"""Positions of Go on 19 x 19 points: checks, moves with captures, and games.

A position is an array of shape (19, 19): 1 is a black stone, -1 a white one, 0 an empty point. A
point is a number from 0 to 360, row by row from the top; a move is a point or `PASS`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import non_negative_int, plain_array

__all__ = ["BLACK", "NEIGHBOURS", "PASS", "SIZE", "WHITE", "Game", "as_board", "chain", "play"]

SIZE, PASS = 19, 361

BLACK, WHITE = 1, -1

Board = NDArray[np.int8]

#: Neighbours of each point.
NEIGHBOURS = [
    [
        SIZE * row + column
        for row, column in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1))
        if 0 <= row < SIZE and 0 <= column < SIZE
    ]
    for i in range(SIZE)
    for j in range(SIZE)
]


def as_board(board: ArrayLike) -> Board:
    """Return a position as int8, checked."""
    rule = f"have {SIZE} rows of {SIZE} points"
    given = plain_array(board, "board", rule)
    if given.shape != (SIZE, SIZE):
        raise ParameterError("board", rule, got=f"shape {given.shape}")
    if given.dtype.kind not in "iuf" or not np.isin(given, (BLACK, WHITE, 0)).all():
        raise ParameterError("board", "hold 1 (Black), -1 (White) and 0 (empty)", got="others")
    return given.astype(np.int8)


def chain(stones: list[int], start: int) -> tuple[list[int], list[int]]:
    """Return the points that are joined to one of the same colour, and what lies around them.

    For a stone these are its chain and the liberties; for an empty point its region, and the
    stones at its border.
    """
    colour, found, border, front = stones[start], {start}, set[int](), [start]
    while front:
        for near in NEIGHBOURS[front.pop()]:
            if stones[near] != colour:
                border.add(near)
            elif near not in found:
                found.add(near)
                front.append(near)
    if colour:
        border = {point for point in border if not stones[point]}
    return sorted(found), sorted(border)


def play(stones: list[int], move: int, colour: int) -> None:
    """Put a stone on a position, a list of 361 points, and take what it captures.

    A move on a stone, or one that leaves its own stones without a liberty, is a ValueError. The
    rule of ko is not checked.
    """
    if move == PASS:
        return
    if stones[move]:
        raise ValueError("on a stone")
    stones[move] = colour
    for near in NEIGHBOURS[move]:
        if stones[near] == -colour:
            points, liberties = chain(stones, near)
            if not liberties:
                for point in points:
                    stones[point] = 0
    if not chain(stones, move)[1]:
        stones[move] = 0
        raise ValueError("suicide")


@dataclass(frozen=True, eq=False)
class Game:
    """Stones that were set up, then moves.

    Parameters
    ----------
    setup : ndarray of int8 of shape (19, 19)
        Stones before the first move, those of a handicap for example.
    moves : sequence of (int, int)
        Colour and point of each move.
    komi : float, optional
        Points that White gets; None if the record does not say.
    title : str, default ""
        Who played.
    """

    setup: Board
    moves: Sequence[tuple[int, int]]
    komi: float | None = None
    title: str = ""

    def positions(self, moves: Iterable[int]) -> list[Board]:
        """Return the positions after some numbers of moves."""
        wanted = [non_negative_int(move, "move") for move in moves]
        last = max(wanted, default=0)
        if last > len(self.moves):
            raise ParameterError("move", f"be at most {len(self.moves)}, the last move", last)
        stones = self.setup.ravel().tolist()
        found = {0: self.setup}
        for number, (colour, point) in enumerate(self.moves[:last], start=1):
            try:
                play(stones, point, colour)
            except ValueError as error:
                rule = f"have legal moves up to move {last}"
                raise ParameterError("game", rule, got=f"move {number} {error}") from None
            if number in wanted:
                found[number] = np.array(stones, np.int8).reshape(SIZE, SIZE)
        return [found[move].copy() for move in wanted]
