import numpy as np
import pytest

from herder.learn import likelihood
from herder.learn.likelihood import field_moments, fit_ml, log_odds, row_moments
from tests.learn.brute import draw_rows, probabilities, random_field


@pytest.mark.parametrize("n", [1, 2, 3, 6, 7])
def test_moments_are_sums_over_all_states(n, monkeypatch):
    monkeypatch.setattr(likelihood, "BLOCK", 8)  # several blocks
    couplings, biases = random_field(n, n)
    x, p = probabilities(couplings, biases)
    moments = field_moments(couplings, biases)
    scores = np.array([row @ couplings @ row / 2 + biases @ row for row in x])
    assert moments.log_partition == pytest.approx(np.log(np.exp(scores).sum()), rel=1e-13)
    np.testing.assert_allclose(moments.pairs.diagonal(), p @ x, rtol=1e-12)
    np.testing.assert_allclose(moments.pairs, x.T @ (p[:, None] * x), rtol=1e-12)
    counts = [p[x.sum(axis=1) == k].sum() for k in range(n + 1)]
    np.testing.assert_allclose(moments.counts, counts, rtol=1e-12)


def test_huge_parameters_do_not_overflow(monkeypatch):
    monkeypatch.setattr(likelihood, "BLOCK", 4)
    couplings = 1e3 * (np.ones((4, 4)) - np.eye(4))
    moments = field_moments(couplings, np.full(4, -1.5e3))
    # all zeros and all ones have score 0, every other state at most -1500 - 1000
    assert moments.log_partition == pytest.approx(np.log(2))
    np.testing.assert_allclose(moments.pairs, 0.5)
    np.testing.assert_allclose(moments.counts, [0.5, 0, 0, 0, 0.5], atol=1e-300)


@pytest.mark.parametrize("alpha", [0.0, 1e-2 / 16, 1e-2])
def test_the_gradient_is_zero_at_the_fit(alpha):
    couplings, biases = random_field(6, 1)
    rows, weights = draw_rows(couplings, biases, 2000, 2)
    fit = fit_ml(rows, weights, alpha=alpha, tol=1e-7)
    x, p = probabilities(fit.couplings, fit.biases)
    np.testing.assert_allclose(p @ x, weights @ rows, atol=1e-7)
    gap = x.T @ (p[:, None] * x) - rows.T @ (weights[:, None] * rows)
    np.fill_diagonal(gap, 0)
    np.testing.assert_allclose(gap, -4 * alpha * fit.couplings, atol=1e-7)
    assert fit.converged
    assert fit.gradient_norm <= 1e-7
    assert (fit.couplings == fit.couplings.T).all()
    assert not fit.couplings.diagonal().any()


def test_the_objective_is_the_penalised_likelihood():
    rows, weights = draw_rows(*random_field(5, 3), 500, 4)
    fit = fit_ml(rows, weights, alpha=0.005)
    x, p = probabilities(fit.couplings, fit.biases)
    known = {tuple(row): value for row, value in zip(x, p, strict=True)}
    likelihood_of_rows = sum(
        w * np.log(known[tuple(r)]) for w, r in zip(weights, rows, strict=True)
    )
    expected = -likelihood_of_rows + 0.005 * (fit.couplings**2).sum()
    assert fit.objective == pytest.approx(expected, rel=1e-12)


def test_the_start_does_not_matter():
    rows, weights = draw_rows(*random_field(6, 5), 1000, 6)
    plain = fit_ml(rows, weights, alpha=1e-3, tol=1e-7)
    other = fit_ml(rows, weights, alpha=1e-3, tol=1e-7, start=random_field(6, 7))
    np.testing.assert_allclose(plain.couplings, other.couplings, atol=1e-5)
    again = fit_ml(rows, weights, alpha=1e-3, start=(plain.couplings, plain.biases))
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.couplings, plain.couplings)


def test_data_of_the_field_itself_give_it_back():
    couplings, biases = random_field(5, 8)
    x, p = probabilities(couplings, biases)
    fit = fit_ml(x.astype(np.uint8), p, alpha=0.0, tol=1e-7)
    np.testing.assert_allclose(fit.couplings, couplings, atol=1e-5)
    np.testing.assert_allclose(fit.biases, biases, atol=1e-5)


def test_independent_columns_need_no_step():
    x, p = probabilities(np.zeros((3, 3)), np.array([0.3, -1.0, 2.0]))
    fit = fit_ml(x.astype(np.uint8), p, alpha=0.0)
    assert fit.converged
    assert (fit.n_iter, fit.gradient_norm) == (0, 0.0)
    np.testing.assert_allclose(fit.biases, [0.3, -1.0, 2.0])


def test_one_column():
    fit = fit_ml(np.array([[0], [1]], np.uint8), np.array([0.25, 0.75]), alpha=0.0)
    assert fit.biases[0] == pytest.approx(np.log(3))
    assert fit.couplings.shape == (1, 1)


def test_too_few_iterations_are_told():
    rows, weights = draw_rows(*random_field(6, 9), 1000, 10)
    fit = fit_ml(rows, weights, alpha=0.0, max_iter=2)
    assert not fit.converged
    assert fit.n_iter == 2
    assert fit.gradient_norm > 1e-6


def test_a_pair_that_never_occurs_is_pushed_apart():
    rows = np.array([[0, 0], [0, 1], [1, 0]], np.uint8)
    fit = fit_ml(rows, np.full(3, 1 / 3), alpha=0.0, tol=1e-3)
    assert fit.couplings[0, 1] < -5  # the likelihood has no maximum; the tolerance ends the way
    held = fit_ml(rows, np.full(3, 1 / 3), alpha=0.1)
    assert -2 < held.couplings[0, 1] < 0


def test_many_columns_are_refused():
    with pytest.raises(ValueError, match="at most 25 columns, got 26"):
        fit_ml(np.eye(26, dtype=np.uint8), np.full(26, 1 / 26), alpha=0.0)


def test_row_moments_over_blocks(monkeypatch):
    rows, weights = draw_rows(*random_field(5, 11), 300, 12)
    expected = sum(w * np.outer(r, r) for w, r in zip(weights, rows.astype(float), strict=True))
    monkeypatch.setattr(likelihood, "BLOCK_ROWS", 7)
    np.testing.assert_allclose(row_moments(rows, weights), expected, rtol=1e-13)


def test_log_odds_stay_finite():
    np.testing.assert_allclose(log_odds(np.array([0.5, 0.8])), [0, np.log(4)], atol=1e-15)
    assert np.isfinite(log_odds(np.array([0.0, 1.0]))).all()
