"""``herder moments``: counts that may be published."""

import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from herder import Moments
from herder.cli import app
from tests.cli.conftest import write_csv


def run(*words: object, code: int = 0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    rng = np.random.default_rng(3)
    town = rng.choice(["north", "south", "east", "far"], 400, p=[0.5, 0.3, 0.19, 0.01])
    kids = np.minimum(rng.poisson(1.2, 400), 5)
    rows = list(zip(town.tolist(), kids.tolist(), rng.integers(0, 2, 400).tolist(), strict=True))
    return write_csv(tmp_path_factory.mktemp("survey") / "t.csv", ("town", "kids", "ill"), rows)


def cells(path) -> list[int]:
    """Return the counts of all pairs and singles that occur, by pandas."""
    table = pd.read_csv(path)
    pairs = [["town"], ["kids"], ["ill"], ["town", "kids"], ["town", "ill"], ["kids", "ill"]]
    return [n for names in pairs for n in table.value_counts(names)]


def test_small_counts_are_refused_and_named(survey, tmp_path):
    out = tmp_path / "c.csv"
    done = run("moments", survey, "-o", out, "--min-count", 10, code=2)
    small = sorted(n for n in cells(survey) if n < 10)
    (line,) = done.stderr.splitlines()
    assert line.startswith("herder: --min-count must be met by every count that is not zero, got ")
    named = [int(n) for n in re.findall(r"(\d+) for ", line)]
    assert named == small[:5]
    assert f" and {len(small) - 5} more cells; --merge-small merges" in line
    assert not out.exists()
    least = min(cells(survey))
    done = run("moments", survey, "-o", out, "--min-count", least)
    n_least = cells(survey).count(least)
    assert f"smallest count above zero: {least}, in {n_least} cell" in done.stdout


def test_small_counts_are_merged_away(survey, tmp_path):
    out = tmp_path / "c.csv"
    done = run("moments", survey, "-o", out, "--min-count", 10, "--merge-small")
    found = Moments.load(out)
    assert found.counts[found.counts > 0].min() >= 10
    assert found.common_total == 400
    lines = done.stdout.splitlines()
    heading = lines.index("Merged categories")
    merged = {line.split()[0] for line in lines[heading + 2 :]}
    assert merged <= {"town", "kids"}
    assert merged
    (line,) = run("moments", survey, "--merge-small", code=2).stderr.splitlines()
    assert line == "herder: --merge-small must go with --min-count, got it alone"
    # counts that are given can be merged as those of a table are
    run("moments", survey, "-o", tmp_path / "all.csv")
    run("moments", tmp_path / "all.csv", "-o", tmp_path / "d.csv", "--min-count", 10,
        "--merge-small")  # fmt: skip
    assert np.array_equal(Moments.load(tmp_path / "d.csv").counts, found.counts)


def test_rounded_counts_are_synthesised_at_the_first_try(survey, tmp_path):
    out, rows = tmp_path / "c.csv", tmp_path / "rows.csv"
    done = run("moments", survey, "-o", out, "--round-to", 5, "--min-count", 5)
    assert "counts are multiples of 5" in done.stdout
    assert "of 3 columns, counted from 400 rows\n" in done.stdout
    found = Moments.load(out)
    assert (found.rounding, found.common_total) == (5, 400)
    assert not (found.counts % 5).any()
    done = run("synth", out, "-o", rows, "-n", 5000)
    assert re.search(r"moments +rounded +counts of 400 rows, to multiples of 5", done.stdout)
    assert "contradict" not in done.output
    table, made = pd.read_csv(survey), pd.read_csv(rows)
    for names in (["town", "kids"], ["town", "ill"], ["kids", "ill"]):
        given, reached = (f.value_counts(names, normalize=True) for f in (table, made))
        gap = reached.sub(given, fill_value=0).abs().max()
        assert gap < 5 / 400  # half a multiple by rounding, another by what does not add up


def test_pairs_that_are_not_listed_are_said(tmp_path):
    rows = [("a", "a", 5, 10), ("b", "b", 5, 10), ("c", "c", 5, 10), ("a", "b", 3, 10)]
    path = write_csv(tmp_path / "p.csv", ("variable_a", "variable_b", "count", "total"), rows)
    words = "not listed, and therefore free: 2 of 3 pairs: a and c; b and c"
    assert words in run("moments", path).stdout
    assert words in run("synth", path, "-o", tmp_path / "r.csv").stdout


def test_a_table_of_one_row(tmp_path):
    path = write_csv(tmp_path / "one.csv", "ab", [["x", 3]])
    run("synth", path, "-o", tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_text().splitlines() == ["a,b", "x,3"]


def test_copies_are_those_that_the_files_show(survey, tmp_path):
    """As pandas finds them in the two csv files."""
    path = tmp_path / "rows.csv"
    text = run("synth", survey, "-o", path, "-n", 300).stdout
    table, rows = (pd.read_csv(file).astype(str).agg("|".join, axis=1) for file in (survey, path))
    times = np.array(table.groupby(table).transform("size"))
    unique = set(table[times == 1])
    shares = [rows.isin(table).mean(), (times > 1).mean()]
    shares += [rows.isin([*unique]).mean(), (times == 2).mean()]
    wanted = [f"{share:.2%}" for share in shares]
    first = r"copied rows +(\S+) +equal a row of the table; of its own rows (\S+) equal another"
    second = r"unique copied +(\S+) +equal a row that is unique there; about (\S+) by chance"
    assert [*re.findall(first, text)[0], *re.findall(second, text)[0]] == wanted
    found = f"{len(unique & set(rows))} of {len(unique)}"
    assert re.search(rf"unique found +{found} +of its unique rows were made", text)


def test_columns_that_identify_rows_are_named_and_can_be_dropped(tmp_path):
    rng = np.random.default_rng(0)
    ids, ages = rng.permutation(9000)[:60] + 1000, rng.integers(20, 25, 60)
    rows = [(i, f"note {i}", a, "ab"[a % 2]) for i, a in zip(ids, ages, strict=True)]
    table = write_csv(tmp_path / "t.csv", ("id", "note", "age", "kind"), rows)
    out = tmp_path / "out.csv"
    once = "'note' has values that occur once (60 of 60), which come out word for word"
    number = "'id' has another whole number in each row, as an id has"
    for verb in ("synth", "moments"):
        done = run(verb, table, "-o", out)
        assert f"Warning: {number}; {once}: leave out columns" in done.stderr
        assert f"{number}; {once}: leave out columns" in done.stdout
        for words in (("--drop", "id,note"), ("--drop", "id", "--drop", "note")):
            done = run(verb, table, "-o", out, *words)
            assert "occur once" not in done.output
            assert "note" not in out.read_text()
        (line,) = run(verb, table, "-o", out, "--drop", "nite", code=2).stderr.splitlines()
        assert line.endswith("got 'nite'; did you mean note?")
        run("moments", table, "-o", tmp_path / "c.csv", "--drop", "id,note")
        (line,) = run(
            verb, tmp_path / "c.csv", "-o", out, "--drop", "id", code=2
        ).stderr.splitlines()
        assert line == "herder: --drop must be left out for a file of counts, got 'id'"
    (line,) = run(
        "synth", table, "-o", out, "--drop", "id,note,age,kind", code=2
    ).stderr.splitlines()
    assert line == f"herder: --drop must leave a column of {table}, got all of them"


def test_parts_of_a_file_are_dropped_and_numbered_alike(survey, tmp_path, monkeypatch):
    table = pd.read_csv(survey).assign(id=np.arange(400)[::-1])
    table.to_csv(tmp_path / "t.csv", index=False)
    run("moments", tmp_path / "t.csv", "-o", tmp_path / "a.csv", "--drop", "id")
    monkeypatch.setattr("herder.data.source.CHUNK_BYTES", 40_000)  # the last part is short
    run("moments", tmp_path / "t.csv", "-o", tmp_path / "b.csv", "--drop", "id")
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    assert "'id' has another whole number" in run("moments", tmp_path / "t.csv").stderr


def test_what_rounded_counts_do_not_tell_is_said(tmp_path):
    rows = np.random.default_rng(0).integers(0, 2, (203, 3))
    table = write_csv(tmp_path / "t.csv", "abc", rows)
    run("moments", table, "-o", tmp_path / "c.csv", "--round-to", 5)
    text = run("synth", tmp_path / "c.csv", "-o", tmp_path / "r.csv", "--count-above", 1).stdout
    assert re.search(r"spread .*; the rounding of the counts is left out\n", text)
    assert re.search(r"bounds +not computed +the counts are rounded\n", text)
    text = run("synth", table, "-o", tmp_path / "r.csv", "--count-above", 1).stdout
    assert "rounding" not in text
    assert re.search(r"bounds +0\.\d+ to 0\.\d+ +by the counts alone", text)


def test_missing_values_have_one_name(tmp_path):
    table = write_csv(tmp_path / "t.csv", "ab", [["x", 1], ["", 2], ["x", 2]] * 4 + [["y", 1]])
    words = (table, "--missing", "category")
    (line,) = run("moments", *words, "--min-count", 5, code=2).stderr.splitlines()
    assert "4 for a = (missing)" in line
    done = run("synth", *words, "-o", tmp_path / "r.csv", "--where", "a=z", code=2)
    assert "value of 'a' must be one of 'x', 'y', (missing), got 'z'" in done.stderr
    text = run("synth", *words, "-o", tmp_path / "r.csv", "--where", "a=x").stdout
    assert re.search(r"moment error .*; of all herded rows\n", text)


@pytest.mark.parametrize("verb", ["synth", "moments"])
@pytest.mark.parametrize("limit", ["1G", "2M"])
def test_a_gap_is_named_by_its_line_in_the_file(tmp_path, verb, limit):
    """Lines count from 1, cells may hold several, and a file may be read in parts."""
    table = tmp_path / "t.csv"
    table.write_text('a,b\n"two\nlines",1\n' + "x,0\n" * 40_000 + ",1\nx,\nx,\n")
    words = (verb, table, "-o", tmp_path / "o.csv", "--max-memory", limit)
    text = run(*words, code=2).stderr
    assert "1 in column 'a', first in line 40004, 2 in other columns; pass --missing" in text
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize("verb", ["synth", "moments"])
def test_counts_are_not_binned(tmp_path, verb):
    counts = tmp_path / "c.csv"
    counts.write_text("variable_a,variable_b,count,total\na,a,4,10\nb,b,5,10\na,b,2,10\n")
    done = run(verb, counts, "-o", tmp_path / "o.csv", "--bins", "a=3", code=2)
    assert "--bins" in done.stderr
