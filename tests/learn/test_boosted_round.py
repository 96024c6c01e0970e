"""One round of boosting: balance, coefficient, effective sample size, gain."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit

from herder.learn.boosted_base import SignBase
from herder.learn.boosted_features import RBMFeatures
from herder.learn.boosted_model import BoostedModel
from herder.learn.boosted_round import RoundRows, balance, find_coefficient, run_round

#: Rows of the small problem.
N = 4000

#: Four signs, all states alike.
FLAT = SignBase(np.zeros(1), np.zeros((1, 4)))

ENERGIES = hnp.arrays(float, st.integers(1, 30), elements=st.floats(-1000, 1000))


def plain_weights(data, negatives, shares):
    """The weights of equation 8 at the constant of equation 11, which a root finder finds."""

    def gap(constant):
        return expit(data + constant).mean() - shares @ expit(-negatives - constant)

    both = np.concatenate([data, negatives])
    constant = brentq(gap, -both.max() - 50, -both.min() + 50, xtol=1e-12)
    return expit(data + constant), expit(-negatives - constant)


def plain_derivative(rows, data, negatives, coefficient, penalty=0.0):
    """Equation 10, as means, with importance weights; less the standard errors of the data."""
    shares = np.exp(-coefficient * negatives)
    shares /= shares.sum()
    own, others = np.ones(len(data)), np.ones(len(negatives))
    if rows.weighted:
        own, others = plain_weights(
            rows.data + coefficient * data, rows.negatives + coefficient * negatives, shares
        )
    centre = (own * data).sum() / own.sum()
    worst = own.mean() * (negatives.max() - centre)  # one row more, as the worst negative example
    error = np.array([*own * (data - centre), worst]).std() / np.sqrt(len(data))
    slope = (shares * others * negatives).sum() - (own * data).mean() - penalty * error
    return slope, 1 / (shares**2).sum() / len(shares)


def drawn(seed, weighted):
    """Return rows of a round and a feature that is smaller on the data."""
    rng = np.random.default_rng(seed)
    rows = RoundRows(rng.normal(0, 2, 80), rng.normal(0, 2, 120), weighted)
    return rows, rng.normal(-0.5, 1, 80), rng.normal(0, 1, 120)


@given(ENERGIES, ENERGIES, st.data())
def test_balance_makes_total_weights_equal(data, negatives, draw):
    parts = hnp.arrays(float, len(negatives), elements=st.floats(0.01, 1))
    shares = draw.draw(parts)
    shares /= shares.sum()
    rows = RoundRows(data, negatives, True)
    constant = balance(rows, shares, draw.draw(st.floats(-1e6, 1e6)))
    own, others = expit(data + constant), expit(-negatives - constant)
    assert abs(own.mean() - shares @ others) < 1e-8


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_are_those_of_the_logistic_loss(weighted):
    rows, _, _ = drawn(0, weighted)
    own, others = rows.weights(0.7)
    assert own.sum() == pytest.approx(1)
    assert others.sum() == pytest.approx(1)
    if weighted:
        np.testing.assert_allclose(
            own * (1 + np.exp(-rows.data - 0.7)), own[0] / expit(rows.data[0] + 0.7)
        )
        np.testing.assert_allclose(
            others / others[0], expit(-rows.negatives - 0.7) / expit(-rows.negatives[0] - 0.7)
        )
    else:
        assert set(own) == {1 / 80}
        assert set(others) == {1 / 120}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("penalty", [0.0, 1.5])
@given(seed=st.integers(0, 2**20), min_ess=st.sampled_from([0.3, 0.6, 0.95]))
def test_derivative_is_positive_up_to_the_coefficient(weighted, penalty, seed, min_ess):
    rows, data, negatives = drawn(seed, weighted)
    found, constant, ess = find_coefficient(
        rows, data, negatives, min_ess=min_ess, penalty=penalty
    )
    slope, _ = plain_derivative(rows, data, negatives, 0.0, penalty)
    assert (found > 0) == (slope > 0)
    for part in (*np.linspace(0, 1, 12)[:-1], 1 - 1e-6) if found else ():
        slope, size = plain_derivative(rows, data, negatives, part * found, penalty)
        assert slope > 0
        assert size >= min_ess
    _, size = plain_derivative(rows, data, negatives, found, penalty)
    assert ess == pytest.approx(size)
    assert ess >= min_ess * (1 - 1e-12)
    beyond, less = plain_derivative(rows, data, negatives, found * (1 + 1e-6), penalty)
    assert not found or beyond < 1e-12 or less < min_ess
    if weighted:
        shares = np.exp(-found * negatives)
        changed = RoundRows(rows.data + found * data, rows.negatives + found * negatives, True)
        own = expit(changed.data + constant).mean()
        assert abs(own - shares @ expit(-changed.negatives - constant) / shares.sum()) < 1e-8


@pytest.mark.parametrize("seed", range(5))
def test_unweighted_coefficient_maximises_the_exact_likelihood(seed):
    """Negative examples that are all states of a uniform field sum over it exactly."""
    rng = np.random.default_rng(seed)
    states = np.array(list(itertools.product((-1, 1), repeat=4)), float)
    rows = states[rng.choice(16, 60, p=np.arange(16) / 120)]
    unit = np.where(rows.sum(axis=0) > 0, 0.5, -0.5) * rng.random(4)

    def values(these):
        return -np.log(np.cosh(these @ unit + 0.3))

    def loss(coefficient):
        logs = -coefficient * values(states)
        return coefficient * values(rows).mean() + np.log(np.exp(logs).sum())

    best = minimize_scalar(loss, (0.0, 1.0), tol=1e-12)
    flat = RoundRows(np.zeros(60), np.zeros(16), False)
    found, _, _ = find_coefficient(flat, values(rows), values(states), min_ess=0.0)
    assert found == pytest.approx(best.x, rel=1e-5)
    for at in (0.0, 0.5 * found, 2 * found):
        slope = -(loss(at + 1e-5) - loss(at - 1e-5)) / 2e-5
        plain = plain_derivative(flat, values(rows), values(states), at)[0]
        assert slope == pytest.approx(plain, abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_no_coefficient_for_a_feature_that_does_not_help(weighted):
    rows, data, negatives = drawn(3, weighted)
    assert find_coefficient(rows, -data, -negatives, min_ess=0.6)[0] == 0
    one = np.ones(80), np.ones(120)
    assert find_coefficient(rows, *one, min_ess=0.6)[0] == 0
    assert find_coefficient(rows, 0.1 * one[0], 0.3 * one[1], min_ess=0.6)[0] == 0
    assert find_coefficient(rows, data, negatives, min_ess=0.6, penalty=1000.0)[0] == 0


def test_a_coefficient_stays_finite_where_the_best_one_is_not():
    """Data that are all of the smallest value of the feature."""
    rows = RoundRows(np.zeros(20), np.zeros(20), False)
    negatives = np.append(np.zeros(19), 1.0)
    found, _, ess = find_coefficient(rows, np.zeros(20), negatives, min_ess=0.6)
    assert 10 < found < 1e5
    assert ess == pytest.approx(19 / 20)
    # with a penalty the region where no row is keeps a share of about penalty / n
    negatives = np.append(np.zeros(1000), np.ones(1000))
    rows = RoundRows(np.zeros(100), np.zeros(2000), False)
    found, _, _ = find_coefficient(rows, np.zeros(100), negatives, min_ess=0.1, penalty=2.0)
    assert 1 / (1 + np.exp(found)) == pytest.approx(2 / 100, rel=0.02)


def small_round(**given):
    """A first round on signs, with as many exact negative examples as there are rows."""
    rng = np.random.default_rng(4)
    rows = np.where(rng.random((N, 4)) < 0.5, 1.0, -1.0)
    rows[:, 1] = np.where(rng.random(N) < 0.9, rows[:, 0], -rows[:, 0])
    model = BoostedModel(RBMFeatures(), np.empty((0, 0)), np.empty(0), FLAT)
    options = {
        **{"judges": rows, "chain": "exact", "n_steps": 5, "n_chains": 100, "weighted": False},
        **{"penalty": 0.0, "min_ess": 0.6, "resample": False},
    }
    rng = np.random.default_rng(1)
    return rows, run_round(model, rows, FLAT.energy(rows), 0.0, rng, **{**options, **given})


@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_gain_of_a_round_against_enumeration(weighted, resample):
    rows, found = small_round(weighted=weighted, resample=resample, min_ess=0.97)
    states = np.array(list(itertools.product((-1, 1), repeat=4)), float)
    log_z = np.logaddexp.reduce(-found.model.energy(states))
    gain = -found.model.energy(rows).mean() - log_z + 4 * np.log(2)
    assert gain > 0.01
    assert found.gain == pytest.approx(gain, abs=4 / np.sqrt(N))
    np.testing.assert_allclose(found.energies, found.model.energy(rows), atol=1e-12)
    assert found.ess >= 0.97 - 1e-12
    assert found.negatives.shape == rows.shape


def test_more_negative_examples_take_the_coefficient_beyond_the_floor():
    """A floor near 1 stops the search early, and new examples from the field let it go on."""
    accepted, drawn_again = (
        small_round(min_ess=0.99, resample=resample)[1].model.coefficients[0]
        for resample in (False, True)
    )
    free = small_round(min_ess=0.0)[1].model.coefficients[0]
    assert accepted < 0.7 * free
    assert drawn_again == pytest.approx(free, rel=0.1)


def test_rows_that_judge_do_not_change_the_feature():
    rows, one = small_round()
    _, other = small_round(judges=rows[:100])
    np.testing.assert_array_equal(one.model.parameters, other.model.parameters)
    assert one.model.coefficients == other.model.coefficients
    values = RBMFeatures().values(one.model.parameters, rows)[:, 0]
    change = one.model.coefficients[0] * (values.mean() - values[:100].mean())
    assert other.gain - one.gain == pytest.approx(change)


class Badly(RBMFeatures):
    def fit(self, rows, signs, weights, rng):
        return np.full(5, np.nan)


class Wide(RBMFeatures):
    def fit(self, rows, signs, weights, rng):
        return np.ones((2, 5))


@pytest.mark.parametrize("family", [Badly(), Wide()])
def test_families_that_return_no_feature(family):
    model = BoostedModel(family, np.empty((0, 0)), np.empty(0), FLAT)
    rows = np.ones((9, 4))
    with pytest.raises(ValueError, match="features must return"):
        run_round(
            model,
            rows,
            np.zeros(9),
            0.0,
            np.random.default_rng(0),
            judges=rows,
            chain="exact",
            n_steps=1,
            n_chains=20,
            weighted=True,
            penalty=0.0,
            min_ess=0.6,
            resample=False,
        )
