"""Orders of a sweep."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herder import PairwiseModel
from herder.samplers.orders import colour_sites, scan_order
from tests.naive import dense
from tests.naming import refuses
from tests.samplers.plain import LOOP_5, draw_pairwise, draw_potts


def colours_by_hand(model):
    """Give every site in turn the lowest colour that its neighbours leave."""
    couplings = dense(model.couplings)
    colours = {}
    for site in range(model.n_sites):
        taken = {colours[j] for j in range(site) if couplings[site, j] != 0}
        colours[site] = min(set(range(model.n_sites)) - taken)
    return [colours[site] for site in range(model.n_sites)]


def test_orders_by_name():
    model = draw_pairwise(5, LOOP_5, 0)
    np.testing.assert_array_equal(scan_order(model, "sequential"), [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(scan_order(model, "reversed"), [4, 3, 2, 1, 0])
    # an odd loop needs a third colour for its last site
    np.testing.assert_array_equal(scan_order(model, "checkerboard"), [0, 2, 1, 3, 4])


def test_a_grid_is_a_checkerboard():
    model = PairwiseModel.grid((4, 5))
    rows, columns = np.unravel_index(scan_order(model, "checkerboard"), (4, 5))
    np.testing.assert_array_equal((rows + columns) % 2, np.repeat([0, 1], 10))
    np.testing.assert_array_equal(
        colour_sites(model.adjacency), np.indices((4, 5)).sum(0).ravel() % 2
    )


@given(st.integers(1, 9), st.data())
def test_no_two_neighbours_share_a_colour(n_sites, data):
    every = [(i, j) for j in range(n_sites) for i in range(j)]
    edges = data.draw(st.lists(st.sampled_from(every), unique=True)) if every else []
    model = draw_pairwise(n_sites, edges, 0, as_sparse=data.draw(st.booleans()))
    colours = colour_sites(model.adjacency)
    assert colours.tolist() == colours_by_hand(model)
    assert all(colours[i] != colours[j] for i, j in edges)
    scan = scan_order(model, "checkerboard")
    assert sorted(scan.tolist()) == list(range(n_sites))
    wanted = sorted(range(n_sites), key=lambda site: (colours[site], site))
    assert scan.tolist() == wanted


def test_sites_may_be_visited_more_than_once():
    model = draw_potts(3, 3, [(0, 1)], 0)
    np.testing.assert_array_equal(scan_order(model, [2, 0, 1, 0]), [2, 0, 1, 0])
    order = np.array([1, 2, 0], dtype=np.uint8)
    found = scan_order(model, order)
    np.testing.assert_array_equal(found, order)
    assert found.dtype == np.intp


@pytest.mark.parametrize(
    ("order", "error"),
    [
        ("random", ValueError),
        ([0, 1], ValueError),
        ([0, 1, 3], ValueError),
        ([0, 1, -1], ValueError),
        ([0.0, 1.0, 2.0], TypeError),
        ([[0, 1, 2]], TypeError),
        ([], (TypeError, ValueError)),
        (None, TypeError),
    ],
)
def test_bad_orders_are_refused_by_name(order, error):
    with refuses("order", error):
        scan_order(draw_pairwise(3, [], 0), order)
