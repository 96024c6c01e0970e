"""``herder learn boosted`` and what follows it."""

import os
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from herder import BoostedClassifier, BoostedField, load, save
from herder.cli import app
from herder.data import open_table, write_table
from tests.cli.conftest import write_csv

#: Few rounds.
QUICK = ("--rounds", 4)


def run(*words: object, code: int = 0):
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == code, done.output
    return done


def error_line(*words: object) -> str:
    (line,) = run(*words, code=2).stderr.splitlines()
    return line


def ring_and_blobs(n: int, seed: int) -> np.ndarray:
    """A ring around two blobs."""
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0, 2 * np.pi, size=n // 2)
    ring = 4 * np.column_stack([np.cos(angles), np.sin(angles)])
    blobs = np.array([[-1, 0], [1.5, 0.5]])[rng.integers(2, size=n - n // 2)]
    return (np.vstack([ring, blobs]) + 0.2 * rng.normal(size=(n, 2))).round(3)


ROWS, HELD = ring_and_blobs(300, 0), ring_and_blobs(50, 1)

#: On the ring, in a blob, between them, and far away, as (north, east).
NEW = [(0, 4), (0, -1), (2.4, 0), (9, 9), (0.5, 1.5)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("boosted")


@pytest.fixture(scope="module")
def points(folder):
    return write_csv(folder / "points.csv", ("east", "north"), ROWS.tolist())


@pytest.fixture(scope="module")
def bars(folder):
    """Three columns, three times each, with errors."""
    rng = np.random.default_rng(0)
    on = np.tile(rng.random((200, 2)) < 0.5, (1, 3)) ^ (rng.random((200, 6)) < 0.05)
    return write_csv(folder / "bars.csv", [f"p{i}" for i in range(6)], on.astype(int).tolist())


@pytest.fixture(scope="module")
def model(folder, points):
    path = folder / "ring.safetensors"
    run("learn", "boosted", points, "-o", path, "--rounds", 40, "-q")
    return path


@pytest.fixture(scope="module")
def binary_model(folder, bars):
    path = folder / "bars.safetensors"
    run("learn", "boosted", bars, "-o", path, "--rounds", 20, "-q")
    return path


def test_the_model_is_that_of_python(tmp_path, points):
    path = tmp_path / "m.safetensors"
    held = write_csv(tmp_path / "h.csv", ("north", "east"), HELD[:, ::-1])
    words = ("--features", "tree", "--early-stopping", "--contamination", 0.2)
    words += ("--random-state", 3, "--test", held)
    done = run("learn", "boosted", points, "-o", path, *QUICK, *words)
    field = BoostedField(
        "tree", n_rounds=4, early_stopping=True, contamination=0.2, random_state=3
    ).fit(ROWS)
    found = load(path)
    assert np.array_equal(found.parameters_, field.parameters_)
    assert found.get_params() == field.get_params()
    assert list(found.feature_names_in_) == ["east", "north"]
    title, *lines = done.stdout.splitlines()
    assert title == f"{path}: BoostedField, 2 columns, {field.n_rounds_} rounds, 300 rows"
    for line, name, rows in zip(lines, ("rows", "held-out rows"), (ROWS, HELD), strict=False):
        meaning = f"{field.score(rows):.3f} log density of a row"
        assert " ".join(line.split()) == f"{name} {meaning}"


def test_new_rows_and_outliers(tmp_path, model):
    names = ("name", "north", "east")
    new = write_csv(tmp_path / "new.csv", names, [["x", *row] for row in NEW])
    done = run("predict", model, new)
    header, *lines = done.stdout.splitlines()
    assert header == "log_density,outlier"
    densities, outliers = zip(*(line.split(",") for line in lines), strict=True)
    assert outliers == ("0", "0", "1", "1", "0")
    field = load(model)
    vars(field).pop("feature_names_in_")
    expected = field.score_samples(np.array(NEW)[:, ::-1])
    np.testing.assert_allclose(np.array(densities, float), expected)
    title, text = done.stderr.splitlines()
    assert title == "5 rows, 2 outliers"
    below = f"outliers have a log density below {field.offset_:.4g}, as 10 % of the rows"
    assert text == f"{below} that it learnt from"

    path = tmp_path / "out.npz"
    assert f"{path}: 5 rows, 2 outliers" in run("predict", model, new, "-o", path).stdout
    table = open_table(path).whole()
    np.testing.assert_allclose(table["log_density"], expected)
    assert table["outlier"].tolist() == [0, 0, 1, 1, 0]


def test_broken_lines_are_left_out_of_predictions(tmp_path, model):
    new = tmp_path / "new.csv"
    new.write_text("east,north\n4,0\n,1\n-4,0\n")
    line = error_line("predict", model, new)
    assert "line 3 of" in line
    assert "must have a finite number in column 'east', got none; --skip-broken" in line
    done = run("predict", model, new, "--skip-broken")
    assert done.stdout.splitlines()[0] == "line,log_density,outlier"
    assert [row.split(",")[0] for row in done.stdout.splitlines()[1:]] == ["2", "4"]
    assert "1 broken line left out" in done.stderr


def test_rows_are_drawn(tmp_path, model):
    rows, again, array = (tmp_path / name for name in ("rows.csv", "again.csv", "rows.npy"))
    done = run("sample", model, "-n", 500, "-o", rows)
    assert done.stdout.startswith(f"{rows}: 500 rows of ring.safetensors, BoostedField, 2 columns")
    header, *lines = rows.read_text().splitlines()
    assert header == "east,north"
    drawn = np.array([line.split(",") for line in lines], float)
    assert np.array_equal(drawn, load(model).sample(500))
    # half of the rows are of the ring
    assert 0.3 < (np.linalg.norm(drawn, axis=1) > 2.7).mean() < 0.7
    run("sample", model, "-n", 20, "-o", array, "--random-state", 7)
    assert np.array_equal(np.load(array), load(model).sample(20, random_state=7))
    run("predict", model, rows, "-o", again)
    assert len(again.read_text().splitlines()) == 501


def test_rows_of_two_states(tmp_path, bars, binary_model):
    field = load(binary_model)
    assert type(field).__name__ == "BoostedField"
    rows, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    run("sample", binary_model, "-n", 40, "-o", rows)
    header, *lines = rows.read_text().splitlines()
    assert header == "p0,p1,p2,p3,p4,p5"
    assert {cell for line in lines for cell in line.split(",")} == {"0", "1"}
    odd = write_csv(tmp_path / "odd.csv", header.split(","), [[1, 0] * 3, [1, 1, 0, 0, 0, 1]])
    run("predict", binary_model, odd, "-o", out)
    assert [line.split(",")[1] for line in out.read_text().splitlines()[1:]] == ["0", "1"]
    done = run("learn", "boosted", bars, "-o", tmp_path / "m.safetensors", *QUICK)
    assert "log probability of a row" in done.stdout
    other = write_csv(tmp_path / "other.csv", header.split(","), [[1, -1] * 3])
    line = error_line("learn", "boosted", bars, "-o", tmp_path / "n.safetensors", "--test", other)
    assert line == f"herder: --test must hold 0 and 1, as {bars}, got '{other}'"
    line = error_line("predict", binary_model, other)
    assert line.startswith(f"herder: {other} must hold 0 and 1, as the rows of fit")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet"])
def test_all_kinds_of_tables(tmp_path, suffix):
    rows, path = tmp_path / f"rows{suffix}", tmp_path / "m.safetensors"
    write_table(rows, ["x0", "x1"], [dict(zip(("x0", "x1"), ROWS.T, strict=True))])
    run("learn", "boosted", rows, rows, "-o", path, *QUICK)
    reference = BoostedField(n_rounds=4).fit(np.vstack([ROWS, ROWS]))
    assert np.array_equal(load(path).parameters_, reference.parameters_)
    done = run("predict", path, rows)
    assert len(done.stdout.splitlines()) == 301


def test_a_model_of_python_has_no_names(tmp_path, points):
    path, rows = tmp_path / "m.safetensors", tmp_path / "rows.csv"
    save(BoostedField(n_rounds=4).fit(ROWS), path)
    assert len(run("predict", path, points).stdout.splitlines()) == 301
    run("sample", path, "-n", 3, "-o", rows)
    assert rows.read_text().splitlines()[0] == "x0,x1"


def test_the_page(tmp_path, points, model):
    path, page = tmp_path / "m.safetensors", tmp_path / "page.html"
    done = run("learn", "boosted", points, "-o", path, *QUICK, "--report", page)
    assert done.stderr == ""
    assert page.read_text().count("<figure>") == 2
    run("sample", model, "-n", 10, "-o", tmp_path / "rows.csv", "--report", page)
    assert "10 rows of ring.safetensors" in page.read_text()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("--rounds", 0), "--rounds"),
        (("--features", "dimples"), "did you mean dimple?"),
        (("--features", "rbm"), "must be of 0 and 1, or of -1 and 1"),
        (("--contamination", 1.5), "--contamination must be"),
        (("--drop", "eats"), "--drop must name a column of points.csv, got 'eats'"),
        (("--drop", "east", "--drop", "north"), "must have a column left to learn from"),
        (("--test", "rows.svm"), "--test must be a table (.csv, .npy, .npz, .parquet)"),
        (("--test", "none.csv"), "must name a file that exists, got 'none.csv'"),
    ],
)
def test_errors_name_the_option(tmp_path, points, monkeypatch, words, found):
    monkeypatch.chdir(points.parent)
    done = run("learn", "boosted", "points.csv", "-o", tmp_path / "m.safetensors", *words, code=2)
    assert found in " ".join(done.output.replace("│", " ").split())
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "a,k\n1,x\n2,y\n",
            "column 'k' of t.csv must hold numbers, got the text 'x' in line 2: --drop k",
        ),
        (
            "a,k\n1,7\n2,7\n",
            "column 'k' of t.csv must have more than one value, got 7 alone: pass --drop k",
        ),
        (
            "a,k\n1,2\n2,NaN\n5,1\n",
            "line 3 of t.csv must have a finite number in column 'k', got nan",
        ),
        (
            "a,k\n1,2\n2,\n5,1\n",
            "line 3 of t.csv must have a finite number in column 'k', got none",
        ),
    ],
)
def test_rows_that_are_no_numbers(tmp_path, monkeypatch, text, found):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(text)
    assert error_line("learn", "boosted", "t.csv", "-o", "m.safetensors") == f"herder: {found}"
    assert os.listdir(tmp_path) == ["t.csv"]
    if "--drop" in found:
        run("learn", "boosted", "t.csv", "-o", "m.safetensors", "--drop", "k", *QUICK)
        assert load("m.safetensors").feature_names_in_.tolist() == ["a"]


