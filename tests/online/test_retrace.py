"""Every online learner equals its plain twin, whatever holds the rows."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

import herder
from tests.online.plain import EVERY, GAUSSIAN, Plain, build, twin

#: Sums are taken in another order, and rounding grows from row to row.
CLOSE: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-10}

learners = pytest.mark.parametrize("kind", EVERY, ids=lambda kind: " ".join(filter(None, kind)))
gaussians = pytest.mark.parametrize(
    "kind", GAUSSIAN, ids=lambda kind: " ".join(filter(None, kind))
)
n_classes = pytest.mark.parametrize("K", [2, 4])


def rows(K, n=60, d=5, seed=0, noise=0.1):
    """Rows with zeros, a tenth of the labels wrong, weights with a zero among them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7) * [1, 0.1, 3, 1, 1]
    W = rng.normal(size=(K, d))
    y = np.argmax(X @ W.T, axis=1)
    wrong = rng.random(n) < noise
    y[wrong] = rng.integers(0, K, wrong.sum())
    if noise:
        y[:K] = np.arange(K)
    assert len(set(y)) == K
    weights = rng.choice([0.0, 0.5, 1.0, 2.5], n)
    return X, y, weights


def agree(model, plain, mean=None):
    """The fitted attributes are those of the twin."""
    coef, bias = plain.blocks(plain.mean if mean is None else mean)
    np.testing.assert_allclose(model.coef_, coef, **CLOSE)
    np.testing.assert_allclose(model.intercept_, bias, **CLOSE)
    assert (model.n_updates_, model.n_seen_) == (plain.n_updates, plain.n_seen)
    if plain.covariance == "none":
        return
    spread, bias_spread = plain.blocks(np.diag(plain.S))
    if plain.covariance == "full":
        wanted = plain.S[np.ix_(plain.features, plain.features)]
        np.testing.assert_allclose(model.covariance_, wanted, **CLOSE)
    else:
        np.testing.assert_allclose(model.covariance_, spread, **CLOSE)
    if plain.intercept:
        np.testing.assert_allclose(model.intercept_variance_, bias_spread, **CLOSE)


@learners
@n_classes
@pytest.mark.parametrize("intercept", [False, True])
def test_dense_rows(kind, K, intercept):
    X, y, weights = rows(K)
    plain = twin(kind, K, intercept=intercept).learn_all(X, y)
    model = build(kind, fit_intercept=intercept).partial_fit(X, y, np.arange(K))
    agree(model, plain)
    assert model.progressive_error_ == pytest.approx(plain.n_wrong / len(X))
    plain = twin(kind, K, intercept=intercept).learn_all(X, y, weights)
    agree(
        build(kind, fit_intercept=intercept).partial_fit(
            X, y, np.arange(K), sample_weight=weights
        ),
        plain,
    )


@learners
@n_classes
def test_single_precision_rows(kind, K):
    X, y, _ = rows(K, seed=1)
    X = X.astype(np.float32)
    agree(
        build(kind).partial_fit(X, y, np.arange(K)), twin(kind, K, intercept=True).learn_all(X, y)
    )


def unsorted(S):
    """The same matrix, the columns of each row from right to left."""
    order = np.concatenate(
        [np.arange(b - 1, a - 1, -1) for a, b in zip(S.indptr, S.indptr[1:], strict=False)]
    )
    return csr_array((S.data[order], S.indices[order], S.indptr), shape=S.shape)


def wide(S):
    """The same matrix with 64-bit indices."""
    out = csr_array(S.shape)
    out.data, out.indices, out.indptr = S.data, S.indices.astype("i8"), S.indptr.astype("i8")
    return out


FORMATS = {
    "csr": csr_array,
    "old csr": csr_matrix,
    "single": lambda X: csr_array(X.astype(np.float32)),
    "wide": lambda X: wide(csr_array(X)),
    "unsorted": lambda X: unsorted(csr_array(X)),
    "csc": lambda X: csr_array(X).tocsc(),
}


@learners
@n_classes
def test_sparse_rows(kind, K):
    X, y, weights = rows(K, seed=2)
    # eighths are exact in single precision too
    X = np.round(X * 8) / 8
    plain = twin(kind, K, intercept=True).learn_all(X, y, weights)
    for form in FORMATS.values():
        agree(build(kind).partial_fit(form(X), y, np.arange(K), sample_weight=weights), plain)


@learners
@n_classes
def test_weights_of_classes(kind, K):
    X, y, weights = rows(K, seed=3)
    given = {0: 2.0, 1: 0.25}
    plain = twin(kind, K, intercept=True, class_weight=given).learn_all(X, y, weights)
    agree(
        build(kind, class_weight=given).partial_fit(X, y, np.arange(K), sample_weight=weights),
        plain,
    )
    counts = np.bincount(y)
    balanced = {k: len(y) / (K * counts[k]) for k in range(K)}
    plain = twin(kind, K, intercept=True, class_weight=balanced).learn_all(X, y)
    options = {"class_weight": "balanced", "max_iter": 1, "shuffle": False}
    agree(build(kind, **options).fit(X, y), plain)


