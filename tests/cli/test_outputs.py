"""Output files and standard streams that cannot be written, and what is left then."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from herder import load
from herder.cli import app

COMMAND = [sys.executable, "-m", "herder"]

posix = pytest.mark.skipif(os.name == "nt", reason="the streams of POSIX")

#: Every option of every command that names a file to write.
OUTPUTS = {
    "synth in.csv -o out.csv": "--output",
    "synth in.csv -o other/a.csv --report out.html": "--report",
    "moments in.csv -o out.csv": "--output",
    "thin in.csv -n 3 -o out.csv": "--output",
    "thin in.csv -n 3 -o other/a.csv --indices out.csv": "--indices",
    "thin in.csv -n 3 -o other/a.csv --report out.html": "--report",
    "sample in.csv -n 3 -o out.csv": "--output",
    "sample in.csv -n 3 --marginals out.csv": "--marginals",
    "sample in.csv -n 3 -o other/a.csv --report out.html": "--report",
    "learn in.svm -o out.safetensors": "--output",
    "learn field in.csv -o out.safetensors": "--output",
    "learn field in.csv -o other/a.safetensors --report out.html": "--report",
    "predict in.safetensors in.csv -o out.csv": "--output",
    "segment in.png --trimap in.png -o out.png": "--output",
    "segment in.png --trimap in.png -o other/a.png --probability out.png": "--probability",
    "segment in.png --trimap in.png -o other/a.png --overlay out.png": "--overlay",
    "demo -o out.html": "--output",
}


@pytest.mark.parametrize("words", OUTPUTS)
def test_all_commands_look_at_the_folder_before_the_run(words, tmp_path, monkeypatch):
    """They do so before they find that there is no input."""

    def access(path: Path, mode: int) -> bool:  # root may write anywhere
        return os.path.realpath(path) != os.path.realpath(tmp_path)

    monkeypatch.setattr(os, "access", access)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    run = CliRunner().invoke(app, words.split())
    assert run.exit_code == 2
    rule = "must lie in a folder that can be written, got 'out."
    assert run.stderr.startswith(f"herder: {OUTPUTS[words]} {rule}")
    assert len(run.stderr.splitlines()) == 1


def test_a_loop_of_links_is_refused(tmp_path, binary_csv, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").symlink_to("b.csv")
    Path("b.csv").symlink_to("a.csv")
    run = CliRunner().invoke(app, ["moments", str(binary_csv), "-o", "a.csv"])
    text = "herder: --output must name a file, got the loop of links 'a.csv'\n"
    assert (run.exit_code, run.stderr) == (2, text)
    run = CliRunner().invoke(app, ["moments", "a.csv", "-o", "c.csv"])
    text = "herder: TABLE must name a file that exists, got 'a.csv'\n"
    assert (run.exit_code, run.stderr) == (2, text)


def test_a_move_that_fails_says_what_was_placed(tmp_path, binary_csv, monkeypatch):
    move = os.replace

    def replace(source: Path, final: Path) -> None:
        if Path(final).name == "page.html":  # numba moves files too, and passes str
            raise PermissionError(13, "Permission denied", str(source))
        move(source, final)

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.chdir(tmp_path)
    words = ["synth", str(binary_csv), "-n", "50", "-o", "rows.csv", "--report", "page.html"]
    run = CliRunner().invoke(app, words)
    assert run.exit_code == 2
    text = "herder: Permission denied: page.html; rows.csv was written, but not page.html\n"
    assert run.stderr == text
    assert os.listdir(tmp_path) == ["rows.csv"]


def test_a_full_disk_leaves_no_file_of_several(tmp_path, binary_csv, disk_of, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("before")
    words = ["synth", str(binary_csv), "-n", "50", "-o", "rows.csv", "--report", "page.html"]
    with disk_of(10_000):  # enough for the rows, not for the pictures
        run = CliRunner().invoke(app, words)
    assert run.exit_code == 2
    assert run.stderr.splitlines()[-1] == "herder: File too large"
    assert os.listdir(tmp_path) == ["rows.csv"]
    assert Path("rows.csv").read_text() == "before"


# Standard streams


@pytest.fixture(scope="session")
def lines(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("lines") / "train.svm"
    path.write_text("".join(f"{(-1) ** i} {1 + i % 3}:1\n" for i in range(400)))
    return path


def run_in(folder: Path, *words: object, **streams: int) -> "subprocess.CompletedProcess[str]":
    """Run the command in a folder with other standard streams."""
    given: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    command = [*COMMAND, *map(str, words)]
    # with a buffer, as usual: what cannot be written fails at the end
    env = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(command, cwd=folder, text=True, env=env, timeout=300, **given)


@pytest.fixture
def no_reader():
    """The end of a pipe that nobody reads any more, as after ``| head -1``."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.fixture
def full():
    """A device on which nothing fits."""
    if not Path("/dev/full").exists():
        pytest.skip("there is no such device")
    device = os.open("/dev/full", os.O_WRONLY)
    yield device
    os.close(device)


@posix
def test_a_reader_that_leaves_does_not_lose_the_model(tmp_path, lines, no_reader):
    words = ["learn", lines, "-o", "m.safetensors", "--every", 100]
    run = run_in(tmp_path, *words, stdout=no_reader)
    assert (run.returncode, run.stderr) == (141, "")
    assert load(tmp_path / "m.safetensors").n_seen_ == 400


@posix
def test_warnings_that_nobody_reads_do_not_end_a_run(tmp_path, draws, no_reader):
    words = ["thin", draws, "-n", 3, "-o", "a.npy", "--shares", "proportional"]
    run = run_in(tmp_path, *words, stderr=no_reader)
    assert run.returncode == 0
    assert run.stdout.startswith("a.npy: ")
    assert os.listdir(tmp_path) == ["a.npy"]


@posix
def test_a_full_output_is_named_and_the_files_are_there(tmp_path, binary_csv, full):
    run = run_in(tmp_path, "moments", binary_csv, "-o", "counts.csv", stdout=full)
    text = "herder: No space left on device: standard output"
    assert (run.returncode, run.stderr) == (2, f"{text}; counts.csv was written\n")
    assert os.listdir(tmp_path) == ["counts.csv"]
    run = run_in(tmp_path, "--help", stdout=full)
    assert (run.returncode, run.stderr) == (2, f"{text}\n")


@posix
def test_predictions_for_a_full_output_say_so(tmp_path, lines, full):
    model = tmp_path / "m.safetensors"
    assert CliRunner().invoke(app, ["learn", str(lines), "-o", str(model)]).exit_code == 0
    run = run_in(tmp_path, "predict", model, lines, stdout=full)
    text = "herder: No space left on device: standard output\n"
    assert (run.returncode, run.stderr) == (2, text)


@posix
def test_closed_streams(tmp_path, binary_csv):
    def shell(text: str) -> "subprocess.CompletedProcess[str]":
        command = f'exec "{sys.executable}" -m herder {text}'
        run = ["sh", "-c", command, "sh", str(binary_csv)]
        return subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=300)

    run = shell("learn - -o m.safetensors <&-")
    assert (run.returncode, run.stderr) == (2, "herder: - must hold rows, got none\n")
    run = shell('moments "$1" -o a.csv >&-')
    text = "herder: Bad file descriptor: standard output; a.csv was written\n"
    assert (run.returncode, run.stderr) == (2, text)
    run = shell('moments "$1" -q -o b.csv <&- >&- 2>&-')
    assert run.returncode == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
