"""Counting, merging, chunks and conditions."""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from herder.data.intervals import Interval
from herder.data.variables import encode
from herder.models import Moments
from herder.models.counting import count_cells
from tests.naming import refuses

SEED = 4


def rows_of(n_values, n_rows=50):
    rng = np.random.default_rng(SEED)
    return np.column_stack([rng.integers(0, k, n_rows) for k in n_values])


def check_by_hand(moments, columns, weights):
    """Compare every cell of every table with counts kept in a dictionary."""
    for clique in moments.cliques:
        found = Counter()
        for r, weight in enumerate(weights):
            found[tuple(columns[i][r] for i in clique)] += weight
        table = moments.table(clique)
        for cell in np.ndindex(*table.shape):
            labels = tuple(
                moments.variables[i].values[c] for i, c in zip(clique, cell, strict=True)
            )
            assert table[cell] == pytest.approx(found[labels], abs=1e-9)
        assert table.sum() == pytest.approx(sum(weights))


@pytest.mark.parametrize("n_values", [(2, 2, 2, 2), (2, 3, 4), (5,), (1, 2)])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_tables_against_dictionaries(n_values, order, weighted):
    X = rows_of(n_values)
    weights = np.random.default_rng(SEED).random(len(X)) if weighted else np.ones(len(X))
    moments = Moments.from_data(X, order, sample_weight=weights if weighted else None)
    check_by_hand(moments, X.T.tolist(), weights.tolist())
    assert moments.order == min(order, len(n_values))
    assert moments.is_complete
    assert moments.from_rows


def test_binary_triples_equal_the_generic_counter():
    codes = encode(rows_of((2,) * 7, 300))
    moments = Moments.from_codes(codes, 3)
    counts, total = count_cells(codes, moments.layout, None)
    np.testing.assert_array_equal(moments.counts, counts)
    assert moments.common_total == total == 300


def test_blocks_of_rows_add_up(monkeypatch):
    X = rows_of((2, 2, 2), 100)
    whole = Moments.from_data(X, 3)
    generic = Moments.from_data(X, cliques=[[0, 2], [1]])
    monkeypatch.setattr("herder.models.counting.BLOCK", 7)
    np.testing.assert_array_equal(Moments.from_data(X, 3).counts, whole.counts)
    again = Moments.from_data(X, cliques=[[0, 2], [1]])
    np.testing.assert_array_equal(again.counts, generic.counts)


def test_all_forms_of_a_table_give_the_same_counts():
    X = rows_of((2, 2, 2))
    names = ["x0", "x1", "x2"]
    wanted = Moments.from_data(X, 2).counts
    forms = [
        X.tolist(),
        X.astype(bool),
        X.astype(float),
        sp.csr_matrix(X),
        pd.DataFrame(X, columns=names),
        pl.DataFrame(X, schema=names),
        {name: X[:, j] for j, name in enumerate(names)},
    ]
    for form in forms:
        moments = Moments.from_data(form, 2)
        np.testing.assert_array_equal(moments.counts, wanted)
        assert moments.names == tuple(names)


def test_listed_cliques_by_name():
    moments = Moments.from_data({"a": [0, 1], "b": ["u", "v"], "c": [1, 1]}, cliques=[["c", "a"]])
    assert moments.cliques == ((0, 2),)
    assert not moments.is_complete
    assert moments.index_of(["a", "c"]) == 0
    assert moments.index_of(["a"]) is None
    with pytest.raises(KeyError, match="no clique"):
        moments.table(["b"])


def test_a_large_listed_clique_does_not_list_all_cliques_of_its_size():
    X = rows_of((2,) * 40, 20)
    moments = Moments.from_data(X, cliques=[range(12)])
    assert not moments.is_complete
    assert moments.counts.sum() == 20
    with refuses("order"):
        Moments.from_data(X, 20)


