import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import ks_2samp

from herder.kernel import comparison as module
from herder.kernel.comparison import compare_columns
from tests.naming import refuses

RNG = np.random.default_rng(11)
LEVELS = (0.025, 0.25, 0.5, 0.75, 0.975)

# Few distinct values, so that ties and constant columns are drawn often.
tables = arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(1, 3)),
    elements=st.one_of(st.sampled_from([0.0, 1.0, 0.1]), st.floats(-1e6, 1e6)),
)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_against_numpy_and_scipy(dtype, order):
    X = np.asarray(RNG.normal(2, 3, size=(301, 4)), dtype=dtype, order=order)
    X[:, 2] = np.round(X[:, 2])
    rows = RNG.choice(301, 40, replace=False)
    found = compare_columns(X, rows)
    wide = X.astype(float)
    assert np.allclose(found.mean_before, wide.mean(axis=0))
    assert np.allclose(found.mean_after, wide[rows].mean(axis=0))
    assert np.allclose(found.sd_before, wide.std(axis=0))
    assert np.allclose(found.sd_after, wide[rows].std(axis=0))
    how = "averaged_inverted_cdf"
    assert np.array_equal(found.quantiles_before, np.quantile(wide, LEVELS, axis=0, method=how))
    part = np.quantile(wide[rows], LEVELS, axis=0, method=how)
    assert np.array_equal(found.quantiles_after, part)
    tests: list[Any] = [ks_2samp(wide[:, j], wide[rows, j]) for j in range(4)]
    assert np.allclose(found.distance, [test.statistic for test in tests])
    change = (wide[rows].mean(axis=0) - wide.mean(axis=0)) / wide.std(axis=0)
    assert np.allclose(found.mean_change, change)
    largest = np.abs((part - found.quantiles_before) / wide.std(axis=0)).max(axis=0)
    assert (found.largest_change >= largest - 1e-12).all()


@given(tables, st.data())
def test_whole_weights_are_repeated_rows(X, data):
    n = len(X)
    counts = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    picks = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=6))
    times = data.draw(st.lists(st.integers(1, 3), min_size=len(picks), max_size=len(picks)))
    weighted = compare_columns(X, picks, np.array(times, float), np.array(counts, float))
    long = np.repeat(X, counts, axis=0)
    extended = np.vstack([long, np.repeat(X[picks], times, axis=0)])
    after = np.arange(len(long), len(extended))
    before = np.array([1.0] * len(long) + [0.0] * (len(extended) - len(long)))
    repeated = compare_columns(extended, after, None, before)
    scale = np.abs(X).max() + 1
    for name in ("mean_before", "mean_after", "sd_before", "sd_after"):
        # the square root of a rounding error in the variance
        assert np.allclose(getattr(weighted, name), getattr(repeated, name), atol=1e-7 * scale)
    assert np.array_equal(weighted.quantiles_before, repeated.quantiles_before)
    assert np.array_equal(weighted.quantiles_after, repeated.quantiles_after)
    assert np.allclose(weighted.distance, repeated.distance, atol=1e-12)
    how = "averaged_inverted_cdf"
    exact = np.quantile(long, LEVELS, axis=0, method=how)
    assert np.allclose(weighted.quantiles_before, exact, rtol=1e-15, atol=0)


@given(tables, st.booleans(), st.randoms(use_true_random=False))
def test_all_rows_in_any_order_lose_nothing(X, weighted, random):
    order = list(range(len(X)))
    random.shuffle(order)
    weight = np.arange(1.0, len(X) + 1) if weighted else None
    found = compare_columns(X, order, None if weight is None else weight[order], weight)
    scale = np.abs(X).max() + 1
    assert np.allclose(found.mean_after, found.mean_before, atol=1e-12 * scale)
    assert np.array_equal(found.quantiles_after, found.quantiles_before)
    assert (found.distance < 1e-12).all()
    assert not np.isnan(found.largest_change).any()
    if not weighted:
        assert found.random_change == 0


@given(tables, st.data())
def test_losses_follow_units_and_mirror(X, data):
    rows = data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=5))
    plain, turned = compare_columns(X, rows), compare_columns(-4 * X, rows)
    assert np.allclose(turned.mean_change, -plain.mean_change)
    assert np.allclose(turned.sd_change, plain.sd_change)
    # levels come in pairs p, 1 - p
    assert np.allclose(turned.quantile_change, -plain.quantile_change[::-1])
    assert np.allclose(turned.distance, plain.distance)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9, -3.3])
