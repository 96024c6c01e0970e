"""Game records by hand: what they hold, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from herder.apps.go import read_game
from herder.apps.go.board import PASS
from tests.naming import refuses

GAME = "(;FF[4]GM[1]SZ[19]KM[6.5]PB[Ada]PW[Bo];B[pd];W[dp];B[];W[qd](;B[aa])(;B[bb]))"


@pytest.fixture
def write(tmp_path: Path):
    def record(text: str) -> Path:
        path = tmp_path / "game.sgf"
        path.write_text(text, encoding="utf-8")
        return path

    return record


def test_moves_of_the_main_line_and_what_is_known_of_the_game(write) -> None:
    game = read_game(write(GAME))
    points = [3 * 19 + 15, 15 * 19 + 3, PASS, 3 * 19 + 16, 0]
    assert list(game.moves) == list(zip([1, -1, 1, -1, 1], points, strict=True))
    assert (game.komi, game.title) == (6.5, "Ada - Bo")


def test_stones_of_a_handicap_are_set_up_and_white_begins(write) -> None:
    game = read_game(write("(;GM[1]SZ[19]HA[2]AB[pd][dp]AW[aa];W[qq])"))
    assert game.setup.sum() == 1
    assert (game.setup[3, 15], game.setup[15, 3], game.setup[0, 0]) == (1, 1, -1)
    assert list(game.moves) == [(-1, 16 * 19 + 16)]
    assert (game.komi, game.title) == (None, "")
    assert game.positions([1])[0].sum() == 0


@pytest.mark.parametrize("komi", ["none", "inf", "nan", ""])
def test_a_komi_that_is_no_number_is_none(write, komi: str) -> None:
    assert read_game(write(f"(;GM[1]SZ[19]KM[{komi}];B[pd])")).komi is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("not a game", "game record"),
        ("", "game record"),
        ("(;GM[1]SZ[19];B[pd]", "game record"),
        ("(;GM[1]SZ[13];B[cc])", "13 x 13"),
        ("(;GM[1]SZ[x];B[cc])", "game record"),
        ("(;GM[1]SZ[19];B[zz])", "moves that can be read"),
        ("(;GM[1]SZ[19];B[pd];AB[aa];W[bb])", "at its start only"),
    ],
)
def test_what_is_no_such_game_is_refused(write, text: str, why: str) -> None:
    with refuses("game", match=why):
        read_game(write(text))


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        read_game("none.sgf")


def test_the_example_is_whole() -> None:
    game = read_game(Path(__file__).parents[3] / "examples" / "ear_reddening.sgf")
    assert len(game.moves) == 325
    assert np.abs(game.positions([325])[0]).sum() > 200


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_names_of_players_in_either_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "game.sgf"
    path.write_bytes("(;GM[1]SZ[19]PB[Müller]PW[Bo];B[pd])".encode(encoding))
    assert read_game(path).title == "Müller - Bo"
