"""Models to dimod and networkx and back: the same energies, the same names."""

import sys
from typing import Any

import dimod
import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from herder import gibbs, load, save
from herder.models.conversion import from_dimod, from_networkx, to_dimod, to_networkx
from herder.models.pairwise import PairwiseModel
from tests.models.drawn import pairwise_models
from tests.naive import dense
from tests.naming import refuses
from tests.samplers.plain import all_states


def named(states=(-1, 1)):
    couplings = [[0, 0.5, 0], [0.5, 0, -2], [0, -2, 0]]
    return PairwiseModel(couplings, [1, 0, -0.25], states, offset=3.0, names=["a", "b", "c"])


def assert_same(one, two):
    np.testing.assert_array_equal(dense(one.couplings), dense(two.couplings))
    np.testing.assert_array_equal(one.biases, two.biases)
    assert (one.states, one.offset, one.names) == (two.states, two.offset, two.names)


@given(pairwise_models())
def test_dimod_gives_the_same_energies(model):
    quadratic = to_dimod(model)
    assert quadratic.vartype is (dimod.BINARY if model.states == (0, 1) else dimod.SPIN)
    assert quadratic.num_interactions == len(model.edges)
    rows = all_states(model)
    labels = list(range(model.n_sites))
    np.testing.assert_array_equal(quadratic.energies((rows, labels)), model.energy(rows))
    assert_same(from_dimod(quadratic), model)


def test_dimod_minimises_what_we_make_likely():
    quadratic = dimod.BinaryQuadraticModel({"x": -1.0, "y": 0.0}, {("x", "y"): 2.0}, 0.5, "BINARY")
    model = PairwiseModel.from_dimod(quadratic)
    assert model.names == ("x", "y")
    np.testing.assert_array_equal(model.biases, [1.0, 0.0])
    np.testing.assert_array_equal(model.edge_weights, [-2.0])
    solved = dimod.ExactSolver().sample(quadratic)
    rows = all_states(model)
    likely = rows[np.argmax(model.exact().log_prob(model, rows))]
    assert dict(zip("xy", likely, strict=True)) == dict(next(iter(solved.samples())))
    assert model.energy(likely) == solved.record.energy.min()


def test_dimod_and_herder_turn_alphabets_alike():
    model = named()
    turned = from_dimod(to_dimod(model).change_vartype("BINARY", inplace=False))
    assert_same(turned, model.to_states((0, 1)))


def test_methods_and_names():
    for states in ((0, 1), (-1, 1)):
        model = named(states)
        assert_same(PairwiseModel.from_dimod(model.to_dimod()), model)
        assert_same(PairwiseModel.from_networkx(model.to_networkx(), states), model)
    assert set(named().to_dimod().variables) == {"a", "b", "c"}


@given(pairwise_models())
def test_networkx_holds_the_whole_model(model):
    graph = to_networkx(model)
    assert graph.number_of_edges() == len(model.edges)
    np.testing.assert_array_equal(
        nx.to_numpy_array(graph, nodelist=range(model.n_sites)), dense(model.couplings)
    )
    np.testing.assert_array_equal([graph.nodes[i]["bias"] for i in graph], model.biases)
    assert_same(from_networkx(graph), model)


def test_graphs_of_others_need_weights_but_no_biases():
    graph = nx.Graph()
    graph.add_edge("b", "a", weight=2)
    graph.add_edge("b", ("c", 1), weight=-1.0)
    graph.nodes["a"]["bias"] = 0.5
    model = from_networkx(graph, (-1, 1))
    assert model.names == ("b", "a", "('c', 1)")
    np.testing.assert_array_equal(dense(model.couplings), [[0, 2, -1], [2, 0, 0], [-1, 0, 0]])
    np.testing.assert_array_equal(model.biases, [0, 0.5, 0])
    assert model.states == (-1, 1)
    assert from_networkx(graph).states == (0, 1)
    assert model.offset == 0.0


