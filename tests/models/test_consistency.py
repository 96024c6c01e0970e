"""Contradictions: each kind is found, named and measured; consistent counts pass."""

from dataclasses import replace

import numpy as np
import pytest

from herder.models import Moments
from herder.models.consistency import find_contradictions
from tests.naming import refuses

SEED = 11


def published(matrix, total=100, **options):
    return Moments.from_counts(matrix, total=total, contradictions="allow", **options)


def checked(X, order=2, **options):
    return find_contradictions(Moments.from_data(X, order, **options))


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_counts_of_rows_never_contradict(order):
    rng = np.random.default_rng(SEED)
    X = np.column_stack([rng.integers(0, k, 60) for k in (2, 2, 2, 3, 4)])
    assert checked(X, order) == []
    assert checked(X, order, sample_weight=rng.random(60)) == []
    assert checked(X, cliques=[[0, 1], [1, 2, 3], [3, 4]]) == []


@pytest.mark.parametrize(
    ("pair", "size", "bounds"),
    [(50, 0.1, "= 0.2 and min(p_a, p_b) = 0.4"), (15, 0.05, "= 0.2 and min(p_a, p_b) = 0.4")],
)
def test_pairs_outside_their_frechet_bounds(pair, size, bounds):
    moments = published([[40, pair], [pair, 80]], names=["rain", "wind"])
    (found,) = find_contradictions(moments)
    assert found.kind == "range"
    assert found.columns == ("rain", "wind")
    assert found.size == pytest.approx(size)
    assert f"P(rain=1, wind=1) = {pair / 100:g} must lie between" in str(found)
    assert bounds in str(found)
    assert "p_a = P(rain=1) = 0.4 and p_b = P(wind=1) = 0.8" in str(found)


def test_the_bounds_themselves_are_allowed():
    assert find_contradictions(published([[40, 40], [40, 80]])) == []
    assert find_contradictions(published([[40, 20], [20, 80]])) == []


def test_a_single_beyond_its_total():
    with refuses("counts", match="got 120 for x0, x0"):
        published([[120]])
    with refuses("counts", match="got -5 for x0, x1"):
        published([[40, -5], [-5, 50]])
    given = published([[90]])
    worst = find_contradictions(replace(given, counts=np.array([-20.0, 120.0])))[0]
    assert worst.kind == "range"
    assert worst.size == pytest.approx(0.2)
    assert "P(x0=" in worst.message


def test_tables_that_do_not_add_up():
    moments = Moments.from_data({"a": ["u", "v", "w", "w"]}, 1)
    wrong = replace(moments, counts=moments.counts + np.array([1, 0, 0]), from_rows=False)
    (found,) = [c for c in find_contradictions(wrong) if c.kind == "sum"]
    assert found.size == pytest.approx(0.25)
    assert found.message == "the counts of the single a must add up to their total 4, got 5"


def test_a_cell_beyond_its_total_with_none_below_zero():
    moments = Moments.from_data({"a": ["u", "v", "w", "w"]}, 1)
    wrong = replace(moments, counts=np.array([5.0, 0.0, 0.0]), from_rows=False)
    assert [(c.kind, c.size) for c in find_contradictions(wrong)] == [
        ("range", 0.25),
        ("sum", 0.25),
    ]
    assert "P(a=u) = 1.25 must lie between 0 and 1" in str(find_contradictions(wrong)[0])


def shifted(moments, clique, change):
    """Move probability within one table."""
    c = moments.index_of(clique)
    counts = moments.counts.copy()
    start, stop = moments.layout.offsets[c : c + 2]
    counts[start:stop] += np.asarray(change, dtype=float).ravel()
    return replace(moments, counts=counts, from_rows=False)


