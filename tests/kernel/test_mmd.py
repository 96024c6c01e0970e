"""MMDs and kernel means against sums over all pairs."""

import numpy as np
import pytest

from herder import kernel_mean, mmd
from herder.kernel import Energy, Gaussian, Stein
from tests.kernel.plain import KINDS, distances, gram, median, sample
from tests.naming import refuses


def plain_mmd(name, X, Y, x, y, bandwidth):
    centre = X.mean(axis=0)
    return np.sqrt(
        x @ gram(name, X, X, bandwidth, centre) @ x
        - 2 * x @ gram(name, X, Y, bandwidth, centre) @ y
        + y @ gram(name, Y, Y, bandwidth, centre) @ y
    )


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("path", ["numpy", "compiled"])
def test_is_the_sum_over_pairs(name, path, request):
    if path == "compiled":
        request.getfixturevalue("compiled")
    X, Y = sample(41, 2), sample(30, 2, seed=1)
    x, y = np.full(41, 1 / 41), np.full(30, 1 / 30)
    expected = plain_mmd(name, X, Y, x, y, 1.3)
    options = {"kernel": name, "bandwidth": 1.3, "standardise": False}
    assert mmd(X, Y, **options) == pytest.approx(expected, rel=1e-9)
    x, y = np.arange(41.0), np.arange(30.0)[::-1]
    expected = plain_mmd(name, X, Y, x / x.sum(), y / y.sum(), 1.3)
    found = mmd(X, Y, **options, x_weight=x, y_weight=y, n_jobs=2)
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_median_is_that_of_the_larger_sample():
    X, Y = sample(50, 2), sample(12, 2, seed=1)
    expected = mmd(X, Y, kernel=Gaussian(median(X)))
    options = {"kernel": "gaussian", "standardise": False}
    assert mmd(X, Y, **options) == pytest.approx(expected, rel=1e-12)
    assert mmd(Y, X, **options) == pytest.approx(expected, rel=1e-12)


def test_standardised_columns():
    X, Y = sample(50, 2), sample(12, 2, seed=1)
    spread = X.std(axis=0)
    expected = mmd(X / spread, Y / spread, kernel=Gaussian(0.9))
    assert mmd(X, Y, kernel="gaussian", bandwidth=0.9) == pytest.approx(expected, rel=1e-10)


def test_by_default_the_square_is_the_energy_distance_in_standard_deviations():
    X, Y = sample(50, 2) * [1.0, 1e3], sample(12, 2, seed=1) * [1.0, 1e3]
    spread = X.std(axis=0)
    across, within = distances(X, Y, spread), (distances(X, X, spread), distances(Y, Y, spread))
    expected = 2 * across.mean() - within[0].mean() - within[1].mean()
    assert mmd(X, Y) ** 2 == pytest.approx(expected, rel=1e-10)
    assert mmd(Y, X) ** 2 == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("path", ["numpy", "compiled"])
def test_a_sample_is_at_no_distance_from_itself(path, request):
    if path == "compiled":
        request.getfixturevalue("compiled")
    X = sample(64, 2)
    for name in KINDS:
        assert mmd(X, X[::-1], kernel=name) < 1e-7  # the root of rounding
    doubled = np.concatenate([X, X[:20]])
    weight = np.concatenate([np.full(20, 0.5), np.ones(44), np.full(20, 0.5)])
    assert mmd(doubled, X, x_weight=weight) < 1e-7


def test_a_stein_discrepancy_needs_no_second_sample():
    X = sample(40, 2)
    rows = np.hstack([X, -X])
    expected = np.sqrt(Stein(1.5)(rows, rows).mean())
    found = mmd(X, kernel="stein", bandwidth=1.5, standardise=False, score=-X)
    assert found == pytest.approx(expected, rel=1e-10)
    weight = np.arange(40.0) / np.arange(40.0).sum()
    expected = np.sqrt(weight @ Stein(1.5)(rows, rows) @ weight)
    found = mmd(X, kernel=Stein(1.5), score=lambda x: -x, x_weight=np.arange(40))
    assert found == pytest.approx(expected, rel=1e-10)


