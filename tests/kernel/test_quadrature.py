from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from herder.kernel.quadrature import optimal_weights, simplex_weights
from tests.kernel.rows import gaussian
from tests.naming import refuses

# Unit roundoff times what 8 m max(K) comes to on the problems below: the ridge that the weights
# pay at most, as MMD^2.
RIDGE = 1e-12


def loss(gram, target, weights):
    return weights @ gram @ weights - 2 * weights @ target


def problem(seed, m, d=2, n=30, spread=1.0):
    """Gram matrix of m rows of a cloud, and the mean of the cloud at them."""
    rng = np.random.default_rng(seed)
    cloud = rng.normal(size=(n, d)) * spread
    rows = cloud[:m]
    return gaussian(rows, rows), gaussian(rows, cloud) @ rng.dirichlet(np.ones(n))


def by_enumeration(gram, target):
    """The least loss over the simplex: every face has one stationary point."""
    m = len(target)
    best, least = np.zeros(m), np.inf
    for size in range(1, m + 1):
        for face in combinations(range(m), size):
            f = list(face)
            system = np.zeros((size + 1, size + 1))
            system[:size, :size] = gram[np.ix_(f, f)]
            system[size, :size] = system[:size, size] = 1
            w = np.linalg.solve(system, np.append(target[f], 1))[:size]
            if w.min() >= 0 and loss(gram[np.ix_(f, f)], target[f], w) < least:
                best, least = np.zeros(m), loss(gram[np.ix_(f, f)], target[f], w)
                best[f] = w
    return best


def assert_kkt(gram, target, weights, tol):
    slope = gram @ weights - target
    level = slope[weights > 0]
    assert np.ptp(level) <= tol
    assert (slope >= level.mean() - tol).all()
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1, abs=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_simplex_weights_by_enumeration(seed):
    gram, target = problem(seed, 7)
    weights = simplex_weights(gram, target)
    oracle = by_enumeration(gram, target)
    assert_allclose(weights, oracle, atol=1e-6)
    assert loss(gram, target, weights) <= loss(gram, target, oracle) + RIDGE


@pytest.mark.parametrize("seed", range(5))
def test_simplex_weights_against_another_solver(seed):
    gram, target = problem(seed, 12, d=4)
    found = minimize(
        lambda w: loss(gram, target, w),
        np.full(12, 1 / 12),
        jac=lambda w: 2 * (gram @ w - target),
        method="SLSQP",
        bounds=[(0, None)] * 12,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    weights = simplex_weights(gram, target)
    assert_allclose(weights, found.x, atol=1e-5)
    assert loss(gram, target, weights) <= found.fun + RIDGE


@pytest.mark.parametrize(("m", "d", "spread"), [(60, 2, 1.0), (150, 5, 1.0), (100, 1, 0.1)])
def test_simplex_weights_meet_the_conditions(m, d, spread):
    gram, target = problem(0, m, d, n=300, spread=spread)
    weights = simplex_weights(gram, target)
    ridge = 8 * m * np.finfo(float).eps
    assert_kkt(gram + ridge * np.eye(m), target, weights, 4 * ridge)
    assert (weights == 0).any()


def test_simplex_weights_of_distances_by_hand():
    # Two rows at distance a: the loss is a parabola in the first weight.
    gram, target = np.array([[1.0, 0.2], [0.2, 1.0]]), np.array([0.5, 0.3])
    assert_allclose(simplex_weights(gram, target), [0.5 + 0.2 / (2 * 0.8), 0.5 - 0.2 / (2 * 0.8)])


def test_ridge_evens_the_weights():
    gram, target = problem(3, 10)
    norms = [
        float(np.sum(simplex_weights(gram, target, ridge=ridge) ** 2))
        for ridge in (0.0, 1e-3, 0.1, 1e3)
    ]
    assert norms == sorted(norms, reverse=True)
    assert norms[-1] == pytest.approx(0.1, rel=1e-3)


def test_optimal_weights_solve_the_system():
    gram, target = problem(1, 8, d=6)
    assert_allclose(optimal_weights(gram, target), np.linalg.solve(gram, target), rtol=1e-8)


def test_optimal_weights_with_sum_one():
    gram, target = problem(1, 8, d=6)
    bordered = np.block([[gram, np.ones((8, 1))], [np.ones((1, 8)), np.zeros((1, 1))]])
    oracle = np.linalg.solve(bordered, np.append(target, 1))[:8]
    assert_allclose(optimal_weights(gram, target, sum_to_one=True), oracle, rtol=1e-8)
    inverse = np.linalg.solve(gram, np.ones(8))
    assert_allclose(optimal_weights(gram, np.zeros(8)), inverse / inverse.sum(), rtol=1e-8)
    assert_array_equal(optimal_weights(gram, np.zeros(8), sum_to_one=False), np.zeros(8))


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((6, 2)),
        np.repeat(np.arange(3.0)[:, None], 2, axis=0),
        np.linspace(0, 1e-9, 6)[:, None],
        np.linspace(0, 1e-3, 40)[:, None],
    ],
    ids=["equal", "pairs", "huge bandwidth", "large bandwidth"],
)
def test_singular_matrices_cost_no_more_than_the_ridge(rows):
    gram = gaussian(rows, rows)
    own = np.full(len(rows), 1 / len(rows))
    target = gram @ own  # the loss of their own weights is -norm
    for weights in (simplex_weights(gram, target), optimal_weights(gram, target)):
        assert np.isfinite(weights).all()
        assert np.abs(weights).sum() < 1 + 1e-3
        assert loss(gram, target, weights) + own @ target <= RIDGE


