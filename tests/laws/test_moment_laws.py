"""Laws of moments: hypothesis draws the tables, the alphabets, the parts and the weights."""

import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herder.data.decoding import decode
from herder.data.variables import encode
from herder.models import CliqueFeatures, Moments
from herder.models.counting import count_cells

LABELS = {
    "switch": st.integers(0, 1),
    "flag": st.booleans(),
    "small": st.integers(-2, 3),
    "float": st.sampled_from([0.0, 0.5, 1.0, 2.25]),
    "text": st.sampled_from(["u", "v", "1", " w", "(missing)", "'"]),
    "gaps": st.sampled_from(["u", "v", None]),
}


@st.composite
def tables(draw, kinds=tuple(LABELS), min_rows=1, max_columns=4):
    """Columns of labels, as a mapping of object arrays."""
    n_rows = draw(st.integers(min_rows, 12))
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=max_columns))
    columns = {}
    for j, kind in enumerate(chosen):
        column = np.empty(n_rows, dtype=object)
        column[:] = draw(st.lists(LABELS[kind], min_size=n_rows, max_size=n_rows))
        columns[f"{kind}{j}"] = column
    return columns


orders = st.integers(1, 4)


def same(a, b):
    return (
        a.names == b.names
        and [v.values for v in a.variables] == [v.values for v in b.variables]
        and a.cliques == b.cliques
        and np.array_equal(a.counts, b.counts)
        and np.array_equal(a.totals, b.totals)
    )


def split(columns, cuts):
    n_rows = len(next(iter(columns.values())))
    edges = [0, *sorted({c % n_rows for c in cuts} - {0}), n_rows]
    for start, stop in pairwise(edges):
        yield {name: column[start:stop] for name, column in columns.items()}


@given(tables())
def test_decoding_undoes_coding(columns):
    codes = encode(columns, missing="category")
    back = decode(codes.rows, codes.variables)
    assert {name: column.tolist() for name, column in back.items()} == {
        name: column.tolist() for name, column in columns.items()
    }
    for variable in codes.variables:
        assert len(set(variable.values)) == variable.n_values


@given(tables(), st.lists(st.integers(0, 12), max_size=4), orders)
def test_parts_merge_to_the_whole_also_when_alphabets_grow(columns, cuts, order):
    whole = Moments.from_data(columns, order, missing="category")
    parts = [Moments.from_data(p, order, missing="category") for p in split(columns, cuts)]
    assert same(parts[0].merge(*parts[1:]), whole)
    assert same(Moments.from_chunks(split(columns, cuts), order, missing="category"), whole)
    reordered = parts[::-1]
    assert same(reordered[0].merge(*reordered[1:]), whole)


@given(tables(), orders, st.data())
def test_tables_are_sums_over_rows(columns, order, data):
    n_rows = len(next(iter(columns.values())))
    weight = st.sampled_from([0.0, 0.25, 1.0, 3.5])  # sums of these are exact
    weights = data.draw(st.lists(weight, min_size=n_rows, max_size=n_rows).filter(any))
    moments = Moments.from_data(columns, order, missing="category", sample_weight=weights)
    names = list(columns)
    for clique in moments.cliques:
        wanted = Counter()
        for r in range(n_rows):
            wanted[tuple(columns[names[i]][r] for i in clique)] += weights[r]
        table = moments.table(clique)
        for cell in np.ndindex(*table.shape):
            labels = (moments.variables[i].values[c] for i, c in zip(clique, cell, strict=True))
            assert table[cell] == wanted[tuple(labels)]


@given(tables(kinds=("switch", "flag")), st.integers(1, 3))
def test_matrix_products_count_what_the_generic_loop_counts(columns, order):
    codes = encode(columns)
    moments = Moments.from_codes(codes, order)
    np.testing.assert_array_equal(moments.counts, count_cells(codes, moments.layout, None)[0])


@given(tables(), orders, st.sampled_from([".csv", ".npz"]))
def test_files_give_moments_back(columns, order, suffix):
    moments = Moments.from_data(columns, order, missing="category")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"moments{suffix}"
        moments.save(path)
        back = Moments.load(path)
    assert same(back, moments)
    assert back.contradictions() == []


@given(tables(kinds=("switch",)))
def test_a_pair_matrix_says_what_the_rows_say(columns):
    X = np.column_stack(list(columns.values())).astype(int)
    wanted = Moments.from_data(X, 2)
    assert same(Moments.from_counts(X.T @ X, total=len(X)), wanted)


@given(tables(), orders, st.sampled_from(["01", "indicator"]))
def test_mean_features_are_the_targets(columns, order, encoding):
    codes = encode(columns, missing="category")
    features = CliqueFeatures.of(Moments.from_codes(codes, order), encoding)
    total = sum(features.features(row) for row in codes.rows)
    np.testing.assert_array_equal(total, features.target)
    assert features.units.total == len(codes.rows)


@given(tables(min_rows=2), st.data())
def test_conditional_moments_are_moments_of_some_rows(columns, data):
    codes = encode(columns, missing="category")
    moments = Moments.from_codes(codes, 3)
    if moments.n_variables == 1:
        return
    name = data.draw(st.sampled_from(moments.names))
    column = moments.names.index(name)
    row = data.draw(st.integers(0, len(codes.rows) - 1))
    given_row = codes.rows[row, column]
    rest = [j for j in range(moments.n_variables) if j != column]
    kept = codes.rows[codes.rows[:, column] == given_row][:, rest]
    wanted = Moments.from_codes(type(codes)(tuple(codes.variables[j] for j in rest), kept), 2)
    assert same(moments.given({name: codes.variables[column].values[given_row]}), wanted)


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_a_wrong_pair_is_found_and_named(width, seed):
    X = np.random.default_rng(seed).integers(0, 2, (20, width))
    matrix = X.T @ X
    matrix[0, 1] = matrix[1, 0] = min(matrix[0, 0], matrix[1, 1]) + 1
    moments = Moments.from_counts(matrix, total=20, contradictions="allow")
    ranges = [c for c in moments.contradictions() if c.kind == "range"]
    assert [c.columns for c in ranges] == [("x0", "x1")]
    assert ranges[0].size == pytest.approx(1 / 20)