def test_constant_columns_have_no_change(value):
    X = np.full((1000, 1), value)
    found = compare_columns(X, [3, 7, 7], [0.2, 0.3, 0.7], RNG.random(1000))
    assert found.sd_before[0] == found.sd_after[0] == 0
    assert found.mean_after[0] == found.mean_before[0] == value
    assert found.largest_change[0] == 0
    assert found.distance[0] == pytest.approx(0, abs=1e-12)


def test_a_column_that_was_constant_but_for_rows_of_no_weight():
    found = compare_columns(np.array([[1.0], [1.0], [5.0]]), [2], None, np.array([1.0, 1.0, 0.0]))
    assert found.mean_change[0] == np.inf


def test_random_subsets_are_off_by_what_is_said():
    X = RNG.exponential(size=(60, 1))
    m = 12
    found = compare_columns(X, np.arange(m))
    means = [X[RNG.permutation(60)[:m]].mean() for _ in range(20_000)]
    spread = np.std(means) / X.std()
    assert found.random_change == pytest.approx(spread, rel=0.02)  # 1 / sqrt(2 * 20,000) = 0.5%
    weight = RNG.random(60)
    drawn = RNG.choice(60, size=(20_000, m), p=weight / weight.sum())
    mean = np.average(X[:, 0], weights=weight)
    sd = np.sqrt(np.average((X[:, 0] - mean) ** 2, weights=weight))
    spread = X[drawn, 0].mean(axis=1).std() / sd
    found = compare_columns(X, np.arange(m), None, weight)
    assert found.random_change == pytest.approx(spread, rel=0.02)
    assert compare_columns(X[:5], np.arange(5).repeat(2)).random_change == pytest.approx(10**-0.5)
    assert compare_columns(X[:1], [0]).random_change == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_independent_draws_by_other_code(weighted):
    whole = RNG.integers(0, 4, size=80).astype(float)
    X = np.column_stack([RNG.exponential(size=80), whole, np.ones(80)])
    rows, w, q = [3, 3, 70, 41, 12], np.ones(5), np.ones(80)
    if weighted:
        w, q = RNG.random(5), RNG.random(80)
    found = compare_columns(X, rows, w if weighted else None, q if weighted else None)
    ratios = {name: [] for name in ("means", "standard deviations", "quantiles")}
    for j in range(2):
        x = X[:, j]
        mean = np.average(x, weights=q)
        functions = {"means": [x], "standard deviations": [(x - mean) ** 2]}
        functions["quantiles"] = [(x <= v).astype(float) for v in found.quantiles_before[:, j]]
        for name, averaged in functions.items():
            own = []
            for f in averaged:
                variance = np.cov(f, aweights=q, ddof=0)
                error = np.average(f[rows], weights=w) - np.average(f, weights=q)
                own += [error**2 / variance] if variance > 1e-12 else []
            ratios[name].append(np.mean(own))
    expected = {name: 1 / np.mean(own) for name, own in ratios.items()}
    assert found.independent_draws == pytest.approx(expected)
    said = found.worth
    for name, number in expected.items():
        words = "at least all 80" if number >= 80 else f"{float(f'{number:.3g}'):,.0f}"
        assert f" {words} for {name}" in said


def test_random_rows_are_worth_as_many_independent_draws():
    X = np.column_stack([RNG.normal(size=4000), RNG.exponential(size=4000), RNG.random(4000)])
    m = 50
    subsets = [compare_columns(X, RNG.permutation(4000)[:m]) for _ in range(300)]
    for name in subsets[0].independent_draws:
        mean = np.mean([1 / one.independent_draws[name] for one in subsets])
        left = (4000 - m) / 3999  # rows are drawn without replacement
        # 300 means of three squares: the standard error is 5 %, 9 % for squares of exponentials
        assert mean * m / left == pytest.approx(1, abs=0.2)


def test_no_rows_are_worth_more_than_all_of_them():
    X = RNG.integers(0, 3, size=(12, 2)).astype(float)
    most = "at least all 24 for"
    said = (
        f"worth in independent draws, compared with all 24 rows: {most} means, {most} standard "
        f"deviations, {most} quantiles"
    )
    assert compare_columns(np.vstack([X, X]), np.arange(12)).worth == said
    line = np.arange(101.0)[:, None]
    near = compare_columns(line, [8, 29, 50, 71, 93])  # its mean is 50.2: (850 / 0.04) draws
    assert near.independent_draws["means"] == pytest.approx(21250)
    assert "compared with all 101 rows: at least all 101 for means, " in near.worth
    assert compare_columns(np.ones((5, 2)), [1]).worth == ""


