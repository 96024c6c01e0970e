"""Estimators with a kernel: the same learners as without one, in another feature space."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons

from herder import AROW, NHERD, ConfidenceWeighted, SecondOrderPerceptron


def make_rows(n, d, n_classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, n_classes)) + rng.normal(size=(n, n_classes))
    return X, scores.argmax(axis=1)


ESTIMATORS = {
    "NHERD": (NHERD, {}),
    "AROW": (AROW, {}),
    "second-order": (SecondOrderPerceptron, {}),
    "stdev": (ConfidenceWeighted, {}),
    "soft-2": (ConfidenceWeighted, {"form": "soft-2"}),
}


def make(name, **options):
    kind, form = ESTIMATORS[name]
    return kind(covariance="full", **form, **options)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_with_a_linear_kernel_are_those_without(name, n_classes, average):
    X, labels = make_rows(120, 5, n_classes, seed=22)
    options = {"average": average, "max_iter": 2, "forget": 0.01}
    primal, dual = make(name, **options), make(name, kernel="linear", **options)
    weight = np.random.default_rng(0).uniform(0.0, 2.0, 120)
    for model in (primal, dual):
        model.fit(X, labels, sample_weight=weight)
        model.partial_fit(X[:20], labels[:20])
    assert np.allclose(dual.decision_function(X), primal.decision_function(X), atol=1e-8)
    assert np.allclose(dual.decision_variance(X), primal.decision_variance(X), atol=1e-8)
    assert np.allclose(dual.predict_proba(X), primal.predict_proba(X), atol=1e-8)
    assert dual.n_updates_ == primal.n_updates_
    assert dual.progressive_error_ == primal.progressive_error_


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("name", ["NHERD", "AROW", "soft-2"])
def test_estimators_with_a_curved_kernel(name, form):
    X, labels = make_moons(400, noise=0.15, random_state=0)
    names = np.array(["low", "high"])[labels]
    model = make(name, kernel="rbf", gamma=1.0, budget=40)
    model.fit(form(X[:300]), names[:300])
    assert model.score(form(X[300:]), names[300:]) > 0.95
    assert model.support_vectors_.shape == (40, 2)
    assert model.dual_coef_.shape == (1, 40)
    chances = model.predict_proba(X[300:])
    assert np.allclose(chances.sum(axis=1), 1.0)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X[300:]), chances)
    with pytest.raises(AttributeError, match="a model with a kernel has no coef_"):
        _ = model.coef_


def test_estimators_learn_classes_that_come_later():
    X, labels = make_rows(90, 3, 3, seed=23)
    model = NHERD(covariance="full", kernel="rbf", new_classes="add")
    early = labels != 1
    model.partial_fit(X[early], labels[early])
    assert model.classes_.tolist() == [0, 2]
    model.partial_fit(X[~early], labels[~early])
    assert model.classes_.tolist() == [0, 1, 2]
    for _ in range(3):
        model.partial_fit(X, labels)
    assert model.score(X, labels) > 0.7
