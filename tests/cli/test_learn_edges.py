import csv
import gzip
import io
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from herder import NHERD
from herder.cli import app
from herder.data.features import FeatureColumns
from herder.io import load
from herder.online.prediction import ErrorCount


def run(*words: object, code: int = 0, stdin: bytes | None = None) -> Any:
    done = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    assert done.exit_code == code, done.output
    return done


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def answers(model: Path, data: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(run("predict", model, data).stdout)))


@pytest.mark.parametrize("more", ["1.5", "x", "", "2.0"])
def test_a_category_is_the_same_feature_whatever_its_column_holds(tmp_path, more):
    model = tmp_path / "m.safetensors"
    rows = written(tmp_path / "a.csv", "c,d,label\n" + "1,0,yes\n2,0,no\n3,0,no\n" * 20)
    run("learn", rows, "-o", model, "--category", "c", "--hash-bits", 12)
    told = answers(model, rows)[:3]
    assert [row["label"] for row in told] == ["yes", "no", "no"]
    other = written(tmp_path / "b.csv", f"c,d\n1,0\n2.0,0\n3,0\n{more},0\n")
    assert answers(model, other)[:3] == told


whole = st.integers(-(2**53), 2**53)


@given(whole)
def test_a_whole_number_has_one_spelling(value):
    columns = FeatureColumns("label", (), (), ("c",))
    texts = [str(value), f"{value}.0", f"{value}.", repr(float(value))]
    cells = [
        np.array([value]),
        np.array([value, None], object),
        np.array([float(value)]),
        np.array([float(value), np.nan]),
        *(np.array([text, "x"], object) for text in texts),
    ]
    assert {columns.tokens({"c": column})[0][0] for column in cells} == {f"c={value}"}


def test_other_values_are_spelt_alike_too():
    columns = FeatureColumns("label", (), (), ("c",))
    for column in (np.array([0.1, 1.5]), np.array([0.1, 1.5], np.float32)):
        assert columns.tokens({"c": column}) == [["c=0.1"], ["c=1.5"]]
    texts = np.array(["0.10", "15e-1", "007", "1.2.3", "nan", "é", None], object)
    assert columns.tokens({"c": texts}) == [
        ["c=0.1"],
        ["c=1.5"],
        ["c=007"],
        ["c=1.2.3"],
        ["c=nan"],
        ["c=é"],
        [],
    ]


BROKEN = [
    "1 2000000:1 5:1 2000000:2",  # the same index again, out of order
    "1 2000000:1e999",
    f"{'a' * 300} 2000000:1",
    "nan 2000000:1",
    "1,2 2000000:1",
]


@pytest.mark.parametrize("line", BROKEN)
@pytest.mark.parametrize("piped", [False, True])
def test_a_line_left_out_leaves_no_trace(tmp_path, line, piped):
    text = f"{line}\n1 1:1\n-1 3:1\n+1 2:1\n"
    path = written(tmp_path / "a.svm", text)
    out = ("--skip-broken", "-o", tmp_path / "m.safetensors")
    done = run("learn", "-" if piped else path, *out, stdin=text.encode() if piped else None)
    assert "1 broken line left out" in done.stdout
    model = load(tmp_path / "m.safetensors")
    X = [[0.0, 1, 0, 0], [0.0, 0, 0, 1], [0.0, 0, 1, 0]]
    reference = NHERD().partial_fit(X, [1, -1, 1], classes=[-1, 1])
    assert model.classes_.tolist() == [-1, 1]
    np.testing.assert_array_equal(model.coef_, reference.coef_)


@pytest.mark.parametrize("algorithm", ["nherd", "pa"])
def test_a_model_of_one_class_has_nothing_to_explain(tmp_path, algorithm):
    model, rows = tmp_path / "m.safetensors", written(tmp_path / "a.svm", "ham 1:1\nham 2:1\n")
    run("learn", rows, "-o", model, "--new-classes", "--algorithm", algorithm)
    line = "only ham so far: there is nothing to distinguish yet\n"
    assert run("predict", model, "--explain").stdout.endswith(line)
    done = run("predict", model, rows, "--explain")
    assert done.stdout.endswith(line)
    assert "2 rows predicted" in done.stdout
    assert [row["label"] for row in answers(model, rows)] == ["ham", "ham"]


def test_classes_join_a_model_of_three_that_goes_on(tmp_path):
    model, more = tmp_path / "m.safetensors", tmp_path / "more.safetensors"
    first = written(tmp_path / "a.svm", "a 1:1\nb 2:1\nc 3:1\n" * 5)
    second = written(tmp_path / "b.svm", "d 4:1\na 1:1\n" * 5)
    run("learn", first, "-o", model)
    run("learn", second, "-o", more, "--continue", model, "--new-classes")
    assert load(more).classes_.tolist() == ["a", "b", "c", "d"]
    assert [row["label"] for row in answers(more, second)] == ["d", "a"] * 5


