"""`thin` and what it returns, against plain sums over all pairs."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

from herder import kernel_mean, mmd, thin
from herder.kernel import Gaussian, KernelMean, Stein
from herder.kernel.bandwidth import median_distance
from tests.kernel.plain import KINDS, default_lengths, gram, sample, squared_mmd
from tests.naming import refuses


def plain_gram(X, name="energy"):
    return gram(name, X, X, default_lengths(X, name), X.mean(axis=0))


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("path", ["numpy", "compiled"])
def test_the_mmd_is_exact(name, path, request):
    if path == "compiled":
        request.getfixturevalue("compiled")
    X = sample(90, 2)
    K = plain_gram(X, name)
    weight = np.random.default_rng(1).gamma(1.0, size=90)
    for mass in (None, weight):
        chosen = thin(X, 12, kernel=name, sample_weight=mass)
        expected = squared_mmd(K, chosen.indices, chosen.weights, mass)
        assert chosen.mmd**2 == pytest.approx(expected, abs=1e-12 * np.abs(K).max())
        again = mmd(X, X[chosen.indices], kernel=name, x_weight=mass)
        assert chosen.mmd == pytest.approx(again, rel=1e-6)
        assert chosen.mmd < chosen.mmd_random / 2
        np.testing.assert_array_equal(chosen.weights, np.full(12, 1 / 12))


@pytest.mark.parametrize("name", ["gaussian", "energy"])
def test_mmd_random_is_the_mean_over_all_subsets(name):
    X = sample(7, 2)
    K = plain_gram(X, name)
    mean = np.mean([squared_mmd(K, list(rows)) for rows in combinations(range(7), 3)])
    assert thin(X, 3, kernel=name).mmd_random == pytest.approx(np.sqrt(mean), rel=1e-10)
    assert thin(X, 7).mmd_random == 0


def test_mmd_random_with_weights_is_that_of_draws_in_proportion():
    X = sample(15, 2)
    weight = np.arange(15.0)
    K, rng = plain_gram(X), np.random.default_rng(2)
    draws = rng.choice(15, size=(20_000, 4), p=weight / weight.sum())
    mean = np.mean([squared_mmd(K, rows, None, weight) for rows in draws])
    found = thin(X, 4, sample_weight=weight).mmd_random
    assert found**2 == pytest.approx(mean, rel=0.03)  # four standard errors


def test_mmd_random_where_rows_come_again_is_that_of_draws_with_replacement():
    X = sample(6, 1)
    K = plain_gram(X)
    chosen = thin(X, 8, unique=False)
    expected = (K.diagonal().mean() - K.mean()) / 8
    assert chosen.mmd_random**2 == pytest.approx(expected, rel=1e-10)


def test_mmd_random_to_a_given_target():
    X = sample(12, 2)
    score = -X + 0.3
    rows = np.hstack([X, score])
    K, rng = Stein(1.0)(rows, rows), np.random.default_rng(3)
    values = [K[np.ix_(s, s)].mean() for s in rng.choice(12, size=(20_000, 3))]
    found = thin(X, 3, kernel=Stein(1.0), score=score).mmd_random
    assert found**2 == pytest.approx(np.mean(values), rel=0.03)


def test_distances_are_computed_when_asked_for(monkeypatch):
    chosen = thin(sample(50, 2), 5)
    assert not {"_reference", "_own"} & set(vars(chosen))
    first = chosen.mmd
    monkeypatch.setattr(type(chosen._candidates), "mean", None)  # would raise if called again
    assert chosen.mmd == first
    assert chosen.mmd_random > 0


def test_stands_for_an_array_of_row_numbers():
    X = sample(50, 3)
    chosen = thin(X, 6)
    assert len(chosen) == 6
    assert chosen.indices.dtype == np.intp
    assert list(chosen) == chosen.indices.tolist()
    assert all(isinstance(row, int) for row in chosen)
    assert chosen[0] == chosen.indices[0]
    assert chosen[-2:].tolist() == chosen.indices[-2:].tolist()
    array = np.asarray(chosen)
    assert array.tolist() == chosen.indices.tolist()
    array[0] = -1
    assert chosen.indices[0] >= 0
    np.testing.assert_array_equal(X[chosen], X[chosen.indices])
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pd.testing.assert_frame_equal(frame.iloc[chosen], frame.iloc[chosen.indices])
    wide = pl.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    for taken in (wide[chosen], wide[chosen, ["a", "b"]]):
        np.testing.assert_array_equal(taken.to_numpy(), X[chosen.indices, :2])
    assert wide["a"][chosen].to_list() == X[chosen.indices, 0].tolist()
    array = xr.DataArray(X, dims=("row", "column"))
    np.testing.assert_array_equal(array[chosen].values, X[chosen.indices])
    np.testing.assert_array_equal(array.isel(row=chosen).values, X[chosen.indices])
    assert repr(chosen) == "Thinning(6 of 50 rows)"


def test_takes_rows_in_the_form_of_the_table():
    frame = pd.DataFrame(sample(50, 2), columns=["a", "b"])
    chosen = thin(frame, 6)
    pd.testing.assert_frame_equal(chosen.take(frame), frame.iloc[chosen.indices])
    labels = np.arange(50)
    assert chosen.take(labels).tolist() == chosen.indices.tolist()


def test_chains_are_located():
    X = sample(60, 2).reshape(3, 20, 2)
    chosen = thin(X, 7)
    assert chosen.indices.tolist() == thin(X.reshape(60, 2), 7).indices.tolist()
    chain, draw = chosen.locate()
    np.testing.assert_array_equal(X[chain, draw], X.reshape(60, 2)[chosen.indices])
    posterior = xr.Dataset({"x": (("chain", "draw", "k"), X)})
    assert thin(posterior, 7).indices.tolist() == chosen.indices.tolist()
    with refuses("X"):
        thin(X.reshape(60, 2), 7).locate()


@pytest.mark.parametrize("refine", [True, False])
def test_the_path_is_the_mmd_of_the_first_rows(refine):
    X = sample(60, 2)
    K = plain_gram(X)
    chosen = thin(X, 10, refine=refine)
    expected = [np.sqrt(squared_mmd(K, chosen.indices[: t + 1])) for t in range(10)]
    np.testing.assert_allclose(chosen.path, expected, atol=1e-8)
    assert chosen.path[-1] == pytest.approx(chosen.mmd, rel=1e-6)


def test_column_errors_are_those_of_the_rows():
    X = sample(200, 3)
    chosen = thin(X, 20)
    loss = chosen.column_errors()
    np.testing.assert_allclose(loss.mean_after, X[chosen.indices].mean(axis=0))


def test_losses_know_negative_weights():
    X = sample(60, 3)
    aside = X[:, 0].argsort()[:6]
    chosen = thin(X, 6, weights="optimal", kernel=Gaussian(3.0), include=aside)
    assert chosen.weights.min() < 0
    shares = chosen.weights / chosen.weights.sum()
    np.testing.assert_allclose(chosen.column_errors().mean_after, shares @ X[chosen.indices])


@pytest.mark.parametrize("mode", ["simplex", "optimal"])
@pytest.mark.parametrize("name", ["gaussian", "energy"])
@pytest.mark.parametrize("path", ["numpy", "compiled"])
def test_weighted_choices(mode, name, path, request):
    if path == "compiled":
        request.getfixturevalue("compiled")
    X = sample(80, 2)
    K = plain_gram(X, name)
    weight = np.random.default_rng(4).gamma(1.0, size=80)
    chosen = thin(
        X, 10, kernel=name, weights=mode, sample_weight=weight, include=[3, 5], exclude=[0, 1]
    )
    assert len(set(chosen)) == 10
    assert {3, 5} <= set(chosen)
    assert not {0, 1} & set(chosen)
    expected = squared_mmd(K, chosen.indices, chosen.weights, weight)
    assert chosen.mmd**2 == pytest.approx(expected, abs=1e-12 * np.abs(K).max())
    equal = thin(X, 10, kernel=name, sample_weight=weight, include=[3, 5], exclude=[0, 1])
    assert chosen.mmd < equal.mmd
    if mode == "simplex":
        assert chosen.weights.min() >= 0
        assert chosen.weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("path", ["numpy", "compiled"])
def test_rows_may_come_again(path, request):
    if path == "compiled":
        request.getfixturevalue("compiled")
    X = sample(9, 2)
    chosen = thin(X, 30, unique=False)
    assert len(chosen) == 30
    assert chosen.mmd < 0.05
    assert np.bincount(chosen.indices, minlength=9).max() <= 6


@pytest.mark.parametrize("path", ["numpy", "compiled"])
def test_all_rows(path, request):
    if path == "compiled":
        request.getfixturevalue("compiled")
    X = sample(40, 2)
    for mode in ("uniform", "simplex", "optimal"):
        chosen = thin(X, 40, weights=mode)
        assert sorted(chosen) == list(range(40))
        assert chosen.mmd < 1e-7
        chosen.summary()


def test_weights_and_their_logarithms_agree():
    X = sample(70, 2)
    weight = np.random.default_rng(5).gamma(0.5, size=70)
    plain = thin(X, 8, sample_weight=weight)
    logs = thin(X, 8, log_weight=np.log(weight) - 1000)
    assert logs.indices.tolist() == plain.indices.tolist()
    assert logs.mmd == pytest.approx(plain.mmd, rel=1e-9)
    even = thin(X, 8, sample_weight=np.full(70, 3.0))
    assert even.mmd_random == thin(X, 8).mmd_random


def test_rows_without_weight_do_not_count():
    X = sample(70, 2)
    X[:20] += 50
    weight = np.r_[np.zeros(20), np.ones(50)]
    chosen = thin(X, 8, sample_weight=weight, kernel=Gaussian())
    assert chosen.indices.min() >= 20
    only = thin(X[20:], 8, kernel=Gaussian())
    assert chosen.mmd == pytest.approx(only.mmd, rel=1e-6)


def test_targets_of_ones_own():
    X = sample(80, 2)
    kernel = Gaussian(1.2)
    plain = thin(X, 9, kernel=kernel, refine=False)
    function = lambda points: kernel_mean(X, points, kernel=kernel)  # noqa: E731
    norm = float(kernel_mean(X, kernel=kernel).mean())
    for target in (kernel_mean(X, kernel=kernel), function, KernelMean(function)):
        chosen = thin(X, 9, kernel=kernel, refine=False, kernel_mean=target)
        assert chosen.indices.tolist() == plain.indices.tolist()
        assert np.isnan(chosen.mmd)
        assert np.isnan(chosen.mmd_random)
    aim = KernelMean(function, squared_norm=norm)
    known = thin(X, 9, kernel=kernel, refine=False, kernel_mean=aim)
    assert known.mmd == pytest.approx(plain.mmd, rel=1e-6)


def test_own_kernels():
    X = sample(80, 2)
    named = thin(X, 9, kernel="gaussian", bandwidth=1.2, standardise=False, refine=False)
    own = thin(X, 9, kernel=lambda A, B: Gaussian(1.2)(A, B), refine=False)
    assert own.indices.tolist() == named.indices.tolist()
    assert own.mmd == pytest.approx(named.mmd, rel=1e-9)


def test_stein_choices_are_exact():
    X = sample(70, 2)
    score = np.cos(X) - X
    rows = np.hstack([X, score])
    chosen = thin(X, 8, kernel="stein", score=score)
    kernel = Stein(X.std(axis=0) * median_distance(X / X.std(axis=0)))
    K = kernel(rows, rows)
    expected = np.sqrt(K[np.ix_(chosen.indices, chosen.indices)].mean())
    assert chosen.mmd == pytest.approx(expected, rel=1e-9)
    again = mmd(X[chosen], kernel=kernel, score=score[chosen])
    assert chosen.mmd == pytest.approx(again, rel=1e-9)
    assert thin(X, 8, kernel="stein", score=lambda x: np.cos(x) - x).mmd == chosen.mmd


def test_compiled_stein_choices_are_those_of_numpy(request):
    X = sample(70, 2)
    plain = thin(X, 8, kernel="stein", score=-X)
    request.getfixturevalue("compiled")
    assert thin(X, 8, kernel="stein", score=-X).indices.tolist() == plain.indices.tolist()


def test_sweeps_may_be_counted():
    X = sample(100, 2)
    values = [thin(X, 12, refine=refine).mmd for refine in (False, 1, 2, 20)]
    assert (np.diff(values) <= 1e-12).all()
    assert thin(X, 12).mmd < values[0]


def test_orders_are_nested_without_exchange():
    X = sample(100, 2)
    assert thin(X, 40, refine=False).indices[:7].tolist() == (
        thin(X, 7, refine=False).indices.tolist()
    )


def test_rows_that_are_settled():
    X = sample(60, 2)
    mask = np.zeros(60, dtype=bool)
    mask[[4, 9]] = True
    chosen = thin(X, 6, include=[50, 2], exclude=mask)
    assert chosen.indices[:2].tolist() == [50, 2]
    assert not {4, 9} & set(chosen)
    assert thin(X, 2, include=[50, 2]).indices.tolist() == [50, 2]


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_the_number_of_threads_changes_nothing(n_jobs, compiled):
    X = sample(120, 9)
    one, many = thin(X, 10, n_jobs=1), thin(X, 10, n_jobs=n_jobs)
    assert one.indices.tobytes() == many.indices.tobytes()
    assert one.mmd == many.mmd
    assert one.mmd_random == many.mmd_random


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "stein"},
        {"kernel": "energy", "y": np.arange(50) % 2},
        {"weights": "optimal"},
        {"approximate": "chunks"},
        {"standardise": False},
    ],
)
def test_the_input_is_left_alone(options):
    X, weight, include = sample(50, 2), np.arange(1.0, 51), np.array([1, 2])
    score = -X if options.get("kernel") == "stein" else None
    before = X.tobytes()
    for array in (X, weight, include):
        array.setflags(write=False)
    thin(X, 8, sample_weight=weight, include=include, score=score, **options).summary()
    assert X.tobytes() == before


def test_progress_is_told():
    told = []
    thin(sample(100, 2), 10, progress=lambda share, note: told.append((share, note)))
    assert all(0 < share <= 1 for share, _ in told)
    notes = {note for _, note in told}
    assert {"kernel mean", "herding", "exchange, sweep 1"} <= notes


@pytest.mark.parametrize(("n", "m"), [(1500, 60), (9000, 100)])
def test_a_given_mean_costs_no_quality(n, m):
    """Exchanges begin with the choice of a rough kernel for it as well."""
    rng = np.random.default_rng(7)
    centres = 2 * rng.normal(size=(4, 5))
    X = centres[rng.integers(4, size=n)] + rng.normal(size=(n, 5)) * rng.uniform(0.5, 1.5, (n, 1))
    kernel = Gaussian(2.5)
    mean = kernel_mean(X, kernel=kernel)
    aim = KernelMean(lambda points: mean, squared_norm=float(mean.mean()))
    known = thin(X, m, kernel=kernel)
    assert thin(X, m, kernel=kernel, kernel_mean=aim).mmd < 1.02 * known.mmd
