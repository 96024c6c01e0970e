"""Parametric herding: the regression, its gradient, the herd without rows."""

from itertools import islice

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from herder import ParameterError, ParametricHerder
from herder.core import herd
from herder.datasets import load_digits_binary
from herder.fields.hidden_engine import first_weights
from herder.fields.hidden_system import RBMFeatures
from herder.fields.parametric import BURN_IN, SHARES, UNIT, Completion, Regression, codebook


@pytest.fixture(scope="module")
def eights():
    digits = load_digits_binary()
    return digits.X[digits.y == 8].astype(np.int64)


@pytest.fixture(scope="module")
def herder(eights):
    return ParametricHerder(5, n_hidden=20, n_steps=300, n_tuning_steps=300).fit(eights)


def regression(seed=0, n_prototypes=3, n_visible=4):
    rng = np.random.default_rng(seed)
    return Regression(rng.uniform(-1, 1, (n_prototypes, n_visible)), np.array([0.5, 0.3, 0.2]))


def textbook(parameters, weights):
    """Equations 3.20 and 3.21, term by term; the last row is what visible sites have."""
    A = parameters["A"]
    shares = np.exp(parameters["log_pi"]) / np.exp(parameters["log_pi"]).sum()
    asked = np.zeros_like(weights)
    for k in range(len(weights)):
        for m in range(len(A)):
            field = sum(weights[k, j] * A[m, j] for j in range(A.shape[1])) + weights[k, -1]
            answer = np.tanh(np.exp(parameters["log_b"]) * field) if k < len(weights) - 1 else 1.0
            asked[k, :-1] += shares[m] * answer * A[m]
            asked[k, -1] += shares[m] * answer
    return asked


def test_regression_and_its_gradient_against_differences(monkeypatch):
    rng = np.random.default_rng(1)
    weights, target = rng.normal(size=(3, 5)), rng.normal(size=(3, 5))
    learner = regression()
    learner.learn(weights, target, 0.0)  # sets the slope
    parameters = {name: np.array(value) for name, value in learner.parameters.items()}
    seen = {}
    monkeypatch.setattr(learner, "_step", lambda gradients, rate: seen.update(gradients))
    asked, error = learner.learn(weights, target, 0.1)
    np.testing.assert_allclose(asked, textbook(parameters, weights))
    assert error == pytest.approx(((asked - target)[:-1] ** 2).sum())

    def half_loss(name, place, step):
        moved = {key: value.copy() for key, value in parameters.items()}
        moved[name][place] += step
        return ((textbook(moved, weights) - target) ** 2).sum() / 2

    for name, value in parameters.items():
        for place in np.ndindex(value.shape):
            slope = (half_loss(name, place, 1e-6) - half_loss(name, place, -1e-6)) / 2e-6
            assert np.asarray(seen[name])[place] == pytest.approx(slope, abs=1e-6)


def test_learning_lowers_the_error():
    learner, target = regression(), textbook(regression(5).parameters, np.eye(3, 5))
    errors = [learner.learn(np.eye(3, 5), target, 0.02)[1] for _ in range(400)]
    assert errors[-1] < errors[0] / 20
    assert np.abs(learner.parameters["A"]).max() <= 1


def test_rounding_keeps_all_shares():
    prototypes, shares = regression().rounded()
    assert shares.sum() == SHARES
    assert (np.diff(shares) <= 0).all()
    np.testing.assert_allclose(shares / SHARES, [0.5, 0.3, 0.2], atol=1 / SHARES)
    order = np.rint(UNIT * regression().parameters["A"])
    np.testing.assert_array_equal(prototypes, order)


class PrototypeSystem(RBMFeatures):
    """The loop of core with prototypes in place of rows, in whole numbers."""

    def __init__(self, prototypes, shares):
        super().__init__()
        self.values = np.hstack([prototypes, np.full((len(prototypes), 1), UNIT)]).astype(np.int64)
        self.shares = shares

    def asked(self, weights):
        answers = np.where(weights[:-1] @ self.values.T > 0, 1, -1)
        answers = np.vstack([answers, np.ones((1, len(self.shares)), int)])
        return answers, (answers * self.shares) @ self.values

    def maximise(self, weights, previous):
        answers, asked = self.asked(weights)
        if previous is None:
            start = np.where(self.values[0, :-1] > 0, 1, -1)
            previous = start, self.complete(weights, start)
        found = self.climb(weights, *previous)
        if SHARES * UNIT * np.vdot(weights, self.features(*found)) >= np.vdot(weights, asked):
            return found
        scores = ((weights @ self.values.T) * answers).sum(axis=0)
        best = int(np.argmax(scores))
        hidden = answers[:-1, best]
        seen = np.where(self.values[best, :-1] > 0, 1, -1)
        field = np.append(hidden, 1) @ weights[:, :-1]
        return self.climb(weights, np.where(field == 0, seen, np.sign(field)), hidden)

    def residual(self, weights, state, t):
        return self.asked(weights)[1] - SHARES * UNIT * self.features(*state)


