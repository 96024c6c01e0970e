"""``herder learn rbm`` and what follows it."""

import csv
import itertools

import numpy as np
import pytest
from typer.testing import CliRunner

from herder import RBM, load, save
from herder.cli import app
from tests.cli.conftest import write_csv


def run(*words: object, code: int = 0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(scope="module")
def bars(tmp_path_factory):
    rng = np.random.default_rng(0)
    on = np.tile(rng.random((400, 3)) < 0.5, (1, 3)) ^ (rng.random((400, 9)) < 0.05)
    names = [f"p{i}" for i in range(9)]
    return write_csv(tmp_path_factory.mktemp("rbm") / "t.csv", names, on.astype(int).tolist())


def test_the_model_is_that_of_python(tmp_path, bars):
    model, page = tmp_path / "m.safetensors", tmp_path / "page.html"
    words = ("--hidden", 6, "--epochs", 30, "--test", bars, "--report", page)
    done = run("learn", "rbm", bars, "-o", model, *words)
    table = np.loadtxt(bars, delimiter=",", skiprows=1)
    names = [f"p{i}" for i in range(9)]
    machine = RBM(6, n_epochs=30).fit(dict(zip(names, table.T, strict=True)))
    found = load(model)
    assert np.array_equal(found.components_, machine.components_)
    assert list(found.feature_names_in_) == names
    score = machine.score_samples(dict(zip(names, table.T, strict=True))).mean()
    assert done.stdout.count(f"{score:.2f}  log probability of a row") == 2
    assert "<svg" in page.read_text() or "data:image/svg" in page.read_text()


def test_gaps_are_filled(tmp_path, bars):
    model, holes = tmp_path / "m.safetensors", tmp_path / "holes.csv"
    run("learn", "rbm", bars, "-o", model, "--hidden", 6, "--epochs", 150, "-q")
    write_csv(holes, [f"p{i}" for i in range(9)], [[1, 0, 1, "", "", "", 1, 0, 1]])
    filled = tmp_path / "filled.csv"
    done = run("predict", model, holes, "-o", filled)
    assert "Warning" not in done.stderr
    with filled.open() as file:
        assert list(csv.reader(file))[1] == ["1", "0", "1"] * 3


@pytest.fixture(scope="module")
def model(tmp_path_factory, bars):
    path = tmp_path_factory.mktemp("model") / "rbm.safetensors"
    run("learn", "rbm", bars, "-o", path, "--hidden", 6, "--epochs", 50, "-q")
    return path


def test_samples_of_the_columns(tmp_path, model):
    machine = load(model)
    rows, table, page = (tmp_path / name for name in ("rows.csv", "table.csv", "page.html"))
    words = ("--chains", 4, "--burn-in", 200, "--marginals", table, "--report", page)
    run("sample", model, "-n", 20_000, "-o", rows, *words)
    names = [f"p{i}" for i in range(9)]
    with rows.open() as file:
        header, *drawn = csv.reader(file)
    assert header == names
    drawn = np.array(drawn, float)
    assert drawn.shape == (20_000, 9)
    visible = np.array(list(itertools.product((0, 1), repeat=9)), float)
    p = np.exp(machine.score_samples(dict(zip(names, visible.T, strict=True))))
    assert p.sum() == pytest.approx(1)
    np.testing.assert_allclose(drawn.mean(axis=0), p @ visible, atol=0.03)
    pairs = visible.T @ (p[:, None] * visible)
    np.testing.assert_allclose(drawn.T @ drawn / len(drawn), pairs, atol=0.03)
    with table.open() as file:
        assert [row[0] for row in csv.reader(file)] == ["site", *names]
    assert "20,000 states of 15 sites" in page.read_text()


def test_samples_given_a_column(tmp_path, model):
    rows = tmp_path / "rows.npy"
    run("sample", model, "-n", 50, "-o", rows, "--evidence", "p3=1", "--order", "reversed")
    assert np.load(rows).shape == (50, 9)
    assert (np.load(rows)[:, 3] == 1).all()


def test_columns_may_be_called_as_hidden_units_are(tmp_path):
    path, rows = tmp_path / "m.safetensors", tmp_path / "rows.csv"
    save(RBM(2, n_epochs=1).fit({"hidden0": [0, 1], "hidden1": [1, 0]}), path)
    run("sample", path, "-n", 5, "-o", rows)
    assert rows.read_text().splitlines()[0] == "hidden0,hidden1"


@pytest.mark.parametrize("method", ["herded-gibbs", "swendsen-wang"])
def test_other_samplers_are_refused(tmp_path, model, method):
    words = ("-n", 5, "-o", tmp_path / "rows.csv", "--method", method)
    done = run("sample", model, *words, code=2)
    assert "--method must be gibbs for rbm.safetensors" in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--hidden", 0), "--hidden"),
        (("--method", "ml"), "--method"),
        (("--epochs", 0), "--epochs"),
    ],
)
def test_errors_name_the_option(tmp_path, bars, words, named):
    done = run("learn", "rbm", bars, "-o", tmp_path / "m.safetensors", *words, code=2)
    assert named in done.output
    assert not (tmp_path / "m.safetensors").exists()
