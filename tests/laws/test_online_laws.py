"""Laws of the online learners: hypothesis draws the rows, the labels and the learner."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from tests.online.plain import AROW, CW, EVERY, GAUSSIAN, NHERD, PA, SECOND, build

#: Zeros and equal numbers among them, so that rows tie.
numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-10, 10).map(lambda x: round(x, 3)))
kinds = st.sampled_from(EVERY)
gaussians = st.sampled_from(GAUSSIAN)
rates = st.sampled_from([1e-3, 0.6, 1.0, 40.0])
#: Rounding of a margin, relative to the largest of its terms.
ROUND = 1e-9


@st.composite
def tasks(draw, most=3):
    """Rows, labels from 0 and the number of classes."""
    K = draw(st.integers(2, most))
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    X = draw(arrays(np.float64, (n, d), elements=numbers))
    y = draw(arrays(np.int64, n, elements=st.integers(0, K - 1)))
    return X, y, K


@st.composite
def spread_tasks(draw):
    """Rows without ties: the order of a sum cannot decide whether a row counts."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    X = rng.normal(size=(draw(st.integers(2, 20)), draw(st.integers(1, 4))))
    return X, rng.integers(0, 2, len(X)), rng


def learn(kind, X, y, K=2, **options):
    options.setdefault("fit_intercept", False)
    weight = options.pop("sample_weight", None)
    model = build(kind).set_params(**options)
    return model.partial_fit(X, y, classes=np.arange(K), sample_weight=weight)


def whole(model, kind):
    """The covariance as a matrix."""
    S = model.covariance_
    return S if kind[2] == "full" else np.diag(S.ravel())


def same(model, other, *, sign=1.0, scale=1.0, rtol=1e-10):
    atol = 1e-12 * max(1.0, np.abs(other.coef_).max(initial=0.0))
    np.testing.assert_allclose(model.coef_, sign * scale * other.coef_, rtol=rtol, atol=atol)
    if hasattr(other, "covariance_"):
        np.testing.assert_allclose(model.covariance_, other.covariance_, rtol=rtol, atol=1e-15)


@given(gaussians, tasks(), rates)
def test_precision_never_decreases_and_covariance_stays_positive(kind, task, C):
    X, y, K = task
    model, before = build(kind).set_params(fit_intercept=False, C=C), None
    for x, label in zip(X, y, strict=True):
        model.partial_fit(x[None], [label], classes=np.arange(K))
        after = whole(model, kind)
        if kind[2] != "full":
            assert (np.diag(after) > 0).all()
            assert before is None or (np.diag(after) <= np.diag(before)).all()
        else:
            # rounding of eigenvalues between 0 and 1
            np.testing.assert_allclose(after, after.T, rtol=0, atol=1e-13)
            assert np.linalg.eigvalsh(after).min() >= -1e-13
            assert before is None or np.linalg.eigvalsh(before - after).min() >= -1e-13
        before = after


def rival_of(scores, label):
    """The strongest other class, the lowest of equals."""
    others = np.array(scores, dtype=float)
    others[label] = -np.inf
    return int(np.argmax(others))


def margins(model, x, label, rival):
    """The margin of a label against a rival, and the size of its terms."""
    scores, size = model.coef_ @ x, np.abs(model.coef_ * x).max()
    if len(scores) == 1:
        return (1 if label == 1 else -1) * scores[0], size
    return scores[label] - scores[rival], size


@given(kinds, tasks(), rates)
def test_a_margin_never_falls_when_its_row_is_learnt(kind, task, C):
    # its diagonal form fits each feature apart, and may overshoot in one of them
    assume(kind != ("SecondOrderPerceptron", "", "project"))
    X, y, K = task
    model = learn(kind, X[:1], y[:1], K, **({} if kind[0] == "Perceptron" else {"C": C}))
    for x, label in zip(X[1:], y[1:], strict=True):
        rival = rival_of(model.coef_ @ x, label) if K > 2 else 1 - label
        before, size = margins(model, x, label, rival)
        model.partial_fit(x[None], [label])
        after, new_size = margins(model, x, label, rival)
        slack = ROUND * (1 + size + new_size)
        assert after >= before - slack
        # all but the perceptrons and CW aim at 1 and never pass it
        if kind[0] in ("NHERD", "AROW", "PassiveAggressive"):
            assert after <= max(before, 1.0) + slack