def test_a_column_of_two_states_may_be_constant(tmp_path):
    table = write_csv(tmp_path / "t.csv", ("a", "b"), [[0, 1], [1, 1]] * 10)
    run("learn", "boosted", table, "-o", tmp_path / "m.safetensors", *QUICK)


def test_memory(tmp_path):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(50_000, 2)))
    words = ("-o", tmp_path / "m.safetensors", "--max-memory", "2M")
    line = error_line("learn", "boosted", tmp_path / "rows.npy", *words)
    assert "--max-memory must be at least 13M for learning from these rows" in line


@pytest.mark.parametrize(
    "words", [("--label", "east"), ("--explain",), ("--probabilities",), ("--top", 3)]
)
def test_options_of_predict_that_do_not_apply(model, points, words):
    assert f"{words[0]} must be left out" in error_line("predict", model, points, *words)


def test_predictions_need_a_table_with_the_columns(tmp_path, model, bars):
    lines = tmp_path / "rows.svm"
    lines.write_text("1 0:1 1:2\n")
    line = error_line("predict", model, lines)
    assert line.startswith(f"herder: {lines} must be a table for a boosted field")
    assert "got no 'east', 'north'" in error_line("predict", model, bars)


def test_a_classifier_is_not_explained(tmp_path):
    path, table = tmp_path / "m.safetensors", tmp_path / "t.csv"
    save(BoostedClassifier(BoostedField(n_rounds=4)).fit(ROWS, ROWS[:, 0] > 0), path)
    write_csv(table, ("east", "north"), NEW)
    assert len(run("predict", path, table).stdout.splitlines()) == len(NEW) + 1
    line = error_line("predict", path, "--explain")
    assert "must be linear to be explained, got BoostedClassifier" in line


