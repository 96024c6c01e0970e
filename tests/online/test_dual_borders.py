"""The borders of the dual learners: sparse rows, copies, late classes, extremes, refusals."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from threadpoolctl import threadpool_limits

from herder.online import dual as dual_module
from herder.online.dual import DualWeights
from herder.online.mercer import Mercer
from herder.online.rules import Rule
from herder.online.span import SpanGaussian
from tests.naming import refuses
from tests.online.dual_rows import LEARNERS, make_rows, make_rule, signed, teach


def test_order_is_the_order_of_turns():
    X, labels = make_rows(50, 3, seed=8)
    order = np.random.default_rng(1).permutation(50)[:30]
    one, other = DualWeights("rbf", gamma=0.3), DualWeights("rbf", gamma=0.3)
    teach(one, X, labels, order=order)
    teach(other, X[order], labels[order])
    assert np.array_equal(one.scores(X), other.scores(X))


def test_the_same_bits_for_any_number_of_threads():
    # so many that the last bits of a product depend on the threads that shared it
    X, labels = make_rows(500, 33, seed=9)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            weights = DualWeights("rbf", gamma=0.03)
            teach(weights, X, labels)
            found.append(np.column_stack([weights.scores(X), weights.variances(X)]))
    assert np.array_equal(found[0], found[1])


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian"])
@pytest.mark.parametrize("gamma", [None, "scale"])
def test_sparse_rows_are_dense_rows(kernel, gamma):
    X, labels = make_rows(120, 20, 3, seed=10)
    X[np.abs(X) < 1.0] = 0.0
    dense, loose = (DualWeights(kernel, gamma=gamma, n_blocks=3) for _ in range(2))
    teach(dense, X[:60], labels[:60])
    teach(dense, sparse.csr_matrix(X[60:]), labels[60:])
    teach(loose, sparse.csr_matrix(X[:60]), labels[:60])
    teach(loose, X[60:].astype(np.float32), labels[60:])
    assert isinstance(dense.supports, np.ndarray)
    assert sparse.issparse(loose.supports)
    assert loose.supports.format == "csr"
    assert loose.supports.dtype == np.float64
    assert np.allclose(loose.supports.toarray(), dense.supports, atol=1e-6)
    assert np.allclose(loose.scores(X), dense.scores(sparse.csr_array(X)), atol=1e-4)
    assert np.allclose(loose.variances(X), dense.variances(X), atol=1e-4)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("restore", ["pickle", "deepcopy", "arrays"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_copies_go_on_alike(restore, n_classes, form):
    X, labels = make_rows(80, 3, n_classes, seed=11)
    blocks = 1 if n_classes == 2 else n_classes
    options = {"gamma": "scale", "budget": 25, "n_blocks": blocks}
    weights = DualWeights("rbf", **options)
    teach(weights, form(X[:50]), labels[:50], forget=0.01)
    if restore == "arrays":
        twin = DualWeights("rbf", **options)
        twin.restore(weights.arrays(), 3)
    else:
        twin = (
            copy.deepcopy(weights)
            if restore == "deepcopy"
            else pickle.loads(pickle.dumps(weights))
        )
    before = weights.scores(X)
    teach(twin, form(X[50:]), labels[50:], forget=0.01)
    assert np.array_equal(weights.scores(X), before)
    teach(weights, form(X[50:]), labels[50:], forget=0.01)
    assert np.array_equal(twin.scores(X, average=True), weights.scores(X, average=True))
    assert np.array_equal(twin.variances(X), weights.variances(X))
    assert (twin.n_seen, twin.n_projected) == (80, weights.n_projected)


def test_a_model_that_has_seen_nothing():
    X = make_rows(5, 3)[0]
    weights = DualWeights("poly", n_blocks=3)
    again = DualWeights("poly", n_blocks=3)
    again.restore(weights.arrays(), 3)
    for model in (weights, again):
        assert np.array_equal(model.scores(X), np.zeros((5, 3)))
        own = ((X**2).sum(axis=1) / 3 + 1) ** 3 + 1
        assert np.allclose(model.variances(X), np.repeat(own[:, None], 3, axis=1))
        assert model.supports is None
        assert model.dual_coef.shape == (3, 0)
    assert teach(weights, X[:0], np.zeros(0, np.intp)).n_updates == 0


def test_dual_coefficients_give_the_scores():
    X, labels = make_rows(60, 3, 4, seed=12)
    weights = DualWeights("laplacian", gamma=0.2, n_blocks=4)
    teach(weights, X, labels, "AROW")
    values = Mercer("laplacian", 0.2, shift=1.0).gram(X, weights.supports)
    assert weights.dual_coef.shape == (4, weights.n_supports)
    assert np.allclose(values @ weights.dual_coef.T, weights.scores(X))
    assert np.allclose(weights.dual_coef.sum(axis=0), 0.0)


def test_classes_come_later():
    X, labels = make_rows(60, 3, 3, seed=13)
    weights = DualWeights("rbf", n_blocks=2)
    early = labels < 2
    teach(weights, X[early], labels[early])
    scores, variances = weights.scores(X), weights.variances(X)
    weights.spread(np.arange(weights.n_blocks), 3)
    assert np.array_equal(weights.scores(X), np.column_stack([scores, np.zeros(60)]))
    # kernel and bias, as before the first row
    assert np.array_equal(weights.variances(X), np.column_stack([variances, np.full(60, 2.0)]))
    weights.spread(np.array([0, 2, 3]), 4)
    assert np.array_equal(weights.scores(X)[:, [0, 2]], scores)
    moved = np.array([0, 2, 3])[labels]
    assert teach(weights, X, moved).n_updates > 0
    assert np.mean(weights.scores(X).argmax(axis=1) == moved) > 0.6


def test_one_class_has_nothing_to_be_told_from():
    X, labels = make_rows(20, 3, seed=14)
    weights = DualWeights("rbf", n_blocks=1, together=True)
    done = teach(weights, X, np.zeros(20, np.intp))
    assert done == dual_module.DualPass(0, 0, 0, 0)
    weights.spread(np.arange(weights.n_blocks), 2)
    assert teach(weights, X, labels).n_updates > 0


def test_rows_that_come_again_need_no_support():
    X, labels = make_rows(150, 8, seed=15)
    weights = DualWeights("rbf", gamma=0.05)
    first = teach(weights, X, labels, "AROW")
    size = weights.n_supports
    again = teach(weights, np.concatenate([weights.supports] * 2), np.ones(2 * size, np.intp))
    assert again.n_updates > 0
    assert again.n_projected == first.n_projected == 0
    assert weights.n_supports == size


def test_a_budget_that_spans_everything_costs_nothing():
    X, labels = make_rows(100, 5, seed=24)
    tight, wide = DualWeights("linear", budget=6), DualWeights("linear")
    assert teach(tight, X, labels) == teach(wide, X, labels)
    assert tight.n_projected == 0
    assert np.array_equal(tight.scores(X), wide.scores(X))


def test_rows_without_weight_or_length_change_nothing():
    X, labels = make_rows(30, 3, seed=16)
    weights = DualWeights("linear", fit_intercept=False)
    teach(weights, X, labels)
    before = weights.arrays()
    weights.learn(X, signed(labels), np.zeros(30), make_rule("NHERD"))
    for name in LEARNERS:
        teach(weights, np.zeros((2, 3)), labels[:2], name)
    after = weights.arrays()
    assert all(np.array_equal(before[k], after[k]) for k in ("coef", "factor", "cover"))


def test_rows_that_overflow_are_left_out():
    X, labels = make_rows(30, 3, seed=17)
    X[[4, 20]] *= 1e200
    weights, without = DualWeights("linear"), DualWeights("linear")
    with pytest.warns(RuntimeWarning, match="left out 2 of 30 rows: their kernel values are too"):
        done = teach(weights, X, labels)
    assert done.n_left_out == 2
    fine = np.setdiff1d(np.arange(30), [4, 20])
    teach(without, X[fine], labels[fine])
    assert np.allclose(weights.scores(X[fine]), without.scores(X[fine]), atol=1e-12)
    with refuses("X"):
        weights.scores(np.full((1, 3), 1e308))


@pytest.mark.parametrize("size", [1e-140, 1e-20, 1e20, 1e140])
def test_sizes_far_from_one(size):
    X, labels = make_rows(40, 3, seed=18)
    weights = DualWeights("linear", fit_intercept=False)
    teach(weights, X * size, labels, "AROW", C=size**-2)
    usual = DualWeights("linear", fit_intercept=False)
    teach(usual, X, labels, "AROW")
    assert np.allclose(weights.scores(X * size), usual.scores(X), atol=1e-9)
    assert np.allclose(weights.variances(X * size) / size**2, usual.variances(X), atol=1e-9)


def test_near_rows_far_from_the_origin_are_no_trouble():
    X, labels = map(np.asarray, make_moons(400, noise=0.2, random_state=0))
    weights, moved = (DualWeights("rbf", gamma=1.0) for _ in range(2))
    teach(weights, X, labels)
    teach(moved, X + 300.0, labels)
    assert np.allclose(moved.scores(X + 300.0), weights.scores(X), atol=1e-3)


def gaussian(A, B):
    return np.exp(-0.3 * ((A[:, None] - B) ** 2).sum(axis=2))


def test_functions_as_kernels():
    X, labels = make_rows(100, 3, seed=21)
    named = DualWeights("rbf", gamma=0.3, budget=60)
    given = DualWeights(gaussian, budget=60)
    short = DualWeights(lambda A, B: gaussian(A, B).astype(np.float32), budget=60)
    for weights in (named, given, short):
        teach(weights, X, labels)
    assert np.allclose(given.scores(X), named.scores(X), atol=1e-6)
    assert np.allclose(given.variances(X), named.variances(X), atol=1e-6)
    assert np.allclose(short.scores(X), named.scores(X), atol=0.05)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"budget": 0}, "budget"),
        ({"n_blocks": 0}, "n_blocks"),
        ({"n_blocks": 3, "together": False}, "n_blocks"),
        ({"gamma": -1.0}, "gamma"),
    ],
)
def test_bad_parameters_are_refused(options, name):
    with refuses(name):
        DualWeights("rbf", **options)


def test_bad_rows_are_refused():
    X, labels = make_rows(10, 3)
    two, many = DualWeights("rbf"), DualWeights("rbf", n_blocks=3)
    rates, rule = np.ones(10), make_rule("NHERD")
    with refuses("labels"):
        two.learn(X, labels, rates, rule)
    with pytest.raises(ValueError, match=r"labels and rates must have one entry for each of 10"):
        two.learn(X, signed(labels), rates[:5], rule)
    with refuses("labels", match="got 0 to 3; grow"):
        many.learn(X, labels * 3, rates, rule)
    with refuses("rule"):
        two.learn(X, signed(labels), rates, Rule.named("NHERD", "drop"))
    with refuses("n_blocks"):
        two.spread(np.arange(two.n_blocks), 2)
    with refuses("n_blocks"):
        many.spread(np.arange(many.n_blocks), 2)
    teach(two, X, labels)
    with refuses("X"):
        two.scores(X[:, :2])
    with refuses("kernel"):
        teach(DualWeights(lambda A, B: np.ones(len(A))), X, labels, order=np.arange(1))


@pytest.mark.parametrize(
    "kernel", [lambda A, B: -(A @ B.T), lambda A, B: ((A[:, None] - B) ** 2).sum(axis=2)]
)
def test_a_function_that_is_no_mercer_kernel_is_refused(kernel):
    X, labels = make_rows(30, 3)
    with refuses("kernel"):
        teach(DualWeights(kernel), X, labels)


def test_forgetting_alone_brings_back_the_prior():
    state = SpanGaussian()
    sight = state.look(np.empty(0), 4.0, project=False)
    state.move(state.widen(sight), 0.5, 10.0, 0)
    known = 4.0 / 41.0
    for _ in range(30):
        found = state.look(np.array([4.0]), 4.0, project=False).variance
        assert found == pytest.approx(known, rel=1e-12)
        state.relax(0.2)
        known = 0.8 * known + 0.2 * 4.0
