import pickle
from typing import Any, cast

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from herder import (
    AROW,
    NHERD,
    ConfidenceWeighted,
    PassiveAggressive,
    Perceptron,
    SecondOrderPerceptron,
    VotedPerceptron,
)
from tests.estimator_checks import estimator_checks
from tests.naming import refuses

ALL: list[Any] = [
    NHERD(),
    NHERD(covariance="exact"),
    NHERD(covariance="drop"),
    NHERD(covariance="full"),
    NHERD(multi_class="one-vs-rest"),
    NHERD(new_classes="add"),
    AROW(),
    AROW(covariance="full", multi_class="one-vs-rest"),
    AROW(average=True, forget=0.01),
    ConfidenceWeighted(),
    ConfidenceWeighted(form="soft-2"),
    PassiveAggressive(),
    Perceptron(),
    SecondOrderPerceptron(),
    VotedPerceptron(),
]

WEIGHTS = "a weight scales C (phi, or the step): a row of weight 2 is not the row given twice"
COLLAPSE = (
    "a class weight of 1000 on unscaled columns: NHERD's precision grows by C^2 v at the first "
    "row, and the covariance is too narrow to move the bias afterwards"
)
OBEYS = "class weights scale phi, which asks for more confidence but not for another prediction"
CYCLES = "the last mistake of a perceptron decides, whatever the weight of the others"


def expected_failures(estimator):
    found = {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
    }
    if isinstance(estimator, NHERD) and estimator.covariance in ("project", "exact"):
        found["check_class_weight_classifiers"] = COLLAPSE
    if isinstance(estimator, ConfidenceWeighted) and estimator.form == "stdev":
        found["check_class_weight_classifiers"] = OBEYS
    if isinstance(estimator, Perceptron):
        found["check_class_weight_classifiers"] = CYCLES
    return found


