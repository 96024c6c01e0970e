"""Input that hides what it means: masks, complex numbers, odd dtypes, forms that are no rows."""

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import herder
from herder import BoltzmannMachine, KernelHerder, MomentHerder, Moments, PairwiseModel, PottsModel
from herder._validation import plain_array, real_array
from herder.kernel.quadrature import optimal_weights, simplex_weights
from herder.learn.missing import conditional_probabilities, impute
from tests.naming import refuses

RNG = np.random.default_rng(0)
X, LABELS, WEIGHT = RNG.normal(size=(40, 3)), np.arange(40) % 2, RNG.random(40) + 0.1
BITS = np.r_[np.zeros((1, 4)), np.ones((1, 4)), RNG.integers(0, 2, (38, 4))]
W = np.array([[0, 0.5, 0], [0.5, 0, 0.25], [0, 0.25, 0]])
MODEL = PairwiseModel(W, [0.1, 0.2, 0.3])
MOMENTS = Moments.from_data(BITS)
MIXTURE = herder.GaussianMixture(X[:3], 1.0)
MACHINE = BoltzmannMachine().fit(BITS)
LEARNER = herder.NHERD().fit(X, LABELS)
CHOSEN = KernelHerder(5).fit(X)
KERNEL: dict[str, Any] = {"covariance": "full", "kernel": "rbf"}

#: What a call is given, and the call.
CALLS = {
    "thin X": (X, lambda a: herder.thin(a, 5)),
    "thin sample_weight": (WEIGHT, lambda a: herder.thin(X, 5, sample_weight=a, unique=False)),
    "thin log_weight": (WEIGHT, lambda a: herder.thin(X, 5, log_weight=a)),
    "thin y": (LABELS, lambda a: herder.thin(X, 6, y=a)),
    "thin bandwidth": (np.ones(3), lambda a: herder.thin(X, 5, bandwidth=a)),
    "thin score": (X, lambda a: herder.thin(X, 5, kernel="stein", score=a)),
    "thin kernel_mean": (WEIGHT, lambda a: herder.thin(X, 5, kernel_mean=a)),
    "thin include": (np.array([1, 2]), lambda a: herder.thin(X, 5, include=a)),
    "mmd X": (X, lambda a: herder.mmd(a, X)),
    "mmd x_weight": (WEIGHT, lambda a: herder.mmd(X, X, x_weight=a)),
    "kernel_mean X": (X, lambda a: herder.kernel_mean(a)),
    "median_bandwidth X": (X, lambda a: herder.median_bandwidth(a)),
    "kernel_herd X": (X, lambda a: herder.kernel_herd(a, 5)),
    "KernelHerder X": (X, lambda a: KernelHerder(5).fit(a)),
    "transform X": (X, CHOSEN.transform),
    "optimal gram": (np.eye(3), lambda a: optimal_weights(a, np.ones(3))),
    "simplex target": (np.ones(3), lambda a: simplex_weights(np.eye(3), a)),
    "mixture means": (X[:3], lambda a: herder.GaussianMixture(a, 1.0)),
    "mixture points": (X, MIXTURE.density),
    "density auxiliary": (X, lambda a: herder.herd_density(MIXTURE, 3, auxiliary=a)),
    "moments X": (BITS, lambda a: Moments.from_data(a)),
    "moments X, mapping": (BITS[:, 0], lambda a: Moments.from_data({"a": a, "b": BITS[:, 1]})),
    "moments sample_weight": (WEIGHT, lambda a: Moments.from_data(BITS, sample_weight=a)),
    "moments counts": (BITS.T @ BITS, lambda a: Moments.from_counts(a, total=40)),
    "herder X": (BITS, lambda a: MomentHerder().fit(a)),
    "herder sample_weight": (WEIGHT, lambda a: MomentHerder().fit(BITS, sample_weight=a)),
    "herd start_weights": (np.ones(10, int), lambda a: herd(start_weights=a, encoding="01")),
    "herd rates": (np.ones(10), lambda a: herd(rates=a, encoding="01")),
    "count_distribution X": (BITS, herder.count_distribution),
    "kl_divergence p": (np.ones(4), lambda a: herder.kl_divergence(a, np.ones(4))),
    "total_variation q": (np.ones(4), lambda a: herder.total_variation(np.ones(4), a)),
    "pairwise couplings": (W, lambda a: PairwiseModel(a)),
    "pairwise biases": (W[0], lambda a: PairwiseModel(W, a)),
    "potts couplings": (W, lambda a: PottsModel(a, W)),
    "potts fields": (W, lambda a: PottsModel(W, a)),
    "grid field": (np.ones(3), lambda a: PairwiseModel.grid((3,), field=a)),
    "edges weights": (np.ones(2), lambda a: PairwiseModel.from_edges(3, [[0, 1], [1, 2]], a)),
    "edges edges": (np.array([[0, 1]]), lambda a: PairwiseModel.from_edges(3, a, 1.0)),
    "energy x": (BITS[:, :3], MODEL.energy),
    "gibbs start": (np.array([0.0, 1.0, 0.0]), lambda a: herder.gibbs(MODEL, 5, start=a)),
    "gibbs order": (np.array([0, 1, 2]), lambda a: herder.gibbs(MODEL, 5, order=a)),
    "system features": (np.eye(2), lambda a: herder.EnumeratedSystem(a, [0.5, 0.5])),
    "system target": (np.ones(2), lambda a: herder.EnumeratedSystem(np.eye(2), a)),
    "machine X": (BITS, lambda a: BoltzmannMachine().fit(a)),
    "machine X, more": (BITS, lambda a: BoltzmannMachine().partial_fit(a)),
    "machine X, mapping": (BITS[:, 0], lambda a: BoltzmannMachine().fit({"a": a})),
    "machine sample_weight": (WEIGHT, lambda a: BoltzmannMachine().fit(BITS, sample_weight=a)),
    "machine X, scored": (BITS, MACHINE.score_samples),
    "learner X": (X, lambda a: herder.NHERD().fit(a, LABELS)),
    "learner X, more": (X, lambda a: herder.NHERD().partial_fit(a, LABELS, [0, 1])),
    "learner y": (LABELS, lambda a: herder.NHERD().fit(X, a)),
    "learner classes": (np.array([0, 1]), lambda a: herder.NHERD().partial_fit(X, LABELS, a)),
    "learner sample_weight": (WEIGHT, lambda a: herder.NHERD().fit(X, LABELS, sample_weight=a)),
    "learner X, full": (X, lambda a: herder.NHERD(covariance="full").fit(a, LABELS)),
    "learner X, kernel": (X, lambda a: herder.NHERD(**KERNEL).fit(a, LABELS)),
    "learner X, voted": (X, lambda a: herder.VotedPerceptron().fit(a, LABELS)),
    "learner X, predicted": (X, LEARNER.predict),
}

