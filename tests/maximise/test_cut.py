import itertools
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herder.maximise.cut import maximise_by_cut
from herder.models.tables import total_score
from tests.naming import refuses

if sys.version_info >= (3, 14):  # PyMaxflow has no wheels for it
    pytest.importorskip("maxflow")

SEEDS = st.integers(0, 2**32 - 1)


def draw(n_sites, n_labels, seed):
    """Draw fields, edges in either direction, tables, and labels to begin with."""
    rng = np.random.default_rng(seed)
    pairs = [pair for pair in itertools.permutations(range(n_sites), 2) if rng.random() < 0.2]
    edges = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    fields = rng.normal(size=(n_sites, n_labels))
    tables = rng.normal(size=(len(edges), n_labels, n_labels))
    return fields, edges, tables, rng.integers(0, n_labels, n_sites)


def best_score(fields, edges, tables):
    n, k = fields.shape
    rows = itertools.product(range(k), repeat=n)
    return max(total_score(fields, edges, tables, np.array(row)) for row in rows)


@given(st.integers(1, 10), SEEDS)
def test_two_labels_that_suit_a_cut_are_maximised(n_sites, seed):
    fields, edges, tables, start = draw(n_sites, 2, seed)
    missing = tables[:, 0, 1] + tables[:, 1, 0] - tables[:, 0, 0] - tables[:, 1, 1]
    tables[:, 1, 1] += np.maximum(missing, 0)
    found = maximise_by_cut(fields, edges, tables, start)
    reached = total_score(fields, edges, tables, found)
    # a sum of at most some hundred normal numbers
    assert reached == pytest.approx(best_score(fields, edges, tables), abs=1e-10)


@given(st.integers(1, 10), st.integers(2, 4), SEEDS)
def test_the_score_never_falls(n_sites, n_labels, seed):
    fields, edges, tables, start = draw(n_sites, n_labels, seed)
    before = [part.copy() for part in (fields, edges, tables, start)]
    found = maximise_by_cut(fields, edges, tables, start)
    score = total_score(fields, edges, tables, start)
    assert (found == start).all() or total_score(fields, edges, tables, found) > score
    again = maximise_by_cut(fields, edges, tables, found)
    np.testing.assert_array_equal(again, found)  # nothing improves any more
    for part, kept in zip((fields, edges, tables, start), before, strict=True):
        np.testing.assert_array_equal(part, kept)


@given(st.integers(1, 6), st.integers(3, 4), SEEDS)
def test_costs_of_potts_tables_are_within_twice_the_least(n_sites, n_labels, seed):
    fields, edges, tables, start = draw(n_sites, n_labels, seed)
    fields = -np.abs(fields)
    tables = np.abs(tables[:, :1, :1]) * (np.eye(n_labels) - 1)
    reached = total_score(fields, edges, tables, maximise_by_cut(fields, edges, tables, start))
    best = best_score(fields, edges, tables)
    assert best + 1e-10 >= reached >= 2 * best - 1e-10


def test_cuts_go_on_where_tables_do_not_suit_a_cut():
    """One cut of a bound that touches at the start is rarely the best that cuts find."""
    shares = []
    for seed in range(20):
        fields, edges, tables, start = draw(8, 2, seed)
        found = maximise_by_cut(fields, edges, tables, start)
        best, score = best_score(fields, edges, tables), total_score(fields, edges, tables, start)
        shares.append((total_score(fields, edges, tables, found) - score) / (best - score))
    assert np.mean(shares) > 0.8


def test_ties_keep_the_labels_of_the_start():
    start = np.array([1, 0, 2, 1])
    edges = [(0, 1), (1, 2), (2, 3)]
    found = maximise_by_cut(np.zeros((4, 3)), edges, np.zeros((3, 3, 3)), start)
    np.testing.assert_array_equal(found, start)


def test_sites_without_edges_take_their_best_label():
    fields = np.array([[0.0, 1.0, 0.5], [2.0, 0.0, 1.0]])
    found = maximise_by_cut(fields, [], np.zeros((0, 3, 3)), [0, 1])
    np.testing.assert_array_equal(found, [1, 0])


def test_labels_to_begin_with_are_checked():
    with refuses("start"):
        maximise_by_cut(np.zeros((2, 2)), [(0, 1)], np.zeros((1, 2, 2)), [0, 2])


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "maxflow", None)
    with pytest.raises(ImportError, match=r"pip install 'herder\[cut\]'"):
        maximise_by_cut(np.zeros((2, 2)), [(0, 1)], np.zeros((1, 2, 2)), [0, 0])
