import csv
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import norm
from typer.testing import CliRunner

from herder import AROW, NHERD, PassiveAggressive, VotedPerceptron, hash_features
from herder.cli import app
from herder.data import open_table, write_table
from herder.io import save

rng = np.random.default_rng(31)
TABLE = (rng.random((400, 12)) < 0.4) * rng.normal(size=(400, 12)).round(3)
TABLE[:, 11] = 0.5  # no row is empty: a line without label and features would be no row
TWO = np.where(TABLE[:, 1] - TABLE[:, 2] > 0, 1, -1)
THREE = np.array(["ham", "eggs", "spam"])[TABLE[:, :3].argmax(axis=1)]


def run(*words: object, code: int = 0, stdin: bytes | None = None) -> Any:
    done = CliRunner().invoke(app, ["predict", *(str(word) for word in words)], input=stdin)
    assert done.exit_code == code, done.output
    return done


def error_line(*words: object) -> str:
    done = run(*words, code=2)
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def lines(X: np.ndarray, labels: Any = None) -> str:
    front = [f"{label} " for label in labels] if labels is not None else [""] * len(X)
    found = []
    for row, label in zip(X, front, strict=True):
        found.append(
            label + " ".join(f"{j}:{float(row[j])!r}" for j in np.flatnonzero(row)) + "\n"
        )
    return "".join(found)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def fitted(model: Any, y: Any) -> Any:
    return model.partial_fit(csr_matrix(TABLE), y, classes=np.unique(y))


@pytest.fixture
def two(tmp_path) -> tuple[NHERD, Path, Path]:
    model = fitted(NHERD(C=0.1), TWO)
    save(model, tmp_path / "m.safetensors")
    return model, tmp_path / "m.safetensors", written(tmp_path / "a.svm", lines(TABLE, TWO))


def test_label_probability_and_margin(two):
    model, path, data = two
    done = run(path, data)
    rows = rows_of(done.stdout)
    assert list(rows[0]) == ["label", "probability", "margin"]
    assert [int(row["label"]) for row in rows] == model.predict(TABLE).tolist()
    odds = np.array([float(row["probability"]) for row in rows])
    np.testing.assert_allclose(odds, model.predict_proba(TABLE).max(axis=1), rtol=1e-12)
    margins = np.array([float(row["margin"]) for row in rows])
    np.testing.assert_allclose(margins, np.abs(model.decision_function(TABLE)), rtol=1e-12)
    error = (model.predict(TABLE) != TWO).mean()
    assert f"error {error:.4f} ± " in done.stderr
    assert "400 rows predicted" in done.stderr
    assert run(path, data, "-q").stderr == ""


def test_more_than_two_classes(tmp_path):
    model = fitted(AROW(), THREE)
    save(model, tmp_path / "m.safetensors")
    data = written(tmp_path / "a.txt", lines(TABLE, THREE))
    done = run(tmp_path / "m.safetensors", data, "-o", tmp_path / "p.parquet")
    assert f"{tmp_path / 'p.parquet'}: 400 rows predicted" in done.stdout
    (chunk,) = open_table(tmp_path / "p.parquet").chunks()
    assert chunk["label"].tolist() == model.predict(TABLE).tolist()
    scores = np.sort(model.decision_function(TABLE), axis=1)
    np.testing.assert_allclose(chunk["margin"], scores[:, -1] - scores[:, -2], atol=1e-12)
    np.testing.assert_allclose(chunk["probability"], model.predict_proba(TABLE).max(axis=1))


def test_models_without_variance_have_no_probability(tmp_path):
    for model in (PassiveAggressive(), VotedPerceptron()):
        save(fitted(model, TWO), tmp_path / "m.safetensors")
        rows = rows_of(run(tmp_path / "m.safetensors", "-", stdin=lines(TABLE).encode()).stdout)
        assert list(rows[0]) == ["label", "margin"]
        assert [int(row["label"]) for row in rows] == model.predict(TABLE).tolist()


def test_labels_may_be_missing_or_strange(two, tmp_path):
    model, path, _ = two
    mixed = [str(label) for label in TWO]
    mixed[3], mixed[7] = "7", "what"
    done = run(path, written(tmp_path / "b.svm", lines(TABLE, mixed)), "-o", tmp_path / "p.csv")
    known = np.arange(400)[~np.isin(np.arange(400), [3, 7])]
    wrong = int((model.predict(TABLE)[known] != TWO[known]).sum())
    assert f"({wrong} of 398 rows)" in done.stdout
    assert "2 rows have labels that are no classes of the model" in done.stdout
    bare = run(path, written(tmp_path / "c.svm", lines(TABLE)))
    assert len(rows_of(bare.stdout)) == 400
    assert "error" not in bare.stderr
    strange = run(path, written(tmp_path / "d.svm", lines(TABLE, ["?"] * 400)))
    assert "no error to report" in strange.stderr


