import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from herder.data.states import check_alphabet, read_codes
from herder.learn.boltzmann import BoltzmannMachine
from herder.learn.rows import merge_rows
from tests.naming import refuses

ROWS = np.array([[0, 1, 1], [1, 0, 1], [0, 0, 0], [0, 1, 1]])


@pytest.mark.parametrize(
    "X",
    [
        ROWS,
        ROWS.tolist(),
        ROWS.astype(bool),
        ROWS.astype(np.float32),
        ROWS.astype(np.uint8),
        pd.DataFrame(ROWS, columns=list("abc")),
        pd.DataFrame(ROWS.astype(bool), columns=list("abc")),
        pl.DataFrame(ROWS, schema=list("abc")),
        sparse.csr_matrix(ROWS),
        sparse.csc_array(ROWS.astype(float)),
    ],
)
def test_tables_of_all_kinds_are_read(X):
    codes, states = read_codes(BaseEstimator(), X, "auto")
    np.testing.assert_array_equal(codes, ROWS)
    assert codes.dtype == np.uint8
    assert states == (0, 1)


def test_signs_are_found_and_asked_for(monkeypatch):
    codes, states = read_codes(BaseEstimator(), 2 * ROWS - 1, "auto")
    np.testing.assert_array_equal(codes, ROWS)
    assert states == (-1, 1)
    assert read_codes(BaseEstimator(), np.ones((2, 2)), "auto")[1] == (0, 1)
    assert read_codes(BaseEstimator(), np.ones((2, 2)), (-1, 1))[1] == (-1, 1)
    assert read_codes(BaseEstimator(), np.ones((2, 2)), [-1, 1])[1] == (-1, 1)
    monkeypatch.setattr("herder.data.states.BLOCK", 3)  # what is there may be in the last row
    rows = np.array([[1, 1, 1], [1, 1, 1], [-1, 1, 1]])
    codes, states = read_codes(BaseEstimator(), rows, "auto")
    np.testing.assert_array_equal(codes, rows > 0)
    assert states == (-1, 1)


@pytest.mark.parametrize(
    ("X", "states", "message"),
    [
        ([[0, 2]], "auto", "X must hold 0 or 1, or -1 or 1, only, got 2; binarize="),
        ([[0, 0.5]], (0, 1), "X must hold 0 or 1 only, got 0.5; binarize="),
        ([[0, 1], [-1, 1]], "auto", "X must hold 0 or 1, or -1 or 1, only, got -1 as well as 0"),
        ([[0, 1]], (-1, 1), "X must hold -1 or 1 only, got 0"),
        ([[-1, 1]], (0, 1), "X must hold 0 or 1 only, got -1"),
        (
            [[0, 1], [0, np.nan]],
            "auto",
            "X must be finite, got NaN in row 1, column x1; a fitted machine fills",
        ),
        ([[0, np.inf]], "auto", "X must be finite, got inf in row 0, column x1"),
        ([["yes", "no"]], "auto", "X must be numbers, got 'yes' in row 0, column x0: recode"),
        ([0, 1], "auto", "Expected 2D array"),
        (np.zeros((0, 3)), "auto", "0 sample"),
        ([[0, 1]], "both", "states must be 'auto', .* got 'both'"),
        ([[0, 1]], (0, 2), r"states must be 'auto', .* got \(0, 2\)"),
    ],
)
def test_other_values_are_refused_by_name(X, states, message):
    with pytest.raises(ValueError, match=message):
        read_codes(BaseEstimator(), X, states)


TEXTS = {"a": [0, 1, 1], "b": ["1", "0", "no"]}
FULL = {"a": [0, 1, 1, 0], "b": [1, 0, 1, 0]}
GAPS = {"a": [0, 1, 1], "b": [1, None, np.nan]}


