"""herder go: boards of a game, scores, and what is refused."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from herder.apps.go import read_game, territory
from herder.cli import app

RECORD = Path(__file__).parents[2] / "examples" / "ear_reddening.sgf"


def run(*words: object, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["go", *map(str, words)])
    assert done.exit_code == code, done.output
    return done.output


def test_scores_of_some_moves() -> None:
    text = run(RECORD, "--move", 127, "--move", 126)
    lines = [line.split() for line in text.splitlines()]
    assert text.startswith("Yasuda Shusaku - Inoue Gennan Inseki: 325 moves, komi 0")
    assert [line[0] for line in lines[2:]] == ["126", "127"]
    found = territory(read_game(RECORD).positions([127])[0], 127)
    assert lines[3][1] == f"B+{found.score:.1f}"
    assert lines[3][-1] == f"{found.spread:.1f}"


def test_by_default_six_positions_to_the_end() -> None:
    lines = run(RECORD).splitlines()
    assert [line.split()[0] for line in lines[2:]] == ["20", "81", "142", "203", "264", "325"]


def test_a_game_of_few_moves(tmp_path: Path) -> None:
    path = tmp_path / "short.sgf"
    path.write_text("(;GM[1]SZ[19]KM[6.5];B[dd];W[pp])")
    lines = run(path).splitlines()
    assert lines[0] == "short.sgf: 2 moves, komi 6.5"
    assert [line.split()[0] for line in lines[2:]] == ["2"]
    assert "B+" in run(path, "--komi", -30)
    path.write_text("(;GM[1]SZ[19])")
    assert "(the record has none: pass" in run(path).splitlines()[0]
    assert run(path).splitlines()[2].split()[:2] == ["0", "B+0.0"]


def test_stones_that_were_set_up_count_as_moves(tmp_path: Path) -> None:
    path = tmp_path / "problem.sgf"
    board = read_game(RECORD).positions([150])[0]
    letters = "abcdefghijklmnopqrs"
    points = {
        name: "".join(f"[{letters[j]}{letters[i]}]" for i, j in np.argwhere(board == colour))
        for name, colour in (("AB", 1), ("AW", -1))
    }
    path.write_text(f"(;GM[1]SZ[19]AB{points['AB']}AW{points['AW']})")
    expected = territory(board)
    assert run(path).splitlines()[2].split()[:2] == ["0", f"W+{-expected.score:.1f}"]


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_the_picture(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"boards{suffix}"
    assert path.name in run(RECORD, "--move", 80, "-o", path)
    assert path.stat().st_size > 10_000


def test_json_holds_the_probabilities() -> None:
    done = CliRunner().invoke(app, ["go", str(RECORD), "--move", "80", "--komi", "2", "--json"])
    (found,) = json.loads(done.stdout)
    assert (found["move"], found["komi"]) == (80, 2)
    expected = territory(read_game(RECORD).positions([80])[0], 80, komi=2)
    np.testing.assert_allclose(found["probability"], expected.probability, atol=1e-4)
    assert found["score"] == expected.score
    assert "expected score" in done.stderr


def test_the_report_has_the_boards(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    run(RECORD, "--move", 20, "--move", 80, "--report", path)
    text = path.read_text()
    assert text.count("<svg") + text.count("data:image") >= 2


@pytest.mark.parametrize(
    ("text", "words", "why"),
    [
        ("not a game", (), "game.sgf must be a game record (SGF), got no SGF data found"),
        ("(;GM[1]SZ[13];B[cc])", (), "game.sgf must be on 19 x 19 points, got 13 x 13"),
        ("(;GM[1]SZ[19];B[cc])", ("--move", 2), "--move must be at most 1, the last move"),
        ("(;GM[1]SZ[19];B[cc];W[cc])", (), "move 2 on a stone"),
        ("(;GM[1]SZ[19];B[cc])", ("--komi", "nan"), "--komi must be"),
        ("(;GM[1]SZ[19];B[cc])", ("-o", "boards.txt"), ".svg"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, words: tuple, why: str) -> None:
    path = tmp_path / "game.sgf"
    path.write_text(text)
    output = " ".join(run(path, *words, code=2).split())
    assert why in output


def test_a_file_that_is_not_there() -> None:
    assert "none.sgf" in run("none.sgf", code=2)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sgfmill", None)
    assert "pip install 'herder[go]'" in run(RECORD, code=2)
