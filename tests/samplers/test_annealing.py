import warnings
from itertools import product

import numpy as np
import pytest

from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel
from herder.samplers import annealing
from herder.samplers.annealing import (
    BLOCK_CHAINS,
    AnnealingWarning,
    _spread,
    log_partition,
)
from tests.naming import refuses


def brute_log_partition(model):
    """Sum over all states, energy by energy."""
    states = np.array(list(product(model.states, repeat=model.n_sites)))
    energies = np.array([model.energy(state) for state in states])
    least = energies.min()
    return np.log(np.exp(least - energies).sum()) - least


def potts(n_sites, n_states, seed):
    rng = np.random.default_rng(seed)
    couplings = np.triu(rng.normal(0, 0.8, (n_sites, n_sites)), 1)
    fields = rng.normal(0, 0.7, (n_sites, n_states))
    return PottsModel(couplings + couplings.T, fields, offset=1.5)


FIELDS = {
    "-1/+1": PairwiseModel.random(8, coupling_sd=0.6, bias_sd=0.5, random_state=1),
    "0/1": PairwiseModel.random(8, coupling_sd=1.5, bias_sd=1.0, states=(0, 1), random_state=2),
    "offset": PairwiseModel([[0, 2.0], [2.0, 0]], [-1.0, 0.5], offset=7.0),
    "grid": PairwiseModel.grid((3, 3), 0.5, 0.1),
    "Potts": potts(5, 3, 3),
    "two states": potts(6, 2, 4),
}


@pytest.mark.parametrize("name", FIELDS)
def test_estimates_are_within_their_errors(name):
    model = FIELDS[name]
    truth = brute_log_partition(model)
    found = log_partition(model, method="ais", n_chains=400, n_temperatures=100, random_state=5)
    assert found.method == "ais"
    assert found.reliable
    # 400 chains with more than 100 effective ones: the estimate is normal enough for 4 errors
    assert found.effective_chains > 100
    assert abs(found.value - truth) < 4 * found.error
    assert 0 < found.error < 0.15
    exact = log_partition(model)
    assert exact.value == pytest.approx(truth, rel=1e-12)
    assert (exact.error, exact.method, exact.reliable) == (0.0, "enumerate", True)


@pytest.mark.parametrize("n_temperatures", [1, 3])
def test_weights_are_unbiased_however_few_the_steps(n_temperatures):
    model = PairwiseModel.random(4, coupling_sd=0.5, bias_sd=0.5, random_state=6)
    found = log_partition(
        model, method="ais", n_chains=20_000, n_temperatures=n_temperatures, random_state=7
    )
    truth = np.exp(brute_log_partition(model))
    independent = np.prod(2 * np.cosh(model.biases))
    ratio = np.exp(found.log_weights)
    standard_error = ratio.std() / np.sqrt(len(ratio))
    assert abs(ratio.mean() - truth / independent) < 4 * standard_error
    # the error is that of the mean, seen in log Z
    assert found.error == pytest.approx(standard_error / ratio.mean(), rel=1e-3)


def plain_chain(model, scales, rng):
    """One chain in plain Python, by energies alone: the score of the edges is f_1 / f_0."""
    binary = isinstance(model, PairwiseModel)
    n, values = model.n_sites, model.states
    fields = np.outer(model.biases, values) if binary else model.fields

    def edges_of(state):
        codes = [values.index(v) for v in state]
        alone = sum(fields[i, codes[i]] for i in range(n))
        return model.offset - model.energy(state) - alone

    chances = np.exp(fields) / np.exp(fields).sum(axis=1, keepdims=True)
    first = rng.random((n, 1))
    state = [values[int((first[i] >= np.cumsum(chances[i])[:-1]).sum())] for i in range(n)]
    uniforms = rng.random((len(scales) - 1, n))
    log_weight = 0.0
    for t in range(1, len(scales)):
        log_weight += (scales[t] - scales[t - 1]) * edges_of(state)
        for i in range(n):
            odds = []
            for a, value in enumerate(values):
                state[i] = value
                odds.append(np.exp(fields[i, a] + scales[t] * edges_of(state)))
            reached = np.cumsum(odds) / np.sum(odds)
            state[i] = values[int((uniforms[t - 1, i] >= reached[:-1]).sum())]
    return log_weight


@pytest.mark.filterwarnings("ignore::herder.samplers.annealing.AnnealingWarning")
@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("noise", [2**16, 8])
def test_chains_follow_the_plain_loop(name, noise, monkeypatch):
    monkeypatch.setattr(annealing, "NOISE", noise)  # 8 numbers at a time: many calls
    model = FIELDS[name]
    found = log_partition(model, method="ais", n_chains=3, n_temperatures=20, random_state=8)
    scales = np.linspace(0, 1, 21)
    for seed, log_weight in zip(
        np.random.SeedSequence(8).spawn(3), found.log_weights, strict=True
    ):
        plain = plain_chain(model, scales, np.random.default_rng(seed))
        assert log_weight == pytest.approx(plain, abs=1e-9)


