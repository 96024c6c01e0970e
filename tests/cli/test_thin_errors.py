import errno
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from herder.cli import app
from herder.data import write_table
from tests.cli.samples import DROPPED, NAMES


def error_line(*words: object) -> str:
    done = CliRunner().invoke(app, ["thin", *(str(word) for word in words)])
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("herder: ")
    return line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere.csv", "-n", 5, "-o", "{tmp}/a.csv"), "TABLE must name a file that exists, got"),
        (("nowhere.npy", "-n", 5, "-o", "{tmp}/a.csv"), "TABLE must name a file that exists, got"),
        (
            (
                *("{t}", "-n", 5, "-o", "{tmp}/a.csv", *DROPPED),
                "--kernel",
                "stein",
                "--scores",
                "s.npy",
            ),
            "--scores must name a file that exists, got 's.npy'",
        ),
        (
            ("{t}", "-n", 5, "-o", "{tmp}/a.csv"),
            "categories in a column of text, got more in 'note': pass --drop note",
        ),
        (
            ("{t}", "-n", 0, "-o", "{tmp}/a.csv", *DROPPED),
            "--rows must be a positive integer",
        ),
        (("{t}", "-n", 999, "-o", "{tmp}/a.csv", *DROPPED), "--rows must be at most the 240 rows"),
        (("{t}", "-n", 5, "-o", "{tmp}/a.txt"), "output must end in .csv, .npy, .npz or"),
        (("{t}", "-n", 5, "-o", "{t}"), "output must not be the input"),
        (("{t}", "-n", 5, "-o", "{tmp}/a.csv", "--indices", "{tmp}/a.csv"), "indices must not"),
        (("{t}", "-n", 5, "-o", "{tmp}/a.csv", "--report", "{tmp}/p.pdf"), "report must end in"),
        (
            ("{t}", "-n", 5, "-o", "{tmp}/a.csv", "--kernel", "stein"),
            "given, got no --scores",
        ),
        (
            ("{t}", "-n", 5, "-o", "{tmp}/a.csv", "--scores", "s.npy"),
            "given, got --scores with",
        ),
        (
            ("{t}", "-n", 5, "-o", "{tmp}/a.csv", "--allocation", "equal"),
            "allocation must come",
        ),
        (("{t}", "-n", 5, "-o", "{tmp}/a.csv", "--bandwidth", "wide"), "bandwidth must be medi"),
        (("{t}", "-n", 5, "-o", "{tmp}/a.csv", "--bandwidth", "-1"), "bandwidth must be median"),
        (("{t}", "-n", 5, "-o", "{tmp}/a.csv", "--drop", "leaf"), "drop must name columns of"),
        (("{t}", "-n", 5, "-o", "{tmp}/a.csv", "--columns", "width,leaf"), "got 'leaf'"),
        (
            ("{t}", "-n", 5, "-o", "{tmp}/a.csv", "--columns", "width", "--drop", "width"),
            "drop must name none of the columns to use, got 'width'",
        ),
        (
            ("{t}", "-n", 5, "-o", "{tmp}/a.csv", "--drop", ",".join(NAMES)),
            "must have a column left",
        ),
        (
            ("{t}", "-n", 5, "-o", "{tmp}/a.csv", "--sample-weight", "a", "--log-weight", "b"),
            "sample-weight must be left out with --log-weight",
        ),
        (
            ("{t}", "-n", 5, "-o", "{tmp}/a.csv", *DROPPED, "--max-memory", "a lot"),
            "max-memory must be a size",
        ),
        (
            ("{t}", "-n", 5, "-o", "{tmp}/a.csv", "--drop", "mass,kind", "--label-column", "note"),
            "--label-column must have a label in every row, got none in 1 row",
        ),
        (
            (
                "{t}",
                "-n",
                5,
                "-o",
                "{tmp}/a.csv",
                "--drop",
                "mass,note",
                "--sample-weight",
                "kind",
            ),
            "--sample-weight must hold numbers",
        ),
        (
            ("{t}", "-n", 5, "-o", "{tmp}/a.npy", *DROPPED),
            "{tmp}/a.npy: a .npy table must hold numbers only",
        ),
        (
            ("{t}", "-n", 5, "-o", "{tmp}/a.npz", *DROPPED),
            "{tmp}/a.npz: a .npz table has no missing values, got some in 'note'",
        ),
    ],
)
def test_errors_are_one_line_and_leave_nothing(plants, tmp_path, words, message):
    def filled(text: object) -> str:
        return str(text).replace("{t}", str(plants)).replace("{tmp}", str(tmp_path))

    assert filled(message) in error_line(*map(filled, words))
    assert list(tmp_path.iterdir()) == []


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_gaps_are_named_and_the_option_that_helps(tmp_path):
    table = write(tmp_path / "in.csv", "a,b\n" + "1,2\n" * 4 + "3,\n" + "5,6\n" * 3)
    line = error_line(table, "-n", 2, "-o", tmp_path / "out.csv")
    assert f"{table} must have finite values" in line
    assert "NaN in 1 row of column 'b', first in line 6" in line
    assert line.endswith("pass --drop b")
    words = ["thin", table, "-n", 2, "-o", tmp_path / "out.csv", "--drop", "b"]
    assert CliRunner().invoke(app, [str(word) for word in words]).exit_code == 0


