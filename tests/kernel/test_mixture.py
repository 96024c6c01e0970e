"""Mixtures of Gaussians against quadrature, Monte Carlo and finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import multivariate_normal

from herder import GaussianMixture
from herder.kernel.mixture import halton
from tests.naming import refuses


def random_mixture(k, d, seed, scale=2.0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(k, d, d))
    covariances = root @ np.swapaxes(root, 1, 2) / d + 0.1 * np.eye(d)
    return GaussianMixture(scale * rng.normal(size=(k, d)), covariances, rng.dirichlet(np.ones(k)))


def gaussian(x, y, bandwidth):
    return np.exp(-0.5 * np.square((x - y) / bandwidth).sum(axis=-1))


mixtures = st.builds(
    random_mixture,
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
    st.floats(0.1, 10.0),
)


def test_kernel_mean_and_norm_against_quadrature_in_one_dimension():
    mixture = GaussianMixture([[-1.0], [2.0]], [0.3, 1.5], [0.3, 0.7])
    h = 0.8

    def density(y):
        return mixture.density([[y]])[0]

    def mean(x):
        return mixture.kernel_mean([[x]], h)[0]

    for x in (-2.0, 0.0, 3.5):
        truth = quad(lambda y, x=x: density(y) * np.exp(-0.5 * ((x - y) / h) ** 2), -20, 20)[0]
        assert mean(x) == pytest.approx(truth, rel=1e-9)
    truth = quad(lambda x: density(x) * mean(x), -20, 20)[0]
    assert mixture.kernel_norm(h) == pytest.approx(truth, rel=1e-9)


def test_kernel_mean_and_norm_against_quadrature_in_two_dimensions():
    # A rule of products on a fine grid: exact to rounding for smooth functions that vanish
    # at its ends.
    mixture = random_mixture(3, 2, 0, scale=1.0)
    h = np.array([0.6, 1.1])
    axis = np.linspace(-12, 12, 241)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    mass = mixture.density(grid) * (axis[1] - axis[0]) ** 2
    assert mass.sum() == pytest.approx(1.0, abs=1e-9)
    points = np.array([[0.0, 0.0], [1.0, -2.0], [-3.0, 0.5]])
    truth = [mass @ gaussian(x, grid, h) for x in points]
    assert mixture.kernel_mean(points, h) == pytest.approx(truth, rel=1e-8)
    assert mixture.kernel_norm(h) == pytest.approx(mass @ mixture.kernel_mean(grid, h), rel=1e-8)


def test_kernel_mean_and_norm_against_monte_carlo():
    mixture = random_mixture(4, 5, 1)
    drawn = mixture.sample(100_000, random_state=0)
    points = drawn[:3]
    h = 2.0
    for x, mean in zip(points, mixture.kernel_mean(points, h), strict=True):
        assert mean == pytest.approx(gaussian(x, drawn, h).mean(), abs=5 * 0.5 / 100_000**0.5)
    halves = gaussian(drawn[:50_000], drawn[50_000:], h)
    assert mixture.kernel_norm(h) == pytest.approx(halves.mean(), abs=5 * 0.5 / 50_000**0.5)


def test_density_against_scipy():
    mixture = random_mixture(3, 3, 2)
    points = mixture.sample(20, random_state=1)
    truth = sum(
        weight * multivariate_normal(mean, covariance).pdf(points)
        for mean, covariance, weight in zip(
            mixture.means, mixture.covariances, mixture.weights, strict=True
        )
    )
    assert mixture.density(points) == pytest.approx(truth, rel=1e-10)
    assert mixture.log_density(points) == pytest.approx(np.log(truth), rel=1e-10)


def differences(function, points, step=1e-5):
    found = np.empty_like(points)
    for j in range(points.shape[1]):
        shift = np.zeros(points.shape[1])
        shift[j] = step
        found[:, j] = (function(points + shift) - function(points - shift)) / (2 * step)
    return found


@given(mixtures, st.floats(0.3, 5.0))
def test_gradients_against_differences(mixture, h):
    points = mixture.sample(4, random_state=0)
    slope = differences(lambda x: mixture.kernel_mean(x, h), points)
    assert mixture.kernel_mean_gradient(points, h) == pytest.approx(slope, abs=1e-7)
    score = differences(mixture.log_density, points)
    assert mixture.score(points) == pytest.approx(score, rel=1e-4, abs=1e-4)


@given(mixtures, st.floats(0.3, 5.0))
def test_derivatives_of_bumps_against_differences(mixture, h):
    bumps = mixture.kernel_bumps(h)
    x = mixture.sample(1, random_state=0)
    value, gradient, hessian = bumps.derivatives(x[0])
    assert value == pytest.approx(mixture.kernel_mean(x, h)[0], rel=1e-12)
    assert gradient == pytest.approx(mixture.kernel_mean_gradient(x, h)[0], rel=1e-9, abs=1e-15)
    for j, row in enumerate(hessian):
        slope = differences(lambda y, j=j: mixture.kernel_mean_gradient(y, h)[:, j], x)[0]
        assert row == pytest.approx(slope, abs=1e-7)
    assert hessian == pytest.approx(hessian.T, abs=1e-15)


@given(mixtures, st.floats(0.1, 10.0))
def test_laws_of_the_kernel_mean(mixture, h):
    norm = mixture.kernel_norm(h)
    assert 0 < norm <= 1
    points = mixture.quasi_sample(50)
    means = mixture.kernel_mean(points, h)
    assert ((means > 0) & (means <= 1)).all()
    # ||mu - k(x, .)||^2 >= 0
    assert (norm - 2 * means + 1 >= 0).all()
    # one length for all, or the same for each; a shift moves everything along
    each = np.full(mixture.n_features, h)
    assert mixture.kernel_mean(points, each) == pytest.approx(means, rel=1e-12)
    moved = GaussianMixture(mixture.means + 7.0, mixture.covariances, mixture.weights)
    assert moved.kernel_mean(points + 7.0, h) == pytest.approx(means, rel=1e-9)
    assert moved.kernel_norm(h) == pytest.approx(norm, rel=1e-9)
    # units: twice the coordinates and twice the bandwidth
    double = GaussianMixture(2 * mixture.means, 4 * mixture.covariances, mixture.weights)
    assert double.kernel_norm(2 * h) == pytest.approx(norm, rel=1e-9)


def test_moments():
    mixture = GaussianMixture([[1.0, 0.0], [-2.0, 3.0]], [[1.0, 4.0], [0.25, 1.0]], [0.25, 0.75])
    for order in range(1, 6):
        truth = [
            quad(lambda y, i=i, n=order: y**n * marginal(mixture, i, y), -40, 40)[0]
            for i in range(2)
        ]
        assert mixture.moment(order) == pytest.approx(truth, rel=1e-7, abs=1e-7)


def marginal(mixture, i, y):
    variance = mixture.covariances[:, i, i]
    bumps = np.exp(-0.5 * (y - mixture.means[:, i]) ** 2 / variance)
    return float(mixture.weights @ (bumps / np.sqrt(2 * np.pi * variance)))


def test_samples_have_the_moments():
    mixture = random_mixture(3, 2, 5)
    drawn = mixture.sample(200_000, random_state=3)
    spread = drawn.std(axis=0).max()
    assert drawn.mean(axis=0) == pytest.approx(mixture.moment(1), abs=5 * spread / 200_000**0.5)
    assert np.square(drawn).mean(axis=0) == pytest.approx(mixture.moment(2), rel=0.03)
    again = mixture.sample(200_000, random_state=np.random.default_rng(3))
    assert np.array_equal(drawn, again)


def test_quasi_samples_are_nested_and_closer_than_random_ones():
    mixture = random_mixture(4, 3, 6)
    points = mixture.quasi_sample(20_000)
    assert np.array_equal(points[:137], mixture.quasi_sample(137))
    error = np.abs(points.mean(axis=0) - mixture.moment(1)).max()
    assert error < 0.2 * points.std(axis=0).min() / 20_000**0.5
    square = np.abs(np.square(points).mean(axis=0) / mixture.moment(2) - 1)
    assert square.max() < 0.005


def test_halton_is_the_radical_inverse():
    points = halton(8, 3)
    assert points[:4, 0].tolist() == [0.5, 0.25, 0.75, 0.125]
    assert points[:4, 1] == pytest.approx([1 / 3, 2 / 3, 1 / 9, 4 / 9])
    assert points[:4, 2] == pytest.approx([1 / 5, 2 / 5, 3 / 5, 4 / 5])
    assert ((points > 0) & (points < 1)).all()


@pytest.mark.parametrize("form", ["number", "spherical", "diagonal", "full"])
def test_forms_of_covariances(form):
    means = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    forms = {
        "number": 2.0,
        "spherical": [2.0, 2.0],
        "diagonal": np.full((2, 3), 2.0),
        "full": 2.0 * np.tile(np.eye(3), (2, 1, 1)),
    }
    mixture = GaussianMixture(means, forms[form])
    assert np.array_equal(mixture.covariances, forms["full"])
    assert mixture.weights.tolist() == [0.5, 0.5]
    assert (mixture.n_components, mixture.n_features) == (2, 3)


def test_inputs_are_copied_and_the_mixture_cannot_be_written_to():
    means, covariances = np.zeros((2, 1)), np.ones((2, 1, 1))
    mixture = GaussianMixture(means, covariances)
    means[0], covariances[0] = 9.0, 9.0
    assert mixture.means[0] == 0.0
    assert mixture.covariances[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        mixture.means[0] = 1.0
    with pytest.raises(AttributeError):
        mixture.means = means  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_mixtures_of_scikit_learn(covariance_type):
    from sklearn.mixture import GaussianMixture as Fitted

    X = random_mixture(3, 2, 8).sample(400, random_state=0)
    model = Fitted(3, covariance_type=covariance_type, random_state=0).fit(X)
    mixture = GaussianMixture.from_sklearn(model)
    assert mixture.log_density(X) == pytest.approx(model.score_samples(X), rel=1e-8)


def test_bayesian_mixture_and_misuse():
    from sklearn.mixture import BayesianGaussianMixture

    X = random_mixture(2, 2, 9).sample(200, random_state=0)
    model = BayesianGaussianMixture(n_components=3, tol=0.1, random_state=0).fit(X)
    mixture = GaussianMixture.from_sklearn(model)
    assert mixture.weights == pytest.approx(model.weights_)
    with refuses("model"):
        GaussianMixture.from_sklearn(BayesianGaussianMixture())
    with refuses("model", TypeError):
        GaussianMixture.from_sklearn(X)


def test_far_out_and_extreme():
    mixture = GaussianMixture([[0.0, 0.0]], 1.0)
    far = [[1e6, 0.0]]
    assert mixture.density(far)[0] == 0.0
    assert mixture.log_density(far)[0] == pytest.approx(-0.5e12)
    assert mixture.score(far)[0] == pytest.approx([-1e6, 0.0])
    assert mixture.kernel_mean_gradient(far, 1.0)[0].tolist() == [0.0, 0.0]
    wide = GaussianMixture([[0.0, 0.0]], 1e280)
    assert wide.kernel_norm(1e140) == pytest.approx(1 / 3)
    uneven = GaussianMixture([[0.0, 0.0]], [[1e20, 1e-20]])
    assert uneven.kernel_norm([1e10, 1e-10]) == pytest.approx(1 / 3)


def test_a_component_without_weight_does_not_matter():
    mixture = GaussianMixture([[0.0], [9.0]], 1.0, [1.0, 0.0])
    alone = GaussianMixture([[0.0]], 1.0)
    points = np.linspace(-3, 12, 7)[:, None]
    assert mixture.kernel_mean(points, 1.0) == pytest.approx(alone.kernel_mean(points, 1.0))
    assert mixture.score(points) == pytest.approx(alone.score(points))
    assert mixture.kernel_norm(1.0) == pytest.approx(alone.kernel_norm(1.0))
    assert mixture.quasi_sample(500).max() < 5
    assert mixture.sample(500, random_state=0).max() < 5


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([0.0, 1.0], 1.0), r"means must have the shape .* got the shape \(2,\); .*reshape"),
        ((np.empty((0, 2)), 1.0), "^means must"),
        (([[np.nan]], 1.0), "^means must"),
        (([[0.0, 0.0]], np.ones((2, 2))), "^covariances must"),
        (([[0.0, 0.0]], [[[1.0, 0.5], [0.0, 1.0]]]), "^covariances must"),
        (([[0.0, 0.0]], [[[1.0, 2.0], [2.0, 1.0]]]), "positive definite, got .* component 0"),
        (([[0.0], [1.0]], [1.0, 0.0]), r"positive definite, got \[\[0.0\]\] for component 1"),
        (([[0.0]], -1.0), "positive definite"),
        (([[0.0], [1.0]], 1.0, [1.0]), "^weights must"),
        (([[0.0], [1.0]], 1.0, [1.5, -0.5]), "^weights must"),
        (([[0.0], [1.0]], 1.0, [1.0, 1.0]), "^weights must"),
    ],
)
def test_bad_mixtures(arguments, text):
    with pytest.raises(ValueError, match=text):
        GaussianMixture(*arguments)


def test_bad_calls():
    mixture = GaussianMixture([[0.0, 0.0]], 1.0)
    with refuses("means", TypeError):
        GaussianMixture("words", 1.0)
    with refuses("points"):
        mixture.density([0.0, 1.0])
    for bandwidth in (0.0, -1.0, [1.0, 2.0, 3.0], 1e-200):
        with refuses("bandwidth"):
            mixture.kernel_mean([[0.0, 0.0]], bandwidth)
    with refuses("order"):
        mixture.moment(0)
    with refuses("n_samples"):
        mixture.sample(0)