#: Where a missing value is a gap to fill.
GAPS = {
    "conditional": MACHINE.conditional,
    "impute": MACHINE.impute,
    "conditional_probabilities": lambda a: conditional_probabilities(MODEL, a[:, :3]),
    "impute function": lambda a: impute(MODEL, a[:, :3]),
    "moments with a category": lambda a: Moments.from_data(a, missing="category").counts,
}


def herd(**options):
    return herder.moment_herd(MOMENTS, 5, **options)


def masked(values):
    """Hide the first entry, under which something quite different stands."""
    found = np.ma.array(values, copy=True)
    found[(0,) * found.ndim] = 1
    found[(0,) * found.ndim] = np.ma.masked
    return found


def parameter(name):
    return name.partition(" ")[2].partition(",")[0]


def refused(name, call, given, kind=ValueError):
    """Expect an error about the parameter, of ours or of scikit-learn's validator."""
    with pytest.raises(kind) as caught:
        call(given)
    if isinstance(caught.value, herder.ParameterError):
        assert caught.value.name == parameter(name)
    else:
        assert f"Input {parameter(name)} contains NaN" in str(caught.value)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore::herder.learn.rows.ConstantColumnWarning")
def test_masked_entries_are_missing(name):
    plain, call = CALLS[name]
    call(np.ma.array(plain))  # nothing is hidden
    refused(name, call, masked(plain))
    refused(name, call, masked(plain.astype(int)))
    if plain.ndim == 2:
        refused(name, call, [masked(plain)[0], *plain[1:]])


@pytest.mark.parametrize("name", GAPS)
def test_masked_entries_are_gaps_where_gaps_may_be(name):
    hidden = masked(BITS)
    expected = GAPS[name](hidden.filled(np.nan))
    assert np.array_equal(GAPS[name](hidden), expected)
    assert np.array_equal(GAPS[name](masked(BITS.astype(int))), expected)


@pytest.mark.parametrize("name", CALLS)
def test_complex_numbers_are_refused(name):
    plain, call = CALLS[name]
    whole = parameter(name) in ("edges", "start_weights")  # which no floats may be, either
    for given in (plain + 1j, plain.astype(complex)):
        with refuses(parameter(name), ValueError if whole else TypeError):
            call(given)


