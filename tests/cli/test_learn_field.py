import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from herder.cli import app
from herder.data import write_table
from herder.io import load, read_model
from tests.cli.conftest import NAMES, binary_rows, write_csv

COMMAND = [sys.executable, "-m", "herder", "learn", "field"]


def invoke(*words: object):
    given = ["learn", "field", *(str(word) for word in words)]
    return CliRunner().invoke(app, given)


def done(*words: object) -> list[str]:
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout.splitlines()


def error_line(*words: object) -> str:
    result = invoke(*words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("herder: ")
    return line


def slope(X, W, b, alpha, weight=None):
    """Gradient of the penalised negative pseudo-likelihood of 0/1 rows, in plain NumPy."""
    weight = np.full(len(X), 1 / len(X)) if weight is None else weight / weight.sum()
    residual = (1 / (1 + np.exp(-X @ W - b)) - X) * weight[:, None]
    found = X.T @ residual
    found = found + found.T + 4 * alpha * W
    np.fill_diagonal(found, 0)
    return found, residual.sum(axis=0)


def assert_flat(X, machine, alpha, weight=None):
    """At the start of the search, independent columns, the gradient is of the order of 0.1."""
    couplings, biases = slope(X, machine.couplings_, machine.biases_, alpha, weight)
    assert np.abs(couplings).max() < 1e-6
    assert np.abs(biases).max() < 1e-6


def test_the_machine_is_at_the_top_of_the_pseudo_likelihood(binary_csv, tmp_path):
    out = tmp_path / "m.safetensors"
    lines = done(binary_csv, "-o", out)
    machine, meta = read_model(out)
    assert meta == {"trust": True, "verdict": lines[-1]}
    assert_flat(binary_rows(), machine, 1e-3)
    assert machine.feature_names_in_.tolist() == list(NAMES)
    assert machine.model_.names == NAMES
    assert lines[0] == f"{out}: BoltzmannMachine, 5 columns of 0 and 1, 200 rows"
    assert lines[1].split() == ["data", "days.csv"]
    assert lines[2].startswith("pl: converged after")
    assert any(re.match(r"pairs +[\d.]+  standard errors off at most", line) for line in lines)
    assert lines[-1].startswith("Trust it")


def test_options_reach_the_machine(binary_csv, tmp_path):
    out = tmp_path / "m.safetensors"
    done(binary_csv, "-o", out, "--alpha", "0.05", "--drop", "wind", "-q")
    keep = [j for j, name in enumerate(NAMES) if name != "wind"]
    assert_flat(binary_rows()[:, keep], load(out), 0.05)
    done(binary_csv, "-o", out, "--method", "pl-node", "--penalty", "l1", "--alpha", "0.02")
    params = load(out).get_params()
    assert (params["method"], params["penalty"], params["alpha"]) == ("pl-node", "l1", 0.02)
    done(binary_csv, "-o", out, "--penalty", "none")
    assert_flat(binary_rows(), load(out), 0.0)
    lines = done(binary_csv, "-o", out, "--alpha", "cv", "--random-state", "4")
    assert any(line.startswith("held-out rows") for line in lines)
    assert load(out).cv_scores_.shape[1] == 5
    done(binary_csv, "-o", out, "--method", "pcd", "--epochs", "3")
    assert load(out).n_epochs == 3
    done(binary_csv, "-o", out, "--method", "ml")
    assert load(out).method == "ml"


def test_weights_and_several_tables(tmp_path):
    X, mass = binary_rows(), np.random.default_rng(3).random(200)
    for part, rows in enumerate((slice(0, 90), slice(90, 200))):
        columns = {name: X[rows, j] for j, name in enumerate(NAMES)} | {"mass": mass[rows]}
        write_table(tmp_path / f"{part}.csv", list(columns), [columns])
    out = tmp_path / "m.safetensors"
    done(tmp_path / "0.csv", tmp_path / "1.csv", "-o", out, "--weight", "mass")
    assert_flat(X, load(out), 1e-3, mass)


def test_rows_of_minus_one_and_one_stay_so(tmp_path):
    X = 2 * binary_rows() - 1
    np.save(tmp_path / "t.npy", X)
    lines = done(tmp_path / "t.npy", "-o", tmp_path / "m.safetensors")
    machine = load(tmp_path / "m.safetensors")
    assert machine.states_ == (-1, 1)
    assert machine.model_.names == ("x0", "x1", "x2", "x3", "x4")
    assert "5 columns of -1 and 1" in lines[0]


def gain(X, machine, mass, train_mass=None):
    """Gain line: log pseudo-likelihood less that of independent columns like `binary_rows`."""
    W, b, train = machine.couplings_, machine.biases_, binary_rows()
    train_mass = np.ones(len(train)) if train_mass is None else train_mass
    size = train_mass.sum() ** 2 / (train_mass**2).sum()
    means = (size * np.average(train, axis=0, weights=train_mass) + 0.5) / (size + 1)
    given = 1 / (1 + np.exp(-X @ W - b))
    ours, alone = (np.log(np.where(X == 1, q, 1 - q)).sum(axis=1) for q in (given, means))
    ours, alone = (np.average(scores, weights=mass) for scores in (ours, alone))
    score = f" {ours:.4f}  log pseudo-likelihood of a held-out row; with independent columns: "
    return f"{score}{alone:.4f}", f" {ours - alone:+.4f}  over independent columns; "


def test_held_out_rows_are_told(binary_csv, tmp_path):
    rows = np.array([[1, 1, 0, 0, 1], [0, 0, 0, 1, 0], [1, 1, 1, 1, 1]])
    order = ("late", "rain", "dark", "cold", "wind")
    columns = {name: rows[:, NAMES.index(name)] for name in order}
    write_table(tmp_path / "t.csv", order, [columns])
    lines = done(binary_csv, "-o", tmp_path / "m.safetensors", "--test", tmp_path / "t.csv")
    for expected in gain(rows, load(tmp_path / "m.safetensors"), np.ones(3)):
        assert sum(expected in line for line in lines) == 1
    assert any(line.startswith("3 rows compared with the model") for line in lines)


def test_the_check_compares_with_rows_that_were_not_learnt(binary_csv, tmp_path):
    """The verdict turns on rows that are unlike those of the fit, and so does the page."""
    out, page = tmp_path / "m.safetensors", tmp_path / "p.html"
    rng = np.random.default_rng(4)
    rows = (rng.random((300, 5)) < 0.9).astype(int)
    write_table(tmp_path / "t.csv", NAMES, [{n: rows[:, j] for j, n in enumerate(NAMES)}])
    lines = done(binary_csv, "-o", out)
    assert "compared with the rows it was fitted to: --test takes others" in lines
    assert lines[-1].startswith("Trust it")
    lines = done(binary_csv, "-o", out, "--test", tmp_path / "t.csv", "--report", page)
    assert "compared with the rows of t.csv, to which it was not fitted" in lines
    (means,) = [line for line in lines if line.startswith("means ")]
    worst = re.search(r"\((\w+): ([\d.]+) in the rows", means)
    assert worst is not None
    assert float(worst[2]) == pytest.approx(rows[:, NAMES.index(worst[1])].mean(), abs=1e-4)
    assert lines[-1].startswith("Warning: Do not trust it")
    assert read_model(out)[1]["trust"] is False
    html = page.read_text("utf-8")
    assert "compared with the rows of t.csv, to which it was not fitted" in html
    assert "log pseudo-likelihood of a held-out row" in html
    sampled = CliRunner().invoke(app, ["sample", str(out), "-n", "9", "-o", f"{tmp_path}/a.npy"])
    verdict = lines[-1].removeprefix("Warning: ")
    assert f"when m.safetensors was learnt: {verdict}" in sampled.stdout


def test_weights_of_test_rows_count(binary_csv, tmp_path):
    X, mass = binary_rows(), np.random.default_rng(3).random(200)
    columns = {name: X[:, j] for j, name in enumerate(NAMES)} | {"mass": mass}
    write_table(tmp_path / "w.csv", list(columns), [columns])
    words = (tmp_path / "w.csv", "-o", tmp_path / "m.safetensors", "--weight", "mass")
    lines = done(*words, "--test", tmp_path / "w.csv")
    machine = load(tmp_path / "m.safetensors")
    for expected in gain(X, machine, mass, mass):
        assert sum(expected in line for line in lines) == 1
    lines = done(*words, "--test", binary_csv)  # which has no weights
    for expected in gain(X, machine, np.ones(200), mass):
        assert sum(expected in line for line in lines) == 1


def test_advice_is_spelt_in_options(tmp_path):
    words = ("-o", tmp_path / "m.safetensors")
    np.save(tmp_path / "few.npy", binary_rows()[:12])
    lines = done(tmp_path / "few.npy", *words)
    advice = "by held-out rows (pass --alpha cv)"
    assert sum(line.endswith(f"decides much; choose it {advice}") for line in lines) == 1
    assert f", choose alpha {advice}, or check it with held-out rows." in lines[-1]
    np.save(tmp_path / "twins.npy", binary_rows()[:, [0, 0]])
    lines = done(tmp_path / "twins.npy", *words, "--alpha", "9")
    assert lines[-1].endswith(
        "Lower alpha somewhat (pass --alpha 3), or fit it by likelihood (pass --method ml)."
    )
    assert read_model(words[1])[1]["verdict"] == lines[-1].removeprefix("Warning: ")


def test_rows_with_gaps_can_be_left_out(tmp_path):
    X = binary_rows()
    cells = X.astype(str).astype(object)
    mass = np.full(200, "1", dtype=object)
    for row, (column, word) in enumerate([(0, ""), (1, "NA"), (1, "n/a"), (3, "NULL"), (4, "?")]):
        cells[row, column] = word
    cells[0, 2], mass[0] = "None", ""
    table = np.column_stack([cells, mass])
    write_csv(tmp_path / "t.csv", [*NAMES, "mass"], table.tolist())
    out = tmp_path / "m.safetensors"
    words = (tmp_path / "t.csv", "-o", out, "--weight", "mass")
    assert error_line(*words).endswith(
        "must have a value in every row, got none in line 2: pass --skip-gaps to leave "
        "such rows out, or pass --drop rain"
    )
    lines = done(*words, "--skip-gaps", "--test", tmp_path / "t.csv")
    assert_flat(X[5:], load(out), 1e-3)
    assert lines[0].endswith("5 columns of 0 and 1, 195 rows")
    assert "5 rows with gaps left out" in lines
    assert f"5 rows of {tmp_path / 't.csv'} with gaps left out" in lines
    write_csv(tmp_path / "e.csv", NAMES, [["NA", 0, 1, 1, 0], [1, "", 0, 1, 1]])
    line = error_line(tmp_path / "e.csv", "-o", out, "--skip-gaps")
    assert line.endswith("e.csv must have a row without gaps, got none")


def test_constant_columns_are_named(tmp_path):
    X = binary_rows()
    X[:, 2] = 1
    write_table(tmp_path / "t.csv", NAMES, [{n: X[:, j] for j, n in enumerate(NAMES)}])
    lines = done(tmp_path / "t.csv", "-o", tmp_path / "m.safetensors")
    assert any(line.startswith("Warning: 1 constant column") and "cold" in line for line in lines)
    machine = load(tmp_path / "m.safetensors")
    assert not machine.couplings_[2].any()
    assert machine.biases_[2] == pytest.approx(np.log(200.5 / 0.5))


def test_couplings_without_a_best_value_are_told_by_name(tmp_path):
    X = binary_rows()
    X[:, 1] = X[:, 0]
    write_table(tmp_path / "t.csv", NAMES, [{n: X[:, j] for j, n in enumerate(NAMES)}])
    result = invoke(tmp_path / "t.csv", "-o", tmp_path / "m.safetensors", "--penalty", "none")
    assert result.exit_code == 0, result.output
    assert "couplings without a finite best value: columns rain and wind" in result.stderr
    assert all(line.startswith("herder: ") for line in result.stderr.splitlines())
    words = (tmp_path / "t.csv", "-o", tmp_path / "m.safetensors", "--penalty", "none", "-q")
    quiet = invoke(*words)
    assert (quiet.stdout, quiet.stderr) == ("", "")


def test_a_page_goes_along(binary_csv, tmp_path):
    page = tmp_path / "p.html"
    lines = done(binary_csv, "-o", tmp_path / "m.safetensors", "--report", page)
    assert lines[0].startswith(f"{tmp_path / 'm.safetensors'}, {page}: BoltzmannMachine, 5 col")
    html = page.read_text(encoding="utf-8")
    assert "5 columns of 0 and 1, 200 rows" in html
    assert "days.csv" in html
    assert "The strongest couplings" in html
    assert "Trust it" in html
    assert "herder learn field" in html


CASES = [
    (("nowhere.csv",), "must name a file that exists"),
    (("{lines}",), "TABLE... must be a table (.csv, .npy, .npz, .parquet), got"),
    (("{table}", "{lines}"), "TABLE... must be a table"),
    (("{table}", "{other}"), "{other} must have a column 'rain', got none"),
    (("{table}", "--test", "{other}"), "{other} must have a column 'rain', got none"),
    (("{table}", "--test", "{lines}"), "test must be a table"),
    (
        ("{other}",),
        "column 'a' of {other} must hold 0 and 1, or -1 and 1, got 2 in line 3: recode",
    ),
    (
        ("{other}", "--drop", "a", "--drop", "note"),
        "column 'b' of {other} must have a value in every row, got none",
    ),
    (
        ("{other}", "--drop", "a", "--drop", "b"),
        "got 'late' in line 2: recode it as 0 and 1, or pass --drop note",
    ),
    (("{table}", "--test", "{minus}"), "must hold 0 or 1, got -1 in line 3: recode it as 0 and 1"),
    (("{other}", "--drop", "z"), "drop must name a column of {other}, got 'z'"),
    (("{other}", "--weight", "z"), "weight must name a column of {other}, got 'z'"),
    (("{mixed}", "--weight", "w"), "column 'w' of {mixed} must hold weights of at least 0"),
    (("{mixed}", "--drop", "w"), "X must hold"),
    (("{mixed}", "--drop", "w", "--drop", "x", "--drop", "y"), "must have a column left to learn"),
    (("{table}", "--alpha", "much"), "alpha must be cv or a number from 0 on, got 'much'"),
    (("{table}", "--alpha", "-1"), "alpha must be cv or a number from 0 on, got '-1'"),
    (("{table}", "--alpha", "1", "--penalty", "none"), "--alpha must be left out with --penalty"),
    (
        ("{table}", "--alpha", "cv", "--method", "cd"),
        "--alpha must be a number for --method cd with --penalty l2",
    ),
    (
        ("{table}", "--penalty", "l1", "--method", "ml"),
        "--penalty must be 'l2' or None for --method ml",
    ),
    (("{table}", "--epochs", "3"), "--epochs must be left out for --method pl, got 3"),
    (("{table}", "--report", "p.pdf"), "report must end in .html or .htm"),
    (("{table}", "--max-memory", "no"), "max-memory must be a size"),
]


@pytest.mark.parametrize(("words", "message"), CASES)
def test_errors_are_one_line_and_leave_nothing(binary_csv, tmp_path, words, message):
    texts = {
        "lines.svm": "1 1:1\n",
        "other.csv": "a,b,note\n0,,late\n2,1,paid\n",
        "mixed.csv": "x,y,w\n0,1,1\n-1,1,-2\n",
        "minus.csv": "rain,wind,cold,dark,late\n1,1,1,1,1\n-1,1,1,1,1\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    def filled(text: str) -> str:
        text = text.replace("{table}", str(binary_csv))
        for name in texts:
            text = text.replace(f"{{{name.partition('.')[0]}}}", str(tmp_path / name))
        return text

    line = error_line(*map(filled, words), "-o", tmp_path / "m.safetensors")
    assert filled(message) in line
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(texts)


def test_rows_that_need_too_much_memory_are_refused(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((20_000, 20), dtype=np.int8))
    words = (tmp_path / "t.npy", "-o", tmp_path / "m.safetensors", "--max-memory", "1M")
    assert "max-memory must be at least 7M for 20,000 rows of 20 columns, got 1M" in error_line(
        *words
    )


def test_classifiers_do_not_take_what_machines_take(binary_csv, tmp_path):
    for option, value in (("--method", "ml"), ("--alpha", "cv"), ("--report", "p.html")):
        words = ["learn", str(binary_csv), "--label", "late", option, value]
        result = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "m.safetensors")])
        assert result.exit_code == 2
        assert f"No such option: {option}" in result.stderr


