"""Hostile cases in a process of their own, with limits of time and memory.

A case is anything that JSON can hold. The process calls a *maker*, a function named as
``module:function``, once and without limits, with the texts in ``given``: there things are made,
and compiled. What it returns is called with each case, under the limits, and returns a word for
what happened (``SAME``, ``REFUSED``, ``DIFFERENT``, or one of the caller's own). An exception
that it lets pass is ``FOREIGN``. After a crash or a hang, the rest goes on in a new process.

    found = run_cases("tests.abuse.test_state_files:make", cases)
    print(tally(found))
    assert not [one for one in found if one.outcome in BAD]

One case again, without limits, and with its traceback:

    python -m tests.abuse.running tests.abuse.test_state_files:make '["flip", "nherd", 7, 1]'
"""

import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from tests import compiling

__all__ = [
    "BAD",
    "CRASH",
    "DIFFERENT",
    "FOREIGN",
    "HANG",
    "REFUSED",
    "SAME",
    "Found",
    "run_cases",
    "tally",
]

SAME = "same"  # it works, and answers as it should
REFUSED = "refused"  # with an error that names the file or the parameter
DIFFERENT = "different"  # it works, and answers otherwise
FOREIGN = "foreign"  # an exception that names neither, MemoryError among them
CRASH = "crash"  # the process is gone
HANG = "hang"  # the limit of time is reached

#: What must not happen to any case.
BAD = (CRASH, HANG, FOREIGN, DIFFERENT)

ROOT = Path(__file__).parents[2]

#: A process that waits and does not compute is stopped after so many times the limit, in seconds
#: of the clock: the machine may be busy.
PATIENCE = 20


class Found(NamedTuple):
    """A case, what happened, and the error if there was one."""

    case: Any
    outcome: str
    note: str = ""


def run_cases(
    maker: str,
    cases: Sequence[Any],
    *,
    given: Sequence[str] = (),
    seconds: int = 10,
    megabytes: int = 512,
) -> list[Found]:
    """Run all cases and return what happened to each, in order.

    ``seconds`` of CPU time and ``megabytes`` beyond what the maker took are the limits of a case.
    """
    found: list[Found] = []
    with tempfile.TemporaryDirectory() as folder:
        todo = Path(folder, "cases.json")
        todo.write_text(json.dumps(list(cases)))
        while len(found) < len(cases):
            n_before = len(found)
            log = Path(folder, "log")
            with open(log, "wb") as stderr:
                worker = subprocess.Popen(
                    [
                        *(sys.executable, "-m", "tests.abuse.running", maker),
                        *(str(todo), str(n_before), str(seconds), str(megabytes), *given),
                    ],
                    cwd=ROOT,
                    env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": _paths()},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                )
            is_ready, in_time = False, True
            for line in _lines(worker, PATIENCE * seconds):
                if line is None:
                    worker.kill()
                    in_time = False
                elif line == b"ready":
                    is_ready = True
                else:
                    outcome, note = json.loads(line)
                    found.append(Found(cases[len(found)], outcome, note))
            status = worker.wait()
            if not is_ready or (status == 0 and len(found) < len(cases)):
                raise RuntimeError(f"{maker} ended with {status}: {log.read_text()[-4000:]}")
            if len(found) < len(cases):
                is_hang = not in_time or status == -signal.SIGXCPU
                words = f"status {status} {log.read_text(errors='replace')[-400:]}"
                found.append(Found(cases[len(found)], HANG if is_hang else CRASH, words))
    return found


def tally(found: Sequence[Found]) -> dict[str, int]:
    """Count the outcomes; those that must not happen are always there."""
    counts = Counter(one.outcome for one in found)
    return dict.fromkeys(BAD, 0) | dict(counts)


def _paths() -> str:
    return os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])


def _lines(worker: Any, patience: float) -> Iterator[bytes | None]:
    """Yield the lines of a process as they come, and None when the next takes too long.

    Making has no limit of time.
    """
    rest, wait = b"", None
    with worker.stdout, selectors.DefaultSelector() as selector:
        selector.register(worker.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(wait):
                yield None
                return
            block = os.read(worker.stdout.fileno(), 1 << 16)
            if not block:
                return
            *whole, rest = (rest + block).split(b"\n")
            yield from whole
            wait = patience


def _made(maker: str, given: Sequence[str]) -> Callable[[Any], str]:
    module, name = maker.split(":")
    return getattr(import_module(module), name)(*given)


def _limit(kind: int, value: int) -> None:
    resource.setrlimit(kind, (value, resource.getrlimit(kind)[1]))


def _memory() -> int:
    """Return what this process has of its own, in bytes: what RLIMIT_DATA counts on Linux."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmData"))
    return int(line.split()[1]) * 1024


def _work(maker: str, todo: str, start: str, seconds: str, megabytes: str, *given: str) -> None:
    """Run the cases from one on, and write a line for each."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what cases print must not come between
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import_module(maker.split(":")[0])
    if "numba" in sys.modules:
        compiling.take_turns()
    attempt = _made(maker, given)
    print("ready", file=out)
    if sys.platform == "linux":
        _limit(resource.RLIMIT_DATA, _memory() + (int(megabytes) << 20))
    for case in json.loads(Path(todo).read_text())[int(start) :]:
        _limit(resource.RLIMIT_CPU, int(process_time()) + 1 + int(seconds))
        try:
            answer: Any = (attempt(case), "")
        except Exception as error:
            answer = (FOREIGN, f"{type(error).__name__}: {error}"[:400])
        print(json.dumps(answer), file=out)


if __name__ == "__main__":
    if sys.argv[2].startswith("/"):
        _work(*sys.argv[1:])
    else:
        print(_made(sys.argv[1], sys.argv[3:])(json.loads(sys.argv[2])))
