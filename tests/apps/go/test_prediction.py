"""Predictions: what symmetry they have, what is refused, and what they were learnt from."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from herder import datasets
from herder.apps.go import predict, prediction, read_game, territory
from herder.apps.go.training import learn
from papers.chen2013_thesis.go import drawn_games
from tests.naming import refuses

RECORD = Path(__file__).parents[3] / "examples" / "ear_reddening.sgf"

TABLE = Path(prediction.__file__).with_name("table.npz")
DIGEST = "3bce01c32058117f65f25a2d7bedf44ef8b8548df38ad4d3331d40b6dd59c6b1"


@pytest.fixture(scope="module")
def board() -> np.ndarray:
    return read_game(RECORD).positions([80])[0]


def test_symmetric_positions_have_symmetric_predictions(board: np.ndarray) -> None:
    found = predict(board, 80)
    # the same form of the position is predicted; 1 - (1 - p) may not be p in the last digit
    np.testing.assert_allclose(predict(-board, 80), 1 - found, atol=1e-15)
    np.testing.assert_allclose(predict(np.rot90(board), 80), np.rot90(found), atol=1e-15)
    np.testing.assert_allclose(predict(board[::-1], 80), found[::-1], atol=1e-15)
    np.testing.assert_allclose(predict(-board.T, 80), 1 - found.T, atol=1e-15)


def test_an_empty_board_is_even() -> None:
    found = territory(np.zeros((19, 19), int))
    np.testing.assert_allclose(found.probability, 0.5, atol=1e-12)
    assert found.score == pytest.approx(0, abs=1e-9)


def test_a_position_with_a_symmetry_of_its_own() -> None:
    board = np.zeros((19, 19), int)
    board[3, 3], board[15, 15] = 1, -1
    found = predict(board)
    np.testing.assert_allclose(found, found.T, atol=1e-12)
    np.testing.assert_allclose(found, 1 - found[::-1, ::-1], atol=1e-12)
    assert found[2, 2] > 0.65


def test_who_is_strong_where(board: np.ndarray) -> None:
    found = predict(board, 80)
    assert found.min() > 0
    assert found.max() < 1
    own = np.where(board > 0, found, 1 - found)[board != 0]
    assert (own > 0.5).mean() > 0.8
    full = np.ones((19, 19), int)
    full[9, 9] = full[0, 0] = 0
    assert predict(full).min() > 0.9


def test_the_score_is_that_of_all_points_less_the_komi(board: np.ndarray) -> None:
    found = territory(board, 80, komi=6.5)
    assert found.score == pytest.approx((2 * found.probability - 1).sum() - 6.5)
    assert 5 < found.spread < 20
    other = territory(-board, 80, komi=-6.5)
    assert other.score == pytest.approx(-found.score)
    assert other.spread == pytest.approx(found.spread)
    assert "score" in str(found.summary())


def test_the_move_is_the_number_of_stones_by_default(board: np.ndarray) -> None:
    stones = int(np.abs(board).sum())
    np.testing.assert_array_equal(predict(board), predict(board, stones))
    between = [predict(board, move) for move in (80, 81, 82)]
    assert 0 < np.abs(between[1] - between[0]).max() < 0.03
    np.testing.assert_array_equal(predict(board, 300), predict(board, 10_000))


def test_the_position_is_left_as_it_was(board: np.ndarray) -> None:
    before = board.copy()
    found = territory(board)
    found.board[:] = 0
    np.testing.assert_array_equal(board, before)
    np.testing.assert_array_equal(predict(board.astype(float)), predict(board.tolist()))


@pytest.mark.parametrize(
    "wrong", [np.zeros((13, 13)), np.full((19, 19), 2), np.full((19, 19), np.nan), "board", None]
)
def test_boards_that_are_none(wrong: object) -> None:
    with refuses("board", (TypeError, ValueError)):
        predict(wrong)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("wrong", [-1, 2.5, "80"])
def test_moves_that_are_none(board: np.ndarray, wrong: object) -> None:
    with refuses("move", (TypeError, ValueError)):
        predict(board, wrong)  # pyright: ignore[reportArgumentType]


def test_a_komi_that_is_none(board: np.ndarray) -> None:
    with refuses("komi"):
        territory(board, komi=float("nan"))


def test_chains_without_liberties_do_no_harm() -> None:
    board = np.ones((19, 19), int)
    board[0, 0] = -1
    found = predict(board)
    assert np.isfinite(found).all()


def test_what_is_learnt_can_be_predicted_with(monkeypatch: pytest.MonkeyPatch) -> None:
    early, owners = drawn_games(25, 40)
    late = drawn_games(25, 150)[0]
    shares: list[float] = []
    table = learn({40: early, 150: late}, owners, progress=lambda share, _: shares.append(share))
    assert shares == [0.5, 1]
    with np.load(TABLE) as archive:
        shipped = {name: archive[name].shape[1:] for name in archive.files if name != "games"}
    assert {name: own.shape[1:] for name, own in table.items()} == shipped
    monkeypatch.setattr(prediction, "_table", lambda: table)
    for n_stones, most in ((40, 0.55), (150, 0.35)):
        boards, ends = drawn_games(6, n_stones, seed=9)
        chances = np.array([predict(board) for board in boards])
        assert -np.log(np.where(ends > 0, chances, 1 - chances)).mean() < most


def test_what_cannot_be_learnt_from() -> None:
    boards, owners = drawn_games(6)
    with refuses("owners"):
        learn({80: boards}, owners[:5])
    with refuses("owners"):
        learn({80: boards[:4]}, owners[:4])
    with refuses("boards", TypeError):
        learn(boards, owners)  # pyright: ignore[reportArgumentType]


def test_the_table_is_small_and_the_one_that_was_measured() -> None:
    assert TABLE.stat().st_size < 200_000
    assert hashlib.sha256(TABLE.read_bytes()).hexdigest() == DIGEST


@pytest.mark.skipif("HERDER_DATA" not in os.environ, reason="needs HERDER_DATA")
def test_the_table_was_learnt_from_the_training_games_only() -> None:
    found = datasets.go_ownership()
    clean = np.flatnonzero(found.fields["clean"])
    with np.load(TABLE) as archive:
        np.testing.assert_array_equal(
            archive["games"], np.delete(found.fields["game"][clean], np.s_[::3])
        )
