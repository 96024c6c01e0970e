"""Errors, effective sample sizes and R-hat, against closed forms and against the samples."""

import numpy as np
import pytest

from herder import PairwiseModel, PottsModel, gibbs
from herder.samplers.monitor import Monitor, batch_errors, split_r_hat
from tests.samplers.plain import all_states, distribution, draw_potts, small_models, sweep_kernel


def watch(chains, n_states=2, cuts=()):
    """Count chains (n_chains, n_sweeps, n_sites) piece by piece; give their monitors."""
    found = []
    for chain in chains:
        monitor = Monitor(chain.shape[1], n_states, None, {})
        for piece in np.split(chain.astype(np.uint8), cuts):
            monitor.add(piece, piece.astype(np.int8))
        found.append(monitor)
    return found


def batch_lengths(n_sweeps):
    """Batches double in length once 32 of them are full."""
    length = 1
    while n_sweeps > 32 * length:
        length *= 2
    return length


def errors_by_hand(indicators):
    """Give error and effective size from (n_chains, n_sweeps) numbers, by batch means."""
    n_chains, n_sweeps = indicators.shape
    length = batch_lengths(n_sweeps)
    full = n_sweeps // length
    means = indicators[:, : full * length].reshape(n_chains * full, length).mean(axis=1)
    variance = length * means.var(ddof=1)
    n = n_chains * n_sweeps
    p = indicators.mean()
    return np.sqrt(variance / n), n * p * (1 - p) / variance


def r_hat_by_hand(indicators):
    """Give the root of the pooled over the inner variance of half chains, as whole batches."""
    n_chains, n_sweeps = indicators.shape
    length = batch_lengths(n_sweeps)
    half = n_sweeps // length // 2 * length
    halves = indicators[:, : 2 * half].reshape(2 * n_chains, half)
    within = halves.var(axis=1, ddof=1).mean()
    between = half * halves.mean(axis=1).var(ddof=1)
    return np.sqrt(((half - 1) / half * within + between / half) / within)


@pytest.mark.parametrize("n_sweeps", [4, 31, 32, 33, 64, 65, 100, 1000, 4097])
@pytest.mark.parametrize("n_chains", [1, 3])
def test_errors_and_r_hat_are_those_of_batches(n_sweeps, n_chains):
    rng = np.random.default_rng(n_sweeps)
    chains = rng.random((n_chains, n_sweeps, 3)) < [0.5, 0.2, 0.7]
    chains[:, 1] = ~chains[:, 0]  # no site is constant
    monitors = watch(chains)
    errors, sizes = batch_errors(monitors)
    r_hat = split_r_hat(monitors)
    for site in range(3):
        values = chains[:, :, site].astype(float)
        wanted = errors_by_hand(values)
        np.testing.assert_allclose([errors[site, 0], sizes[site, 0]], wanted, rtol=1e-9)
        np.testing.assert_allclose(r_hat[site, 0], r_hat_by_hand(values), rtol=1e-9)


def test_how_a_run_is_cut_does_not_show():
    rng = np.random.default_rng(0)
    chains = (rng.random((2, 777, 4)) < 0.4).astype(np.uint8)
    wanted = batch_errors(watch(chains)), split_r_hat(watch(chains))
    cut = watch(chains, cuts=[1, 33, 34, 300, 776])
    np.testing.assert_array_equal(batch_errors(cut), wanted[0])
    np.testing.assert_array_equal(split_r_hat(cut), wanted[1])


def test_chains_that_disagree_have_a_large_r_hat():
    rng = np.random.default_rng(1)
    level = np.array([0.1, 0.9])[:, None, None]
    apart = rng.random((2, 4096, 1)) < level
    # inner variance 0.09, variance of the four means 0.64 / 3: sqrt(1 + 0.2133 / 0.09)
    assert split_r_hat(watch(apart))[0, 0] == pytest.approx(np.sqrt(1 + 0.64 / 3 / 0.09), rel=0.05)
    together = rng.random((2, 4096, 1)) < 0.5
    assert split_r_hat(watch(together))[0, 0] == pytest.approx(1.0, abs=0.01)
    drift = np.arange(4096)[None, :, None] >= 2048  # both halves constant, and different
    noisy = drift ^ (rng.random((1, 4096, 1)) < 0.1)
    assert split_r_hat(watch(noisy))[0, 0] > 1.5


