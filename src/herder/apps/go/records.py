"""Game records (SGF), read by sgfmill."""

from pathlib import Path
from typing import Any

import numpy as np

from herder._errors import ParameterError
from herder.apps.go.board import BLACK, PASS, SIZE, WHITE, Game

__all__ = ["read_game"]


def read_game(path: str | Path) -> Game:
    """Read the main line of a game record (SGF), on a board of 19 x 19 points.

    Stones may be set up before the first move, those of a handicap for example, but not later.
    """
    Sgf_game, get_setup_and_moves = _sgfmill()
    file = Path(path)
    try:
        data = file.read_bytes()
        record = Sgf_game.from_bytes(data, override_encoding=_encoding(data))
    except ValueError as error:
        raise ParameterError("game", "be a game record (SGF)", got=str(error)) from None
    if record.get_size() != SIZE:
        size = record.get_size()
        raise ParameterError("game", f"be on {SIZE} x {SIZE} points", got=f"{size} x {size}")
    try:
        start, plays = get_setup_and_moves(record)
    except ValueError as error:
        rule = "have stones set up at its start only, and moves that can be read"
        raise ParameterError("game", rule, got=str(error) or "others") from None
    colours = {None: 0, "b": BLACK, "w": WHITE}
    rows = [[colours[start.get(SIZE - 1 - i, j)] for j in range(SIZE)] for i in range(SIZE)]
    moves = [(colours[colour], _point(place)) for colour, place in plays]
    root = record.get_root()
    players = [record.get_player_name(colour) or "" for colour in "bw"]
    return Game(np.array(rows, np.int8), moves, _komi(root), " - ".join(filter(None, players)))


def _encoding(data: bytes) -> str | None:
    """Return UTF-8 for records that do not name an encoding and are that."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    return None if b"CA[" in data else "UTF-8"


def _point(place: Any) -> int:
    """Return a point, of rows that sgfmill counts from below."""
    return PASS if place is None else SIZE * (SIZE - 1 - place[0]) + place[1]


def _komi(root: Any) -> float | None:
    try:
        komi = float(root.get("KM"))
    except (KeyError, ValueError):
        return None
    return komi if np.isfinite(komi) else None


def _sgfmill() -> Any:
    try:
        from sgfmill import sgf, sgf_moves
    except ImportError:
        raise ModuleNotFoundError("game records need sgfmill: pip install 'herder[go]'") from None
    return sgf.Sgf_game, sgf_moves.get_setup_and_moves
