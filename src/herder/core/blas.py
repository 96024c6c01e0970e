"""One thread of BLAS: products of matrices are then the same bits wherever they are computed."""

from contextlib import ContextDecorator
from functools import cached_property
from importlib import import_module
from threading import Lock
from typing import Any

__all__ = ["one_blas_thread"]


class _OneThread(ContextDecorator):
    """The limit, which threads may hold together: the first sets it, the last restores."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._holders = 0
        self._former: list[int] = []

    @cached_property
    def _libraries(self) -> list[Any]:
        """Find the loaded libraries: slow, so once."""
        import_module("scipy.linalg")  # its BLAS must be among them
        found: Any = import_module("threadpoolctl").ThreadpoolController()
        return found.select(user_api="blas").lib_controllers

    def __enter__(self) -> None:
        with self._lock:
            if self._holders == 0:
                self._former = [library.get_num_threads() for library in self._libraries]
                self._set([1] * len(self._former))
            self._holders += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._set(self._former)

    def _set(self, numbers: list[int]) -> None:
        for library, number in zip(self._libraries, numbers, strict=True):
            # From threadpoolctl 3.7 on only the thread that has set a limit may set another: here
            # the thread that restores may not be the one that limits.
            free: Any = getattr(library, "clear_controlling_thread", _nothing)
            free(force=True)
            library.set_num_threads(number)
            free(force=True)


def _nothing(*, force: bool) -> None:
    """Do nothing: before, any thread could set a limit."""


_LIMIT = _OneThread()


def one_blas_thread() -> _OneThread:
    """Hold BLAS to one thread while the context lasts, in the whole process.

    As a decorator it holds during each call. Contexts may nest, and overlap in several threads.
    """
    return _LIMIT
