"""Herding of densities against grid search, sums done again, and its laws."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herder import (
    Energy,
    Gaussian,
    GaussianMixture,
    KernelMean,
    Laplace,
    Stein,
    herd_density,
)
from herder.core import fit_rate
from herder.kernel.bandwidth import median_bandwidth
from tests.naming import refuses


def random_mixture(k, d, seed, scale=3.0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(k, d, d))
    covariances = root @ np.swapaxes(root, 1, 2) / d + 0.1 * np.eye(d)
    return GaussianMixture(scale * rng.normal(size=(k, d)), covariances, rng.dirichlet(np.ones(k)))


TWENTY = random_mixture(20, 2, 1)

mixtures = st.builds(
    random_mixture,
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
    st.floats(0.1, 10.0),
)


def gram(A, B, h):
    return np.exp(-0.5 * np.square((A[:, None] - B) / h).sum(axis=2))


def test_each_pick_is_as_good_as_a_fine_grid():
    herding = herd_density(TWENTY, 40)
    h = herding.bandwidth
    low, high = TWENTY.means.min(axis=0) - 2, TWENTY.means.max(axis=0) + 2
    axes = [np.linspace(a, b, 250) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    means, sums = TWENTY.kernel_mean(grid, h), np.zeros(len(grid))
    for t, point in enumerate(herding.points):
        best = (means - sums / (t + 1)).max()
        assert herding.values[t] >= best - 1e-6 * means.max()
        sums += gram(grid, point[None], h)[:, 0]


def test_picks_are_peaks():
    herding = herd_density(TWENTY, 60)
    h = herding.bandwidth
    for t in (0, 1, 5, 59):
        away = (herding.points[t] - herding.points[:t]) / h
        near = np.exp(-0.5 * np.square(away).sum(axis=1))
        slope = TWENTY.kernel_mean_gradient(herding.points[t : t + 1], h)[0]
        slope += (near[:, None] * away).sum(axis=0) / h / (t + 1)
        # within the rounding of picks, 2^-22 bandwidths
        assert np.abs(slope * h).max() < 1e-6


@given(mixtures, st.floats(0.3, 3.0), st.integers(1, 12))
def test_laws(mixture, h, n):
    herding = herd_density(mixture, n, bandwidth=h, auxiliary=200)
    assert herding.points.shape == (n, mixture.n_features)
    assert len(herding) == n
    assert np.isfinite(herding.points).all()
    K = gram(herding.points, herding.points, h)
    means = mixture.kernel_mean(herding.points, h)
    assert herding.means == pytest.approx(means, rel=1e-9)
    assert herding.sums == pytest.approx(np.tril(K, -1).sum(axis=1), rel=1e-9, abs=1e-12)
    # errors by their definition
    norm = mixture.kernel_norm(h)
    for t, error in enumerate(herding.errors, start=1):
        square = norm - 2 * means[:t].mean() + K[:t, :t].mean()
        assert error**2 == pytest.approx(square, rel=1e-6, abs=1e-12)
    assert herding.mmd == herding.errors[-1]
    # no pick is below an auxiliary point
    scale = means.max()
    assert len(herding.auxiliary) == 200 + mixture.n_components
    place_means = mixture.kernel_mean(herding.auxiliary, h)
    for t, value in enumerate(herding.values):
        sums = gram(herding.auxiliary, herding.points[:t], h).sum(axis=1)
        assert value >= (place_means - sums / (t + 1)).max() - 1e-9 * scale
    assert herding.violations.size == 0
    # nested, repeatable, resumable; the input is left alone
    first = herd_density(mixture, max(1, n // 2), bandwidth=h, auxiliary=200)
    assert np.array_equal(first.points, herding.points[: len(first)])
    if len(first) < n:
        rest = herd_density(mixture, n - len(first), resume=first)
        for name in ("points", "means", "sums", "errors", "values", "auxiliary_sums"):
            assert np.array_equal(getattr(rest, name), getattr(herding, name))


def test_the_error_falls_about_like_one_over_t():
    herding = herd_density(TWENTY, 500)
    t = np.arange(20, 501)
    assert fit_rate(t, herding.errors[19:]).slope <= -0.75
    assert herding.violations.size == 0
    # a random sample of T points has the root of (1 - ||mu||^2) / T
    assert herding.mmd < 0.1 * np.sqrt((1 - herding.squared_norm) / 500)


def test_expected_values_are_means_of_the_score():
    herding = herd_density(TWENTY, 10)
    h = herding.bandwidth
    drawn = TWENTY.sample(20_000, random_state=0)
    for t in (0, 4, 9):
        score = TWENTY.kernel_mean(drawn, h) - gram(drawn, herding.points[:t], h).sum(1) / (t + 1)
        sigma = score.std() / 20_000**0.5
        assert herding.expected_values[t] == pytest.approx(score.mean(), abs=5 * sigma)


def test_the_order_of_components_and_the_last_digit_do_not_decide():
    places = TWENTY.quasi_sample(1000)
    backwards = GaussianMixture(TWENTY.means[::-1], TWENTY.covariances[::-1], TWENTY.weights[::-1])
    one, other = (
        herd_density(mixture, 300, bandwidth=3.0, auxiliary=places)
        for mixture in (TWENTY, backwards)
    )
    assert np.array_equal(one.points, other.points)


def test_threads_do_not_decide():
    from threadpoolctl import threadpool_limits

    mixture = random_mixture(5, 40, 3)
    found = []
    for n in (1, 2):
        with threadpool_limits(n):
            found.append(herd_density(mixture, 5, auxiliary=100).points)
    assert np.array_equal(*found)


def test_units_do_not_matter():
    one = herd_density(TWENTY, 50, bandwidth=2.0)
    scaled = GaussianMixture(1024 * TWENTY.means, 1024**2 * TWENTY.covariances, TWENTY.weights)
    other = herd_density(scaled, 50, bandwidth=2048.0)
    assert other.points == pytest.approx(1024 * one.points, rel=1e-12)
    stretched = GaussianMixture(
        TWENTY.means * [1.0, 4.0], TWENTY.covariances * np.outer([1, 4], [1, 4]), TWENTY.weights
    )
    other = herd_density(stretched, 50, bandwidth=[2.0, 8.0])
    assert other.points == pytest.approx(one.points * [1.0, 4.0], rel=1e-12)
    assert other.errors == pytest.approx(one.errors, rel=1e-6)


def test_default_bandwidth_is_the_median_distance():
    herding = herd_density(TWENTY, 1)
    assert herding.kernel == Gaussian(median_bandwidth(TWENTY.quasi_sample(1000)))
    assert np.array_equal(herding.points, herd_density(TWENTY, 1, bandwidth="median").points)


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_fitted_mixtures_of_scikit_learn(covariance_type):
    from sklearn.mixture import GaussianMixture as Fitted

    X = TWENTY.sample(300, random_state=0)
    model = Fitted(3, covariance_type=covariance_type, random_state=0).fit(X)
    herding = herd_density(model, 15)
    same = herd_density(GaussianMixture.from_sklearn(model), 15)
    assert np.array_equal(herding.points, same.points)
    assert herding.mmd < 0.2


@pytest.mark.parametrize(
    "mixture",
    [
        GaussianMixture([[0.0]], 1.0),
        GaussianMixture([[0.0, 0.0]], 1e280),
        GaussianMixture([[0.0, 0.0]], 1e-280),
        GaussianMixture([[1e9, -1e9]], 1.0),
        GaussianMixture([[0.0, 0.0]] * 5, 1.0),
        GaussianMixture([[0.0, 0.0], [1.0, 1.0]], [[1e20, 1e-6], [1.0, 1.0]]),
        GaussianMixture([[0.0], [1e8]], 1.0),
    ],
    ids=["one", "wide", "narrow", "far", "copies", "uneven", "apart"],
)
def test_extreme_mixtures(mixture):
    herding = herd_density(mixture, 30)
    assert np.isfinite(herding.points).all()
    assert herding.violations.size == 0
    assert herding.errors[-1] < 0.25 * herding.errors[0]
    assert np.array_equal(herd_density(mixture, 1).points, herding.points[:1])


@pytest.mark.parametrize("bandwidth", [1e-140, 1e-100, 1e-8, 1e-3, 1e3, 1e100])
def test_extreme_bandwidths(bandwidth):
    herding = herd_density(GaussianMixture([[0.0, 0.0]], 1.0), 30, bandwidth=bandwidth)
    assert np.isfinite(herding.points).all()
    assert herding.violations.size == 0
    if bandwidth < 1:
        # nothing is like anything else: all are apart, and each is one of T
        assert len(np.unique(herding.points, axis=0)) == 30
        assert herding.mmd == pytest.approx(30**-0.5, rel=1e-4)
    else:
        assert herding.mmd < 1e-3


def test_poor_starts_are_seen():
    # All starts at one place, between two far components: the first peak is used up, and the
    # maximisation cannot reach the second.
    pair = GaussianMixture([[0.0], [40.0]], 1.0)
    herding = herd_density(pair, 20, bandwidth=0.5, auxiliary=[[0.0]])
    assert herding.points.max() < 20
    assert herding.violations.size > 0
    assert herd_density(pair, 20, bandwidth=0.5).violations.size == 0


def test_the_result_is_an_array_of_points():
    herding = herd_density(TWENTY, 7)
    assert np.array_equal(np.asarray(herding), herding.points)
    assert np.asarray(herding, dtype=np.float32).dtype == np.float32
    assert np.array(herding) is not herding.points


def test_progress_is_told():
    told = []
    herd_density(TWENTY, 250, progress=lambda share, note: told.append((share, note)))
    assert len(told) <= 100
    assert told[-1] == (1.0, "250 points")
    assert all(a < b for (a, _), (b, _) in itertools.pairwise(told))


SQUARE = KernelMean(lambda x: np.ones(len(x)), bounds=[(0.0, 1.0), (0.0, 1.0)])


@pytest.mark.parametrize(
    ("kind", "target", "settings_", "text"),
    [
        (
            TypeError,
            [[0.0, 1.0]],
            {},
            "target must be a GaussianMixture, .* got list; .* use thin",
        ),
        (ValueError, TWENTY, {"kernel": "matern32"}, "must be 'gaussian' for a mixture, got 'mat"),
        (ValueError, TWENTY, {"kernel": Laplace(1.0)}, "no closed form; draw points .* use thin"),
        (ValueError, TWENTY, {"kernel": Gaussian}, "kernel must be 'gaussian'"),
        (ValueError, TWENTY, {"kernel": Gaussian(1.0), "bandwidth": 1.0}, "must be left out if"),
        (ValueError, TWENTY, {"bandwidth": "scott"}, "or 'median', got 'scott'"),
        (ValueError, TWENTY, {"bandwidth": -1.0}, "bandwidth must be positive and finite"),
        (ValueError, TWENTY, {"bandwidth": [1.0, 2.0, 3.0]}, "each of the 2 dimensions"),
        (ValueError, TWENTY, {"auxiliary": 0}, "auxiliary must be a positive integer, got 0"),
        (ValueError, TWENTY, {"auxiliary": [[1.0]]}, r"points \(m, 2\), .* got the shape \(1, 1"),
        (ValueError, TWENTY, {"auxiliary": [[np.nan, 0.0]]}, "auxiliary must be finite"),
        (ValueError, SQUARE, {}, "bandwidth must be given for a function"),
        (ValueError, SQUARE, {"kernel": "energy"}, "one of 'gaussian', .* got 'energy'"),
        (ValueError, SQUARE, {"kernel": Stein()}, "or a callable with k"),
        (ValueError, SQUARE, {"kernel": Energy()}, "or a callable with k"),
        (ValueError, SQUARE, {"bandwidth": 1.0, "auxiliary": [[2.0, 0.0]]}, "within the bounds"),
        (ValueError, SQUARE.function, {"bandwidth": 1.0}, "points to start from if .* got None"),
        (ValueError, SQUARE.function, {"bandwidth": 1.0, "auxiliary": 9}, "points .* got 9"),
        (
            ValueError,
            lambda x: x,
            {"bandwidth": 1.0, "auxiliary": [[0.0], [1.0]]},
            r"values of the function of the target must have the shape \(2,\)",
        ),
        (
            ValueError,
            lambda x: x[:, 0] / np.inf * np.inf,
            {"bandwidth": 1.0, "auxiliary": [[0.0]]},
            "values of the function of the target must be finite",
        ),
        (
            ValueError,
            KernelMean(lambda x: np.exp(-(x[:, 0] ** 2)), lambda x: x[:, 0]),
            {"bandwidth": 1.0, "auxiliary": [[0.5]]},
            r"values of the gradient of the target must have the shape \(1, 1\)",
        ),
    ],
)
def test_bad_calls(kind, target, settings_, text):
    with pytest.raises(kind, match=text), np.errstate(invalid="ignore"):
        herd_density(target, 3, **settings_)


def test_bad_counts_and_resumes():
    with refuses("n_select"):
        herd_density(TWENTY, 0)
    with refuses("n_select", TypeError):
        herd_density(TWENTY, 1.5)  # pyright: ignore[reportArgumentType]
    herding = herd_density(TWENTY, 3)
    with refuses("resume", TypeError):
        herd_density(TWENTY, 3, resume=herding.points)  # pyright: ignore[reportArgumentType]
    with refuses("resume"):
        herd_density(random_mixture(2, 3, 0), 3, resume=herding)
    with refuses("resume"):
        herd_density(random_mixture(2, 2, 0), 3, resume=herding)
    with refuses("kernel"):
        herd_density(TWENTY, 3, bandwidth=1.0, resume=herding)
    with refuses("auxiliary"):
        herd_density(TWENTY, 3, auxiliary=50, resume=herding)
    with refuses("bandwidth"):
        herd_density(GaussianMixture([[0.0]], 1e200), 1, bandwidth=1e-140)


def test_a_herding_prints_as_its_summary():
    found = herd_density(TWENTY, 5)
    lines = str(found).splitlines()
    assert lines[0] == "5 points in 2 dimensions"
    assert f"{found.mmd:.3g}" in lines[2].split()
    assert len(lines) == 3
    unknown = replace(found, squared_norm=np.nan)
    assert len(str(unknown).splitlines()) == 2  # neither a distance nor violations
    failed = replace(found, squared_norm=1e6)
    assert str(failed).splitlines()[-1] == "Warning: 5 picks did not reach the mean score"
