"""The only door to numba: decorators with one set of options each.

``jit`` keeps strict arithmetic because a choice may hang on the last bit, and
``error_model="numpy"`` makes a division by zero give infinity, as it does under
``NUMBA_DISABLE_JIT=1``. ``jit_fused`` also lets a product and a sum become one instruction, and
``jit_relaxed`` lets a sum be taken in another order, so that loops over many numbers fill the
width of the machine: the bits are still the same on one machine, whatever the number of threads,
and a choice that rests on such sums takes a tolerance.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numba

__all__ = ["jit", "jit_fused", "jit_relaxed"]

F = TypeVar("F", bound=Callable[..., object])

if TYPE_CHECKING:

    def jit(function: F) -> F:
        """Compile ``function`` on first call and keep the result on disk."""
        ...

    def jit_fused(function: F) -> F:
        """Compile with fused multiply-add."""
        ...

    def jit_relaxed(function: F) -> F:
        """Compile with fused multiply-add and sums in any order."""
        ...

else:
    jit = functools.partial(numba.njit, cache=True, error_model="numpy", nogil=True)
    jit_fused = functools.partial(jit, fastmath={"contract"})
    jit_relaxed = functools.partial(jit, fastmath={"contract", "reassoc", "nsz"})
