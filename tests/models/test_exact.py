"""Exact answers against sums over all states in plain Python, by both methods."""

import math
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herder.models import enumeration
from herder.models.exact import exact_field, exact_samples
from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel
from tests.models.drawn import fields
from tests.naming import refuses
from tests.samplers.plain import (
    all_states,
    distribution,
    frequencies,
    log_weight,
    marginals_of,
    pairs_of,
    small_models,
)

METHODS = ["enumerate", "transfer"]
MODELS = small_models()


def check_against_sums(model, exact):
    rows = all_states(model)
    logs = np.array([log_weight(model, row) for row in rows])
    p = distribution(model)
    log_z = logs.max() + math.log(math.fsum(np.exp(logs - logs.max())))
    assert exact.log_partition == pytest.approx(log_z, rel=1e-12, abs=1e-12)
    # sums of at most a few hundred terms: rounding is far below 1e-12
    np.testing.assert_allclose(exact.marginals, marginals_of(model, rows, p), atol=1e-12)
    np.testing.assert_array_equal(exact.edges, model.edges)
    pairs = pairs_of(model, model.edges, rows, p)
    np.testing.assert_allclose(exact.pair_marginals, pairs, atol=1e-12)
    assert exact.mean_energy == pytest.approx(-(p @ logs), rel=1e-11, abs=1e-11)
    kept = p[p > 0]
    assert exact.entropy == pytest.approx(-(kept @ np.log(kept)), rel=1e-10, abs=1e-10)
    if exact.method == "enumerate":
        np.testing.assert_allclose(exact.probabilities, p, rtol=1e-10)
    else:
        assert exact.probabilities is None
    np.testing.assert_allclose(exact.log_prob(model, rows), logs - log_z, atol=1e-10)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_sums_over_all_states(name, method):
    exact = MODELS[name].exact(method=method)
    assert exact.method == method
    check_against_sums(MODELS[name], exact)


@pytest.mark.parametrize("method", METHODS)
@given(model=fields())
def test_sums_over_all_states_of_drawn_models(method, model):
    check_against_sums(model, exact_field(model, method))