@gaussians
@n_classes
def test_forgetting(kind, K):
    X, y, _ = rows(K, seed=4)
    plain = twin(kind, K, intercept=True, forget=0.01).learn_all(X, y)
    agree(build(kind, forget=0.01).partial_fit(X, y, np.arange(K)), plain)
    agree(build(kind, forget=0.01).partial_fit(csr_array(X), y, np.arange(K)), plain)
    pieces = build(kind, forget=0.01).partial_fit(X[:20], y[:20], classes=np.arange(K))
    agree(pieces.partial_fit(csr_array(X[20:]), y[20:]), plain)


@learners
@n_classes
def test_averaging(kind, K):
    X, y, weights = rows(K, seed=5)
    plain = twin(kind, K, intercept=True).learn_all(X, y, weights)
    for form in (np.asarray, csr_array):
        model = build(kind, average=True)
        model.partial_fit(form(X)[:25], y[:25], classes=np.arange(K), sample_weight=weights[:25])
        model.partial_fit(form(X)[25:], y[25:], sample_weight=weights[25:])
        agree(model, plain, mean=plain.sum / plain.n_seen)


@learners
@n_classes
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_pieces_make_the_whole(kind, K, form):
    X, y, weights = rows(K, seed=6)
    whole = build(kind).partial_fit(form(X), y, np.arange(K), sample_weight=weights)
    pieces = build(kind)
    for part in np.split(np.arange(len(X)), [1, 2, 20, 21, 45]):
        pieces.partial_fit(
            form(X)[part], y[part], classes=np.arange(K), sample_weight=weights[part]
        )
    np.testing.assert_array_equal(pieces.coef_, whole.coef_)
    np.testing.assert_array_equal(pieces.intercept_, whole.intercept_)
    assert pieces.progressive_error_ == whole.progressive_error_
    if kind[2] != "none":
        np.testing.assert_array_equal(pieces.covariance_, whole.covariance_)


@learners
@n_classes
def test_fit_is_several_passes(kind, K):
    # Of labels that are wrong for good the hard CW forms make variances without a number.
    X, y, weights = rows(K, seed=7, noise=0.0)
    plain = twin(kind, K, intercept=True)
    plain.learn_all(X, y, weights)
    wrong = plain.n_wrong / plain.n_seen
    plain.learn_all(X, y, weights).learn_all(X, y, weights)
    model = build(kind, max_iter=3, shuffle=False).fit(X, y, sample_weight=weights)
    agree(model, plain)
    assert model.n_iter_ == 3
    assert model.progressive_error_ == pytest.approx(wrong)


@learners
def test_one_against_the_rest(kind):
    X, y, weights = rows(4, seed=8)
    options = {"multi_class": "one-vs-rest", "forget": 0.01} if kind in GAUSSIAN else {}
    options["multi_class"] = "one-vs-rest"
    model = build(kind, **options).partial_fit(X, y, np.arange(4), sample_weight=weights)
    for k in range(4):
        plain = twin(kind, 2, intercept=True, forget=options.get("forget", 0.0))
        plain.learn_all(X, y == k, weights)
        np.testing.assert_allclose(model.coef_[k], plain.blocks(plain.mean)[0][0], **CLOSE)
        np.testing.assert_allclose(model.intercept_[k], plain.mean[-1], **CLOSE)
        if kind[2] == "full":
            np.testing.assert_allclose(model.covariance_[k], plain.S[:5, :5], **CLOSE)
        elif kind[2] != "none":
            np.testing.assert_allclose(model.covariance_[k], np.diag(plain.S)[:5], **CLOSE)


@gaussians
@n_classes
def test_margins_and_their_variances(kind, K):
    X, y, _ = rows(K, seed=9)
    model = build(kind).partial_fit(X, y, np.arange(K))
    plain = twin(kind, K, intercept=True).learn_all(X, y)
    D = np.hstack([X, np.ones((len(X), 1))])
    W, S = plain.mean.reshape(-1, 6), plain.S
    blocks = [S[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] for k in range(len(W))]
    scores = D @ W.T
    spread = np.stack([np.einsum("ij,jk,ik->i", D, B, D) for B in blocks], axis=1)
    if K == 2:
        scores, spread = scores[:, 0], spread[:, 0]
    for form in (np.asarray, csr_array):
        np.testing.assert_allclose(model.decision_function(form(X)), scores, **CLOSE)
        np.testing.assert_allclose(model.decision_variance(form(X)), spread, **CLOSE)


@n_classes
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_votes(K, form):
    X, y, _ = rows(K, seed=10)
    model = herder.VotedPerceptron(budget=1000)
    model.partial_fit(form(X)[:20], y[:20], np.arange(K)).partial_fit(form(X)[20:], y[20:])
    D = np.hstack([X, np.ones((len(X), 1))])
    polls = []
    for k in range(K):
        plain = Plain("VotedPerceptron", 5, intercept=True).learn_all(X, y == k)
        polls.append(np.mean(np.sign(D @ np.array(plain.history).T), axis=1))
    wanted = np.stack(polls, axis=1)
    np.testing.assert_allclose(
        model.decision_function(form(X)), wanted[:, 1] if K == 2 else wanted, **CLOSE
    )