def test_weights_that_are_whole_numbers_keep_a_common_total():
    X = rows_of((2, 3))
    weights = np.arange(len(X))
    moments = Moments.from_data(X, sample_weight=weights)
    repeated = Moments.from_data(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(moments.counts, repeated.counts)
    assert moments.common_total == weights.sum()
    assert Moments.from_data(X, sample_weight=weights / 7).common_total is None


@pytest.mark.parametrize(
    ("weight", "error", "words"),
    [
        ([1.0, -1.0], ValueError, "finite and not negative, got -1"),
        ([1.0, np.nan], ValueError, "finite and not negative, got nan"),
        ([0.0, 0.0], ValueError, "positive for some row"),
        ([1.0], ValueError, r"one number for each of 2 rows"),
        (["x", "y"], TypeError, "must be numbers"),
    ],
)
def test_bad_weights_are_refused(weight, error, words):
    with pytest.raises(error, match=f"sample_weight must .*{words}|sample_weight {words}"):
        Moments.from_data([[0], [1]], sample_weight=weight)


@pytest.mark.parametrize(("order", "error"), [(0, ValueError), (1.5, TypeError)])
def test_bad_orders_are_refused(order, error):
    with refuses("order", error):
        Moments.from_data([[0, 1]], order)


def test_chunks_grow_alphabets_and_keep_the_first_bins():
    first = {"k": [0, 0, 0, 0], "x": [0.0, 1.0, 2.0, 3.0]}
    second = {"k": [2, 5], "x": [-9.0, 9.0]}
    moments = Moments.from_chunks(iter([first, second]), bins={"x": 2})
    assert moments.variables[0].values == (0, 2, 5)
    assert moments.variables[1].edges == (2.0,)
    np.testing.assert_array_equal(moments.table(("k", "x")), [[2, 2], [1, 0], [0, 1]])


def test_chunks_may_bring_missing_values_late():
    parts = [{"x": [0.0, 1.0, 2.0, 3.0]}, {"x": [np.nan, 3.0]}, {"x": [2.5]}]
    moments = Moments.from_chunks(parts, bins=2, missing="category")
    bins = (Interval(0, 2, 0), Interval(2, 4, 0))
    assert moments.variables[0].values == (*bins, None)
    assert moments.counts.tolist() == [2, 4, 1]
    none = Moments.from_chunks([parts[0], parts[2]], bins=2, missing="category")
    assert none.variables[0].values == bins
    with refuses("X"):
        Moments.from_chunks(parts, bins=2)


def test_chunks_use_the_listed_cliques_each_time():
    parts = [[[0, 1, 0]], [[1, 1, 1]]]
    moments = Moments.from_chunks(parts, cliques=(iter(c) for c in [(0, 2)]))
    assert moments.cliques == ((0, 2),)
    np.testing.assert_array_equal(moments.table((0, 2)), np.eye(2))


def test_bad_chunks_are_refused():
    with refuses("chunks"):
        Moments.from_chunks([])
    with refuses("parts"):
        Moments.from_chunks([{"a": [1]}, {"b": [1]}])
    with refuses("parts"):
        Moments.from_data([[0, 1]], 1).merge(Moments.from_data([[0, 1]], 2))


def test_conditional_moments_are_those_of_the_rows_that_agree():
    X = rows_of((2, 3, 2, 4), 200)
    moments = Moments.from_data({f"c{j}": X[:, j] for j in range(4)}, 3)
    given = moments.given({"c1": 2})
    rows = X[X[:, 1] == 2][:, [0, 2, 3]]
    assert given.names == ("c0", "c2", "c3")
    assert given.order == 2
    assert given.is_complete
    assert given.common_total == len(rows)
    codes = encode({f"c{j}": X[:, j] for j in (0, 2, 3)})
    kept = type(codes)(codes.variables, codes.rows[X[:, 1] == 2])
    np.testing.assert_array_equal(given.counts, Moments.from_codes(kept, 2).counts)
    twice = moments.given({"c1": 2, "c3": "1"})
    both = X[(X[:, 1] == 2) & (X[:, 3] == 1)]
    assert twice.table(["c0"]).tolist() == np.bincount(both[:, 0], minlength=2).tolist()


def test_conditions_drop_columns_about_which_nothing_is_known():
    moments = Moments.from_data(rows_of((2, 2, 2)), cliques=[[0, 1], [1, 2]])
    given = moments.given({"x0": 1})
    assert given.names == ("x1",)
    assert given.cliques == ((0,),)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"z": 1}, "where must name columns.*'z'"),
        ({"a": 7}, "value of 'a' must be one of 0, 1, got 7"),
        ({"a": 1}, "where must have a positive count"),
        ({}, "where must fix some of the 3 columns, got 0"),
        ({"a": 0, "b": 0, "c": 0}, "where must fix some of the 3 columns, got 3"),
        ({"a": 0, "b": 0}, "where must leave columns.*moments of order 2"),
    ],
)
def test_bad_conditions_are_refused(where, words):
    moments = Moments.from_data({"a": [0, 0], "b": [0, 1], "c": [1, 0]}, 2)
    with pytest.raises(ValueError, match=words):
        moments.given(where)


def test_rounding_of_weights_leaves_no_count_below_zero():
    rng = np.random.default_rng(SEED)
    X = rng.integers(0, 2, (3000, 20))
    X[:, 1], X[:, 2], X[:, 4] = X[:, 0], X[:, 0] * X[:, 3], 1  # many cells are empty
    moments = Moments.from_data(X, 3, sample_weight=rng.random(3000))
    assert moments.counts.min() == 0
