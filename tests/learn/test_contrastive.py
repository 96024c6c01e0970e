import numpy as np
import pytest
from scipy.special import expit

from herder.learn import _contrastive_jit
from herder.learn.contrastive import fit_cd
from herder.learn.likelihood import fit_ml
from tests.learn.brute import all_states, draw_rows, probabilities, random_field


def pseudo_likelihood(rows, weights, couplings, biases):
    """Sum over sites of the mean log conditional, by the energies of both values."""
    total = 0.0
    for row, weight in zip(rows.astype(float), weights, strict=True):
        for i in range(len(row)):
            scores = []
            for value in (0.0, 1.0):
                other = row.copy()
                other[i] = value
                scores.append(other @ couplings @ other / 2 + biases @ other)
            total += weight * (scores[int(row[i])] - np.logaddexp(*scores))
    return total


def test_the_chains_follow_the_plain_loop():
    couplings, biases = random_field(6, 0)
    rng = np.random.default_rng(1)
    states = (rng.random((5, 6)) < 0.5).astype(float)
    sites, uniforms = np.array([3, 0, 0, 5, 1, 2, 4]), rng.random((5, 7))
    expected = states.copy()
    for c in range(5):
        for t, i in enumerate(sites):
            p = 1 / (1 + np.exp(-(couplings[i] @ expected[c] + biases[i])))
            expected[c, i] = uniforms[c, t] < p
    fields = states @ couplings + biases
    _contrastive_jit.run_chains(states, fields, couplings, sites, uniforms)
    np.testing.assert_array_equal(states, expected)
    np.testing.assert_allclose(fields, states @ couplings + biases, atol=1e-12)


def test_extreme_fields_are_certain():
    states = np.array([[0.0, 1.0]])
    fields = np.array([[1e4, -1e4]])
    uniforms = np.array([[1 - 2**-53, 2**-53]])
    _contrastive_jit.run_chains(states, fields, np.zeros((2, 2)), np.arange(2), uniforms)
    np.testing.assert_array_equal(states, [[1.0, 0.0]])


def one_step_by_the_chains(rows, weights, couplings, biases):
    """Expected change of x x' by one step: every site, both values, each with its probability."""
    n = rows.shape[1]
    change = np.zeros((n, n))
    for row, weight in zip(rows.astype(float), weights, strict=True):
        for i in range(n):
            p = 1 / (1 + np.exp(-(couplings[i] @ row + biases[i])))
            for uniform, share in ((0.0, p), (1 - 2**-53, 1 - p)):
                states, fields = row[None].copy(), (couplings @ row + biases)[None]
                _contrastive_jit.run_chains(
                    states, fields, couplings, np.array([i]), np.array([[uniform]])
                )
                after = np.outer(states[0], states[0])
                change += weight / n * share * (np.outer(row, row) - after)
    return change


def expected_update(rows, weights, couplings, biases):
    """Give the expected change by CD with one step of one random site: couplings and biases.

    The expectation is over the site, uniform among n, and over its new value; nothing is drawn.
    """
    states = rows.astype(np.float64)
    n = states.shape[1]
    # x_i x_j changes when i is drawn, or when j is
    residual = weights[:, None] * (states - expit(states @ couplings + biases)) / n
    half = residual.T @ states
    change = half + half.T
    np.fill_diagonal(change, 0.0)
    return change, residual.sum(axis=0)


@pytest.mark.parametrize("n", [2, 4, 5])
def test_one_random_site_is_the_gradient_of_the_pseudo_likelihood(n):
    couplings, biases = random_field(n, n)
    rows = all_states(n).astype(np.uint8)
    weights = np.random.default_rng(n).dirichlet(np.ones(len(rows)))
    pairs, singles = expected_update(rows, weights, couplings, biases)
    by_chains = one_step_by_the_chains(rows, weights, couplings, biases)
    np.testing.assert_allclose(singles, by_chains.diagonal(), atol=1e-14)
    off = ~np.eye(n, dtype=bool)
    np.testing.assert_allclose(pairs[off], by_chains[off], atol=1e-14)

    # D of equations 9 and 20, site by site: couplings 2/n, biases 1/n
    gradient = np.zeros((n, n))
    for row, weight in zip(rows.astype(float), weights, strict=True):
        conditional = 1 / (1 + np.exp(-(couplings @ row + biases)))
        gradient += weight * np.outer(row - conditional, row)
    np.testing.assert_allclose(pairs[off], (2 / n * (gradient + gradient.T) / 2)[off], atol=1e-14)

    # the same from differences of the function itself; moving W_ij moves W_ji too, which is 2 D
    step = 1e-5
    for i in range(n):
        moved = np.eye(n)[i] * step
        slope = pseudo_likelihood(rows, weights, couplings, biases + moved)
        slope -= pseudo_likelihood(rows, weights, couplings, biases - moved)
        assert singles[i] == pytest.approx(slope / (2 * step) / n, abs=1e-8)
        for j in range(i):
            moved = np.zeros((n, n))
            moved[i, j] = moved[j, i] = step
            slope = pseudo_likelihood(rows, weights, couplings + moved, biases)
            slope -= pseudo_likelihood(rows, weights, couplings - moved, biases)
            assert pairs[i, j] == pytest.approx(slope / (2 * step) / n, abs=1e-8)


def test_the_expected_update_is_zero_at_the_truth():
    couplings, biases = random_field(5, 3)
    x, p = probabilities(couplings, biases)
    pairs, singles = expected_update(x.astype(np.uint8), p, couplings, biases)
    np.testing.assert_allclose(pairs, 0, atol=1e-15)
    np.testing.assert_allclose(singles, 0, atol=1e-15)


