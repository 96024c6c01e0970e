import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from herder import NHERD
from herder.cli import app
from herder.data import svmlight, write_table
from herder.io import load, save

GOOD = "1 1:1 2:1\n-1 2:3\n" * 20


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def error_line(*words: object, verb: str = "learn", stdin: bytes | None = None) -> str:
    done = CliRunner().invoke(app, [verb, *(str(word) for word in words)], input=stdin)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("herder: ")
    return line


CASES = [
    (("nowhere.svm",), "train must name a file that exists, got 'nowhere.svm'"),
    (("{tmp}",), "TRAIN... must name a file, got the folder"),
    (("{lines}", "--label", "y"), "--label must be left out for svmlight lines, got 'y'"),
    (("{lines}", "--text", "y"), "--text must be left out for svmlight lines, got 'y'"),
    (("{lines}", "{table}"), "files must be all svmlight or all tables"),
    (("-", "-"), "files must name the standard input once"),
    (("{lines}", "-C", "-1"), "C must be a positive number, got -1.0"),
    (("{lines}", "--algorithm", "perceptron", "-C", "1"), "C must be left out for perceptron"),
    (("{lines}", "--algorithm", "pa", "--form", "stdev"), "form must be one of PA, PA-I, PA-II"),
    (("{lines}", "--covariance", "exact", "--algorithm", "arow"), "covariance must be one of"),
    (("{lines}", "--class-weight", "x"), "class-weight must be balanced or LABEL=FACTOR, got 'x'"),
    (("{lines}", "--class-weight", "7=1"), "class-weight must name labels of the rows, got '7'"),
    (("{lines}", "--features", "2"), "line 1 of {lines} must have indices below the 2 features"),
    (("{lines}", "--test", "nowhere.svm"), "test must name a file that exists"),
    (("{lines}", "--test", "{table}"), "test must be a file like the one to learn from"),
    (("{lines}", "--test", "{tmp}"), "test must name a file, got the folder"),
    (
        ("{lines}", "--random-state", "3"),
        "--random-state must be left out without --shuffle, got 3",
    ),
    (("{lines}", "--continue", "{lines}"), "must be a whole safetensors file"),
    (("{lines}", "--continue", "{model}", "-C", "1"), "-C must be left out with --continue"),
    (("{lines}", "--max-memory", "no"), "max-memory must be a size"),
    (("{table}",), "label must name the column of labels of {table}, got none: --label COLUMN"),
    (("{table}", "--label", "z"), "label must name a column of {table}, got 'z'; it has 'a'"),
    (("{table}", "--label", "y", "--weight", "z"), "weight must name a column of {table}"),
    (("{table}", "--label", "y", "--drop", "y"), "drop must not name the column of label"),
    (
        ("{table}", "--label", "y"),
        "column 'note' of {table} must hold numbers, got the text 'late' in line 2: --drop note",
    ),
    (("{table}", "--label", "y", "--drop", "note"), "line 3 of {table} must have a finite number"),
    (("{table}", "--label", "y", "--features", "3"), "features must be left out for tables"),
    (
        ("{table}", "--label", "y", "--text", "note", "--weight", "a", "--drop", "b"),
        "line 3 of {table} must have a weight from 0 on in column 'a', got none",
    ),
    (("{table}", "--label", "a", "--drop", "note"), "line 3 of {table} must have a label in colu"),
    (("{table}", "--label", "b", "--drop", "note"), "line 3 of {table} must have a finite number"),
    (("{odd}",), "TRAIN... must end in one of .svm, .svmlight, .libsvm, .txt, .csv"),
]