@pytest.mark.parametrize("name", [name for name in CALLS if parameter(name) == "X"])
@pytest.mark.parametrize("dtype", [">f8", "<f4", ">f4", "f2", "g", "?", "u8", ">i8", "O"])
@pytest.mark.filterwarnings("ignore::herder.learn.rows.ConstantColumnWarning")
def test_tables_of_odd_dtypes(name, dtype):
    plain, call = CALLS[name]
    values = np.abs(plain * (1 if set(np.unique(plain)) == {0, 1} else 4)).astype(dtype)
    call(values)
    if plain.ndim == 2 and dtype != "O":
        call(pd.DataFrame(values))


@pytest.mark.parametrize("dtype", [">f8", ">f4", "f2", "g"])
def test_odd_floats_are_learnt_as_they_are(dtype):
    values = X.astype(dtype)
    same = values.astype(np.float32 if dtype == ">f4" else np.float64)
    expected = herder.NHERD().fit(same, LABELS).coef_
    assert np.array_equal(herder.NHERD().fit(values, LABELS).coef_, expected)
    frame = pd.DataFrame(values)
    assert np.array_equal(herder.NHERD().fit(frame, LABELS).coef_, expected)


def test_weights_of_odd_dtypes():
    for dtype in (">f8", "f4", "f2", "g", "O", "u8", "?"):
        weight = (WEIGHT * 4).astype(dtype)
        expected = Moments.from_data(BITS, sample_weight=weight.astype(np.float64)).counts
        assert np.array_equal(Moments.from_data(BITS, sample_weight=weight).counts, expected)


def test_complex_parameters_are_refused():
    wrong: Any = np.complex128(1 + 1j)
    some: Any = np.array([0.1 + 1j])
    with refuses("C", TypeError):
        herder.NHERD(C=wrong).fit(X, LABELS)
    with refuses("alphas", TypeError):
        BoltzmannMachine(alpha="cv", alphas=some).fit(BITS)
    with refuses("function", TypeError):
        herder.expectation_bounds(MOMENTS, lambda x: x[:, 0] + 1j)


def test_whole_numbers_beyond_floats_are_refused():
    with refuses("tol"):
        BoltzmannMachine(tol=10**400).fit(BITS)
    for call in (herder.thin, lambda a, n: Moments.from_data(a)):
        with refuses("X"):
            call([[10**400, 1], [0, 1]], 1)
    with refuses("sample_weight", TypeError):
        Moments.from_data(BITS, sample_weight=[10**400] * 40)


def test_labels_and_objects_that_are_complex_are_refused():
    with refuses("X", TypeError, match="column 'x0'"):
        Moments.from_data(BITS.astype(object) + 1j)
    with refuses("X", TypeError):
        herder.NHERD().fit(X.astype(object) + 1j, LABELS)


TABLES = [
    ("lazy", pl.DataFrame(X, orient="row").lazy(), r"X.collect\(\)"),
    ("dataset", xr.Dataset({"a": ("row", X[:, 0])}), r"X.to_dataframe\(\)"),
    ("tree", xr.DataTree(xr.Dataset({"a": ("row", X[:, 0])})), r"to_dataframe\(\)"),
    ("mapping", {"a": X[:, 0]}, r"pandas.DataFrame\(X\)"),
    ("dates", np.zeros((40, 3), "M8[s]"), "datetime64"),
    ("dicts", [{"a": 1.0}] * 40, "not 'dict'"),
    ("generator", (row for row in X), "not 'generator'"),
]


@pytest.mark.parametrize(("table", "match"), [row[1:] for row in TABLES], ids=lambda x: "")
def test_what_is_no_rows_is_refused_with_a_remedy(table, match):
    for call in (
        lambda: herder.NHERD().fit(table, LABELS),
        lambda: LEARNER.predict(table),
        lambda: KernelHerder(5).fit(table),
    ):
        with refuses("X", TypeError, match=match):
            call()


def test_a_lazy_frame_is_refused_everywhere():
    table = pl.DataFrame(BITS, orient="row").lazy()
    for call in (
        lambda: Moments.from_data(table),
        lambda: MomentHerder().fit(table),
        lambda: BoltzmannMachine().fit(table),
        lambda: herder.count_distribution(table),
        lambda: herder.thin(table, 5),
    ):
        with refuses("X", TypeError, match=r"X.collect\(\)"):
            call()


