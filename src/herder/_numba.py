"""The only door to numba: decorators with one set of options each.

``jit`` keeps strict arithmetic because a choice may hang on the last bit, and
``error_model="numpy"`` makes a division by zero give infinity, as it does under
``NUMBA_DISABLE_JIT=1``. ``jit_fused`` also lets a product and a sum become one instruction, and
``jit_relaxed`` lets a sum be taken in another order, so that loops over many numbers fill the
width of the machine: the bits are still the same on one machine, whatever the number of threads,
and a choice that rests on such sums takes a tolerance. ``prefetch`` asks for a row of a table
before it is needed; it changes no result.

Compiled code is kept on disk where that is possible. Without a folder that can be written, on a
full disk, and where a file of the cache is damaged, the function is compiled in memory: a cache
never makes a call fail. The logger ``herder.compiling`` says what is compiled, at the level INFO.
"""

import functools
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import numba

__all__ = ["jit", "jit_fused", "jit_relaxed", "prefetch"]

F = TypeVar("F", bound=Callable[..., object])

_noted: list[str] = []


def _note(reason: str) -> None:
    """Log once for a process that compiled code is not kept, whatever the number of functions."""
    if not _noted:
        _noted.append(reason)
        logging.getLogger("herder").warning(
            "compiled code cannot be kept on disk, so that every run compiles it again "
            "(NUMBA_CACHE_DIR may name a folder that can be written): %s",
            reason,
        )


if TYPE_CHECKING:

    def jit(function: F) -> F:
        """Compile ``function`` on first call and keep the result on disk."""
        ...

    jit_fused = jit_relaxed = jit

    def prefetch(table: Any, row: int) -> None:
        """Ask for a row of a C-contiguous table, to be written soon."""
        ...

else:
    from numba.core.caching import FunctionCache

    class _Cache(FunctionCache):
        """The cache of a function on disk, which may fail without harm."""

        def load_overload(self, sig, target_context):
            try:
                found = super().load_overload(sig, target_context)
            except Exception:  # damaged bytes raise whatever they happen to spell
                self._forget()
                found = None
            if found is None:
                logging.getLogger("herder.compiling").info("compiling %s", self._name)
            return found

        def save_overload(self, sig, data):
            try:
                super().save_overload(sig, data)
            except OSError as error:
                self._forget()
                _note(str(error))

        def _forget(self):
            # numba writes the index before the code: an index without its code would find the
            # code of an older source under the same name
            with suppress(OSError):
                os.unlink(self._cache_file._index_path)

    def jit(function, **options):
        """Compile ``function`` on first call and keep the result on disk if possible."""
        compiled = numba.njit(function, error_model="numpy", nogil=True, **options)
        if compiled is not function:  # numba may be told not to compile
            try:
                compiled._cache = _Cache(function)
            except (RuntimeError, OSError) as error:  # no folder that can be written
                _note(str(error))
        return compiled

    jit_fused = functools.partial(jit, fastmath={"contract"})
    jit_relaxed = functools.partial(jit, fastmath={"contract", "reassoc", "nsz"})

    if numba.config.DISABLE_JIT:

        def prefetch(table: Any, row: int) -> None:
            """Do nothing: there is no compiler to ask."""

    else:
        from llvmlite import ir
        from numba.core import types
        from numba.extending import intrinsic

        @intrinsic
        def prefetch(typing_context, table, row):
            """Ask for a row of a C-contiguous table, to be written soon."""

            def generate(context, builder, signature, args):
                array = context.make_array(signature.args[0])(context, builder, args[0])
                stride = builder.extract_value(array.strides, 0)
                offset = builder.mul(context.cast(builder, args[1], row, types.intp), stride)
                place = builder.add(builder.ptrtoint(array.data, stride.type), offset)
                pointer = ir.IntType(8).as_pointer()
                flags = [ir.IntType(32)(flag) for flag in (1, 3, 1)]  # to write, keep near, data
                function = builder.module.declare_intrinsic(
                    "llvm.prefetch",
                    [pointer],
                    ir.FunctionType(ir.VoidType(), [pointer, *(flag.type for flag in flags)]),
                )
                builder.call(function, [builder.inttoptr(place, pointer), *flags])
                return context.get_dummy_value()

            return types.void(table, row), generate