@pytest.mark.parametrize("covariance", ["project", "full"])
def test_features_never_seen_make_it_less_sure(tmp_path, covariance):
    model = fitted(NHERD(covariance=covariance), TWO)
    save(model, tmp_path / "m.safetensors")
    row = TABLE[0] / 3
    text = lines(row[None])[:-1] + " 40:3 900000000:4\n"
    (found,) = rows_of(run(tmp_path / "m.safetensors", "-", stdin=text.encode()).stdout)
    score = float(model.decision_function(row[None])[0])
    variance = float(model.decision_variance(row[None])[0]) + 3**2 + 4**2
    expected = norm.cdf(abs(score) / np.sqrt(1 + variance))
    assert float(found["probability"]) == pytest.approx(expected, rel=1e-12)
    assert float(found["margin"]) == pytest.approx(abs(score), rel=1e-12)
    done = run(tmp_path / "m.safetensors", "-", stdin=text.encode())
    assert "2 values are of features that the model has not seen" in done.stderr


def test_broken_lines_and_their_numbers(two, tmp_path):
    model, path, _ = two
    text = lines(TABLE, TWO).splitlines(keepends=True)
    text[5] = "1 nonsense\n"
    data = written(tmp_path / "b.svm", "".join(text))
    out = tmp_path / "p.csv"
    assert f"line 6 of {data} must have index:value" in error_line(path, data, "-o", out)
    assert not out.exists()
    done = run(path, data, "-o", out, "--skip-broken")
    assert "1 broken line left out, the first: line 6" in done.stdout
    rows = rows_of(out.read_text())
    assert [int(row["line"]) for row in rows] == [k for k in range(1, 401) if k != 6]
    assert [int(row["label"]) for row in rows] == np.delete(model.predict(TABLE), 5).tolist()


def strongest(text: str) -> list[list[str]]:
    table = [line.split(maxsplit=3) for line in text.splitlines()]
    return [row for row in table if len(row) == 4 and row[0].lstrip("-")[0].isdigit()]


def test_the_strongest_features_and_how_sure(two):
    model, path, _ = two
    found = strongest(run(path, "--explain", "--top", 5).stdout)
    order = np.argsort(-np.abs(model.coef_[0]))[:5]
    assert [row[3] for row in found] == [*map(str, order), "(intercept)"]
    for row, place in zip(found, order, strict=False):
        weight, deviation = model.coef_[0, place], np.sqrt(model.covariance_[0, place])
        assert float(row[0]) == pytest.approx(weight, rel=1e-4)
        assert float(row[1]) == pytest.approx(deviation, rel=1e-3)
        assert float(row[2]) == pytest.approx(weight / deviation, rel=1e-2)
    sure = strongest(run(path, "--explain", "--top", 3, "--by", "confidence").stdout)
    order = np.argsort(-np.abs(model.coef_[0]) / np.sqrt(model.covariance_[0]))[:3]
    assert [row[3] for row in sure] == [*map(str, order), "(intercept)"]


@pytest.mark.parametrize("multi_class", ["max-margin", "one-vs-rest"])
@pytest.mark.parametrize("covariance", ["project", "full"])
def test_each_class_has_its_own(tmp_path, covariance, multi_class):
    model = fitted(NHERD(covariance=covariance, multi_class=multi_class), THREE)
    save(model, tmp_path / "m.safetensors")
    text = run(tmp_path / "m.safetensors", "--explain", "--top", 1).stdout
    assert [line for line in text.splitlines() if line.startswith("for")] == [
        "for eggs:",
        "for ham:",
        "for spam:",
    ]
    found = strongest(text)
    for k in range(3):
        place = int(np.abs(model.coef_[k]).argmax())
        assert found[2 * k][3] == str(place)
        point = np.eye(12)[[place]]
        bias = float(model.intercept_variance_[k])
        if covariance == "project":  # independent weights: the variances add up
            variance = float(model.decision_variance(point)[0, k]) - bias
            assert float(found[2 * k][1]) == pytest.approx(np.sqrt(variance), rel=1e-3)
        assert float(found[2 * k + 1][1]) == pytest.approx(np.sqrt(bias), rel=1e-3)