@given(st.sampled_from(NHERD + AROW + PA), spread_tasks())
def test_without_a_bound_the_margin_is_one(kind, task):
    X, y, _ = task
    x, label = X[-1], y[-1]
    assume(np.abs(x).max() > 0.1)
    model = learn(kind, X[:-1], y[:-1], C=1.0)
    sign = 1 if label == 1 else -1
    assume(sign * (model.coef_[0] @ x) < 1)
    variance = x @ whole(model, kind) @ x if kind[2] != "none" else x @ x
    model.set_params(C=1e12).partial_fit(x[None], [label])
    gap = 1 - sign * (model.coef_[0] @ x)
    # (1 - m) / (1 + C v) is left
    assert abs(gap) <= 1e-9 + 1e4 / (1e12 * variance)
    if kind[1] == "PA":
        assert abs(gap) <= 1e-12


@given(kinds, tasks(), st.booleans())
def test_the_same_rows_give_the_same_bits(kind, task, sparse):
    X, y, _ = task
    assume(len(set(y)) > 1)
    rows = csr_array(X) if sparse else X
    one, other = (build(kind, random_state=3, max_iter=3).fit(rows, y) for _ in range(2))
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    if hasattr(one, "covariance_"):
        np.testing.assert_array_equal(one.covariance_, other.covariance_)


@given(kinds, spread_tasks())
def test_the_order_of_the_features_is_immaterial(kind, task):
    X, y, rng = task
    order = rng.permutation(X.shape[1])
    here, there = learn(kind, X, y), learn(kind, X[:, order], y)
    np.testing.assert_allclose(there.coef_[0], here.coef_[0, order], rtol=1e-8, atol=1e-10)
    if kind in GAUSSIAN:
        wanted = whole(here, kind)[np.ix_(order, order)]
        np.testing.assert_allclose(whole(there, kind), wanted, rtol=1e-8, atol=1e-12)


@given(st.sampled_from([k for k in EVERY if k[2] in ("full", "none")]), spread_tasks())
def test_whole_covariances_do_not_see_a_rotation(kind, task):
    X, y, rng = task
    Q = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))[0]
    here, there = learn(kind, X, y), learn(kind, X @ Q, y)
    np.testing.assert_allclose(there.coef_, here.coef_ @ Q, rtol=1e-7, atol=1e-8)
    if kind in GAUSSIAN:
        wanted = Q.T @ here.covariance_ @ Q
        np.testing.assert_allclose(there.covariance_, wanted, rtol=1e-7, atol=1e-8)


@given(kinds, tasks(most=2))
def test_opposite_labels_give_the_opposite_mean(kind, task):
    X, y, _ = task
    same(learn(kind, X, 1 - y), learn(kind, X, y), sign=-1.0, rtol=0)


@given(kinds, tasks(), st.data())
def test_a_mirrored_feature_mirrors_its_weight(kind, task, data):
    X, y, K = task
    sign = np.array(data.draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=4, max_size=4)))
    sign = sign[: X.shape[1]]
    here, there = learn(kind, X, y, K), learn(kind, X * sign, y, K)
    np.testing.assert_array_equal(there.coef_, here.coef_ * sign)


@given(kinds, tasks())
def test_an_empty_feature_changes_nothing(kind, task):
    X, y, K = task
    padded = np.hstack([X, np.zeros((len(X), 1))])
    here, there = learn(kind, X, y, K), learn(kind, padded, y, K)
    np.testing.assert_allclose(there.coef_[:, :-1], here.coef_, rtol=1e-12, atol=1e-14)
    assert (there.coef_[:, -1] == 0).all()
    if kind in GAUSSIAN and kind[2] != "full":
        assert (there.covariance_[:, -1] == 1).all()


#: What C becomes when the rows are c times as long, and the power of c in the mean.
SCALING = {
    "NHERD": (-2, -1),
    "AROW": (-2, -1),
    "SecondOrderPerceptron": (-2, -1),
    "PassiveAggressive": (-2, -1),
    "stdev": (0, 0),
    "soft-1": (-1, 0),
    "soft-2": (-2, 0),
}


@given(kinds, tasks(), st.sampled_from([0.25, 2.0, 8.0]))
def test_units_of_the_rows(kind, task, c):
    X, y, K = task
    here = learn(kind, X, y, K)
    if kind[0] == "Perceptron":
        same(learn(kind, c * X, y, K), here, scale=c)
    elif kind[1] == "variance":
        # phi takes the unit up: the weight of a row scales it
        there = learn(kind, c * X, y, K, sample_weight=np.full(len(X), 1 / c))
        same(there, here)
    else:
        power, mean = SCALING[kind[1] if kind in CW else kind[0]]
        same(learn(kind, c * X, y, K, C=0.6 * c**power), here, scale=c**mean)


@given(kinds, tasks(), st.sampled_from([0.25, 2.0, 8.0]))
def test_a_weight_of_all_rows_is_a_larger_rate(kind, task, w):
    X, y, K = task
    weighted = learn(kind, X, y, K, sample_weight=np.full(len(X), w))
    if kind[0] == "Perceptron":
        same(weighted, learn(kind, X, y, K), scale=w)
    elif kind[1] == "PA":
        # it has no rate: a longer step would pass the margin of 1
        same(weighted, learn(kind, X, y, K), rtol=0)
    elif kind[1] not in ("stdev", "variance"):
        same(weighted, learn(kind, X, y, K, C=0.6 * w))


@given(kinds, tasks(), st.data())
def test_a_row_of_weight_zero_is_no_row(kind, task, data):
    X, y, K = task
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=len(X), max_size=len(X))))
    assume(kept.any())
    same(learn(kind, X, y, K, sample_weight=kept.astype(float)), learn(kind, X[kept], y[kept], K))


@given(st.sampled_from([("AROW", "", "full"), ("AROW", "", "project")]), tasks(most=2), rates)
def test_the_precision_of_arow_is_a_sum(kind, task, C):
    X, y, _ = task
    model, total = build(kind).set_params(fit_intercept=False, C=C), np.eye(X.shape[1])
    seen = 0
    for x, label in zip(X, y, strict=True):
        model.partial_fit(x[None], [label], classes=[0, 1])
        gain = C * np.outer(x, x)
        total += (model.n_updates_ - seen) * (
            gain if kind[2] == "full" else np.diag(np.diag(gain))
        )
        seen = model.n_updates_
    product = whole(model, kind) @ total
    np.testing.assert_allclose(product, np.eye(len(total)), atol=1e-6)


# the loops are compiled anew for arrays that cannot be written, which takes seconds
@pytest.mark.parametrize("frozen", [False, pytest.param(True, marks=pytest.mark.slow)])
@given(kind=kinds, task=tasks(), sparse=st.booleans())
def test_inputs_are_left_alone(frozen, kind, task, sparse):
    X, y, K = task
    y[0], y[-1] = 0, K - 1
    if K == 3:
        y[len(y) // 2] = 1
    assume(len(set(y)) == K)
    weights = np.linspace(0.5, 2, len(X))
    # columns of each row from right to left: sorting them would show
    rows = csr_array(X)
    for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        rows.indices[a:b] = rows.indices[a:b][::-1].copy()
        rows.data[a:b] = rows.data[a:b][::-1].copy()
    held = [X, y, weights, rows.data, rows.indices, rows.indptr]
    copies = [a.copy() for a in held]
    for a in held:
        a.flags.writeable = not frozen
    given_rows = rows if sparse else X
    model = build(kind, average=True).partial_fit(given_rows, y, np.arange(K), weights)
    model.fit(given_rows, y, sample_weight=weights)
    model.predict(given_rows)
    for a, b in zip(held, copies, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", SECOND)
def test_the_second_order_perceptron_moves_on_mistakes_only(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    # of class 1, so that the first row, at mu = 0, is a mistake as well as an update
    X[0, 0] = 1.0
    y = (X[:, 0] > 0).astype(int)
    model = learn(kind, X, y)
    assert model.n_updates_ == round(model.progressive_error_ * model.n_seen_)
