"""Kernels against their plain formulas, and the Stein kernel against its definition."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad

from herder import mmd
from herder.kernel import Energy, Gaussian, InverseMultiquadric, Stein
from herder.kernel.functions import KERNELS, diagonal_of
from tests.kernel.plain import KINDS, RADIAL, distances, gram, sample

tables = arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.integers(1, 3)),
    elements=st.floats(-5, 5).map(lambda x: round(x, 3)),
)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("bandwidth", [1.0, 0.3, np.array([0.5, 2.0, 7.0])])
def test_kernels_are_their_formulas(name, bandwidth):
    A, B = sample(7, 3, seed=1), sample(5, 3, seed=2)
    kernel = KINDS[name](bandwidth)
    np.testing.assert_allclose(kernel(A, B), gram(name, A, B, bandwidth), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(A), kernel(A, A).diagonal(), atol=1e-12)


@given(tables, st.sampled_from(list(KINDS)), st.floats(0.1, 10))
def test_gram_matrices_are_positive_semidefinite(X, name, bandwidth):
    K = KINDS[name](bandwidth)(X, X)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    assert np.linalg.eigvalsh(K).min() >= -1e-9 * max(1.0, np.abs(K).max())


@given(tables, st.floats(0.2, 5))
def test_stein_gram_matrices_are_positive_semidefinite(X, bandwidth):
    rows = np.hstack([X, np.sin(3 * X) - X])
    K = Stein(bandwidth)(rows, rows)
    np.testing.assert_allclose(K, K.T, atol=1e-9)
    assert np.linalg.eigvalsh(K).min() >= -1e-9 * max(1.0, np.abs(K).max())


def test_energy_kernel_takes_its_centre():
    A, B, c = sample(6, 2, seed=3), sample(4, 2, seed=4), np.array([1.0, -2.0])
    kernel = Energy(0.5, centre=c)
    np.testing.assert_allclose(kernel(A, B), gram("energy", A, B, 0.5, c), atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(A), kernel(A, A).diagonal(), atol=1e-12)


@pytest.mark.parametrize("centre", [None, np.array([0.0, 0.0]), np.array([30.0, -4.0])])
def test_energy_mmd_is_the_energy_distance(centre):
    X, Y = sample(40, 2, seed=5), sample(30, 2, seed=6, offset=0.3)
    distance = 2 * distances(X, Y).mean() - distances(X, X).mean() - distances(Y, Y).mean()
    kernel = "energy" if centre is None else Energy(centre=centre)
    found = mmd(X, Y, kernel=kernel, standardise=False)
    assert found**2 == pytest.approx(distance, rel=1e-11)


def imq(x, y):
    return 1 / np.sqrt(1 + np.sum((x - y) ** 2))


def derivatives(x, y, step=1e-3):
    """Gradients of the base kernel in x and y and its mixed divergence, by central differences."""
    d = len(x)
    grad_x, grad_y, mixed = np.zeros(d), np.zeros(d), 0.0
    for k in range(d):
        e = np.zeros(d)
        e[k] = step
        # Richardson: fourth order
        for factor, weight in ((1, 4 / 3), (2, -1 / 3)):
            s, f = 2 * step * factor, factor * e
            grad_x[k] += weight * (imq(x + f, y) - imq(x - f, y)) / s
            grad_y[k] += weight * (imq(x, y + f) - imq(x, y - f)) / s
            corners = imq(x + f, y + f) - imq(x + f, y - f) - imq(x - f, y + f) + imq(x - f, y - f)
            mixed += weight * corners / s**2
    return grad_x, grad_y, mixed


@pytest.mark.parametrize("h", [1.3, np.array([0.7, 1.5, 2.5])])
def test_stein_kernel_is_its_definition(h):
    """In scaled columns: k = div_x div_y k + grad_x k . s(y) + grad_y k . s(x) + k s(x) . s(y)."""
    X, Y = sample(4, 3, seed=7), sample(3, 3, seed=8)
    S, T = np.cos(X) - X, np.cos(Y) - Y
    found = Stein(h)(np.hstack([X, S]), np.hstack([Y, T]))
    for i, (x, s) in enumerate(zip(X, S, strict=True)):
        for j, (y, t) in enumerate(zip(Y, T, strict=True)):
            a, b, u, v = x / h, y / h, h * s, h * t
            grad_x, grad_y, mixed = derivatives(a, b)
            expected = mixed + grad_x @ v + grad_y @ u + imq(a, b) * (u @ v)
            assert found[i, j] == pytest.approx(expected, rel=1e-6, abs=1e-6)
    rows = np.hstack([X, S])
    np.testing.assert_allclose(Stein(h).diagonal(rows), Stein(h)(rows, rows).diagonal())


@pytest.mark.parametrize("x", [-2.0, 0.0, 0.7, 5.0])
@pytest.mark.parametrize("h", [0.5, 2.0])
def test_stein_kernel_has_mean_zero_under_its_density(x, h):
    """Under an uneven mixture of two normals, by quadrature."""
    means, sds, shares = np.array([-1.0, 2.0]), np.array([0.6, 1.1]), np.array([0.3, 0.7])

    def parts(y):
        return shares * np.exp(-0.5 * ((y - means) / sds) ** 2) / sds / np.sqrt(2 * np.pi)

    def score(y):
        p = parts(y)
        return float((p * (means - y) / sds**2).sum() / p.sum())

    def integrand(y):
        k = Stein(h)(np.array([[x, score(x)]]), np.array([[y, score(y)]]))[0, 0]
        return float(k * parts(y).sum())

    total = sum(quad(integrand, low, low + 2, epsabs=1e-11)[0] for low in range(-10, 14, 2))
    assert total == pytest.approx(0, abs=1e-8)


def test_kernels_keep_their_digits_far_from_the_origin():
    X = np.round(sample(20, 3, seed=9), 2)
    # differences of decimals of size 1e6 are good to 1e-10
    for name, kind in RADIAL.items():
        np.testing.assert_allclose(
            kind(0.7)(X + 1e6, X + 1e6), gram(name, X, X, 0.7), atol=1e-8, err_msg=name
        )
    near, far = np.hstack([X, -X]), np.hstack([X + 1e6, -X])
    np.testing.assert_allclose(Stein(0.7)(far, far), Stein(0.7)(near, near), atol=1e-7)


def test_stein_rows_must_come_in_pairs():
    with pytest.raises(ValueError, match=r"rows of a Stein kernel must be \[x, score\(x\)\]"):
        Stein()(np.zeros((2, 3)), np.zeros((2, 3)))


def test_kernels_are_frozen_and_named():
    with pytest.raises(FrozenInstanceError):
        Gaussian().bandwidth = 2.0  # pyright: ignore[reportAttributeAccessIssue]
    for name, kind in KERNELS.items():
        assert kind.shape == name
    assert repr(InverseMultiquadric(2.0)) == "InverseMultiquadric(bandwidth=2.0)"


def test_the_diagonal_of_a_function_is_found_row_by_row():
    rows = sample(6, 2)
    np.testing.assert_allclose(
        diagonal_of(lambda A, B: A @ B.T, rows), (rows**2).sum(axis=1), rtol=1e-14
    )
