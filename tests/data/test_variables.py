"""Coding of tables: alphabets, round trips, and what is refused."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from herder.data.decoding import decode
from herder.data.intervals import Interval
from herder.data.variables import Variable, code_dtype, encode, unite
from tests.naming import refuses


def round_trip(X, **options):
    codes = encode(X, **options)
    return decode(codes.dense(slice(None)), codes.variables), codes


@pytest.mark.parametrize(
    "column",
    [
        np.array([3, 1, 2, 1]),
        np.array([3, 1, 2, 1], dtype=np.uint8),
        np.array([-128, 127, 0], dtype=np.int8),
        np.array([2**62, -(2**62), 2**53 + 1, 2**53]),
        np.array([0.5, 1.5, 0.5], dtype=np.float32),
        np.array([True, False, True]),
        np.array(["b", "a", "ccc"]),
        np.array([b"b", b"a"]),
        np.array(["b", 1, 2.5, "a"], dtype=object),
        np.array(["2020-01-02", "2019-05-06"], dtype="M8[D]"),
    ],
    ids=lambda column: str(column.dtype),
)
def test_numpy_columns_come_back_as_they_were(column):
    back, codes = round_trip({"a": column})
    assert back["a"].dtype == column.dtype
    assert back["a"].tolist() == column.tolist()
    assert codes.rows.dtype == np.int8


def test_arrays_have_numbered_columns():
    back, codes = round_trip(np.array([[0, 5], [1, 7], [0, 5]]))
    assert [v.name for v in codes.variables] == ["x0", "x1"]
    assert [v.values for v in codes.variables] == [(0, 1), (5, 7)]
    np.testing.assert_array_equal(codes.rows, [[0, 0], [1, 1], [0, 0]])
    assert back["x1"].tolist() == [5, 7, 5]


def test_pandas_columns():
    frame = pd.DataFrame(
        {
            "category": pd.Categorical(["u", None, "v"], categories=["v", "u", "unused"]),
            "nullable": pd.array([3, None, 4], dtype="Int64"),
            "flags": pd.array([True, None, False], dtype="boolean"),
            "objects": np.array(["p", None, "q"], dtype=object),
            "gaps": [1.0, np.nan, 2.0],
        }
    )
    back, codes = round_trip(frame, missing="category")
    assert [v.values for v in codes.variables] == [
        ("u", "v", None),
        (3, 4, None),
        (False, True, None),
        ("p", "q", None),
        (1.0, 2.0, None),
    ]
    assert back["category"].tolist() == ["u", None, "v"]
    # older pandas give such a column as objects, newer ones as floats
    assert [None if pd.isna(v) else v for v in back["nullable"]] == [3, None, 4]
    assert back["flags"].tolist() == [True, None, False]
    np.testing.assert_array_equal(back["gaps"], [1.0, np.nan, 2.0])


def test_polars_columns():
    frame = pl.DataFrame(
        {
            "category": pl.Series(["u", None, "v"], dtype=pl.Categorical),
            "enum": pl.Series(["low", "high", None], dtype=pl.Enum(["low", "mid", "high"])),
            "flags": pl.Series([True, None, True]),
            "numbers": pl.Series([1, None, 2]),
            "whole": pl.Series([4, 5, 6]),
            "days": [datetime.date(2020, 1, 2), None, datetime.date(2019, 1, 1)],
        }
    )
    back, codes = round_trip(frame, missing="category")
    values = {v.name: v.values for v in codes.variables}
    assert values["category"] == ("u", "v", None)
    assert set(values["enum"]) == {"low", "high", None}
    assert values["flags"] == (False, True, None)
    assert values["numbers"] == (1.0, 2.0, None)
    assert back["category"].tolist() == ["u", None, "v"]
    assert back["enum"].tolist() == ["low", "high", None]
    assert back["flags"].tolist() == [True, None, True]
    np.testing.assert_array_equal(back["numbers"], [1.0, np.nan, 2.0])
    assert back["whole"].dtype == np.int64
    assert back["days"].tolist() == frame["days"].to_list()


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_matrices_stay_sparse_and_untouched(kind):
    dense = np.array([[0, 1, 0], [1, 1, 0]])
    X = kind(dense)
    before = X.toarray().copy()
    back, codes = round_trip(X)
    assert sp.issparse(codes.rows)
    assert codes.rows.dtype == np.int8
    np.testing.assert_array_equal(np.column_stack(list(back.values())), dense)
    np.testing.assert_array_equal(X.toarray(), before)


def test_sparse_duplicates_are_added_before_they_are_judged():
    twice = sp.csr_matrix((np.array([1, 1]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    with pytest.raises(ValueError, match=r"X must hold 0 and 1 only .*got.*2"):
        encode(twice)
    assert twice.nnz == 2


def test_a_constant_switch_keeps_both_values():
    assert encode([[0], [0]]).variables[0].values == (0, 1)
    assert encode([[1.0], [1.0]]).variables[0].values == (0.0, 1.0)
    assert encode({"a": [True, True]}).variables[0].values == (False, True)
    assert encode([[7], [7]]).variables[0].values == (7,)


def test_many_values_need_int16():
    column = np.arange(300) % 200
    back, codes = round_trip({"a": column})
    assert codes.rows.dtype == np.int16
    assert back["a"].tolist() == column.tolist()
    assert code_dtype([Variable("a", tuple(range(127)))]) is np.int8
    assert code_dtype([Variable("a", tuple(range(128)))]) is np.int16


def test_known_alphabets_are_used_and_none_finds_its_own():
    known = Variable("a", ("y", "x", "z"))
    codes = encode({"a": ["x", "y"], "b": [8, 9]}, variables=[known, None])
    assert codes.variables == (known, Variable("b", (8, 9), "int64"))
    np.testing.assert_array_equal(codes.rows, [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="column 'a' must hold only 'y', 'x', 'z', got 'w'"):
        encode({"a": ["x", "w"]}, variables=[known])
    with refuses("X"):
        encode({"a": ["x"], "b": [1]}, variables=[known])
    with pytest.raises(ValueError, match="'a' must not have missing values"):
        encode({"a": ["x", None]}, variables=[known], missing="category")


def test_bins_are_quantiles_at_round_numbers():
    x = np.arange(100.0)
    codes = encode({"x": x, "few": np.arange(100) % 3}, bins=4)
    binned, few = codes.variables
    assert binned.edges == (27.0, 50.0, 77.0)  # within a tenth of a bin of 25, 50, 75
    assert " ".join(map(str, binned.values)) == "[0, 27) [27, 50) [50, 77) [77, 100)"
    assert np.bincount(codes.rows[:, 0]).tolist() == [27, 23, 27, 23]
    assert few.edges is None
    assert binned.code("[27, 50)") == 1
    assert binned.code(50) == 2
    with refuses("value of 'x'"):
        binned.code("-3")
    assert binned.code(12.0) == 0


def test_a_heavy_value_leaves_no_empty_bin():
    x = np.r_[np.zeros(90), np.arange(1, 11)]
    codes = encode({"x": x}, bins=5)
    (variable,) = codes.variables
    assert variable.values[0] == 0.0
    counts = np.bincount(codes.rows[:, 0], minlength=variable.n_values)
    assert (counts > 0).all()
    assert len(counts) == len(variable.edges or ()) + 1


def test_bins_with_missing_values_and_integers_as_objects():
    column = np.array([*range(20), None], dtype=object)
    codes = encode({"x": column}, bins={"x": 2}, missing="category")
    assert codes.variables[0].values == (Interval(0, 10, 0), Interval(10, 20, 0), None)
    assert codes.rows[:, 0].tolist() == [0] * 10 + [1] * 10 + [2]


@pytest.mark.parametrize(
    ("X", "options", "error", "words"),
    [
        ([[0.0, np.nan]], {}, ValueError, "X must not contain NaN.*column 'x1'.*row 0"),
        ([[0.0, np.inf]], {}, ValueError, "X must be finite.*x1"),
        (np.empty((0, 2)), {}, ValueError, "X must have at least 1 row"),
        (np.empty((2, 0)), {}, ValueError, "X must have at least 1 column"),
        ({}, {}, ValueError, "X must have at least 1 column"),
        ([[1, 2], [3]], {}, ValueError, "X must have rows of one length"),
        ({"a": [1, 2], "b": [1]}, {}, ValueError, r"X must have columns of one length.*\[1, 2\]"),
        ([1, 2, 3], {}, ValueError, r"X must be a table.*\(3,\).*Reshape your data"),
        (np.zeros((2, 2, 2)), {}, ValueError, r"X must be a table.*\(2, 2, 2\)"),
        ({"a": np.zeros((2, 2))}, {}, ValueError, r"X must have 1-D columns.*\(2, 2\) in 'a'"),
        (np.array([[1j]]), {}, TypeError, "X must be real, got complex128 in column 'x0'"),
        (
            np.linspace(0, 1, 99)[:, None],
            {},
            ValueError,
            r"'x0' must be categorical.*bins={'x0': 5}",
        ),
        (
            [[1]],
            {"bins": 1},
            ValueError,
            "bins must be 'auto' or whole numbers of at least 2, got 1",
        ),
        ([[1]], {"bins": 2.5}, ValueError, "bins must be .*whole numbers.*2.5"),
        ([[1]], {"bins": "many"}, ValueError, "bins must be 'auto' or whole numbers.*'many'"),
        ([[1]], {"bins": True}, ValueError, "bins must be 'auto' or whole numbers.*True"),
        ([[1]], {"bins": {"y": 3}}, ValueError, "bins must name columns of the table, got 'y'"),
        (
            {"a": ["u"]},
            {"bins": {"a": 3}},
            ValueError,
            "bins must name columns of numbers or dates.*'u'",
        ),
        ([[1]], {"missing": "drop"}, ValueError, "missing must be one of 'error', 'category'"),
        ([[1]], {"names": ["a", "b"]}, ValueError, r"names must have one name per column \(1\)"),
        ([[1, 2]], {"names": ["a", "a"]}, ValueError, "unique column names, got 'a' twice"),
        ({"a": [[1], [2, 3]]}, {}, ValueError, "X must have 1-D columns, got in 'a'"),
        (sp.csr_matrix((0, 3)), {}, ValueError, "X must have at least 1 row"),
        (
            sp.csr_matrix([[np.nan]]),
            {},
            ValueError,
            "X must hold 0 and 1 only when.*nan",
        ),
        (np.arange(40_000)[:, None], {}, ValueError, "'x0' must have fewer than 32767"),
    ],
)
def test_bad_tables_are_refused_by_name(X, options, error, words):
    with pytest.raises(error, match=words):
        encode(X, **options)


def test_unhashable_labels_are_refused():
    column = np.empty(2, dtype=object)
    column[:] = [{"a"}, {"b"}]
    with pytest.raises(TypeError, match="X must hold plain labels, got in column 'a'"):
        encode({"a": column})


def test_inputs_are_not_changed():
    X = np.array([[2, 0], [5, 1]])
    before = X.copy()
    encode(X)
    np.testing.assert_array_equal(X, before)


def test_code_of_a_label():
    assert Variable("a", (False, True)).code(1) == 1
    assert Variable("a", (5, 10)).code("10") == 1
    assert Variable("a", ("x", None)).code(None) == 1
    with pytest.raises(ValueError, match="value of 'a' must be one of 5, 10, got 7"):
        Variable("a", (5, 10)).code(7)
    with pytest.raises(ValueError, match="got 'None'"):
        Variable("a", ("x", None)).code("None")


def test_unite_gives_the_alphabet_of_all_rows():
    zero, pair = Variable("a", (0, 1), "int8"), Variable("a", (0, 2), "int64")
    assert unite(zero, pair, {0, 2}) == Variable("a", (0, 2), "int64")
    text = Variable("a", ("u",))
    assert unite(zero, text, {0, "u", None}) == Variable("a", (0, "u", None), "object")
    with refuses("parts"):
        unite(Variable("a", (1.0, 2.0), "float64", (1.5,)), pair, {0})
