"""Rows of any size that floats can square: variances stay positive, nothing overflows."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from herder.online.rules import VARIANCE_FLOOR
from tests.online.plain import AROW, CW, EVERY, GAUSSIAN, NHERD, SECOND, build
from tests.sharing import shared_out

DIAGONAL = [kind for kind in NHERD + AROW + CW + SECOND if kind[2] != "full"]
FULL = [kind for kind in GAUSSIAN if kind[2] == "full"]


def named(kind):
    return " ".join(filter(None, kind))


def extreme_rows(n, d, seed, K=2):
    """Sizes from 1e-150 to 1e150; the first half of the rows grows, the rest is mixed."""
    rng = np.random.default_rng(seed)
    powers = rng.uniform(-150, 150, (n, d))
    half = n // 2
    powers[:half] = np.linspace(-150, 145, half)[:, None] + rng.uniform(0, 5, (half, d))
    return 10.0**powers * rng.choice([-1.0, 1.0], (n, d)), rng.integers(0, K, n)


def thinned(X, seed):
    """The same rows, sparse, four entries in ten left out."""
    return csr_array(np.where(np.random.default_rng(seed).random(X.shape) < 0.4, 0.0, X))


def healthy(model, kind):
    """Everything finite, variances at or above the floor."""
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    if kind not in GAUSSIAN:
        return
    spread = model.covariance_
    assert np.isfinite(spread).all()
    if model.fit_intercept:
        assert (model.intercept_variance_ >= VARIANCE_FLOOR).all()
    if kind[2] != "full":
        assert (spread >= VARIANCE_FLOOR).all()
        return
    assert (np.diagonal(spread, axis1=-2, axis2=-1) >= VARIANCE_FLOOR).all()
    np.testing.assert_allclose(spread, np.swapaxes(spread, -1, -2), rtol=0, atol=1e-15)
    # never wider than the prior, never negative but for rounding
    assert np.linalg.eigvalsh(spread).min() >= -1e-15
    assert np.linalg.eigvalsh(spread).max() <= 1 + 1e-9


@pytest.mark.parametrize("kind", DIAGONAL, ids=named)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_updates", [500_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
def test_millions_of_updates(kind, sparse, n_updates):
    """NHERD's default takes them alone, dense and sparse; the other forms share as many."""
    share = n_updates if kind == NHERD[0] else n_updates // len(DIAGONAL)
    X, y = extreme_rows(n_updates // 50, 3, seed=len(kind[2]))
    rows = thinned(X, 1) if sparse else X
    model = build(kind)
    for _ in range(4 * share // len(y) + 1):
        model.partial_fit(rows, y, classes=[0, 1])
        healthy(model, kind)
        if model.n_updates_ >= share:
            break
    assert model.n_updates_ >= share
    assert np.isfinite(model.predict_proba(rows[:1000])).all()
    assert np.isfinite(model.decision_function(rows[:1000])).all()


@pytest.mark.parametrize(
    ("kind", "K", "options"),
    shared_out(EVERY, [2, 3], [{}, {"average": True}, {"multi_class": "one-vs-rest"}]),
)
def test_extreme_rows_of_few_and_many_classes(kind, K, options):
    X, y = extreme_rows(2000, 3, seed=K, K=K)
    for rows in (X, thinned(X, 2)):
        model = build(kind, **options).partial_fit(rows, y, classes=np.arange(K))
        healthy(model, kind)
        if kind in GAUSSIAN:
            assert np.isfinite(model.predict_proba(rows)).all()


@pytest.mark.parametrize("kind", GAUSSIAN, ids=named)
@pytest.mark.parametrize("forget", [1e-10, 0.01, 0.5])
def test_forgetting_keeps_variances_positive(kind, forget):
    X, y = extreme_rows(500, 3, seed=3)
    for rows in (X, thinned(X, 4)):
        model = build(kind, forget=forget).partial_fit(rows, y, classes=[0, 1])
        healthy(model, kind)
        # after one such row some variance is at the floor, and must not be rounded away
        last = np.full((1, 3), 1e150)
        for label in (0, 1, 0):
            model.partial_fit(last if rows is X else csr_array(last), [label])
            healthy(model, kind)


@pytest.mark.parametrize("kind", FULL, ids=named)
def test_whole_covariances_bear_wrong_labels(kind):
    """Twenty thousand rows of moderate size with labels at random, then of mixed sizes."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(20_000, 4)), rng.integers(0, 2, 20_000)
    healthy(build(kind).partial_fit(X, y, classes=[0, 1]), kind)
    X *= 10.0 ** rng.uniform(-6, 6, X.shape)
    healthy(build(kind).partial_fit(X, y, classes=[0, 1]), kind)


@pytest.mark.parametrize("kind", EVERY, ids=named)
@pytest.mark.parametrize("C", [1e-150, 1e-12, 1e12])
def test_huge_and_tiny_rates(kind, C):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    wild, _ = extreme_rows(300, 3, seed=7)
    for rows in (X, wild, csr_array(X), thinned(wild, 8)):
        model = build(kind)
        if kind[0] != "Perceptron":
            model.set_params(C=C)
        healthy(model.partial_fit(rows, y, classes=[0, 1, 2]), kind)


def state(model, kind):
    arrays = [model.coef_, model.intercept_]
    if kind in GAUSSIAN:
        arrays += [model.covariance_, model.intercept_variance_]
    return [np.array(a) for a in arrays]


@pytest.mark.parametrize("kind", EVERY, ids=named)
@pytest.mark.parametrize("K", [2, 3])
def test_a_zero_row_changes_nothing(kind, K):
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, K, 30)
    nothing = np.zeros((5, 4))
    labels = np.arange(5) % K
    for form in (np.asarray, csr_array):
        model = build(kind, fit_intercept=False).partial_fit(X, y, classes=np.arange(K))
        before = state(model, kind)
        model.partial_fit(form(nothing), labels)
        for old, new in zip(before, state(model, kind), strict=True):
            np.testing.assert_array_equal(old, new)
        if kind[2] == "full":
            # the intercept is correlated with the other weights, and takes them along
            continue
        model = build(kind).partial_fit(X, y, classes=np.arange(K))
        before = state(model, kind)
        model.partial_fit(form(nothing), labels)
        after = state(model, kind)
        np.testing.assert_array_equal(before[0], after[0])
        if kind in GAUSSIAN:
            np.testing.assert_array_equal(before[2], after[2])


@pytest.mark.parametrize("kind", EVERY, ids=named)
@pytest.mark.parametrize("K", [2, 3])
def test_rows_beyond_the_floats_are_left_out(kind, K):
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(30, 3)), rng.integers(0, K, 30)
    wild = X.copy()
    wild[[4, 20]] = 1e200
    for form in (np.asarray, csr_array):
        with pytest.warns(RuntimeWarning, match="2 of 30 rows were left out.*scale X"):
            model = build(kind).partial_fit(form(wild), y, classes=np.arange(K))
        kept = np.delete(np.arange(30), [4, 20])
        wanted = build(kind).partial_fit(form(X)[kept], y[kept], classes=np.arange(K))
        for old, new in zip(state(wanted, kind), state(model, kind), strict=True):
            np.testing.assert_array_equal(old, new)
