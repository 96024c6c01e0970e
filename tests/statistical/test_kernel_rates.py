"""What thinning promises shows: rates, averages, and a burn-in that scores remove."""

import numpy as np
import pytest

from herder import kernel_herd, mmd, thin
from herder.core import fit_rate
from herder.kernel import Gaussian
from tests.kernel.plain import sample


def herding_errors(X, sizes, kernel):
    K = kernel(X, X)
    picks = kernel_herd(X, max(sizes), kernel=kernel).indices
    errors = []
    for t in sizes:
        w = np.bincount(picks[:t], minlength=len(X)) / t - 1 / len(X)
        errors.append(np.sqrt(w @ K @ w))
    return np.array(errors)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_mmd_of_herding_falls_nearly_like_one_over_t(d):
    # Before some 32 picks an error is a matter of luck, above all in one dimension; the mean
    # over three samples evens out how it wanders later.
    sizes = 2 ** np.arange(5, 11)
    errors = [herding_errors(sample(1000, d, seed), sizes, Gaussian(1.5)) for seed in range(3)]
    slope = fit_rate(sizes, np.exp(np.log(errors).mean(axis=0))).slope
    print(f"d = {d}: slope {slope:.2f}")
    assert slope < -0.8  # random subsets: -0.5


def test_scores_of_herding_stay_bounded():
    X = sample(400, 2)
    short, long = kernel_herd(X, 100), kernel_herd(X, 3000)
    assert np.abs(long.scores).max() < 3 * np.abs(short.scores).max()


def test_averages_are_nearer_than_those_of_random_rows():
    X = sample(2000, 3)
    functions = (X[:, 0], X[:, 1] * X[:, 2], np.cos(X[:, 0]), np.abs(X).max(axis=1))
    chosen = thin(X, 50).indices
    rng = np.random.default_rng(0)
    draws = [rng.choice(2000, 50, replace=False) for _ in range(300)]
    for f in functions:
        random = np.sqrt(np.mean([(f[rows].mean() - f.mean()) ** 2 for rows in draws]))
        assert abs(f[chosen].mean() - f.mean()) < random / 2


def biased_chain(seed, n=1000, start=8.0, keep=0.98):
    """A standard normal chain that begins far out and comes in slowly."""
    rng = np.random.default_rng(seed)
    x = np.empty(n)
    x[0] = start
    for t in range(1, n):
        x[t] = keep * x[t - 1] + np.sqrt(1 - keep**2) * rng.normal()
    return x[:, None]


def test_scores_remove_the_bias_of_a_burn_in():
    plain, scored = [], []
    for seed in range(8):
        X = biased_chain(seed)
        plain.append(X[thin(X, 40)].mean())
        scored.append(X[thin(X, 40, kernel="stein", score=-X)].mean())
    bias, left = np.mean(plain), np.abs(np.mean(scored))
    print(f"mean of the thinned chain, truth 0: {bias:.3f} without scores, {left:.3f} with them")
    assert bias > 0.1
    assert left < bias / 4
    assert np.abs(scored).mean() < np.abs(plain).mean() / 2


def test_scores_tell_spread_as_well():
    """Draws twice too wide are thinned to the density of the scores."""
    X = 2 * np.random.default_rng(1).normal(size=(1500, 1))
    chosen = X[thin(X, 60, kernel="stein", score=-X)]
    assert chosen.std() == pytest.approx(1, abs=0.1)
    assert X[thin(X, 60)].std() > 1.8


def test_a_weighted_choice_is_far_nearer_than_an_even_one():
    X = sample(800, 2)
    even, simplex, best = (
        thin(X, 30, kernel="gaussian", standardise=False, weights=mode).mmd
        for mode in ("uniform", "simplex", "optimal")
    )
    print(f"MMD {even:.2e} with equal weights, {simplex:.2e} and {best:.2e} with others")
    assert simplex < even / 3
    assert best <= simplex * 1.05


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 5, 20])
def test_large_samples_are_thinned_as_well_as_small_ones(d):
    """The compiled path in single precision, against random subsets and the distance to all."""
    X = sample(20_000, d)
    chosen = thin(X, 200, kernel="gaussian")
    assert len(set(chosen)) == 200
    assert chosen.mmd < chosen.mmd_random / 3
    assert chosen.mmd == pytest.approx(mmd(X, X[chosen], kernel="gaussian"), rel=1e-6)
    for method in ("chunks", "subsample", "features"):
        near = thin(X, 200, kernel="gaussian", approximate=method)
        print(f"d = {d}, {method}: {near.mmd / chosen.mmd:.2f} times the exact MMD")
        assert near.mmd < near.mmd_random / 2


@pytest.mark.slow
def test_thinning_falls_faster_than_random_subsets():
    X = sample(5000, 2)
    sizes = np.array([10, 20, 40, 80, 160, 320])
    errors = [thin(X, m).mmd for m in sizes.tolist()]
    slope = fit_rate(sizes, np.array(errors)).slope
    print(f"slope {slope:.2f}")
    assert slope < -0.7  # random subsets: -0.5