def test_marginals_that_disagree_name_pair_column_and_values():
    rng = np.random.default_rng(SEED)
    X = {"a": rng.integers(0, 3, 100), "b": rng.integers(0, 3, 100), "c": rng.integers(0, 2, 100)}
    moments = Moments.from_data(X, 2)
    wrong = shifted(moments, ["a", "b"], [[3, 0, 0], [-3, 0, 0], [0, 0, 0]])
    (found,) = find_contradictions(wrong)
    single = moments.table(["a"])[0] / 100
    assert found.kind == "marginal"
    assert found.columns == ("a", "b")
    assert found.size == pytest.approx(0.03)
    assert found.message == (
        f"the pair a, b gives P(a=0) = {single + 0.03:g}, but the single a gives {single:g}"
    )


def test_pairs_that_share_a_column_without_a_single():
    X = np.random.default_rng(SEED).integers(0, 3, (100, 3))
    moments = Moments.from_data(X, cliques=[[0, 1], [1, 2]])
    wrong = shifted(moments, [1, 2], [[2, 0, 0], [-2, 0, 0], [0, 0, 0]])
    (found,) = find_contradictions(wrong)
    assert found.kind == "marginal"
    assert "the pair x1, x2 gives P(x1=0)" in found.message
    assert "but the pair x0, x1 gives" in found.message


def test_triples_against_pairs():
    X = np.random.default_rng(SEED).integers(0, 2, (200, 3))
    moments = Moments.from_data(X, 3)
    change = np.zeros((2, 2, 2))
    change[0, 0], change[0, 1], change[1, 0], change[1, 1] = 1, -1, -1, 1
    # singles agree still; of the pairs only x0, x1 is changed
    found = find_contradictions(shifted(moments, [0, 1, 2], change))
    assert {c.columns for c in found} == {("x0", "x1", "x2")}
    assert {c.message.split(", but ")[1].rsplit(" gives", 1)[0] for c in found} == {
        "the pair x0, x1"
    }


def test_triangles_of_three_pairs():
    # a and b go together, a and c too, yet b and c never do
    apex = published([[50, 50, 50], [50, 50, 0], [50, 0, 50]])
    worst = find_contradictions(apex)[0]
    assert worst.kind == "triangle"
    assert worst.size == pytest.approx(0.5)
    assert "P(x0=1, x1=1) + P(x0=1, x2=1) - P(x1=1, x2=1) = 1 must be at most P(x0=1) = 0.5" in (
        worst.message
    )
    cover = published([[50, 10, 10], [10, 50, 10], [10, 10, 50]])
    (found,) = find_contradictions(cover)
    assert found.size == pytest.approx(0.2)
    assert "must be at most 1" in found.message
    assert found.columns == ("x0", "x1", "x2")


def test_triangles_need_all_three_pairs():
    rows = {
        "variable_a": ["a", "b", "c", "a", "a"],
        "variable_b": ["a", "b", "c", "b", "c"],
        "count": [50, 50, 50, 50, 50],
    }
    assert find_contradictions(Moments.from_counts(rows, total=100)) == []


def test_worst_first_and_rounding_forgiven():
    matrix = np.full((4, 4), 25.0)
    np.fill_diagonal(matrix, 50.0)
    assert find_contradictions(published(matrix + 1e-8)) == []
    matrix[0, 1] = matrix[1, 0] = 60
    matrix[2, 3] = matrix[3, 2] = 52
    found = find_contradictions(published(matrix))
    sizes = [round(c.size, 9) for c in found]
    assert sizes == sorted(sizes, reverse=True)
    ranges = [c.columns for c in found if c.kind == "range"]
    assert ranges == [("x0", "x1"), ("x2", "x3")]


def test_require_consistent_names_the_worst_and_counts_the_rest():
    wrong = [[40, 50, 10], [50, 60, 30], [10, 30, 50]]
    with refuses("moments", match=r"not contradict.*P\(x0=1, x1=1\).*more\)"):
        Moments.from_counts(wrong, total=100)
    with refuses("contradictions"):
        Moments.from_counts(wrong, total=100, contradictions="ignore")


def test_lists_of_five_thousand_pairs_stay_short():
    matrix = np.full((101, 101), 1.0)
    np.fill_diagonal(matrix, 50.0)
    found = find_contradictions(published(matrix))
    assert 0 < len(found) <= 4_000
