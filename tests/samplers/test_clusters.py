"""Swendsen-Wang retraces its slow twin, draw for draw."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herder import PairwiseModel, PottsModel, swendsen_wang
from tests.naive import clusters_by_labels, dense, textbook_swendsen_wang
from tests.naming import refuses
from tests.samplers.plain import COMPLETE_4, LOOP_5, draw_pairwise, draw_potts, small_models


def friendly(model):
    """Give a Potts model whose couplings are not negative; a binary model as it is."""
    if isinstance(model, PairwiseModel):
        return model
    return PottsModel(abs(model.couplings), model.fields)


MODELS = {name: friendly(model) for name, model in small_models().items()} | {
    "grid": PairwiseModel.grid((3, 4), 0.44),
    "torus in a field": PairwiseModel.grid((4, 4), 0.3, 0.1, periodic=True),
    "antiferromagnetic grid": PairwiseModel.grid((3, 4), -0.4),
    "potts grid": PottsModel.grid((3, 4), 4, 1.0),
    "huge couplings": draw_pairwise(5, LOOP_5, 22, strength=1e3),
    "huge potts": friendly(draw_potts(4, 3, COMPLETE_4, 23, strength=1e3)),
}


def noise_of(seed, n_sweeps, model):
    """Give the random numbers of a chain: child 1 of its seed freezes, child 2 turns clusters.

    Half a word of 64 bits freezes an edge. Without a field a bit turns a cluster over, in a field
    a logistic number, as a uniform one here.
    """
    edges, coins = np.random.SeedSequence(seed).spawn(1)[0].spawn(3)[1:]
    n_edges, n_sites = len(model.edges), model.n_sites
    size = (n_sweeps, (n_edges + 1) // 2)
    halves = np.random.default_rng(edges).integers(2**64, size=size, dtype=np.uint64)
    frozen = halves.view(np.uint32)[:, :n_edges] / 2**32
    rng = np.random.default_rng(coins)
    if isinstance(model, PottsModel):
        return frozen, rng.standard_exponential((n_sweeps, n_sites, model.n_states))
    if model.to_states((-1, 1)).biases.any():
        return frozen, 1 / (1 + np.exp(rng.logistic(size=(n_sweeps, n_sites))))
    words = rng.integers(2**64, size=(n_sweeps, -(-n_sites // 64)), dtype=np.uint64)
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :n_sites]
    return frozen, np.where(bits, 0.25, 0.75)


@pytest.mark.parametrize("name", list(MODELS))
def test_it_retraces_the_textbook(name):
    model, n_sweeps = MODELS[name], 200
    start = np.array(model.states)[np.arange(model.n_sites) % model.n_states]
    noise = noise_of(3, n_sweeps, model)
    wanted, n_clusters = textbook_swendsen_wang(model, start, *noise)
    run = swendsen_wang(model, n_sweeps, start=start, random_state=3)
    np.testing.assert_array_equal(run.samples, wanted)
    mean = n_sweeps * model.n_sites / n_clusters
    assert run.diagnostics["cluster_size"] == [pytest.approx(mean)]


@pytest.mark.parametrize("name", ["torus in a field", "sparse loop 0/1", "potts loop"])
def test_held_sites_are_a_field_to_the_others(name):
    """The twin runs on the smaller model, whose fields are summed by hand."""
    model = MODELS[name]
    evidence = {1: model.states[1], 3: model.states[0]}
    free = [site for site in range(model.n_sites) if site not in evidence]
    couplings = dense(model.couplings)
    among = couplings[np.ix_(free, free)]
    if isinstance(model, PottsModel):
        fields = model.fields[free].copy()
        for row, site in enumerate(free):
            for held, value in evidence.items():
                fields[row, value] += couplings[site, held]
        rest = PottsModel(among, fields)
    else:
        pull = [sum(couplings[site, held] * v for held, v in evidence.items()) for site in free]
        rest = PairwiseModel(among, model.biases[free] + pull, model.states)
    start = np.array([model.states[0]] * model.n_sites)
    noise = noise_of(4, 100, rest)
    wanted, _ = textbook_swendsen_wang(rest, start[free], *noise)
    run = swendsen_wang(model, 100, start=start, evidence=evidence, random_state=4)
    np.testing.assert_array_equal(run.samples[:, free], wanted)
    assert (run.samples[:, 1] == evidence[1]).all()
    assert (run.samples[:, 3] == evidence[3]).all()


@given(st.integers(1, 8), st.data())
def test_labels_are_the_lowest_sites_that_can_be_reached(n_sites, data):
    """The twin's own twin: reachability by powers of the adjacency matrix."""
    every = [(i, j) for j in range(n_sites) for i in range(j)]
    bonds = data.draw(st.lists(st.sampled_from(every))) if every else []
    joined = np.eye(n_sites, dtype=int)
    for i, j in bonds:
        joined[i, j] = joined[j, i] = 1
    reached = np.linalg.matrix_power(joined, n_sites) > 0
    assert clusters_by_labels(n_sites, bonds) == reached.argmax(axis=1).tolist()


def test_frozen_grids_are_one_cluster_and_free_sites_their_own():
    cold = swendsen_wang(PairwiseModel.grid((6, 6), 50.0), 300, start=np.ones(36))
    assert cold.diagnostics["cluster_size"] == [36]
    assert set(np.unique(cold.samples.sum(axis=1))) == {-36, 36}
    free = swendsen_wang(PairwiseModel(np.zeros((9, 9))), 50)
    assert free.diagnostics["cluster_size"] == [1]


def test_an_antiferromagnet_turns_like_its_mirror_image():
    """Every other site of a grid turned over makes the coupling positive: the same clusters."""
    start = np.ones(30)
    turned = np.where(np.indices((5, 6)).sum(axis=0).ravel() % 2 == 0, 1, -1)
    one = swendsen_wang(PairwiseModel.grid((5, 6), 0.4), 200, start=start)
    other = swendsen_wang(PairwiseModel.grid((5, 6), -0.4), 200, start=start * turned)
    np.testing.assert_array_equal(one.samples * turned, other.samples)


def test_negative_couplings_of_many_states_are_refused():
    with refuses("couplings"):
        swendsen_wang(PottsModel.grid((2, 2), 3, -0.5), 10)
