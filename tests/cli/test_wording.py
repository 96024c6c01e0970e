"""What the library says in Python is said in options on the command line, by all verbs."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

from herder.cli import app
from herder.cli._wording import Wording
from herder.core.summary import Fact, Facts, Section, Summary, Text
from tests.cli.conftest import binary_rows, write_csv
from tests.cli.test_help import verbs

#: What no text on the command line holds: a parameter with its value.
PYTHON = re.compile(r"(?<![\w'(.=-])[a-z_]+=('|\"|True|False|None|[0-9])")


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize("verb", sorted(verbs()))
def test_every_option_is_written_in_place_of_its_parameter(verb):
    command = verbs()[verb]
    wording = Wording(command.params, {})
    for parameter in command.params:
        if parameter.param_type_name != "option" or parameter.name == "help":
            continue
        option = max(parameter.opts, key=len)
        said = wording.text(f"too few; pass {parameter.name}='7' to go on")
        typed = option if parameter.is_flag else f"{option} 7"
        assert said == f"too few; pass {typed} to go on"
        said = wording.text(f"{parameter.name}=7, or (Pass {parameter.name}=7).")
        assert said == f"{typed}, or (Pass {typed})."


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            "must be at most 9, got 12; unique=False allows a row twice",
            "must be at most 9, got 12",
        ),
        (
            "is small; weights='simplex' or unique=False may be closer",
            "is small; --weights simplex may be closer",
        ),
        (
            "not converged: raise the penalty, or raise max_iter",
            "not converged: raise the penalty",
        ),
        (
            "Off by 2. Lower it, or raise max_iter until it converges. So.",
            "Off by 2. Lower it. So.",
        ),
        (
            "Off by 2. Raise max_iter until it converges. So.",
            "Off by 2. So.",
        ),
        (
            "row 3 must have a total: fill it in or pass unique=",
            "row 3 must have a total: fill it in",
        ),
        (
            "must have a column 'total' (or pass unique=), got a, b",
            "must have a column 'total', got a, b",
        ),
        (
            "nearest (pass weights='simplex' when herding; weights='allow' when reading)",
            "nearest (pass --weights simplex when herding)",
        ),
        (
            "pass drop='mean radius' to carry it along",
            "pass --drop 'mean radius' to carry it along",
        ),
        (
            "P(x=1, weights=1) = 0.4, got 'weights=2', k=3, mean x=2",
            "P(x=1, weights=1) = 0.4, got 'weights=2', k=3, mean x=2",
        ),
    ],
)
def test_remedies_without_an_option_are_left_out(text, left):
    wording = Wording(
        verbs()["thin"].params, {"unique": None, "max_iter": None, "weights=allow": None}
    )
    assert wording.text(text) == left


def test_bins_of_one_column_are_written_so():
    wording = Wording(verbs()["synth"].params, {})
    said = wording.text("got 99: pass bins={'pay': 5} or bins={\"net pay\": 5} to bin them")
    assert said == "got 99: pass --bins pay=5 or --bins 'net pay=5' to bin them"


def test_all_texts_of_a_summary_are_written_so():
    wording = Wording(verbs()["thin"].params, {"n_select": "n"})
    text = Text("pass n_select=5", "warning")
    facts = Facts([Fact("rows", 3, meaning="standardise=True may help")])
    said = wording.summary(Summary("few", [text, facts], [Section("more", [text])]))
    assert str(said) == "few\nWarning: pass --rows 5\nrows  3  --standardise may help"
    assert said.sections[0].blocks == [Text("pass --rows 5", "warning")]


@pytest.fixture
def wide(tmp_path):
    """Columns whose spreads differ by a factor of a million, and labels: 3 of a, 97 of b."""
    rng = np.random.default_rng(0)
    rows = [
        (repr(x), repr(1e6 * y), "ab"[i > 2])
        for i, (x, y) in enumerate(rng.normal(size=(100, 2)).tolist())
    ]
    return write_csv(tmp_path / "wide.csv", ("small", "large", "kind"), rows)


@pytest.fixture
def binary(tmp_path):
    rows = binary_rows()
    return write_csv(tmp_path / "days.csv", list("vwxyz"), rows.tolist())


def test_thin_speaks_of_options(wide, tmp_path):
    words = ("thin", wide, "-o", tmp_path / "few.csv")
    done = run(*words, "-n", 5, "--drop", "kind")
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    done = run(*words, "-n", 5, "--drop", "kind", "--no-standardise")
    assert "with --no-standardise the widest decide which rows are chosen" in done.stderr
    assert not PYTHON.search(done.output)
    done = run(*words, "-n", 101, "--drop", "kind")
    assert done.stderr == "herder: --rows must be at most the 100 rows, got 101\n"
    done = run(*words, "-n", 20, "--label-column", "kind", "--allocation", "equal")
    assert done.exit_code == 2
    assert done.stderr.endswith("which has 3; --allocation proportional may help\n")
    names = write_csv(tmp_path / "names.csv", ("x", "name"), [(k, f"n{k}") for k in range(30)])
    done = run("thin", names, "-n", 5, "-o", tmp_path / "few.csv")
    assert "--drop name" in done.stderr
    assert not PYTHON.search(done.output)


def test_synth_and_moments_speak_of_options(binary, people_csv, contradictory_csv, tmp_path):
    out = tmp_path / "rows.csv"
    for words in (
        ("synth", people_csv, "-o", out),
        ("moments", people_csv, "-o", out),
        ("synth", contradictory_csv, "-o", out),
    ):
        done = run(*words)
        assert done.exit_code == 2
        assert not PYTHON.search(re.sub(r"P\([^)]*\)", "", done.output)), done.output
        assert " --" in done.stderr
    path = tmp_path / "counts.csv"
    path.write_text("variable_a,variable_b,count,total\na,a,3,\n")
    for verb in ("synth", "moments"):
        done = run(verb, path, "-o", out)
        assert done.exit_code == 2
        assert "fill it in" in done.stderr
        assert "pass" not in done.stderr


def test_learn_field_sample_and_predict_speak_of_options(binary, tmp_path):
    model = tmp_path / "field.safetensors"
    few = write_csv(tmp_path / "few.csv", list("vwxyz"), binary_rows()[:8].tolist())
    done = run("learn", "field", few, "-o", model, "--penalty", "none")
    assert done.exit_code == 0, done.stderr
    assert not PYTHON.search(done.output), done.output
    assert "max_iter" not in done.output
    done = run("sample", model, "-n", 20, "-o", tmp_path / "s.csv", "--temperature", "0.2")
    assert done.exit_code == 0, done.stderr
    assert not PYTHON.search(done.output), done.output
    gap = write_csv(tmp_path / "gap.csv", list("vwxyz"), [["", 1, 0, 1, 1]])
    done = run("predict", model, gap, "-o", tmp_path / "p.csv")
    assert done.exit_code == 0, done.stderr
    assert not PYTHON.search(done.output), done.output
    done = run(
        "learn", "field", write_csv(tmp_path / "t.csv", "ab", [[0, 2], [1, 7]]), "-o", model
    )
    assert done.exit_code == 2
    assert "binarize" not in done.stderr
    assert not PYTHON.search(done.output), done.output


def test_learn_classifier_speaks_of_options(tmp_path):
    rows = tmp_path / "rows.svm"
    rows.write_text("1 1:1\n1 2:1\n")
    done = run("learn", rows, "-o", tmp_path / "m.safetensors")
    assert done.exit_code == 2
    assert "if the others come later: --new-classes" in done.stderr
    assert not PYTHON.search(done.output), done.output


@pytest.mark.parametrize(
    "words",
    [
        ("thin", "{wide}", "-n", 5, "-o", "{out}.csv", "--drop", "klnd"),
        ("thin", "{wide}", "-n", 5, "-o", "{out}.csv", "--label-column", "klnd"),
        ("learn", "{wide}", "-o", "{out}.safetensors", "--label", "klnd"),
        ("learn", "field", "{wide}", "-o", "{out}.safetensors", "--drop", "klnd"),
        ("synth", "{wide}", "-o", "{out}.csv", "--bins", "5", "--where", "klnd=a"),
        ("moments", "{wide}", "--bins", "klnd=5"),
    ],
)
def test_errors_offer_the_nearest_column(wide, tmp_path, words):
    named = {"wide": wide, "out": tmp_path / "out"}
    done = run(*(str(word).format(**named) for word in words))
    assert done.exit_code == 2
    assert done.stderr.endswith("got 'klnd'; did you mean kind?\n")
    assert done.stderr.startswith("herder: --")


def test_predict_says_that_a_table_is_no_model(wide, tmp_path):
    for more in ((), (wide, "-o", tmp_path / "p.csv")):
        done = run("predict", wide, *more)
        assert done.exit_code == 2
        rule = f"{wide} must be a model of herder learn (.safetensors), got a file .csv"
        assert done.stderr == f"herder: {rule}\n"


def test_the_exact_mmd_reports_progress():
    from herder import thin

    shares = []
    few = thin(np.random.default_rng(0).normal(size=(4000, 2)), 10)
    found = few.compute_mmd(lambda share, _: shares.append(share))
    assert len(shares) > 2
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert found == few.mmd == thin(few.rows.values, 10).mmd
