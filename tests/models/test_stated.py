"""Cells stated more than once: refused by name, or averaged and remembered."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herder import MomentHerder
from herder.models import Moments
from herder.models.stated import Statement, mean_count, spread
from tests.naming import refuses

PAIRS = "variable_a variable_b count total"
CELLS = "variable_a value_a variable_b value_b count total"
FIRST = [("coughs", "coughs", 120, 300), ("fever", "fever", 90, 300), ("coughs", "fever", 60, 300)]
SECOND = [
    ("coughs", "coughs", 210, 500),
    ("smokes", "smokes", 150, 500),
    ("coughs", "smokes", 90, 500),
]


def plain(*rows, columns=PAIRS, contradictions="allow"):
    listed = [dict(zip(columns.split(), row, strict=True)) for row in rows]
    return Moments.from_counts(listed, contradictions=contradictions)


def stated(moments):
    return [c for c in moments.contradictions() if c.kind == "stated"]


def colours(*reports):
    rows = [("c", *cell, total) for cells, total in reports for cell in cells]
    return plain(*rows, columns="variable_a value_a count total")


def test_two_reports_are_refused_with_both_statements_and_the_remedy(tmp_path):
    with refuses("moments") as refused:
        plain(*FIRST, *SECOND, contradictions="error")
    text = str(refused.value)
    assert (
        "the single coughs is stated twice: P(coughs=1) = 0.4 (120 of 300 in row 1) and 0.42 "
        "(210 of 500 in row 4) (off by 0.02)"
    ) in text
    assert 'contradictions="allow" when reading' in text
    assert 'pass contradictions="nearest" when herding' in text

    path = tmp_path / "both.csv"
    lines = ["", *(",".join(map(str, row)) for row in [*FIRST, *SECOND])]
    path.write_text("\n".join(["variable_a,variable_b,count,total", *lines]))
    with refuses("moments", match=r"300 in line 3 of .*both.csv\) and 0.42.*in line 6 of"):
        Moments.load(path)
    assert stated(Moments.load(path, contradictions="allow"))[0].columns == ("coughs",)


def test_two_reports_are_averaged_and_the_conflict_is_remembered():
    moments = plain(*FIRST, *SECOND)
    # (0.4 + 0.42) / 2 of 500, the larger total
    assert moments.table(["coughs"]).tolist() == [295, 205]
    assert moments.totals.tolist() == [500, 300, 500, 300, 500]
    assert moments.table(["coughs", "fever"])[1, 1] == 60
    (found,) = moments.contradictions()
    assert found == moments.conflicts[0]
    assert found.kind == "stated"
    assert found.size == pytest.approx(0.02)


def test_the_herd_goes_to_the_mean():
    rows = MomentHerder(contradictions="nearest").fit_moments(plain(*FIRST, *SECOND)).sample(5_000)
    # herding misses a moment by O(1/T), far less than the 0.01 between mean and statements
    assert rows["coughs"].mean() == pytest.approx((0.4 + 0.42) / 2, abs=0.003)
    assert (rows["coughs"] & rows["fever"]).mean() == pytest.approx(0.2, abs=0.003)
    assert (rows["coughs"] & rows["smokes"]).mean() == pytest.approx(0.18, abs=0.003)
    with refuses("moments", match="the single coughs is stated twice"):
        MomentHerder().fit_moments(plain(*FIRST, *SECOND))


def test_equal_probabilities_are_no_contradiction():
    rows = [("a", "a", 120, 300), ("b", "b", 90, 300), ("a", "b", 60, 300)]
    again = [("b", "a", 100, 500), ("a", "a", 200, 500), ("b", "b", 0.3, 1)]
    moments = plain(*rows, *again, contradictions="error")
    assert moments.conflicts == ()
    assert moments.totals.tolist() == [500, 300, 500]
    assert moments.table(["a", "b"]).tolist() == [[250, 50], [100, 100]]


def test_asymmetry_is_a_statement_and_its_opposite():
    rows = [("a", "a", 5, 10), ("b", "b", 4, 10), ("a", "b", 3, 10), ("b", "a", 2, 10)]
    with refuses(
        "moments",
        match=r"the pair a, b is stated twice: P\(a=1, b=1\) = 0.3 \(3 of 10 in row 3\) and 0.2",
    ):
        plain(*rows, contradictions="error")
    moments = plain(*rows)
    assert moments.table(["a", "b"]).tolist() == [[3.5, 1.5], [2.5, 2.5]]
    assert moments.totals.tolist() == [10, 10, 10]


def test_the_same_statement_counts_once_and_all_others_equally():
    rows = [("a", 4, 10), ("a", 4, 10), ("a", 5, 10), ("a", 18, 20)]
    moments = plain(*rows, columns="variable_a count total")
    assert moments.probabilities()[1] == pytest.approx((0.4 + 0.5 + 0.9) / 3)
    (found,) = moments.conflicts
    assert found.message == (
        "the single a is stated 3 times, at the extremes: P(a=1) = 0.4 (4 of 10 in row 1) and "
        "0.9 (18 of 20 in row 4)"
    )
    assert found.size == pytest.approx(0.5)


def test_cells_of_wide_tables_are_averaged_one_by_one():
    first = [("red", 6), ("blue", 32), ("green", 2)]
    second = [("red", 5), ("blue", 13), ("green", 2)]
    moments = colours((first, 40), (second, 20))
    # blue, green, red
    assert moments.counts.tolist() == [29, 3, 8]
    (found,) = moments.contradictions()
    assert "P(c=blue) = 0.8 (32 of 40 in row 2) and 0.65 (13 of 20 in row 5)" in str(found)
    same_total = colours((first, 40), ([("red", 7), ("blue", 31), ("green", 2)], 40))
    assert same_total.counts.tolist() == [31.5, 2, 6.5]
    assert [c.kind for c in same_total.contradictions()] == ["stated"]


def test_what_a_report_leaves_out_is_zero_or_the_rest():
    three = [("red", 5), ("blue", 13), ("green", 2)]
    zero = colours(([("red", 6), ("blue", 34)], 40), (three, 20))
    np.testing.assert_allclose(zero.probabilities(), [0.75, 0.05, 0.2])
    rest = colours(([("red", 6), ("blue", 32)], 40), (three, 20))
    np.testing.assert_allclose(rest.probabilities(), [0.725, 0.075, 0.2])
    assert [c.kind for c in rest.contradictions()] == ["stated"]
    left_out = colours(([("red", 10), ("blue", 30)], 40), ([("red", 5), ("green", 15)], 20))
    assert "0.75 (30 of 40 in row 2) and 0 (0 of 20 in the table from row 3 on, which" in str(
        left_out.conflicts[0]
    )


def test_two_totals_may_share_a_table_that_agrees():
    moments = colours(([("red", 6), ("blue", 32)], 40), ([("green", 1)], 20))
    assert moments.conflicts == ()
    assert moments.counts.tolist() == [32, 2, 6]


def test_pairs_of_wide_columns():
    def report(counts, total):
        cells = [("u", 0), ("u", 1), ("v", 0), ("v", 1)]
        return [("a", a, "b", b, n, total) for (a, b), n in zip(cells, counts, strict=True)]

    moments = plain(*report([1, 2, 3, 4], 10), *report([5, 5, 5, 5], 20), columns=CELLS)
    np.testing.assert_allclose(moments.probabilities(), [0.175, 0.225, 0.275, 0.325])
    (found,) = moments.contradictions()
    assert found.columns == ("a", "b")
    assert "P(a=u, b=0) = 0.1 (1 of 10 in row 1) and 0.25 (5 of 20 in row 5)" in found.message


def test_zeros_left_out_stay_zeros_though_reports_differ():
    columns = "variable_a value_a count total"
    declared = [("c", label, "", "") for label in ("green", "grey")]
    rows = [("c", "red", 6, 40), ("c", "blue", 34, 40), ("c", "red", 5, 40)]
    wide = plain(*declared, *rows, columns=columns)
    assert sorted(wide.counts) == [0, 0, 5.5, 34]
    assert [c.kind for c in wide.contradictions()] == ["stated", "sum"]
    with pytest.raises(ValueError, match="must add up to their total 40"):
        plain(*declared, rows[0], rows[2], columns=columns)


def test_worst_first_among_all_kinds_but_what_is_stated_explains_the_refusal():
    rows = [("a", "a", 40, 100), ("a", "a", 41, 100), ("b", "b", 60, 100), ("a", "b", 50, 100)]
    moments = plain(*rows)
    assert [c.kind for c in moments.contradictions()] == ["range", "stated"]
    with refuses("moments", match=r"the single a is stated twice.*\(and 1 more\)"):
        moments.require_consistent()


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
def test_a_saved_file_has_the_means(tmp_path, suffix):
    moments = plain(*FIRST, *SECOND, ("coughs", "fever", 61, 300))
    path = tmp_path / f"m{suffix}"
    moments.save(path)
    again = Moments.load(path)
    np.testing.assert_array_equal(again.counts, moments.counts)
    assert again.conflicts == ()


def test_conditions_and_sums_drop_the_conflicts():
    moments = plain(*FIRST, *SECOND)
    assert moments.given({"fever": 1}).conflicts == ()
    both = moments.merge(moments)
    assert both.conflicts == ()
    assert both.table(["coughs"]).tolist() == [590, 410]


def test_of_many_conflicts_in_a_file_not_all_are_listed(tmp_path):
    rows = [f"x{i},{n},100" for n in (40, 41) for i in range(1_500)]
    path = tmp_path / "many.csv"
    path.write_text("\n".join(["variable_a,count,total", *rows]))
    moments = Moments.load(path, contradictions="allow")
    assert len(moments.conflicts) == 1_000


counts = st.tuples(st.integers(0, 50), st.integers(50, 100))


@given(st.lists(counts, min_size=1, max_size=4, unique=True))
def test_the_mean_lies_between_the_statements_and_whole_counts_stay_whole(given_counts):
    told = [Statement(float(n), total, row) for row, (n, total) in enumerate(given_counts)]
    largest = max(total for _, total in given_counts)
    mean = mean_count(told, largest)
    shares = [Fraction(n, total) for n, total in given_counts]
    exact = sum(shares, Fraction(0)) / len(shares) * largest
    assert mean == float(exact)
    assert (exact.denominator == 1) == mean_count(told[::-1], largest).is_integer()
    assert spread(told) == pytest.approx(float(max(shares) - min(shares)))