@estimator_checks(ALL, expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


@pytest.mark.parametrize("estimator", ALL, ids=str)
def test_digits_are_learnt(estimator):
    X, y = digits()
    model: Any = clone(estimator)
    model.fit(X[:1200], y[:1200])
    assert model.score(X[1200:], y[1200:]) > 0.84
    assert model.progressive_error_ < 0.3
    assert 0 < model.n_updates_ <= model.n_seen_ * 10


@pytest.mark.parametrize("estimator", ALL, ids=str)
def test_a_copy_goes_on_as_the_original(estimator):
    X, y = digits()
    model: Any = clone(estimator)
    model.partial_fit(X[:300], y[:300], classes=np.arange(10))
    twin = pickle.loads(pickle.dumps(model))
    model.partial_fit(X[300:600], y[300:600])
    twin.partial_fit(X[300:600], y[300:600])
    assert np.array_equal(model.decision_function(X), twin.decision_function(X))


@pytest.mark.parametrize("estimator", ALL, ids=str)
def test_the_same_call_gives_the_same_bits(estimator):
    X, y = digits()
    twins: list[Any] = [clone(estimator), clone(estimator)]
    first, second = (twin.fit(X[:400], y[:400]) for twin in twins)
    assert np.array_equal(first.decision_function(X), second.decision_function(X))


def test_fit_in_order_is_partial_fit():
    X, y = digits()
    fitted = NHERD(shuffle=False, max_iter=1).fit(X[:500], y[:500])
    fed = NHERD()
    for low in range(0, 500, 100):
        fed.partial_fit(X[low : low + 100], y[low : low + 100], classes=np.arange(10))
    assert np.array_equal(fitted.coef_, fed.coef_)
    assert np.array_equal(fitted.covariance_, fed.covariance_)
    assert fitted.progressive_error_ == fed.progressive_error_
    assert fed.n_seen_ == 500


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n", [3, 900])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_batch_with_nan_leaves_the_model_as_it_was(bad, n, kind):
    X, y = digits()
    X[X == 0] = 0.01
    model = NHERD().partial_fit(kind(X[:900]), y[:900], classes=np.arange(10))
    before = model.coef_, model.covariance_, model.n_updates_, model.n_seen_
    broken = X[:n].copy()
    broken[n - 1, 5] = bad
    with pytest.raises(ValueError, match="X contains"):
        model.partial_fit(kind(broken), y[:n])
    after = model.coef_, model.covariance_, model.n_updates_, model.n_seen_
    assert all(np.array_equal(one, two) for one, two in zip(before, after, strict=True))
    with pytest.raises(ValueError, match="X contains"):
        NHERD().fit(kind(broken), y[:n])


def test_a_first_batch_with_nan_leaves_no_model():
    model = NHERD()
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit([[np.nan]], [0], classes=[0, 1])
    model.partial_fit([[1.0, 2.0]], ["a"], classes=["a", "b"])
    assert model.classes_.tolist() == ["a", "b"]


def test_nan_is_seen_while_there_is_one_class():
    X = np.ones((300, 2))
    X[200, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        NHERD(new_classes="add").partial_fit(X, np.zeros(300))


def test_rows_that_overflow_are_left_out_and_said():
    with pytest.warns(RuntimeWarning, match="1 of 2 rows were left out"):
        model = NHERD().partial_fit([[1e200], [1.0]], [0, 1], classes=[0, 1])
    assert np.isfinite(model.coef_).all()
    assert model.n_updates_ == 1


def test_zero_weights_change_nothing():
    X, y = digits()
    model = NHERD().partial_fit(X[:300], y[:300], classes=np.arange(10))
    before = model.coef_
    model.partial_fit(X[300:400], y[300:400], sample_weight=np.zeros(100))
    assert np.array_equal(before, model.coef_)
    with refuses("sample_weight"):
        NHERD().fit(X, y, sample_weight=np.zeros(len(X)))


def test_a_weight_scales_c():
    X, y = digits()
    X, y = X[:200], y[:200] > 4
    doubled = NHERD(C=2.0, shuffle=False).fit(X, y)
    weighted = NHERD(shuffle=False).fit(X, y, sample_weight=np.full(200, 2.0))
    by_class = NHERD(shuffle=False, class_weight={True: 2.0, False: 2.0}).fit(X, y)
    assert np.array_equal(doubled.coef_, weighted.coef_)
    assert np.array_equal(doubled.covariance_, by_class.covariance_)


def test_balanced_classes_find_the_rare_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    y = (X[:, 0] + rng.normal(size=2000) > 2.2).astype(int)
    plain, balanced = (
        PassiveAggressive(C=0.01, class_weight=weight, average=True).fit(X, y)
        for weight in (None, "balanced")
    )
    found = [model.predict(X)[y == 1].mean() for model in (plain, balanced)]
    assert found[1] > found[0] + 0.2
    with refuses("class_weight"):
        NHERD(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    with refuses("class_weight"):
        NHERD(class_weight={7: 2.0}).fit(X, y)


def test_early_stopping_keeps_the_best_pass():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    rng = np.random.default_rng(1)
    noisy = np.where(rng.random(len(y)) < 0.3, 1 - y, y)
    options = {"early_stopping": True, "n_iter_no_change": 4}
    model = Perceptron(max_iter=60, **options).fit(X, noisy)
    assert 4 < model.n_iter_ < 60
    # the last four passes were no better, so fewer passes give the same weights
    again = Perceptron(max_iter=model.n_iter_ - 4, **options).fit(X, noisy)
    assert np.array_equal(model.coef_, again.coef_)
    with refuses("validation_fraction"):
        Perceptron(early_stopping=True, validation_fraction=0.0).fit(X, y)


def test_it_stops_when_there_is_nothing_to_learn():
    model = PassiveAggressive(form="PA", max_iter=50).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    assert model.n_iter_ < 50


def test_forgetting_follows_a_stream_that_turns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 10))
    w = rng.normal(size=10)
    y = (X @ w > 0).astype(int)
    y[2000:] = 1 - y[2000:]
    errors = []
    for forget in (0.0, 0.02):
        model = AROW(forget=forget).partial_fit(X[:2000], y[:2000], classes=[0, 1])
        model.partial_fit(X[2000:2600], y[2000:2600])
        errors.append(1 - model.score(X[2600:], y[2600:]))
    assert errors[1] < 0.1 < errors[0] - 0.1


def test_new_classes_join_when_asked_for():
    X, y = digits()
    names = np.array(list("abcdefghij"))[y]
    model = NHERD(new_classes="add")
    model.partial_fit(X[:5], ["e"] * 5)
    assert model.predict(X[:2]).tolist() == ["e", "e"]
    for low in range(0, 1200, 40):
        model.partial_fit(X[low : low + 40], names[low : low + 40])
    assert model.classes_.tolist() == list("abcdefghij")
    assert model.score(X[1200:], names[1200:]) > 0.85
    strict = NHERD().partial_fit(X[:50], names[:50], classes=list("abcdefghij"))
    with refuses("y"):
        strict.partial_fit(X[:1], ["z"])
    with refuses("classes"):
        strict.partial_fit(X[:1], ["a"], classes=["a", "b"])
    with refuses("classes"):
        NHERD().partial_fit(X[:50], names[:50])


@pytest.mark.parametrize("covariance", ["project", "full"])
@pytest.mark.parametrize("multi_class", ["max-margin", "one-vs-rest"])
def test_a_class_that_joins_late_does_not_disturb_the_others(covariance, multi_class):
    X, y = digits()
    X = X[:, 20:30]
    model = NHERD(covariance=covariance, multi_class=multi_class, new_classes="add")
    few = np.isin(y[:300], (3, 7))
    model.partial_fit(X[:300][few], y[:300][few])
    before = model._weights.scores(X)
    model.partial_fit(X[:1], [5], sample_weight=[0.0])
    assert model.classes_.tolist() == [3, 5, 7]
    after = model._weights.scores(X)
    assert np.array_equal(after[:, [0, 2]], before)
    assert not after[:, 1].any()


def test_probabilities_are_the_probit_of_margin_and_variance():
    from scipy.stats import norm

    X, y = digits()
    model = AROW(C=0.1).fit(X[:600], y[:600] % 2)
    scores, variances = model.decision_function(X), model.decision_variance(X)
    expected = norm.cdf(scores / np.sqrt(1 + variances))
    assert np.allclose(model.predict_proba(X)[:, 1], expected, atol=1e-12)
    by_hand = X**2 @ model.covariance_[0] + model.intercept_variance_
    assert np.allclose(variances, by_hand, rtol=1e-12)
    many = AROW(C=0.1).fit(X[:600], y[:600])
    odds = many.predict_proba(X)
    assert np.allclose(odds.sum(axis=1), 1)
    assert np.array_equal(many.classes_[odds.argmax(axis=1)], many.predict(X))


def test_full_variances_have_the_off_diagonal_parts():
    X, y = digits()
    X = X[:, 20:28]
    model = NHERD(covariance="full", fit_intercept=False).fit(X[:300], y[:300] > 4)
    S = model.covariance_
    assert np.allclose(model.decision_variance(X), np.einsum("ij,jk,ik->i", X, S, X))
    assert np.allclose(S, S.T, atol=1e-12)


def test_a_grid_search_over_c_behind_hashing():
    texts = ["good fine great", "bad awful poor", "great good", "poor bad"] * 10
    labels = ["up", "down", "up", "down"] * 10
    pipe = make_pipeline(HashingVectorizer(n_features=2**10), NHERD())
    search = GridSearchCV(pipe, {"nherd__C": [0.1, 1.0, 10.0]}, cv=4).fit(texts, labels)
    assert search.best_score_ == 1.0
    assert search.predict(["great fine"]).tolist() == ["up"]


def test_classes_join_a_model_with_a_kernel_one_by_one():
    X, y = digits()
    X, y = X[y < 3], y[y < 3]
    model = NHERD(covariance="full", kernel="rbf", new_classes="add", budget=200)
    for low in range(0, 200, 2):
        model.partial_fit(X[low : low + 1], y[low : low + 1])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(X[200:], y[200:]) > 0.9


def test_a_large_whole_covariance_is_refused():
    X = sparse.random_array((4, 2**20), density=1e-6, format="csr", rng=0)
    with refuses("covariance", match="not be 'full' .* GB; use 'project'"):
        NHERD(covariance="full").fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (NHERD(C=0), "C"),
        (NHERD(C=1e101), "C"),
        (NHERD(C=-1.0), "C"),
        (NHERD(covariance="diagonal"), "covariance"),
        (AROW(covariance="exact"), "covariance"),
        (NHERD(forget=1.0), "forget"),
        (NHERD(multi_class="ovr"), "multi_class"),
        (NHERD(new_classes="yes"), "new_classes"),
        (NHERD(max_iter=0), "max_iter"),
        (NHERD(kernel="rbf"), "covariance"),
        (ConfidenceWeighted(confidence=0.4), "confidence"),
        (ConfidenceWeighted(form="hard"), "form"),
        (PassiveAggressive(form="PA-III"), "form"),
        (VotedPerceptron(budget=0), "budget"),
    ],
)
def test_bad_parameters_are_named(estimator, name):
    with refuses(name):
        estimator.fit([[0.0], [1.0]], [0, 1])


