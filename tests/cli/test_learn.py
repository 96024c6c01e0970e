import csv
import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn import datasets
from typer.testing import CliRunner

import herder.online
from herder import NHERD, hash_features
from herder.cli import app
from herder.data import svmlight, write_table
from herder.io import load, read_model, save

rng = np.random.default_rng(12)
ROWS = 3000
TABLE = (rng.random((ROWS, 30)) < 0.2) * rng.random((ROWS, 30)).round(3)
WEIGHTS = rng.normal(size=30)
TRUTH = np.where(np.median(TABLE @ WEIGHTS) < TABLE @ WEIGHTS, 1, -1)
LABELS = np.where(rng.random(ROWS) < 0.1, -TRUTH, TRUTH)
KINDS = np.array(["bill", "login", "other"])[
    np.argmax(TABLE[:, :3] + 0.01 * TABLE[:, 3:6], axis=1)
]


def run(*words: object, stdin: bytes | None = None) -> Any:
    done = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    assert done.exit_code == 0, done.output
    return done


def lines(X: np.ndarray, labels: Any, first: int = 1) -> str:
    found = []
    for row, label in zip(X, labels, strict=True):
        pairs = " ".join(f"{j + first}:{row[j]:g}" for j in np.flatnonzero(row))
        found.append(f"{label} {pairs}\n")
    return "".join(found)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tickets(tmp_path_factory) -> Path:
    """3,000 lines whose indices count from 1, a tenth of the labels wrong."""
    return written(tmp_path_factory.mktemp("lines") / "tickets.svm", lines(TABLE, LABELS))


def shifted(X: np.ndarray) -> np.ndarray:
    """The features as the lines have them: column 0 is never used."""
    return np.hstack([np.zeros((len(X), 1)), X])


def sparse(X: np.ndarray) -> Any:
    return csr_matrix(X)


def own(X: np.ndarray, y: Any, **params: Any) -> NHERD:
    return NHERD(**params).partial_fit(sparse(X), y, classes=np.unique(y))


def same(first: Any, second: Any, *, rounded: bool = False) -> bool:
    """Whether two models are the same, up to the order of sums if they were rounded."""
    assert np.array_equal(first.classes_, second.classes_)
    for name in ("coef_", "intercept_", "covariance_", "intercept_variance_"):
        ours, theirs = getattr(first, name), getattr(second, name)
        np.testing.assert_allclose(ours, theirs, rtol=1e-7 * rounded, atol=1e-9 * rounded)
    return True


def test_the_model_is_that_of_one_pass(tickets, tmp_path):
    done = run("learn", tickets, "-o", tmp_path / "m.safetensors", "-C", 0.1)
    model, reference = load(tmp_path / "m.safetensors"), own(shifted(TABLE), LABELS, C=0.1)
    assert same(model, reference)
    assert model.progressive_error_ == reference.progressive_error_
    assert model.n_seen_ == ROWS
    assert f"progressive error {reference.progressive_error_:.4f}" in done.stdout
    assert "NHERD, 2 classes, 31 features, 3,000 rows" in done.stdout


def test_the_error_is_shown_as_rows_go_by(tickets, tmp_path):
    done = run("learn", tickets, "-o", tmp_path / "m.safetensors")
    table = [line.split() for line in done.stdout.splitlines()[:4]]
    assert table[0] == ["rows", "error", "since", "error", "updates"]
    assert [row[0] for row in table[1:]] == ["1,000", "2,000", "3,000"]
    wrong = 0.0
    for k, (_, since, so_far, updates) in enumerate(table[1:], 1):
        part = own(shifted(TABLE[: 1000 * k]), LABELS[: 1000 * k])
        assert so_far == f"{part.progressive_error_:.4f}"
        assert since == f"{part.progressive_error_ * k - wrong:.4f}"
        assert updates == f"{part.n_updates_ / part.n_seen_:.4f}"
        wrong = part.progressive_error_ * k
    every = run("learn", tickets, "-o", tmp_path / "m.safetensors", "--every", 700).stdout
    assert [line.split()[0] for line in every.splitlines()[1:6]] == [
        "700",
        "1,400",
        "2,100",
        "2,800",
        "3,000",
    ]
    assert run("learn", tickets, "-o", tmp_path / "m.safetensors", "-q").output == ""