def test_states_that_alternate_are_worth_more_than_draws_of_chance():
    """Two means of a long alternating chain differ by nothing: errors vanish."""
    chains = (np.arange(4096) % 2)[None, :, None]
    errors, sizes = batch_errors(watch(chains))
    assert errors[0, 0] == 0
    assert sizes[0, 0] == np.inf
    # with the odd sweep out of step now and then, the error is small and the size large
    chains = chains ^ (np.random.default_rng(2).random(chains.shape) < 0.01)
    errors, sizes = batch_errors(watch(chains))
    assert 0 < errors[0, 0] < 0.3 * 0.5 / np.sqrt(4096)
    assert sizes[0, 0] > 10 * 4096


def test_sticky_chains_have_few_draws():
    """A chain that stays put with probability 1 - a has size n a / (2 - a): closed form."""
    a, n = 0.05, 2**16
    rng = np.random.default_rng(3)
    chains = np.empty((64, n, 1), dtype=np.uint8)
    for chain in chains:
        turns = np.flatnonzero(np.append(True, rng.random(n - 1) < a))
        drawn = rng.integers(0, 2, len(turns))
        chain[:, 0] = np.repeat(drawn, np.diff(np.append(turns, n)))
    _, sizes = batch_errors(watch(chains))
    # 64 chains x 32 batches: a variance known to sqrt(2 / 2047) = 3 %, five times that
    assert sizes[0, 0] == pytest.approx(64 * n * a / (2 - a), rel=0.16)


def test_a_site_that_never_moves_has_no_diagnostics():
    chains = np.zeros((2, 100, 1), dtype=np.uint8)
    errors, sizes = batch_errors(watch(chains))
    assert errors[0, 0] == 0
    assert np.isnan(sizes[0, 0])
    assert np.isnan(split_r_hat(watch(chains))[0, 0])


def test_one_sweep_is_too_few():
    run = gibbs(PairwiseModel([[0.0]], [0.3]), 1)
    assert np.isnan(run.errors).all()
    assert np.isnan(run.r_hat).all()
    assert np.isnan(run.ess).all()


@pytest.mark.parametrize("name", ["complete +-1", "sparse loop 0/1", "potts complete"])
def test_errors_are_those_of_the_true_chain(name):
    """The variance of a mean, summed over all lags of the kernel, is what batches estimate."""
    model, n_sweeps, n_chains = small_models()[name], 4096, 64
    p, kernel = distribution(model), sweep_kernel(model, range(model.n_sites))
    fundamental = np.linalg.inv(np.eye(len(p)) - kernel + np.outer(np.ones(len(p)), p))
    run = gibbs(model, n_sweeps, n_chains=n_chains, burn_in=20, keep=False)
    errors = run.errors.reshape(model.n_sites, -1)
    states = range(model.n_states) if isinstance(model, PottsModel) else [1]
    sizes = np.empty(errors.shape)
    for site in range(model.n_sites):
        for column, state in enumerate(states):
            f = (all_states(model)[:, site] == model.states[state]).astype(float)
            mean = p @ f
            f -= mean
            variance = 2 * p @ (f * (fundamental @ f)) - p @ f**2
            wanted = np.sqrt(variance / (n_sweeps * n_chains))
            # 64 x 32 batch means give a standard deviation to 1.6 %, batches of 128 are a little
            # short: five times the first and 2 % for the second
            assert errors[site, column] == pytest.approx(wanted, rel=0.10)
            sizes[site, column] = n_sweeps * n_chains * mean * (1 - mean) / variance
    np.testing.assert_allclose(run.ess, sizes.min(axis=1), rtol=0.2)
    assert run.r_hat.max() < 1.02


def test_held_sites_have_no_error():
    run = gibbs(draw_potts(3, 3, [(0, 1)], 0), 200, evidence={1: 2})
    np.testing.assert_array_equal(run.marginals[1], [0, 0, 1])
    np.testing.assert_array_equal(run.errors[1], [0, 0, 0])
    assert np.isnan(run.r_hat[1])
    assert np.isfinite(run.r_hat[[0, 2]]).all()


def test_a_sampling_is_its_samples():
    run = gibbs(PairwiseModel.grid((3, 3), 0.2), 12, n_chains=2, thinning=3)
    assert len(run) == 8
    np.testing.assert_array_equal(np.asarray(run), run.samples)
    assert np.asarray(run, dtype=np.float64).dtype == np.float64
    assert run.chains.shape == (2, 4, 9)
    assert "gibbs" in repr(run)
    assert "2 x 12 sweeps of 9 sites" in repr(run)