def test_without_couplings_there_is_nothing_to_weigh():
    model = PairwiseModel(np.zeros((3, 3)), [1.0, -2.0, 0.3])
    found = log_partition(model, method="ais", n_chains=20, n_temperatures=2)
    assert found.value == pytest.approx(np.logaddexp(0, model.biases).sum())
    assert found.error == 0
    assert found.effective_chains == pytest.approx(20)


def test_the_answer_depends_on_the_seed_alone():
    model = PairwiseModel.grid((6, 6), 0.3)
    options = {"method": "ais", "n_chains": 20, "n_temperatures": 30}
    one = log_partition(model, **options, random_state=3, n_jobs=1)
    two = log_partition(model, **options, random_state=3, n_jobs=2)
    np.testing.assert_array_equal(one.log_weights, two.log_weights)
    other = log_partition(model, **options, random_state=4)
    assert (one.log_weights != other.log_weights).all()


def test_large_models_are_annealed():
    model = PairwiseModel.random(40, coupling_sd=0.05, bias_sd=1.0, random_state=9)
    found = log_partition(model, n_chains=20, n_temperatures=20)
    assert found.method == "ais"
    # high temperature: log Z0 plus mean and half the variance of the couplings' part
    biases, (first, second) = model.biases, model.edges.T
    means = np.tanh(biases)
    scores = []
    rng = np.random.default_rng(10)
    for _ in range(4000):
        x = np.where(rng.random(40) < (1 + means) / 2, 1, -1)
        scores.append(model.edge_weights @ (x[first] * x[second]))
    expected = np.log(2 * np.cosh(biases)).sum() + np.mean(scores) + np.var(scores) / 2
    # two cumulants of a variance near 1 leave a third of some tenths
    assert abs(found.value - expected) < 0.5
    with refuses("model"):
        log_partition(model, method="exact")


def test_geometric_steps_suit_strong_couplings():
    model = PairwiseModel.random(8, coupling_sd=60.0, random_state=11)
    truth = brute_log_partition(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AnnealingWarning)
        linear = log_partition(model, method="ais", n_temperatures=100)
        found = log_partition(model, method="ais", n_temperatures=100, spacing="geometric")
    assert found.effective_chains > 2 * linear.effective_chains
    assert abs(found.value - truth) < 4 * found.error
    single = log_partition(
        FIELDS["offset"], method="ais", n_chains=200, n_temperatures=1, spacing="geometric"
    )
    assert len(single.log_weights) == 200


def test_a_lone_chain_that_carries_all_is_told():
    model = PairwiseModel.random(30, coupling_sd=3.0, random_state=12)
    with pytest.warns(AnnealingWarning, match=r"effective chains of 20: it is most likely too"):
        found = log_partition(model, method="ais", n_chains=20, n_temperatures=2)
    assert not found.reliable
    assert "not to be trusted" in str(found)


def test_one_line_says_it():
    model = FIELDS["grid"]
    assert "exact (enumerate)" in str(log_partition(model))
    line = str(log_partition(model, method="ais", n_chains=50, n_temperatures=50))
    assert "±" in line
    assert "50 chains" in line
    assert "not to be trusted" not in line


def test_progress_is_reported():
    heard = []
    log_partition(
        FIELDS["grid"],
        method="ais",
        n_chains=20,
        n_temperatures=10,
        progress=lambda share, note: heard.append((share, note)),
    )
    assert heard[-1] == (1.0, "annealing")


@pytest.mark.parametrize(
    ("options", "error", "name"),
    [
        ({"method": "magic"}, ValueError, "method"),
        ({"spacing": "cubic"}, ValueError, "spacing"),
        ({"n_chains": 1}, ValueError, "n_chains"),
        ({"n_chains": 2.5}, TypeError, "n_chains"),
        ({"n_temperatures": 0}, ValueError, "n_temperatures"),
        ({"method": "ais", "random_state": "x"}, TypeError, "random_state"),
    ],
)
def test_bad_options_are_named(options, error, name):
    with refuses(name, error):
        log_partition(FIELDS["grid"], **options)


def test_a_model_is_wanted():
    with refuses("model", TypeError):
        log_partition([[0, 1], [1, 0]])  # pyright: ignore[reportArgumentType]


def test_uniforms_of_chains_are_spread():
    rng, n = np.random.default_rng(0), BLOCK_CHAINS
    found = np.stack([_spread(rng, (n, 50)) for _ in range(200)])
    assert ((found >= 0) & (found < 1)).all()
    parts = np.floor((found - found[:, :1]) * n + 0.5) % n
    assert (np.sort(parts, axis=1) == np.arange(n)[:, None]).all()
    of_chain = np.moveaxis(found, 1, 0).reshape(n, -1)
    np.testing.assert_allclose(of_chain.mean(axis=1), 0.5, atol=4 * 0.29 / 100)
    np.testing.assert_allclose(of_chain.var(axis=1), 1 / 12, atol=4 * 0.075 / 100)
    pairs = np.asarray(np.corrcoef(of_chain))[~np.eye(n, dtype=bool)]
    np.testing.assert_allclose(pairs, -1 / (n - 1), atol=5 / 100)
