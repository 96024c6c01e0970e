"""Processes that start with an empty cache, and compile each function once between them."""

import hashlib
import importlib.util
import tempfile
from pathlib import Path
from typing import Any


def take_turns() -> None:
    """Compile the functions of a file in one process only: others wait, and read the cache.

    What is compiled on the way calls functions of the same file only, so that one lock for each
    file keeps them from being compiled twice as well.
    """
    if importlib.util.find_spec("fcntl") is None:
        return  # without locks all compile
    import fcntl

    from numba.core import dispatcher
    from numba.core.compiler_lock import global_compiler_lock

    kind: Any = dispatcher.Dispatcher
    compile_here = kind.compile
    folder = Path(tempfile.gettempdir())

    inside: list[str] = []  # what this process compiles: what that calls takes no lock

    def compile_once(self: Any, signature: Any) -> Any:
        name = f"{__file__} {self.py_func.__module__}"
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
