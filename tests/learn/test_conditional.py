"""The classifier by conditional herding: votes, passes, scaling, files."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import base
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from herder import ConditionalHerder, ParameterError, load, save
from herder.fields.conditional import HiddenLabelFeatures, class_codes
from herder.learn.scaling import ColumnScaling

clone: Any = base.clone  # which is typed as any container


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def rings():
    """Two classes that no line separates: a disc, and a ring around it."""
    rng = np.random.default_rng(0)
    angle, label = rng.uniform(0, 2 * np.pi, 600), rng.integers(2, size=600)
    radius = np.where(label, 3, 1) + rng.normal(0, 0.3, 600)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), label


@parametrize_with_checks(
    [
        ConditionalHerder(5, max_iter=10),
        ConditionalHerder(0, max_iter=10, multi_class="one-vs-rest"),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("states", [(-1, 1), (0, 1)])
@pytest.mark.parametrize("normalising_feature", [False, True])
def test_hidden_units_learn_what_no_line_separates(rings, states, normalising_feature):
    rows, labels = rings
    line = LogisticRegression().fit(rows[:400], labels[:400]).score(rows[400:], labels[400:])
    model = ConditionalHerder(20, states=states, normalising_feature=normalising_feature)
    found = model.fit(rows[:400], labels[:400]).score(rows[400:], labels[400:])
    assert line < 0.65
    assert found > 0.95


@pytest.mark.parametrize("multi_class", ["joint", "one-vs-rest"])
def test_digits(digits, multi_class):
    X, y = digits
    model = ConditionalHerder(50, multi_class=multi_class, max_iter=20).fit(X[:1300], y[:1300])
    linear = LogisticRegression(max_iter=5000).fit(X[:1300], y[:1300]).score(X[1300:], y[1300:])
    assert model.score(X[1300:], y[1300:]) > max(linear, 0.9)
    assert model.history_[-1] < model.history_[0] / 4


@pytest.mark.parametrize("n_hidden", [0, 7])
@pytest.mark.parametrize("multi_class", ["joint", "one-vs-rest"])
def test_votes_against_features_written_out(n_hidden, multi_class):
    """Each snapshot votes for the class of the largest score, computed from its features."""
    X, y = load_wine(return_X_y=True)
    model = ConditionalHerder(
        n_hidden, multi_class=multi_class, max_iter=4, n_snapshots=9, burn_in=0.5
    ).fit(X, y)
    inputs = (X - model._scaling.centre) * model._scaling.factor
    shares = np.zeros((len(X), 3))
    for k, voting in enumerate(model._herds):
        last = voting.herd.n_steps
        gap = 2 ** int(np.ceil(np.log2((last + 1) / 10)))  # at most nine multiples
        want = [step for step in range(gap, last + 1, gap) if step > 0.5 * (last // gap * gap)]
        assert [s for s in (s for s, _ in voting.kept) if s > 0.5 * voting.kept[-1][0]] == want
        codes = class_codes(3 if multi_class == "joint" else 2)
        for weights in voting.voters(0.5):
            w = weights.astype(np.float64)
            n_inputs = 13 * (n_hidden or codes.shape[1])
            fields = inputs @ w[:n_inputs].reshape(13, -1)
            if n_hidden:
                model_of_one = HiddenLabelFeatures(codes, n_hidden)
                scores = [
                    [
                        w @ model_of_one.features(row, c, model_of_one.complete(w, row, c))
                        for c in range(len(codes))
                    ]
                    for row in inputs
                ]
            else:
                scores = (fields + w[n_inputs:]) @ codes.T
            votes = np.argmax(scores, axis=1)
            if multi_class == "joint":
                shares[np.arange(len(X)), votes] += 1 / len(voting.voters(0.5))
            else:
                shares[:, k] += votes / len(voting.voters(0.5))
    totals = shares.sum(axis=1, keepdims=True)
    chances = np.where(totals > 0, shares / np.where(totals > 0, totals, 1), 1 / 3)
    np.testing.assert_allclose(model.predict_proba(X), chances, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), shares.argmax(axis=1))


def test_snapshots_are_bounded_and_evenly_spaced(digits):
    X, y = digits
    model = ConditionalHerder(3, max_iter=7, n_snapshots=16).fit(X, y)
    steps = [step for step, _ in model._herds[0].kept]
    assert 8 <= len(steps) <= 16
    assert set(np.diff(steps)) == {model._herds[0].gap}
    assert steps[0] == model._herds[0].gap
    assert model.n_updates_ == 7 * 180
    first = ConditionalHerder(3, n_snapshots=1, max_iter=2).fit(X, y)
    assert [step for step, _ in first._herds[0].kept] == [256]
    assert first.n_voters_ == 1


def test_warm_start_goes_on_as_one_fit(digits):
    X, y = digits
    whole = ConditionalHerder(5, max_iter=6).fit(X, y)
    parts = ConditionalHerder(5, max_iter=2, warm_start=True).fit(X, y)
    parts.set_params(max_iter=4).fit(X, y)
    np.testing.assert_array_equal(whole.history_, parts.history_)
    np.testing.assert_array_equal(whole._herds[0].herd.weights, parts._herds[0].herd.weights)
    np.testing.assert_array_equal(whole.predict_proba(X), parts.predict_proba(X))
    afresh = clone(parts).set_params(max_iter=6, warm_start=False).fit(X, y)
    np.testing.assert_array_equal(whole.predict_proba(X), afresh.predict_proba(X))


def test_partial_fit_is_a_pass_without_shuffling(digits):
    X, y = digits
    once = ConditionalHerder(5, max_iter=1, shuffle=False).fit(X[:1000], y[:1000])
    part = ConditionalHerder(5).partial_fit(X[:1000], y[:1000], classes=range(10))
    np.testing.assert_array_equal(once.predict_proba(X), part.predict_proba(X))
    before = part.score(X[1300:], y[1300:])
    for _ in range(5):
        part.partial_fit(X[:1300], y[:1300])
    assert part.score(X[1300:], y[1300:]) > before
    with pytest.raises(ParameterError, match="classes must be passed"):
        ConditionalHerder().partial_fit(X, y)
    with pytest.raises(ParameterError, match="y must have labels among 0, 1"):
        part.partial_fit(X[:2], [3, 11])


def test_learning_ends_when_a_pass_has_no_mistake():
    X, y = load_wine(return_X_y=True)
    model = ConditionalHerder().fit(X, y)
    assert model.n_iter_ < 100
    assert model.history_[-1] == 0
    assert model.score(X, y) == 1
    again = model.set_params(warm_start=True, max_iter=5)
    n_updates = again.n_updates_
    assert again.fit(X, y).n_updates_ == n_updates + 18  # a pass to see it
    assert "training error" in str(model.summary())


def test_an_interrupt_keeps_the_model_so_far(digits):
    X, y = digits

    def impatient(share, note):
        assert note.startswith("learning, ")
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted after 5 passes; the model so far is kept"):
        model = ConditionalHerder(20, max_iter=10).fit(X, y, progress=impatient)
    assert model.n_iter_ == 5
    assert model.score(X, y) > 0.9
    going_on = model.set_params(warm_start=True, max_iter=5).fit(X, y)
    assert going_on.n_iter_ == 10

    def at_once(share, note):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # before there is a model
        ConditionalHerder().fit(X, y, progress=at_once)


def test_a_call_that_fails_changes_nothing(digits):
    X, y = digits
    model = ConditionalHerder(5, max_iter=2, warm_start=True).fit(X, y)
    before = model.predict_proba(X)

    def broken(share, note):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        model.fit(X, y, progress=broken)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.n_iter_ == 2


def test_scales_of_columns_do_not_matter():
    X, y = load_breast_cancer(return_X_y=True)
    scales = 10.0 ** np.arange(-15, 15)
    plain = ConditionalHerder(10, max_iter=5).fit(X, y)
    other = ConditionalHerder(10, max_iter=5).fit(X * scales + 3, y)
    assert np.mean(plain.predict(X) == other.predict(X * scales + 3)) > 0.97  # but for rounding


def test_forms_of_rows_and_labels(digits):
    X, y = digits
    names = np.array([f"digit {k}" for k in range(10)])[y]
    model = ConditionalHerder(5, max_iter=3)
    want = model.fit(X, y).predict(X)
    frame = pd.DataFrame(X).add_prefix("pixel ")
    told = clone(model).fit(frame, names)
    assert told.predict(frame).tolist() == [f"digit {k}" for k in want]
    np.testing.assert_array_equal(clone(model).fit(X.astype(np.float32), y).predict(X), want)
    sparse_rows = sparse.csr_matrix(X)
    kept = sparse_rows.copy()
    found = clone(model).set_params(standardise=False).fit(sparse_rows / 4, y)
    dense = clone(model).set_params(standardise=False).fit(X / 4, y)
    np.testing.assert_array_equal(found.predict(sparse_rows / 4), dense.predict(X / 4))
    clone(model).fit(sparse_rows, y).predict(sparse_rows)
    assert (sparse_rows != kept).nnz == 0
    # a model of dense rows centres sparse ones as well
    np.testing.assert_array_equal(model.predict(sparse_rows), want)


def test_odd_rows():
    X = np.array([[1.0, 5.0], [2.0, 5.0]])  # two rows, and a constant column
    model = ConditionalHerder(3).fit(X, ["a", "b"])
    assert model.predict(X).tolist() == ["a", "b"]
    assert model.predict([[1e300, 5.0]])[0] in ("a", "b")
    same = ConditionalHerder(3, max_iter=4).fit([[1.0], [1.0]], [0, 1])  # nothing to learn
    assert same.predict_proba([[1.0]]).sum() == 1
    big = ConditionalHerder(3).fit(np.array([[-1e308], [1e308]]), [0, 1])
    assert big.predict([[-1e308], [1e308]]).tolist() == [0, 1]
    rare = np.repeat([0, 1, 2], [50, 49, 1])  # a class that most batches lack
    model = ConditionalHerder(5).fit(np.eye(100), rare)
    assert model.predict_proba(np.eye(100)).shape == (100, 3)
    assert model.score(np.eye(100), rare) > 0.97


def test_refusals():
    X, y = np.eye(3), [0, 1, 2]
    cases = {
        "n_hidden": -1,
        "multi_class": "ovr",
        "states": (0, 2),
        "max_iter": 0,
        "batch_size": 0,
        "initial_scale": -1,
        "halving": -1,
        "burn_in": 1.0,
        "n_snapshots": 0,
        "standardise": "yes",
        "shuffle": 2,
        "random_state": -1,
    }
    for name, value in cases.items():
        with pytest.raises((ParameterError, TypeError), match=f"{name} must be"):
            ConditionalHerder(**{name: value}).fit(X, y)
    with pytest.raises(ParameterError, match="y must have at least two classes, got one class: 7"):
        ConditionalHerder().fit(X, [7, 7, 7])
    with pytest.raises(ValueError, match="NaN"):
        ConditionalHerder().fit([[np.nan], [1.0]], [0, 1])


def test_an_interrupted_pass_is_completed(digits):
    X, y = digits
    calls = []

    def impatient(share, note):
        calls.append(share)
        if len(calls) == 400:  # in the midst of the third pass
            raise KeyboardInterrupt

    model = ConditionalHerder(20, max_iter=10, n_snapshots=1000)
    with pytest.warns(UserWarning, match="interrupted"):
        part = clone(model).fit(X, y, progress=impatient)
    assert part.n_updates_ % 180
    n_left = 10 - part.n_updates_ // 180
    part.set_params(warm_start=True, max_iter=n_left).fit(X, y)
    whole = model.fit(X, y)
    assert part.n_updates_ == whole.n_updates_
    np.testing.assert_array_equal(part.predict_proba(X), whole.predict_proba(X))


def test_partial_fit_takes_rows_in_their_order(digits):
    X, y = digits
    parts = ConditionalHerder(5, shuffle=False).partial_fit(X[:10], y[:10], classes=range(10))
    parts.partial_fit(X[10:30], y[10:30])
    other = ConditionalHerder(5, shuffle=False).partial_fit(X[:10], y[:10], classes=range(10))
    other.partial_fit(X[10:20], y[10:20]).partial_fit(X[20:30], y[20:30])
    np.testing.assert_array_equal(parts._herds[0].herd.weights, other._herds[0].herd.weights)
    with pytest.raises(ParameterError, match="X must have at least two rows in the first call"):
        ConditionalHerder().partial_fit(X[:1], y[:1], classes=range(10))


def test_what_a_model_was_begun_with_lasts(digits, tmp_path):
    X, y = digits
    model = ConditionalHerder(5, max_iter=2, warm_start=True).fit(X, y)
    shares = model.predict_proba(X)
    for name, value in {"n_hidden": 6, "states": (0, 1), "standardise": False}.items():
        other = clone(model).fit(X, y).set_params(**{name: value})
        with pytest.raises(ParameterError, match=f"{name} must stay"):
            other.fit(X, y)
        np.testing.assert_array_equal(other.predict_proba(X), shares)
        save(other, tmp_path / "model.safetensors")
        found = load(tmp_path / "model.safetensors")
        np.testing.assert_array_equal(found.predict_proba(X), shares)


def test_learning_does_not_end_while_the_entropy_trick_moves_weights():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 10))
    y = (X[:, :3].sum(axis=1) > 0) * 1
    model = ConditionalHerder(10, halving=500, max_iter=400, random_state=7).fit(X, y)
    assert model.history_[-1] == 0
    herd = model._herds[0].herd
    assert (herd.classify(model._scaling.apply(X)) == y).all()


def test_offsets_of_columns_do_not_hide_them():
    X, y = load_wine(return_X_y=True)
    assert ConditionalHerder(10).fit(X + 1e8, y).score(X + 1e8, y) > 0.97
    with pytest.raises(ParameterError, match="X must be within"):
        ConditionalHerder(standardise=False).fit(X * 1e6, y)
    with pytest.raises(ParameterError, match="initial_scale must be at most"):
        ConditionalHerder(initial_scale=1e40).fit(X, y)


@pytest.mark.parametrize("multi_class", ["joint", "one-vs-rest"])
def test_files(digits, multi_class, tmp_path):
    X, y = digits
    model = ConditionalHerder(5, max_iter=3, multi_class=multi_class, normalising_feature=True)
    model.fit(X, y)
    save(model, tmp_path / "model.safetensors")
    found = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(found.predict_proba(X), model.predict_proba(X))
    further = [m.set_params(warm_start=True).fit(X, y) for m in (model, found)]
    np.testing.assert_array_equal(further[0].predict_proba(X), further[1].predict_proba(X))
    np.testing.assert_array_equal(further[0].history_, further[1].history_)


@pytest.mark.parametrize(
    ("key", "value"), [("n_hidden", 10**13), ("history", []), ("classes", [1])]
)
def test_states_that_do_not_fit_are_refused(digits, key, value):
    arrays, header = ConditionalHerder(5, max_iter=2).fit(*digits).to_state()
    if key == "history":
        arrays["history"] = np.array(value, dtype=float)
    elif key == "classes":
        header["classes"] = {**header["classes"], "values": value}
    else:
        header["params"] = {**header["params"], key: value}
    with pytest.raises(ValueError, match="passes and classes"):
        ConditionalHerder.from_state(arrays, header)


def test_scaling_of_columns():
    rng = np.random.default_rng(0)
    rare = np.zeros(1000)
    rare[:3] = 10.0
    table = np.column_stack([rng.normal(5, 100, 1000), np.full(1000, 1 / 3), rare])
    scaling = ColumnScaling.of(table)
    rows = scaling.apply(table)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.mean(rows.astype(float) ** 2), 1, rtol=1e-5)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-5)
    assert (rows[:, 1] == 0).all()
    assert rows[0, 2] / rows[:, 0].std() == pytest.approx(4, rel=0.01)  # not 18 deviations
    normed = ColumnScaling.of(table, normalise=True).apply(table)
    np.testing.assert_allclose(np.sum(normed**2, axis=1), np.sum(rows**2, axis=1).max(), rtol=1e-5)
    counts = sparse.csr_array(rng.poisson(0.1, (50, 8)).astype(float))
    found = ColumnScaling.of(counts, normalise=True).apply(counts)
    np.testing.assert_allclose(np.mean(found.toarray()[:, :-1] ** 2), 1, rtol=1e-5)
    np.testing.assert_allclose(np.ptp(np.sum(found.toarray() ** 2, axis=1)), 0, atol=1e-3)
