"""Thinning with labels: quotas, weights that make up for them, and the labelled distance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herder import thin
from herder.kernel import Energy, Gaussian, Stein
from herder.kernel.labelled import LabelledCandidates, quotas
from tests.kernel.plain import default_lengths, gram, sample, squared_mmd
from tests.naming import refuses


def labels(n, seed=0):
    return np.random.default_rng(seed).choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])


def labelled_gram(X, y, name="energy"):
    return gram(name, X, X, default_lengths(X, name), X.mean(axis=0)) * (y[:, None] == y)


def counts(chosen, y):
    return {label: int((y[chosen.indices] == label).sum()) for label in np.unique(y)}


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any),
    st.integers(1, 200),
)
def test_proportional_quotas_sum_and_round(sizes, n_select):
    mass = np.array(sizes) / sum(sizes)
    found = quotas("proportional", np.arange(len(sizes)), mass, n_select)
    assert found.sum() == n_select
    exact = mass * n_select
    assert (found >= np.floor(exact - 1e-9)).all()
    assert (found <= np.ceil(exact + 1e-9)).all()


@given(st.integers(1, 9), st.integers(1, 100))
def test_equal_quotas_differ_by_one_at_most(n_classes, n_select):
    mass = np.arange(1.0, n_classes + 1)
    found = quotas("equal", np.arange(n_classes), mass, n_select)
    assert found.sum() == n_select
    assert found.max() - found.min() <= 1


@pytest.mark.parametrize("name", ["gaussian", "energy", "laplace"])
@pytest.mark.parametrize("allocation", ["proportional", "equal", "joint", {"a": 2, "c": 7}])
@pytest.mark.parametrize("weights", ["uniform", "simplex", "optimal"])
def test_the_mmd_is_that_of_the_labelled_kernel(name, allocation, weights):
    X, y = sample(90, 2), labels(90)
    chosen = thin(X, 9, y=y, allocation=allocation, kernel=name, weights=weights)
    K = labelled_gram(X, y, name)
    expected = squared_mmd(K, chosen.indices, chosen.weights)
    assert chosen.mmd**2 == pytest.approx(expected, abs=1e-12 * np.abs(K).max())
    if weights != "optimal":
        assert chosen.weights.sum() == pytest.approx(1)


def test_counts_are_those_asked_for():
    X, y = sample(100, 2), labels(100)
    sizes = {label: int((y == label).sum()) for label in "abc"}
    for label, count in counts(thin(X, 20, y=y), y).items():
        assert abs(count - sizes[label] / 5) < 1
    assert set(counts(thin(X, 9, y=y, allocation="equal"), y).values()) == {3}
    assert counts(thin(X, 9, y=y, allocation={"a": 2, "c": 7}), y) == {"a": 2, "b": 0, "c": 7}


def test_weights_make_up_for_the_shares():
    X, y = sample(100, 2), labels(100)
    chosen = thin(X, 9, y=y, allocation="equal")
    for label in "abc":
        share = chosen.weights[y[chosen.indices] == label].sum()
        assert share == pytest.approx((y == label).mean())
    weight = np.arange(1.0, 101)
    chosen = thin(X, 9, y=y, allocation="equal", sample_weight=weight)
    for label in "abc":
        share = chosen.weights[y[chosen.indices] == label].sum()
        assert share == pytest.approx(weight[y == label].sum() / weight.sum())
    K = labelled_gram(X, y)
    expected = squared_mmd(K, chosen.indices, chosen.weights, weight)
    assert chosen.mmd**2 == pytest.approx(expected, abs=1e-12)


def test_each_class_is_thinned_as_if_it_were_alone():
    X, y = sample(100, 2), labels(100)
    chosen = thin(X, 12, y=y, kernel=Gaussian())
    for label, rows in chosen.by_class.items():
        own = np.flatnonzero(y == label)
        alone = thin(X[own], len(rows), kernel=Gaussian())
        assert rows.tolist() == own[alone.indices].tolist()
    assert sorted(np.concatenate(list(chosen.by_class.values()))) == sorted(chosen)


def test_a_joint_choice_may_be_nearer_than_settled_counts():
    X, y = sample(120, 2), labels(120)
    joint = thin(X, 12, y=y, allocation="joint", refine=20)
    np.testing.assert_array_equal(joint.weights, np.full(12, 1 / 12))
    K = labelled_gram(X, y)
    random = np.random.default_rng(0)
    values = [squared_mmd(K, random.choice(120, 12, replace=False)) for _ in range(300)]
    assert joint.mmd**2 < min(values)
    assert joint.mmd_random**2 == pytest.approx(np.mean(values), rel=0.1)


def test_one_class_is_none():
    X = sample(60, 2)
    for refine, ways in ((True, ["proportional", "equal"]), (False, ["proportional", "joint"])):
        plain = thin(X, 7, refine=refine)
        for allocation in ways:
            chosen = thin(X, 7, y=np.zeros(60, int), allocation=allocation, refine=refine)
            assert chosen.indices.tolist() == plain.indices.tolist()
            assert chosen.mmd == pytest.approx(plain.mmd, rel=1e-6)


def test_settled_rows_stay_in_their_class():
    X, y = sample(60, 2), labels(60)
    include, exclude = np.flatnonzero(y == "b")[:2], np.flatnonzero(y == "a")[:5]
    chosen = thin(X, 12, y=y, include=include, exclude=exclude)
    assert set(include) <= set(chosen)
    assert not set(exclude) & set(chosen)


def test_a_given_mean_of_the_labelled_kernel_is_the_sample():
    """The mean of the labelled kernel, handed over, chooses what the sample would."""
    X, y = sample(60, 2), labels(60)
    target = labelled_gram(X, y).mean(axis=1)
    for allocation in ("proportional", "joint"):
        plain = thin(X, 9, y=y, allocation=allocation, refine=False)
        given_ = thin(X, 9, y=y, allocation=allocation, refine=False, kernel_mean=target)
        assert given_.indices.tolist() == plain.indices.tolist()


@pytest.mark.parametrize("path", ["numpy", "compiled"])
def test_candidates_are_those_of_the_labelled_gram_matrix(path, request):
    if path == "compiled":
        request.getfixturevalue("compiled")
    X, y = sample(50, 3), np.arange(50) % 3
    for name in ("gaussian", "energy"):
        K = labelled_gram(X, y, name)
        kernel = {"gaussian": Gaussian, "energy": Energy}[name](default_lengths(X, name))
        candidates = LabelledCandidates(X, y.astype(np.intp), kernel)
        np.testing.assert_allclose(candidates.diagonal, K.diagonal(), atol=1e-12)
        np.testing.assert_allclose(candidates.mean(), K.mean(axis=1), atol=1e-12)
        np.testing.assert_allclose(candidates.column(7), K[7], atol=1e-12)
        rows, others = np.array([0, 7, 9]), np.array([3, 4])
        np.testing.assert_allclose(candidates.gram(rows), K[np.ix_(rows, rows)], atol=1e-12)
        np.testing.assert_allclose(candidates.gram(rows, others), K[np.ix_(rows, others)])


def test_stein_rows_with_labels():
    X, y = sample(40, 2), labels(40)
    kernel = Stein(np.array([0.5, 2.0]))
    chosen = thin(X, 6, kernel=kernel, score=-X, y=y, allocation="joint", weights="simplex")
    rows = np.hstack([X, -X])
    K = kernel(rows, rows) * (y[:, None] == y)
    expected = np.sqrt(chosen.weights @ K[np.ix_(chosen.indices, chosen.indices)] @ chosen.weights)
    assert chosen.mmd == pytest.approx(expected, rel=1e-9)


def test_progress_names_the_classes():
    told = []
    thin(
        sample(40, 2),
        6,
        y=labels(40),
        allocation="equal",
        progress=lambda share, note: told.append((share, note)),
    )
    assert told[-1] == (1.0, "class c")


def test_wrong_shares_are_told():
    X, y = sample(40, 2), labels(40)
    n_c = int((y == "c").sum())
    with refuses("allocation"):
        thin(X, 6, y=y, allocation="even")
    with refuses("allocation"):
        thin(X, 6, y=y, allocation={"a": 5, "z": 1})
    with refuses("allocation", match=r"name labels of y, got \(\)"):
        thin(X, 6, y=y, allocation={"a": 5, (): 1})
    with refuses("allocation"):
        thin(X, 6, y=y, allocation={"a": 5})
    with refuses("allocation"):
        thin(X, 6, y=y, allocation={"a": 7, "b": -1})
    with refuses("n_select", match=f"got {n_c + 1} for 'c', which has {n_c}; allocation="):
        thin(X, 3 * n_c + 3, y=y, allocation="equal")
    rows = np.flatnonzero(y == "c")
    with refuses("include"):
        thin(X, 4, y=y, allocation={"a": 4}, include=rows[:2])
    with refuses("y"):
        thin(X, 4, y=y[1:])
    weight = (y != "c").astype(float)
    with refuses("sample_weight", match="got zero for 'c'"):
        thin(X, 6, y=y, allocation="equal", sample_weight=weight)
    assert thin(X, 6, y=y, sample_weight=weight).by_class["c"].tolist() == []


def test_more_rows_than_a_class_has():
    X, y = sample(20, 2), np.r_[np.zeros(18, int), 1, 1]
    chosen = thin(X, 12, y=y, allocation="equal", unique=False)
    assert len(chosen.by_class[1]) == 6
    assert set(chosen.by_class[1]) <= {18, 19}


@pytest.mark.parametrize(
    ("n_select", "allocation", "words"),
    [
        (10, "proportional", "class 'rare' (1.00%); pass allocation='equal' or allocation=map"),
        (2, "equal", "class 'rare' (1.00%); a row of each class takes 3 rows or more"),
        (1, "joint", "2 classes "),
        (3, "equal", ""),
        (10, {"a": 5, "b": 5}, ""),
    ],
)
def test_classes_without_a_row_are_named(caplog, n_select, allocation, words):
    y = np.repeat(np.array(["a", "b", "rare"], dtype=object), [120, 78, 2])
    chosen = thin(sample(200, 2), n_select, y=y, allocation=allocation)
    logged = [record.getMessage() for record in caplog.records]
    warned = [line for line in str(chosen.summary()).splitlines() if line.startswith("Warning")]
    if words:
        assert len(logged) == len(warned) == 1
        assert logged[0].startswith("thin: no row was chosen of " + words)
        assert warned[0] == logged[0].replace("thin: ", "Warning: ")
    else:
        assert logged == warned == []


def test_the_summary_says_that_weights_correct_the_shares():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.arange(60) < 45
    assert "use them in every average" in str(thin(X, 10, y=y, allocation="equal").summary())
    assert "use them in every average" not in str(thin(X, 8, y=y).summary())