def test_standard_input_grows_as_features_come(tickets, tmp_path, monkeypatch):
    monkeypatch.setattr(svmlight, "BLOCK_BYTES", 512)
    text = lines(TABLE[:9, :5], LABELS[:9]) + lines(TABLE, LABELS)
    run("learn", "-", "-o", tmp_path / "m.safetensors", "--classes", "-1,1", stdin=text.encode())
    narrow = np.where(np.arange(31) <= 5, shifted(TABLE[:9]), 0)
    rows = np.vstack([narrow, shifted(TABLE)])
    reference = own(rows, np.concatenate([LABELS[:9], LABELS]))
    assert same(load(tmp_path / "m.safetensors"), reference)


def test_compressed_files_and_several_of_them(tickets, tmp_path):
    raw = tickets.read_bytes()
    cut = raw.index(b"\n", len(raw) // 2) + 1
    (tmp_path / "a.svm.gz").write_bytes(gzip.compress(raw[:cut]))
    (tmp_path / "b.txt").write_bytes(raw[cut:])
    run("learn", tmp_path / "a.svm.gz", tmp_path / "b.txt", "-o", tmp_path / "m.safetensors")
    assert same(load(tmp_path / "m.safetensors"), own(shifted(TABLE), LABELS))


@pytest.mark.parametrize("covariance", ["project", "exact", "drop", "full"])
def test_a_model_goes_on_where_it_was(tmp_path, covariance):
    """A day's rows with new features: as if all had been known from the start."""
    narrow = np.where(np.arange(30) < 20, TABLE, 0)[:1000]
    first = written(tmp_path / "a.svm", lines(narrow, LABELS[:1000]))
    second = written(tmp_path / "b.svm", lines(TABLE[1000:], LABELS[1000:]))
    model = tmp_path / "m.safetensors"
    run("learn", first, "-o", model, "--covariance", covariance)
    assert load(model).n_features_in_ == 21
    done = run("learn", second, "--continue", model, "-o", model)
    assert "2,000 rows, 3,000 with those before" in done.stdout
    both = f" of these rows, {load(model).progressive_error_:.4f} with those before"
    assert both in done.stdout
    rows = shifted(np.vstack([narrow, TABLE[1000:]]))
    reference = own(rows, LABELS, covariance=covariance)
    # another size of matrix is summed in another order
    assert same(load(model), reference, rounded=covariance == "full")
    assert load(model).progressive_error_ == reference.progressive_error_


def test_words_as_labels_and_more_than_two(tmp_path):
    path = written(tmp_path / "a.svm", lines(TABLE, KINDS))
    done = run("learn", path, "-o", tmp_path / "m.safetensors", "--test", path)
    model = load(tmp_path / "m.safetensors")
    assert model.classes_.tolist() == ["bill", "login", "other"]
    wrong = int((model.predict(shifted(TABLE)) != KINDS).sum())
    assert f"error on {path} {wrong / ROWS:.4f} ± " in done.stdout
    assert f"({wrong:,} of 3,000 rows)" in done.stdout


def test_further_passes_and_random_order(tickets, tmp_path):
    model = tmp_path / "m.safetensors"
    done = run("learn", tickets, "-o", model, "--epochs", 3)
    reference = own(shifted(TABLE), LABELS)
    error = reference.progressive_error_
    for _ in range(2):
        reference.partial_fit(sparse(shifted(TABLE)), LABELS)
    assert same(load(model), reference)
    assert load(model).progressive_error_ == error
    assert "pass 3: " in done.stdout
    assert "3,000 rows in 3 passes" in done.stdout
    run("learn", tickets, "-o", model, "--shuffle", "--random-state", 5, "--epochs", 2)
    mixed = np.random.default_rng(5)
    orders = [mixed.permutation(ROWS) for _ in range(2)]
    reference = own(shifted(TABLE[orders[0]]), LABELS[orders[0]])
    reference.partial_fit(sparse(shifted(TABLE[orders[1]])), LABELS[orders[1]])
    assert same(load(model), reference)


@pytest.mark.parametrize(
    ("words", "name", "params"),
    [
        (["--algorithm", "arow", "-C", 0.5], "AROW", {"C": 0.5}),
        (["--algorithm", "cw", "--confidence", 0.8], "ConfidenceWeighted", {"confidence": 0.8}),
        (["--algorithm", "cw", "--form", "variance"], "ConfidenceWeighted", {"form": "variance"}),
        (["--algorithm", "scw"], "ConfidenceWeighted", {"form": "soft-1"}),
        (["--algorithm", "scw", "--form", "soft-2"], "ConfidenceWeighted", {"form": "soft-2"}),
        (["--algorithm", "pa", "--form", "PA-II"], "PassiveAggressive", {"form": "PA-II"}),
        (["--algorithm", "perceptron", "--average"], "Perceptron", {"average": True}),
        (["--algorithm", "second-order"], "SecondOrderPerceptron", {}),
        (["--covariance", "drop", "--forget", 0.001], "NHERD", {"forget": 0.001}),
        (["--multi-class", "one-vs-rest"], "NHERD", {"multi_class": "one-vs-rest"}),
        (["--class-weight", "1=2.5"], "NHERD", {"class_weight": {1: 2.5}}),
        (["--new-classes"], "NHERD", {"new_classes": "add"}),
    ],
)
def test_algorithms_and_their_options(tickets, tmp_path, words, name, params):
    run("learn", tickets, "-o", tmp_path / "m.safetensors", *words)
    model = load(tmp_path / "m.safetensors")
    reference = getattr(herder.online, name)(**params)
    if "drop" in words:
        reference.set_params(covariance="drop")
    given = reference.get_params()
    assert model.get_params() == given
    X = sparse(shifted(TABLE))
    reference.partial_fit(X, LABELS, classes=[-1, 1])
    ours, theirs = model.decision_function(X), reference.decision_function(X)
    # forgetting is caught up with at the end of each batch
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 if "forget" in params else 0)


