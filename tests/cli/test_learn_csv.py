"""Broken lines of csv files: told by their lines, or left out and counted."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from herder import NHERD
from herder.cli import app
from herder.data import csv_table, features
from herder.io import load

rng = np.random.default_rng(5)
AMOUNTS = rng.normal(40, 9, 120).round(2)
AGES = rng.integers(18, 80, 120)
KINDS = np.where(AMOUNTS + rng.normal(0, 4, 120) > 40, "late", "paid")
HEAD = "amount,age,label"
GOOD = [f"{a},{b},{c}" for a, b, c in zip(AMOUNTS, AGES, KINDS, strict=True)]


def run(*words: object, code: int = 0) -> Any:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


def table(path: Path, rows: list[str], end: str = "\n") -> Path:
    path.write_bytes(end.join([HEAD, *rows, ""]).encode())
    return path


def broken(**lines: str) -> list[str]:
    """Good rows, with some put in so that they have these line numbers."""
    rows = list(GOOD)
    for name, text in lines.items():
        rows.insert(int(name.removeprefix("at")) - 2, text)
    return rows


def same(path: Path, keep: np.ndarray) -> bool:
    X = np.column_stack([AMOUNTS, AGES])[keep]
    reference = NHERD().partial_fit(X, KINDS[keep], classes=["late", "paid"])
    return bool(np.array_equal(load(path).coef_, reference.coef_))


CASES = [
    (
        "39.o3,20,late",
        "line 100 of {path} must have a finite number in column 'amount', got '39.o3'",
    ),
    (",20,late", "line 100 of {path} must have a finite number in column 'amount', got nan"),
    ("1.5,n/a,late", "line 100 of {path} must have a finite number in column 'age', got 'n/a'"),
    ("1.5,,late", "line 100 of {path} must have a finite number in column 'age', got none"),
    ("1.5,20", "line 100 of {path} must have 3 fields, as the header has, got 2"),
    ("1,200.5,20,late", "line 100 of {path} must have 3 fields, as the header has, got 4"),
    ("1.5,20,", "line 100 of {path} must have a label in column 'label', got none"),
]


@pytest.mark.parametrize(("line", "message"), CASES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_broken_line_is_told_or_left_out(tmp_path, line, message, end):
    path, out = table(tmp_path / "t.csv", broken(at100=line), end), tmp_path / "m.safetensors"
    message = message.replace("{path}", str(path))
    told = run("learn", path, "-o", out, code=2)
    assert told.stderr == f"herder: {message}; --skip-broken leaves such lines out\n"
    assert told.stdout == ""
    assert not out.exists()
    done = run("learn", path, "-o", out, "--skip-broken")
    assert f"left out, the first: {message}" in done.stdout
    assert "120 rows" in done.stdout
    assert same(out, np.arange(120))


@pytest.mark.parametrize(("line", "message"), CASES[:-1])
def test_predict_tells_lines_and_leaves_them_out(tmp_path, line, message):
    model = tmp_path / "m.safetensors"
    run("learn", table(tmp_path / "good.csv", GOOD), "-o", model)
    path = table(tmp_path / "t.csv", broken(at100=line))
    message = message.replace("{path}", str(path))
    assert message in run("predict", model, path, code=2).stderr
    out = tmp_path / "answers.csv"
    done = run("predict", model, path, "-o", out, "--skip-broken")
    assert f"left out, the first: {message}" in done.stdout
    with open(out, newline="") as file:
        answers = list(csv.DictReader(file))
    assert [int(row["line"]) for row in answers] == [k for k in range(2, 123) if k != 100]
    expected = load(model).predict(np.column_stack([AMOUNTS, AGES]))
    assert [row["label"] for row in answers] == expected.tolist()


@given(
    st.dictionaries(
        st.integers(2, 110),
        st.sampled_from([case[0] for case in CASES] + ["late"]),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from([10**4, 2 * 10**4, 10**6]),
)
def test_all_broken_lines_are_counted_whatever_the_blocks(tmp_path_factory, lines, size):
    folder = tmp_path_factory.mktemp("csv")
    rows = broken(**{f"at{line}": text for line, text in sorted(lines.items())})
    path, out = table(folder / "t.csv", rows), folder / "m.safetensors"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(features, "CHUNK_BYTES", size)
        patch.setattr(csv_table, "CSV_BLOCK", size // 2000)
        done = run("learn", path, "-o", out, "--skip-broken")
        model = load(out).coef_
        assert f"{len(lines)} broken line" in done.stdout
        assert f"the first: line {min(lines)} of" in done.stdout
        run("learn", table(path, GOOD), "-o", out)
    np.testing.assert_array_equal(model, load(out).coef_)


def test_lines_are_those_of_the_file(tmp_path):
    """Blank lines, a mark at the beginning, and fields of several lines count as they stand."""
    rows = ['"1.5",2,"la\nte"', "", "", "2.5,3,paid", "x,3,paid", "3.5,4,paid"]
    path = table(tmp_path / "t.csv", rows)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    line = run("learn", path, "-o", tmp_path / "m.safetensors", code=2).stderr
    assert f"line 7 of {path} must have a finite number in column 'amount', got 'x'" in line


def test_a_weight_that_is_no_number(tmp_path):
    path, out = table(tmp_path / "t.csv", broken(at50="1.5,old,late")), tmp_path / "m.safetensors"
    words = ("learn", path, "-o", out, "--weight", "age")
    told = run(*words, code=2).stderr
    assert f"line 50 of {path} must have a weight from 0 on in column 'age', got 'old'" in told
    run(*words, "--skip-broken")
    reference = NHERD().partial_fit(AMOUNTS[:, None], KINDS, ["late", "paid"], AGES.astype(float))
    np.testing.assert_array_equal(load(out).coef_, reference.coef_)


def test_columns_of_words_and_codes_are_no_broken_numbers(tmp_path):
    out, path = tmp_path / "m.safetensors", tmp_path / "t.csv"
    path.write_text("word,label\n1,x\nlate,y\npaid,x\n")
    words = ("learn", path, "-o", out, "--skip-broken")
    told = run(*words, code=2).stderr
    assert f"column 'word' of {path} must hold numbers, got the text 'late' in line 3: " in told
    assert "--drop word, or give --category word, or --text word for its words" in told
    path.write_text("zip,label\n" + "10115,x\n" * 50 + "04109,y\n")
    told = run(*words, code=2).stderr
    assert f"column 'zip' of {path} must hold numbers, got the text '04109' in line 52: " in told


def test_a_file_of_nothing_but_broken_lines(tmp_path):
    path = table(tmp_path / "t.csv", ["1,2", "3,4,5,6"])
    told = run("learn", path, "-o", tmp_path / "m.safetensors", "--skip-broken", code=2).stderr
    assert f"{path} must hold at least one row, got 2 broken lines left out, the first: " in told
    assert f"line 2 of {path} must have 3 fields" in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must hold a table, got an empty file"),
        ("\n\n", "must hold a table, got only blank lines"),
        ("a,label\n", "must hold at least one row and one column, got 0 rows and 2 columns"),
        ("1,2\n3,4\n", "must begin with a row of column names, got a first row of numbers, 1, 2"),
        ("a,,label\n1,2,x\n", "must name every column, got no name for 2"),
        ("a,a,label\n1,2,x\n", "must have distinct column names, got 'a' twice"),
        ("a;label\n1;x\n", "must separate its columns by commas, got 'a;label'"),
        ('a,label\n1,x\n"2"3,x\n', "must be comma-separated text, got line 3: "),
        ("a,label\n1,\udcff\n", "must be UTF-8 text, got: "),
    ],
)
def test_files_that_are_no_tables(tmp_path, text, message):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    told = run("learn", path, "-o", tmp_path / "m.safetensors", "--skip-broken", code=2).stderr
    assert told.startswith(f"herder: {path} {message}")
