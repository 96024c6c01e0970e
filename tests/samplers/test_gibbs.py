"""Gibbs sampling retraces its slow twin, draw for draw."""

from importlib import import_module

import numpy as np
import pytest
from scipy import sparse

from herder import PairwiseModel, PottsModel, gibbs
from tests.naive import dense, textbook_gibbs, textbook_tempering
from tests.samplers.plain import (
    COMPLETE_5,
    LOOP_5,
    draw_pairwise,
    draw_potts,
    log_weight,
    small_models,
)
from tests.sharing import shared_out

gibbs_module = import_module("herder.samplers.gibbs")

MODELS = small_models() | {
    "many neighbours, sparse": draw_pairwise(
        14, [(0, j) for j in range(1, 14)], 20, as_sparse=True
    ),
    "many neighbours, dense": draw_pairwise(
        12, [(i, j) for j in range(12) for i in range(j)], 21, strength=0.3
    ),
    "huge couplings": draw_pairwise(5, LOOP_5, 22, strength=1e3),
    "huge couplings, dense": draw_pairwise(12, COMPLETE_5, 23, strength=1e3, states=(0, 1)),
    "huge potts": draw_potts(4, 3, [(0, 1), (1, 2)], 24, strength=1e3),
}


def noise_of(seed, shape, model, *, n_chains=1, chain=0):
    """Give the random numbers of a chain: child 1 of its seed draws sites, child 2 exchanges."""
    sites, swaps = np.random.SeedSequence(seed).spawn(n_chains)[chain].spawn(3)[1:]
    rng = np.random.default_rng(sites)
    if hasattr(model, "fields"):
        noise = rng.standard_exponential((*shape, model.n_states))
    else:
        noise = rng.random(shape)
    return noise, np.random.default_rng(swaps)


@pytest.mark.parametrize(("name", "order"), shared_out(MODELS, ["sequential", "reversed"]))
def test_it_retraces_the_textbook(name, order):
    model, n_sweeps = MODELS[name], 150
    scan = np.arange(model.n_sites)[:: 1 if order == "sequential" else -1]
    start = np.array(model.states)[np.arange(model.n_sites) % model.n_states]
    for chain in range(2):
        noise, _ = noise_of(5, (n_sweeps, len(scan)), model, n_chains=2, chain=chain)
        run = gibbs(model, n_sweeps, order=order, start=start, n_chains=2, random_state=5)
        wanted = textbook_gibbs(model, start, [scan] * n_sweeps, noise)
        np.testing.assert_array_equal(run.chains[chain], wanted)


@pytest.mark.parametrize("model", [MODELS["sparse loop +-1"], MODELS["potts loop"]])
def test_any_order_is_followed(model):
    scan = [2, 0, 3, 2, 1, *range(4, model.n_sites), 0]
    start = np.array([model.states[0]] * model.n_sites)
    noise, _ = noise_of(1, (100, len(scan)), model)
    run = gibbs(model, 100, order=scan, start=start, random_state=1)
    np.testing.assert_array_equal(run.samples, textbook_gibbs(model, start, [scan] * 100, noise))


@pytest.mark.parametrize("name", ["complete 0/1", "sparse loop +-1", "potts complete"])
def test_held_sites_are_passed_over(name):
    model = MODELS[name]
    evidence = {1: model.states[1], 3: model.states[0]}
    start = np.array([model.states[-1]] * model.n_sites)
    free = [site for site in range(model.n_sites) if site not in evidence]
    noise, _ = noise_of(2, (100, len(free)), model)
    run = gibbs(model, 100, start=start, evidence=evidence, random_state=2)
    start[1], start[3] = evidence[1], evidence[3]
    np.testing.assert_array_equal(run.samples, textbook_gibbs(model, start, [free] * 100, noise))


@pytest.mark.parametrize(
    "name", ["complete +-1", "complete 0/1", "sparse loop 0/1", "potts complete", "one site"]
)
def test_tempering_retraces_the_textbook(name):
    model, heats, n_sweeps = MODELS[name], (1.0, 1.5, 2.5, 6.0), 120
    scan = np.arange(model.n_sites)
    start = np.array([model.states[0]] * model.n_sites)
    noise, swaps = noise_of(3, (n_sweeps, len(heats), len(scan)), model)
    uniforms = swaps.random((n_sweeps, len(heats)))
    wanted, offered, taken = textbook_tempering(
        model, [start] * len(heats), heats, [scan] * n_sweeps, noise, uniforms, log_weight
    )
    run = gibbs(model, n_sweeps, temperatures=heats, start=start, random_state=3)
    np.testing.assert_array_equal(run.samples, wanted)
    assert 0 < sum(taken) < sum(offered)  # else the test would prove little
    np.testing.assert_allclose(run.diagnostics["swaps"][0], np.divide(taken, offered))


def test_one_temperature_is_none():
    model = MODELS["complete 0/1"]
    one = gibbs(model, 200, temperatures=(1.0,), random_state=0)
    np.testing.assert_array_equal(one.samples, gibbs(model, 200, random_state=0).samples)


