import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from herder.kernel import supports
from herder.kernel.span import Span, lower_factor
from herder.kernel.supports import Search, choose_support
from tests.kernel.rows import Rows
from tests.naming import refuses


def plain_weigh(rows, target):
    """Weights of least loss, of any sign."""

    def weigh(support):
        gram = rows.gram(support) + 1e-10 * np.eye(len(support))
        weights = np.linalg.solve(gram, target[support])
        return weights, float(weights @ gram @ weights - 2 * weights @ target[support])

    return weigh


def search_of(rows, n_select, fixed=(), allowed=None, signed=False):
    target = rows.mean()
    return Search(
        target,
        float(target.mean()),
        n_select,
        np.arange(rows.n_rows) if allowed is None else allowed,
        np.array(fixed, np.intp),
        signed,
        plain_weigh(rows, target),
    )


def regular(rows, ridge):
    """The full Gram matrix of the shifted kernel with a ridge."""
    return rows.gram(np.arange(rows.n_rows)) + 1.0 + ridge * np.eye(rows.n_rows)


def projection(gram, target, support, i):
    """Residual and power of row i over a support, by dense algebra."""
    inner = gram[np.ix_(support, support)]
    row = np.linalg.solve(inner, gram[support, i])
    return target[i] - row @ target[support], gram[i, i] - row @ gram[support, i]


def assert_basis_is_true(basis, rows, target, tol):
    gram = regular(rows, basis.ridge)
    shifted = target + 1.0
    support = basis.support
    outside = np.setdiff1d(basis.rows, support)
    positions = [int(np.flatnonzero(basis.rows == i)[0]) for i in outside]
    residual, power = zip(*(projection(gram, shifted, support, i) for i in outside), strict=True)
    assert_allclose(basis.residual[positions], residual, atol=tol)
    assert_allclose(basis.power[positions], power, atol=tol)
    weights = np.linalg.solve(gram[np.ix_(support, support)], shifted[support])
    assert_allclose(basis.dual[: basis.size].T @ basis.aim[: basis.size], weights, atol=1e3 * tol)
    assert basis.aim @ basis.aim == pytest.approx(weights @ shifted[support], abs=tol)


# With a ridge of 1e-4 dense solves are good to about 1e-10.
@pytest.mark.parametrize("n_swaps", [0, 1, 2, 3, 7, 25])
def test_swaps_keep_the_basis_true(n_swaps):
    rng = np.random.default_rng(n_swaps)
    rows = Rows(rng.normal(size=(40, 2)))
    search = search_of(rows, 12)
    support = np.arange(12)
    basis = Span(rows, search.target, support, np.arange(40), 1.0, 1e-4)
    for _ in range(n_swaps):
        k = int(rng.integers(12))
        # Rows come back in after they left: they lie in the span of the basis by then.
        outside = np.setdiff1d(np.arange(40), basis.places)[:6]
        basis.swap(k, int(rng.choice(outside)), *basis.without(k))
    assert len(np.unique(basis.support)) == 12
    assert_basis_is_true(basis, rows, search.target, 1e-9)


def test_without_a_row():
    rows = Rows(np.random.default_rng(0).normal(size=(30, 2)))
    search = search_of(rows, 8)
    basis = Span(rows, search.target, np.arange(8), np.arange(30), 1.0, 1e-4)
    gram = regular(rows, 1e-4)
    rest = np.array([0, 1, 2, 4, 5, 6, 7])
    _, residual, power = basis.without(3)
    for i in (3, 8, 20, 29):
        expected = projection(gram, search.target + 1.0, rest, i)
        assert_allclose((residual[i], power[i]), expected, atol=1e-9)


@pytest.mark.parametrize("signed", [False, True])
def test_greedy_takes_the_best_row_each_time(signed):
    rows = Rows(np.random.default_rng(0).normal(size=(25, 2)))
    search = search_of(rows, 6, signed=signed)
    picks = supports._greedy(rows, search, np.arange(25), 1.0, 1e-4)
    gram, shifted = regular(rows, 1e-4), search.target + 1.0
    for t in range(6):
        gains = np.full(25, -1.0)
        for i in np.setdiff1d(np.arange(25), picks[:t]):
            residual, power = projection(gram, shifted, picks[:t], i)
            gains[i] = (residual if signed else max(residual, 0)) ** 2 / power
        assert gains[picks[t]] == pytest.approx(gains.max(), rel=1e-5)


