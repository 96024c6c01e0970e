"""``herder learn conditional`` and what follows it."""

import os
import shlex
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from typer.testing import CliRunner

from herder import NHERD, ConditionalHerder, load, save
from herder.cli import app
from herder.data import write_table
from herder.io import read_model
from tests.cli.conftest import write_csv

NAMES = ("length", "width", "height", "depth")

#: Small and quick.
SMALL = ("--hidden", 8)


def run(*words: object, code: int = 0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


def learn(*words: object, code: int = 0):
    return run("learn", "conditional", *words, code=code)


def error_line(*words: object) -> str:
    done = learn(*words, code=2)
    (line,) = done.stderr.splitlines()
    return line


def blobs(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three classes that overlap, so that learning never ends by itself."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=n)
    centres = np.array([[0, 0, 0, 0], [1, 0, 2, 0], [0, 2, 0, -1]])
    return (centres[y] + rng.normal(size=(n, 4))).round(3) * [1, 10, 1, 0.1], y


X, Y = blobs(150, 0)
KINDS = np.array(["ash", "oak", "elm"])[Y]


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """The rows as a table with labels that are words."""
    rows = [[*row, kind] for row, kind in zip(X.tolist(), KINDS.tolist(), strict=True)]
    return write_csv(tmp_path_factory.mktemp("rows") / "trees.csv", [*NAMES, "kind"], rows)


def same_model(one: ConditionalHerder, other: ConditionalHerder) -> bool:
    """Whether all arrays that were learnt are the same, bit for bit."""
    (arrays, _), (others, _) = one.to_state(), other.to_state()
    assert arrays.keys() == others.keys()
    return all(np.array_equal(arrays[name], others[name]) for name in arrays)


def test_the_model_is_that_of_python(tmp_path, trees):
    model, labels = tmp_path / "m.safetensors", tmp_path / "labels.csv"
    words = ("--label", "kind", "--drop", "depth", "--epochs", 3, "--random-state", 5)
    done = learn(trees, "-o", model, *words, "--test", trees)
    reference = ConditionalHerder(max_iter=3, random_state=5).fit(X[:, :3], KINDS)
    found, meta = read_model(model)
    assert same_model(found, reference)
    assert found.get_params() == reference.get_params()
    columns = meta["input"]["columns"]
    assert (columns["label"], columns["numbers"]) == ("kind", list(NAMES[:3]))
    title, *lines = done.stdout.splitlines()
    size = "3 classes, 3 features, 100 hidden units, 150 rows"
    assert title == f"{model}: ConditionalHerder, {size}"
    wrong = int((reference.predict(X[:, :3]) != KINDS).sum())
    assert lines[-1].startswith(f"error on {trees} {wrong / 150:.4f} ± ")

    done = run("predict", model, trees, "-o", labels)
    assert f"error {wrong / 150:.4f} ± " in done.stdout
    header, *rows = (line.split(",") for line in labels.read_text().splitlines())
    assert header == ["label", "probability", "margin"]
    kinds, chances, margins = zip(*rows, strict=True)
    assert list(kinds) == reference.predict(X[:, :3]).tolist()
    votes = np.sort(reference.predict_proba(X[:, :3]), axis=1)
    np.testing.assert_allclose(np.array(chances, float), votes[:, -1])
    np.testing.assert_allclose(np.array(margins, float), votes[:, -1] - votes[:, -2], atol=1e-12)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_numbers_of_numpy_are_dense(tmp_path, suffix):
    rows, model = tmp_path / f"rows{suffix}", tmp_path / "m.safetensors"
    names = [f"x{j}" for j in range(5)]
    write_table(rows, names, [dict(zip(names, [*X.T, Y], strict=True))])
    words = ("--epochs", 2, "--multi-class", "one-vs-rest")
    learn(rows, "-o", model, "--label", "x4", *SMALL, *words)
    reference = ConditionalHerder(8, max_iter=2, multi_class="one-vs-rest").fit(X, Y)
    assert same_model(load(model), reference)
    assert load(model).predict(X).tolist() == reference.predict(X).tolist()


def test_svmlight_lines_are_sparse(tmp_path):
    rows, model = tmp_path / "rows.svm", tmp_path / "m.safetensors"
    table = np.where(X > 0, X, 0)
    dump_svmlight_file(table, Y, str(rows))
    learn(rows, "-o", model, *SMALL, "--epochs", 2)
    from scipy.sparse import csr_array

    assert same_model(load(model), ConditionalHerder(8, max_iter=2).fit(csr_array(table), Y))
    # fewer columns than the model has, in the rows that it goes on with; more, in those to predict
    few, wide = tmp_path / "few.svm", tmp_path / "wide.svm"
    few.write_text("0 0:1.5\n1 1:2\n2 0:1 1:1\n")
    learn(few, "-o", model, "--continue", model, "--epochs", 1)
    wide.write_text("0 0:1.5\n1 1:2 70:1\n")
    done = run("predict", model, wide)
    assert "1 value is of features that the model has not seen" in done.stderr
    labels = [int(line.split(",")[0]) for line in done.stdout.splitlines()[1:]]
    assert labels == load(model).predict([[1.5, 0, 0, 0], [0, 2, 0, 0]]).tolist()
    line = error_line(wide, "-o", model, "--continue", model)
    assert "line 2 of" in line
    assert "70" in line


def test_some_passes_and_then_others_are_all_of_them(tmp_path, trees):
    given = (trees, "--label", "kind")
    part, whole = tmp_path / "part.safetensors", tmp_path / "whole.safetensors"
    learn(*given, "-o", part, *SMALL, "--epochs", 2)
    learn(*given, "-o", part, "--continue", part, "--epochs", 3)
    learn(*given, "-o", whole, *SMALL, "--epochs", 5)
    assert same_model(load(part), load(whole))


def test_a_model_of_python_goes_on(tmp_path, trees):
    path = tmp_path / "m.safetensors"
    save(ConditionalHerder(8, max_iter=2).fit(X, KINDS), path)
    learn(trees, "--label", "kind", "-o", path, "--continue", path, "--epochs", 1)
    assert same_model(load(path), ConditionalHerder(8, max_iter=3).fit(X, KINDS))
    line = error_line(trees, "--label", "kind", "--drop", "width", "-o", path, "--continue", path)
    assert "must be left out with --continue" in line
    save(ConditionalHerder(8, max_iter=2).fit(X, KINDS), path)
    line = error_line(trees, "--label", "kind", "--drop", "width", "-o", path, "--continue", path)
    assert f"must have the 4 features of {path}, got 3" in line


#: Runs the command; at each moment of the first word the process sends itself a signal.
SCRIPT = """
import os, signal, sys

moments = sys.argv.pop(1).split(", ")
sys.argv[0] = "herder"
from herder.core.files import PartFile
from herder.data.labelled import LabelledFiles
from herder.learn.snapshots import VotingHerd

def at(moment, owner, name, count):
    original = getattr(owner, name)

    def patched(*given, **more):
        nonlocal count
        count -= 1
        if not count:
            os.kill(os.getpid(), signal.SIGINT)
        return original(*given, **more)

    if moment in moments:
        setattr(owner, name, patched)

at("reading", LabelledFiles, "whole", 1)
at("learning", VotingHerd, "stride", 70)
at("completing", PartFile, "complete", 1)

from herder.cli import main
main()
"""


def interrupted(folder, moments: str, *words: object) -> "subprocess.CompletedProcess[str]":
    given = ["learn", "conditional", *map(str, words)]
    command = [sys.executable, "-c", SCRIPT, moments, *given]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("moments", ["reading", "learning, completing"])
def test_ctrl_c_before_anything_is_learnt_or_twice_leaves_no_file(tmp_path, trees, moments):
    given = (trees, "--label", "kind", "--epochs", 1000)
    done = interrupted(tmp_path, moments, *given, *SMALL, "-o", "m.safetensors")
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "herder: stopped: nothing was written"
    assert os.listdir(tmp_path) == []


def test_ctrl_c_keeps_what_was_learnt_and_one_goes_on_from_it(tmp_path, trees, monkeypatch):
    given = (trees, "--label", "kind", "--epochs", 1000, "--drop", "depth")
    done = interrupted(tmp_path, "learning", *given, *SMALL, "-o", "my m.safetensors")
    assert done.returncode == 130
    assert os.listdir(tmp_path) == ["my m.safetensors"]
    found = load(tmp_path / "my m.safetensors")
    warned, stopped = done.stderr.splitlines()
    kept = f"interrupted after {found.n_iter_} passes; the model so far is kept"
    assert warned == f"herder: Warning: {kept}"
    command = f"herder learn conditional {trees} --output 'my m.safetensors' --label kind"
    command += " --epochs 1000 --continue 'my m.safetensors'"
    assert stopped == f"herder: stopped: my m.safetensors was written; to go on: {command}"
    assert done.stdout.startswith("my m.safetensors: ConditionalHerder, 3 classes")

    monkeypatch.chdir(tmp_path)
    name, *words = shlex.split(command.replace("--epochs 1000", "--epochs 2"))
    assert name == "herder"
    run(*words)
    arrays, _ = load("my m.safetensors").to_state()
    longer = ConditionalHerder(8, max_iter=found.n_iter_ + 3).fit(X[:, :3], KINDS)
    others, _ = longer.to_state()
    # the same weights after the same updates
    steps, i, j = np.intersect1d(arrays["0.steps"], others["0.steps"], return_indices=True)
    assert steps[-1] > found.n_updates_
    assert np.array_equal(arrays["0.snapshots"][i], others["0.snapshots"][j])


def test_what_is_wrong_is_one_line(tmp_path, trees):
    out = ("-o", tmp_path / "m.safetensors")
    assert "--label must name the column of labels of" in error_line(trees, *out)
    line = error_line(trees, *out, "--label", "knid")
    assert f"--label must name a column of {trees}, got 'knid'; did you mean kind?" in line
    one = write_csv(tmp_path / "one.csv", ("a", "label"), [[1, "x"], [2, "x"]])
    line = error_line(one, *out)
    assert line == "herder: TRAIN... must have at least two classes, got one class: 'x'"
    words = write_csv(tmp_path / "words.csv", ("a", "label"), [["u", "x"], ["v", "y"]])
    line = error_line(words, *out)
    assert line.endswith("must hold numbers, got the text 'u' in line 2: --drop a")
    line = error_line(trees, *out, "--label", "kind", "--max-memory", "1M", "--hidden", 10**5)
    assert "--max-memory must be at least" in line
    assert "or lower --hidden" in line
    for option in ("--hidden", "--epochs"):
        assert option in learn(trees, *out, "--label", "kind", option, -1, code=2).output
    lines = tmp_path / "t.svm"
    lines.write_text("0 1:1\n1 2:1\n")
    line = error_line(trees, *out, "--label", "kind", "--test", lines)
    assert line.startswith("herder: --test must be a file like the one to learn from")
    assert not (tmp_path / "m.safetensors").exists()


def test_models_of_another_kind(tmp_path, trees):
    own, linear, out = (tmp_path / f"{name}.safetensors" for name in ("own", "linear", "out"))
    learn(trees, "--label", "kind", "-o", own, *SMALL, "--epochs", 1)
    save(NHERD().fit(X, KINDS), linear)
    given = (trees, "--label", "kind", "-o", out)
    line = error_line(*given, "--continue", linear)
    rule = "--continue must name a model of herder learn"
    assert line == f"herder: {rule} conditional, got the NHERD of {linear}"
    done = run("learn", "classifier", *given, "--continue", own, code=2)
    assert done.stderr == f"herder: {rule} classifier, got the ConditionalHerder of {own}\n"
    line = error_line(*given, "--continue", tmp_path / "none.safetensors")
    assert line.startswith("herder: --continue must name a file that exists")
    line = error_line(*given, "--continue", own, *SMALL)
    assert "--hidden must be left out with --continue: the model keeps its own" in line
    other = write_csv(tmp_path / "other.csv", [*NAMES, "kind"], [[1, 2, 3, 4, "fir"]])
    line = error_line(other, "-o", out, "--continue", own)
    assert line.startswith("herder: TRAIN... must have labels among 'ash', 'elm'")
    done = run("predict", own, "--explain", code=2)
    assert "must be linear to be explained, got ConditionalHerder" in done.stderr
    done = run("sample", own, "-n", 3, "-o", tmp_path / "s.csv", code=2)
    assert "must be a random field to be sampled, got the ConditionalHerder" in done.stderr
    assert not out.exists()