def test_types_of_parameters_are_named():
    with refuses("C", TypeError):
        NHERD(C=cast(float, "1")).fit([[0.0], [1.0]], [0, 1])
    with refuses("sample_weight"):
        NHERD().fit([[0.0], [1.0]], [0, 1], sample_weight=[1.0, 2.0, 3.0])
    with refuses("sample_weight"):
        NHERD().fit([[0.0], [1.0]], [0, 1], sample_weight=[1.0, -2.0])


@pytest.mark.parametrize(
    "model",
    [
        NHERD(multi_class="one-vs-rest", new_classes="add"),
        NHERD(covariance="full", new_classes="add"),
        NHERD(covariance="full", multi_class="one-vs-rest", new_classes="add"),
        Perceptron(multi_class="one-vs-rest", new_classes="add"),
        VotedPerceptron(new_classes="add"),
        NHERD(covariance="full", kernel="rbf", gamma=0.5, new_classes="add"),
    ],
    ids=str,
)
def test_one_class_alone_teaches_nothing(model: Any):
    X, y = digits()
    ones, twos = X[y == 1], X[y == 2]
    model.partial_fit(ones[:30], np.ones(30, int))
    assert model.n_updates_ == 0
    model.partial_fit(twos[:1], [2])
    both = np.stack([ones[:30], twos[:30]], axis=1).reshape(60, -1)
    model.partial_fit(both, [1, 2] * 30)
    assert model.score(np.vstack([ones, twos]), np.repeat([1, 2], [len(ones), len(twos)])) > 0.9


