"""Herding with hidden sites: the system, the compiled loop, and the estimator."""

from itertools import islice, product

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from herder import HiddenHerder, ParameterError
from herder.core import herd
from herder.datasets import load_digits_binary
from herder.fields.hidden_engine import HiddenHerd, first_weights, rounded_means
from herder.fields.hidden_system import HiddenSystem, RBMFeatures


def spins(n_rows, n_visible, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n_rows, n_visible)) < rng.random((n_rows, 1)), 1, -1)


@pytest.fixture(scope="module")
def eights():
    digits = load_digits_binary()
    return digits.X[digits.y == 8].astype(np.int64)


def test_floats_agree_with_integers_until_a_tie():
    rows = spins(97, 20, seed=3)
    weights = first_weights(4, 20, 97_000)  # far apart: ties are rare
    system = HiddenSystem(RBMFeatures(), rows)
    values = np.append(rows, np.ones((97, 1), int), axis=1)
    exact, rounded = herd(system, weights), herd(system, weights / 97)
    agreed = 0
    for whole, real in islice(zip(exact, rounded, strict=False), 200):
        before = whole.weights - whole.residual
        hidden = np.append(whole.state.hidden, 1)
        if not ((before[:-1] @ values.T).all() and (hidden @ before[:, :-1]).all()):
            break
        np.testing.assert_array_equal(whole.state.visible, real.state.visible)
        agreed += 1
    assert agreed > 100


# The laws


def test_moments_of_rows_and_states_meet_at_rate_one_over_t(eights):
    """Proposition 3.2 of the thesis."""
    engine = HiddenHerd((2 * eights - 1).astype(np.int8), 20)
    scaled = []
    for end in (100, 1000, 10_000):
        engine.run(end - engine.t)
        scaled.append(engine.moment_error * end)
    assert max(scaled) < 4 * scaled[0]  # the weights stay bounded
    assert engine.moment_error < 0.01
    assert engine.counts[1] == 0


def test_herding_with_rates_reaches_them(eights):
    """Equation 3.18."""
    herder = HiddenHerder(10, n_steps=2000).fit(eights)
    samples = 2 * herder.sample(20_000, drive="rates").astype(float) - 1
    visible_rates = herder.rates_[-1, :-1] + rounded_means(2 * eights - 1)
    np.testing.assert_allclose(visible_rates, 2 * eights.mean(axis=0) - 1, atol=1e-12)
    np.testing.assert_allclose(samples.mean(axis=0), visible_rates, atol=0.02)


class LatentClass:
    """One hidden variable of three classes, with a table for each visible site: no RBM."""

    def __init__(self, n_visible):
        self.n_visible = n_visible

    def features(self, visible, hidden):
        table = np.zeros((3, self.n_visible + 1), np.int64)
        table[hidden] = [*visible, 1]
        return table

    def complete(self, weights, visible):
        return int(np.argmax(weights @ [*visible, 1]))

    def climb(self, weights, visible, hidden):
        best = [(np.where(row[:-1] > 0, 1, 0), k) for k, row in enumerate(weights)]
        scores = [np.vdot(weights, self.features(*state)) for state in best]
        return best[int(np.argmax(scores))]


def test_any_model_with_a_maximiser():
    groups = [(0, 0, 1, 1), (1, 1, 0, 0), (1, 0, 1, 0)]
    rows = np.array([groups[i % 3] for i in range(30)])
    system = HiddenSystem(LatentClass(4), rows)
    start = np.arange(15).reshape(3, 5) % 7
    steps = list(islice(herd(system, start), 600))
    assert all(step.tipi <= 0 for step in steps)
    assert max(np.abs(step.weights).max() for step in steps) < 300
    means = np.mean([step.state.visible for step in steps], axis=0)
    np.testing.assert_allclose(means, rows.mean(axis=0), atol=0.02)
    scores = [
        (np.vdot(steps[-1].weights, system.model.features(np.array(x), k)), x, k)
        for x in product((0, 1), repeat=4)
        for k in range(3)
    ]
    visible, hidden, _ = system.maximise(steps[-1].weights, None)
    best = max(scores)[0]  # brute force
    assert np.vdot(steps[-1].weights, system.model.features(visible, hidden)) == best


# The estimator


