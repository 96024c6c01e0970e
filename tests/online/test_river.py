"""The river classifier: river's checks, the same numbers as partial_fit, and names that come."""

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import checks, datasets, evaluate, linear_model, metrics, preprocessing

from herder.online.aggressive import PassiveAggressive
from herder.online.classifier import OnlineClassifier
from herder.online.confidence import ConfidenceWeighted
from herder.online.gaussian import AROW, NHERD, SecondOrderPerceptron
from herder.online.perceptron import Perceptron
from herder.online.river import for_river

CHECKED = [
    NHERD(),
    NHERD(covariance="full"),
    AROW(average=True, multi_class="one-vs-rest"),
    ConfidenceWeighted(forget=0.01),
    PassiveAggressive(),
]

BINARY = [
    *(NHERD(C=0.3, covariance=form) for form in ("project", "exact", "drop", "full")),
    *(AROW(C=0.3, covariance=form) for form in ("project", "drop", "full")),
    *(ConfidenceWeighted(form=form) for form in ("stdev", "variance", "soft-1", "soft-2")),
    *(SecondOrderPerceptron(covariance=form) for form in ("project", "full")),
    *(PassiveAggressive(form=form) for form in ("PA", "PA-I", "PA-II")),
    Perceptron(),
    NHERD(fit_intercept=False),
    NHERD(average=True),
    NHERD(forget=0.05),
    AROW(covariance="full", average=True, forget=0.05),
    PassiveAggressive(average=True),
    NHERD(class_weight={True: 3.0}),
]

SEVERAL = [
    NHERD(),
    NHERD(multi_class="one-vs-rest", forget=0.02),
    NHERD(covariance="full"),
    AROW(average=True),
    AROW(covariance="full", multi_class="one-vs-rest"),
    Perceptron(average=True),
]


def draw(n_rows: int, width: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, width)) * (rng.random((n_rows, width)) < 0.5)
    y = (X @ rng.normal(size=(width, n_classes)) + rng.normal(size=n_classes)).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return X, y


def row(values: np.ndarray) -> dict[Any, float]:
    """Only what is not zero, by name."""
    return {f"x{j}": float(value) for j, value in enumerate(values) if value}


def tell(model: Any) -> tuple[Any, ...]:
    """What a model has learnt and what it says, in plain numbers."""
    probes = [{"x0": 1.0, "x1": -2.0}, {"x2": 0.5, "new": 3.0}, {}]
    return model.weights, model.intercept, [model.predict_proba_one(x) for x in probes]


def test_passes_each_check_of_river_on_its_first_data_set() -> None:
    model = for_river(NHERD())
    first: dict[str, Any] = {}
    for check in checks.yield_checks(model):
        first.setdefault(check.__name__, check)
    assert {"check_learn_many_matches_learn_one", "check_emerging_features"} <= set(first)
    assert not model._unit_test_skips()
    for check in first.values():
        check(model.clone())


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [NHERD(), *CHECKED], ids=repr)
def test_all_kinds_pass_all_checks_of_river(estimator: OnlineClassifier) -> None:
    checks.check_estimator(for_river(estimator))


def test_takes_the_place_of_a_river_classifier() -> None:
    found = {}
    for name, learner in (("PA", linear_model.PAClassifier()), ("NHERD", for_river(NHERD(C=0.1)))):
        model = preprocessing.StandardScaler() | learner
        several = metrics.base.Metrics([metrics.Accuracy(), metrics.ROCAUC(), metrics.LogLoss()])
        found[name] = evaluate.progressive_val_score(datasets.Phishing(), model, several).get()
    accuracy, area, loss = found["NHERD"]
    assert accuracy > found["PA"][0]
    assert area > found["PA"][1]
    assert loss < math.log(2)


