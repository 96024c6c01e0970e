import errno
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from herder import NHERD
from herder.cli import app
from herder.data import write_table
from herder.io import save
from herder.models.pairwise import PairwiseModel

EDGES = "source,target,weight\nrain,wind,0.8\nwind,cold,-0.5\nrain,dark,0.3\n"
BIASES = "site,bias\nwind,0.2\nrain,-0.4\nlate,1.1\n"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def error_line(*words: object) -> str:
    result = CliRunner().invoke(app, ["sample", *(str(word) for word in words)])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("herder: ")
    return line


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("models") / "small.safetensors"
    save(PairwiseModel.random(4, random_state=3, states=(0, 1)), path)
    return path


HERDED, CLUSTERS = ("--method", "herded-gibbs"), ("--method", "swendsen-wang")

CASES = [
    (("{small}", "-n", 5), "output must be given, or --marginals, got neither"),
    (("{small}", "-n", 0, "-o", "{tmp}/a.csv"), "--rows must be a positive integer, got 0"),
    (("{small}", "-n", 5, "-o", "{tmp}/a.txt"), "output must end in .csv, .npy, .npz or"),
    (("{small}", "-n", 5, "-o", "{small}"), "output must end in"),
    (("{edges}", "-n", 5, "-o", "{edges}"), "output must not be the input"),
    (("{edges}", "-n", 5, "-o", "{biases}", "--biases", "{biases}"), "must not be the input"),
    (("{small}", "-n", 5, "-o", "{tmp}/no/a.csv"), "output must lie in a folder that exists"),
    (("{small}", "-n", 5, "-o", "{tmp}/a.csv", "--marginals", "{tmp}/a.csv"), "marginals must no"),
    (("{small}", "-n", 5, "-o", "{tmp}/a.csv", "--marginals", "{tmp}/a.npy"), "marginals must e"),
    (("{small}", "-n", 5, "-o", "{tmp}/a.csv", "--report", "{tmp}/a.pdf"), "report must end in"),
    (
        ("{small}", "-n", 5, "--thinning", 2, "--marginals", "{tmp}/a.csv"),
        "--thinning must be left out",
    ),
    (("{small}", "-n", 5, "-o", "{tmp}/a.csv", "--chains", 9), "chains must be at most the 5"),
    (("{small}", "-n", 5, "-o", "{tmp}/a.csv", "--temperature", 0), "temperature must be a posit"),
    (("{small}", "-n", 5, "-o", "{tmp}/a.csv", "--tempering", "2,3"), "tempering must be rising"),
    (("{small}", "-n", 5, "-o", "{tmp}/a.csv", "--tempering", "1,x"), "tempering must be rising"),
    (("{small}", "-n", 5, "-o", "{tmp}/a.csv", "--tempering", "1"), "tempering must be rising"),
    (
        (
            "{small}",
            "-n",
            5,
            "-o",
            "{tmp}/a.csv",
            "--tempering",
            "1,2",
            "--method",
            "herded-gibbs",
        ),
        "--tempering must be left out for herded-gibbs, got '1,2'",
    ),
    (
        ("ising:3", "-n", 5, "-o", "{tmp}/a.csv", "--order", "reversed", *CLUSTERS),
        "--order must be left out for swendsen-wang, which visits clusters, got 'reversed'",
    ),
    (
        ("ising:3", "-n", 5, "-o", "{tmp}/a.csv", "--random-state", 3, *HERDED),
        "--random-state must be left out for herded-gibbs: nothing in it is random, got 3",
    ),
    (("{small}", "-n", 5, "-o", "{tmp}/a.csv", "--evidence", "x9=1"), "evidence must be SITE=VAL"),
    (("{small}", "-n", 5, "-o", "{tmp}/a.csv", "--evidence", "x1"), "evidence must be SITE=VALUE"),
    (("{small}", "-n", 5, "-o", "{tmp}/a.csv", "--evidence", "4=1"), "such as x0, x1, x2, x3, go"),
    (("{small}", "-n", 5, "-o", "{tmp}/a.csv", "--evidence", "1=-1"), "evidence must be 0 or 1"),
    (("{edges}", "-n", 5, "-o", "{tmp}/a.csv", "--evidence", "1=1"), "such as rain, wind, cold, "),
    (("potts:3:4", "-n", 5, "-o", "{tmp}/a.csv", "--evidence", "1=4"), "evidence must be 0 to 3"),
    (
        ("{small}", "-n", 5, "-o", "{tmp}/a.csv", "--evidence", "1=1", "--evidence", "x1=0"),
        "evidence must name each site once",
    ),
    (
        ("ising:2", "-n", 5, "-o", "{tmp}/a.csv", "--evidence", "0=1", "--evidence", "1=1"),
        "evidence must leave a site free",
    ),
    (("{small}", "-n", 5, "-o", "{tmp}/a.csv", "--states", "0,1"), "states must come with a list"),
    (("ising:3", "-n", 5, "-o", "{tmp}/a.csv", "--biases", "{biases}"), "biases must come with"),
    (("{edges}", "-n", 5, "-o", "{tmp}/a.csv", "--states", "0,2"), "states must be 0,1 or -1,1"),
    (("{edges}", "-n", 5, "-o", "{tmp}/a.csv", "--biases", "{edges}"), "must have the columns si"),
    (("nowhere.csv", "-n", 5, "-o", "{tmp}/a.csv"), "must name a file that exists"),
    (("nowhere.safetensors", "-n", 5, "-o", "{tmp}/a.csv"), "must name a file that exists"),
    (("nowhere", "-n", 5, "-o", "{tmp}/a.csv"), "model must be a model file of herder"),
    (("{edges}.txt", "-n", 5, "-o", "{tmp}/a.csv"), "model must be a model file of herder"),
    (("{nherd}", "-n", 5, "-o", "{tmp}/a.csv"), "must be a random field to be sampled, got the N"),
    (("{broken}", "-n", 5, "-o", "{tmp}/a.csv"), "must be a whole safetensors file"),
    (("ising:", "-n", 5, "-o", "{tmp}/a.csv"), "words such as ising:64x64:periodic"),
    (("ising:0x4", "-n", 5, "-o", "{tmp}/a.csv"), "got 'ising:0x4'"),
    (("ising:4x4:3", "-n", 5, "-o", "{tmp}/a.csv"), "got 'ising:4x4:3'"),
    (("ising:4x4:round", "-n", 5, "-o", "{tmp}/a.csv"), "got 'ising:4x4:round'"),
    (
        ("ising:99999x99999", "-n", 5, "-o", "{tmp}/a.csv"),
        "for the 9,999,800,001 sites of ising:99999x99999, got",
    ),
    (("potts:4x4", "-n", 5, "-o", "{tmp}/a.csv"), "got 'potts:4x4'"),
    (("potts:4x4:1", "-n", 5, "-o", "{tmp}/a.csv"), "potts must have from 2 to 127 states"),
    (("potts:4x4:x", "-n", 5, "-o", "{tmp}/a.csv"), "potts must have from 2 to 127 states"),
    (
        ("ising:64x64", "-n", 10**6, "-o", "{tmp}/a.csv", "--max-memory", "100M"),
        "--max-memory must be at least 7,813M for states of 4,096 sites, got 100M",
    ),
]


