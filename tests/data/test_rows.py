import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from herder.data import rows as inputs
from herder.data.rows import read_choice, read_labels, read_rows, read_weights
from tests.naming import refuses


def test_mapped_files_stay_mapped_and_are_checked_in_blocks(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.zeros((300_000, 20), dtype=np.float32))  # 24 MB
    X = np.load(path, mmap_mode="r")
    tracemalloc.start()
    rows = read_rows(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.shares_memory(rows.values, X)
    assert peak < 2**20  # no copy of the table, not even of a block
    picked = rows.take(X, np.array([7, 0, 4]))
    assert type(picked) is np.ndarray
    assert picked.shape == (3, 20)


def test_nan_is_named_counted_and_placed():
    X = np.zeros((6, 3))
    X[2:, 1] = np.nan
    with refuses("X", match="NaN in 4 rows of column 'x1', first in row 2") as error:
        read_rows(X)
    assert "Drop these rows with X[np.isfinite(X).all(axis=1)]" in str(error.value)


def test_bad_values_are_found_beyond_the_first_block(monkeypatch):
    monkeypatch.setattr(inputs, "BLOCK_CELLS", 8)
    X = np.zeros((50, 2), dtype=np.float32)
    X[[33, 47], 0] = np.inf
    with refuses("X", match="infinite values in 2 rows of column 'x0', first in row"):
        read_rows(X)
    X[40] = np.nan
    with refuses("X", match="NaN in 1 row of column 'x0', first in row 40; in 1 row"):
        read_rows(X)


def test_many_bad_columns_are_summed_up():
    with refuses("X", match="and in 4 more columns"):
        read_rows(np.full((2, 7), np.nan))


def test_bad_draws_are_placed_by_chain_and_draw():
    X = np.zeros((2, 5, 1))
    X[1, 3] = -np.inf
    with refuses("X", match="first in chain 1, draw 3"):
        read_rows(X)


def test_values_whose_squares_overflow_are_refused():
    with refuses("X", match=r"beyond 1e\+150, .* in 1 row of column 'x0'.*Divide"):
        read_rows([[1.0], [-2e150]])
    largest = read_rows([[1e150], [-1e150]]).values
    assert np.isfinite(np.sum((largest[0] - largest[1]) ** 2) * 1e6)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"a": [1.0, np.nan], "b": [1, 2]}), "'a', first in row 1. Drop .* X.dropna"),
        (pd.DataFrame({"a": pd.array([1, None], "Int64")}), "NaN in 1 row of column 'a'"),
        (pd.DataFrame({"a": pd.array([True, None], "boolean")}), "NaN in 1 row of column 'a'"),
        (pd.DataFrame({"a": [1.0, np.inf]}), r"X.replace\(\[np.inf, -np.inf\], np.nan\).dropna"),
        (pl.DataFrame({"a": [1, None]}), "NaN in 1 row of column 'a', first in row 1. .*filter"),
        (pl.DataFrame({"a": [None, None]}), "NaN in 2 rows of column 'a'"),
    ],
)
def test_gaps_in_frames_name_the_method_that_helps(frame, message):
    with pytest.raises(ValueError, match=message):
        read_rows(frame)


@given(st.lists(st.floats(-1000, 1000), min_size=2, max_size=20))
def test_logarithms_and_weights_agree(logs):
    n = len(logs)
    found = read_weights(None, logs, n)
    if len(set(logs)) == 1:
        assert found is None
        return
    exact = np.exp(np.longdouble(logs) - np.longdouble(max(logs)))
    if found is None:  # differences below the last digit of exp
        assert np.ptp(exact.astype(float)) == 0
        return
    assert found.sum() == pytest.approx(1)
    assert np.allclose(found, (exact / exact.sum()).astype(float), rtol=1e-9, atol=0)
    plain = read_weights(np.exp(np.array(logs) - max(logs)), None, n)
    assert plain is not None
    assert np.allclose(found, plain)
    shifted = read_weights(None, np.array(logs) + 1e4, n)
    assert shifted is None or np.allclose(shifted, found, rtol=1e-9)


def test_weights_of_many_forms():
    assert read_weights(None, None, 3) is None
    assert read_weights([2, 2, 2], None, 3) is None
    assert read_weights(np.full(3, True), None, 3) is None
    expected = [0.25, 0.75]
    for given_ in ([1, 3], [[1], [3]], pd.Series([1, 3]), pl.Series([1.0, 3.0])):
        assert np.array_equal(read_weights(given_, None, 2), expected)  # type: ignore[arg-type]
    huge = read_weights([1e308, 1e308, 0.0], None, 3)
    assert huge is not None
    assert huge.tolist() == [0.5, 0.5, 0]
    assert read_weights(None, [-np.inf, -5e5], 2).tolist() == [0, 1]  # type: ignore[union-attr]


