import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import base
from sklearn.datasets import load_digits, load_wine, make_circles
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from herder import DiscriminativeRBM, ParameterError, load, save
from herder.learn import discriminative, discriminative_model
from herder.learn.discriminative_model import (
    DiscriminativeModel,
    conditional_loss,
    line_search,
    log_probabilities,
)
from herder.learn.scaling import ColumnScaling

clone: Any = base.clone  # which is typed as any container


@parametrize_with_checks([DiscriminativeRBM(5, max_iter=5)])
def test_scikit_learn(estimator, check):
    check(estimator)


def random_model(scale=1.0, n_hidden=4):
    """Return a model of 5 columns and 3 classes in double precision, rows and classes."""
    rng = np.random.default_rng(0)
    shapes = (5, n_hidden), n_hidden, (3, n_hidden), 3
    model = DiscriminativeModel(*(rng.normal(0, scale, shape) for shape in shapes))
    return model, rng.normal(size=(7, 5)), rng.integers(0, 3, 7)


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def crossed(n_rows, n_features=2):
    """Return rows whose class is the sign of a product, as in XOR."""
    rows = np.random.default_rng(1).normal(size=(n_rows, n_features))
    return rows, rows[:, 0] * rows[:, 1] > 0


def noisy():
    """Return rows whose class depends on one column and much noise."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(300, 5))
    return rows, rows[:, 0] + 2 * rng.normal(size=300) > 0


# Mathematics


def test_log_probabilities_against_enumeration():
    model, inputs, _ = random_model()
    hidden = np.array(list(itertools.product((0, 1), repeat=4)), float)
    scores = np.empty((7, 3, len(hidden)))
    for (i, x), y, (k, z) in itertools.product(enumerate(inputs), range(3), enumerate(hidden)):
        own = z @ model.class_couplings[y] + z @ model.hidden_biases + model.class_biases[y]
        scores[i, y, k] = x @ model.couplings @ z + own
    joint = np.logaddexp.reduce(scores, axis=2)
    expected = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(log_probabilities(model, inputs), expected, atol=1e-13)


@pytest.mark.parametrize("scale", [30.0, 1000.0])
def test_log_probabilities_of_fields_beyond_the_exponential(scale):
    model, inputs, _ = random_model(scale)
    shared = inputs @ model.couplings + model.hidden_biases
    fields = shared[:, None, :] + model.class_couplings
    assert np.abs(fields).max() > 90
    scores = model.class_biases + np.logaddexp(0, fields).sum(axis=2)
    expected = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    np.testing.assert_allclose(log_probabilities(model, inputs), expected, atol=1e-9)
    single = model.read(model.vector().astype(np.float32))
    found = log_probabilities(single, inputs.astype(np.float32))
    np.testing.assert_allclose(found, expected, atol=1e-5 * scale)


@pytest.mark.parametrize(("scale", "l2"), [(1.0, 0.0), (1.0, 0.3), (40.0, 0.3)])
def test_gradient_against_differences(scale, l2):
    model, inputs, places = random_model(scale)
    vector = model.vector()

    def value(at):
        return conditional_loss(model.read(at), inputs, places, l2)[0]

    steps = 1e-5 * np.eye(len(vector))
    differences = [(value(vector + step) - value(vector - step)) / 2e-5 for step in steps]
    _, gradient = conditional_loss(model, inputs, places, l2)
    np.testing.assert_allclose(gradient, differences, atol=1e-6 * scale)
    logs = log_probabilities(model, inputs)[np.arange(7), places]
    penalty = (model.couplings**2).sum() + (model.class_couplings**2).sum()
    assert value(vector) == pytest.approx(-logs.mean() + l2 / 2 * penalty)


def test_blocks_of_rows_change_nothing(monkeypatch):
    model, inputs, places = random_model()
    expected = conditional_loss(model, inputs, places, 0.1)
    monkeypatch.setattr(discriminative_model, "BLOCK", 24)
    found = conditional_loss(model, inputs, places, 0.1)
    assert len(discriminative_model.row_blocks(model, inputs)) == 4
    assert found[0] == pytest.approx(expected[0], rel=1e-14)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-15)


def test_initial_weights_and_line_searches():
    rng = np.random.default_rng(0)
    model = DiscriminativeModel.draw(200, 50, 3, rng)
    assert [part.shape for part in model] == [(200, 50), (50,), (3, 50), (3,)]
    assert np.var(model.couplings) == pytest.approx(1e-4, rel=0.1)
    inputs, places = rng.normal(size=(30, 200)).astype(np.float32), rng.integers(0, 3, 30)
    before, found = line_search(model, inputs, places, 0.01)
    assert before == pytest.approx(conditional_loss(model, inputs, places, 0.01)[0])
    assert conditional_loss(found, inputs, places, 0.01)[0] < before - 0.1


def test_line_searches_go_on_where_single_precision_sees_no_descent():
    drawn: Any = make_circles(500, noise=0.1, factor=0.5, random_state=0)
    rows, places = drawn
    inputs = (rows / rows.std()).astype(np.float32)
    model, values = DiscriminativeModel.draw(2, 100, 2, np.random.default_rng(0)), []
    for _ in range(7):
        value, model = line_search(model, inputs, places, 1e-4)
        values.append(value)
    assert (np.diff(values) < 0).all()


# Estimator


def test_learns_what_no_linear_model_can():
    rows, labels = crossed(1200)
    model = DiscriminativeRBM(20, max_iter=40).fit(rows[:400], labels[:400])
    linear = LogisticRegression().fit(rows[:400], labels[:400])
    assert linear.score(rows[400:], labels[400:]) < 0.6
    assert model.score(rows[400:], labels[400:]) > 0.93


def test_digits():
    rows, labels = load_digits(return_X_y=True)
    model = DiscriminativeRBM(30, max_iter=6).fit(rows[:1300], labels[:1300])
    assert model.score(rows[1300:], labels[1300:]) > 0.88
    chances = model.predict_proba(rows[1300:])
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    confident = chances.max(axis=1) > 0.9
    right = model.predict(rows[1300:]) == labels[1300:]
    assert right[confident].mean() > right[~confident].mean() + 0.2


def test_probabilities_are_those_of_the_attributes(wine):
    rows, labels = wine
    model = DiscriminativeRBM(6, max_iter=3).fit(rows, labels)
    inputs = ColumnScaling.of(rows).apply(rows).astype(float)
    fields = (inputs @ model.components_.T + model.intercept_hidden_)[:, None, :]
    scores = np.logaddexp(0, fields + model.class_components_).sum(axis=2)
    scores += model.intercept_classes_
    expected = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(rows), expected, atol=1e-12)


def test_labels_and_tables(wine):
    rows, labels = wine
    names = np.array(["red", "rose", "white"])
    plain = DiscriminativeRBM(5, max_iter=3).fit(rows, labels)
    table = pd.DataFrame(rows).add_prefix("c")
    named = clone(plain).fit(table, names[labels].tolist())
    assert named.classes_.tolist() == names.tolist()
    assert named.feature_names_in_[0] == "c0"
    np.testing.assert_array_equal(named.predict(table), names[plain.predict(rows)])
    np.testing.assert_array_equal(named.predict_proba(table), plain.predict_proba(rows))
    single = clone(plain).fit(rows.astype(np.float32), labels)
    assert single.score(rows.astype(np.float32), labels) > 0.95


def test_sparse_rows_as_dense_ones(monkeypatch):
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(150, 8)) * (rng.random((150, 8)) < 0.4)
    labels = rows[:, 0] > rows[:, 1]
    thin = sparse.csr_array(rows)
    given_data = thin.data.copy()
    for given in (rows, thin):  # each has its own scale, whatever the form of new rows
        model = DiscriminativeRBM(5, max_iter=3).fit(given, labels)
        expected = model.predict_proba(rows)
        np.testing.assert_allclose(model.predict_proba(thin), expected, atol=1e-12)
        assert model.score(thin, labels) > 0.9
        np.testing.assert_array_equal(thin.data, given_data)
    one = ColumnScaling(np.zeros(8), np.ones(8))
    monkeypatch.setattr(discriminative.ColumnScaling, "of", lambda given: one)
    found = [DiscriminativeRBM(5, max_iter=2).fit(given, labels) for given in (rows, thin)]
    # the order of sums differs, in single precision
    shares = [model.predict_proba(rows) for model in found]
    np.testing.assert_allclose(shares[0], shares[1], atol=1e-3)


def test_early_stopping_keeps_the_best_pass():
    rows, labels = noisy()
    model = DiscriminativeRBM(10, n_iter_no_change=3).fit(rows, labels)
    best = int(model.history_.argmin()) + 1
    assert model.n_iter_ == best + 3 < 50
    shorter = DiscriminativeRBM(10, max_iter=best).fit(rows, labels)
    np.testing.assert_array_equal(shorter.components_, model.components_)
    assert model.history_[-1] > model.history_.min()


def test_without_early_stopping_the_objective_decides(wine):
    model = DiscriminativeRBM(5, early_stopping=False, n_iter_no_change=2).fit(*wine)
    assert 3 < model.n_iter_ < 100
    assert (np.diff(model.history_)[-2:] > -discriminative.LEAST_GAIN).any()
    assert model.history_[0] > 0.5 > 0.2 > model.history_.min()
    assert model.score(*wine) > 0.98
    tiny = DiscriminativeRBM(2, early_stopping=False).fit([[0.0], [1.0]], [0, 1])
    assert tiny.predict([[-1.0], [2.0]]).tolist() == [0, 1]


def test_penalty(wine):
    free, held = (DiscriminativeRBM(5, l2=l2, max_iter=15).fit(*wine) for l2 in (0.0, 0.1))
    assert np.linalg.norm(held.components_) < 0.5 * np.linalg.norm(free.components_)


def test_warm_start_goes_on():
    rows, labels = crossed(400)
    model = DiscriminativeRBM(10, max_iter=3, warm_start=True).fit(rows, labels)
    first, scaling = model.history_.min(), model._scaling
    for _ in range(12):
        model.fit(rows, labels)
    assert model.history_.min() < first - 0.2
    model.fit(3 * rows + 1, labels)
    assert model._scaling is scaling
    others = labels + 5  # other classes: anew
    again = clone(model).fit(rows, others)
    np.testing.assert_array_equal(model.fit(rows, others).components_, again.components_)


def test_a_warm_start_keeps_what_no_pass_improves():
    rows, labels = noisy()
    model = DiscriminativeRBM(10, n_iter_no_change=5, warm_start=True).fit(rows, labels)
    lowest, before = model.history_.min(), model.components_.copy()
    model.set_params(l2=10.0).fit(rows, labels)  # the same rows are held out
    assert model.n_iter_ == 5
    assert model.history_.min() > lowest
    np.testing.assert_array_equal(model.components_, before)


def test_same_bits_for_any_number_of_threads():
    rows, labels = load_digits(return_X_y=True)
    found = []
    for number in (1, 2):
        with threadpool_limits(number, user_api="blas"):
            model = DiscriminativeRBM(20, max_iter=2).fit(rows[:300], labels[:300])
            found.append((model, model.predict_proba(rows)))
    (first, chances), (again, others) = found
    np.testing.assert_array_equal(first.components_, again.components_)
    np.testing.assert_array_equal(chances, others)
    other = DiscriminativeRBM(20, max_iter=2, random_state=1).fit(rows[:300], labels[:300])
    assert not np.array_equal(first.components_, other.components_)


def test_file(tmp_path, wine):
    rows, labels = wine
    names = np.array(["red", "rose", "white"])[labels]
    model = DiscriminativeRBM(5, max_iter=3, warm_start=True).fit(rows, names)
    save(model, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(model.predict_proba(rows), again.predict_proba(rows))
    assert again.get_params() == model.get_params()
    assert str(again.summary()) == str(model.summary())
    np.testing.assert_array_equal(
        model.fit(rows, names).components_, again.fit(rows, names).components_
    )


def test_summary_and_progress(wine):
    shares = []
    model = DiscriminativeRBM(5, n_iter_no_change=2)
    model.fit(*wine, progress=lambda share, note: shares.append(share))
    assert len(shares) == model.n_iter_ < 100
    assert shares[-1] == 1
    text = str(model.summary())
    assert "3 classes, 13 features, 5 hidden units" in text
    assert f"{model.history_.min():.3g}" in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_hidden", 0),
        ("l2", -0.1),
        ("l2", 1e308),
        ("max_iter", 0),
        ("batch_size", 1.5),
        ("early_stopping", "yes"),
        ("validation_fraction", 1.0),
        ("validation_fraction", 0.001),
        ("validation_fraction", None),
        ("n_iter_no_change", 0),
        ("warm_start", 2),
        ("random_state", -1),
    ],
)
def test_errors_name_the_parameter(wine, name, value):
    with pytest.raises((ValueError, TypeError), match=f"^{name} must "):
        DiscriminativeRBM(**{name: value}).fit(*wine)


def test_errors_of_labels_leave_the_model_as_it_was(wine):
    rows, labels = wine
    model = DiscriminativeRBM(5, max_iter=2).fit(rows, labels)
    before = model.predict_proba(rows)
    with pytest.raises(ParameterError, match="y must have at least two classes, got one class, 7"):
        model.fit(rows[:, :3], np.full(len(rows), 7))
    np.testing.assert_array_equal(model.predict_proba(rows), before)
    with pytest.raises(TypeError, match="progress must be callable"):
        clone(model).fit(rows, labels, progress="often")
