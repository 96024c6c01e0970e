"""Climbing the score: saddles, and kernel means that are functions."""

import numpy as np
import pytest
from scipy.special import erf

from herder import (
    Gaussian,
    GaussianMixture,
    KernelMean,
    Laplace,
    Matern32,
    Matern52,
    herd_density,
)
from tests.naming import refuses


def random_mixture(k, d, seed, scale=3.0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(k, d, d))
    covariances = root @ np.swapaxes(root, 1, 2) / d + 0.1 * np.eye(d)
    return GaussianMixture(scale * rng.normal(size=(k, d)), covariances, rng.dirichlet(np.ones(k)))


TWENTY = random_mixture(20, 2, 1)


def uniform_mean(h):
    """Kernel mean of the uniform density on the unit cube, its gradient, its squared norm."""
    root = h * np.sqrt(np.pi / 2)

    def each(x):
        return root * (erf((1 - x) / h / 2**0.5) + erf(x / h / 2**0.5))

    def slope(x):
        return np.exp(-0.5 * (x / h) ** 2) - np.exp(-0.5 * ((1 - x) / h) ** 2)

    def gradient(x):
        parts = each(x)
        return slope(x) * parts.prod(axis=1, keepdims=True) / parts

    norm = 2 * root * erf(1 / h / 2**0.5) - 2 * h * h * (1 - np.exp(-0.5 / h**2))
    return lambda x: each(x).prod(axis=1), gradient, norm


def test_a_saddle_is_left():
    pair = GaussianMixture([[-3.0, 0.0], [3.0, 0.0]], 1.0)
    herding = herd_density(pair, 2, bandwidth=1.0, auxiliary=[[0.0, 0.0]])
    assert np.abs(herding.points).round(1).tolist() == [[3.0, 0.0], [3.0, 0.0]]
    assert herding.points[0] == pytest.approx(-herding.points[1], abs=1e-6)


def test_functions_follow_the_closed_form():
    h, places = 3.0, TWENTY.quasi_sample(500)

    def function(x):
        return TWENTY.kernel_mean(x, h)

    def gradient(x):
        return TWENTY.kernel_mean_gradient(x, h)

    closed = herd_density(TWENTY, 12, bandwidth=h, auxiliary=places)
    norm = TWENTY.kernel_norm(h)
    with_gradient = herd_density(
        KernelMean(function, gradient, norm), 12, bandwidth=h, auxiliary=places
    )
    without = herd_density(function, 12, bandwidth=h, auxiliary=places)
    for herding in (with_gradient, without):
        assert herding.values == pytest.approx(closed.values, abs=1e-6)
        assert herding.points == pytest.approx(closed.points, abs=1e-2)
    assert with_gradient.errors == pytest.approx(closed.errors, abs=1e-6)
    assert np.isnan(without.mmd)
    assert without.violations.size == 0
    again = herd_density(function, 5, bandwidth=h, auxiliary=places)
    rest = herd_density(function, 7, resume=again)
    assert np.array_equal(rest.points, without.points)


@pytest.mark.parametrize("smooth", [True, False])
def test_uniform_density_within_bounds(smooth):
    function, gradient, norm = uniform_mean(0.3)
    target = KernelMean(
        function, gradient if smooth else None, norm**2, bounds=[(0.0, 1.0), (0.0, 1.0)]
    )
    herding = herd_density(target, 40, bandwidth=0.3)
    assert ((herding.points >= 0) & (herding.points <= 1)).all()
    assert herding.points[0] == pytest.approx([0.5, 0.5], abs=1e-6)
    # a fifth of what random points would have
    assert herding.mmd < 0.2 * np.sqrt((1 - norm**2) / 40)
    assert herding.bandwidth == 0.3
    assert herding.violations.size == 0


@pytest.mark.parametrize("kernel", [Matern32, Matern52, Laplace, Gaussian])
def test_gradients_of_other_kernels(kernel):
    # The mean over a sample is a kernel mean too; its gradient by differences will do here.
    known = kernel(1.5)
    sample = TWENTY.sample(200, random_state=0)
    places = sample[:50]

    def function(x):
        return known(x, sample).mean(axis=1)

    def gradient(x):
        step = 1e-6 * np.eye(2)
        return np.stack([(function(x + e) - function(x - e)) / 2e-6 for e in step], axis=1)

    norm = float(known(sample, sample).mean())
    plain = herd_density(KernelMean(function, None, norm), 15, kernel=known, auxiliary=places)
    steep = herd_density(KernelMean(function, gradient, norm), 15, kernel=known, auxiliary=places)
    assert steep.values == pytest.approx(plain.values, abs=3e-3)
    assert steep.mmd == pytest.approx(plain.mmd, rel=0.2)
    assert plain.violations.size == 0
    picks = steep.points
    square = norm - 2 * function(picks).mean() + known(picks, picks).mean()
    assert steep.mmd == pytest.approx(np.sqrt(square), rel=1e-9)


def test_a_kernel_of_ones_own():
    def kernel(A, B):
        return np.exp(-np.abs(A[:, None] - B).sum(axis=2))

    sample = TWENTY.sample(100, random_state=0)
    herding = herd_density(
        lambda x: kernel(x, sample).mean(axis=1), 10, kernel=kernel, auxiliary=sample
    )
    rest = herd_density(lambda x: kernel(x, sample).mean(axis=1), 2, kernel=kernel, resume=herding)
    assert len(rest) == 12
    assert np.isnan(herding.bandwidth)


def test_bad_kernel_means():
    with refuses("function", TypeError):
        KernelMean(1.0)  # pyright: ignore[reportArgumentType]
    with refuses("gradient", TypeError):
        KernelMean(len, 3)  # pyright: ignore[reportArgumentType]
    with refuses("squared_norm"):
        KernelMean(np.sum, squared_norm=[1.0])  # pyright: ignore[reportArgumentType]
    for bounds in ([0.0, 1.0], [(1.0, 0.0)], [(0.0, 1.0, 2.0)], np.empty((0, 2))):
        with refuses("bounds"):
            KernelMean(np.sum, bounds=bounds)
