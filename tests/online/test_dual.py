"""The dual learners: against the primal in explicit features, and against their own derivation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_circles, make_moons

from herder.online import dual as dual_module
from herder.online.dual import DualWeights
from herder.online.mercer import Mercer
from herder.online.rules import HARD, step
from tests.online.dual_rows import LEARNERS, make_rows, make_rule, signed, teach
from tests.online.plain import Plain
from tests.sharing import shared_out


def make_twin(name, n_features, n_classes=2, intercept=False, C=1.0, forget=0.0):
    algorithm, form = LEARNERS[name]
    return Plain(
        algorithm,
        n_features,
        form=form,
        covariance="full",
        C=C,
        n_blocks=1 if n_classes == 2 else n_classes,
        intercept=intercept,
        forget=forget,
    )


def twin_scores(twin, X, mean=None):
    weights, bias = twin.blocks(twin.mean if mean is None else mean)
    scores = X @ weights.T + bias
    return scores[:, 0] if twin.n_blocks == 1 else scores


def twin_variances(twin, X):
    rows = np.column_stack([X, np.ones(len(X))]) if twin.intercept else X
    found = np.empty((len(X), twin.n_blocks))
    for k in range(twin.n_blocks):
        part = slice(k * twin.width, (k + 1) * twin.width)
        found[:, k] = np.einsum("ij,jk,ik->i", rows, twin.S[part, part], rows)
    return found[:, 0] if twin.n_blocks == 1 else found


@pytest.mark.parametrize(
    ("name", "n_classes", "intercept", "forget"),
    shared_out(LEARNERS, [2, 4], [False, True], [0.0, 0.1]),
)
def test_a_linear_kernel_is_the_primal_learner(name, n_classes, intercept, forget):
    X, labels = make_rows(n_classes=n_classes)
    twin = make_twin(name, 6, n_classes, intercept, C=0.7, forget=forget).learn_all(X, labels)
    weights = DualWeights("linear", fit_intercept=intercept, n_blocks=twin.n_blocks)
    done = teach(weights, X, labels, name, C=0.7, forget=forget)

    new = make_rows(50, seed=1)[0]
    assert np.allclose(weights.scores(new), twin_scores(twin, new), rtol=1e-9, atol=1e-9)
    assert np.allclose(weights.variances(new), twin_variances(twin, new), rtol=1e-9, atol=1e-12)
    averaged = twin_scores(twin, new, twin.sum / twin.n_seen)
    assert np.allclose(weights.scores(new, average=True), averaged, rtol=1e-9, atol=1e-9)
    assert done == dual_module.DualPass(twin.n_updates, twin.n_wrong, 0, 0)
    assert weights.n_seen == 300
    assert weights.n_supports == (6 + intercept) * (1 if n_classes == 2 else n_classes - 1)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["NHERD", "AROW", "stdev"])
def test_the_polynomial_kernel_is_the_primal_in_products(name, n_classes):
    X, labels = make_rows(200, 3, n_classes, seed=2)
    new = make_rows(40, 3, seed=3)[0]

    def products(rows):
        # (g a.b + c)^2 = g^2 sum_ij a_i a_j b_i b_j + 2 g c a.b + c^2, with g = 0.4, c = 0.5
        squares = np.einsum("ni,nj->nij", rows, rows).reshape(len(rows), -1)
        constant = np.full((len(rows), 1), 0.5)
        return np.hstack([0.4 * squares, np.sqrt(0.4) * rows, constant])

    twin = make_twin(name, 13, n_classes, intercept=True).learn_all(products(X), labels)
    weights = DualWeights("poly", gamma=0.4, degree=2, coef0=0.5, n_blocks=twin.n_blocks)
    teach(weights, X, labels, name)
    assert np.allclose(weights.scores(new), twin_scores(twin, products(new)), atol=1e-8)
    assert np.allclose(weights.variances(new), twin_variances(twin, products(new)), atol=1e-8)
    # six distinct products, three columns, and one constant for kernel and bias
    assert weights.n_supports == 10 * (1 if n_classes == 2 else n_classes - 1)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["NHERD", "AROW", "stdev"])
def test_radial_kernels_are_the_primal_in_the_features_of_their_gram_matrix(
    name, n_classes, kernel
):
    X, labels = make_rows(100, 4, n_classes, seed=4)
    gram = Mercer(kernel, 0.8).gram(X, X)
    features = np.linalg.cholesky(gram)
    twin = make_twin(name, 100, n_classes).learn_all(features[:70], labels[:70])
    weights = DualWeights(kernel, gamma=0.8, fit_intercept=False, n_blocks=twin.n_blocks)
    teach(weights, X[:70], labels[:70], name)
    assert np.allclose(weights.scores(X), twin_scores(twin, features), atol=1e-9)
    assert np.allclose(weights.variances(X), twin_variances(twin, features), atol=1e-9)


def learn_by_derivation(gram, labels, C):
    """AROW by the formulas of the module docstring: a and B over the rows that changed it."""
    supports, a, B = [], np.zeros(0), np.zeros((0, 0))
    for x, y in enumerate(labels):
        k, k0 = gram[supports, x], gram[x, x]
        margin, v = y * (a @ k), k0 - k @ B @ k
        if margin <= 1:
            alpha, h = (1 - margin) / (v + 1 / C), C / (1 + C * v)
            c = np.append(-B @ k, 1.0)
            supports.append(x)
            a = np.append(a, 0.0) + y * alpha * c
            B = np.pad(B, (0, 1)) + h * np.outer(c, c)
    return supports, a, B


def test_what_is_kept_is_the_derivation_in_another_basis():
    X, labels = make_rows(80, 3, seed=5)
    kernel = Mercer("rbf", 0.5, shift=1.0)
    supports, a, B = learn_by_derivation(kernel.gram(X, X), signed(labels), 2.0)
    weights = DualWeights("rbf", gamma=0.5)
    teach(weights, X, labels, "AROW", C=2.0)
    assert np.array_equal(weights.supports, X[supports])
    assert np.allclose(weights.dual_coef, a, atol=1e-9)
    factor, cover = weights._gaussian.triangles()
    inverse = np.linalg.inv(factor)
    assert np.allclose(inverse.T @ (np.eye(len(a)) - cover) @ inverse, B, atol=1e-6)


@pytest.mark.parametrize("name", ["NHERD", "AROW", "soft-1", "stdev", "variance"])
def test_beyond_the_budget_a_row_is_its_projection_on_the_supports(name):
    X, labels = make_rows(150, 2, seed=6)
    weights = DualWeights("rbf", gamma=1.0, budget=12, fit_intercept=False)
    done = teach(weights, X, labels, name, C=2.0)
    assert weights.n_supports == len(weights.supports) == 12
    assert 0 < done.n_projected == weights.n_projected < done.n_updates

    kernel = Mercer("rbf", 1.0)
    factor = np.linalg.cholesky(kernel.gram(weights.supports, weights.supports))
    features = np.linalg.solve(factor, kernel.gram(weights.supports, X)).T
    residuals = np.maximum(1.0 - (features**2).sum(axis=1), 0.0)
    if name not in HARD:
        residuals[:] = 0.0
    mean, S = np.zeros(12), np.eye(12)
    for x, y, r in zip(features, signed(labels), residuals, strict=True):
        v = x @ S @ x + r
        rate = 1.0 if name in ("stdev", "variance") else 2.0
        alpha, gain = step(make_rule(name), y * (mean @ x), v, rate)
        mean = mean + y * alpha * S @ x
        S = S - np.outer(S @ x, S @ x) * gain / (1 + gain * v)
    assert np.allclose(weights.scores(X), features @ mean, atol=1e-9)
    outside = 1.0 - (features**2).sum(axis=1)
    known = np.einsum("ij,jk,ik->i", features, S, features) + outside
    assert np.allclose(weights.variances(X), known, atol=1e-9)


@pytest.mark.parametrize("shape", ["moons", "circles"])
@pytest.mark.parametrize("name", ["NHERD", "AROW", "soft-1"])
@pytest.mark.parametrize("budget", [30, 1000])
def test_curved_borders_are_learnt(shape, name, budget):
    if shape == "moons":
        X, labels = make_moons(500, noise=0.1, random_state=0)
    else:
        X, labels = make_circles(500, noise=0.1, factor=0.4, random_state=0)
    weights = DualWeights("rbf", gamma=2.0, budget=budget)
    for _ in range(2):
        teach(weights, X[:300], labels[:300], name)
    # a line is wrong on one row of ten, or on half of them
    assert np.mean((weights.scores(X[300:]) > 0) == labels[300:]) > 0.97
    assert weights.n_supports <= budget


@given(
    kernel=st.sampled_from(["linear", "rbf", "poly", "laplacian"]),
    name=st.sampled_from(list(LEARNERS)),
    n_classes=st.integers(2, 4),
    budget=st.integers(1, 30),
    C=st.floats(1e-4, 1e8),
    scale=st.floats(1e-3, 1e3),
    forget=st.sampled_from([0.0, 0.3]),
    seed=st.integers(0, 2**16),
)
def test_variances_stay_between_zero_and_the_prior(
    kernel, name, n_classes, budget, C, scale, forget, seed
):
    X, labels = make_rows(25, 3, n_classes, seed)
    X *= scale
    X[20:] = X[:5]
    blocks = 1 if n_classes == 2 else n_classes
    weights = DualWeights(kernel, budget=budget, n_blocks=blocks)
    prior = weights.variances(X)
    for _ in range(3):
        teach(weights, X, labels, name, C, forget)
    found = weights.variances(X)
    assert (found > 0).all()
    assert (found <= prior * (1 + 1e-9)).all()
    assert np.isfinite(weights.scores(X)).all()
    assert weights.n_supports <= budget


@given(st.integers(0, 2**16), st.sampled_from([2, 3]), st.integers(1, 60))
def test_parts_learnt_in_turn_are_the_whole(seed, n_classes, cut):
    X, labels = make_rows(60, 3, n_classes, seed)
    blocks = 1 if n_classes == 2 else n_classes
    whole, parts = (DualWeights("rbf", budget=20, n_blocks=blocks) for _ in range(2))
    teach(whole, X, labels)
    for part in (slice(0, cut), slice(cut, 60)):
        teach(parts, X[part], labels[part])
    assert parts.n_seen == whole.n_seen
    assert parts.n_projected == whole.n_projected
    assert np.allclose(parts.scores(X), whole.scores(X), atol=1e-9)


def test_blocks_of_rows_do_not_show(monkeypatch):
    X, labels = make_rows(90, 3, seed=7)
    order = np.random.default_rng(0).permutation(90)
    found = []
    for size in (1, 7, 256):
        monkeypatch.setattr(dual_module, "BLOCK", size)
        weights = DualWeights("rbf", budget=40)
        teach(weights, X, labels, order=order)
        found.append(np.column_stack([weights.scores(X), weights.variances(X)]))
    assert np.allclose(found[0], found[2], atol=1e-10)
    assert np.allclose(found[1], found[2], atol=1e-10)