@pytest.mark.parametrize("kernel", [None, "linear"])
def test_variances_of_gaps_have_the_parts_between_classes(kernel):
    """Against a plain covariance over all blocks."""
    from scipy.stats import norm

    X, y = digits()
    X, y = X[y < 3][:, 18:30], y[y < 3]
    plain = NHERD(covariance="full", fit_intercept=False).fit(X[:200], y[:200])
    model = NHERD(covariance="full", fit_intercept=False, kernel=kernel).fit(X[:200], y[:200])
    S = plain.covariance_.reshape(3, 12, 3, 12)
    scores = plain.decision_function(X)
    odds = np.empty((len(X), 3))
    for i, x in enumerate(X):
        for k in range(3):
            others = [z for z in range(3) if z != k]
            b = max(others, key=lambda z: (scores[i, z], -z))
            spread = x @ (S[k, :, k] + S[b, :, b] - S[k, :, b] - S[b, :, k]) @ x
            odds[i, k] = norm.cdf((scores[i, k] - scores[i, b]) / np.sqrt(1 + spread))
    expected = odds / odds.sum(axis=1, keepdims=True)
    assert np.allclose(model.predict_proba(X), expected, atol=1e-6)
    two = y < 2
    pair = NHERD(covariance="full", fit_intercept=False, new_classes="add").fit(X[two], y[two])
    D = pair.covariance_.reshape(2, 12, 2, 12)
    gap = D[0, :, 0] + D[1, :, 1] - D[0, :, 1] - D[1, :, 0]
    assert np.allclose(pair.decision_variance(X), np.einsum("ij,jk,ik->i", X, gap, X))