@pytest.mark.parametrize("estimator", BINARY, ids=repr)
def test_two_classes_retrace_partial_fit(estimator: OnlineClassifier) -> None:
    X, y = draw(150, 5, 2, seed=1)
    labels = y.astype(bool)
    weights = np.random.default_rng(2).choice([0.0, 0.5, 1.0, 2.0], size=len(y))
    twin: Any = copy.deepcopy(estimator)
    twin.partial_fit(X, labels, classes=[False, True], sample_weight=weights)
    model = for_river(estimator)
    for x, label, w in zip(X, labels, weights, strict=True):
        model.learn_one(row(x), bool(label), w=w)
    found = [model.weights[f"x{j}"] for j in range(5)]
    np.testing.assert_allclose(found, twin.coef_[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.intercept, twin.intercept_[0], rtol=1e-9, atol=1e-12)
    assert model._model.n_updates == twin.n_updates_
    assert model._model.n_seen == twin.n_seen_ == 150
    probes, _ = draw(40, 5, 2, seed=3)
    assert [model.predict_one(row(x)) for x in probes] == twin.predict(probes).tolist()
    if hasattr(twin, "predict_proba"):
        for x, expected in zip(probes, twin.predict_proba(probes), strict=True):
            odds = model.predict_proba_one(row(x))
            np.testing.assert_allclose([odds[False], odds[True]], expected, atol=1e-9)


@pytest.mark.parametrize("estimator", SEVERAL, ids=repr)
def test_several_classes_retrace_partial_fit(estimator: OnlineClassifier) -> None:
    X, y = draw(120, 4, 3, seed=5)
    labels = np.array(["a", "b", "c"])[y]
    twin = copy.deepcopy(estimator).partial_fit(X, labels, classes=["a", "b", "c"])
    model = for_river(estimator, classes="abc")
    for x, label in zip(X, labels, strict=True):
        model.learn_one(row(x), label)
    agree_by_class(model, twin)


@pytest.mark.parametrize("estimator", SEVERAL, ids=repr)
def test_classes_that_come_retrace_partial_fit(estimator: OnlineClassifier) -> None:
    X, y = draw(120, 4, 3, seed=5)
    labels = np.array(["a", "b", "c"])[y]
    # The first row has nothing to be told from, but an average counts it.
    start = 0 if estimator.average else 1
    twin = copy.deepcopy(estimator).set_params(new_classes="add")
    first = labels[:1] if estimator.average else ["a", "b"]
    for k in range(start, len(y)):
        classes = first if k == start else None
        twin.partial_fit(X[k : k + 1], labels[k : k + 1], classes=classes)
    model = for_river(estimator)
    for x, label in zip(X, labels, strict=True):
        model.learn_one(row(x), label)
    agree_by_class(model, twin)


def agree_by_class(model: Any, twin: Any) -> None:
    for k, label in enumerate("abc"):
        found = [model.weights[label][f"x{j}"] for j in range(4)]
        np.testing.assert_allclose(found, twin.coef_[k], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.intercept[label], twin.intercept_[k], atol=1e-12)
    probes, _ = draw(40, 4, 3, seed=6)
    assert [model.predict_one(row(x)) for x in probes] == twin.predict(probes).tolist()
    if hasattr(twin, "predict_proba"):
        for x, expected in zip(probes, twin.predict_proba(probes), strict=True):
            odds = model.predict_proba_one(row(x))
            np.testing.assert_allclose([odds[label] for label in "abc"], expected, atol=1e-9)


class PlainNHERD:
    """NHERD, project, with C = 1, as two dicts and the formulas; the oracle."""

    def __init__(self) -> None:
        self.mu: dict[Any, float] = {}
        self.s: dict[Any, float] = {}

    def margin(self, x: dict[Any, float]) -> tuple[float, float]:
        full = {"bias": 1.0, **{("x", name): value for name, value in x.items()}}
        m = sum(self.mu.get(name, 0.0) * value for name, value in full.items())
        return m, sum(self.s.get(name, 1.0) * value**2 for name, value in full.items())

    def learn(self, x: dict[Any, float], y: bool) -> None:
        full = {"bias": 1.0, **{("x", name): value for name, value in x.items()}}
        m, v = self.margin(x)
        sign = 1 if y else -1
        if sign * m <= 1:
            for name, value in full.items():
                s = self.s.get(name, 1.0)
                step = sign * (1 - sign * m) / (v + 1) * s * value
                self.mu[name] = self.mu.get(name, 0.0) + step
                self.s[name] = s / (1 + (2 + v) * value**2 * s)


NAMES = st.sampled_from([*"abcdefgh", 1, 2.5, ("t", 1), None])
ROWS = st.dictionaries(NAMES, st.floats(-3, 3), max_size=6)
ACTIONS = st.lists(st.tuples(st.sampled_from(["learn", "ask"]), ROWS, st.booleans()), max_size=30)


@given(ACTIONS)
def test_any_course_of_events_is_that_of_the_formulas(
    actions: list[tuple[str, dict[Any, float], bool]],
) -> None:
    model, plain = for_river(NHERD(), classes=[False, True]), PlainNHERD()
    for action, x, y in actions:
        if action == "learn":
            model.learn_one(x, y)
            plain.learn(x, y)
        m, v = plain.margin(x)
        odds = 0.5 * math.erfc(-m / math.sqrt(2 * (1 + v)))
        assert model.predict_proba_one(x)[True] == pytest.approx(odds, abs=1e-9)
        if abs(m) > 1e-9:
            assert model.predict_one(x) is (m > 0)
    for name, weight in model.weights.items():
        assert weight == pytest.approx(plain.mu.get(("x", name), 0.0), abs=1e-9)


@pytest.mark.parametrize("estimator", [NHERD(), NHERD(covariance="full"), NHERD(forget=0.1)])
def test_names_not_learnt_have_the_variance_of_the_prior(estimator: Any) -> None:
    X, y = draw(60, 3, 2, seed=7)
    wide = np.hstack([X, np.zeros((60, 2))])
    twin = copy.deepcopy(estimator).partial_fit(wide, y.astype(bool), classes=[False, True])
    model = for_river(estimator)
    for x, label in zip(X, y, strict=True):
        model.learn_one(row(x), bool(label))
    probe = np.array([[0.5, 0.0, -1.0, 2.0, -3.0]])
    expected = twin.predict_proba(probe)[0, 1]
    assert model.predict_proba_one(row(probe[0]))[True] == pytest.approx(expected, abs=1e-9)
    frame = pd.DataFrame(probe, columns=[f"x{j}" for j in range(5)])
    assert model.predict_proba_many(frame)[True][0] == pytest.approx(expected, abs=1e-9)
    assert "x3" not in model.weights


@pytest.mark.parametrize("estimator", [NHERD(), AROW(covariance="full"), AROW(forget=0.1)])
def test_names_come_by_the_hundred(estimator: Any) -> None:
    X, y = draw(40, 300, 2, seed=8)
    X[:, 100:] *= np.arange(40)[:, None] >= 20
    twin = copy.deepcopy(estimator).partial_fit(X, y.astype(bool), classes=[False, True])
    model = for_river(estimator)
    for x, label in zip(X, y, strict=True):
        model.learn_one(row(x), bool(label))
    found = [model.weights.get(f"x{j}", 0.0) for j in range(300)]
    np.testing.assert_allclose(found, twin.coef_[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("estimator", [NHERD(), AROW(average=True), NHERD(covariance="full")])
@pytest.mark.parametrize(
    "copied",
    [
        copy.deepcopy,
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: model.clone(include_attributes=True),
    ],
    ids=["deepcopy", "pickle", "clone"],
)
def test_copies_go_on_alike_and_apart(estimator: Any, copied: Callable[[Any], Any]) -> None:
    X, y = draw(60, 4, 2, seed=9)
    model = for_river(estimator)
    for x, label in zip(X[:30], y, strict=False):
        model.learn_one(row(x), bool(label))
    before, other = tell(model), copied(model)
    assert tell(other) == before
    for x, label in zip(X[30:], y[30:], strict=True):
        other.learn_one(row(x), bool(label))
    assert tell(model) == before
    for x, label in zip(X[30:], y[30:], strict=True):
        model.learn_one(row(x), bool(label))
    assert tell(model) == tell(other)
    assert tell(model) != before
    assert model.clone().weights == {}


@pytest.mark.parametrize("estimator", [NHERD(), AROW(forget=0.1), Perceptron(average=True)])
def test_frames_are_their_rows_while_names_and_classes_come(estimator: Any) -> None:
    X, y = draw(90, 6, 3, seed=11)
    labels = np.array(["a", "b", "c"])[y]
    one, many = for_river(estimator), for_river(estimator)
    for start, columns in ((0, [0, 1]), (30, [2, 1, 3]), (60, [5, 4, 0, 1, 2, 3])):
        part = slice(start, start + 30)
        frame = pd.DataFrame(X[part][:, columns], columns=[f"x{j}" for j in columns])
        many.learn_many(frame, pd.Series(labels[part]))
        for x, label in zip(frame.to_dict("records"), labels[part], strict=True):
            one.learn_one(x, label)
    for label in "abc":
        assert many.weights[label] == pytest.approx(one.weights[label], abs=1e-9)
    probe = pd.DataFrame({"x1": [1.0, -1.0], "new": [0.0, 2.0]}, index=[7, 3])
    picks = [one.predict_one(x) for x in probe.to_dict("records")]
    pd.testing.assert_series_equal(many.predict_many(probe), pd.Series(picks, index=[7, 3]))


def test_frames_before_any_label_and_frames_without_rows() -> None:
    model, frame = for_river(NHERD()), pd.DataFrame({"a": [1.0, 2.0]}, index=[4, 5])
    assert model.predict_many(frame).tolist() == [None, None]
    assert model.predict_proba_many(frame).shape == (2, 0)
    model.learn_many(frame[:0], pd.Series([], dtype=bool))
    assert model.weights == {}
