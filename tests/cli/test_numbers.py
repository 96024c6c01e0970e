"""Tables of numbers, dates and gaps through ``synth`` and ``moments``."""

import csv
import re

import numpy as np
import pytest

from herder import Moments
from herder.data.intervals import Interval
from tests.cli.conftest import write_csv
from tests.cli.test_verbs import run

GAPS = ("--missing", "category")
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@pytest.fixture
def survey_csv(tmp_path):
    """1,500 rows, sorted by date: integers, money with zeros, dates, text, and empty numbers."""
    rng = np.random.default_rng(0)
    n = 1500
    age = np.clip(rng.normal(45, 16, n), 18, 95).astype(int).astype(object)
    pay = np.where(rng.random(n) < 0.2, 0, rng.lognormal(9.5 + age.astype(int) / 100, 0.8))
    pay = pay.round(2).astype(object)
    age[3::20] = pay[::11] = ""
    joined = np.sort(np.datetime64("2019-01-01") + rng.integers(0, 1500, n))
    rows = zip(age, pay, joined, rng.choice(["Bern", "Oslo", "Rome"], n), strict=True)
    return write_csv(tmp_path / "survey.csv", ("age", "pay", "joined", "city"), list(rows))


def columns_of(path):
    with open(path, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def test_numbers_dates_and_gaps_come_back_as_they_were(survey_csv, tmp_path):
    out, page, counts = tmp_path / "out.csv", tmp_path / "page.html", tmp_path / "m.csv"
    said = run("synth", survey_csv, "-o", out, "--report", page, *GAPS).stdout
    assert re.search(r"bins +3 columns +age 15, pay \d+, joined 15; values come back", said)
    run("moments", survey_csv, "-o", counts, *GAPS)
    table, html = columns_of(counts), page.read_text(encoding="utf-8")
    bins = set(table["value_a"][table["variable_a"] == "joined"])
    assert len(bins) == 15
    assert "Bins of each column" in html
    assert all(label in html for label in bins)
    run("synth", counts, "-o", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == out.read_text()
    old, new = columns_of(survey_csv), columns_of(out)
    for name in ("age", "pay"):
        for text in ("", "0.0"):
            share = (old[name] == text).mean()
            assert (new[name] == text).mean() == pytest.approx(share, abs=2e-3)
        a, b = (columns[name][columns[name] != ""].astype(float) for columns in (old, new))
        for level in LEVELS:
            at = np.quantile(b, level)
            assert (a < at).mean() - 0.02 <= level <= (a <= at).mean() + 0.02
    assert all(re.fullmatch(r"\d*", text) for text in new["age"])
    assert all(re.fullmatch(r"(\d+\.\d{1,2})?", text) for text in new["pay"])
    days = [np.sort(columns["joined"].astype("M8[D]")).astype(int) for columns in (old, new)]
    assert np.abs(days[0] - days[1]).max() < 30  # of 1,500
    run("synth", survey_csv, "-o", out, "-n", 30, *GAPS, "--where", "pay=50000")
    assert len(set(columns_of(out)["pay"])) == 30


def test_bins_of_a_long_file_are_those_of_all_its_rows(survey_csv, tmp_path, monkeypatch):
    """The file is sorted by date, and read in parts of 500 rows."""
    run("moments", survey_csv, "-o", tmp_path / "whole.csv", *GAPS)
    monkeypatch.setattr("herder.data.source.CHUNK_BYTES", 4 * 72 * 500)
    run("moments", survey_csv, "-o", tmp_path / "parts.csv", *GAPS)
    run("synth", survey_csv, "-o", tmp_path / "out.csv", *GAPS)
    days = [
        np.sort(columns_of(path)["joined"].astype("M8[D]")).astype(int)
        for path in (survey_csv, tmp_path / "out.csv")
    ]
    assert np.abs(days[0] - days[1]).max() < 40
    whole, parts = (Moments.load(tmp_path / f"{name}.csv") for name in ("whole", "parts"))
    assert whole.common_total == parts.common_total == 1500
    assert parts.table(("joined",)).max() < 0.2 * 1500


def test_values_beyond_the_outermost_bins_are_said_to_be_counted_in_them(tmp_path):
    ages = np.r_[np.repeat(np.arange(20, 70), 10), 94]
    table, page = write_csv(tmp_path / "t.csv", ["age"], ages[:, None]), tmp_path / "page.html"
    words = "those beyond the outermost bins are counted in them"
    for verb in ("moments", "synth"):
        more = ["--report", page] if verb == "synth" else []
        assert words in run(verb, table, "-o", tmp_path / "c.csv", *more).stdout
    assert "values beyond the outermost bins are counted in them" in page.read_text("utf-8")
    found = Moments.from_data({"age": ages})
    last = found.variables[0].values[-1]
    assert isinstance(last, Interval)
    assert last.high < 94
    assert found.counts[-1] == (ages >= last.low).sum()