@pytest.mark.parametrize(("words", "message"), CASES)
def test_errors_are_one_line_and_leave_nothing(small, tmp_path, words, message):
    folder = tmp_path / "in"
    folder.mkdir()
    names = {
        "{small}": small,
        "{edges}": written(folder / "e.csv", EDGES),
        "{biases}": written(folder / "b.csv", BIASES),
        "{broken}": written(folder / "x.safetensors", "no"),
        "{nherd}": folder / "n.safetensors",
        "{tmp}": tmp_path,
    }
    save(NHERD().fit([[0.0], [1.0]], [0, 1]), folder / "n.safetensors")

    def filled(text: object) -> str:
        found = str(text)
        for name, path in names.items():
            found = found.replace(name, str(path))
        return found

    assert filled(message) in error_line(*map(filled, words))
    assert list(tmp_path.iterdir()) == [folder]
    assert len(list(folder.iterdir())) == 4


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("a,b,weight\nx,y,1\n", "must have the columns source, target, weight, got a, b, weight"),
        ("source,target,weight\nx,x,1\n", "must join two sites in every row, got 'x' twice"),
        ("source,target,weight\nx,y,1\ny,x,2\n", "must have every edge once, got 'y' to 'x' twi"),
        ("source,target,weight\nx,y,high\n", "column 'weight' of {path} must hold finite numbers"),
        ("source,target,weight\nx,y,nan\n", "column 'weight' of {path} must hold finite numbers"),
        ("source,target,weight\nx,,1\n", "column 'target' of {path} must name a site in row 1"),
        ("source,target,weight\n0.5,1,1\n", "column 'source' of {path} must hold whole numbers"),
        ("source,target,weight\n", "must hold at least one row"),
    ],
)
def test_lists_that_are_no_graphs(tmp_path, edges, message):
    path = written(tmp_path / "e.csv", edges)
    line = error_line(path, "-n", 5, "-o", tmp_path / "a.csv")
    assert message.replace("{path}", str(path)) in line


def test_biases_are_given_once(tmp_path):
    edges = written(tmp_path / "e.csv", EDGES)
    biases = written(tmp_path / "b.csv", "site,bias\na,1\na,2\n")
    line = error_line(edges, "-n", 5, "-o", tmp_path / "a.csv", "--biases", biases)
    assert "must name each site once, got 'a' twice" in line


def test_a_full_disk_leaves_no_file_at_all(tmp_path, monkeypatch):
    out, table, page = tmp_path / "a.csv", tmp_path / "m.csv", tmp_path / "p.html"
    out.write_text("as it was", encoding="utf-8")
    begun = []

    def full(path, names, chunks):
        if "r_hat" in names:
            raise OSError(errno.ENOSPC, "No space left on device")
        begun.append(path)
        write_table(path, names, chunks)

    monkeypatch.setattr("herder.cli.sample.write_table", full)
    words = ("ising:3x3", "-n", 5, "-o", out, "--marginals", table, "--report", page)
    assert "No space left on device" in error_line(*words)
    assert begun
    assert out.read_text(encoding="utf-8") == "as it was"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)],
)
def test_a_signal_leaves_no_file(tmp_path, number, code):
    words = ["sample", "ising:64x64", "-n", 1000, "--thinning", 10**6, "-o", tmp_path / "a.csv"]
    process = subprocess.Popen(
        [sys.executable, "-m", "herder", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert "1,000,000,000 sweeps over 4,096 sites and 8,064 edges, about" in (
            process.stdout.readline()
        )
        time.sleep(1.0)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == code
    if number == signal.SIGINT:
        assert "herder: stopped: nothing was written" in errors.splitlines()
    assert list(tmp_path.iterdir()) == []


def test_progress_counts_sweeps(tmp_path):
    words = ["sample", "ising:8x8", "-n", "2000", "-o", str(tmp_path / "a.csv")]
    run = CliRunner().invoke(app, words, env={"FORCE_COLOR": "1", "COLUMNS": "120"})
    assert run.exit_code == 0, run.stderr
    assert "2,000 sweeps" in run.stderr
    assert "writing" in run.stderr
    assert "writing" not in run.stdout
