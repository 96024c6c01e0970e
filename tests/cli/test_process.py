import importlib.machinery
import importlib.util
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from herder.cli import app

COMMAND = [sys.executable, "-m", "herder"]


def started(*words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *(str(word) for word in words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("number", "code", "suffix"),
    [
        (signal.SIGINT, 130, ".csv"),
        (signal.SIGTERM, 143, ".parquet"),
        pytest.param(signal.SIGINT, 130, ".parquet", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 143, ".csv", marks=pytest.mark.slow),
    ],
)
def test_a_signal_leaves_no_file(binary_csv, tmp_path, number, code, suffix):
    out = tmp_path / f"rows{suffix}"
    process = started("synth", binary_csv, "-n", 10**9, "-o", out)
    try:
        waited = time.monotonic()
        while not list(tmp_path.iterdir()):  # until the file has been begun
            assert process.poll() is None, process.communicate()
            assert time.monotonic() - waited < 60
            time.sleep(0.05)
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == code
    if number == signal.SIGINT:
        # a signal inside the compiler's own destructors makes Python add lines about those
        assert "herder: stopped: nothing was written" in errors.splitlines()
    assert list(tmp_path.iterdir()) == []


INTERRUPTED = """
import herder.cli

def run():
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        raise SystemExit(130)

herder.cli.app = run
herder.cli.main()
"""


def test_an_interrupt_in_generated_code_ends_like_any_other(tmp_path):
    """Python would let the process die of the signal, as if nobody had caught it."""
    (tmp_path / "interrupted.py").write_text(INTERRUPTED, encoding="utf-8")
    run = subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, timeout=60)
    assert run.returncode == 130


WAITS = """
import os, signal, sys, types
from herder.cli._signals import catch_signals, release_signals

catch_signals()
release_signals()
delicate = types.ModuleType("llvmlite.binding")
exec(compile("def work(ask, spin):\\n    ask()\\n    spin()\\n    done.append(1)", "w", "exec"),
     delicate.__dict__)
delicate.done = done = []

def spin():
    for _ in range(10_000_000):
        pass

try:
    delicate.work(lambda: os.kill(os.getpid(), signal.SIGINT), spin)
    spin(), spin(), spin()
except KeyboardInterrupt:
    sys.exit(7 if done else 8)
sys.exit(9)
"""


def test_an_interrupt_waits_for_calls_that_must_not_be_left():
    run = subprocess.run([sys.executable, "-c", WAITS], timeout=60)
    assert run.returncode == 7


COMPILED = """
import os, signal, sys
from herder.cli._signals import catch_signals, release_signals

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "numbers":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

catch_signals()
release_signals()
assert "_decimal" not in sys.modules
sys.modules.pop("numbers", None)
sys.meta_path.insert(0, Finder())
done = False
try:
    import _decimal
    done = True
    while True:
        pass
except KeyboardInterrupt:
    sys.exit(7 if done else 8)
"""


def test_an_interrupt_waits_for_a_compiled_module_to_be_imported():
    """This one imports another while it is imported."""
    spec = importlib.util.find_spec("_decimal")
    if spec is None or not isinstance(spec.loader, importlib.machinery.ExtensionFileLoader):
        pytest.skip("_decimal is not a file here")
    run = subprocess.run([sys.executable, "-c", COMPILED], timeout=60)
    assert run.returncode == 7


ONCE = """
import os, signal, sys, types
from herder.cli import _signals

_signals.PAUSE = 1000.0  # nothing but heed_signals raises
_signals.catch_signals()
_signals.release_signals()
delicate = types.ModuleType("llvmlite.binding")
exec("def work(ask):\\n    ask()", delicate.__dict__)
delicate.work(lambda: os.kill(os.getpid(), signal.SIGINT))
assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
try:
    _signals.heed_signals()
except KeyboardInterrupt:
    sys.exit(7 if signal.getitimer(signal.ITIMER_REAL)[0] == 0 else 8)
sys.exit(9)
"""


def test_an_interrupt_that_has_waited_comes_once():
    run = subprocess.run([sys.executable, "-c", ONCE], timeout=60)
    assert run.returncode == 7


def test_progress_shows_the_moment_error(binary_csv, tmp_path):
    words = ["synth", str(binary_csv), "-n", "20000", "-o", str(tmp_path / "a.csv")]
    run = CliRunner().invoke(app, words, env={"FORCE_COLOR": "1", "COLUMNS": "120"})
    assert run.exit_code == 0, run.stderr
    assert "herding" in run.stderr
    assert "moment error" in run.stderr
    assert "herding" not in run.stdout


def test_nothing_but_errors_goes_to_stderr_when_nobody_watches(binary_csv):
    process = started("moments", binary_csv)
    out, errors = process.communicate(timeout=60)
    assert errors == ""
    assert "15 tables of counts" in out
