import logging
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from herder._numba import jit


@jit
def divide(a: float, b: float) -> float:
    """Divide."""
    return a / b


@jit
def total(values: np.ndarray) -> float:
    """Sum from left to right."""
    result = 0.0
    for value in values:
        result += value
    return result


def test_the_options_are_those_we_promise():
    # Without the compiler (make slow) there is nothing to ask.
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        assert not hasattr(divide, "targetoptions")
        return
    options = divide.targetoptions  # pyright: ignore[reportFunctionMemberAccess]
    assert options["nopython"]
    assert options["nogil"]
    assert options["error_model"] == "numpy"
    assert not options.get("fastmath", False)


def test_arithmetic_is_numpys():
    with np.errstate(divide="ignore"):
        assert divide(np.float64(1.0), np.float64(0.0)) == math.inf


def test_sums_are_not_reordered():
    # A reordered sum would lose other bits: from the left, 1 is swallowed twice.
    assert total(np.array([1e16, 1.0, 1.0, -1e16])) == 0.0


def test_what_is_compiled_is_logged(monkeypatch, caplog):
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return
    # numba's own, which ours asks
    cache: Any = divide._cache  # pyright: ignore[reportFunctionMemberAccess]
    with caplog.at_level(logging.INFO, "herder.compiling"):
        for kept in (object(), None):
            monkeypatch.setattr(type(cache).__base__, "load_overload", lambda *_, kept=kept: kept)
            assert cache.load_overload((), None) is kept
    assert [record.getMessage() for record in caplog.records] == [f"compiling {cache._name}"]


# Where compiled code cannot be kept, or what was kept is damaged

FUNCTIONS = """
from herder._numba import jit

@jit
def inner(a):
    return a + 1

@jit
def outer(a):
    return inner(a) * 2

@jit
def other(a):
    return a - 1
"""

#: Compiles in a new process, or for every word of the command line after that damage.
SCRIPT = """
import importlib.util, sys
from pathlib import Path

damages = {"half": lambda b: b[: len(b) // 2], "empty": lambda b: b"", "else": lambda b: b"x" * 99}
for word in sys.argv[1:] or [""]:
    for _ in range(1 + bool(word)):
        spec = importlib.util.spec_from_file_location("functions", "functions.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert (module.outer(20), module.other(1)) == (42, 0)
    assert not word or sum(module.outer.stats.cache_hits.values()) == 1
    suffix, _, kind = word.partition("-")
    for file in Path("__pycache__").glob(f"functions.outer*.{suffix}") if word else ():
        file.write_bytes(damages[kind](file.read_bytes()))
        print(word)
"""

NOTE = "compiled code cannot be kept on disk"


def compile_functions(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Compile where numba's own choice of a folder is the one of the file, or in HOME."""
    (folder / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    env = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    env |= {"HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "home")}
    command = [sys.executable, "-c", SCRIPT, *words]
    return subprocess.run(
        command, env=env, cwd=folder, capture_output=True, text=True, timeout=300
    )


def test_without_a_folder_for_the_cache_functions_are_compiled_in_memory(tmp_path):
    # files in the place of both folders: nobody can write there, not even root
    (tmp_path / "__pycache__").touch()
    (tmp_path / "home").touch()
    run = compile_functions(tmp_path)
    assert run.returncode == 0, run.stderr
    assert NOTE in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_a_full_cache_disk_does_not_fail_the_run(tmp_path, disk_of):
    with disk_of(4000):  # enough for an index, not for code
        run = compile_functions(tmp_path)
    assert run.returncode == 0, run.stderr
    assert NOTE in run.stderr
    assert len(run.stderr.splitlines()) == 1
    # an index without its code would find the code of an older source
    assert list((tmp_path / "__pycache__").glob("*.nb?")) == []


def test_a_damaged_cache_is_made_anew(tmp_path):
    words = [f"{suffix}-{kind}" for suffix in ("nbi", "nbc") for kind in ("half", "empty", "else")]
    run = compile_functions(tmp_path, *words)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.split() == words