def test_first_order_models_list_weights_only(tmp_path):
    save(fitted(PassiveAggressive(fit_intercept=False), TWO), tmp_path / "m.safetensors")
    text = run(tmp_path / "m.safetensors", "--explain").stdout
    assert ["weight", "feature"] in [line.split() for line in text.splitlines()]
    assert "(intercept)" not in text
    line = error_line(tmp_path / "m.safetensors", "--explain", "--by", "confidence")
    assert "--by must be weight for PassiveAggressive" in line
    save(fitted(VotedPerceptron(), TWO), tmp_path / "m.safetensors")
    line = error_line(tmp_path / "m.safetensors", "--explain")
    assert "m.safetensors must be linear to be explained, got VotedPerceptron" in line


TEXTS = ["refund please refund", "cannot login", "Login fails", "refund late", "my refund"] * 20
KINDS = ["bill", "login", "login", "bill", "bill"] * 20


@pytest.fixture
def texts(tmp_path) -> tuple[Path, Path]:
    table = {
        "note": np.array(TEXTS, object),
        "kind": np.array(KINDS, object),
        "size": np.arange(100.0) % 3,
        "area": np.array(["north", "south"], object)[np.arange(100) % 2],
    }
    write_table(tmp_path / "t.csv", list(table), [table])
    words = [tmp_path / "t.csv", "--label", "kind", "--text", "note", "--category", "area"]
    words += ["-o", tmp_path / "m.safetensors", "-q"]
    done = CliRunner().invoke(app, ["learn", *map(str, words)])
    assert done.exit_code == 0, done.output
    return tmp_path / "m.safetensors", tmp_path / "t.csv"


def test_hashed_words_are_named_by_the_rows(texts):
    model, table = texts
    named = strongest(run(model, table, "--explain", "--top", 8).stdout)
    weights = {row[3]: float(row[0]) for row in named}
    assert weights["refund"] < 0 < weights["login"]  # the classes are bill and login
    assert {"size", "area=north", "area=south"} & set(weights)
    blind = strongest(run(model, "--explain", "--top", 8).stdout)
    assert any(row[3].startswith("hashed ") for row in blind)
    assert not any("refund" in row[3] for row in blind)
    hashed = hash_features([["refund"]], 2**20)
    place = int(hashed.indices[0]) + 1  # after the column of numbers
    weight = next(float(row[0]) for row in blind if row[3] == f"hashed {place}")
    assert weight * hashed.data[0] == weights["refund"]


def test_signs_of_hashed_words_are_right_only_with_rows(texts, tmp_path):
    model, table = texts
    caution = "words are named, and their weights have the right sign, only with DATA"
    assert caution in run(model, "--explain").stdout
    named = run(model, table, "--explain").stdout
    assert caution not in named
    assert "wrong sign" not in named
    other = written(tmp_path / "other.csv", "note,size,area\nnothing,1,north\n")
    told = run(model, other, "--explain").stdout
    assert "hashed features whose words are not in DATA may have the wrong sign" in told
    assert "1 row predicted" in told
    numbers = written(tmp_path / "numbers.csv", "a,label\n" + "1,x\n-1,y\n" * 9)
    plain = tmp_path / "plain.safetensors"
    done = CliRunner().invoke(app, ["learn", str(numbers), "-o", str(plain)])
    assert done.exit_code == 0, done.output
    assert "sign" not in run(plain, "--explain").stdout


def test_words_that_share_a_place_are_all_named(tmp_path):
    words = [f"w{k}" for k in range(40)]
    table = {"t": np.array(words, object), "label": np.arange(40) % 2}
    write_table(tmp_path / "t.csv", list(table), [table])
    model = tmp_path / "m.safetensors"
    learn = ["learn", tmp_path / "t.csv", "-o", model, "--text", "t", "--hash-bits", 4, "-q"]
    assert CliRunner().invoke(app, [str(word) for word in learn]).exit_code == 0
    text = run(model, tmp_path / "t.csv", "--explain", "--top", 16).stdout
    assert " (or " in text
    assert "not w" in text


