"""Bins of numbers and dates: where they begin and end, and what comes back from them."""

from datetime import date, datetime
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes

from herder import MomentHerder, Moments
from herder.data.binning import auto_bins
from herder.data.decoding import Decoder, decode
from herder.data.intervals import Interval, as_bins, inner_edges, read_dates, read_interval
from herder.data.variables import Variable, encode
from tests.naming import refuses


def bins(x, n: Any = "auto", **options):
    """Return the bins of a column as text."""
    (variable,) = encode({"x": x}, bins=n, **options).variables
    return [str(value) for value in variable.values]


def test_the_number_of_bins_leaves_eight_rows_to_a_cell():
    for rows, order, n in [(100, 2, 4), (800, 2, 10), (10**6, 2, 18), (800, 3, 4), (8000, 3, 10)]:
        assert auto_bins(rows, order) == n
    x = np.random.default_rng(0).normal(size=800)
    assert len(bins(x)) == 12  # and a bin of 5 % at either end
    shares = np.bincount(encode({"x": x}, bins="auto").rows[:, 0]) / 800
    assert shares[[0, -1]] == pytest.approx(0.05, abs=0.01)
    assert shares[1:-1] == pytest.approx(0.09, abs=0.02)


def test_few_distinct_values_stay_categories():
    x = np.arange(320) % 32 / 10
    assert encode({"x": x}, bins="auto").variables == encode({"x": x}).variables
    assert bins(np.arange(330) % 33)[:2] == ["[0, 2)", "[2, 7)"]
    mixed = encode({"x": np.arange(99.0), "y": np.arange(99.0)}, bins={"x": 3}).variables
    assert [v.n_values for v in mixed] == [3, 4]
    assert encode({"x": np.arange(99)}, bins={"x": 99}).variables[0].edges is None
    long = np.arange(99) + 2**60  # identifiers
    assert encode({"x": long}, bins="auto").variables[0].values == tuple(long.tolist())


def test_heavy_values_are_bins_and_come_back_exactly():
    rng = np.random.default_rng(0)
    odd = 0.1 + 0.2  # 17 digits
    x = np.where(rng.random(1000) < 0.5, odd, rng.normal(size=1000))
    (variable,) = encode({"x": x}, bins="auto").variables
    assert odd in variable.values
    out = MomentHerder().fit({"x": x}).sample(1000)["x"]
    assert (out == odd).mean() == pytest.approx((x == odd).mean(), abs=1e-3)
    hours = np.where(rng.random(1000) < 0.4, 40, rng.integers(1, 80, 1000))
    assert "40" in bins(hours)
    assert not any(text.startswith("[40,") for text in bins(hours))


@pytest.mark.parametrize(("n", "n_rows"), [(6, 1000), ("auto", 400)])
def test_a_point_mass_is_a_bin_also_if_it_does_not_fill_one(n, n_rows):
    rng = np.random.default_rng(1)
    pay = np.round(np.exp(rng.normal(10, 0.5, n_rows)), 2)
    pay[: round(0.11 * n_rows)] = 0
    assert bins(pay, n)[:1] == ["0.0"]
    out = MomentHerder(bins=n).fit({"x": pay}).sample(n_rows)["x"]
    assert (out == 0).mean() == pytest.approx(0.11, abs=2e-3)
    # frequent values among frequent ones are no point masses, nor are small shares
    assert all(text.startswith("[") for text in bins(rng.binomial(200, 0.1, 1200), 5))
    few, most = round(0.04 * n_rows), round(0.11 * n_rows)
    pay[few:most] = 500 + np.arange(most - few)
    assert bins(pay, n)[0].startswith("[")


def test_bins_beside_a_heavy_value_are_not_stretched():
    rng = np.random.default_rng(0)
    pay = np.round(np.exp(rng.normal(10, 0.5, 1000)), 2)
    pay[:200], pay[200] = 0, 0.01
    codes = encode({"x": pay}, bins="auto")
    first, second = codes.variables[0].values[:2]
    assert first == 0
    assert isinstance(second, Interval)
    assert second.start > 1000
    assert codes.rows[200, 0] == 1
    out = MomentHerder().fit({"x": pay}).sample(1000)["x"]
    assert np.quantile(out, 0.22) == pytest.approx(np.quantile(pay, 0.22), rel=0.05)
    since = np.where(np.arange(400) < 100, np.datetime64("1970-01-01"), DAYS)
    out = MomentHerder().fit({"x": since}).sample(400)["x"]
    assert (out == np.datetime64("1970-01-01")).sum() == pytest.approx(100, abs=1)
    assert out[out > np.datetime64("1970-01-01")].min() >= DAYS.min() - 5