def test_stein_discrepancy_tells_a_wrong_sample():
    X = np.random.default_rng(0).normal(size=(500, 1))
    right = mmd(X, kernel="stein", score=-X)
    wrong = mmd(X + 1, kernel="stein", score=-(X + 1))
    assert wrong > 5 * right


@pytest.mark.parametrize("path", ["numpy", "compiled"])
@pytest.mark.parametrize("name", KINDS)
def test_kernel_means(name, path, request):
    if path == "compiled":
        request.getfixturevalue("compiled")
    X, points = sample(37, 2), sample(9, 2, seed=1)
    centre = X.mean(axis=0)
    K = gram(name, X, X, 0.8, centre)
    weight = np.arange(37.0)
    p = weight / weight.sum()
    options = {"kernel": name, "bandwidth": 0.8, "standardise": False}
    np.testing.assert_allclose(kernel_mean(X, **options), K.mean(axis=1), rtol=1e-11)
    found = kernel_mean(X, **options, sample_weight=weight)
    np.testing.assert_allclose(found, K @ p, rtol=1e-11)
    across = gram(name, points, X, 0.8, centre)
    found = kernel_mean(X, points, **options, sample_weight=weight)
    np.testing.assert_allclose(found, across @ p, rtol=1e-11)
    single = kernel_mean(X, points, **options, sample_weight=weight, precision="single")
    np.testing.assert_allclose(single, across @ p, rtol=2e-6)


def test_energy_kernels_given_a_centre_keep_it():
    X = sample(20, 2)
    kernel = Energy(centre=np.array([3.0, 3.0]))
    np.testing.assert_allclose(kernel_mean(X, kernel=kernel), kernel(X, X).mean(axis=1))
    Y = sample(15, 2, seed=1)
    distance = 2 * distances(X, Y).mean() - distances(X, X).mean() - distances(Y, Y).mean()
    assert mmd(X, Y, kernel=kernel) ** 2 == pytest.approx(distance, rel=1e-10)


def test_own_kernels():
    X, Y = sample(20, 2), sample(15, 2, seed=1)
    linear = mmd(X, Y, kernel=lambda A, B: A @ B.T)
    assert linear == pytest.approx(np.linalg.norm(X.mean(axis=0) - Y.mean(axis=0)))
    named = mmd(X, Y, kernel="gaussian", bandwidth=2.0, standardise=False)
    assert mmd(X, Y, kernel=Gaussian(2.0)) == named


def test_wrong_arguments_are_told():
    X = sample(10, 2)
    with refuses("Y"):
        mmd(X, sample(10, 3))
    with refuses("Y"):
        mmd(X)
    with refuses("x_weight"):
        mmd(X, X, x_weight=-np.ones(10))
    with refuses("precision"):
        kernel_mean(X, precision="half")
    with refuses("kernel"):
        kernel_mean(X, kernel="stein")
    with refuses("at"):
        kernel_mean(X, [[0.0]])
    with refuses("n_jobs"):
        mmd(X, X, n_jobs=-1)


@pytest.mark.parametrize("kernel", ["energy", "gaussian"])
def test_two_samples_of_one_size_have_one_distance(kernel):
    """Neither is the whole: columns are measured by the standard deviations of all rows."""
    X, Y = np.zeros((7, 1)), np.zeros((7, 1))
    Y[-1] = 1.0
    there = mmd(X, Y, kernel=kernel, bandwidth=1.0)
    assert there == pytest.approx(mmd(Y, X, kernel=kernel, bandwidth=1.0))
    scale = np.concatenate([X, Y]).std(axis=0)
    plain = mmd(X / scale, Y / scale, kernel=kernel, bandwidth=1.0, standardise=False)
    assert there == pytest.approx(plain)
