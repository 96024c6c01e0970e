"""The toy family in every medium: printed, on a page, in files, and through a verb."""

import json
import sys
from itertools import islice
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from herder import ModelFileError, load, save
from herder.cli._app import _Command
from herder.core.dynamics import herd
from herder.core.enumerated import EnumeratedSystem
from herder.core.state import read_file, write_file
from herder.core.summary import Picture
from herder.data import open_table
from herder.io import HOMES
from herder.plots import PICTURES, draw
from herder.report import page_html
from herder.testing import check_system
from tests.naming import refuses
from tests.toy import pictures
from tests.toy.herding import ToyHerder, toy_herd
from tests.toy.toy_verb import toy

COUNTS = [5, 3, 2]


@pytest.fixture
def family(monkeypatch):
    """Enter the family in the two tables of the library that know families."""
    monkeypatch.setitem(HOMES, "ToyHerder", "tests.toy.herding")
    monkeypatch.setitem(PICTURES, ("ToyHerding", "shares"), ("toy", "draw_shares"))
    monkeypatch.setitem(sys.modules, "herder.plots.toy", pictures)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("state,count\nrest,5\nleft,3\nright,2\n", encoding="utf-8")
    return path


def run(*words: object, code: int = 0):
    app = typer.Typer()
    app.callback()(lambda: None)  # so that the verb keeps its name
    app.command("toy", cls=_Command)(toy)
    done = CliRunner().invoke(app, ["toy", *map(str, words)], prog_name="herder")
    assert done.exit_code == code, done.output
    return done


def test_counts_are_reached_exactly():
    found = toy_herd(COUNTS, 10)
    assert np.bincount(found.states).tolist() == COUNTS
    assert found.error == 0
    assert toy_herd(COUNTS, 7).error <= 1 / 7  # weights are within one


def test_it_is_the_loop():
    system = EnumeratedSystem(np.eye(3, dtype=np.int64), counts=COUNTS)
    steps = list(islice(herd(system, system.target), 25))
    assert toy_herd(COUNTS, 25).states.tolist() == [step.state for step in steps]
    check_system(system, system.target, exact=True)


def test_n_then_m_steps_are_n_plus_m():
    first = toy_herd(COUNTS, 4)
    then = toy_herd(COUNTS, 9, resume=first)
    whole = toy_herd(COUNTS, 13)
    assert [*first.states, *then.states] == whole.states.tolist()
    assert np.array_equal(then.weights, whole.weights)


@pytest.mark.parametrize(
    ("counts", "options", "name"),
    [
        (COUNTS, {"n_steps": 0}, "n_steps"),
        ([3, -1], {"n_steps": 1}, "counts"),
        ([3, 1], {"n_steps": 1, "resume": toy_herd(COUNTS, 1)}, "resume"),
    ],
)
def test_bad_arguments_are_named(counts, options, name):
    with refuses(name):
        toy_herd(counts, **options)


def test_a_result_prints_as_its_summary():
    assert str(toy_herd(COUNTS, 10)).splitlines() == [
        "10 steps over 3 states",
        "largest error  0.0e+00  of the share of a state",
    ]
    assert "<td>largest error</td>" in toy_herd(COUNTS, 10)._repr_html_()


def test_a_page_has_the_picture(family):
    summary = toy_herd(COUNTS, 10).summary()
    assert page_html(summary).count("<img") == 1
    (picture,) = summary.sections[0].blocks
    assert isinstance(picture, Picture)
    bars: Any
    (bars,) = draw(picture).axes[0].containers
    assert bars.datavalues.tolist() == [0.5, 0.3, 0.2]


def test_an_estimator_samples_from_the_start():
    model = ToyHerder(burn_in=2).fit(COUNTS)
    assert model.sample(8).tolist() == toy_herd(COUNTS, 10).states[2:].tolist()
    assert np.array_equal(model.sample(8), model.sample(8))


def test_a_file_holds_all_of_it(family, tmp_path):
    path = tmp_path / "toy.safetensors"
    save(ToyHerder(burn_in=3).fit(COUNTS), path, meta={"who": "me"})
    again = load(path)
    assert again.get_params() == {"burn_in": 3}
    assert again.sample(10).tolist() == toy_herd(COUNTS, 13).states[3:].tolist()


def test_a_file_from_a_stranger_is_checked(family, tmp_path):
    path = tmp_path / "toy.safetensors"
    save(ToyHerder().fit(COUNTS), path)
    arrays, header, _ = read_file(path)
    write_file(path, {"counts_": -arrays["counts_"]}, json.loads(json.dumps(header)))
    with pytest.raises(ModelFileError, match="counts_"):
        load(path)


def test_the_verb_writes_files_and_prints_the_summary(family, table, tmp_path):
    out, model, page = (tmp_path / name for name in ("rows.csv", "m.safetensors", "page.html"))
    done = run(table, "-n", 10, "-o", out, "--model", model, "--report", page)
    title, fact = done.stdout.splitlines()
    assert title == f"{out}, {model}, {page}: 10 steps over 3 states"
    assert fact in str(toy_herd(COUNTS, 10))
    states = open_table(out).whole()["state"].tolist()
    assert [states.count(name) for name in ("rest", "left", "right")] == COUNTS
    assert load(model).sample(3).tolist() == toy_herd(COUNTS, 3).states.tolist()
    html = page.read_text(encoding="utf-8")
    assert "10 steps over 3 states" in html
    assert f"herder toy {table} --rows 10" in html


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-n", 0), "herder: --rows must be a positive integer, got 0"),
        (("-n", 3, "--report", "page.txt"), "herder: --report must end in .html or .htm"),
    ],
)
def test_errors_are_spelt_in_options(table, tmp_path, words, message):
    done = run(table, "-o", tmp_path / "rows.csv", *words, code=2)
    assert done.stdout == ""
    assert done.stderr.startswith(message)
    assert not (tmp_path / "rows.csv").exists()


def test_an_error_about_the_table_names_it(tmp_path):
    table = tmp_path / "counts.csv"
    table.write_text("state,count\nrest,5\nleft,-3\n", encoding="utf-8")
    done = run(table, "-n", 3, "-o", tmp_path / "rows.csv", code=2)
    assert done.stderr == f"herder: {table} must be non-negative, got -3\n"