def test_rows_of_unlike_length_are_refused():
    table = [[1, [2]], [3, 4]]
    for call in (herder.thin, lambda a, n: herder.NHERD().fit(a, [0, 1])):
        with refuses("X", match="rows of one length"):
            call(table, 1)


def test_names_that_come_twice_are_refused():
    frame = pd.DataFrame(X, columns=["a", "b", "a"])
    named = herder.NHERD().fit(pd.DataFrame(X, columns=["a", "b", "c"]), LABELS)
    for call in (
        lambda: herder.NHERD().fit(frame, LABELS),
        lambda: herder.NHERD().partial_fit(frame, LABELS, classes=[0, 1]),
        lambda: named.predict(frame),
        lambda: KernelHerder(5).fit(frame),
        lambda: BoltzmannMachine(binarize=0.0).fit(frame),
    ):
        with refuses("X", match="unique column names, got 'a' twice"):
            call()


@pytest.mark.parametrize("seed", ["a", 1.5, True, [1], -1])
def test_a_wrong_random_state_is_named(seed):
    for call in (
        lambda: herder.NHERD(random_state=seed).fit(X, LABELS),
        lambda: herder.NHERD(random_state=seed, shuffle=False).fit(X, LABELS),
        lambda: herder.NHERD(random_state=seed, early_stopping=True).fit(X, LABELS),
        lambda: BoltzmannMachine("cd", random_state=seed).fit(BITS),
        lambda: MACHINE.check(BITS, random_state=seed),
        lambda: MACHINE.sample(3, random_state=seed),
        lambda: MIXTURE.sample(3, random_state=seed),
        lambda: herder.log_partition(MODEL, random_state=seed),
    ):
        with refuses("random_state", (TypeError, ValueError)):
            call()


def test_weights_whose_sum_overflows_are_refused():
    huge = np.full(40, 1e308)
    for call in (
        lambda: Moments.from_data(BITS, sample_weight=huge),
        lambda: MomentHerder().fit(BITS, sample_weight=huge),
        lambda: herder.NHERD().fit(X, LABELS, sample_weight=huge),
    ):
        with refuses("sample_weight", match="finite sum"):
            call()
    assert herder.thin(X, 5, sample_weight=huge).mmd > 0  # weights are relative here


@pytest.mark.parametrize("method", ["pl", "pl-node", "cd", "pcd", "ml"])
@pytest.mark.parametrize("weight", [np.full(40, 4e306), np.r_[1e300, np.ones(39)]])
def test_a_machine_refuses_more_rows_than_can_be_counted(method, weight):
    with refuses("sample_weight", match="divide by a constant"):
        BoltzmannMachine(method).fit(BITS, sample_weight=weight)
    with refuses("sample_weight", match="divide by a constant"):
        BoltzmannMachine().partial_fit(BITS, sample_weight=weight)


def test_tiny_weights_are_relative():
    couplings = BoltzmannMachine().fit(BITS, sample_weight=WEIGHT).couplings_
    tiny = BoltzmannMachine().fit(BITS, sample_weight=WEIGHT * 2.0**-1000)
    assert np.array_equal(tiny.couplings_, couplings)


@pytest.mark.parametrize("learner", [herder.NHERD, herder.AROW, herder.PassiveAggressive])
def test_a_learner_refuses_rates_beyond_floats(learner):
    with refuses("sample_weight", match="multiplied by C"):
        learner(C=100.0).fit(X, LABELS, sample_weight=np.full(40, 4e306))
    with refuses("class_weight", match="multiplied by C"):
        learner(C=100.0, class_weight={0: 1e307}).fit(X, LABELS)
    model = learner(C=100.0).fit(X, LABELS, sample_weight=np.full(40, 1e140))
    assert np.isfinite(model.coef_).all()


def test_real_arrays():
    assert real_array([1, None], "a").tolist()[0] == 1
    assert math.isnan(real_array([1, None], "a")[1])
    assert real_array(np.array([1], ">f8"), "a").dtype.isnative
    for wrong in ([1j], np.array([1j]), np.zeros(2, "M8[s]"), ["x"], [10**400], {}):
        with refuses("a", TypeError):
            real_array(wrong, "a")


def test_plain_arrays_keep_what_a_mask_hides_hidden():
    labels = np.ma.array(["x", "y"], mask=[True, False])
    assert plain_array(labels, "a").tolist() == [None, "y"]
    assert plain_array(np.ma.array([1, 2], mask=[False, True]), "a").tolist() == [1, None]
    given = np.ma.array([1.0, 2.0])
    assert np.shares_memory(plain_array(given, "a"), given)