@pytest.mark.parametrize(
    ("words", "n_classes", "matrices"),
    [
        ((), 2, 1),
        ((), 3, 9),  # one matrix over the weights of all classes
        (("--multi-class", "one-vs-rest"), 3, 3),
        (("--new-classes",), 2, 4),
    ],
)
@pytest.mark.parametrize("piped", [False, True])
def test_a_whole_covariance_counts_as_memory(tmp_path, words, n_classes, matrices, piped):
    text = "".join(f"{k} {k + 1}:1\n" for k in range(n_classes)) + "1 999:1\n"
    path = written(tmp_path / "a.svm", text)
    given = ["learn", "-" if piped else path, "-o", tmp_path / "m.safetensors", *words]
    given += ["--max-memory", f"{16 * matrices}M"]
    stdin = text.encode() if piped else None
    run(*given, "-q", stdin=stdin)  # independent weights take little
    # 1,001 rows of 8,008 bytes, and as much again while the model is written
    given[-1] = f"{15 * matrices}M"
    done = run(*given, "--covariance", "full", code=2, stdin=stdin)
    needed = f"at least {math.ceil(2 * 8 * 1001**2 * matrices / 2**20 + 0.03 * n_classes):,}M"
    assert f"max-memory must be {needed} for 1,000 features and {n_classes}" in done.stderr
    assert done.stderr.rstrip().endswith("or take --covariance project")
    given[-1] = f"{16 * matrices}M"
    run(*given, "--covariance", "full", "-q", stdin=stdin)


def test_classes_that_come_later_count_as_memory(tmp_path):
    stdin = b"a 1:1\nb 99999:1\n" + b"a 1:1\n" * 1000 + b"c 1:1\nd 1:1\n"
    words = ("learn", "-", "--new-classes", "-o", tmp_path / "m.safetensors", "-q")
    done = run(*words, "--classes", "a,b", "--max-memory", "7M", code=2, stdin=stdin)
    assert "max-memory must be at least 10M for 100,000 features and 3 classes" in done.stderr
    run(*words, "--classes", "a,b", "--max-memory", "13M", stdin=stdin)


GOOD = "1 1:1 2:1\n-1 2:2\n" * 20


def test_a_broken_line_to_test_on_is_found_before_learning(tmp_path):
    rows, test = written(tmp_path / "a.svm", GOOD), written(tmp_path / "b.svm", GOOD + "1 2:x\n")
    words = ("learn", rows, "--test", test, "-o", tmp_path / "m.safetensors")
    done = run(*words, code=2)
    assert done.stdout == ""
    assert f"line 41 of {test} must have a finite number as value" in done.stderr
    assert not (tmp_path / "m.safetensors").exists()
    done = run(*words, "--skip-broken")
    assert f"error on {test} 0.0000 ± 0.0000 (0 of 40 rows)" in done.stdout
    assert done.stdout.count("1 broken line left out, the first: line 41 of") == 1


def test_a_table_to_test_on_is_looked_through_before_learning(tmp_path):
    rows = written(tmp_path / "a.csv", "a,label\n" + "1,x\n2,y\n" * 20)
    words = ("learn", rows, "-o", tmp_path / "m.safetensors", "--test")
    test = written(tmp_path / "b.csv", "a,label\n1,x\n,y\n")
    assert "line 3 of" in run(*words, test, code=2).stderr
    lacks = written(tmp_path / "c.csv", "b,label\n1,x\n")
    assert (
        "must have the columns that the model was trained on" in run(*words, lacks, code=2).stderr
    )
    assert not (tmp_path / "m.safetensors").exists()
    assert "1 broken line left out" in run(*words, test, "--skip-broken").stdout


def test_the_model_is_kept_if_what_is_read_once_is_broken(tmp_path):
    rows, model = written(tmp_path / "a.svm", GOOD), tmp_path / "m.safetensors"
    words = ("learn", rows, "--test", "-", "-o", model)
    done = run(*words, code=2, stdin=b"1 1:1\n1 x\n")
    assert "line 2 of - must have index:value" in done.stderr
    assert done.stderr.rstrip().endswith(f"; {model} was written, but not tested")
    assert load(model).n_seen_ == 40
    assert "error on - 0.0000" in run(*words, "--skip-broken", stdin=b"1 1:1\n1 x\n").stdout
    done = run("learn", "-", "--test", "-", "-o", model, code=2, stdin=GOOD.encode())
    assert "test must not be the standard input if the rows come from it" in done.stderr


def test_stopping_the_test_keeps_the_model(tmp_path, monkeypatch):
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ErrorCount, "add", stop)
    rows, model = written(tmp_path / "a.svm", GOOD), tmp_path / "m.safetensors"
    done = run("learn", rows, "--test", rows, "-o", model, code=130)
    assert done.stderr == f"herder: stopped: {model} was written, but not tested\n"
    assert load(model).n_seen_ == 40