def test_few_rows_beside_a_heavy_value_are_no_bin():
    x = np.r_[np.full(500, 7), np.full(500, 9), np.arange(1000) % 90 + 10, -3, -5, 8]
    assert bins(x)[:2] == ["7", "9"]
    assert encode({"x": x}, bins="auto").rows[-3:, 0].tolist() == [0, 0, 1]


@pytest.mark.parametrize("n", ["auto", 5])
def test_the_ends_do_not_depend_on_the_extremes(n):
    x = np.exp(np.random.default_rng(0).normal(10, 2, 1000)).round(2)
    far = x.copy()
    far[np.argsort(x)[-4:]] = [1e9, 2e9, 3e9, 12345678901.23]
    far[np.argsort(x)[:4]] = [0.01, 0.02, 0.03, 0.04]
    assert bins(x, n) == bins(far, n)
    ends = [float(end) for text in bins(far, n) for end in text.strip("[)").split(", ")]
    assert not {min(x), max(x), min(far), max(far)} & set(ends)


def test_bounds_that_many_rows_share_are_kept():
    rng = np.random.default_rng(0)
    age = np.clip(rng.normal(40, 15, 2000).astype(int), 18, None)
    assert bins(age[age != 18])[0].startswith("[19, ")
    score = np.round(100 * rng.beta(5, 1, 2000), 4)
    score[:10] = 100
    assert bins(score)[-1].endswith(", 100.0001)")
    assert bins(rng.exponential(size=500))[0].startswith("[0.0")  # numbers that are not negative


def test_values_have_the_decimals_of_the_column():
    rng = np.random.default_rng(0)
    money = np.round(rng.lognormal(3, 1, 500), 2)
    out = MomentHerder().fit({"x": money}).sample(500)["x"]
    np.testing.assert_array_equal(out, np.round(out, 2))
    whole = rng.integers(0, 500, 500).astype(np.int16)
    out = MomentHerder().fit(pd.DataFrame({"x": whole})).sample(500)["x"]
    assert out.dtype == np.int16
    small = np.r_[np.full(5, 127), rng.integers(-128, 128, 500)].astype(np.int8)
    assert bins(small)[0].startswith("[-128, ")
    assert bins(small)[-1].endswith(", 128)")
    single = rng.normal(size=500).astype(np.float32).round(1)
    out = MomentHerder().fit({"x": np.r_[single, (single * 7).round(1)]}).sample(500)["x"]
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, out.round(1))


DAYS = np.datetime64("2020-01-01") + np.random.default_rng(0).integers(0, 700, 400)


@pytest.mark.parametrize(
    "dates",
    [
        DAYS,
        DAYS.astype("M8[ns]"),
        DAYS.astype("M8[s]") + 3600 * np.arange(400),
        DAYS.astype(str).astype(object),
        np.array([f"{day} 00:00:00" for day in DAYS], object),
        np.array([f"{day}T12:{k % 60:02}" for k, day in enumerate(DAYS)], object),
        np.array([f"{day} 12:00:{k % 60:02}" for k, day in enumerate(DAYS)], object),
        DAYS.astype(object),
        np.array([datetime(2020, 1, 1, k % 24, k % 7) for k in range(400)], object),
    ],
)
def test_dates_come_back_as_dates(dates):
    frame = pd.DataFrame({"x": dates})
    (variable,) = encode(frame, bins="auto").variables
    assert variable.edges is not None
    out = MomentHerder().fit(frame).sample(400)
    assert out["x"].dtype == frame["x"].dtype
    assert {type(value) for value in out["x"]} == {type(value) for value in frame["x"]}
    if isinstance(dates[0], str):  # in the same form
        assert {len(text) for text in out["x"]} == {len(dates[0])}
        assert {text[10:11] for text in out["x"]} == {dates[0][10:11]}
    old, new = (pd.to_datetime(table["x"]) for table in (frame, out))
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    gap = np.abs(old.quantile(levels) - new.quantile(levels)) / (old.max() - old.min())
    assert gap.max() < 0.03  # a third of a bin
    if (old == old.dt.normalize()).all():
        assert (new == new.dt.normalize()).all()
    assert new.nunique() > 100


def test_polars_columns_keep_their_types():
    rng = np.random.default_rng(0)
    gaps = pl.Series([None if k % 10 == 0 else k for k in range(400)], dtype=pl.Int64)
    frame = pl.DataFrame(
        {"day": DAYS, "single": rng.normal(size=400).astype(np.float32), "gaps": gaps}
    )
    out = MomentHerder(missing="category").fit(frame).sample(400)
    assert out.schema == frame.schema
    assert out["gaps"].null_count() == 40
    assert out["gaps"].median() == pytest.approx(200, abs=5)