@pytest.mark.parametrize(
    "words",
    [
        *(("--method", "gibbs"), ("--burn-in", 5), ("--thinning", 2), ("--chains", 2)),
        *(("--order", "reversed"), ("--evidence", "east=1"), ("--temperature", 2)),
        *(("--tempering", "1,2"), ("--marginals", "m.csv"), ("--threads", 1)),
    ],
)
def test_options_of_sample_that_do_not_apply(tmp_path, monkeypatch, model, words):
    monkeypatch.chdir(tmp_path)
    line = error_line("sample", model, "-n", 5, "-o", "rows.csv", *words)
    value = repr(words[1]) if isinstance(words[1], str) else words[1]
    assert line.startswith(f"herder: {words[0]} must be left out for a boosted field, got {value}")
    assert os.listdir(tmp_path) == []


def test_too_many_rows(tmp_path, model):
    line = error_line("sample", model, "-n", 10**12, "-o", tmp_path / "rows.csv")
    assert "--max-memory must be at least" in line


#: Runs the command; in the third round the process sends itself a signal.
SCRIPT = """
import os, signal, sys

from herder.learn import boosting

run_round, count = boosting.run_round, 3

def patched(*given, **more):
    global count
    count -= 1
    if not count:
        os.kill(os.getpid(), signal.SIGINT)
    return run_round(*given, **more)

boosting.run_round = patched
sys.argv[0] = "herder"
from herder.cli import main
main()
"""


def test_ctrl_c_leaves_no_file(tmp_path, points):
    given = ["learn", "boosted", str(points), "-o", "m.safetensors", "--report", "page.html"]
    command = [sys.executable, "-c", SCRIPT, *given]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "herder: stopped: nothing was written"
    assert os.listdir(tmp_path) == []