@pytest.mark.parametrize("option", ["-C", "--label", "--continue", "--hash-bits", "--features"])
def test_fields_do_not_take_what_classifiers_take(binary_csv, tmp_path, option):
    result = invoke(binary_csv, "-o", tmp_path / "m.safetensors", option, "1")
    assert result.exit_code == 2
    assert f"No such option: {option}" in result.stderr


@pytest.mark.parametrize("words", [("--algorithm", "boltzmann"), ("--algorithm=boltzmann",)])
def test_the_algorithm_of_before_means_field(binary_csv, tmp_path, words):
    out, now = tmp_path / "m.safetensors", tmp_path / "n.safetensors"
    given = ["learn", str(binary_csv), "-o", str(out), *words, "--method", "ml"]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    line = "herder: Warning: --algorithm boltzmann is deprecated: use herder learn field"
    assert result.stderr.splitlines() == [line]
    assert CliRunner().invoke(app, [*given, "-q"]).stderr == ""
    done(binary_csv, "-o", now, "--method", "ml")
    assert out.read_bytes() == now.read_bytes()


def test_a_classifier_does_not_go_on_from_a_machine(binary_csv, tmp_path):
    done(binary_csv, "-o", tmp_path / "m.safetensors")
    words = ["learn", str(binary_csv), "--label", "late", "--continue"]
    words += [str(tmp_path / "m.safetensors"), "-o", str(tmp_path / "n.safetensors")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "name a model of herder learn classifier, got the BoltzmannMachine" in result.stderr


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)],
)
def test_a_signal_leaves_the_old_model(binary_csv, tmp_path, number, code):
    out = tmp_path / "m.safetensors"
    out.write_bytes(b"as it was")
    words = [binary_csv, "-o", out, "--method", "pcd", "--epochs", 10**7]
    process = subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": "120"},
    )
    try:
        assert process.stderr is not None
        seen = ""
        while "fitting" not in seen:
            letter = process.stderr.read(1)
            assert letter, seen
            seen += letter
        time.sleep(1.0)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == code
    if number == signal.SIGINT:
        assert errors.endswith("herder: stopped: nothing was written\n")
    assert out.read_bytes() == b"as it was"
    assert list(tmp_path.iterdir()) == [out]


def test_a_full_disk_leaves_the_old_model_and_no_page(tmp_path, disk_of):
    rng = np.random.default_rng(2)
    np.save(tmp_path / "t.npy", (rng.random((200, 60)) < 0.5).astype(np.int8))
    folder = tmp_path / "out"
    folder.mkdir()
    out, page = folder / "m.safetensors", folder / "p.html"
    # once without the limit, so that no compiled code is left to be written
    done(tmp_path / "t.npy", "-o", out, "--report", page)
    page.unlink()
    assert out.stat().st_size > 20_000
    out.write_bytes(b"as it was")
    with disk_of(20_000):
        line = error_line(tmp_path / "t.npy", "-o", out, "--report", page)
    assert f"{out} could not be written" in line
    assert out.read_bytes() == b"as it was"
    assert list(folder.iterdir()) == [out]