def test_texts_that_are_no_dates_are_not_binned():
    assert read_dates(["2020-02-30"]) is None
    assert read_dates(["2020-01-01", "soon"]) is None
    assert read_dates(["2020-01-01 00:00", "2020-01-01T00:00"]) is None
    assert read_dates([pd.Timestamp("2020-01-01", tz="UTC")]) is None
    assert read_dates([]) is None
    assert encode({"x": [f"2020-{k}" for k in range(99)]}, bins="auto").variables[0].edges is None
    known = encode({"x": DAYS}, bins="auto").variables
    with pytest.raises(ValueError, match="column 'x' must hold dates, got 'soon'"):
        encode({"x": ["soon"]}, variables=known)
    assert known[0].code("2020-01-02") == known[0].code(date(2020, 1, 2)) == 0
    for label in (np.datetime64("2030-01-01"), "soon"):
        with refuses("value of 'x'", match="must lie in one of its bins"):
            known[0].code(label)


DIABETES: Any = load_diabetes(as_frame=True, scaled=False)
CANCER: Any = load_breast_cancer(as_frame=True)
REAL = {"diabetes": DIABETES.frame, "breast cancer": CANCER.frame}


@pytest.mark.parametrize("name", REAL)
def test_quantiles_of_real_columns_hold(name):
    table = {str(column): REAL[name][column].to_numpy() for column in list(REAL[name])[:11]}
    n = len(next(iter(table.values())))
    model = MomentHerder().fit(table)
    out = model.sample(n)
    for variable in model.moments_.variables:
        if variable.edges is None:
            continue
        old, new = table[variable.name], out[variable.name]
        assert new.dtype == old.dtype
        for level in (0.05, 0.25, 0.5, 0.75, 0.95):
            # the share of the table below the quantile is right to a third of a bin of 13 %
            at = np.quantile(new, level)
            assert (old < at).mean() - 0.043 <= level <= (old <= at).mean() + 0.043
    assert {v.name for v in model.moments_.variables if v.edges is None} <= {"sex", "s4", "target"}


def test_points_within_bins_are_even_and_independent_of_other_columns():
    # 24 columns of equal bins, all of them visited in step: the worst case
    variables = [Variable(f"x{j}", (Interval(0, 2**20, 0),), "int64", ()) for j in range(24)]
    n = 1000
    columns = decode(np.zeros((n, 24), int), variables)
    u = np.column_stack(list(columns.values())) / 2**20
    for column in u.T:
        gaps = np.sort(column) - np.arange(n) / n
        assert np.abs(gaps).max() < 0.01  # random ones: 0.04
        for k in (0, 256, 512):  # one point in each 256th part
            assert len(set((column[k : k + 256] * 256).astype(int))) == 256
    correlations = np.asarray(np.corrcoef(u.T))[np.triu_indices(24, 1)]
    assert np.abs(correlations).max() < 4.5 / np.sqrt(n)  # as the largest of 276 random ones
    tables = [np.histogram2d(u[:, a], u[:, b], 4)[0] for a, b in combinations(range(24), 2)]
    assert np.mean([((t - n / 16) ** 2).sum() / (n / 16) for t in tables]) < 15  # random: 15


def test_parts_decode_as_the_whole():
    rng = np.random.default_rng(0)
    codes = encode({"a": rng.normal(size=300), "b": np.arange(300) % 3}, bins="auto")
    whole = decode(codes.rows, codes.variables)
    decoder = Decoder(codes.variables)
    parts = [decoder.columns(codes.rows[k : k + 37]) for k in range(0, 300, 37)]
    for name, column in whole.items():
        np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), column)


def table_of_measurements(n=500):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, n)
    income = np.where(rng.random(n) < 0.3, 0.0, np.round(rng.lognormal(9 + age / 90, 1, n), 2))
    return {"age": age, "income": income, "kind": rng.choice(["a", "b"], n)}


