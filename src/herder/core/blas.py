"""One thread of BLAS: products of matrices are then the same bits wherever they are computed."""

from contextlib import AbstractContextManager
from functools import lru_cache
from importlib import import_module
from typing import Any

__all__ = ["one_blas_thread"]


@lru_cache(maxsize=1)
def _controller() -> Any:
    """Find the loaded libraries: slow, so once."""
    import_module("scipy.linalg")  # its BLAS must be among them
    return import_module("threadpoolctl").ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread while the context lasts, in the whole process."""
    found: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return found