@given(st.integers(0, 10**6), st.sampled_from([1e-2, 1e-5, 1e-8]))
def test_exchange_lowers_the_loss_while_weights_are_positive(seed, ridge):
    rng = np.random.default_rng(seed)
    rows = Rows(rng.normal(size=(60, 3)))
    search = search_of(rows, 6)
    support = rng.choice(60, 6, replace=False)
    basis = Span(rows, search.target, support, np.arange(60), 1.0, ridge)
    positive = ((basis.dual[:6].T @ basis.aim[:6]) > 0).all()
    before = float(basis.aim @ basis.aim)
    moved = supports._exchange(basis, search)
    after = basis.dual[: basis.size].T @ basis.aim[: basis.size]
    if positive and (after > 0).all() and moved == 1:
        assert float(basis.aim @ basis.aim) > before
    if moved == 0:
        assert_array_equal(basis.support, support)
        assert float(basis.aim @ basis.aim) == before
    assert len(np.unique(basis.support)) == 6


def test_a_settled_support_cannot_be_bettered_by_one_exchange():
    rng = np.random.default_rng(0)
    rows = Rows(rng.normal(size=(40, 2)))
    search = search_of(rows, 5)
    ridge = 1e-6
    basis = Span(rows, search.target, np.arange(5), np.arange(40), 1.0, ridge)
    for _ in range(20):
        if not supports._exchange(basis, search):
            break
    gram, shifted = regular(rows, ridge), search.target + 1.0

    def gain(s):
        weights = np.linalg.solve(gram[np.ix_(s, s)], shifted[s])
        return weights @ shifted[s], weights

    held, weights = gain(basis.support)
    assert (weights > 0).all()
    for k in range(5):
        rest = np.delete(basis.support, k)
        for i in np.setdiff1d(np.arange(40), basis.support):
            other, weights = gain(np.append(rest, i))
            # A row that would enter with a negative weight is no rival.
            assert weights[-1] <= 0 or other <= held + 2e-4 * (search.norm + 1 - held) + 1e-9


def test_pools_come_round_and_meet_all_rows():
    none = np.zeros(0)
    every = np.arange(10_000)

    def weigh(support):
        return none, 0.0

    search = Search(none, 0.0, 5, every, none.astype(np.intp), False, weigh)
    pools = supports._pools(search)
    four = [next(pools) for _ in range(4)]
    assert_array_equal(np.sort(np.concatenate(four)), every)
    assert_array_equal(next(pools), four[0])
    assert min(len(pool) for pool in four) >= supports.POOL


def test_the_search_looks_beyond_the_first_pool(monkeypatch):
    monkeypatch.setattr(supports, "POOL", 16)
    monkeypatch.setattr(supports, "SPARE", 16)
    rows = Rows(np.random.default_rng(0).normal(size=(200, 2)))
    support = choose_support(rows, search_of(rows, 8))
    assert len(np.unique(support)) == 8
    assert len(np.unique(support % (200 // 24))) > 1


def test_fixed_rows_stay():
    rows = Rows(np.random.default_rng(0).normal(size=(50, 2)))
    fixed = [3, 17, 44]
    assert np.isin(fixed, choose_support(rows, search_of(rows, 6, fixed))).all()
    assert_array_equal(np.sort(choose_support(rows, search_of(rows, 3, fixed))), fixed)


def test_only_given_rows_are_chosen():
    rows = Rows(np.random.default_rng(0).normal(size=(50, 2)))
    allowed = np.arange(1, 50, 3)
    assert np.isin(choose_support(rows, search_of(rows, 6, allowed=allowed)), allowed).all()


def test_ties_go_to_the_lowest_row():
    # Three copies of a grid: only the first copy of a point is ever needed.
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), -1).reshape(-1, 2)
    rows = Rows(np.concatenate([grid, grid, grid]))
    search = search_of(rows, 6)
    assert (supports._greedy(rows, search, np.arange(75), 1.0, 1e-6) < 25).all()
    assert supports._first_top(np.array([1.0, 2.0, 2.0 - 1e-9, 0]), np.array([5, 9, 7, 1])) == 2


def test_power_fills_up_when_nothing_is_left_to_gain():
    rows = Rows(np.zeros((6, 1)))
    search = search_of(rows, 4)
    support = supports._greedy(rows, search, np.arange(6), 1.0, 1e-6)
    assert len(np.unique(support)) == 4


def test_factor():
    gram = np.ones((3, 3))
    factor, ridge = lower_factor(gram, 0.0, 1.0)
    assert 0 < ridge < 1e-11
    assert_allclose(factor @ factor.T, gram, atol=1e-11)
    assert lower_factor(gram, 1e-3, 1.0)[1] == 1e-3
    with refuses("kernel"):
        lower_factor(np.diag([1, -0.5]), 0.0, 1.0)
    with refuses("kernel"):
        lower_factor(np.diag([1, np.nan]), 0.0, 1.0)
