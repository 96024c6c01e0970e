"""Counts that are to be published: small cells, merged categories, rounding."""

import itertools
from bisect import bisect_right
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from herder import MomentHerder, Moments, count_bounds
from herder.data.intervals import Interval
from herder.data.variables import Variable
from herder.models.disclosure import merge_categories
from tests.naming import refuses

SUFFIXES = [".csv", ".npz", ".parquet"]


def survey(seed: int, n: int = 300) -> pd.DataFrame:
    """Return text with rare labels and a gap, whole numbers, 0/1 and measurements."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["a", "b", "c", "d", "e"], n, p=[0.5, 0.3, 0.15, 0.04, 0.01])
    frame = pd.DataFrame({"town": town.astype(object), "yes": rng.integers(0, 2, n)})
    frame["kids"] = np.minimum(rng.poisson(1.2 + 0.5 * frame.yes), 6)
    frame["pay"] = np.exp(rng.normal(1 + 0.2 * frame.kids, 0.6)).round(3)
    frame.loc[rng.random(n) < 0.05, "town"] = None
    return frame


def counted(frame: pd.DataFrame, order: int) -> dict[tuple, int]:
    """Count all cells that occur, by pandas."""
    found = {}
    for size in range(1, order + 1):
        for names in itertools.combinations(frame.columns, size):
            times = frame.value_counts([*names], dropna=False)
            cells: Any = times.index.tolist()
            for values, n in zip(cells, times.tolist(), strict=True):
                key = (names, tuple(None if v != v else v for v in values))
                found[key] = n
    return found


def listed(moments: Moments) -> dict[tuple, float]:
    """Return all cells that are not zero in the same form."""
    return {
        (tuple(values), tuple(values.values())): count
        for values, count in moments.small_cells(1e9)
    }


def place(variable: Variable, number: float) -> int:
    """Return the bin that a row is counted in."""
    assert variable.edges is not None
    return bisect_right(variable.edges, number)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_small_cells_are_those_that_pandas_counts(order):
    frame = survey(1, 120).drop(columns="pay")
    moments = Moments.from_data(frame, order, missing="category")
    wanted = counted(frame, order)
    found = moments.small_cells(4)
    assert listed(moments) == wanted
    small = {key: n for key, n in wanted.items() if n < 4}
    assert {(tuple(cell), tuple(cell.values())): n for cell, n in found} == small
    assert [n for _, n in found] == sorted(n for _, n in found)
    assert moments.small_cells(1) == []


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("order", "min_count"), [(1, 8), (2, 5), (2, 20), (3, 4)])
def test_merged_counts_are_those_of_the_recoded_table(seed, order, min_count):
    frame = survey(seed)
    moments = Moments.from_data(frame, order, missing="category", bins={"pay": 6})
    before = moments.counts.copy()
    merged, changes = merge_categories(moments, min_count)
    assert np.array_equal(moments.counts, before)
    assert np.array_equal(merged.counts, moments.merge_small(min_count).counts)
    assert merged.counts[merged.counts != 0].min() >= min_count
    recoded = frame.astype(object)
    recoded["pay"] = [v.values[place(v, x)] for v in moments.variables[3:] for x in frame["pay"]]
    for name, old, new in changes:
        inside = recoded[name].isin([x for x in old if x is not None])
        if None in old:
            inside |= recoded[name].isna()
        recoded.loc[inside, name] = new
        values = moments.variables[moments.names.index(name)].values
        if name in ("kids", "pay"):
            places = [values.index(x) for x in old]  # neighbours
            assert places == list(range(places[0], places[-1] + 1))
            column = merged.variables[merged.names.index(name)]
            assert {place(column, x) for x in frame[name][inside]} == {column.values.index(new)}
        else:
            assert new == "other"
    assert {name for name, _, _ in changes} <= {"town", "kids", "pay"}
    assert listed(merged) == counted(recoded, order)
    again = MomentHerder(order).fit_moments(merged)
    again.sample(20)


def test_merged_numbers_know_their_edges():
    rows = {"n": [0] * 9 + [1] * 8 + [2] * 2 + [3] + [4] * 7}
    (variable,) = Moments.from_data(rows).merge_small(4).variables
    # 3 joins the rarer of its neighbours, 2, and they join the rarer of theirs, 4
    assert variable.values == (0, 1, Interval(2, 5, 0))
    assert [variable.code(x) for x in (0, 1, 2, 3, 4)] == [0, 1, 2, 2, 2]
    assert [place(variable, x) for x in (0, 1, 2, 3, 4, 9)] == [0, 1, 2, 2, 2, 2]


def test_a_label_other_takes_the_rare_ones():
    rows = {"c": ["x"] * 9 + ["other"] * 6 + ["y"] * 8 + ["z"]}
    merged, changes = merge_categories(Moments.from_data(rows), 3)
    assert changes == [("c", ["other", "z"], "other")]
    assert merged.variables[0].values == ("other", "x", "y")
    assert merged.counts.tolist() == [7, 9, 8]


def test_missing_numbers_are_no_neighbours():
    rows = {"n": [1.0] * 9 + [2.0] * 8 + [3.0] + [np.nan] * 7}
    (variable,) = Moments.from_data(rows, missing="category").merge_small(3).variables
    assert variable.values == (1.0, Interval(2, 4, 0), None)


def test_what_merging_cannot_reach_is_said():
    rows = np.array([[0, 1]] * 9 + [[1, 1]])
    with refuses("min_count", match="a cell of 1 for x0 = 1 in the end: leave out a column"):
        Moments.from_data(rows).merge_small(3)
    with refuses("min_count"):
        Moments.from_data(rows).small_cells(0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("base", [2, 5, 10])
@pytest.mark.parametrize("order", [2, 3])
def test_rounding_is_no_contradiction(seed, base, order):
    rng = np.random.default_rng(seed)
    frame = survey(seed, 150)
    for X in (rng.integers(0, 2, (70, 5)), frame[["town", "yes", "kids"]]):
        exact = Moments.from_data(X, order, missing="category")
        found = exact.rounded(base)
        assert np.array_equal(found.counts % base, np.zeros(len(found.counts)))
        assert np.abs(found.counts - exact.counts).max() <= base / 2
        assert np.abs(found.totals - exact.totals).max() <= base / 2
        assert (found.rounding, found.from_rows) == (base, False)
        assert found.contradictions() == []
        assert replace(found, rounding=0.0).contradictions() != []


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("text", [False, True])
def test_files_record_the_rounding(suffix, text, tmp_path):
    X = survey(0)[["town", "kids"]] if text else np.random.default_rng(0).integers(0, 2, (99, 4))
    found = Moments.from_data(X, missing="category").rounded(5)
    found.save(tmp_path / f"m{suffix}")
    back = Moments.load(tmp_path / f"m{suffix}")
    assert back.rounding == 5
    assert np.array_equal(back.counts, found.counts)
    assert np.array_equal(back.totals, found.totals)
    assert [v.values for v in back.variables] == [v.values for v in found.variables]
    if suffix == ".csv":
        assert (tmp_path / "m.csv").read_text().splitlines()[2].startswith("(rounded),")


def typed(*rows, **options):
    names = ("variable_a", "variable_b", "count", "total")
    return Moments.from_counts([dict(zip(names, r, strict=True)) for r in rows], **options)


def test_rounded_counts_that_are_typed():
    rows = [("a", "a", 20, 100), ("b", "b", 20, 100), ("a", "b", 25, 100)]
    with refuses("moments"):
        typed(*rows)
    assert typed(("(rounded)", "", 5, ""), *rows).rounding == 5
    # off by 25 where at most 5 * (4 + 1) / 2 can be rounding
    far = [("a", "a", 20, 100), ("b", "b", 20, 100), ("a", "b", 45, 100)]
    with refuses("moments", match="must not contradict"):
        typed(("(rounded)", "", 5, ""), *far)
    with pytest.raises(ValueError, match="count must be positive, got 0"):
        typed(("(rounded)", "", 0, ""), *rows)
    # a name that looks like the row is quoted
    names = Moments.from_data({"(rounded)": [0, 1, 1]})
    assert names.rounding == 0


def test_larger_differences_are_contradictions_all_the_same():
    exact = Moments.from_data(survey(3)[["town", "kids", "yes"]], missing="category")
    found = exact.rounded(5)
    counts = found.counts.copy()
    counts[0] += 60
    wrong = replace(found, counts=counts)
    assert {one.kind for one in wrong.contradictions()} == {"sum", "marginal"}
    with refuses("moments"):
        MomentHerder().fit_moments(wrong)


@pytest.mark.parametrize("encoding", ["indicator", "01", "+-1"])
def test_rounded_counts_are_herded_at_the_first_try(encoding):
    """The true counts are within half a multiple, so the nearest ones are no further, in all."""
    X = (np.random.default_rng(2).random((60, 5)) < [0.1, 0.3, 0.5, 0.6, 0.9]).astype(int)
    moments = Moments.from_data(X).rounded(10)
    herder = MomentHerder(encoding=encoding).fit_moments(moments)
    herder.sample(20_000)
    found = herder.diagnostics_
    assert found.growth.verdict == "rounded counts"
    assert found.contradictions == ()
    if encoding == "indicator":
        true = Moments.from_data(X).probabilities()
        nearest = np.linalg.norm(true - moments.probabilities())
        assert 0 < found.distance <= nearest
    text = str(found)
    assert "within the rounding of the counts" in text
    assert "counts of 60 rows, to multiples of 10" in text
    assert "Warning" not in text


def test_rounding_is_kept_by_merging_and_states():
    X = np.random.default_rng(4).integers(0, 3, (50, 3))
    a, b = Moments.from_data(X).rounded(5), Moments.from_data(X).rounded(3)
    assert a.merge(b).rounding == 8
    assert a.rounded(10).rounding == 15
    arrays, header = MomentHerder().fit_moments(a).to_state()
    assert MomentHerder.from_state(arrays, header).moments_.rounding == 5
    del header["moments"]["rounding"]  # as in files of earlier versions
    header["params"]["contradictions"] = "nearest"
    assert MomentHerder.from_state(arrays, header).moments_.rounding == 0
    for base in (100, 1e-300):
        with refuses("base", match="below twice the total 50, and not below"):
            Moments.from_data(X).rounded(base)
    with refuses("rounding"):
        replace(a, rounding=-1.0)


def test_rounded_counts_imply_no_bounds():
    moments = Moments.from_data(np.eye(4, dtype=int)).rounded(2)
    with refuses("moments", match="rounded to multiples of 2"):
        count_bounds(moments)


def test_pairs_that_are_not_listed_are_said():
    rows = [("a", "a", 5, 10), ("b", "b", 5, 10), ("c", "c", 5, 10), ("a", "b", 3, 10)]
    moments = typed(*rows)
    words = "not listed, and therefore free: 2 of 3 pairs: a and c; b and c"
    assert words in str(moments)
    made = MomentHerder().fit_moments(moments).synthesise(20)
    assert len(np.concatenate(list(made.codes()))) == 20
    assert words in str(made)
    whole = Moments.from_data(np.eye(3, dtype=int), 3)
    assert "free" not in str(whole)
    # a pair within a triple is known
    some = Moments.from_data(np.eye(4, dtype=int), cliques=[[0, 1, 2], [2, 3]])
    assert "2 of 6 pairs: x0 and x3; x1 and x3" in str(some)
    assert "3 of 4 triples: x0 and x1 and x3; " in str(some)
