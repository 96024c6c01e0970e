from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from herder import AROW, NHERD, ConfidenceWeighted, PassiveAggressive, merge_classifiers
from tests.naming import refuses


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def quarters(model, X, y):
    parts = []
    for k in range(4):
        part = type(model)(**model.get_params())
        parts.append(part.partial_fit(X[k::4], y[k::4], classes=np.unique(y)))
    return parts


@given(st.integers(0, 1000), st.integers(1, 5))
def test_the_prior_counts_once(seed, n_parts):
    """By the formula, with precisions written out."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    for covariance in ("project", "full"):
        options = {"covariance": covariance, "fit_intercept": False}
        parts = [
            NHERD(**options).partial_fit(X[k::n_parts], y[k::n_parts], classes=[0, 1])
            for k in range(n_parts)
        ]
        both = merge_classifiers(parts)
        full = [
            np.diag(part.covariance_[0]) if covariance == "project" else part.covariance_
            for part in parts
        ]
        P = sum(np.linalg.inv(S) for S in full) - (n_parts - 1) * np.eye(3)
        pull = sum(np.linalg.inv(S) @ part.coef_[0] for S, part in zip(full, parts, strict=True))
        found = np.diag(both.covariance_[0]) if covariance == "project" else both.covariance_
        assert np.allclose(np.linalg.inv(P), found, rtol=1e-8, atol=1e-12)
        assert np.allclose(np.linalg.solve(P, pull), both.coef_[0], rtol=1e-7, atol=1e-9)
        assert both.n_seen_ == 60


@pytest.mark.parametrize("multi_class", ["max-margin", "one-vs-rest"])
@pytest.mark.parametrize(
    "model", [AROW(C=0.1), AROW(C=0.1, covariance="full"), NHERD(C=0.1, average=True)], ids=str
)
def test_four_quarters_are_better_than_one(model, multi_class):
    X, y = digits()
    X = X[:, ::2]
    model.set_params(multi_class=multi_class)
    parts = quarters(model, X[:1200], y[:1200])
    both = merge_classifiers(parts)
    alone = [part.score(X[1200:], y[1200:]) for part in parts]
    assert both.score(X[1200:], y[1200:]) > np.mean(alone)
    both.partial_fit(X[:100], y[:100])
    assert both.n_seen_ == 1300


def test_one_model_merges_to_itself():
    X, y = digits()
    part = NHERD().fit(X, y)
    alone = merge_classifiers([part])
    assert np.allclose(alone.coef_, part.coef_, rtol=1e-12)
    alone.partial_fit(X[:10], y[:10])
    assert part.n_seen_ == 5 * len(X)


def test_models_that_do_not_fit_together_are_refused():
    X, y = digits()
    part = NHERD().fit(X, y)
    with refuses("models"):
        merge_classifiers([])
    with refuses("models", TypeError):
        merge_classifiers(cast(Any, [PassiveAggressive().fit(X, y)]))
    for other, words in (
        (AROW().fit(X, y), "one kind, got NHERD and AROW"),
        (NHERD().fit(X, y % 5), "one classes"),
        (NHERD().fit(X[:, :5], y), "one number of features, got 64 and 5"),
        (NHERD(covariance="drop").fit(X, y), "one covariance, got project and drop"),
        (NHERD(fit_intercept=False).fit(X, y), "one shape of weights"),
    ):
        with pytest.raises(ValueError, match=words):
            merge_classifiers([part, other])
    with refuses("models"):
        merge_classifiers([NHERD(covariance="full", kernel="rbf").fit(X[:50], y[:50])])
    narrow = NHERD(covariance="full").fit(X[:, 20:22], y > 4)
    narrow._weights.roots[:] = 1.0
    with refuses("models"):
        merge_classifiers([narrow, narrow])
    with pytest.raises(ValueError, match="not fitted"):
        merge_classifiers([ConfidenceWeighted()])