def test_tables_by_their_columns(texts, tmp_path):
    model, _ = texts
    rest = {"size": [1.0], "area": ["north"], "id": [7], "note": ["refund refund"]}
    write_table(tmp_path / "new.csv", list(rest), [rest])
    (row,) = rows_of(run(model, tmp_path / "new.csv").stdout)
    assert row["label"] == "bill"
    assert float(row["probability"]) > 0.6
    short = {"size": [1.0], "note": ["refund"]}
    write_table(tmp_path / "short.csv", list(short), [short])
    line = error_line(model, tmp_path / "short.csv")
    assert "must have the columns that the model was trained on, got no 'area'" in line
    line = error_line(model, tmp_path / "new.csv", "--label", "truth")
    assert "label must name a column of" in line


def test_models_from_python_and_tables(tmp_path):
    import pandas as pd

    names = [f"c{j}" for j in range(12)]
    columns = dict(zip(names, TABLE.T, strict=True)) | {"label": TWO}
    write_table(tmp_path / "t.csv", list(columns)[::-1], [columns])
    model = NHERD().fit(pd.DataFrame(TABLE, columns=names), TWO)
    save(model, tmp_path / "m.safetensors")
    done = run(tmp_path / "m.safetensors", tmp_path / "t.csv", "-o", tmp_path / "p.csv")
    error = (model.predict(pd.DataFrame(TABLE, columns=names)) != TWO).mean()
    assert f"error {error:.4f}" in done.stdout
    assert "c1\n" in run(tmp_path / "m.safetensors", "--explain").stdout
    save(NHERD().fit(TABLE, TWO), tmp_path / "m.safetensors")
    write_table(tmp_path / "u.csv", list(columns), [columns])
    again = run(tmp_path / "m.safetensors", tmp_path / "u.csv", "-o", tmp_path / "p.csv")
    assert f"error {error:.4f}" in again.stdout
    narrow = {"c0": columns["c0"], "label": TWO}
    write_table(tmp_path / "v.csv", list(narrow), [narrow])
    assert "must have the 12 features of" in error_line(
        tmp_path / "m.safetensors", tmp_path / "v.csv"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("{model}",), "data must be given, unless you only --explain"),
        (("{model}", "{data}", "--top", 3), "--top must be left out without --explain, got 3"),
        (("{model}", "{data}", "--by", "confidence"), "--by must be left out without --explain"),
        (("{model}", "nowhere.svm"), "data must name a file that exists"),
        (("nowhere", "{data}"), "model must name a file that exists, got 'nowhere'"),
        (("nowhere.safetensors", "{data}"), "a file that exists, got 'nowhere.safetensors'"),
        (("{data}", "{data}"), "must be a model of herder learn (.safetensors), got a file .svm"),
        (("{other}", "{data}"), "must be a whole safetensors file, got: "),
        (("{model}", "{data}", "-o", "p.txt"), "output must end in .csv, .npz or .parquet"),
        (("{model}", "--explain", "-o", "p.csv"), "output must be left out without DATA"),
        (("{model}", "{data}", "--label", "y"), "label must be left out for svmlight lines"),
        (("{model}", "{empty}"), "must hold rows, got none"),
    ],
)
def test_errors_are_one_line(two, tmp_path, words, message):
    _, path, data = two
    empty = written(tmp_path / "empty.svm", "")
    other = written(tmp_path / "other.safetensors", "no model")
    names = {"{model}": path, "{data}": data, "{empty}": empty, "{other}": other}
    assert message in error_line(*(names.get(str(word), word) for word in words))


def test_lines_and_tables_are_told_apart(two, texts, tmp_path):
    _, by_lines, data = two
    other = tmp_path / "other.safetensors"
    save(fitted(NHERD(), TWO), other, meta={"input": {"columns": None, "normalise": False}})
    by_table, table = texts
    assert f"{data} must be a table, which" in error_line(by_table, data)
    assert f"{table} must be svmlight lines, as for" in error_line(other, table)
    assert by_lines.exists()
    for strange in ({"columns": 5}, {"columns": {"label": "a"}, "normalise": 1}, 3):
        save(fitted(NHERD(), TWO), other, meta={"input": strange})
        assert f"{other} must say how rows become features" in error_line(other, data)


def test_a_reader_that_has_seen_enough(two, tmp_path):
    _, path, _ = two
    data = written(tmp_path / "long.svm", lines(TABLE, TWO) * 100)
    command = [sys.executable, "-m", "herder", "predict", str(path), str(data)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "label,probability,margin\n"
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=60) == 141  # as for other commands in a pipe
