"""Where tables lie, and which cliques are allowed."""

from itertools import product

import numpy as np
import pytest

from herder.models.layout import CliqueLayout, all_cliques, as_cliques, n_cliques
from tests.naming import refuses


def test_cells_are_those_of_c_ordered_tables():
    sizes, cliques = (2, 3, 4), ((0,), (1, 2), (0, 1, 2))
    layout = CliqueLayout.of(sizes, cliques)
    assert layout.offsets.tolist() == [0, 2, 14, 38]
    assert [layout.shape(c) for c in range(layout.n_cliques)] == [(2,), (3, 4), (2, 3, 4)]
    for state in product(*(range(k) for k in sizes)):
        wanted = [
            layout.offsets[c] + np.ravel_multi_index([state[i] for i in clique], layout.shape(c))
            for c, clique in enumerate(cliques)
        ]
        assert layout.cells(np.array(state, dtype=np.int8)).tolist() == wanted


def test_all_cliques_come_short_first_in_order():
    assert all_cliques(3, 3) == ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2))
    for width in range(1, 6):
        for order in range(1, width + 1):
            assert n_cliques(width, order) == len(all_cliques(width, order))


def test_cliques_by_name_or_position_are_sorted_and_unique():
    assert as_cliques([(2, "a"), ["b"], (0, 2), np.array([1])], "abc") == ((1,), (0, 2))


@pytest.mark.parametrize(
    ("cliques", "error"),
    [
        ([[0, 0]], ValueError),
        ([[]], ValueError),
        ([], ValueError),
        ([[5]], ValueError),
        ([[-1]], ValueError),
        ([["z"]], ValueError),
        ([1, 2], TypeError),
        (["ab"], TypeError),
        ([[0.5]], TypeError),
    ],
)
def test_bad_cliques_are_refused(cliques, error):
    with refuses("cliques", error):
        as_cliques(cliques, ["a", "b"])


def test_too_many_cells_name_the_largest_clique():
    with refuses("cliques", match=r"cliques must have at most .* \(1, 2\) with 900000000"):
        CliqueLayout.of([2, 30_000, 30_000], [(0,), (1, 2)])
