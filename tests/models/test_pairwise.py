"""Pairwise models: energies and conditionals by hand, both alphabets, evidence, constructors."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from herder.models.pairwise import PairwiseModel
from tests.models.drawn import pairwise_models
from tests.naive import dense, site_chances
from tests.naming import refuses
from tests.samplers.plain import all_states, log_weight

PAIR = [[0.0, 1.0], [1.0, 0.0]]


def other(states):
    return (0, 1) if states == (-1, 1) else (-1, 1)


@given(pairwise_models())
def test_energies_are_sums_over_pairs_and_sites(model):
    rows = all_states(model)
    by_hand = [-log_weight(model, row) for row in rows]
    np.testing.assert_array_equal(model.energy(rows), by_hand)
    assert model.energy(rows[-1]) == by_hand[-1]
    assert isinstance(model.energy(rows[-1]), float)


@given(pairwise_models())
def test_conditionals_are_those_of_the_energies(model):
    rows = all_states(model)
    found = model.conditional(rows)
    assert found.shape == rows.shape
    np.testing.assert_array_equal(model.conditional(rows[0]), found[0])
    for site in range(model.n_sites):
        low, high = rows.copy(), rows.copy()
        low[:, site], high[:, site] = model.states
        odds = np.exp(model.energy(low) - model.energy(high))
        np.testing.assert_allclose(found[:, site], odds / (1 + odds), rtol=1e-12)


@given(pairwise_models())
def test_the_other_alphabet_has_the_same_energies(model):
    turned = model.to_states(other(model.states))
    assert turned.states == other(model.states)
    assert turned.is_sparse == model.is_sparse
    np.testing.assert_array_equal(
        turned.energy(all_states(turned)), model.energy(all_states(model))
    )
    back = turned.to_states(model.states)
    np.testing.assert_array_equal(dense(back.couplings), dense(model.couplings))
    np.testing.assert_array_equal(back.biases, model.biases)
    assert back.offset == model.offset
    assert model.to_states(model.states) is model


@given(pairwise_models(), st.sampled_from([0.5, 1, 2.0, 8.0]))
def test_temperature_divides_energies(model, temperature):
    rows = all_states(model)
    warmer = model.at_temperature(temperature)
    np.testing.assert_array_equal(warmer.energy(rows), model.energy(rows) / temperature)


@given(pairwise_models(), st.data())
def test_evidence_leaves_the_energies_of_whole_states(model, data):
    some = st.sets(st.integers(0, model.n_sites - 1), max_size=model.n_sites - 1)
    held = sorted(data.draw(some))
    evidence = {site: data.draw(st.sampled_from(model.states)) for site in held}
    rest, free = model.given(evidence)
    assert sorted([*held, *free]) == list(range(model.n_sites))
    assert rest.states == model.states
    rows = all_states(rest)
    whole = np.empty((len(rows), model.n_sites))
    whole[:, free] = rows
    for site, value in evidence.items():
        whole[:, site] = value
    np.testing.assert_array_equal(rest.energy(rows), model.energy(whole))


@given(pairwise_models())
def test_sparse_and_dense_are_the_same(model):
    full = dense(model.couplings)
    one = PairwiseModel(full, model.biases, model.states)
    two = PairwiseModel(sparse.coo_matrix(full), model.biases, model.states)
    assert not one.is_sparse
    assert two.is_sparse
    rows = all_states(model)
    np.testing.assert_array_equal(one.energy(rows), two.energy(rows))
    np.testing.assert_allclose(one.conditional(rows), two.conditional(rows), rtol=1e-15)
    np.testing.assert_array_equal(one.edges, two.edges)
    np.testing.assert_array_equal(one.edge_weights, two.edge_weights)
    for left, right in zip(one.adjacency, two.adjacency, strict=True):
        np.testing.assert_array_equal(left, right)


@given(pairwise_models())
def test_edges_and_neighbours_list_the_couplings(model):
    full = dense(model.couplings)
    listed = [(i, j) for i, j in itertools.combinations(range(model.n_sites), 2) if full[i, j]]
    np.testing.assert_array_equal(model.edges, np.array(listed).reshape(-1, 2))
    assert model.edges.dtype == np.intp
    np.testing.assert_array_equal(model.edge_weights, [full[i, j] for i, j in listed])
    indptr, indices, weights = model.adjacency
    for site in range(model.n_sites):
        part = slice(indptr[site], indptr[site + 1])
        np.testing.assert_array_equal(indices[part], np.flatnonzero(full[site]))
        np.testing.assert_array_equal(weights[part], full[site][full[site] != 0])


def test_huge_fields_do_not_overflow():
    model = PairwiseModel(np.array(PAIR) * 1e3, [-1e3, 1e4], (-1, 1))
    rows = all_states(model)
    by_hand = [[site_chances(model, row, site)[1] for site in (0, 1)] for row in rows]
    np.testing.assert_allclose(model.conditional(rows), by_hand, rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (([[0, 1, 2]],), ValueError, "^couplings must"),
        (([0.0],), ValueError, "^couplings must"),
        ((np.empty((0, 0)),), ValueError, "^couplings must"),
        ((sparse.csr_array((2, 3)),), ValueError, "^couplings must"),
        (([[0, 1], [2, 0]],), ValueError, r"couplings must be symmetric, got .* at \(0, 1\)"),
        ((sparse.csr_array([[0, 1], [2, 0]]),), ValueError, "^couplings must"),
        (([[0, 1], [1, 3]],), ValueError, "couplings must have a zero diagonal, got 3 at site 1"),
        ((sparse.csr_array([[0, 1], [1, 3]]),), ValueError, "^couplings must"),
        (([[0, np.nan], [np.nan, 0]],), ValueError, "^couplings must"),
        ((sparse.csr_array([[0, np.inf], [np.inf, 0]]),), ValueError, "^couplings must"),
        (([["a", "b"], ["c", "d"]],), TypeError, "^couplings must"),
        ((PAIR, [1.0]), ValueError, "^biases must"),
        ((PAIR, [1.0, np.inf]), ValueError, "^biases must"),
        ((PAIR, ["x", "y"]), TypeError, "^biases must"),
        ((PAIR, None, (1, 2)), ValueError, "^states must"),
        ((PAIR, None, (1, 0)), ValueError, "^states must"),
        ((PAIR, None, 2), ValueError, "^states must"),
    ],
)
def test_what_is_no_model_is_refused_by_name(arguments, error, text):
    with pytest.raises(error, match=text):
        PairwiseModel(*arguments)


def test_offset_and_names_are_checked():
    with refuses("offset"):
        PairwiseModel(PAIR, offset=np.nan)
    for names in (["a"], ["a", "a"]):
        with refuses("names"):
            PairwiseModel(PAIR, names=names)
    with pytest.raises(TypeError, match="names must be a list of texts"):
        PairwiseModel(PAIR, names=np.array("ab", dtype=object))
    assert PairwiseModel(PAIR, names=["a", "b"]).names == ("a", "b")


def test_models_are_made_of_copies_that_cannot_be_written():
    couplings, biases = np.array(PAIR), np.array([1.0, 2.0])
    model = PairwiseModel(couplings, biases)
    couplings[0, 1] = biases[0] = 9.0
    assert model.couplings[0, 1] == 1.0
    assert model.biases[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        model.biases[0] = 3.0
    with pytest.raises(ValueError, match="read-only"):
        model.couplings[0, 1] = 3.0
    rows = sparse.csr_array(PAIR)
    kept = PairwiseModel(rows)
    rows.data[:] = 9.0
    np.testing.assert_array_equal(kept.edge_weights, [1.0])


def test_rounding_is_no_asymmetry_and_explicit_zeros_are_no_edges():
    model = PairwiseModel([[0, 1], [1 + 1e-13, 0]])
    assert model.couplings[0, 1] == model.couplings[1, 0]
    stored = sparse.csr_array(([0.0, 0.0, 2.0, 2.0], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(3, 3))
    np.testing.assert_array_equal(PairwiseModel(stored).edges, [[1, 2]])


@pytest.mark.parametrize(
    ("x", "error"),
    [
        ([0, 1], ValueError),
        ([[1, np.nan]], ValueError),
        ([1, 1, 1], ValueError),
        (np.ones((2, 2, 2)), ValueError),
        (["up", "down"], TypeError),
    ],
)
def test_what_is_no_state_is_refused(x, error):
    model = PairwiseModel(PAIR, states=(-1, 1))
    with refuses("x", error):
        model.energy(x)
    with refuses("x", error):
        model.conditional(x)


def test_states_may_be_of_any_kind_of_number():
    model = PairwiseModel(PAIR, [1, 2])
    for kind in (bool, np.uint8, np.int64, np.float32):
        assert model.energy(np.array([1, 1], dtype=kind)) == -4.0


@pytest.mark.parametrize(
    ("evidence", "error", "text"),
    [
        ({"z": 1}, ValueError, "^evidence must"),
        ({5: 1}, ValueError, "^evidence must"),
        ({-1: 1}, ValueError, "^evidence must"),
        ({0.0: 1}, TypeError, "^evidence must"),
        ({True: 1}, TypeError, "^evidence must"),
        ({0: -1}, ValueError, "evidence must be 0 or 1, got -1 at site 0"),
        ({0: "1"}, ValueError, "evidence must be 0 or 1, got '1' at site 0"),
        ({0: 1, "a": 1}, ValueError, "evidence must name each site once, got site 0 twice"),
        ({0: 1, 1: 0, 2: 0}, ValueError, "^evidence must"),
        ([0, 1], TypeError, "^evidence must"),
    ],
)
def test_evidence_is_checked(evidence, error, text):
    model = PairwiseModel(np.zeros((3, 3)), names=["a", "b", "c"])
    with pytest.raises(error, match=text):
        model.given(evidence)


def test_evidence_goes_by_name_too():
    model = PairwiseModel.random(3, states=(0, 1), random_state=1)
    named = PairwiseModel(model.couplings, model.biases, names=["a", "b", "c"])
    rest, free = named.given({"b": 1})
    assert rest.names == ("a", "c")
    np.testing.assert_array_equal(free, [0, 2])
    same, _ = model.given({1: 1})
    np.testing.assert_array_equal(rest.biases, same.biases)
    assert same.names is None


def neighbours_in(shape, *, periodic):
    """List pairs of cells one step apart along one axis, by looking at all pairs."""
    cells = list(np.ndindex(*shape))
    found = []
    for (i, one), (j, two) in itertools.combinations(enumerate(cells), 2):
        steps = [abs(a - b) for a, b in zip(one, two, strict=True)]
        if periodic:
            steps = [min(step, size - step) for step, size in zip(steps, shape, strict=True)]
        if sum(steps) == 1:
            found.append((i, j))
    return np.array(found, dtype=int).reshape(-1, 2)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("shape", [(1,), (2,), (5,), (2, 2), (1, 4), (2, 3), (3, 4), (2, 3, 3)])
def test_grids_couple_cells_one_step_apart(shape, periodic):
    model = PairwiseModel.grid(shape, 0.5, 0.25, periodic=periodic, temperature=2)
    np.testing.assert_array_equal(model.edges, neighbours_in(shape, periodic=periodic))
    assert model.n_sites == np.prod(shape)
    assert (model.edge_weights == 0.25).all()
    assert (model.biases == 0.125).all()
    assert model.states == (-1, 1)
    assert model.is_sparse


def test_grids_by_length_and_with_a_field_of_their_shape():
    np.testing.assert_array_equal(PairwiseModel.grid(3).edges, [[0, 1], [1, 2]])
    field = np.arange(6.0).reshape(2, 3)
    model = PairwiseModel.grid((2, 3), field=field, states=(0, 1))
    np.testing.assert_array_equal(model.biases, np.arange(6.0))
    assert model.states == (0, 1)


@pytest.mark.parametrize("shape", [(), 0, (2, 0), (2.5, 2), "23", (True, 2)])
def test_grids_need_a_shape(shape):
    with refuses("shape"):
        PairwiseModel.grid(shape)


def test_grids_and_temperatures_are_checked():
    with refuses("temperature"):
        PairwiseModel.grid(3, temperature=0)
    with refuses("temperature"):
        PairwiseModel.grid(3).at_temperature(-1)


@pytest.mark.parametrize(
    ("graph", "edges"),
    [
        ("complete", list(itertools.combinations(range(4), 2))),
        ("grid", [(0, 1), (0, 2), (1, 3), (2, 3)]),
        ("loop", [(0, 1), (0, 3), (1, 2), (2, 3)]),
        ("empty", np.empty((0, 2))),
        ([(3, 1), (0, 1)], [(0, 1), (1, 3)]),
    ],
)
def test_random_models_have_the_graph_that_was_asked_for(graph, edges):
    model = PairwiseModel.random(4, graph=graph, random_state=3)
    np.testing.assert_array_equal(model.edges, edges)
    again = PairwiseModel.random(4, graph=graph, random_state=3)
    np.testing.assert_array_equal(model.edge_weights, again.edge_weights)
    assert PairwiseModel.random(4, random_state=4).biases[0] != model.biases[0]


def test_random_models_have_the_spread_that_was_asked_for():
    model = PairwiseModel.random(120, coupling_sd=2.0, bias_sd=0.5, random_state=0)
    # five standard errors of a standard deviation: sd / sqrt(2 n)
    weights = model.edge_weights
    assert abs(weights.std() - 2.0) < 5 * 2.0 / np.sqrt(2 * len(weights))
    assert abs(model.biases.std() - 0.5) < 5 * 0.5 / np.sqrt(2 * 120)
    assert not PairwiseModel.random(4, coupling_sd=0.0, random_state=0).edges.size


@pytest.mark.parametrize(
    ("graph", "name"),
    [
        ("grid", "n_sites"),
        ("star", "graph"),
        ([(0, 5)], "edges"),
        ([(1, 1)], "edges"),
        ([(0, 1), (1, 0)], "edges"),
        ([(0, 1, 2)], "edges"),
    ],
)
def test_graphs_are_checked(graph, name):
    with refuses(name):
        PairwiseModel.random(5, graph=graph, random_state=0)


def test_models_from_edges():
    model = PairwiseModel.from_edges(
        3, [(2, 0), (0, 1)], [0.5, -1], [1, 2, 3], (-1, 1), offset=2.0, names="abc"
    )
    np.testing.assert_array_equal(dense(model.couplings), [[0, -1, 0.5], [-1, 0, 0], [0.5, 0, 0]])
    assert model.names == ("a", "b", "c")
    assert model.energy([1, 1, 1]) == 2.0 - 6.0 + 0.5
    same = PairwiseModel.from_edges(3, [(0, 1), (1, 2)], 0.5)
    np.testing.assert_array_equal(same.edge_weights, [0.5, 0.5])
    assert not PairwiseModel.from_edges(2, [], []).edges.size


def test_one_site_and_no_edges():
    model = PairwiseModel([[0]], [2.0])
    assert model.edges.shape == (0, 2)
    np.testing.assert_array_equal(model.energy([[0], [1]]), [0.0, -2.0])
    np.testing.assert_allclose(model.conditional([0]), [1 / (1 + np.exp(-2.0))], rtol=1e-15)
    assert repr(model) == "PairwiseModel(1 sites, 0 edges, states=(0, 1))"
