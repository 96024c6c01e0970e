"""The only door to numba: one decorator with one set of options.

``fastmath`` is off because a choice may hang on the last bit, and ``error_model="numpy"``
makes a division by zero give infinity, as it does under ``NUMBA_DISABLE_JIT=1``.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numba

__all__ = ["jit"]

F = TypeVar("F", bound=Callable[..., object])

if TYPE_CHECKING:

    def jit(function: F) -> F:
        """Compile ``function`` on first call and keep the result on disk."""
        ...

else:
    jit = functools.partial(numba.njit, cache=True, error_model="numpy", nogil=True)