@given(model=fields(), low_cells=st.integers(2, 20), block=st.integers(1, 40))
def test_any_cut_into_low_and_high_sites_gives_the_same(model, low_cells, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(enumeration, "LOW_CELLS", low_cells)
        patch.setattr(enumeration, "BLOCK", block)
        check_against_sums(model, exact_field(model, "enumerate"))


def curie_weiss(n, coupling, bias):
    """Give log Z and P(upper) of n spins that are all coupled alike, from the number k of ups."""
    k = np.arange(n + 1)
    total = 2 * k - n
    ways = [math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in k]
    logs = np.array(ways) + coupling * (total**2 - n) / 2 + bias * total
    p = np.exp(logs - logs.max())
    return logs.max() + math.log(p.sum()), float(p @ k / p.sum() / n)


def test_four_million_states():
    n, coupling, bias = 22, 0.03, 0.05
    model = PairwiseModel(coupling * (1 - np.eye(n)), np.full(n, bias), (-1, 1))
    exact = model.exact()
    assert exact.method == "enumerate"
    assert exact.probabilities is None
    log_z, upper = curie_weiss(n, coupling, bias)
    assert exact.log_partition == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(exact.marginals, upper, rtol=1e-11)
    tables = exact.pair_marginals
    np.testing.assert_allclose(tables, np.broadcast_to(tables[0], tables.shape), rtol=1e-10)
    np.testing.assert_allclose(tables[0].sum(axis=0), [1 - upper, upper], rtol=1e-11)


def listed(model):
    found = model.exact().probabilities
    assert found is not None
    return found


def test_auto_lists_what_is_small_and_takes_the_cheaper_way_beyond():
    small, wide = PairwiseModel.grid((4, 5)), PairwiseModel.grid((3, 7))
    assert listed(small).shape == (2**20,)
    assert wide.exact().method == "transfer"
    assert wide.exact(method="enumerate").probabilities is None
    assert wide.exact().log_partition == pytest.approx(
        wide.exact(method="enumerate").log_partition, rel=1e-12
    )


def test_site_zero_is_the_lowest_digit_of_a_state_number():
    binary = PairwiseModel(np.zeros((3, 3)), [50.0, -50.0, -50.0])
    assert listed(binary).argmax() == 1
    potts = PottsModel(np.zeros((3, 3)), [[0, 50, 0], [50, 0, 0], [0, 0, 50]])
    assert listed(potts).argmax() == 1 + 2 * 9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
def test_huge_parameters_do_not_overflow(method, states):
    rng = np.random.default_rng(5)
    couplings = np.triu(rng.normal(size=(9, 9)) * 1e3, 1)
    model = PairwiseModel(couplings + couplings.T, rng.normal(size=9) * 1e3, states)
    exact = model.exact(method=method)
    rows = all_states(model)
    energies = np.array([-log_weight(model, row) for row in rows])
    ground = rows[energies.argmin()]
    gap = np.sort(energies)[1] - energies.min()
    assert gap > 50  # the ground state has all the weight there is
    assert exact.log_partition == pytest.approx(-energies.min(), rel=1e-13)
    np.testing.assert_allclose(exact.marginals, ground == states[1], atol=1e-12)
    assert exact.mean_energy == pytest.approx(energies.min(), rel=1e-12)
    assert 0 <= exact.entropy < 1e-9
    np.testing.assert_array_equal(
        exact_samples(model, 3, method=method, random_state=0), [ground] * 3
    )


def test_what_is_too_large_is_refused_with_both_limits():
    model = PairwiseModel.random(26, random_state=0)
    for method in ("auto", "enumerate", "transfer"):
        with refuses("model", match=r"2\^25 states .* 2\^21 states .*26 sites of 2.*anneal"):
            model.exact(method=method)
    with refuses("model"):
        exact_samples(PottsModel.grid((15, 20)), 1)
    with refuses("method"):
        model.exact(method="gray")


def test_probabilities_of_states_add_up():
    model = PairwiseModel.random(8, random_state=2)
    assert np.exp(model.log_prob(all_states(model))).sum() == pytest.approx(1, rel=1e-12)
    one = np.ones(8)
    assert model.log_prob(one) == model.exact().log_prob(model, one)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_samples_have_the_distribution(name, method):
    model, n_samples = MODELS[name], 20_000
    rows = exact_samples(model, n_samples, method=method, random_state=7)
    assert rows.dtype == np.int8
    assert rows.shape == (n_samples, model.n_sites)
    p = distribution(model)
    # Five standard errors of a frequency, and one count for states that are rare.
    allowed = 5 * np.sqrt(p * (1 - p) / n_samples) + 1 / n_samples
    assert (np.abs(frequencies(model, rows) - p) < allowed).all()


@pytest.mark.parametrize("method", METHODS)
def test_samples_are_independent_and_follow_the_seed(method):
    model = PairwiseModel(np.zeros((1, 1)), [0.3], (-1, 1))
    draw = exact_samples(model, 20_000, method=method, random_state=1)[:, 0].astype(float)
    mean = math.tanh(0.3)
    lagged = np.mean((draw[1:] - mean) * (draw[:-1] - mean))
    assert abs(lagged) < 5 * (1 - mean**2) / math.sqrt(20_000)
    again = exact_samples(model, 20_000, method=method, random_state=np.random.default_rng(1))
    np.testing.assert_array_equal(again[:, 0], draw)


def test_samples_of_many_states_with_high_sites(monkeypatch):
    monkeypatch.setattr(enumeration, "LOW_CELLS", 4)
    monkeypatch.setattr(enumeration, "BLOCK", 8)
    model, n_samples = MODELS["complete +-1"], 20_000
    rows = exact_samples(model, n_samples, method="enumerate", random_state=3)
    p = distribution(model)
    allowed = 5 * np.sqrt(p * (1 - p) / n_samples) + 1 / n_samples
    assert (np.abs(frequencies(model, rows) - p) < allowed).all()


def test_low_sites_are_drawn_anew_for_each_state_of_the_high_ones(monkeypatch):
    monkeypatch.setattr(enumeration, "LOW_CELLS", 2)
    model = PairwiseModel(np.zeros((2, 2)))  # two fair coins, site 0 is low
    rows = exact_samples(model, 20_000, method="enumerate", random_state=6)
    one, two = (rows[rows[:, 1] == value, 0] for value in (0, 1))
    n_pairs = min(len(one), len(two))
    equal = np.mean(one[:n_pairs] == two[:n_pairs])
    assert abs(equal - 0.5) < 5 * 0.5 / math.sqrt(n_pairs)


def test_the_number_of_samples_is_checked():
    with refuses("n_samples"):
        exact_samples(MODELS["one site"], 0)
    with refuses("n_samples", TypeError):
        exact_samples(MODELS["one site"], cast(Any, 1.5))


def test_exact_answers_print_as_three_numbers():
    found = exact_field(PairwiseModel(np.zeros((3, 3)), np.zeros(3)))
    title, *facts = str(found).splitlines()
    assert title == "Exact answers on 3 sites (enumerate)"
    assert [line.split()[-1] for line in facts[:2]] == ["2.079442", "0.000000"]  # 3 log 2
    assert facts[2].split() == ["entropy", "2.079442", "nats"]
