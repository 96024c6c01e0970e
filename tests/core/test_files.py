import os
import re
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from herder import ParameterError
from herder.core import files
from herder.core.files import PartFile, whole_file
from herder.core.state import write_file
from herder.data import write_table

#: Writes half a file and waits to be killed.
WRITER = """
import sys
from herder.core.files import whole_file

with whole_file(sys.argv[1]) as part:
    part.write_text("half")
    print(part.parent.name, flush=True)
    sys.stdin.read()
"""

needs_locks = pytest.mark.skipif(not files.BOOT_ID.exists(), reason="nothing is removed here")


def left_by_a_dead_writer(folder: Path) -> Path:
    """Leave what a writer that was killed leaves, and return it."""
    part = PartFile(folder / "b.txt")
    assert part._lock is not None
    os.close(part._lock)  # as the system does for the dead
    part._lock = None
    return part.path.parent


@needs_locks
def test_what_a_killed_writer_left_is_removed_by_the_next_one(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path / "a.txt")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as writer:
        try:
            assert writer.stdout is not None
            left = tmp_path / writer.stdout.readline().strip()
            with whole_file(tmp_path / "b.txt") as part:
                part.write_text("b")
            assert (left / "a.txt").read_text() == "half"  # its writer lives
        finally:
            writer.kill()
    assert writer.returncode == -signal.SIGKILL
    assert left.exists()
    with whole_file(tmp_path / "c.txt") as part:
        part.write_text("c")
    assert sorted(os.listdir(tmp_path)) == ["b.txt", "c.txt"]


@needs_locks
def test_writers_of_one_process_leave_each_other_alone(tmp_path):
    with whole_file(tmp_path / "a.txt") as first, whole_file(tmp_path / "b.txt") as second:
        first.write_text("a")
        second.write_text("b")
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.txt"]


@needs_locks
def test_nothing_but_what_a_dead_writer_left_is_removed(tmp_path):
    left = left_by_a_dead_writer(tmp_path)
    kernel, token = re.findall("[a-z0-9_]{8,}", left.name)
    other = secrets.token_hex(16)
    (tmp_path / f".herder-{kernel}-00000000.part").write_text("a file")
    for name in (
        f".herder-{other}-{token}.part",  # of another machine
        f".herder-{token}.part",  # never locked
        f"herder-{kernel}-{token}.part",
        f".herder-{kernel}-{token}.part.csv",
        f".herder-{kernel}-{token}x.part",
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kept.txt").touch()
    (tmp_path / f".herder-{kernel}-11111111.part").symlink_to(tmp_path / f".herder-{token}.part")
    before = set(os.listdir(tmp_path))
    with whole_file(tmp_path / "a.txt") as part:
        part.touch()
    assert set(os.listdir(tmp_path)) == before - {left.name} | {"a.txt"}
    assert (tmp_path / f".herder-{token}.part" / "kept.txt").exists()


@pytest.mark.parametrize("lacking", ["locks", "identity"])
def test_without_proof_nothing_is_removed(tmp_path, monkeypatch, lacking):
    if files.BOOT_ID.exists():
        left_by_a_dead_writer(tmp_path)
    before = os.listdir(tmp_path)
    if lacking == "locks":
        monkeypatch.setitem(sys.modules, "fcntl", None)
    else:
        monkeypatch.setattr(files, "BOOT_ID", tmp_path / "none")
    with whole_file(tmp_path / "a.txt") as part:
        part.write_text("a")
        assert re.fullmatch(r"\.herder-[a-z0-9_]{8}\.part", part.parent.name)
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "a.txt"])


def test_all_that_a_writer_makes_lies_in_its_folder(tmp_path):
    """Also what safetensors makes beside the path that it is given."""
    model, table = PartFile(tmp_path / "m.safetensors"), PartFile(tmp_path / "t.csv")
    write_file(model.path, {"a": np.ones(3)}, {"kind": "test"})
    write_table(table.path, ["a"], [{"a": np.ones(3)}])
    assert len(os.listdir(tmp_path)) == 2
    assert os.listdir(model.path.parent) == ["m.safetensors"]
    assert os.listdir(table.path.parent) == ["t.csv"]
    for part in (model, table):
        part.complete()
        part.place()
    assert sorted(os.listdir(tmp_path)) == ["m.safetensors", "t.csv"]


def test_a_loop_of_links_is_no_place(tmp_path):
    (tmp_path / "a.txt").symlink_to(tmp_path / "b.txt")
    (tmp_path / "b.txt").symlink_to(tmp_path / "a.txt")
    with pytest.raises(ParameterError, match=r"path must name a file, got the loop of links"):
        whole_file(tmp_path / "a.txt").__enter__()


def test_an_error_names_the_path_that_was_given(tmp_path):
    path = tmp_path / f"{'a' * 300}.txt"  # longer than any file system takes
    with pytest.raises(OSError, match=r"a{300}") as caught:
        whole_file(path).__enter__()
    assert caught.value.filename == str(path)
    assert os.listdir(tmp_path) == []