def test_rows_are_named_by_their_lines(tmp_path):
    # a field of two lines, and an empty line
    table = write(tmp_path / "in.csv", 'a,b\n1,"x\ny"\n\n2,x\nnan,y\n3,x\n')
    line = error_line(table, "-n", 2, "-o", tmp_path / "out.csv")
    assert "NaN in 1 row of column 'a', first in line 6" in line
    np.savez(tmp_path / "in.npz", a=[1.0, 2.0, np.nan])
    line = error_line(tmp_path / "in.npz", "-n", 2, "-o", tmp_path / "out.csv")
    assert "NaN in 1 row of column 'a', first in row 3" in line


@pytest.mark.parametrize("words", [(), ("-n", 5), ("-n", 5, "-o", "few.nc")])
def test_other_formats_are_refused_first(words):
    formats = "TABLE must end in .csv, .npy, .npz or .parquet, got"
    netcdf = "netCDF files of ArviZ are for Python: herder.thin(az.from_netcdf(...), n)"
    assert error_line("post.nc", *words) == f"herder: {formats} 'post.nc'; {netcdf}"
    assert error_line("post.txt", *words) == f"herder: {formats} 'post.txt'"


def test_a_choice_that_is_none_offers_the_nearest(tmp_path):
    words = ["thin", "in.csv", "-n", "2", "-o", str(tmp_path / "out.csv"), "--kernel", "gaus"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert "did you mean gaussian?" in " ".join(done.stderr.replace("│", " ").split())


def test_more_rows_than_there_are_is_said_in_options(tmp_path):
    table = write(tmp_path / "in.csv", "a,b\n1,2\n")
    line = error_line(table, "-n", 5, "-o", tmp_path / "out.csv")
    assert line == "herder: --rows must be at most the 1 row, got 5"


def test_what_needs_too_much_memory_is_refused(tmp_path):
    np.save(tmp_path / "in.npy", np.zeros((20_000, 2), dtype=np.float32))
    words = (tmp_path / "in.npy", "-n", 5, "-o", tmp_path / "out.npy", "--max-memory", "1M")
    line = error_line(*words)
    assert re.search(
        r"max-memory must be at least \d+M for 20,000 rows of 2 columns, got 1M", line
    )


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(5), "must hold a 2-D array, rows by columns, or a 3-D one, chains by draws"),
        (np.zeros((2, 2, 2, 2)), "got shape (2, 2, 2, 2)"),
        (np.zeros((3, 0)), "at least one row and one column"),
        (np.full((3, 2), "a"), "must have columns of numbers, got text in 'x0', 'x1'"),
        (np.full((3, 2), np.inf), "infinite values in 3 rows of column 'x0'"),
    ],
)
def test_arrays_that_are_no_samples(tmp_path, array, message):
    np.save(tmp_path / "in.npy", array)
    assert message in error_line(tmp_path / "in.npy", "-n", 2, "-o", tmp_path / "o.csv")


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((240, 3)), "must have 240 rows and a column for each of x0, x1, got shape"),
        (np.full((240, 2), np.nan), "must hold finite numbers only"),
    ],
)
def test_scores_must_fit(draws, tmp_path, scores, message):
    np.save(tmp_path / "s.npy", scores[:, ::-1] if scores.shape[1] == 2 else scores[:9])
    words = ("--kernel", "stein", "--scores", tmp_path / "s.npy")
    assert message in error_line(draws, "-n", 2, "-o", tmp_path / "o.csv", *words)


def test_a_full_disk_leaves_no_file_at_all(draws, tmp_path, monkeypatch):
    out, idx, page = tmp_path / "a.csv", tmp_path / "i.csv", tmp_path / "p.html"
    out.write_text("as it was", encoding="utf-8")
    written = []

    def full(path, names, chunks):
        if "row" in names:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path)
        write_table(path, names, chunks)

    monkeypatch.setattr("herder.data.write_table", full)
    words = (draws, "-n", 5, "-o", out, "--indices", idx, "--report", page)
    assert "No space left on device" in error_line(*words)
    assert written
    assert out.read_text(encoding="utf-8") == "as it was"
    assert list(tmp_path.iterdir()) == [out]


def test_ctrl_c_leaves_no_file(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    # far more pairs than can be looked at before the signal comes
    np.save(tmp_path / "in.npy", np.random.default_rng(0).normal(size=(600_000, 2)))
    words = ["thin", tmp_path / "in.npy", "-n", 50, "-o", folder / "a.npy", "--threads", 1]
    process = subprocess.Popen(
        [sys.executable, "-m", "herder", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert "pairs of rows, about" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "herder: stopped: nothing was written" in errors.splitlines()
    assert list(folder.iterdir()) == []
