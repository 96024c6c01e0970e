"""Sparse rows mean what the same dense rows mean, or are refused."""

import numpy as np
import pytest

import herder
from herder._csr import distinct_columns
from tests.online.plain import EVERY, build
from tests.test_csr import BAD, bad, csr

LEARNERS = {
    "perceptron": lambda: herder.Perceptron(),
    "voted": lambda: herder.VotedPerceptron(),
    "NHERD": lambda: herder.NHERD(),
    "full": lambda: herder.NHERD(covariance="full"),
    "kernel": lambda: herder.NHERD(covariance="full", kernel="rbf", gamma=0.1),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_indices_are_refused_wherever_sparse_rows_are_read(name):
    X, y, match = bad(name), [0, 1], BAD[name][3]
    good = np.eye(3)[:2]
    calls = [
        lambda: herder.Moments.from_data(X),
        lambda: herder.MomentHerder().fit(X),
        lambda: herder.count_distribution(X),
        lambda: herder.BoltzmannMachine().fit(X),
        lambda: herder.BoltzmannMachine().partial_fit(X),
        lambda: herder.thin(good, 1).take(X),
    ]
    for make in LEARNERS.values():
        fitted = make().fit(good, y)
        calls += [
            lambda make=make: make().fit(X, y),
            lambda make=make: make().partial_fit(X, y, classes=y),
            lambda fitted=fitted: fitted.partial_fit(X, y),
            lambda fitted=fitted: fitted.predict(X),
            lambda fitted=fitted: fitted.decision_function(X),
        ]
    for call in calls:
        with pytest.raises(herder.ParameterError, match=match):
            call()


def drawn_rows(seed, n=60, d=7, n_entries=5):
    """Rows with repeats, and their labels."""
    rng = np.random.default_rng(seed)
    indices = rng.integers(0, d, (n, n_entries)).ravel()
    X = csr(rng.normal(size=n * n_entries), indices, np.arange(0, n + 1) * n_entries, (n, d))
    return X, rng.integers(0, 3, n)


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: " ".join(filter(None, kind)))
def test_learners_learn_the_sums(kind):
    X, y = drawn_rows(3)
    merged = distinct_columns(X)
    assert merged is not X
    dense = build(kind).fit(X.toarray(), y)
    for rows in (X, merged):
        model = build(kind).fit(rows, y)
        np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-6, atol=1e-9)
        if hasattr(model, "predict_proba"):
            np.testing.assert_allclose(
                model.predict_proba(X), dense.predict_proba(X.toarray()), rtol=1e-6, atol=1e-9
            )
    assert np.array_equal(build(kind).fit(X, y).coef_, build(kind).fit(merged, y).coef_)


@pytest.mark.parametrize("name", ["voted", "kernel"])
def test_learners_that_keep_rows_learn_the_sums(name):
    X, y = drawn_rows(4)
    dense, model = LEARNERS[name]().fit(X.toarray(), y), LEARNERS[name]().fit(X, y)
    scores = dense.decision_function(X.toarray())
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-6, atol=1e-9)


def test_machines_and_moments_count_the_sums():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, (40, 4))
    table[:, 3] |= table[:, 0]
    i, j = np.nonzero(table)
    # 0.5 and 0.5 in one place, and a zero beside
    data, columns = np.r_[np.full(2 * len(i), 0.5), 0.0], np.r_[j, j, 1]
    order = np.argsort(np.r_[i, i, 0], kind="stable")
    indptr = np.r_[0, np.cumsum(np.bincount(np.r_[i, i, 0], minlength=40))]
    X = csr(data[order], columns[order], indptr, table.shape)
    X.has_canonical_format = True
    assert np.array_equal(X.toarray(), table)
    moments = herder.Moments.from_data(X)
    assert np.array_equal(moments.counts, herder.Moments.from_data(table).counts)
    assert np.array_equal(herder.count_distribution(X), herder.count_distribution(table))
    machine, same = herder.BoltzmannMachine().fit(X), herder.BoltzmannMachine().fit(table)
    assert np.array_equal(machine.couplings_, same.couplings_)


def test_repeats_whose_sum_overflows_are_refused():
    X = csr([1e308, 1e308, 1.0], [0, 0, 1], [0, 2, 3], (2, 3))
    for table in (X, X.tocsc()):
        with pytest.raises(ValueError, match="infinity"):
            herder.NHERD().fit(table, [0, 1])
        with pytest.raises(ValueError, match="infinity"):
            herder.NHERD().partial_fit(table, [0, 1], classes=[0, 1])
