"""Autocorrelation against its definition, effective sizes, and three ways to visit modes."""

import numpy as np
import pytest

from herder import PairwiseModel, PottsModel
from herder.study import autocorrelation, compare_mixing, effective_size, itinerary
from tests.naming import refuses


def test_it_is_equation_2_12():
    states = np.random.default_rng(0).integers(0, 4, 50)
    shares = np.bincount(states) / 50
    chance = sum(share**2 for share in shares)
    for lag, found in enumerate(autocorrelation(states, 49)):
        pairs = [states[t] == states[t + lag] for t in range(50 - lag)]
        assert found == pytest.approx((sum(pairs) / len(pairs) - chance) / (1 - chance))


def test_states_may_have_any_labels():
    words = np.array(["rest", "left", "rest", "rest", "left"])
    assert autocorrelation(words, 2) == pytest.approx(autocorrelation(words == "left", 2))


def test_herding_is_negative_at_first_and_independence_is_not():
    rng = np.random.default_rng(1)
    features, shares = rng.normal(size=(10, 7)), rng.dirichlet(np.ones(10))
    assert autocorrelation(itinerary(features, shares @ features, 20_000), 1)[1] < -0.1
    assert abs(autocorrelation(rng.choice(10, 20_000, p=shares), 5)[1:]).max() < 0.03


def test_independent_draws_are_worth_their_number():
    values = np.random.default_rng(2).normal(size=(200_000, 3))
    assert effective_size(values, np.zeros(3), 50) == pytest.approx(50, rel=0.05)


def test_herded_states_are_worth_the_square_of_their_number():
    features = np.eye(3)
    moments = np.array([2**0.5 - 1, 3**0.5 - 1.5, 2.5 - 2**0.5 - 3**0.5 + 1])
    moments[2] = 1 - moments[:2].sum()
    rows = features[itinerary(features, moments, 100_000)]
    sizes = [effective_size(rows, moments, length) for length in (20, 200)]
    assert sizes[1] / sizes[0] > 30


def test_herding_changes_its_mode_where_gibbs_sampling_stays():
    ring = PairwiseModel.grid((1, 6), temperature=0.6, periodic=True)
    found = compare_mixing(ring, 5000, random_state=1)
    herded, apart, chain = (found.switches[name] for name in found.switches)
    assert herded > apart > 10 * chain
    herded, apart, chain = (found.effective_sizes[name] for name in found.effective_sizes)
    assert herded > 200
    assert 90 < apart < 110
    assert chain < 30
    assert "Gibbs sampling" in str(found)


def test_binary_sites_of_zero_and_one_are_taken_as_well():
    model = PairwiseModel.grid((2, 2), states=(0, 1))
    found = compare_mixing(model, 1000)
    assert set(found.correlations) == {"herding", "independence", "Gibbs sampling"}
    assert all(len(curve) == 51 for curve in found.correlations.values())


@pytest.mark.parametrize(
    ("states", "lag", "name", "kind"),
    [
        ([0, 1], 2, "max_lag", ValueError),
        ([0, 1], -1, "max_lag", ValueError),
        ([0, 1], 0.5, "max_lag", TypeError),
        ([1, 1, 1], 1, "states", ValueError),
        ([], 1, "states", TypeError),
        ([[0, 1]], 0, "states", TypeError),
    ],
)
def test_bad_states_are_named(states, lag, name, kind):
    with refuses(name, kind):
        autocorrelation(states, lag)


@pytest.mark.parametrize(
    ("values", "target", "length", "name"),
    [
        ([[0.0, 1.0]] * 4, [0.5], 1, "target"),
        ([0.0, np.nan, 1.0, 0.0], 0.5, 1, "values"),
        ([1.0, 1.0], 1.0, 1, "values"),
        ([0.0, 1.0, 0.0], 0.5, 2, "length"),
        ([0.0, 1.0, 0.0], 0.5, 0, "length"),
    ],
)
def test_bad_values_are_named(values, target, length, name):
    with refuses(name):
        effective_size(values, target, length)


def test_bad_models_are_named():
    with refuses("model", TypeError):
        compare_mixing(PottsModel.grid((2, 2), 3), 1000)  # pyright: ignore[reportArgumentType]
    with refuses("model"):
        compare_mixing(PairwiseModel.grid((4, 4)), 1000)
    with refuses("n_states"):
        compare_mixing(PairwiseModel.grid((2, 2)), 200)