@pytest.mark.parametrize("form", [dict, pd.DataFrame, lambda t: pl.DataFrame(t, strict=False)])
def test_gaps_and_texts_are_named_by_row_and_column(form):
    with refuses("X", match="got 'no' in row 2, column b: recode text"):
        BoltzmannMachine().fit(form(TEXTS))
    machine = BoltzmannMachine()
    with refuses("X", match="got NaN in row 1, column b"):
        machine.fit(form(GAPS))
    machine.fit(form(FULL))
    with refuses("X", match="got NaN in row 1, column b"):
        machine.score(form(GAPS))
    np.testing.assert_array_equal(machine.impute(form(GAPS))[:, 0], GAPS["a"])


def test_gaps_of_later_blocks_and_of_sparse_rows_are_found(monkeypatch):
    monkeypatch.setattr("herder.data.states.BLOCK", 2)
    rows = np.zeros((5, 2))
    rows[3, 1] = np.nan
    for X in (rows, sparse.csr_array(rows)):
        with refuses("X", match="got NaN in row 3, column x1"):
            read_codes(BaseEstimator(), X, "auto")
        with refuses("X", match="got NaN in row 3, column x1"):
            read_codes(BaseEstimator(), X, "auto", binarize=0.0)
    rows[3, 1] = -np.inf
    with refuses("X", match="got -inf in row 3, column x1"):
        read_codes(BaseEstimator(), rows, "auto", missing=True, binarize=0.0)


def test_what_is_no_text_keeps_its_own_message():
    with pytest.raises(ValueError, match="inhomogeneous"):
        read_codes(BaseEstimator(), [[0, 1], [1]], "auto")
    with refuses("X"):
        read_codes(BaseEstimator(), {"a": [0, 1], "b": [0]}, "auto")
    codes, _ = read_codes(BaseEstimator(), [["0", "1"]], "auto")
    np.testing.assert_array_equal(codes, [[0, 1]])


def test_numbers_are_cut_in_two():
    codes, states = read_codes(BaseEstimator(), [[0.2, 3.0], [7.0, -1.0]], "auto", binarize=1.0)
    np.testing.assert_array_equal(codes, [[0, 1], [1, 0]])
    assert states == (0, 1)
    unknown, _ = read_codes(BaseEstimator(), [[np.nan, 3.0]], (-1, 1), binarize=1.0, missing=True)
    np.testing.assert_array_equal(unknown, [[np.nan, 1.0]])


def test_unknown_entries_stay_unknown():
    codes, states = read_codes(BaseEstimator(), [[np.nan, -1], [1, np.nan]], "auto", missing=True)
    np.testing.assert_array_equal(codes, [[np.nan, 0], [1, np.nan]])
    assert states == (-1, 1)


def test_inputs_are_left_alone():
    X = 2.0 * ROWS - 1
    before = X.copy()
    codes, _ = read_codes(BaseEstimator(), X, "auto")
    merge_rows(codes)
    np.testing.assert_array_equal(X, before)


def test_alphabets():
    assert check_alphabet([-1, 1]) == (-1, 1)
    with refuses("states"):
        check_alphabet("auto")
    assert check_alphabet((0, 1)) == (0, 1)


def test_columns_by_name_are_a_frame():
    rows = np.random.default_rng(4).integers(0, 2, (60, 3))
    named = {"a": rows[:, 0], "b": rows[:, 1].astype(bool), "c": rows[:, 2].tolist()}
    one, other = BoltzmannMachine().fit(named), BoltzmannMachine().fit(rows)
    np.testing.assert_array_equal(one.couplings_, other.couplings_)
    assert one.model_.names == ("a", "b", "c")
    assert one.score(named) == other.score(rows)
    with refuses("X"):
        one.score({"a": rows[:, 0], "c": rows[:, 1], "b": rows[:, 2]})
    with refuses("X"):
        BoltzmannMachine().fit({"a": [0, 1], "b": [0, 1, 1]})
    with refuses("X"):
        other.score({"a": [0, 1], "b": [0, 1]})
    with refuses("X"):
        BoltzmannMachine().fit({"a": [0, 2]})
