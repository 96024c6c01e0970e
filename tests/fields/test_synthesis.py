"""Rows in chunks from a table file of any size, and what they report of themselves."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from herder import (
    MomentHerder,
    Moments,
    count_bounds,
    count_distribution,
    count_estimate,
    load,
    save,
)
from herder.core.diagnostics import Diagnosis
from herder.core.summary import Table
from herder.data import open_table, write_table
from herder.data.intervals import Interval
from herder.data.variables import Codes, encode
from herder.fields import synthesis
from herder.fields.diagnostics import VERDICTS
from herder.fields.live import Trace
from herder.fields.number_columns import NumberColumn
from herder.fields.row_index import Copies, CopyCount, RowIndex
from herder.fields.synthesis import worst_cells
from herder.plots.moments import plot_agreement
from herder.report import page_html
from tests.naming import refuses

ROWS = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]])
NAMES = ("x0", "x1", "x2")


def made(model: MomentHerder, n: int | None, **options):
    run = model.synthesise(n, **options)
    return run, np.concatenate(list(run.codes()))


@pytest.fixture(scope="module")
def run():
    found, _ = made(MomentHerder(restarts="visited").fit(ROWS), 200, count_cells=True)
    return found


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(3)
    rows = (rng.random((500, 3)) < [0.2, 0.5, 0.7]).astype(int)
    write_table(tmp_path / "rows.csv", NAMES, [dict(zip(NAMES, rows.T, strict=True))])
    return tmp_path / "rows.csv", rows


def test_chunks_have_one_size_and_are_the_rows_of_sample(monkeypatch):
    monkeypatch.setattr(synthesis, "CHUNK_CELLS", 30)
    model = MomentHerder().fit(ROWS)
    for where in (None, {"x0": 1}):
        parts = list(model.synthesise(25, where=where).codes())
        assert [len(part) for part in parts] == [10, 10, 5]
        assert np.array_equal(np.concatenate(parts), model.sample(25, where=where))


def test_reached_counts_are_those_of_all_herded_rows():
    model = MomentHerder().fit(ROWS)
    found, rows = made(model, 200, count_cells=True)
    again = Moments.from_codes(Codes(found.moments.variables, rows))
    reached = found.reached()
    assert reached is not None
    assert np.array_equal(reached.counts, again.counts)
    assert np.array_equal(reached.totals, again.totals)
    some, _ = made(model, 50, where={"x1": 0}, count_cells=True)
    herded = some.reached()
    assert herded is not None
    assert herded.totals[0] == some.live.n_counted > 50
    assert made(model, 5)[0].reached() is None


def test_a_file_is_fitted_as_its_rows_are(file, monkeypatch):
    path, rows = file
    monkeypatch.setattr("herder.data.source.CHUNK_BYTES", 7000)
    notes = []
    model = MomentHerder(restarts="rows")
    model.fit_source(open_table(path), progress=lambda share, note: notes.append((share, note)))
    whole = MomentHerder(restarts="rows").fit(dict(zip(NAMES, rows.T, strict=True)))
    assert np.array_equal(model.moments_.counts, whole.moments_.counts)
    assert len([note for _, note in notes if note.startswith("counting, ")]) > 2
    assert notes[-1] == (1.0, "hashing rows, 500 rows")
    for name in NAMES:
        assert np.array_equal(model.sample(300)[name], whole.sample(300)[name])
    ours, theirs = model.diagnostics_, whole.diagnostics_
    assert ours.copied == theirs.copied
    assert ours.duplicate_share == theirs.duplicate_share


def test_of_a_long_table_evenly_spaced_rows_are_kept(file, monkeypatch):
    path, rows = file
    monkeypatch.setattr("herder.fields.row_index.MAX_RESTART_ROWS", 100)
    monkeypatch.setattr("herder.data.source.CHUNK_BYTES", 7000)
    model = MomentHerder(restarts="rows").fit_source(open_table(path))
    assert model._rows is not None
    assert np.array_equal(model._rows, np.unique(rows[::5], axis=0))
    assert MomentHerder(restarts="visited").fit_source(open_table(path))._rows is None


def test_counts_that_need_too_much_memory_are_refused(file):
    with refuses("max_memory", match="'x0'"):
        MomentHerder().fit_source(open_table(file[0]), max_memory=100)


def test_an_index_within_a_memory_limit_keeps_a_part_of_the_rows():
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 2, size=(4000, 14))
    codes = encode(rows)
    whole = RowIndex.over([codes])
    part = RowIndex.over([codes], n_rows=4000, max_memory=4 * 24 * 1000)
    assert (whole.one_in, part.one_in) == (1, 4)
    assert len(part.hashes) == pytest.approx(len(whole.hashes) / 4, rel=0.2)
    assert part.duplicate_share == pytest.approx(whole.duplicate_share, abs=0.05)
    found = CopyCount(part, codes.variables)
    found.add(codes.rows)
    assert found.copies is not None
    assert found.copies.copied == 1
    assert len(part.hashes) <= found.copies.n_rows < 2000
    assert found.copies.unique_found == found.copies.n_unique
    assert part.counts is not None
    assert np.array_equal(part.counts, count_distribution(rows))


@pytest.mark.parametrize("restarts", ["rows", "visited"])
def test_a_saved_herder_finds_the_same_copies(file, tmp_path, restarts):
    model = MomentHerder(restarts=restarts).fit_source(open_table(file[0]))
    assert model._index is not None
    model._index = replace(model._index, one_in=2)  # as of a table beyond the memory limit
    save(model, tmp_path / "m")
    back = load(tmp_path / "m")
    assert back.herd(200).diagnostics.copied == model.herd(200).diagnostics.copied
    assert model._index.counts is not None
    assert np.array_equal(back._index.counts, model._index.counts)
    assert (back._index.one_in, back._rows is None) == (2, restarts == "visited")


def test_a_run_of_which_no_row_is_looked_at_copies_none(file):
    model = MomentHerder().fit_source(open_table(file[0]))
    assert model._index is not None
    model._index = replace(model._index, one_in=2**40)
    assert model.herd(5).diagnostics.copied == 0


def test_memory_limits_are_said(file):
    model = MomentHerder(restarts="none").fit_source(open_table(file[0]), max_memory=2**15)
    found, _ = made(model, 50)
    assert "only one in 2 distinct rows was compared" in str(found)


def test_the_text_says_what_was_matched_and_copied(run):
    lines = str(run.summary(source="rows.csv")).splitlines()
    assert lines[0] == "200 rows of 3 columns"
    text = "\n".join(lines)
    found = run.diagnostics
    assert re.search(r"used +only counts +of rows.csv, none of its rows", text)
    assert re.search(r"moments +exact +counts of 5 rows", text)
    error = re.escape(f"{found.moment_error:.2e}")
    assert re.search(rf"moment error +{error} +at most", text)
    assert re.search(rf"copied rows +{found.copied:.2%} +equal a row of the table;", text)
    assert f"of its own rows {found.duplicate_share:.2%} equal another" in text
    assert re.search(r"unique copied +100.00% +equal a row that is unique there", text)
    assert re.search(r"unique found +5 of 5 +of its unique rows were made", text)


def test_the_page_shows_what_an_auditor_asks(run):
    html = page_html(run.summary(source="rows.csv"), command="herder synth rows.csv -n 200")
    for words in (
        "<h1>200 rows of 3 columns</h1>",
        "3 single columns, 3 pairs",
        "exact",
        "Pair by pair",
        "Number of ones in a row",
        "counted from 5 rows",
        "No row of a table entered the run",
        "<pre>herder synth rows.csv -n 200</pre>",
    ):
        assert words in html
    assert html.count("<img ") == 4
    assert not re.search(r"https?:|//[a-z]|<link|<script|@import|url\(", html)
    assert set(re.findall(r'src="([a-z]+:)', html)) == {"data:"}


@pytest.mark.parametrize("verdict", list(VERDICTS))
def test_every_verdict_has_words(run, verdict):
    found = replace(run.diagnostics, growth=Diagnosis(verdict, "a reason"))
    level, words = VERDICTS[verdict]
    assert f'<p class="{level}">{words}' in page_html(found.summary())
    assert re.search(f"weights +{verdict} +a reason", str(found))
    assert ("distance" in str(found)) == (verdict != "bounded")


def test_restarts_at_rows_are_advised_with_what_they_take(run):
    found = replace(run.diagnostics, growth=Diagnosis("stuck search", "a reason"))
    assert "restarts at rows of the table, which then enter the run" in page_html(found.summary())


def test_words_above_a_rising_curve_do_not_say_that_it_is_level(run):
    t: Any = 2 ** np.arange(12)
    flat, rising = (Trace(t, 1 / t, 1 / t, norm) for norm in (5 + np.sin(t), t**0.4))
    bounded = Diagnosis("bounded", "a reason")
    found = replace(run.diagnostics, growth=bounded, trace=rising)
    assert "still grow" in page_html(found.summary())
    assert "have stayed bounded" not in page_html(found.summary())
    assert re.search("weights +rising slowly +a reason", str(found))
    found = replace(found, trace=flat)
    assert "have stayed bounded" in page_html(found.summary())
    assert re.search("weights +bounded +a reason", str(found))


def test_more_states_are_advised_only_where_they_help(run):
    """The error of counts that contradict each other does not fall, however many states."""
    slow = replace(run.diagnostics, rate=-0.05)
    for verdict in ("bounded", "undecided"):
        found = replace(slow, growth=Diagnosis(verdict, "a reason"))
        assert "hardly falling (t^-0.05) yet: more states are needed" in str(found)
    for verdict in ("inconsistent moments", "stuck search"):
        found = replace(slow, growth=Diagnosis(verdict, "a reason"))
        assert "more states are" not in str(found)
    moments = Moments.from_counts([[50, 90], [90, 50]], total=100, contradictions="allow")
    herding = MomentHerder(contradictions="nearest").fit_moments(moments).herd(3000)
    assert "it will not fall: no table has all these counts" in str(herding)
    assert "more states are" not in str(herding)


def test_copies_that_stand_out_are_a_warning(run):
    plain = Copies(100, 0.25, 0.05)
    words = "Warning: far more rows copy a row of the table than chance explains"
    for known in ({"copies": plain}, {"copies_binned": plain}):
        nothing = {"copies": None, "copies_binned": None}
        assert words in str(replace(run.diagnostics, **{**nothing, **known}))
    likely = replace(plain, duplicate_share=0.5, unique_copied=0.02, unique_expected=0.01)
    assert "Warning" not in str(replace(run.diagnostics, copies=likely))
    unique = replace(likely, unique_copied=0.04)
    assert words in str(replace(run.diagnostics, copies=unique))


def test_counts_without_a_table():
    moments = Moments.from_counts([[40, 45], [45, 60]], total=100, contradictions="allow")
    model = MomentHerder(contradictions="nearest").fit_moments(moments)
    found, _ = made(model, 50, where={"x0": 1}, count_above=0)
    summary = found.summary(source="counts.csv")
    html = page_html(summary)
    assert "nothing was compared" in html
    assert "contradictions: 1, the worst first" in html
    assert "The counts of pairs do not determine it" in html
    assert "those where x0=1" in html
    text = str(summary)
    assert re.search(r"used +counts +in counts.csv", text)
    assert re.search(r"where +x0=1 +50 of [\d,]+ herded rows", text)
    assert "Warning: contradictions: 1, the worst: P(x0=1, x1=1) = 0.45" in text
    assert re.search(r"P\(more than 0 of 2 columns are 1\) +1.0000 +among rows where x0=1", text)


def test_restarts_at_rows_are_said():
    found, _ = made(MomentHerder(restarts="rows").fit(ROWS), 50)
    assert re.search(r"used +counts and rows +of the table; searches started at rows", str(found))
    assert "rows of it did enter" in page_html(found.summary())


def test_count_above_gives_the_share_the_spread_and_the_bounds():
    model = MomentHerder(restarts="visited").fit(ROWS)
    found, rows = made(model, 400, count_above=1)
    text = str(found)
    (share,) = re.findall(r"P\(more than 1 of 3 columns are 1\) +([\d.]+)", text)
    assert float(share) == pytest.approx((rows.sum(axis=1) > 1).mean(), abs=1e-4)
    (table,) = re.findall(r"in the table +([\d.]+)", text)
    assert float(table) == pytest.approx((ROWS.sum(axis=1) > 1).mean(), abs=1e-4)
    bounds = count_bounds(model.moments_, tail=True)
    assert f"{bounds.lower[1]:.4f} to {bounds.upper[1]:.4f}" in text
    wrong = Moments.from_counts([[40, 45], [45, 60]], total=100, contradictions="allow")
    nearest = MomentHerder(contradictions="nearest").fit_moments(wrong)
    text = str(made(nearest, 9, count_above=0)[0])
    assert re.search(r"bounds +none +no table has all these counts", text)


@pytest.mark.parametrize("count_above", [-1, 3])
def test_count_above_needs_a_number_below_the_columns(count_above):
    with refuses("count_above"):
        MomentHerder().fit(ROWS).synthesise(5, count_above=count_above)
    with refuses("count_above"):
        MomentHerder().fit([["a"], ["b"]]).synthesise(5, count_above=0)


def test_the_number_of_rows_is_that_of_the_counts():
    assert MomentHerder().fit(ROWS).synthesise().n_rows == 5
    shares = Moments.from_counts([[0.4, 0.2], [0.2, 0.6]], total=1)
    with refuses("n_samples", match="no common total"):
        MomentHerder().fit_moments(shares).synthesise()
    certain = Moments.from_counts([[1, 1], [1, 1]], total=1)
    with refuses("n_samples", match="shares of one"):
        MomentHerder().fit_moments(certain).synthesise()
    alone, rows = made(MomentHerder().fit(ROWS[:1]), None)
    assert (alone.n_rows, rows.tolist()) == (1, ROWS[:1].tolist())


def test_worst_cells_come_worst_first(run):
    reached = run.reached()
    rows = worst_cells(run.moments, reached, 3).rows
    gaps = [abs(float(str(row[3]))) for row in rows]
    assert len(rows) == 3
    assert gaps == sorted(gaps, reverse=True)
    expected = np.abs(reached.probabilities() - run.moments.probabilities())
    assert gaps[0] == expected[run.moments.layout.offsets[3] :].max()


def test_burn_in_takes_no_memory_and_reports():
    model = MomentHerder(burn_in=40_000).fit(ROWS)
    notes = []
    run = model.synthesise(10, progress=lambda share, note: notes.append((share, note)))
    rows = np.concatenate(list(run.codes()))
    late = MomentHerder().fit(ROWS).herd(40_010).samples[40_000:]
    assert np.array_equal(rows, late)
    assert (1.0, "burn-in") in notes
    assert notes[-1][1].startswith("herding, moment error ")


def test_moments_bounds_and_estimates_describe_themselves():
    moments = Moments.from_data(ROWS)
    lines = str(moments).splitlines()
    assert lines == [
        "6 tables of counts (3 single columns, 3 pairs) of 3 columns, counted from 5 rows",
        "contradictions: none (they come from rows)",
        "smallest count above zero: 1, in 7 cells",
    ]
    assert (moments.counts == 1).sum() == 7
    wrong = Moments.from_counts([[40, 45], [45, 60]], total=100, contradictions="allow")
    text = str(wrong)
    assert "Warning: contradictions: 1, the worst first" in text
    assert re.search(r"range +0.05 +P\(x0=1, x1=1\) = 0.45 must lie between", text)
    bounds = count_bounds(moments, tail=True)
    rows = [line.split() for line in str(bounds).splitlines()[2:]]
    assert rows[1] == ["1", f"{bounds.lower[1]:.4f}", f"{bounds.upper[1]:.4f}"]
    assert "joint programme: sharp" in str(bounds)
    found = count_estimate(moments, 100, tail=True)
    rows = [line.split() for line in str(found).splitlines()[2:]]
    numbers = (found.value, found.lowest, found.highest, bounds.lower, bounds.upper)
    assert rows[2] == ["2", *(f"{values[2]:.4f}" for values in numbers)]
    assert str(found).startswith("P(more than k ones), with its spread over 8 variants")


def test_a_number_stands_for_its_bin_and_must_lie_in_one():
    age = np.random.default_rng(0).integers(18, 80, 400)
    model = MomentHerder(bins=6).fit({"age": age, "ill": age % 2})
    bins = model.moments_.variables[0].values
    where = next(bin for bin in bins if isinstance(bin, Interval) and bin.low <= 40 < bin.high)
    some, _ = made(model, 30, where={"age": 40})
    assert re.search(rf"where +age in {re.escape(str(where))} +30 of", str(some.summary()))
    made_ages = model.sample(30, where={"age": 40})["age"]
    assert ((made_ages >= where.low) & (made_ages < where.high)).all()
    for age in (120, -5, "old"):
        ends = f"lie in one of its bins, {bins[0]} to {bins[-1]}, got {age!r}"
        with refuses("value of 'age'", match=re.escape(ends)):
            model.sample(3, where={"age": age})
    none = MomentHerder(missing="category").fit({"x": ["a", None, "a"]})
    text = str(made(none, 5, where={"x": None})[0].summary())
    assert re.search(r"where +x=\(missing\) ", text)


def test_numbers_of_the_table_are_compared_with_those_of_the_rows(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    table = {"pay": rng.lognormal(9, 1.5, 500).round(2), "age": rng.integers(18, 80, 500)}
    write_table(tmp_path / "t.csv", list(table), [table])
    monkeypatch.setattr("herder.data.source.CHUNK_BYTES", 40_000)
    whole = MomentHerder(bins=5).fit(table)
    parts = MomentHerder(bins=5, restarts="visited").fit_source(open_table(tmp_path / "t.csv"))
    for model in (whole, parts):
        found = model.synthesise(700)
        chunks = list(found.chunks())
        rows = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in table}
        sections = {section.title: section for section in found.summary().sections}
        (lines,) = (b for b in sections["Numbers"].blocks if isinstance(b, Table))
        worst = (0.0, "")
        for k, name in enumerate(table):
            own = []
            for x in (table[name], rows[name]):
                own.append([x.mean(), x.std(), *np.quantile(x, (0.05, 0.5, 0.95))])
            assert [line[:2] for line in lines.rows[2 * k : 2 * k + 2]] == [
                (name, "table"),
                (name, "synthetic rows"),
            ]
            for line, wanted in zip(lines.rows[2 * k :], own, strict=False):
                assert line[2:] == pytest.approx(wanted, rel=1e-9)
            gaps = np.abs(np.subtract(*own)) / own[0][1]
            worst = max(worst, (float(gaps.max()), name))
        line = re.search(r"numbers +([\d.]+) +standard .* of (\w+):", str(found.summary()))
        assert line is not None
        assert line.groups() == (f"{worst[0]:.2f}", worst[1])
    some = whole.synthesise(30, where={"age": 40})
    list(some.chunks())
    counts = MomentHerder().fit_moments(whole.moments_).synthesise(30)
    list(counts.chunks())
    for other in (some, counts):  # not of all rows, not of a table
        assert not re.search(r"^numbers ", str(other.summary()), re.MULTILINE)


def test_statistics_of_long_columns_take_constant_memory(monkeypatch):
    monkeypatch.setattr("herder.fields.number_columns.MAX_KEPT", 100)
    x = np.random.default_rng(1).normal(5, 2, 5000)
    column = NumberColumn()
    for part in np.split(x, [7, 1500, 1501, 4000]):
        column.add(part)
    assert column.values()[:2] == pytest.approx([x.mean(), x.std()], rel=1e-12)
    assert column.values()[2:] == pytest.approx(np.quantile(x[::64], (0.05, 0.5, 0.95)))


def test_the_label_that_counts_as_one_is_named():
    answers = {"a": ["ja", "nein", "ja", "ja"], "b": [0, 1, 1, 0], "c": ["yes", "no", "no", "no"]}
    found = count_estimate(Moments.from_data(answers), 60)
    assert str(found.summary()).startswith("P(k ones), a one being a = nein, c = yes, with its")
    assert found.value == pytest.approx([0.25, 0.5, 0.25, 0], abs=0.05)
    plain = count_estimate(Moments.from_data(ROWS), 20, tail=True)
    assert str(plain.summary()).startswith("P(more than k ones), with its")


def test_the_page_gives_the_rate_that_was_measured_and_the_copies(run):
    found = run.diagnostics
    html = page_html(run.summary())
    assert found.growth.verdict == "bounded"
    assert f"In this run the error fell as T^{found.rate:.2f}." in html
    assert "half of it" not in html
    assert (
        html.count(f"{found.duplicate_share:.2%} equal another") == 2
    )  # above and in its section


def test_the_axes_name_what_was_given():
    moments = Moments.from_data(ROWS)
    for given, word in ((moments, "table"), (replace(moments, from_rows=False), "counts")):
        axes = plot_agreement(given, moments).axes
        assert axes[0].get_xlabel() == axes[1].get_xlabel() == f"share in the {word}"
        assert axes[1].get_ylabel() == f"samples minus {word}"


def test_missing_values_have_one_name_in_the_worst_cells():
    moments = Moments.from_data({"a": ["x", None, "y", "x"]}, missing="category")
    other = replace(moments, counts=np.array([1.5, 0.5, 2.0]))
    assert worst_cells(moments, other).rows[0][0] == "a = (missing)"
