"""Potts models: energies and conditionals by hand, evidence, constructors."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel
from tests.models.drawn import potts_models
from tests.naive import dense
from tests.naming import refuses
from tests.samplers.plain import all_states, log_weight

PAIR = [[0.0, 1.0], [1.0, 0.0]]


@given(potts_models())
def test_energies_are_sums_over_pairs_and_sites(model):
    rows = all_states(model)
    by_hand = [-log_weight(model, row) for row in rows]
    np.testing.assert_array_equal(model.energy(rows), by_hand)
    assert model.energy(rows[-1]) == by_hand[-1]
    assert isinstance(model.energy(rows[-1]), float)


@given(potts_models())
def test_conditionals_are_those_of_the_energies(model):
    rows = all_states(model)
    found = model.conditional(rows)
    assert found.shape == (*rows.shape, model.n_states)
    np.testing.assert_array_equal(model.conditional(rows[0]), found[0])
    for site in range(model.n_sites):
        weights = np.empty((len(rows), model.n_states))
        for state in range(model.n_states):
            changed = rows.copy()
            changed[:, site] = state
            weights[:, state] = np.exp(-model.energy(changed))
        weights /= weights.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found[:, site], weights, rtol=1e-12)


@given(potts_models(), st.sampled_from([0.5, 1, 2.0, 8.0]))
def test_temperature_divides_energies(model, temperature):
    rows = all_states(model)
    warmer = model.at_temperature(temperature)
    np.testing.assert_array_equal(warmer.energy(rows), model.energy(rows) / temperature)


@given(potts_models(), st.data())
def test_evidence_leaves_the_energies_of_whole_states(model, data):
    some = st.sets(st.integers(0, model.n_sites - 1), max_size=model.n_sites - 1)
    held = sorted(data.draw(some))
    evidence = {site: data.draw(st.sampled_from(model.states)) for site in held}
    rest, free = model.given(evidence)
    assert sorted([*held, *free]) == list(range(model.n_sites))
    rows = all_states(rest)
    whole = np.empty((len(rows), model.n_sites), dtype=int)
    whole[:, free] = rows
    for site, value in evidence.items():
        whole[:, site] = value
    np.testing.assert_array_equal(rest.energy(rows), model.energy(whole))


@given(potts_models())
def test_sparse_and_dense_are_the_same(model):
    full = dense(model.couplings)
    one, two = PottsModel(full, model.fields), PottsModel(sparse.csr_matrix(full), model.fields)
    assert not one.is_sparse
    assert two.is_sparse
    rows = all_states(model)
    np.testing.assert_array_equal(one.energy(rows), two.energy(rows))
    np.testing.assert_allclose(one.conditional(rows), two.conditional(rows), rtol=1e-15)
    np.testing.assert_array_equal(one.edges, two.edges)
    for left, right in zip(one.adjacency, two.adjacency, strict=True):
        np.testing.assert_array_equal(left, right)


def test_two_states_make_an_ising_model():
    rng = np.random.default_rng(0)
    couplings = np.triu(rng.integers(-8, 9, (4, 4)) / 4, 1)
    couplings += couplings.T
    fields = rng.integers(-8, 9, (4, 2)) / 4
    potts = PottsModel(couplings, fields)
    shift = couplings.sum() / 4 + fields.mean(axis=1).sum()
    biases = (fields[:, 1] - fields[:, 0]) / 2
    ising = PairwiseModel(couplings / 2, biases, (-1, 1), offset=-shift)
    np.testing.assert_array_equal(potts.energy(all_states(potts)), ising.energy(all_states(ising)))


@pytest.mark.parametrize(
    ("arguments", "error", "name"),
    [
        (([[0, 1], [2, 0]], np.zeros((2, 3))), ValueError, "couplings"),
        (([[1, 0], [0, 0]], np.zeros((2, 3))), ValueError, "couplings"),
        ((PAIR, np.zeros(2)), ValueError, "fields"),
        ((PAIR, np.zeros((3, 3))), ValueError, "fields"),
        ((PAIR, np.zeros((2, 1))), ValueError, "fields"),
        ((PAIR, np.zeros((2, 128))), ValueError, "fields"),
        ((PAIR, [[0, np.nan], [0, 0]]), ValueError, "fields"),
        ((PAIR, [["a", "b"], ["c", "d"]]), TypeError, "fields"),
    ],
)
def test_what_is_no_model_is_refused_by_name(arguments, error, name):
    with refuses(name, error):
        PottsModel(*arguments)


@pytest.mark.parametrize(
    ("x", "error"),
    [
        ([0, 3], ValueError),
        ([0, -1], ValueError),
        ([0, 0.5], ValueError),
        ([0, 1, 2], ValueError),
        (["a", "b"], TypeError),
    ],
)
def test_what_is_no_state_is_refused(x, error):
    with refuses("x", error):
        PottsModel(PAIR, np.zeros((2, 3))).energy(x)


@pytest.mark.parametrize(
    ("evidence", "error", "text"),
    [
        ({0: 3}, ValueError, "evidence must be a state from 0 to 2, got 3 at site 0"),
        ({0: "1"}, ValueError, "evidence must be a state from 0 to 2, got '1' at site 0"),
        ({"a": 0, "b": 0}, ValueError, "^evidence must"),
        ({"z": 0}, ValueError, "^evidence must"),
        ({2: 0}, ValueError, "^evidence must"),
    ],
)
def test_evidence_is_checked(evidence, error, text):
    model = PottsModel(PAIR, np.zeros((2, 3)), names=["a", "b"])
    with pytest.raises(error, match=text):
        model.given(evidence)


def test_names_follow_the_free_sites():
    model = PottsModel(np.zeros((3, 3)), np.zeros((3, 3)), names=["a", "b", "c"])
    rest, free = model.given({"b": 2})
    assert rest.names == ("a", "c")
    np.testing.assert_array_equal(free, [0, 2])


@pytest.mark.parametrize("periodic", [False, True])
def test_grids_have_the_edges_of_ising_grids(periodic):
    for shape in [(2,), (5,), (2, 3), (3, 4)]:
        model = PottsModel.grid(shape, 4, 0.5, periodic=periodic, temperature=2)
        edges = PairwiseModel.grid(shape, periodic=periodic).edges
        np.testing.assert_array_equal(model.edges, edges)
        assert (model.edge_weights == 0.25).all()
        assert model.fields.shape == (np.prod(shape), 4)
        assert not model.fields.any()


def test_grids_with_fields():
    model = PottsModel.grid(3, 2, field=[1.0, 2.0], temperature=0.5)
    np.testing.assert_array_equal(model.fields, [[2.0, 4.0]] * 3)
    each = PottsModel.grid(2, 2, field=[[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(each.fields, [[1.0, 2.0], [3.0, 4.0]])


def test_random_models():
    model = PottsModel.random(4, 5, graph="loop", random_state=1)
    np.testing.assert_array_equal(model.edges, [(0, 1), (0, 3), (1, 2), (2, 3)])
    assert model.n_states == 5
    assert model.states == (0, 1, 2, 3, 4)
    again = PottsModel.random(4, 5, graph="loop", random_state=1)
    np.testing.assert_array_equal(model.fields, again.fields)
    full = PottsModel.random(4, random_state=1)
    np.testing.assert_array_equal(full.edges, list(itertools.combinations(range(4), 2)))
    assert repr(full) == "PottsModel(4 sites, 6 edges, 3 states)"