def test_nodes_of_grids_stay_tuples(tmp_path):
    grid = nx.grid_2d_graph(3, 2)
    for edge in grid.edges:
        grid.edges[edge]["weight"] = 0.5
    model = PairwiseModel.from_networkx(grid, (-1, 1))
    assert (model.names or ())[:2] == ("(0, 0)", "(0, 1)")
    save(model, tmp_path / "m.safetensors")
    for each in (model, load(tmp_path / "m.safetensors")):
        graph = each.to_networkx()
        assert list(graph.nodes) == list(grid.nodes)
        assert {frozenset(edge) for edge in graph.edges} == {frozenset(e) for e in grid.edges}
        assert list(each.to_dimod().variables) == list(grid.nodes)
    assert_same(PairwiseModel.from_networkx(model.to_networkx()), model)
    held = gibbs(model, 50, evidence={(1, 0): -1, "(2, 1)": 1}).samples
    assert (held[:, list(grid).index((1, 0))] == -1).all()
    assert (held[:, list(grid).index((2, 1))] == 1).all()
    given, free = model.given({(0, 0): 1})
    assert list(given.to_networkx()) == [node for node in grid if node != (0, 0)]
    assert free.tolist() == [1, 2, 3, 4, 5]
    with refuses("evidence"):
        model.given({(9, 9): 1})


def test_names_that_only_look_like_tuples_stay_texts():
    names = ["(a, b)", "(1)", "(0,1)", "('a', 1)", "("]
    graph = PairwiseModel(np.zeros((5, 5)), names=names).to_networkx()
    assert list(graph.nodes) == ["(a, b)", "(1)", "(0,1)", ("a", 1), "("]


def test_integer_nodes_stay_integers():
    graph = nx.Graph()
    graph.add_weighted_edges_from([(7, -3, 0.5), (-3, 10, 1.0)])
    model = PairwiseModel.from_networkx(graph)
    assert list(model.to_networkx().nodes) == [7, -3, 10]
    assert list(model.to_dimod().variables) == [7, -3, 10]
    assert_same(PairwiseModel.from_networkx(model.to_networkx()), model)
    for texts in (["7", "a"], ["07", "1"], ["1.0", "2"]):
        assert list(PairwiseModel(np.zeros((2, 2)), names=texts).to_networkx()) == texts


def test_the_attribute_of_edges_can_be_named():
    graph = nx.path_graph(3)
    for edge in graph.edges:
        graph.edges[edge]["strength"] = 2.0
    graph.edges[0, 1]["weight"] = 9.0
    model = PairwiseModel.from_networkx(graph, weight="strength")
    np.testing.assert_array_equal(model.edge_weights, [2.0, 2.0])
    with pytest.raises(ValueError, match=r"have a length on every edge, got none at \(0, 1\)"):
        from_networkx(graph, weight="length")
    wrong: Any = True
    with refuses("weight", TypeError):
        from_networkx(graph, weight=wrong)


def test_isolated_nodes_are_sites():
    graph = nx.empty_graph(3)
    assert from_networkx(graph).n_sites == 3
    assert from_networkx(graph).names is None


@pytest.mark.parametrize(
    ("edges", "kind", "text"),
    [
        ([(0, 1, {})], nx.Graph, r"graph must have a weight on every edge, got none at \(0, 1\)"),
        ([(1, 1, {"weight": 1})], nx.Graph, "graph must have no self-loops, got one at 1"),
        ([(0, 1, {"weight": 1})], nx.DiGraph, "^graph must"),
        ([(0, 1, {"weight": 1})], nx.MultiGraph, "^graph must"),
        ([], nx.Graph, "^graph must"),
        ([(0, 1, {"weight": np.nan})], nx.Graph, "^weights must"),
    ],
)
def test_graphs_that_are_no_models_are_refused(edges, kind, text):
    with pytest.raises(ValueError, match=text):
        from_networkx(kind(edges))


def test_other_states_than_the_graph_was_written_with_are_refused():
    with refuses("states"):
        from_networkx(to_networkx(named()), (0, 1))


def test_other_kinds_are_refused():
    with refuses("graph", TypeError):
        from_networkx([(0, 1)])
    with refuses("quadratic", TypeError):
        from_dimod({("a", "b"): 1.0})
    with refuses("quadratic"):
        from_dimod(dimod.BinaryQuadraticModel("SPIN"))


@pytest.mark.parametrize(("library", "call"), [("dimod", to_dimod), ("networkx", to_networkx)])
def test_a_missing_library_is_told_in_one_line(monkeypatch, library, call):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError, match=f"needs {library}.*: pip install {library}$"):
        call(named())
