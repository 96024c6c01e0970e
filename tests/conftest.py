import hashlib
import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# The same examples on every run, and no time limit on one: the machine may be busy. `make test`
# draws few, `make slow` draws many for the same tests.
settings.register_profile("few", max_examples=15, derandomize=True, deadline=None)
settings.register_profile("many", max_examples=100, derandomize=True, deadline=None)
settings.load_profile("few")


def pytest_configure() -> None:
    """Compile each function in one worker only: the others wait, and read it from the cache."""
    if importlib.util.find_spec("fcntl") is None:
        return  # without locks both compile
    import fcntl

    from numba.core import dispatcher
    from numba.core.compiler_lock import global_compiler_lock

    kind: Any = dispatcher.Dispatcher
    compile_here = kind.compile
    folder = Path(tempfile.gettempdir())

    inside: list[str] = []  # what this process compiles: what that calls takes no lock

    def compile_once(self: Any, signature: Any) -> Any:
        name = f"{__file__} {self.py_func.__module__} {self.py_func.__name__}"
        lock = folder / f"herder-{hashlib.sha256(name.encode()).hexdigest()[:16]}.lock"
        with global_compiler_lock:
            if inside:
                return compile_here(self, signature)
            inside.append(name)
            try:
                with open(lock, "w") as stream:
                    fcntl.flock(stream, fcntl.LOCK_EX)
                    return compile_here(self, signature)
            finally:
                inside.clear()

    kind.compile = compile_once


@pytest.fixture
def disk_of() -> Callable[[int], AbstractContextManager[None]]:
    """A context in which no file can grow beyond so many bytes; POSIX only."""
    resource = pytest.importorskip("resource")

    @contextmanager
    def limited(n_bytes: int) -> Iterator[None]:
        # Python ignores the signal that comes with the error
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited
