"""``herder learn rbm`` and what follows it."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from herder import RBM, load
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