@parametrize_with_checks([HiddenHerder(2, n_steps=20, binarize=0.0)])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("states", [(0, 1), (-1, 1)])
def test_samples_are_in_the_states_of_the_rows(states):
    rows = np.where(spins(20, 5) > 0, 1, states[0])
    herder = HiddenHerder(3, n_steps=50).fit(rows)
    assert set(np.unique(herder.sample(50))) <= set(states)
    np.testing.assert_array_equal(herder.sample(50), herder.sample(60)[:50])


def test_steps_are_the_sequences_behind_samples_and_averages():
    rows = spins(11, 5)
    herder = HiddenHerder(3, n_steps=40).fit(rows)
    pairs = list(islice(herder.steps(), 60))
    np.testing.assert_array_equal([visible for visible, _ in pairs], herder.sample(60))
    later = HiddenHerder(3, n_steps=100).fit(rows)
    upper = sum((hidden > 0).astype(float) for _, hidden in pairs)
    want = (40 * herder.hidden_averages_ + upper) / 100
    np.testing.assert_allclose(later.hidden_averages_, want)


def test_batches_do_not_depend_on_sorted_rows(eights):
    ones = np.concatenate([np.zeros_like(eights), eights])
    herder = HiddenHerder(10, n_steps=300, batch_size=len(eights)).fit(ones)
    engine = herder._herd
    shares = [
        (engine.rows.values[half, :-1] > 0).mean() for half in (slice(0, 170), slice(170, None))
    ]
    assert 0.8 < shares[0] / shares[1] < 1.25
    order = herder._order
    np.testing.assert_array_equal(engine.rows.values[:, :-1] > 0, ones[order] > 0)
    assert herder.hidden_averages_.shape == (len(ones), 10)


def test_columns_that_hardly_vary_leave_hidden_units_their_own(eights):
    """Without the centre every hidden site has one state for all rows."""
    frame = np.zeros((len(eights), 500), int)
    frame[::20, ::7] = 1
    rows = np.hstack([eights, frame])
    spread = [
        herd.hidden_averages.std(axis=0)
        for herd in (
            HiddenHerd(np.where(rows, 1, -1).astype(np.int8), 20),
            HiddenHerder(20, n_steps=500).fit(rows)._herd,
        )
        if herd.t or herd.run(500)
    ]
    assert (spread[0] > 0.02).mean() < 0.2
    assert (spread[1] > 0.02).mean() > 0.9


def test_features_of_new_rows(eights):
    herder = HiddenHerder(20, n_steps=100).fit(eights)
    features = herder.transform(eights)
    assert features.shape == (len(eights), 20)
    assert features.min() >= 0
    assert features.max() <= 1
    assert np.abs(features - herder.hidden_averages_).mean() < 0.05  # 100 weights, 100 steps
    assert herder.get_feature_names_out()[0] == "hiddenherder0"


def test_summary_and_picture(eights):
    herder = HiddenHerder(10, n_steps=100).fit(eights)
    text = str(herder.summary())
    assert "PCT violations  0" in text
    assert f"{herder._herd.moment_error:.2g}" in text
    assert f"restarts        {herder.n_restarts_}" in text


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_hidden", 0), ("n_steps", 0), ("batch_size", 0), ("start", "end"), ("binarize", np.nan)],
)
def test_errors_name_the_parameter(name, value):
    with pytest.raises(ParameterError, match=name):
        HiddenHerder(**{name: value}).fit([[0, 1], [1, 0]])
    with pytest.raises(ParameterError, match="drive"):
        HiddenHerder(2, n_steps=3).fit([[0, 1], [1, 0]]).sample(3, drive="data")


def test_rows_of_the_system_are_checked():
    with pytest.raises(ParameterError, match="rows"):
        HiddenSystem(RBMFeatures(), [])
    with pytest.raises(ParameterError, match="start"):
        HiddenSystem(RBMFeatures(), [[1]], start="end")


@pytest.mark.parametrize("rows", [[[1]], [[0, 0]], [[1, 1], [1, 1]], [[0.0, 1.0]] * 3])
def test_degenerate_rows(rows):
    herder = HiddenHerder(3, n_steps=30).fit(rows)
    np.testing.assert_array_equal(herder.sample(20)[-10:], np.repeat(np.array(rows[:1]), 10, 0))