def test_sample_stream_chunks_and_files_agree(monkeypatch):
    table = table_of_measurements()
    model = MomentHerder().fit(table)
    whole = model.sample(700)
    short, stream = model.sample(50), model.stream()
    rows = [next(stream) for _ in range(700)]
    monkeypatch.setattr("herder.fields.synthesis.CHUNK_CELLS", 3 * 64)
    chunks = list(model.synthesise(700).chunks())
    assert len(chunks) == 11
    again = MomentHerder.from_state(*model.to_state()).sample(700)
    for name, column in whole.items():
        np.testing.assert_array_equal(short[name], column[:50])
        np.testing.assert_array_equal([row[name] for row in rows], column)
        np.testing.assert_array_equal(np.concatenate([chunk[name] for chunk in chunks]), column)
        np.testing.assert_array_equal(again[name], column)
    assert model.average(lambda rows: rows["age"], 700) == pytest.approx(whole["age"].mean())
    chosen = model.sample(40, where={"income": 0})
    parts = list(model.synthesise(40, where={"income": 0}).chunks())
    np.testing.assert_array_equal(chosen["age"], np.concatenate([part["age"] for part in parts]))
    assert (chosen["income"] == 0).all()


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
def test_files_of_counts_keep_the_bins(tmp_path, suffix):
    table = table_of_measurements() | {"when": DAYS[np.arange(500) % 400]}
    moments = Moments.from_data(table)
    moments.save(tmp_path / f"m{suffix}")
    loaded = Moments.load(tmp_path / f"m{suffix}")
    assert [v.values for v in loaded.variables] == [v.values for v in moments.variables]
    assert [v.edges for v in loaded.variables] == [v.edges for v in moments.variables]
    assert [v.dtype for v in loaded.variables] == ["int64", "float64", "object", "datetime64[D]"]
    np.testing.assert_array_equal(loaded.counts, moments.counts)
    out, expected = (MomentHerder().fit_moments(m).sample(99) for m in (loaded, moments))
    for name in table:
        np.testing.assert_array_equal(out[name], expected[name])


def test_bins_can_be_typed():
    rows = [
        {"variable_a": "age", "value_a": "[65.0, 90)", "count": 20},
        {"variable_a": "age", "value_a": "[18, 65)", "count": 70},
        {"variable_a": "age", "value_a": "(missing)", "count": 10},
    ]
    (variable,) = Moments.from_counts(rows, total=100).variables
    assert variable.values == (Interval(180, 650, 1), Interval(650, 900, 1), None)
    rows[0]["value_a"] = "[65, 90)"
    moments = Moments.from_counts(rows, total=100)
    assert moments.table(("age",)).tolist() == [70, 20, 10]
    out = MomentHerder().fit_moments(moments).sample(100)["age"]
    assert [type(value) for value in out].count(int) == 90
    assert out[[value is not None for value in out]].max() < 90
    for wrong, words in [("[60, 90)", "bins that do not overlap"), ("old", "got old.*quotes")]:
        rows[0]["value_a"] = wrong
        with pytest.raises(ValueError, match=words):
            Moments.from_counts(rows, total=100)
    rows[1]["value_a"] = rows[0]["value_a"] = "'[18, 65)'"
    rows[0]["value_a"] = "old"
    assert "[18, 65)" in Moments.from_counts(rows, total=100).variables[0].values


@given(
    st.integers(-(10**18), 10**18 - 1),
    st.integers(1, 10**18),
    st.integers(-20, 20) | st.sampled_from(["D", "m", "s", "us"]),
)
def test_bins_are_read_as_they_are_written(low, width, scale):
    if isinstance(scale, str):
        low, width = low % 10**6, width % 10**6 + 1
    interval = Interval(low, min(low + width, 10**18), scale)
    assert read_interval(str(interval)) == interval


def test_what_is_no_bin_is_refused():
    for text in ("[2, 1)", "[1, 1)", "(1, 2]", "[a, b)", "[1, 2020-01-01)", "[1, 2, 3)", "[, 1)"):
        assert read_interval(text) is None
    for parts in [(1, 1, 0), (0, 1, "W"), (0.5, 1, 0), (0, 2**63, 0), (0, 1, 400), (0, 1, True)]:
        with pytest.raises(ValueError, match="must be"):
            Interval(*parts)
    with pytest.raises(ValueError, match="bins of dates in one form"):
        as_bins([Interval(0, 1, 0), Interval(5, 6, "D")], "x")
    assert inner_edges([Interval(0, 4, 1), Interval(5, 9, 1), 2, None]) == (0.5, 2.0)
    assert inner_edges([Interval(-1, 0, "D"), Interval(5, 9, "D")]) == (0.0,)
    assert inner_edges([2, Interval(5, 9, 0)]) == (np.nextafter(2, 3),)


@given(st.lists(st.floats(-1e308, 1e308, width=64), min_size=40, max_size=60, unique=True))
@example(
    [
        *map(float, range(-5, 23)),
        *(2.0**-k for k in range(1, 8)),
        *(0.75, 0.875, 1.7594015114500432e16, -1.0000000000000002e301, -1.2400000000000002e303),
    ]
)
def test_any_numbers_have_bins_that_hold_values(numbers):
    codes = encode({"x": numbers}, bins="auto")
    (variable,) = codes.variables
    assert variable.edges is not None
    assert (np.diff(variable.edges) > 0).all()
    out = decode(codes.rows, codes.variables)["x"]
    assert np.isfinite(out).all()
    again = encode({"x": out}, variables=codes.variables).rows
    np.testing.assert_array_equal(again, codes.rows)
