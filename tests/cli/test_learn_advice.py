from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from herder.cli import app
from herder.io import load


def run(*words: object, stdin: bytes | None = None) -> Any:
    done = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    assert done.exit_code == 0, done.output
    return done


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


#: Squared lengths 25 and 9.
LONG = "1 1:3 2:4\n-1 2:-3\n"
ADVICE = (
    "herder: Warning: rows are long (mean squared length 17): consider --normalise or a smaller "
    "-C\n"
)


@pytest.mark.parametrize("n_rows", [2, 5000])
@pytest.mark.parametrize("algorithm", ["nherd", "arow", "scw", "pa", "second-order"])
def test_long_rows_are_told_once(tmp_path, n_rows, algorithm):
    rows = written(tmp_path / "a.svm", LONG * (n_rows // 2))
    words = ("learn", "-o", tmp_path / "m.safetensors", "--algorithm", algorithm, "--epochs", 2)
    assert run(*words, rows).stderr == ADVICE


def test_long_rows_of_the_standard_input_and_of_tables_are_told(tmp_path):
    out = ("-o", tmp_path / "m.safetensors")
    assert run("learn", "-", *out, stdin=LONG.encode()).stderr == ADVICE
    table = written(tmp_path / "t.csv", "a,b,label\n3,4,x\n0,-3,y\n")
    assert run("learn", table, *out).stderr == ADVICE
    words = written(tmp_path / "w.csv", "t,label\n" + "ham ham ham ham ham,x\nno,y\n")
    done = run("learn", words, *out, "--text", "t", "--hash-bits", 8)
    assert done.stderr == ADVICE.replace("17", "13")  # (5^2 + 1^2) / 2


@pytest.mark.parametrize(
    "words",
    [
        ("-C", 1),
        ("--normalise",),
        ("--quiet",),
        ("--algorithm", "cw"),  # has no C
        ("--algorithm", "perceptron"),
    ],
)
def test_no_advice_to_those_who_have_chosen(tmp_path, words):
    rows = written(tmp_path / "a.svm", LONG)
    assert run("learn", rows, "-o", tmp_path / "m.safetensors", *words).stderr == ""


def test_no_advice_on_short_rows_or_with_a_model_that_goes_on(tmp_path):
    model = tmp_path / "m.safetensors"
    short = written(tmp_path / "a.svm", "1 1:3 2:1\n-1 2:-3\n")
    assert run("learn", short, "-o", model).stderr == ""
    rows = written(tmp_path / "b.svm", LONG)
    assert run("learn", rows, "--continue", model, "-o", model).stderr == ""


def test_names_of_classes_may_have_spaces_between(tmp_path):
    model = tmp_path / "m.safetensors"
    run("learn", "-", "-o", model, "--classes", "ham, eggs,", stdin=b"ham 1:1\n")
    assert load(model).classes_.tolist() == ["eggs", "ham"]


def test_help_says_what_features_not_seen_before_do():
    text = " ".join(run("predict", "--help").stdout.split())
    assert "leave the margin as it is" in text
    assert "make models with variances less sure" in text
