"""The only door to numba: decorators with one set of options each.

``jit`` keeps strict arithmetic because a choice may hang on the last bit, and
``error_model="numpy"`` makes a division by zero give infinity, as it does under
``NUMBA_DISABLE_JIT=1``. ``jit_fused`` also lets a product and a sum become one instruction, and
``jit_relaxed`` lets a sum be taken in another order, so that loops over many numbers fill the
width of the machine: the bits are still the same on one machine, whatever the number of threads,
and a choice that rests on such sums takes a tolerance. ``prefetch`` asks for a row of a table
before it is needed; it changes no result.
"""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numba

__all__ = ["jit", "jit_fused", "jit_relaxed", "prefetch"]

F = TypeVar("F", bound=Callable[..., object])

if TYPE_CHECKING:

    def jit(function: F) -> F:
        """Compile ``function`` on first call and keep the result on disk."""
        ...

    jit_fused = jit_relaxed = jit

    def prefetch(table: Any, row: int) -> None:
        """Ask for a row of a C-contiguous table, to be written soon."""
        ...

else:
    jit = functools.partial(numba.njit, cache=True, error_model="numpy", nogil=True)
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
