"""A boosted field for each class, and the regression on their energies."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import base
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from herder import BoostedClassifier, BoostedField, load, save
from tests.naming import refuses

clone: Any = base.clone  # which is typed as any container

SHORT = BoostedField(n_rounds=3)


def rings(n=240, seed=0):
    """Classes that no line separates: a disc, and rings around it."""
    rng = np.random.default_rng(seed)
    angle, label = rng.uniform(0, 2 * np.pi, n), rng.integers(3, size=n)
    radius = 1 + 2 * label + rng.normal(0, 0.3, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), label


def bits(n=240, seed=0):
    """Parity of two columns."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((n, 4)) < 0.5).astype(float)
    return rows, np.where(rows[:, 0] == rows[:, 1], "same", "other")


@pytest.fixture(scope="module")
def three():
    X, y = rings()
    return BoostedClassifier(SHORT).fit(X, np.array(["a", "b", "c"])[y]), X


@pytest.fixture(scope="module")
def two():
    X, y = bits()
    return BoostedClassifier(SHORT).fit(X, y), X


def test_learns_what_no_line_separates():
    X, y = rings()
    new, labels = rings(seed=1)
    found = BoostedClassifier(BoostedField(n_rounds=8)).fit(X, y).score(new, labels)
    assert LogisticRegression().fit(X, y).score(new, labels) < 0.6
    assert found > 0.9
    X, y = bits()
    assert LogisticRegression().fit(X, y).score(X, y) < 0.65
    for features in ("rbm", "tree"):
        model = BoostedClassifier(BoostedField(features, n_rounds=5)).fit(X, y)
        assert model.score(*bits(seed=1)) > 0.95


@pytest.mark.parametrize("kind", ["two", "three"])
def test_regression_on_standardised_energies(kind, request):
    """Against scikit-learn's, on energies of the fields."""
    model, X = request.getfixturevalue(kind)
    labels = rings()[1] if kind == "three" else (bits()[1] == "same").astype(int)
    energies = np.column_stack([field.energy(X) for field in model.fields_])
    standard = (energies - energies.mean(axis=0)) / energies.std(axis=0)
    plain = LogisticRegression(C=100.0, max_iter=1000).fit(standard, labels)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.intercept_, plain.intercept_)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, plain.decision_function(standard), atol=1e-10)
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances, plain.predict_proba(standard), atol=1e-10)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[chances.argmax(axis=1)])
    assert scores.shape == ((len(X), 3) if kind == "three" else (len(X),))
    assert len(model.fields_) == len(model.classes_)


def test_fields_are_those_of_their_rows(two):
    """For signs the frame is the same for all rows."""
    model, X = two
    labels = bits()[1]
    for field, label in zip(model.fields_, model.classes_, strict=True):
        alone = clone(SHORT).fit(X[labels == label])
        np.testing.assert_array_equal(field.energy(X), alone.energy(X))


def test_determinism(three):
    model, X = three
    again = BoostedClassifier(SHORT).fit(X, np.array(["a", "b", "c"])[rings()[1]])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    other = BoostedClassifier(clone(SHORT).set_params(random_state=1)).fit(X, rings()[1])
    assert not np.array_equal(other.predict_proba(X), model.predict_proba(X))
    assert not hasattr(SHORT, "n_features_in_")


def test_frames_and_single_precision(three):
    model, X = three
    frame = pd.DataFrame(X, columns=["east", "north"])
    named: Any = BoostedClassifier(SHORT).fit(frame, rings()[1])
    assert named.feature_names_in_.tolist() == ["east", "north"]
    np.testing.assert_allclose(named.predict_proba(frame), model.predict_proba(X), atol=1e-6)
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame[["north", "east"]])
    assert model.predict_proba(X.astype(np.float32)).dtype == np.float64


def test_progress_goes_through_all_classes():
    told: list[float] = []
    X, y = rings()
    BoostedClassifier(SHORT).fit(X, y, progress=lambda share, note: told.append(share))
    np.testing.assert_allclose(told, np.arange(1, 10) / 9)
    with refuses("progress", TypeError):
        BoostedClassifier(SHORT).fit(X, y, progress=3)  # pyright: ignore


def test_before_fit():
    model, (X, _) = BoostedClassifier(), rings()
    for call in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(NotFittedError):
            call(X)
    with pytest.raises(NotFittedError):
        model.to_state()


@pytest.mark.parametrize("kind", ["numbers", "bits"])
def test_classes_of_one_row(kind):
    X, y = (rings() if kind == "numbers" else bits())[0], np.r_[0, 1, np.full(238, 2)]
    model = BoostedClassifier(SHORT).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.coef_).all()
    short = BoostedField(n_rounds=2, early_stopping=True)
    with refuses("X", match="two rows"):
        BoostedClassifier(short).fit(X, y)


def test_what_is_refused():
    X, y = rings()
    with refuses("y", match="two classes"):
        BoostedClassifier(SHORT).fit(X, np.zeros(len(X)))
    with refuses("field", TypeError):
        BoostedClassifier(3).fit(X, y)  # pyright: ignore
    with refuses("field", TypeError):
        BoostedClassifier(LogisticRegression()).fit(X, y)  # pyright: ignore
    with refuses("n_rounds"):
        BoostedClassifier(BoostedField(n_rounds=0)).fit(X, y)
    with refuses("X", match="numbers"):
        BoostedClassifier(BoostedField("rbm")).fit(X, y)
    with refuses("X", match="column 1"):
        BoostedClassifier(SHORT).fit(np.column_stack([X[:, 0], np.ones(len(X))]), y)
    for rows, labels in ((X[:-1], y), (np.where(X > 3, np.nan, X), y), (X, y[None])):
        with pytest.raises(ValueError, match=r"inconsistent|NaN|1d array"):
            BoostedClassifier(SHORT).fit(rows, labels)
    model = BoostedClassifier(BoostedField(n_rounds=0))
    with refuses("n_rounds"):
        model.fit(X, y)
    assert not hasattr(model, "n_features_in_")


def test_rows_of_other_states_are_refused(two, three):
    model, X = two
    with refuses("X", match="0 and 1"):
        model.predict(2 * X - 1)
    model, X = three
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :1])


@pytest.mark.parametrize("kind", ["two", "three"])
def test_files(tmp_path, kind, request):
    model, X = request.getfixturevalue(kind)
    save(model, tmp_path / "a")
    back = load(tmp_path / "a")
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(back.classes_, model.classes_)
    assert back.field.get_params() == SHORT.get_params()
    again = clone(back).fit(X, model.predict(X))
    np.testing.assert_array_equal(
        again.predict_proba(X), clone(model).fit(X, model.predict(X)).predict_proba(X)
    )
