"""Frequencies counted by hand, and what patches share."""

import numpy as np
import pytest

from herder import herd_marginals
from herder.apps.go import learn_patches, patch_marginals
from herder.apps.go.patches import KINDS, pack_table, unpack_table
from papers.chen2013_thesis.go import drawn_games
from tests.naming import refuses

BOARDS, OWNERS = drawn_games(6)


def test_single_points_by_hand() -> None:
    board, owners = np.zeros((2, 1, 19, 19), np.int8)
    board[0, 0, :3], owners[0, 0, :4] = [1, 1, -1], [1, -1, -1, 1]
    table = learn_patches(board, owners, ["single"])["single"]
    # three stones: two that their own colour owns in the end; one more is spread over the states
    np.testing.assert_allclose(table[1], [1.5 / 4, 2.5 / 4])
    np.testing.assert_allclose(table[2], [2.5 / 4, 1.5 / 4])
    np.testing.assert_allclose(table[0], 0.5)  # both colours are alike


def test_pairs_by_hand() -> None:
    board, owners = np.zeros((2, 1, 19, 19), np.int8)
    board[0, 0, :2], owners[0, 0, :2] = [1, 1], [1, 1]
    table = learn_patches(board, owners, ["pair"])["pair"].reshape(4, 4, 2, 2)
    # one pair in two orders and as many of inverse colours
    np.testing.assert_allclose(table[1, 1], np.array([[0, 0], [0, 2]]) / 3 + 1 / 12)
    np.testing.assert_allclose(table[2, 2], table[1, 1][::-1, ::-1])
    # what nobody owns counts half for each: 1 and 2, next to the stones
    np.testing.assert_allclose(table[1, 0].sum(axis=0), 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_turned_mirrored_and_inverse_boards_have_the_same_tables(kind: str) -> None:
    table = learn_patches(BOARDS, OWNERS, [kind])[kind]
    np.testing.assert_allclose(table.sum(axis=1), 1)
    turned = learn_patches(np.rot90(BOARDS, 1, (1, 2)), np.rot90(OWNERS, 1, (1, 2)), [kind])[kind]
    mirrored = learn_patches(BOARDS[:, ::-1], OWNERS[:, ::-1], [kind])[kind]
    for other in (turned, mirrored, learn_patches(-BOARDS, -OWNERS, [kind])[kind]):
        np.testing.assert_allclose(other, table, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_packed_and_unpacked(kind: str) -> None:
    table = learn_patches(BOARDS, OWNERS, [kind])[kind]
    rows = pack_table(table, kind)
    assert rows.size < table.size
    np.testing.assert_allclose(unpack_table(rows, kind), table, atol=1e-12)


def test_patches_of_a_position() -> None:
    tables = learn_patches(BOARDS, OWNERS)
    found = patch_marginals(BOARDS[0], tables)
    sizes: dict[str, int] = {}
    for (kind, _, _), own in found.items():
        sizes[kind] = sizes.get(kind, 0) + len(own)
    assert sizes == {"single": 361, "pair": 2 * 19 * 18, "square": 18 * 18, "cross": 361}
    members = {own.sites.shape[1] for (kind, *_), own in found.items() if kind == "cross"}
    assert members == {3, 4, 5}
    stones = BOARDS[0].ravel() != 0
    for (_, _, match), own in found.items():
        assert (own.match, set(stones[own.sites].any(axis=1))) in (
            ("cells", {True}),
            ("inverse", {False}),
        )
        assert own.match == match
    blind = patch_marginals(BOARDS[0], tables, blind=True)
    assert {own.match for own in blind.values()} == {"inverse"}


def test_herding_is_better_than_single_points() -> None:
    tables = learn_patches(*drawn_games(40, seed=1))
    single = tables["single"][np.where(BOARDS < 0, 2, BOARDS), 1]
    marginals = [patch_marginals(board, tables) for board in BOARDS]
    herded = [herd_marginals(own, 100).marginals[:, 1].reshape(19, 19) for own in marginals]
    entropies = [
        -np.log(np.where(OWNERS > 0, own, 1 - np.clip(own, 0, 0.99)).clip(0.01)).mean()
        for own in (single, np.array(herded))
    ]
    assert entropies[1] < entropies[0] - 0.1


def test_what_is_refused() -> None:
    with refuses("boards"):
        learn_patches(BOARDS[0], OWNERS)
    with refuses("owners"):
        learn_patches(BOARDS, 2 * OWNERS)
    with refuses("owners", match="6"):
        learn_patches(BOARDS, OWNERS[:3])
    with refuses("kinds"):
        learn_patches(BOARDS, OWNERS, ["triple"])