def test_codebook_retraces_the_loop_without_rows():
    rng = np.random.default_rng(2)
    prototypes = rng.integers(-UNIT, UNIT + 1, (4, 9)).astype(np.int8)
    shares = np.array([400, 300, 200, 124])
    states, fields = codebook(prototypes, shares, 5, 150)
    system = PrototypeSystem(prototypes, shares)
    steps = list(islice(herd(system, first_weights(5, 9, SHARES * UNIT)), BURN_IN + 150))
    kept = steps[BURN_IN:]
    np.testing.assert_array_equal(states, [step.state[0] for step in kept])
    want = [np.append(step.state[1], 1) @ (step.weights - step.residual)[:, :-1] for step in kept]
    np.testing.assert_array_equal(fields, want)
    assert all(step.tipi <= 0 for step in steps)


def test_samples_have_the_means_of_the_prototypes(herder):
    """Equation 3.14 with prototypes: the visible target is their mean, not that of the rows."""
    samples = 2.0 * herder.sample(5000) - 1
    want = herder.shares_ @ herder.prototypes_ / (UNIT * SHARES)
    np.testing.assert_allclose(samples.mean(axis=0), want, atol=0.02)


def test_second_phase_lowers_the_error_on_its_own_trajectory(eights, herder):
    first = ParametricHerder(5, n_hidden=20, n_steps=300, n_tuning_steps=0).fit(eights)
    assert len(first.history_) == 300
    np.testing.assert_array_equal(first.history_, herder.history_[:300])
    assert herder.history_[-50:].mean() < herder.history_[300:350].mean()


def test_errors_against_the_definition(eights, herder):
    errors = herder.errors(eights, 5)
    system = PrototypeSystem(herder.prototypes_, herder.shares_)
    start = first_weights(20, eights.shape[1], SHARES * UNIT)
    rows, model = 2 * eights - 1, RBMFeatures()
    for found, step in zip(errors, islice(herd(system, start), BURN_IN, BURN_IN + 5), strict=True):
        weights = step.weights - step.residual
        wanted = np.mean([model.features(row, model.complete(weights, row)) for row in rows], 0)
        asked = system.asked(weights)[1] / (SHARES * UNIT)
        assert found == pytest.approx(((asked - wanted)[:-1] ** 2).sum(), rel=1e-5)


def test_batches_of_rows_take_turns(monkeypatch):
    monkeypatch.setattr("herder.fields.parametric.BATCH", 2)
    rows = Completion(np.array([[0], [0], [1]], np.uint8))
    weights = np.zeros((2, 2))
    assert [rows.asked(weights, step)[-1, 0] for step in range(3)] == [-1.0, 0.0, -1.0]


@parametrize_with_checks(
    [ParametricHerder(2, n_hidden=2, n_steps=5, n_tuning_steps=5, binarize=0.0)]
)
def test_scikit_learn(estimator, check):
    check(estimator)


def test_summary(herder):
    text = str(herder.summary())
    assert f"{herder.history_[:60].mean():.3g} to {herder.history_[-60:].mean():.3g}" in text
    counts = np.bincount(herder.prototypes_.ravel() + UNIT)
    shares = counts[counts > 0] / counts.sum()
    assert f"{-(shares * np.log2(shares)).sum():.2f}" in text
    assert f"{herder.shares_.max() / SHARES:.1%}" in text


def test_same_bits_from_run_to_run_and_in_other_states(eights, herder):
    again = ParametricHerder(5, n_hidden=20, n_steps=300, n_tuning_steps=300)
    again.fit(2 * eights - 1)
    np.testing.assert_array_equal(again.prototypes_, herder.prototypes_)
    np.testing.assert_array_equal(again.sample(9) > 0, herder.sample(9) > 0)
    assert set(np.unique(again.sample(9))) == {-1, 1}


@pytest.mark.parametrize("rows", [[[1]], [[0, 0]], [[1, 1], [1, 1]], [[0.0, 1.0]] * 3])
def test_degenerate_rows(rows):
    herder = ParametricHerder(3, n_hidden=4, n_steps=20).fit(rows)
    np.testing.assert_array_equal(herder.sample(10), np.repeat(np.array(rows[:1]), 10, axis=0))


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_prototypes", 0), ("n_hidden", 0), ("n_steps", 0), ("n_tuning_steps", -1)],
)
def test_errors_name_the_parameter(name, value):
    with pytest.raises(ParameterError, match=name):
        ParametricHerder(**{name: value}).fit([[0, 1], [1, 0]])