@pytest.mark.parametrize(("words", "message"), CASES)
def test_errors_are_one_line_and_leave_nothing(tmp_path, words, message):
    folder = tmp_path / "in"
    folder.mkdir()
    names = {
        "{lines}": written(folder / "a.svm", GOOD),
        "{table}": folder / "t.csv",
        "{odd}": written(folder / "a.xls", GOOD),
        "{model}": folder / "m.safetensors",
        "{tmp}": tmp_path,
    }
    written(folder / "t.csv", "a,b,note,y\n1,0.5,late,1\n,2,paid,0\n3,1,late,1\n")
    save(NHERD().fit([[0.0, 1.0, 1.0], [0.0, 0.0, 3.0]], [1, -1]), folder / "m.safetensors")

    def filled(text: str) -> str:
        for name, path in names.items():
            text = text.replace(name, str(path))
        return text

    out = tmp_path / "o.safetensors"
    line = error_line(*map(filled, words), "-o", out)
    assert filled(message) in line
    assert not out.exists()


def test_an_output_must_be_possible(tmp_path):
    lines = written(tmp_path / "a.svm", GOOD)
    assert "output must end in .safetensors" in error_line(lines, "-o", tmp_path / "m.pkl")
    assert "folder that exists" in error_line(lines, "-o", tmp_path / "no" / "m.safetensors")
    twice = tmp_path / "m.safetensors"
    twice.write_text(GOOD)
    assert "output must not be the input" in error_line(lines, "--test", twice, "-o", twice)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must hold rows, got none"),
        ("# only\n\n", "must hold rows, got none"),
        ("1 1:1\n1 2:1\n", "labels must be of two classes or more, got only 1; if the others"),
        ("1 1:1\n2 1:nan\n", "line 2 of {path} must have a finite number as value, got '1:nan'"),
        ("1 1:1\n0.5 1:1\n", "labels must be classes, whole numbers or words, got the measur"),
        ("1 1:1\n0 2147483646:1\n", "max-memory must be at least 65,536M for 2,147,483,647 feat"),
        ("\x00\x01\x02PAR1 1\n", "line 1 of {path} must have index:value after the label, got '1"),
    ],
)
@pytest.mark.parametrize("piped", [False, True])
def test_files_that_cannot_be_learnt(tmp_path, text, message, piped):
    path = written(tmp_path / "a.svm", text)
    message = message.replace("{path}", "-" if piped else str(path))
    source = "-" if piped else path
    out = tmp_path / "m.safetensors"
    assert message in error_line(source, "-o", out, stdin=text.encode() if piped else None)
    assert not out.exists()


def test_nothing_but_broken_lines(tmp_path):
    path = written(tmp_path / "a.svm", "x y\nx z\n")
    line = error_line(path, "-o", tmp_path / "m.safetensors", "--skip-broken")
    assert "must hold rows, got 2 broken lines, the first: line 1 of" in line


def test_too_many_labels_are_measurements(tmp_path):
    path = written(tmp_path / "a.svm", "".join(f"{k} 1:1\n" for k in range(10_001)))
    line = error_line(path, "-o", tmp_path / "m.safetensors")
    assert "labels must be at most 10,000 classes, got more by line 10,001 of" in line


def test_what_is_read_once_is_learnt_once(tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight, "BLOCK_BYTES", 512)
    out = ("-q", "-o", tmp_path / "m.safetensors")
    line = error_line("-", *out, "--epochs", 2, stdin=GOOD.encode())
    assert "epochs must be 1 for what can be read once, got 2" in line
    line = error_line("-", *out, "--class-weight", "balanced", stdin=GOOD.encode())
    assert "class-weight must be LABEL=FACTOR for what can be read once" in line
    late = GOOD.encode() * 25 + b"3 1:1\n"
    line = error_line("-", *out, stdin=late)
    assert "line 1,001 of -: label must be one of -1, 1, got '3'; --new-classes" in line
    line = error_line("-", *out, stdin=late.replace(b"\n3 1:1", b"\nx 1:1"))
    assert "line 1,001 of -: label must be a whole number, as the others are, got 'x'" in line


def test_rows_to_shuffle_must_fit(tmp_path):
    path = written(tmp_path / "a.svm", GOOD * 3000)
    line = error_line(path, "-o", tmp_path / "m.safetensors", "--shuffle", "--max-memory", "1M")
    assert "max-memory must be at least 6M for all rows, which are held in memory, got 1M" in line


