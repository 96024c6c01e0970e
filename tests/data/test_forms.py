import re
import subprocess
import sys

import arviz_base
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from scipy import sparse

from herder.data.forms import locate
from herder.data.rows import read_rows
from tests.naming import refuses

RNG = np.random.default_rng(5)
DRAWS = {"mu": RNG.normal(size=(2, 5)), "theta": RNG.normal(size=(2, 5, 3))}
PICKS = np.array([7, 0, 4])


def posterior() -> xr.Dataset:
    return xr.Dataset(
        {
            "mu": (("chain", "draw"), DRAWS["mu"]),
            "theta": (("school", "chain", "draw"), np.moveaxis(DRAWS["theta"], 2, 0)),
        },
        coords={"chain": [1, 2], "draw": np.arange(10, 15), "school": ["a", "b", "c"]},
    )


def flat_draws() -> np.ndarray:
    return np.column_stack([DRAWS["mu"].reshape(10), DRAWS["theta"].reshape(10, 3)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_floats_are_not_copied(dtype, order):
    X = np.asarray(RNG.normal(size=(6, 2)), dtype=dtype, order=order)
    rows = read_rows(X)
    assert rows.values.dtype == dtype
    assert np.shares_memory(rows.values, X)
    assert rows.names == ("x0", "x1")
    assert rows.shape == (6,)
    assert rows.kind == "array"
    assert rows.n_rows == 6


@pytest.mark.parametrize(
    ("X", "dtype"),
    [
        ([[1, 2], [3, 4]], np.float64),
        ([[True, False]], np.float64),
        (np.ones((2, 2), np.uint8), np.float64),
        (np.ones((2, 2), np.float16), np.float32),
        (np.ones((2, 2), np.longdouble), np.float64),
        (np.ones((2, 2), ">f8"), np.float64),
        (np.ones((2, 2), ">f4"), np.float32),
        (np.array([[1, 2.5], [True, np.float32(3)]], dtype=object), np.float64),
    ],
)
def test_other_numbers_become_floats(X, dtype):
    rows = read_rows(X)
    assert rows.values.dtype == dtype
    assert rows.values.dtype.isnative
    assert np.array_equal(rows.values, np.asarray(X).astype(float))


def test_chains_are_flattened_chain_by_chain():
    X = RNG.normal(size=(2, 5, 3))
    rows = read_rows(X)
    assert rows.shape == (2, 5)
    assert rows.names == ("x0", "x1", "x2")
    assert np.array_equal(rows.values[7], X[1, 2])
    assert np.shares_memory(rows.values, X)
    deep = read_rows(RNG.normal(size=(2, 5, 2, 2)))
    assert deep.names == ("x[0, 0]", "x[0, 1]", "x[1, 0]", "x[1, 1]")


@pytest.mark.parametrize(
    ("X", "kind", "message"),
    [
        (np.zeros(5), ValueError, r"got shape (5,). Reshape your data: X.reshape(-1, 1) for"),
        (3.0, TypeError, "X must be an array, a frame or draws, got float"),
        ([[1.0], [2.0, 3.0]], ValueError, "X must have rows of one length"),
        (np.zeros((0, 3)), ValueError, "at least one row and one column, got 0 sample(s), 3"),
        (np.zeros((4, 0)), ValueError, "0 feature(s) (shape=(4, 0)) while a minimum of 1 is"),
        (np.zeros((2, 0, 3)), ValueError, "at least one row"),
        (np.zeros((2, 3, 0)), ValueError, "at least one row and one column"),
        ([["a", "b"]], ValueError, "got text in 'x0', text in 'x1'; leave them out,"),
        ([[1, "b"]], ValueError, "X must have columns of numbers only, got text in 'x0'"),
        (np.array([[1, "b"]], object), ValueError, "got objects in 'x1'; leave them out,"),
        (np.zeros((2, 2), "M8[D]"), ValueError, "dates in 'x0'"),
        (np.zeros((2, 2), complex), ValueError, "Complex data not supported"),
        (sparse.csr_matrix(np.eye(3)), TypeError, "X must be dense, got a sparse matrix"),
        (np.ma.masked_equal(np.eye(3), 0), ValueError, "no masked values, got 6"),
        (np.zeros(3, [("a", float)]), TypeError, "got a structured one"),
        (pd.Series([1.0]), TypeError, "X.to_frame() makes it one column"),
        (pl.LazyFrame({"a": [1.0]}), TypeError, "got a lazy frame: X.collect()"),
    ],
)
def test_what_is_not_a_table_of_numbers_is_refused(X, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        read_rows(X)


def test_pandas_of_one_float_is_not_copied():
    X = pd.DataFrame(RNG.normal(size=(5, 2)).astype(np.float32), columns=["a", "b"])
    rows = read_rows(X)
    assert rows.values.dtype == np.float32
    assert np.shares_memory(rows.values, X.to_numpy())
    assert rows.names == ("a", "b")
    assert rows.kind == "pandas"


def test_pandas_of_many_kinds():
    X = pd.DataFrame(
        {
            "a": np.array([1, 2], np.int8),
            "b": [True, False],
            "c": pd.array([3, 4], "Int64"),
            "d": pd.array([0.5, 1.5], "Float32"),
            "e": np.array([5, 6], np.float32),
            "f": pd.array([True, False], "boolean"),
            "g": pd.arrays.SparseArray([0.0, 7.0]),
            "h": pd.array([8.0, 9.0], "double[pyarrow]"),
        }
    )
    rows = read_rows(X)
    expected = [[1, 1, 3, 0.5, 5, 1, 0, 8], [2, 0, 4, 1.5, 6, 0, 7, 9]]
    assert rows.values.dtype == np.float64
    assert rows.values.tolist() == expected
    narrow = read_rows(X[["d", "e"]])
    assert narrow.values.dtype == np.float32
    assert narrow.values.tolist() == [[0.5, 5], [1.5, 6]]


def test_pandas_labels_that_are_not_text_or_not_distinct():
    X = pd.DataFrame([[1.0, 2, 3]], columns=pd.Index([0, ("a", "b"), "c"], dtype=object))
    assert read_rows(X).names == ("0", "a.b", "c")
    X = pd.DataFrame([[1.0, 2, 3]], columns=["a", "c", "c"])
    with refuses("X", match="have unique column names, got 'c' twice"):
        read_rows(X)


def test_text_dates_and_categories_are_refused_by_name():
    X = pd.DataFrame(
        {
            "x": [1.0],
            "town": ["Rome"],
            "day": pd.to_datetime(["2020-01-01"]),
            "size": pd.Categorical([1]),
            "thing": pd.Series([2], dtype=object),
        }
    )
    with refuses("X") as error:
        read_rows(X)
    text = str(error.value)
    for words in ("in 'town'", "datetime64", "in 'day'", "category in 'size'", "in 'thing'"):
        assert words in text
    assert "X.drop(columns=['town', 'day', 'size', 'thing']), or encode" in text


def test_polars_frames():
    X = pl.DataFrame({"a": [1, 2], "b": [True, False], "c": [0.5, 1.5]})
    rows = read_rows(X)
    assert rows.kind == "polars"
    assert rows.names == ("a", "b", "c")
    assert rows.values.tolist() == [[1, 1, 0.5], [2, 0, 1.5]]
    assert read_rows(X.select(pl.col("c").cast(pl.Float32))).values.dtype == np.float32
    odd = X.with_columns(town=pl.lit("Rome"), day=pl.lit("2020-01-01").str.to_date())
    with refuses("X", match=r"String in 'town', Date in 'day'; .*X.drop\(\['town', "):
        read_rows(odd)


@pytest.mark.parametrize(
    "X",
    [
        pytest.param(posterior(), id="dataset"),
        pytest.param(posterior().transpose("draw", "school", "chain"), id="turned"),
    ],
)
def test_posteriors_of_xarray(X):
    rows = read_rows(X)
    assert rows.names == ("mu", "theta[a]", "theta[b]", "theta[c]")
    assert rows.shape == (2, 5)
    assert np.array_equal(rows.values, flat_draws())
    picked = rows.take(X, PICKS)
    assert isinstance(picked, xr.Dataset)
    assert picked["theta"].dims[0] == "sample"
    assert picked["chain"].values.tolist() == [2, 1, 1]
    assert picked["draw"].values.tolist() == [12, 10, 14]
    assert np.array_equal(picked["mu"].values, flat_draws()[PICKS, 0])
    theta = picked["theta"].transpose("sample", "school").values
    assert np.array_equal(theta, flat_draws()[PICKS, 1:])


def test_trees():
    tree = xr.DataTree.from_dict({"posterior": posterior()})
    for X in (tree, tree["posterior"]):
        rows = read_rows(X)
        assert rows.names == ("mu", "theta[a]", "theta[b]", "theta[c]")
        assert np.array_equal(rows.values, flat_draws())
    with refuses("X"):
        read_rows(arviz_base.from_dict({"prior": DRAWS}))


def test_dataarrays_and_bare_dimensions():
    array = xr.DataArray(DRAWS["theta"], dims=("chain", "draw", "k"))
    rows = read_rows(array)
    assert rows.names == ("x[0]", "x[1]", "x[2]")
    assert np.shares_memory(rows.values, array.values)
    picked = rows.take(array, PICKS)
    assert isinstance(picked, xr.DataArray)
    assert picked.dims == ("sample", "k")
    assert picked["chain"].values.tolist() == [1, 0, 0]
    assert picked["draw"].values.tolist() == [2, 0, 4]
    assert read_rows(array.rename("theta")).names[0] == "theta[0]"


def test_one_chain_and_stacked_samples():
    one = posterior().isel(chain=1)
    rows = read_rows(one)
    assert rows.shape == (5,)
    assert rows.take(one, np.array([4, 1]))["draw"].values.tolist() == [14, 11]
    stacked = posterior().stack(sample=("chain", "draw"))
    rows = read_rows(stacked)
    assert rows.shape == (10,)
    assert np.array_equal(rows.values, flat_draws())
    assert rows.take(stacked, PICKS)["draw"].values.tolist() == [12, 10, 14]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (posterior().assign(c=1.0), r"got {'c': \(\)}; drop these with X.drop_vars\(\['c'\]\)"),
        (xr.DataArray(np.eye(3), dims=("a", "b")), "dimensions chain and draw"),
        (posterior().assign(t=(("chain", "draw"), np.full((2, 5), "u"))), "text in 't'; drop"),
        ({"a": np.zeros((2, 3)), "b": np.zeros((3, 2))}, r"got {'a': \(2, 3\), 'b': \(3, 2\)}"),
        ({}, "X must hold arrays"),
        ({"a": np.array(["u"])}, "text in 'a'; leave them out of the mapping"),
        ({"a": np.array([1.0, np.nan])}, "a mask over each array"),
    ],
)
def test_posteriors_that_cannot_be_read(X, message):
    with pytest.raises(ValueError, match=message):
        read_rows(X)


def test_mappings_of_draws_and_of_columns():
    rows = read_rows(DRAWS)
    assert rows.names == ("mu", "theta[0]", "theta[1]", "theta[2]")
    assert rows.shape == (2, 5)
    assert np.array_equal(rows.values, flat_draws())
    picked = rows.take(DRAWS, PICKS)
    assert np.array_equal(picked["theta"], DRAWS["theta"].reshape(10, 3)[PICKS])
    columns = {"a": [1, 2, 3], "b": np.ones(3, np.float32)}
    rows = read_rows(columns)
    assert (rows.shape, rows.names) == ((3,), ("a", "b"))
    assert rows.take(columns, np.array([2]))["a"].tolist() == [3]


def test_take_gives_each_form_back():
    X = RNG.normal(size=(10, 2))
    rows = read_rows(X)
    assert np.array_equal(rows.take(X, PICKS), X[PICKS])
    assert rows.take(X.tolist(), PICKS).tolist() == X[PICKS].tolist()
    labels = np.array(list("abcdefghij"))
    assert rows.take(labels, PICKS).tolist() == ["h", "a", "e"]
    frame = pd.DataFrame({"v": labels}, index=np.arange(100, 110))
    assert rows.take(frame, PICKS).index.tolist() == [107, 100, 104]
    assert rows.take(frame["v"], PICKS).tolist() == ["h", "a", "e"]
    assert rows.take(pl.DataFrame({"v": labels}), PICKS)["v"].to_list() == ["h", "a", "e"]
    assert rows.take(pl.Series(labels), PICKS).to_list() == ["h", "a", "e"]
    taken = rows.take(sparse.csc_array(X), PICKS)
    assert np.array_equal(taken.toarray(), X[PICKS])
    assert np.array_equal(rows.take(posterior(), PICKS)["mu"], flat_draws()[PICKS, 0])


def test_take_of_draws_flattens_chains():
    X = RNG.normal(size=(2, 5, 3, 2))
    rows = read_rows(X)
    assert np.array_equal(rows.take(X, PICKS), X.reshape(10, 3, 2)[PICKS])
    assert np.array_equal(rows.take(np.arange(10).reshape(2, 5), PICKS), PICKS)
    assert np.array_equal(rows.take(np.arange(10), PICKS), PICKS)
    assert rows.take(pd.DataFrame({"i": np.arange(10)}), PICKS)["i"].tolist() == PICKS.tolist()


@pytest.mark.parametrize(
    "table",
    [np.zeros(9), np.zeros((5, 2)), pd.DataFrame({"a": [1]}), posterior().isel(draw=[0]), 3.0],
)
def test_take_refuses_tables_that_are_not_aligned(table):
    rows = read_rows(RNG.normal(size=(2, 5, 3)))
    with refuses("table"):
        rows.take(table, PICKS)


def test_locate():
    chains, draws = locate(PICKS, (2, 5))
    assert chains.tolist() == [1, 0, 0]
    assert draws.tolist() == [2, 0, 4]
    with refuses("X"):
        locate(PICKS, (10,))


def test_reading_an_array_imports_no_other_library():
    code = (
        "import sys; from herder.data.rows import read_rows\n"
        "read_rows([[1.0], [2.0]]).take([[1], [2]], [0])\n"
        "print(*{n.partition('.')[0] for n in sys.modules} & "
        "{'pandas', 'polars', 'xarray', 'sklearn', 'numba', 'matplotlib'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
