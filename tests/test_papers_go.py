"""Section 3.5.4 of the thesis: cross entropy by hand, and its random field."""

import numpy as np
import pytest

from papers.chen2013_thesis import figure3_17, go


def test_the_entropy_is_that_of_the_outcome_and_of_owned_points_only() -> None:
    owners = np.zeros((2, 19, 19), np.int8)
    owners[0, 0, :2] = [1, -1]
    owners[1] = -1
    chances = np.full((2, 361), 0.5)
    chances[0, :2] = [0.8, 0.4]
    expected = [-(np.log(0.8) + np.log(0.6)) / 2, np.log(2)]
    np.testing.assert_allclose(go.entropies(chances, owners), expected)


def test_the_field_joins_neighbours_and_knows_most_owners() -> None:
    model = go.field(True, go.QUICK_STAGES[0])
    assert model.theta[0] > 0
    assert (model.omega[:3] > 0).all()
    boards, owners = go.drawn_games(3, seed=1)
    found = go.believe(boards, model).reshape(owners.shape)
    np.testing.assert_allclose(
        go.believe(-boards, model).reshape(owners.shape), 1 - found, atol=1e-5
    )
    assert ((found > 0.5) == (owners > 0)).mean() > 0.8
    cooler = go.calibrate(found, model._replace(factor=0.5))
    assert (np.abs(cooler - 0.5) <= np.abs(found - 0.5) + 1e-12).all()


@pytest.mark.parametrize("place", [(9, 9), (0, 0)])
def test_points_far_from_stones(place: tuple[int, int]) -> None:
    board = np.zeros((19, 19), np.int8)
    board[place] = 1
    row, column = np.indices((19, 19))
    near = np.maximum(abs(row - place[0]), abs(column - place[1])) <= figure3_17.FAR
    np.testing.assert_array_equal(figure3_17._far(board).reshape(19, 19), ~near)