def test_rare_classes_may_count_more(tmp_path):
    y = np.where(np.arange(ROWS) % 10 == 0, 1, 0)
    path = written(tmp_path / "a.svm", lines(TABLE, y))
    run("learn", path, "-o", tmp_path / "m.safetensors", "--class-weight", "balanced")
    assert load(tmp_path / "m.safetensors").class_weight == {0: 10 / 18, 1: 5.0}


def test_broken_lines_can_be_left_out(tickets, tmp_path):
    text = tickets.read_text().splitlines(keepends=True)
    text.insert(1500, "1 2:x\n")
    text.insert(40, "what is this\n")
    path = written(tmp_path / "a.svm", "".join(text))
    done = run("learn", path, "-o", tmp_path / "m.safetensors", "--skip-broken")
    assert f"2 broken lines left out, the first: line 41 of {path} must have" in done.stdout
    assert same(load(tmp_path / "m.safetensors"), own(shifted(TABLE), LABELS))


def test_rows_of_a_table_with_gaps_can_be_left_out(tmp_path):
    table = columns()
    table["x1"] = table["x1"].copy()
    table["x1"][7], table["x1"][1500] = np.nan, np.inf
    write_table(tmp_path / "t.csv", list(table), [table])
    done = run("learn", tmp_path / "t.csv", "-o", tmp_path / "m.safetensors", "--skip-broken")
    assert "2 broken lines left out, the first: line 9 of" in done.stdout
    kept = np.delete(np.arange(ROWS), [7, 1500])
    reference = NHERD().partial_fit(TABLE[kept, :4], LABELS[kept], classes=[-1, 1])
    assert same(load(tmp_path / "m.safetensors"), reference)