def test_sparse_and_dense_couplings_give_the_same_states():
    for states in ((0, 1), (-1, 1)):
        model = draw_pairwise(12, [(i, j) for j in range(12) for i in range(j)], 3, states=states)
        thin = PairwiseModel(sparse.csr_array(model.couplings), model.biases, states)
        np.testing.assert_array_equal(gibbs(model, 300).samples, gibbs(thin, 300).samples)


def test_both_alphabets_give_the_same_states():
    for name in ("complete +-1", "sparse loop +-1", "many neighbours, dense"):
        model = MODELS[name]
        one, other = gibbs(model, 300).samples, gibbs(model.to_states((0, 1)), 300).samples
        np.testing.assert_array_equal((one + 1) // 2, other)


def test_float32_lists_and_explicit_zeros_are_taken():
    model = draw_pairwise(5, LOOP_5, 4)
    single = dense(model.couplings).astype(np.float32)
    double = PairwiseModel(single.astype(np.float64), model.biases, (-1, 1))
    wanted = gibbs(double, 100).samples
    np.testing.assert_array_equal(
        gibbs(PairwiseModel(single, model.biases, (-1, 1)), 100).samples, wanted
    )
    np.testing.assert_array_equal(
        gibbs(PairwiseModel(single.tolist(), model.biases.tolist(), (-1, 1)), 100).samples, wanted
    )
    i, j = np.indices((5, 5)).reshape(2, -1)
    padded = sparse.coo_array((single[i, j].astype(np.float64), (i, j)), shape=(5, 5))
    assert padded.nnz == 25
    kept = PairwiseModel(padded, model.biases, (-1, 1))
    assert len(kept.edges) == 5
    np.testing.assert_array_equal(gibbs(kept, 100).samples, wanted)


def test_gains_do_not_drift():
    """Past the sweeps after which gains are summed anew, the twin is still retraced."""
    rng = np.random.default_rng(0)
    couplings = np.triu(rng.normal(size=(10, 10)), 1) * 0.3
    model = PairwiseModel(couplings + couplings.T, rng.normal(size=10) * 0.2)
    start = np.zeros(10, dtype=int)
    noise, _ = noise_of(0, (2500, 10), model)
    wanted = textbook_gibbs(model, start, [range(10)] * 2500, noise)
    np.testing.assert_array_equal(gibbs(model, 2500, start=start).samples, wanted)


def test_gains_are_summed_anew_after_many_sweeps(monkeypatch):
    seen = []
    whole = gibbs_module._Gains.at
    monkeypatch.setattr(
        gibbs_module._Gains, "at", lambda gains, x: seen.append(len(x)) or whole(gains, x)
    )
    model = draw_pairwise(10, [(i, j) for j in range(10) for i in range(j)], 6)
    gibbs(model, 3 * gibbs_module.REFRESH)
    assert len(seen) == 1 + 3  # at the start, and at sweeps 0, 1024 and 2048


def test_a_start_for_each_chain():
    model = draw_pairwise(5, COMPLETE_5, 6, strength=1.5)
    starts = np.array([[-1, 1, 1, 1, 1], [1, -1, -1, -1, -1]])
    run = gibbs(model, 20, n_chains=2, start=starts)
    for chain in range(2):
        noise, _ = noise_of(0, (20, 5), model, n_chains=2, chain=chain)
        wanted = textbook_gibbs(model, starts[chain], [range(5)] * 20, noise)
        np.testing.assert_array_equal(run.chains[chain], wanted)
    same = gibbs(model, 20, n_chains=2, start=starts[0])
    assert (same.chains[1] != run.chains[1]).any()  # the start did matter


def test_more_chains_leave_the_first_as_they_are():
    model = MODELS["complete +-1"]
    few, many = (gibbs(model, 50, n_chains=n, random_state=8) for n in (2, 5))
    np.testing.assert_array_equal(many.chains[:2], few.chains)


def test_a_potts_model_of_two_states_is_an_ising_model():
    """The same distribution: J [x_i = x_j] is J / 2 times s_i s_j, but for a constant."""
    potts = draw_potts(4, 2, [(0, 1), (1, 2), (2, 3)], 5)
    ising = PairwiseModel(
        np.asarray(potts.couplings) / 2, (potts.fields[:, 1] - potts.fields[:, 0]) / 2, (-1, 1)
    )
    assert isinstance(potts, PottsModel)
    one, other = gibbs(potts, 60_000, random_state=1), gibbs(ising, 60_000, random_state=2)
    assert one.marginals.shape == (4, 2)
    np.testing.assert_allclose(one.marginals.sum(axis=1), 1)
    # binary frequencies over 60,000 sweeps of weak couplings: 5 errors of 0.5 sqrt(3 / 60,000)
    np.testing.assert_allclose(one.marginals[:, 1], other.marginals, atol=0.025)