def test_going_on_with_what_does_not_fit(tmp_path):
    lines = written(tmp_path / "a.svm", GOOD)
    table = tmp_path / "t.csv"
    write_table(table, ["a", "label"], [{"a": np.arange(9.0), "label": np.arange(9) % 2}])
    by_lines, by_table = tmp_path / "l.safetensors", tmp_path / "t.safetensors"
    for path, model in ((lines, by_lines), (table, by_table)):
        assert CliRunner().invoke(app, ["learn", str(path), "-o", str(model)]).exit_code == 0
    before = by_lines.read_bytes()
    line = error_line(table, "--continue", by_lines, "-o", by_lines)
    assert "TRAIN... must be svmlight lines, as for" in line
    line = error_line(lines, "--continue", by_table, "-o", by_table)
    assert "TRAIN... must be a table, which" in line
    line = error_line(table, "--continue", by_table, "-o", by_table, "--drop", "a")
    assert "drop must be left out with --continue, got 'a'" in line
    more = written(tmp_path / "b.svm", "5 1:1\n")
    line = error_line(more, "--continue", by_lines, "-o", by_lines)
    assert "labels must be among the classes of the model, -1, 1, got 5 too; --new-classes" in line
    line = error_line(more, "--continue", by_lines, "-o", by_lines, "--new-classes")
    assert "new-classes must be given when a model is begun" in line
    assert by_lines.read_bytes() == before
    save(NHERD().fit(np.eye(3), [0, 1, 1]), tmp_path / "py.model")
    line = error_line(table, "--continue", tmp_path / "py.model", "-o", by_table)
    assert "TRAIN... must have the 3 features of" in line


def started(*words: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "herder", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of POSIX")
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_a_signal_in_the_middle_leaves_the_old_model(tmp_path, number, code):
    model = tmp_path / "out" / "m.safetensors"
    model.parent.mkdir()
    model.write_bytes(b"as it was")
    os.mkfifo(tmp_path / "pipe.svm")
    process = started("learn", tmp_path / "pipe.svm", "-o", model, "--every", 100_000)
    try:
        with open(tmp_path / "pipe.svm", "w", encoding="utf-8") as pipe:
            pipe.write(GOOD * 40_000)
            assert process.stdout is not None
            assert process.stdout.readline().split()[0] == "rows"
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == code
    if number == signal.SIGINT:
        assert "herder: stopped: nothing was written" in errors.splitlines()
    assert [path.name for path in model.parent.iterdir()] == ["m.safetensors"]
    assert model.read_bytes() == b"as it was"


def test_a_full_disk_leaves_the_old_model(tmp_path, disk_of):
    lines = written(tmp_path / "a.svm", GOOD + "1 50000:1\n")
    model = tmp_path / "out" / "m.safetensors"
    model.parent.mkdir()
    # once without the limit, so that no compiled code is left to be written
    words = ["learn", str(lines), "-o", str(model)]
    assert CliRunner().invoke(app, words).exit_code == 0
    model.write_bytes(b"as it was")
    with disk_of(100_000):
        run = CliRunner().invoke(app, words)
    assert run.exit_code == 2, run.stderr
    assert "could not be written" in run.stderr.splitlines()[-1]
    assert [path.name for path in model.parent.iterdir()] == ["m.safetensors"]
    assert model.read_bytes() == b"as it was"


def test_a_live_line_shows_the_error(tmp_path):
    lines = written(tmp_path / "a.svm", GOOD * 500)
    words = ["learn", str(lines), "-o", str(tmp_path / "m.safetensors")]
    run = CliRunner().invoke(app, words, env={"FORCE_COLOR": "1", "COLUMNS": "120"})
    out, errors = run.stdout, run.stderr
    assert run.exit_code == 0, errors
    assert "20,000 rows, error 0." in errors
    assert "learning" not in out
    assert out.splitlines()[0].split() == ["rows", "error", "since", "error", "updates"]
    assert "progressive error 0." in out
    assert load(tmp_path / "m.safetensors").n_seen_ == 20_000
