"""Signals at chosen moments: a process sends them to itself, so that nothing depends on time."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

#: Runs the command; at each moment of the first word the process sends itself a signal.
SCRIPT = """
import atexit, os, sys

moments, number = sys.argv.pop(1).split(", "), int(sys.argv.pop(1))

def interrupt():
    os.kill(os.getpid(), number)

class AtImport:
    def find_spec(self, name, path=None, target=None):
        if f"importing {name}" in moments:
            moments.remove(f"importing {name}")
            interrupt()

class AtShutdown:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=number):
        kill(pid, number)

def at(moment, owner, name, *, when=lambda *given: True, after=False):
    original = getattr(owner, name)

    def patched(*given, **more):
        now = when(*given)
        if now and not after:
            interrupt()
        result = original(*given, **more)
        if now and after:
            interrupt()
        return result

    if moment in moments:
        setattr(owner, name, patched)

def is_first(part):
    return part.path.name == "few.npy"

sys.meta_path.insert(0, AtImport())
if not moments[0].startswith("importing"):
    from herder.cli import _verb
    from herder.core.files import PartFile
    at("completing", PartFile, "complete", when=is_first, after=True)
    at("after the first move", PartFile, "place", when=is_first, after=True)
    at("removing", PartFile, "discard", when=is_first)
    at("before the summary", _verb, "print_summary")
    at("after the summary", _verb, "ignore_signals", after=True)
    if "at exit" in moments:
        atexit.register(interrupt)
    if "shutting down" in moments:
        late = AtShutdown()

from herder.cli import main
main()
"""

WRITTEN = "herder: stopped: few.npy, which.npy were written\n"
NOTHING = "herder: stopped: nothing was written\n"


def thin(
    folder: Path, draws: Path, moments: str, number: int = signal.SIGINT
) -> "subprocess.CompletedProcess[str]":
    words = ["thin", str(draws), "-n", "3", "-o", "few.npy", "--indices", "which.npy"]
    command = [sys.executable, "-c", SCRIPT, moments, str(int(number)), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    "moments",
    [
        "importing typer",
        "importing herder.data.sample",
        "importing scipy",
        "completing",
        "completing, removing",  # twice
    ],
)
def test_a_signal_before_the_files_are_placed_leaves_none(tmp_path, draws, moments):
    run = thin(tmp_path, draws, moments)
    assert (run.returncode, run.stdout, run.stderr) == (130, "", NOTHING)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("moment", "number", "code"),
    [
        ("after the first move", signal.SIGINT, 130),
        ("after the first move", signal.SIGTERM, 143),
        ("before the summary", signal.SIGINT, 130),
    ],
)
def test_a_signal_while_the_files_are_placed_leaves_all(tmp_path, draws, moment, number, code):
    run = thin(tmp_path, draws, moment, number)
    assert (run.returncode, run.stderr) == (code, WRITTEN)
    assert sorted(os.listdir(tmp_path)) == ["few.npy", "which.npy"]


@pytest.mark.parametrize("moment", ["after the summary", "at exit", "shutting down"])
def test_a_signal_after_all_was_printed_changes_nothing(tmp_path, draws, moment):
    run = thin(tmp_path, draws, moment)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("few.npy, which.npy: ")
    assert sorted(os.listdir(tmp_path)) == ["few.npy", "which.npy"]


def test_what_a_killed_run_leaves_is_removed_by_the_next(tmp_path, draws):
    killed = thin(tmp_path, draws, "completing", signal.SIGKILL)
    assert killed.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 2
    assert thin(tmp_path, draws, "never").returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["few.npy", "which.npy"]