@pytest.mark.parametrize(("n_steps", "persistent"), [(1, False), (3, False), (1, True)])
def test_rows_of_a_field_give_it_back(n_steps, persistent):
    # The rows are the field itself, so that the truth is the fixed point of all three.
    couplings, biases = random_field(5, 4, coupling_sd=0.7)
    x, p = probabilities(couplings, biases)
    fit = fit_cd(
        x.astype(np.uint8), p, n_steps=n_steps, persistent=persistent, n_epochs=150, random_state=1
    )
    # 750 averaged updates of 200 chains know the moments like at most 150,000 rows; a
    # coupling of N rows has a standard error of about 4 / sqrt(N) = 0.01, and chains of
    # persistent updates depend on each other.
    np.testing.assert_allclose(fit.couplings, couplings, atol=0.1)
    np.testing.assert_allclose(fit.biases, biases, atol=0.1)
    assert (fit.couplings == fit.couplings.T).all()
    assert not fit.couplings.diagonal().any()
    assert fit.n_iter == 150


@pytest.mark.parametrize("persistent", [False, True])
def test_the_last_half_of_the_updates_is_averaged(persistent):
    # At a rate of 1 every update adds the noise of 200 chains, 0.4 a coupling. The end of the
    # steps, where the rate is a tenth, still has sqrt(0.1 / 2) of it, 0.09; an average over 750
    # of them has 0.4 / sqrt(750) = 0.015.
    couplings, biases = random_field(5, 4, coupling_sd=0.7)
    x, p = probabilities(couplings, biases)
    upper = np.triu_indices(5, 1)
    for seed in range(3):
        fit = fit_cd(
            x.astype(np.uint8),
            p,
            persistent=persistent,
            learning_rate=1.0,
            n_epochs=150,
            random_state=seed,
        )
        assert np.sqrt(np.mean((fit.couplings - couplings)[upper] ** 2)) < 0.04


@pytest.mark.parametrize("alpha", [0.005, 0.5])
def test_persistent_chains_end_at_the_penalised_likelihood_fit(alpha):
    rows, weights = draw_rows(*random_field(6, 5), 3000, 6)
    exact = fit_ml(rows, weights, alpha=alpha)
    fit = fit_cd(rows, weights, persistent=True, alpha=alpha, n_epochs=200)
    np.testing.assert_allclose(fit.couplings, exact.couplings, atol=0.1)
    np.testing.assert_allclose(fit.biases, exact.biases, atol=0.1)


def test_one_sweep_ends_near_the_pseudo_likelihood_optimum():
    # The rows are no field of pairs, so that CD-1 and the likelihood part; the expected update
    # of one site, which is the gradient of the pseudo-likelihood, must be nearly zero at CD-1.
    rows = all_states(4).astype(np.uint8)
    weights = np.where(rows.sum(axis=1) % 2 == 0, 0.11, 0.015)  # eight of each
    fit = fit_cd(rows, weights, n_epochs=150)
    before, _ = expected_update(rows, weights, np.zeros((4, 4)), np.full(4, 1.0))
    after, _ = expected_update(rows, weights, fit.couplings, fit.biases)
    assert np.abs(after).max() < 0.1 * np.abs(before).max()


def test_random_state_is_all_the_randomness():
    rows, weights = draw_rows(*random_field(5, 7), 500, 8)
    first, second = (fit_cd(rows, weights, n_epochs=3, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(first.couplings, second.couplings)
    np.testing.assert_array_equal(first.biases, second.biases)
    other = fit_cd(rows, weights, n_epochs=3, random_state=6)
    assert (first.couplings != other.couplings).any()


@pytest.mark.parametrize("persistent", [False, True])
def test_a_weight_is_so_many_rows(persistent):
    rows = np.array([[0, 0, 1], [1, 0, 1], [1, 1, 0], [0, 1, 0]], np.uint8)
    counts = np.array([1, 2, 4, 1])
    repeated = np.repeat(rows, counts, axis=0)
    merged = fit_cd(rows, counts / 8, persistent=persistent, n_epochs=2)
    plain = fit_cd(repeated, np.full(8, 1 / 8), persistent=persistent, n_epochs=2)
    np.testing.assert_array_equal(merged.couplings, plain.couplings)


def test_the_start_is_where_it_starts():
    rows, weights = draw_rows(*random_field(4, 9), 500, 10)
    start = random_field(4, 11)
    kept = start[0].copy()
    fit = fit_cd(rows, weights, start=start, learning_rate=1e-12, n_epochs=1)
    np.testing.assert_allclose(fit.couplings, kept, atol=1e-8)
    np.testing.assert_allclose(fit.biases, start[1], atol=1e-8)
    np.testing.assert_array_equal(start[0], kept)
    still = fit_cd(rows, weights, start=start, learning_rate=1e-308, n_epochs=1)
    np.testing.assert_allclose(still.couplings, kept, atol=1e-8)
    nowhere = fit_cd(rows, weights, learning_rate=1e-12, n_epochs=1)
    ones = weights @ rows
    np.testing.assert_allclose(nowhere.biases, np.log(ones / (1 - ones)), atol=1e-8)


def test_twins_and_rare_columns_stay_finite():
    rng = np.random.default_rng(12)
    rows = (rng.random((200, 4)) < 0.5).astype(np.uint8)
    rows[:, 1] = rows[:, 0]
    rows[:, 2] = 0
    rows[0, 2] = 1
    fit = fit_cd(rows, np.full(200, 1 / 200), learning_rate=1.0, n_epochs=20)
    assert np.isfinite(fit.couplings).all()
    assert np.isfinite(fit.biases).all()
    assert fit.couplings[0, 1] > 2