def test_parameters_that_weights_are_made_for_must_stay():
    X, y = digits()
    model = NHERD().fit(X, y % 2)
    for change in ({"new_classes": "add"}, {"covariance": "full"}, {"fit_intercept": False}):
        changed = pickle.loads(pickle.dumps(model)).set_params(**change)
        with refuses(next(iter(change))):
            changed.partial_fit(X, y % 2)
    model.set_params(C=0.1).partial_fit(X, y % 2)


def test_a_failed_call_leaves_the_model_as_it_was():
    X, y = digits()
    model = NHERD(new_classes="add").fit(X, y % 2)
    before = model.decision_function(X)
    with refuses("sample_weight"):
        model.fit(X[:, :2], y, sample_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((2, 64), np.nan), [7, 8])
    with refuses("max_iter"):
        model.set_params(max_iter=0).fit(X, y)
    assert np.array_equal(model.decision_function(X), before)
    assert model.classes_.tolist() == [0, 1]
    fresh = NHERD()
    with pytest.raises(ValueError, match="NaN"):
        fresh.partial_fit([[np.nan]], [0], classes=[0, 1])
    assert not hasattr(fresh, "classes_")


def test_labels_are_of_one_kind():
    X, y = digits()
    model = NHERD(new_classes="add").partial_fit(X[:50], y[:50])
    with refuses("y"):
        model.partial_fit(X[:2], ["a", "b"])
    with pytest.raises(ValueError, match="label type"):
        model.partial_fit(X[:2], [0.5, 0.25])
    with refuses("y", match="got None in row 1"):
        NHERD().fit(X[:3], np.array(["a", None, "b"], object))
    with refuses("y"):
        NHERD().fit(X[:3], np.array(["a", 1, "b"], object))
    model.partial_fit(X[:2], y[:2], classes=[0, 1, 77])
    assert 77 in model.classes_


def test_rows_of_zeros_change_nothing():
    model = NHERD(fit_intercept=False).fit(np.zeros((10, 2)), [0, 1] * 5)
    assert (model.n_updates_, model.n_iter_) == (0, 1)


def test_rows_in_the_right_form_are_taken_as_they_are_and_others_are_looked_at():
    import pandas as pd

    X, y = digits()
    frame = pd.DataFrame(X, columns=[f"p{j}" for j in range(64)])
    named: Any = NHERD().fit(frame, y)
    assert named.feature_names_in_[0] == "p0"
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = named.predict(X)
    assert np.array_equal(found, named.predict(frame))
    plain = NHERD().fit(X, y)
    assert np.array_equal(plain.coef_, named.coef_)
    named.fit(X, y)
    assert not hasattr(named, "feature_names_in_")
    for narrow in (X[:, :5].copy(), sparse.csr_array(X[:, :5])):
        with pytest.raises(ValueError, match="X has 5 features, but NHERD is expecting 64"):
            plain.predict(narrow)
    strange_rows: list[Any] = [X * 1j, np.empty((0, 64)), X[0], np.full((2, 64), np.inf)]
    for strange in strange_rows:
        with pytest.raises(ValueError):  # noqa: PT011 - scikit-learn's own words
            plain.predict(strange)
    assert np.array_equal(plain.predict(np.asfortranarray(X)), plain.predict(X))
    assert np.array_equal(plain.predict(X.astype(np.float16)), plain.predict(X))