def test_unit_length(tickets, tmp_path):
    run("learn", tickets, "-o", tmp_path / "m.safetensors", "--normalize")
    other = tmp_path / "other.safetensors"
    run("learn", "classifier", tickets, "-o", other, "--normalise")
    assert other.read_bytes() == (tmp_path / "m.safetensors").read_bytes()
    X = shifted(TABLE)
    length = np.sqrt((X**2).sum(axis=1, keepdims=True))
    reference = own(X / np.where(length, length, 1), LABELS)
    model = load(tmp_path / "m.safetensors")
    np.testing.assert_allclose(model.coef_, reference.coef_, rtol=1e-9, atol=1e-12)
    done = run("predict", tmp_path / "m.safetensors", tickets, "-o", tmp_path / "p.csv")
    assert (
        f"error {(reference.predict(X / np.where(length, length, 1)) != LABELS).mean():.4f}"
        in (done.stdout)
    )


def columns(**more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {f"x{j}": TABLE[:, j] for j in range(4)}
    return found | {"label": LABELS} | more


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npz"])
def test_tables(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    table = columns(mass=rng.random(ROWS))
    write_table(path, list(table), [table])
    run("learn", path, "-o", tmp_path / "m.safetensors", "--weight", "mass")
    reference = NHERD().partial_fit(
        TABLE[:, :4], LABELS, classes=[-1, 1], sample_weight=table["mass"]
    )
    assert same(load(tmp_path / "m.safetensors"), reference)
    kept = read_model(tmp_path / "m.safetensors")[1]["input"]["columns"]
    assert kept["numbers"] == ["x0", "x1", "x2", "x3"]
    done = run("predict", tmp_path / "m.safetensors", path, "-o", tmp_path / "p.csv")
    assert f"error {(reference.predict(TABLE[:, :4]) != LABELS).mean():.4f}" in done.stdout


WORDS = np.array(["refund", "late", "Login", "error", "my", "a", "password", "paid"])


def texts() -> list[str]:
    picks = np.random.default_rng(3).integers(0, len(WORDS), size=(ROWS, 5))
    return [" ".join(WORDS[row]) for row in picks]


def test_words_of_a_text_are_hashed_as_in_python(tmp_path):
    table = {"ticket": np.array(texts(), object), "what": KINDS.astype(object)}
    write_table(tmp_path / "t.csv", list(table), [table])
    words = ("--text", "ticket", "--label", "what", "--hash-bits", 10)
    run("learn", tmp_path / "t.csv", "-o", tmp_path / "m.safetensors", *words)
    rows: Any = hash_features(texts(), 2**10)
    reference = NHERD().partial_fit(rows, KINDS, classes=["bill", "login", "other"])
    assert same(load(tmp_path / "m.safetensors"), reference)


def test_texts_categories_and_numbers_together(tmp_path):
    table = columns(
        ticket=np.array([*texts()[:-1], None], object),
        note=np.array(texts()[::-1], object),
        where=np.array(["north", None, "south"], object)[np.arange(ROWS) % 3],
        id=np.arange(ROWS),
    )
    write_table(tmp_path / "t.csv", list(table), [table])
    words = ["--text", "ticket", "--text", "note", "--category", "where", "--drop", "id"]
    words += ["--hash-bits", "8"]
    run("learn", tmp_path / "t.csv", "-o", tmp_path / "m.safetensors", *words)
    tokens = []
    for k in range(ROWS):
        row = [f"ticket={w.lower()}" for w in (table["ticket"][k] or "").split() if len(w) > 1]
        row += [f"note={w.lower()}" for w in table["note"][k].split() if len(w) > 1]
        tokens.append(row + ([f"where={table['where'][k]}"] if table["where"][k] else []))
    hashed = hash_features(tokens, 2**8).toarray()
    reference = own(np.hstack([TABLE[:, :4], hashed]), LABELS)
    assert same(load(tmp_path / "m.safetensors"), reference, rounded=True)


def test_a_table_goes_on_by_the_names_of_its_columns(tmp_path):
    table = columns(id=np.arange(ROWS))
    half = {name: value[:1500] for name, value in table.items()}
    write_table(tmp_path / "a.csv", list(half), [half])
    rest = {name: table[name][1500:] for name in reversed(list(table))}
    rest["target"] = rest.pop("label")
    write_table(tmp_path / "b.csv", list(rest), [rest])
    model = tmp_path / "m.safetensors"
    run("learn", tmp_path / "a.csv", "-o", model, "--drop", "id")
    run("learn", tmp_path / "b.csv", "--continue", model, "-o", model, "--label", "target")
    reference = NHERD().partial_fit(TABLE[:, :4], LABELS, classes=[-1, 1])
    assert same(load(model), reference)


def test_a_model_from_python_goes_on(tickets, tmp_path):
    load_lines: Any = datasets.load_svmlight_file
    X, y = load_lines(str(tickets), zero_based=True)
    save(NHERD().partial_fit(X[:900], y[:900], classes=[-1.0, 1.0]), tmp_path / "p.model")
    rest = written(tmp_path / "b.svm", lines(TABLE[900:], LABELS[900:]))
    run("learn", rest, "--continue", tmp_path / "p.model", "-o", tmp_path / "m.safetensors")
    assert same(load(tmp_path / "m.safetensors"), own(shifted(TABLE), LABELS))


def test_a_table_goes_on_with_a_model_from_python(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(TABLE[:, :4], columns=["x0", "x1", "x2", "x3"])
    half = NHERD().partial_fit(frame[:900], LABELS[:900], classes=[-1, 1])
    save(half, tmp_path / "p.model")
    rest = {name: value[900:] for name, value in columns().items()}
    write_table(tmp_path / "b.csv", list(rest), [rest])
    model = tmp_path / "m.safetensors"
    run("learn", tmp_path / "b.csv", "--continue", tmp_path / "p.model", "-o", model)
    assert same(load(model), half.partial_fit(frame[900:], LABELS[900:]))
    assert load(model).feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]


def test_classes_may_come_later(tmp_path):
    first = written(
        tmp_path / "a.svm", lines(TABLE[:99], np.where(KINDS == "bill", "b", "l")[:99])
    )
    rest = written(tmp_path / "b.svm", lines(TABLE, KINDS))
    model = tmp_path / "m.safetensors"
    run("learn", first, "-o", model, "--new-classes")
    run("learn", rest, "--continue", model, "-o", model)
    assert load(model).classes_.tolist() == ["b", "bill", "l", "login", "other"]
    run("learn", "-", "-o", model, "--new-classes", stdin=b"x 1:1\n" + rest.read_bytes())
    assert load(model).classes_.tolist() == ["bill", "login", "other", "x"]


def test_rows_too_long_to_learn_are_told(tmp_path):
    path = written(tmp_path / "a.svm", "1 1:1\n0 2:1e200\n1 2:1\n")
    done = run("learn", path, "-o", tmp_path / "m.safetensors")
    assert re.search(r"1 of 3 rows were left out", done.stdout)
    assert done.stderr == ""


def test_help_lists_the_options():
    text = run("learn", "--help").stdout
    assert "classifier" in text
    assert "field" in text
    text = " ".join(run("learn", "classifier", "--help").stdout.split())
    for word in ("--algorithm", "--continue", "--skip-broken", "progressive error", "--hash-bits"):
        assert word in text
    assert "learn" in run("--help").stdout
    assert "predict" in run("--help").stdout


def test_the_csv_of_answers_has_one_row_each(tickets, tmp_path):
    run("learn", tickets, "-o", tmp_path / "m.safetensors")
    run("predict", tmp_path / "m.safetensors", tickets, "-o", tmp_path / "p.csv")
    with open(tmp_path / "p.csv", newline="", encoding="utf-8") as stream:
        assert len(list(csv.DictReader(stream))) == ROWS