def test_zero_gram():
    assert_allclose(simplex_weights(np.zeros((4, 4)), np.zeros(4)), np.full(4, 0.25))
    assert_allclose(optimal_weights(np.zeros((4, 4)), np.zeros(4)), np.full(4, 0.25))


@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.sampled_from([1e-3, 0.3, 1.0, 5.0]),
    st.booleans(),
)
def test_laws_of_weights(seed, m, spread, repeat):
    gram, target = problem(seed, m, spread=spread)
    if repeat:
        gram, target = np.tile(gram, (2, 2)), np.tile(target, 2)
        m *= 2
    weights = simplex_weights(gram, target)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert loss(gram, target, weights) <= loss(gram, target, np.full(m, 1 / m)) + RIDGE
    free = optimal_weights(gram, target)
    assert np.isfinite(free).all()
    assert loss(gram, target, free) <= loss(gram, target, weights) + RIDGE
    tied = optimal_weights(gram, target, sum_to_one=True)
    assert loss(gram, target, tied) <= loss(gram, target, weights) + RIDGE


@pytest.mark.parametrize(
    ("gram", "target", "name"),
    [
        (np.ones((2, 3)), [1, 1], "gram"),
        (np.zeros((0, 0)), [], "gram"),
        (np.eye(2), [1, 1, 1], "target"),
        (np.diag([1, np.nan]), [1, 1], "gram"),
        (np.eye(2), [1, np.inf], "target"),
        ([[1, 0.5], [0.1, 1]], [1, 1], "gram"),
        (np.diag([1.0, -1]), [1, 1], "kernel"),
    ],
)
@pytest.mark.parametrize("weigh", [simplex_weights, optimal_weights])
def test_refused_weights(weigh, gram, target, name):
    with refuses(name):
        weigh(gram, target)


def test_refused_ridge():
    with refuses("ridge"):
        simplex_weights(np.eye(2), [1, 1], ridge=-1.0)


def test_weights_leave_their_arguments_alone():
    gram, target = problem(0, 5)
    gram0, target0 = gram.copy(), target.copy()
    simplex_weights(gram, target)
    optimal_weights(gram, target)
    assert_array_equal(gram, gram0)
    assert_array_equal(target, target0)
