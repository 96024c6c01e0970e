"""One thread of BLAS: products of matrices are then the same bits wherever they are computed."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from threading import Lock
from typing import Any

__all__ = ["one_blas_thread"]

_lock = Lock()

#: For every holder of the limit, the numbers of threads that the first of them found.
_held: list[list[int]] = []


@contextmanager
def one_blas_thread() -> Generator[None]:
    """Hold BLAS to one thread while the context lasts, in the whole process.

    As a decorator it holds during each call. Contexts may nest, and overlap in several threads:
    the first sets the limit, the last restores what was before.
    """
    with _lock:
        if not _held:
            former = [library.get_num_threads() for library in _libraries()]
            _set([1] * len(former))
            _held.append(former)
        else:
            _held.append(_held[0])
    try:
        yield
    finally:
        with _lock:
            former = _held.pop()
            if not _held:
                _set(former)


@cache
def _libraries() -> list[Any]:
    """Find the loaded libraries: slow, so once."""
    import_module("scipy.linalg")  # its BLAS must be among them
    found: Any = import_module("threadpoolctl").ThreadpoolController()
    return found.select(user_api="blas").lib_controllers


def _set(numbers: list[int]) -> None:
    for library, number in zip(_libraries(), numbers, strict=True):
        # From threadpoolctl 3.7 on only the thread that has set a limit may set another: here the
        # thread that restores may not be the one that limits.
        free: Any = getattr(library, "clear_controlling_thread", _nothing)
        free(force=True)
        library.set_num_threads(number)
        free(force=True)


def _nothing(*, force: bool) -> None:
    """Do nothing: before, any thread could set a limit."""