def test_labels_that_the_model_does_not_know_are_told(tmp_path):
    rows, test = written(tmp_path / "a.svm", GOOD), written(tmp_path / "b.svm", "7 1:1\n")
    done = run("learn", rows, "--test", test, "-o", tmp_path / "m.safetensors")
    assert "labels of the rows are no classes of the model: no error to report" in done.stdout


@pytest.mark.parametrize("name", ["1", "+1", "1.0"])
@pytest.mark.parametrize("label", ["1", "+1", "1.0"])
def test_weights_are_for_labels_not_for_their_spelling(tmp_path, name, label):
    rows = written(tmp_path / "a.svm", f"{label} 1:1\n-1 2:1\n")
    run("learn", rows, "-o", tmp_path / "m.safetensors", "--class-weight", f"{name}=2")
    assert load(tmp_path / "m.safetensors").class_weight == {1: 2.0}


def test_weights_of_classes_that_come_later(tmp_path):
    rows = written(tmp_path / "a.svm", GOOD)
    words = ("learn", rows, "-o", tmp_path / "m.safetensors", "--class-weight")
    run(*words, "5=2", "--classes", "5")
    assert load(tmp_path / "m.safetensors").class_weight == {5: 2.0}
    run(*words, "6=2", "--new-classes")
    assert load(tmp_path / "m.safetensors").class_weight == {6: 2.0}
    for name in ("x", "0.5"):
        done = run(*words, f"{name}=2", "--new-classes", code=2)
        assert f"class-weight must name labels of the rows, got {name!r}" in done.stderr
    # a word among the classes makes all of them words
    run(*words, "balanced", "--classes", "x")
    assert load(tmp_path / "m.safetensors").class_weight == {"1": 1.0, "-1": 1.0}


def test_updates_are_a_share_of_rows_for_any_number_of_models(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)).round(3), rng.integers(0, 5, 300)
    texts = [" ".join(f"{j}:{v}" for j, v in enumerate(row)) for row in X]
    text = "".join(f"{k} {row}\n" for k, row in zip(y, texts, strict=True))
    rows = written(tmp_path / "a.svm", text)
    words = ("learn", rows, "-o", tmp_path / "m.safetensors", "--multi-class", "one-vs-rest")
    (line,) = [line for line in run(*words).stdout.splitlines() if line.startswith("  ")][1:]
    # each class against the others, learnt by itself
    shares = []
    for k in range(5):
        alone = NHERD().partial_fit(X, np.where(y == k, 1, -1), classes=[-1, 1])
        shares.append(alone.n_updates_ / 300)
    assert float(line.split()[3]) == pytest.approx(np.mean(shares), abs=5e-5)


def test_what_gzip_made_is_known_without_its_name(tmp_path):
    text = (GOOD * 30).encode()
    models = [tmp_path / f"{k}.safetensors" for k in range(4)]
    run("learn", "-", "-o", models[0], stdin=text)
    # two parts one after the other are one stream
    packed = gzip.compress(text[:1000]) + gzip.compress(text[1000:])
    done = run("learn", "-", "-o", models[1], stdin=packed)
    assert f"{30 * GOOD.count(chr(10)):,} rows" in done.stdout
    (tmp_path / "a.svm").write_bytes(packed)
    run("learn", tmp_path / "a.svm", "-o", models[2])
    command = [sys.executable, "-m", "herder", "learn", "-", "-o", models[3], "-q"]
    subprocess.run(command, input=packed, check=True)
    for model in models[1:]:
        np.testing.assert_array_equal(load(model).coef_, load(models[0]).coef_)
    told = run("learn", "-", "-o", models[0], stdin=packed[:-9], code=2).stderr
    assert "- must be a whole gzip file, got: " in told


def test_one_is_not_many(tmp_path):
    rows = written(tmp_path / "a.svm", GOOD + "1 2:x\n")
    model, one = tmp_path / "m.safetensors", written(tmp_path / "b.svm", "1 1:1 9:1\n")
    words = ("learn", rows, "-o", model, "--skip-broken", "--test", one)
    told = run(*words).stdout
    assert "1 broken line left out" in told
    assert "(0 of 1 row)" in told
    told = run("predict", model, one, "-o", tmp_path / "p.csv").stdout
    assert "1 row predicted" in told
    assert "1 value is of features that the model has not seen" in told
    both = written(tmp_path / "c.svm", GOOD + "7 1:1\n")
    told = run("predict", model, both, "-o", tmp_path / "p.csv").stdout
    assert "1 row has a label that is no class of the model" in told
    bad = written(tmp_path / "d.svm", "1 2:x\n")
    told = run("predict", model, bad, "--skip-broken", code=2).stderr
    assert "must hold rows, got 1 broken line, the first: line 1 of" in told
