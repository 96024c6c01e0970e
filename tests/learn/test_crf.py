import itertools
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from herder import PairwiseModel
from herder.learn.crf import (
    _likelihood_loss,
    _pseudo_loss,
    fit_shared,
    piecewise_tables,
    shared_tables,
)
from herder.maximise.cut import maximise_by_cut
from herder.models.exact import exact_samples
from herder.models.graph import grid_edges
from herder.models.tables import total_score
from herder.samplers.belief import propagate
from tests.naming import refuses

CHANCES, DIFFER = np.array([0.9, 0.3, 0.45, 0.8]), np.array([0.2, 0.7, 0.1])
CHAIN = np.array([(0, 1), (1, 2), (2, 3)])
SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("clipped", [True, False])
def test_the_energy_is_minus_the_sum_of_logs(clipped):
    fields, tables = piecewise_tables(CHANCES, DIFFER, 1.5, clipped=clipped)
    for y in itertools.product((0, 1), repeat=4):
        energy = 0.0
        for label, p in zip(y, CHANCES, strict=True):
            energy -= np.log(p if label else 1 - p)
        for (i, j), q in zip(CHAIN, DIFFER, strict=True):
            if y[i] != y[j]:
                energy += 1.5 * (max(0.0, np.log((1 - q) / q)) if clipped else -np.log(q))
        assert total_score(fields, CHAIN, tables, np.array(y)) == pytest.approx(-energy)


def test_without_weight_the_field_is_that_of_the_local_classifier():
    fields, tables = piecewise_tables(CHANCES, DIFFER, 0.0)
    found = propagate(fields, CHAIN, tables)
    np.testing.assert_allclose(found.marginals[:, 1], CHANCES, atol=1e-12)


def test_certain_probabilities_are_finite():
    fields, tables = piecewise_tables([0.0, 1.0], [0.0], 2.0)
    assert np.isfinite(fields).all()
    assert np.isfinite(tables).all()


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="PyMaxflow has no wheels for it")
def test_neighbours_that_rarely_differ_outvote_a_weak_label():
    fields, tables = piecewise_tables([0.9, 0.45, 0.9], [0.1, 0.1], 1.0)
    local = fields.argmax(axis=1)
    np.testing.assert_array_equal(local, [1, 0, 1])
    found = maximise_by_cut(fields, CHAIN[:2], tables, local)
    np.testing.assert_array_equal(found, [1, 1, 1])


@given(st.sampled_from([_pseudo_loss, _likelihood_loss]), SEEDS)
def test_gradients_are_those_of_finite_differences(loss, seed):
    rng = np.random.default_rng(seed)
    edges, states = grid_edges((2, 3)), rng.choice([-1.0, 1.0], 6)
    m = len(edges)
    at = rng.normal(size=6 + m) * 0.5

    def value(parameters):
        return loss(parameters[:6], edges, parameters[6:], states)[0]

    _, by_bias, by_coupling = loss(at[:6], edges, at[6:], states)
    slopes = np.array(approx_fprime(at, value, 1e-6))
    # differences of numbers near 10 that messages settle to 1e-8 leave six digits
    np.testing.assert_allclose(np.concatenate([by_bias, by_coupling]), slopes, atol=1e-5)


@given(SEEDS)
def test_losses_are_those_of_the_model(seed):
    """Pseudo-likelihood by the conditionals; the likelihood of a tree by exact sums."""
    rng = np.random.default_rng(seed)
    biases, couplings, x = rng.normal(size=4), rng.normal(size=3), rng.choice([-1, 1], 4)
    model = PairwiseModel.from_edges(4, CHAIN, couplings, biases, (-1, 1))
    chances = np.where(x > 0, model.conditional(x), 1 - model.conditional(x))
    pseudo = _pseudo_loss(biases, CHAIN, couplings, x.astype(float))[0]
    assert pseudo == pytest.approx(-np.log(chances).sum())
    whole = _likelihood_loss(biases, CHAIN, couplings, x.astype(float))[0]
    assert whole == pytest.approx(-model.log_prob(x), abs=1e-8)


@pytest.mark.parametrize("method", ["pseudo", "likelihood"])
def test_shared_parameters_are_found_again(method):
    """Many small boards of stones: the bias depends on the stone, the coupling on two of them."""
    rng, board = np.random.default_rng(0), grid_edges((3, 3))
    theta, omega = np.array([0.8]), np.array([0.3, 0.4])
    own, edges, both, labels = [], [], [], []
    for number in range(300):
        stones = rng.integers(-1, 2, 9)
        product = stones[board].prod(axis=1)
        features = np.column_stack([np.ones(12), product])
        model = PairwiseModel.from_edges(9, board, features @ omega, stones * theta, (-1, 1))
        own.append(stones[:, None])
        edges.append(board + 9 * number)
        both.append(features)
        labels.append(exact_samples(model, 1, random_state=number)[0] > 0)
    data = [np.concatenate(part) for part in (own, edges, both, labels)]
    found = fit_shared(data[0], data[1], data[2], data[3], method=method)
    # 2,700 points leave a standard error of about 0.03 for the bias and for the couplings
    np.testing.assert_allclose(found[0], theta, atol=0.12)
    np.testing.assert_allclose(found[1], omega, atol=0.12)


def test_a_penalty_shrinks():
    labels = [1, 1, 0, 1]
    free, held = (
        fit_shared(np.ones((4, 1)), CHAIN, np.ones((3, 1)), labels, alpha=alpha)
        for alpha in (0.1, 10.0)
    )
    assert abs(held[0][0]) < abs(free[0][0])


def test_tables_of_spins():
    fields, tables = shared_tables(np.array([0.5]), np.array([2.0]))
    np.testing.assert_array_equal(fields, [[-0.5, 0.5]])
    np.testing.assert_array_equal(tables, [[[2.0, -2.0], [-2.0, 2.0]]])


def test_bad_input_is_named():
    good = [np.ones((4, 1)), CHAIN, np.ones((3, 1)), [0, 1, 1, 0]]
    for place, name, wrong in [
        (0, "node_features", np.ones(4)),
        (1, "edges", [(0, 4), (1, 2), (2, 3)]),
        (2, "edge_features", np.ones((2, 1))),
        (2, "edge_features", np.full((3, 1), np.inf)),
        (3, "labels", [-1, 1, 1, -1]),
    ]:
        parts = [*good[:place], wrong, *good[place + 1 :]]
        with refuses(name):
            fit_shared(*parts)
    with refuses("method"):
        fit_shared(*good, method="magic")
    with refuses("alpha"):
        fit_shared(*good, alpha=-1.0)
    with refuses("chances"):
        piecewise_tables([1.5], [0.5], 1.0)
    with refuses("differ"):
        piecewise_tables([0.5], [[0.5]], 1.0)
    with refuses("weight"):
        piecewise_tables([0.5], [0.5], -1.0)