def test_negative_weights_are_taken_as_they_are():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    found = compare_columns(X, [0, 1, 2, 3], [0.6, -0.2, 0.4, 0.4])  # sums to 1.2
    assert found.mean_after[0] == pytest.approx((-0.2 + 0.8 + 1.2) / 1.2)
    # F' = 1/2, 1/3, 2/3, 1, its running maximum 1/2, 1/2, 2/3, 1
    assert found.quantiles_after[:, 0].tolist() == [0, 0, 1, 3, 3]
    assert found.distance[0] == pytest.approx(max(1 / 2 - 1 / 4, 1 / 2 - 1 / 3))
    square = compare_columns(X, [0, 3, 1], [-0.4, -0.4, 1.8])
    assert square.sd_after[0] == 0


def test_columns_are_read_in_blocks(monkeypatch):
    X = RNG.normal(size=(50, 7))
    whole = compare_columns(X, [1, 2, 3])
    monkeypatch.setattr(module, "BLOCK_BYTES", 8 * 50 * 2)
    parts = compare_columns(X, [1, 2, 3])
    assert np.array_equal(whole.quantiles_after, parts.quantiles_after)
    assert np.array_equal(whole.sd_before, parts.sd_before)


def test_mapped_files(tmp_path):
    X = RNG.normal(size=(200, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert str(compare_columns(mapped, [0, 5])) == str(compare_columns(X, [0, 5]))


def skewed():
    X = RNG.normal(size=(100, 12))
    X[:, 4] = 0
    X[7, 4] = 50.0
    names = [f"col{j}" for j in range(11)] + ["a name that is far too long for a table"]
    return compare_columns(X, np.arange(7, 30), names=names)


def test_worst_columns_come_first():
    found = skewed()
    worst = found.worst(3)
    assert worst.names[0] == "col4"
    assert worst.n_others == 9
    severity = np.maximum(np.abs(found.mean_change), np.abs(found.sd_change))
    severity = np.maximum(severity, np.abs(found.quantile_change).max(axis=0))
    order = np.argsort(-np.maximum(severity, found.distance))[:3]
    assert worst.names == tuple(found.names[j] for j in order)
    assert np.array_equal(worst.quantiles_after, found.quantiles_after[:, order])
    assert found.worst(99).n_others == 0
    assert worst.worst(1).n_others == 11
    # the median of the second goes from 0.5 to 1, by one standard deviation; the mean by 0.2
    X = np.column_stack([np.arange(10.0), np.repeat([0.0, 1.0], 5)])
    assert compare_columns(X, [2, 4, 5, 6, 8]).worst(1).names == ("x1",)


def test_the_printed_table():
    lines = str(skewed()).splitlines()
    assert len(lines) == 13
    assert lines[0].startswith("23 of 100 rows: error per column")
    heads = "column mean sd 2.5% 25% 50% 75% 97.5% distance"
    assert lines[1].split() == heads.split()
    assert lines[2].startswith("col4")
    assert len({len(line) for line in lines[1:10]}) == 1
    assert lines[10] == "and 4 more columns with smaller errors"
    assert lines[11].endswith(
        "a random subset of that size has ±0.184 in a typical column"
    )  # sqrt(77 / 23 / 99)
    assert lines[12].startswith("worth in independent draws, compared with all 100 rows: ")
    short = str(compare_columns(np.eye(3), [0], names=["a", "b", "c" * 40]))
    assert "more columns" not in short
    assert "c" * 25 + "..." in short


def test_to_dict_is_plain_and_makes_a_frame():
    found = skewed()
    plain = json.loads(json.dumps(found.to_dict()))
    frame = pd.DataFrame(plain).set_index("column")
    assert frame.loc["col3", "mean_change"] == found.mean_change[3]
    assert frame.loc["col3", "q25_after"] == found.quantiles_after[1, 3]
    assert frame.loc["col3", "distance"] == found.distance[3]
    assert len(frame) == 12


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"indices": []}, "indices"),
        ({"quantiles": [0.5, 1.0]}, "quantiles"),
        ({"weights": [1.0, -1.0]}, "weights"),
        ({"sample_weight": np.zeros(3)}, "sample_weight"),
    ],
)
def test_what_is_refused(options, name):
    with refuses(name):
        compare_columns(np.eye(3), **{"indices": [0, 1], **options})
    with refuses("n"):
        compare_columns(np.eye(3), [0]).worst(0)
