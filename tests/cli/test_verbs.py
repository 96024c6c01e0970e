import csv
import errno
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import herder
from herder import MomentHerder, Moments
from herder.cli import app
from herder.data import open_table


def run(*words: object, code: int = 0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    if code == 0 and done.exception is not None:
        raise done.exception
    return done


def read(path) -> dict[str, np.ndarray]:
    parts = list(open_table(path).chunks())
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def shown(text: str) -> str:
    """Help text without the frame and the line breaks of the terminal."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


def error_line(done) -> str:
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("herder: ")
    return lines[0]


def test_help_lists_the_verbs():
    text = shown(run("--help").stdout)
    for verb in ("moments", "synth", "demo"):
        assert verb in text


@pytest.mark.parametrize("verb", ["moments", "synth"])
def test_every_option_has_a_help_text(verb):
    import typer.main

    command = typer.main.get_command(app).commands[verb]  # type: ignore[attr-defined]
    assert command.help
    for parameter in command.params:
        assert parameter.help, parameter.name


def test_help_of_synth_says_what_is_used():
    text = shown(run("synth", "--help").stdout)
    assert "Only the counts are used" in text
    for option in ("--where", "--report", "--order", "--max-memory", "--contradictions"):
        assert option in text


def test_version():
    assert run("--version").stdout.strip() == f"herder {herder.__version__}"


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".parquet"])
def test_moments_round_trip(binary_csv, tmp_path, suffix):
    out = tmp_path / f"counts{suffix}"
    text = run("moments", binary_csv, "-o", out).stdout
    assert "15 tables of counts (5 single columns, 10 pairs) of 5 columns" in text
    assert "counted from 200 rows" in text
    assert "contradictions: none" in text
    direct = Moments.from_data(read(binary_csv))
    loaded = Moments.load(out)
    assert loaded.names == direct.names
    assert np.array_equal(loaded.counts, direct.counts)


def test_moments_of_triples(binary_csv, tmp_path):
    text = run("moments", binary_csv, "-o", tmp_path / "m.csv", "--order", 3).stdout
    assert "10 triples" in text
    assert Moments.load(tmp_path / "m.csv").order == 3


def test_moments_without_output_only_sums_up(binary_csv):
    assert "15 tables of counts" in run("moments", binary_csv).stdout


def test_moments_names_contradictions(contradictory_csv, tmp_path):
    done = run("moments", contradictory_csv, "-o", tmp_path / "m.csv")
    assert "contradictions: 1" in done.stdout
    assert "P(a=1, b=1) = 0.45" in done.stdout


def test_a_small_limit_reads_in_many_chunks_and_counts_the_same(people_csv, tmp_path, monkeypatch):
    sizes = []

    def few_rows(self, max_memory, what, progress):
        for chunk in self.chunks(10 * self.row_bytes):
            sizes.append(len(chunk["region"]))
            yield chunk

    options = ("--missing", "category", "--bins", "age=3")
    run("moments", people_csv, "-o", tmp_path / "whole.csv", *options)
    monkeypatch.setattr("herder.data.source.TableSource.within", few_rows)
    run("moments", people_csv, "-o", tmp_path / "parts.csv", *options)
    assert len(sizes) == 12
    whole, parts = Moments.load(tmp_path / "whole.csv"), Moments.load(tmp_path / "parts.csv")
    for name in ("region", "size", "answer"):
        assert np.array_equal(whole.table((name,)), parts.table((name,)))


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".npz", ".parquet"])
def test_synth_round_trip(binary_csv, tmp_path, suffix):
    out = tmp_path / f"rows{suffix}"
    text = run("synth", binary_csv, "-n", 400, "-o", out).stdout
    assert "400 rows of 5 columns" in text
    assert re.search(r"used +only counts +of .*days.csv, none of its rows", text)
    assert re.search(r"moments +exact +counts of 200 rows", text)
    assert re.search(r"moment error +[\d.]+e-\d\d +at most, for", text)
    assert re.search(r"copied rows +[\d.]+% +equal a row of the table; of its own rows", text)
    assert re.search(r"unique found +\d+ of \d+ +of its unique rows were made", text)
    table = read(binary_csv)
    expected = MomentHerder().fit_moments(Moments.from_data(table)).sample(400)
    for made, wanted in zip(read(out).values(), expected.values(), strict=True):
        assert np.array_equal(made, wanted)


def test_synth_from_a_count_file_equals_synth_from_the_table(binary_csv, tmp_path):
    run("moments", binary_csv, "-o", tmp_path / "m.csv")
    run("synth", binary_csv, "-n", 300, "-o", tmp_path / "a.csv")
    text = run("synth", tmp_path / "m.csv", "-n", 300, "-o", tmp_path / "b.csv").stdout
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert re.search(r"used +counts +in .*m.csv", text)
    assert "equal a data row" not in text


def test_synth_takes_the_number_of_rows_from_the_counts(binary_csv, tmp_path):
    assert "200 rows of" in run("synth", binary_csv, "-o", tmp_path / "a.csv").stdout


def test_rows_keep_labels_and_gaps(people_csv, tmp_path):
    out = tmp_path / "made.csv"
    run("synth", people_csv, "-n", 240, "-o", out, "--missing", "category", "--bins", 4)
    with open(out, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["region"] for row in rows} == {"north", "south", "east"}
    assert {row["answer"] for row in rows} == {"no", "yes", ""}
    assert {row["size"] for row in rows} == {"1", "2", "3"}
    ages = np.array([float(row["age"]) for row in rows])
    np.testing.assert_array_equal(ages, ages.round(4))
    with open(people_csv, newline="", encoding="utf-8") as stream:
        table = np.array([float(row["age"]) for row in csv.DictReader(stream)])
    for level in (0.05, 0.25, 0.5, 0.75, 0.95):
        assert (table < np.quantile(ages, level)).mean() == pytest.approx(level, abs=0.05)
    gaps = sum(row["answer"] == "" for row in rows) / len(rows)
    assert gaps == pytest.approx(0.1, abs=0.01)  # 12 of 120, and the herd is within 1/T


def test_where_gives_the_rows_that_match(binary_csv, tmp_path):
    out = tmp_path / "made.csv"
    text = run(
        "synth", binary_csv, "-n", 50, "-o", out, "--where", "rain=1", "--where", "wind=0"
    ).stdout
    made = read(out)
    assert len(made["rain"]) == 50
    assert set(made["rain"].tolist()) == {1}
    assert set(made["wind"].tolist()) == {0}
    assert re.search(r"where +rain=1 and wind=0 +50 of [\d,]+ herded rows", text)
    herder_ = MomentHerder().fit_moments(Moments.from_data(read(binary_csv)))
    expected = herder_.sample(50, where={"rain": 1, "wind": 0})
    assert all(np.array_equal(made[name], expected[name]) for name in made)


def test_where_takes_bins_and_gaps(people_csv, tmp_path):
    out = tmp_path / "made.csv"
    options = ("--missing", "category", "--bins", 2, "--where", "age=30", "--where", "answer=")
    run("synth", people_csv, "-n", 20, "-o", out, *options)
    with open(out, newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 20
    assert {row["answer"] for row in rows} == {""}
    ages = {float(row["age"]) for row in rows}
    assert len(ages) == 20
    assert max(ages) < 42  # the median, to a tenth of the rows


def test_restarts_at_rows_say_so(binary_csv, tmp_path):
    text = run(
        "synth", binary_csv, "-n", 50, "-o", tmp_path / "a.csv", "--restarts", "rows"
    ).stdout
    assert re.search(r"used +counts and rows +of .*; searches started at rows of it", text)


def test_the_old_word_for_visited_still_works(binary_csv, tmp_path):
    run("synth", binary_csv, "-n", 50, "-o", tmp_path / "a.csv")
    done = run("synth", binary_csv, "-n", 50, "-o", tmp_path / "b.csv", "--restarts", "auto")
    assert "--restarts auto is deprecated: use --restarts visited" in done.stderr
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert "[visited|rows|none]" in shown(run("synth", "--help").stdout)


def test_burn_in_leaves_out_the_first_rows(binary_csv, tmp_path):
    run("synth", binary_csv, "-n", 100, "-o", tmp_path / "a.csv")
    run("synth", binary_csv, "-n", 60, "-o", tmp_path / "b.csv", "--burn-in", 40)
    whole, rest = read(tmp_path / "a.csv"), read(tmp_path / "b.csv")
    assert all(np.array_equal(whole[name][40:], rest[name]) for name in whole)


def test_count_above_gives_probability_and_range(binary_csv, tmp_path):
    out = tmp_path / "a.csv"
    text = run("synth", binary_csv, "-n", 400, "-o", out, "--count-above", 3).stdout
    found = re.search(r"P\(more than 3 of 5 columns are 1\) +([\d.]+)", text)
    limits = re.search(r"bounds +([\d.]+) to ([\d.]+) +by the counts alone", text)
    assert found
    assert limits
    rows = np.column_stack(list(read(out).values()))
    assert float(found[1]) == pytest.approx((rows.sum(axis=1) > 3).mean(), abs=1e-4)
    # the rows miss the moments by about 1/400, and so may their tail miss the range
    assert float(limits[1]) - 0.01 <= float(found[1]) <= float(limits[2]) + 0.01
    table = np.column_stack(list(read(binary_csv).values()))
    (known,) = re.findall(r"in the table +([\d.]+)", text)
    assert float(known) == pytest.approx((table.sum(axis=1) > 3).mean(), abs=1e-4)
    spread = re.search(r"spread +([\d.]+) to ([\d.]+) +over other encodings", text)
    assert spread
    assert 0 <= float(spread[1]) <= float(spread[2]) <= 1


def test_contradictions_are_named_and_herded_on_request(contradictory_csv, tmp_path):
    out = tmp_path / "a.csv"
    line = error_line(run("synth", contradictory_csv, "-n", 100, "-o", out, code=2))
    assert "P(a=1, b=1) = 0.45" in line
    assert "--contradictions nearest" in line
    assert not out.exists()
    text = run(
        "synth", contradictory_csv, "-n", 100, "-o", out, "--contradictions", "nearest"
    ).stdout
    assert "contradictions: 1, the worst: P(a=1, b=1) = 0.45" in text
    assert len(read(out)["a"]) == 100


def test_report_is_one_page_that_needs_nothing_else(binary_csv, tmp_path):
    page = tmp_path / "page.html"
    out = tmp_path / "a.csv"
    text = run(
        "synth", binary_csv, "-n", 200, "-o", out, "--report", page, "--count-above", 2
    ).stdout
    assert text.startswith(f"{out}, {page}: 200 rows of 5 columns")
    html = page.read_text(encoding="utf-8")
    assert not re.search(r"https?:|<link|<script|url\(", html)
    for words in ("Pair by pair", "Copied rows", "P(more than 2 of 5", "herder synth"):
        assert words in html
    assert "--report" in html
    assert herder.__version__ in html


def test_report_of_labelled_columns_has_no_count_of_ones(people_csv, tmp_path):
    options = ("--missing", "category", "--bins", 3, "--where", "region=east")
    page = tmp_path / "page.html"
    run("synth", people_csv, "-n", 30, "-o", tmp_path / "a.csv", "--report", page, *options)
    html = page.read_text(encoding="utf-8")
    assert "Number of ones" not in html
    assert "region=east" in html


def test_outputs_are_replaced(binary_csv, tmp_path):
    out = tmp_path / "a.csv"
    out.write_text("old")
    run("synth", binary_csv, "-n", 10, "-o", out)
    assert len(read(out)["rain"]) == 10


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere.csv", "-n", 5, "-o", "{tmp}/a.csv"), "must name a file that exists"),
        (("{table}", "-n", 0, "-o", "{tmp}/a.csv"), "--rows must be a positive integer, got 0"),
        (("{table}", "-n", 5, "-o", "{tmp}/a.txt"), "output must end in .csv, .npy, .npz or"),
        (("{table}", "-n", 5, "-o", "{tmp}/no/a.csv"), "output must lie in a folder that exists"),
        (("{table}", "-n", 5, "-o", "{table}"), "output must not be the input"),
        (("{table}", "-n", 5, "-o", "{tmp}/a.csv", "--report", "{tmp}/p.pdf"), "report must end"),
        (("{table}", "-n", 5, "-o", "{tmp}/a.csv", "--where", "fog=1"), "where must be COLUMN="),
        (("{table}", "-n", 5, "-o", "{tmp}/a.csv", "--where", "rain"), "where must be COLUMN="),
        (("{table}", "-n", 5, "-o", "{tmp}/a.csv", "--where", "rain=2"), "must be one of 0, 1"),
        (("{table}", "-n", 5, "-o", "{tmp}/a.csv", "--max-memory", "lots"), "max-memory must be"),
        (
            ("{table}", "-n", 5, "-o", "{tmp}/a.csv", "--bins", "few"),
            "bins must be auto, a number",
        ),
        (
            ("{table}", "-n", 5, "-o", "{tmp}/a.csv", "--count-above", 5),
            "count-above must be less",
        ),
    ],
)
def test_synth_says_in_one_line_what_is_wrong(binary_csv, tmp_path, words, message):
    filled = [str(word).format(table=binary_csv, tmp=tmp_path) for word in words]
    assert message in error_line(run("synth", *filled, code=2))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--missing category"),
        (("--missing", "category", "--bins", 3, "--count-above", 2), "with 0/1 columns only"),
        (
            ("--missing", "category", "--bins", 3, "--where", "age=old"),
            "must lie in one of its bins",
        ),
    ],
)
def test_errors_about_columns_name_the_option_that_helps(people_csv, tmp_path, options, message):
    done = run("synth", people_csv, "-n", 5, "-o", tmp_path / "a.csv", *options, code=2)
    assert message in error_line(done)


def test_counts_that_exceed_the_limit_are_refused(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("id,other\n" + "".join(f"a{i},b{i}\n" for i in range(1500)))
    done = run("moments", path, "-o", tmp_path / "m.csv", "--max-memory", "1M", code=2)
    assert "--max-memory must be at least" in error_line(done)
    assert "'id'" in error_line(done)


def test_a_full_disk_is_one_line_and_no_file(binary_csv, tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("herder.fields.synthesis.moment_diagnostics", full)
    done = run("synth", binary_csv, "-n", 5, "-o", tmp_path / "a.csv", code=2)
    assert "No space left on device" in error_line(done)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("suffix", "message"), [(".npy", "must hold numbers only"), (".npz", "has no missing values")]
)
def test_what_a_format_cannot_hold_shows_before_the_run(people_csv, tmp_path, suffix, message):
    out = tmp_path / f"a{suffix}"
    options = ("--missing", "category", "--bins", 3)
    line = error_line(run("synth", people_csv, "-n", 10**12, "-o", out, *options, code=2))
    assert message in line
    assert str(out) in line


def test_restarts_at_rows_need_a_table(contradictory_csv, tmp_path):
    words = ("synth", contradictory_csv, "-n", 5, "-o", tmp_path / "a.csv", "--restarts", "rows")
    line = error_line(run(*words, "--contradictions", "nearest", code=2))
    assert "--restarts must be" in line
    assert "without data rows, got 'rows'" in line


def test_files_of_counts_are_told_from_tables(tmp_path):
    counts = "variable_a,variable_b,count,total\na,a,40,100\nb,b,50,100\na,b,20,100\n"
    (tmp_path / "good.csv").write_text(counts)
    (tmp_path / "typo.csv").write_text(counts.replace("variable_a", "var_a"))
    out = tmp_path / "rows.csv"
    assert "a column 'variable_a'" in error_line(
        run("synth", tmp_path / "typo.csv", "-n", 5, "-o", out, code=2)
    )
    assert "order must be left out" in error_line(
        run("synth", tmp_path / "good.csv", "-n", 5, "-o", out, "--order", 3, code=2)
    )
    twice = ("--where", "a=1", "--where", "a=0")
    assert "one value, got two for 'a'" in error_line(
        run("synth", tmp_path / "good.csv", "-n", 5, "-o", out, *twice, code=2)
    )
    assert not out.exists()
