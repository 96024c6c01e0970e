"""``herder study``: every name, tables of states, rates, and what is refused."""

import pytest
from typer.testing import CliRunner

from herder.cli import app

SIZES = {"neuron": 1000, "bifurcation": 20, "attractor": 20_000, "words": 12}
SMALL = {**SIZES, "autocorrelation": 500}


def run(*words: object, code: int = 0):
    done = CliRunner().invoke(app, ["study", *map(str, words)], prog_name="herder")
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "states.csv"
    path.write_text("a,b,count\n1,0,3\n0,1,2\n0,0,5\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("name", SMALL)
def test_each_study_prints_and_draws(name, tmp_path):
    page = tmp_path / "page.html"
    done = run(name, "-n", SMALL[name], "--report", page)
    assert str(page) in done.stdout
    html = page.read_text(encoding="utf-8")
    assert html.count("<img") == (3 if name == "attractor" else 1)
    assert f"herder study {name}" in html
    assert len(html) < 1_500_000


def test_a_rate_may_be_spelt_in_four_ways():
    assert "period" in run("neuron", "--rate", "5/8", "-n", 100).stdout
    assert "period              10" in run("neuron", "--rate", "0.3", "-n", 100).stdout
    golden = run("neuron", "-n", 100).stdout
    assert golden == run("neuron", "--rate", "golden", "-n", 100).stdout
    assert golden == run("neuron", "--rate", "-1,1,2,5", "-n", 100).stdout
    assert "period" not in golden


@pytest.mark.parametrize("name", ["bifurcation", "attractor", "words"])
def test_states_come_from_a_table(name, table):
    done = run(name, "--states", table, "-n", SMALL[name])
    assert {"bifurcation": "10", "attractor": "3 states", "words": "2 features"}[
        name
    ] in done.stdout


def test_states_without_shares_are_equally_likely(tmp_path):
    path = tmp_path / "states.csv"
    path.write_text("a,b,c\n1,0,0\n0,1,0\n0,0,1\n", encoding="utf-8")
    assert "3 features" in run("words", "--states", path, "-n", 5).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("neurone",), "neurone"),
        (("neuron", "--rate", "9/8"), "--rate must be from 0 to 1, got 9/8"),
        (("neuron", "--rate", "x"), "--rate must be a fraction"),
        (("neuron", "--rate", "1,1,0,5"), "--rate must be a fraction"),
        (("neuron", "-n", 0), "-n must be from 1 to"),
        (("autocorrelation", "-n", 100), "-n must be above 200"),
        (("words", "--rate", "1/2"), "--rate must be left out for words"),
        (("words", "--random-state", 1), "--random-state must be left out for words"),
        (("neuron", "--states", "x.csv"), "--states must be left out for neuron"),
        (("words", "--states", "x.txt"), "--states must be a table"),
        (("words", "--states", "none.csv"), "none.csv"),
    ],
)
def test_what_is_refused(words, message):
    done = run(*words, code=2)
    assert message in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,x\n2,y\n", "column 'b'"),
        ("a,count,probability\n1,1,1\n2,1,1\n", "one column of shares"),
        ("count\n1\n", "a column of features"),
        ("a,count\n1,-1\n2,3\n", "no count below 0"),
        ("a,b\n1,1\n1,1\n", "differ between states"),
    ],
)
def test_tables_that_are_none(text, message, tmp_path):
    path = tmp_path / "states.csv"
    path.write_text(text, encoding="utf-8")
    assert message in run("attractor", "--states", path, code=2).stderr