def test_weights_of_draws_follow_the_rows():
    weight = np.arange(1.0, 11).reshape(2, 5)
    expected = np.arange(1.0, 11) / 55
    assert np.allclose(read_weights(weight, None, 10, (2, 5)), expected)  # type: ignore[arg-type]
    turned = xr.DataArray(weight.T, dims=("draw", "chain"))
    assert np.allclose(read_weights(turned, None, 10, (2, 5)), expected)  # type: ignore[arg-type]
    with refuses("sample_weight"):
        read_weights(weight.T, None, 10, (2, 5))


@pytest.mark.parametrize(
    ("weight", "log", "kind", "message"),
    [
        ([1, 2], [1, 2], ValueError, "sample_weight must be None when log_weight is given"),
        ([1, 2, 3], None, ValueError, r"one value per row, shape \(2,\), got shape \(3,\)"),
        ([1, -2], None, ValueError, "be finite and not negative, got -2.0 in row 1"),
        ([np.nan, 2], None, ValueError, "got nan in row 0"),
        ([np.inf, 2], None, ValueError, "got inf in row 0"),
        ([0, 0], None, ValueError, "more than zero for some row, got 0.0 for all"),
        (["a", "b"], None, TypeError, "sample_weight must hold numbers"),
        (None, [np.nan, 2], ValueError, "log_weight must hold finite logarithms.*got nan"),
        (None, [np.inf, 2], ValueError, "got inf in row 0"),
        (
            None,
            [-np.inf] * 2,
            ValueError,
            "log_weight must be finite for some row, got -inf for all",
        ),
    ],
)
def test_weights_that_cannot_be(weight, log, kind, message):
    with pytest.raises(kind, match=message):
        read_weights(weight, log, 2)


@pytest.mark.parametrize(
    "y",
    [
        ["b", "a", "b"],
        np.array(["b", "a", "b"], object),
        pd.Series(["b", "a", "b"]),
        pd.Series(["b", "a", "b"], dtype="category"),
        pd.DataFrame({"y": ["b", "a", "b"]}),
        pl.Series(["b", "a", "b"]),
        pl.DataFrame({"y": ["b", "a", "b"]}),
    ],
)
def test_labels_of_many_forms(y):
    classes, codes = read_labels(y, 3)
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]
    assert codes.dtype == np.intp


def test_labels_may_be_whole_numbers():
    assert read_labels([2.0, 7.0, 2.0], 3)[1].tolist() == [0, 1, 0]
    assert read_labels([True, False], 2)[0].tolist() == [False, True]


@pytest.mark.parametrize(
    ("y", "kind", "message"),
    [
        ([1, 2], ValueError, "y must have one value per row"),
        ([1.0, 2.5, 3.0], ValueError, "y must hold text or whole numbers, got 2.5 in row 1"),
        ([1.0, np.nan, 3.0], ValueError, "got nan in row 1"),
        (["a", None, None], ValueError, "none in 2 rows, first in row 1"),
        (pd.Series([1, None, 3], dtype="Int64"), ValueError, "in row 1"),
        (np.array(["a", pd.NA, "b"], object), ValueError, "none in 1 row, first in row 1"),
        (np.array(["a", 1, 2], object), TypeError, "labels of one kind, got int, str"),
        (np.zeros(3, "M8[D]"), TypeError, "text or whole numbers, got dtype datetime64"),
    ],
)
def test_labels_that_cannot_be(y, kind, message):
    with pytest.raises(kind, match=message):
        read_labels(y, 3)


def test_rows_forced_in_and_excluded():
    forced, excluded = read_choice([5, 2], [False, True, False, True, False, False], 6, 3)
    assert forced.tolist() == [5, 2]
    assert excluded.tolist() == [1, 3]
    forced, excluded = read_choice(None, [], 6, 3)
    assert len(forced) == len(excluded) == 0
    assert forced.dtype == excluded.dtype == np.intp


@pytest.mark.parametrize(
    ("include", "exclude", "kind", "message"),
    [
        ([1, 1], None, ValueError, "include must hold each row once, got 1 twice"),
        ([6], None, ValueError, "include must hold row numbers from 0 to 5, got 6"),
        (None, [-1], ValueError, "exclude must hold row numbers from 0 to 5, got -1"),
        ([1.0], None, TypeError, "include must hold row numbers, or a mask"),
        ([[1]], None, TypeError, "include must hold row numbers"),
        ([True, False], None, ValueError, "include must have 6 values as a mask"),
        ([1, 2], [2, 3], ValueError, "exclude must not hold rows of include, got row 2 in both"),
        ([0, 1, 2, 3], None, ValueError, "at most n_select rows, 3, got 4"),
        (None, np.ones(6, bool), ValueError, "exclude must leave a row to choose, got all 6"),
    ],
)
def test_bad_choices_are_refused(include, exclude, kind, message):
    with pytest.raises(kind, match=message):
        read_choice(include, exclude, 6, 3)
