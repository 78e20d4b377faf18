"""LLVM instructions that Numba does not offer: unaligned loads and stores, bit counts, prefetch.

Each comes with the same in Python, for kernels that run without a compiler.
"""

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dwindle.jit.deferred import Deferred, Later
from dwindle.jit.interpreted import JIT

ir, types = Later("llvmlite.ir"), Later("numba.types")
cgutils, extending = Later("numba.core.cgutils"), Later("numba.extending")


def _instruction(generate: Callable[..., Any], in_python: Callable[..., Any]) -> Any:
    """Make a function that kernels can call."""
    return Deferred(generate, lambda: extending.intrinsic(generate)) if JIT else in_python


def _prefetch(_typing: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of ``array[index]``; changes nothing else."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = signature.args[0]
        parts = context.make_array(kind)(context, builder, args[0])
        pointer = cgutils.get_item_pointer(
            context, builder, kind, parts, [args[1]], wraparound=False
        )
        i32, byte = ir.IntType(32), ir.IntType(8).as_pointer()
        ask = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32]),
            "llvm.prefetch.p0i8",
        )
        for_writing, keep_close, data = i32(1), i32(3), i32(1)
        builder.call(ask, [builder.bitcast(pointer, byte), for_writing, keep_close, data])
        return context.get_dummy_value()

    return types.void(array, index), codegen


def _leading_zeros(_typing: Any, w: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
    """Count the bits of ``w`` above its highest set one; 64 if none is set."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.IntType(1)(0))

    return types.int64(types.uint64), codegen


def _lowest_bit(_typing: Any, w: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
    """Return the number of the lowest set bit of ``w``; 64 if none is set."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(0))

    return types.int64(types.uint64), codegen


def _set_bits(_typing: Any, w: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
    """Count the set bits of ``w``."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


def _expect(expected: bool) -> Any:
    """Make a function that returns a condition, and tells LLVM what it most often is.

    LLVM keeps in registers what the likely path needs. It takes loops to be likely otherwise, even
    those that handle a rare case.
    """

    def expect(_typing: Any, condition: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            bit = ir.IntType(1)
            told = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(bit, [bit, bit]), "llvm.expect.i1"
            )
            return builder.call(told, [args[0], bit(expected)])

        return types.boolean(types.boolean), codegen

    return _instruction(expect, bool)


def _load(result: str, c_type: Any, in_python: Any) -> Any:
    """Make a function that loads a number from an address, which need not be aligned."""

    def load(_typing: Any, address: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            width = 8 * ctypes.sizeof(c_type)
            kind = ir.DoubleType() if result == "float64" else ir.IntType(width)
            found = builder.load(builder.inttoptr(args[0], kind.as_pointer()), align=1)
            return builder.zext(found, ir.IntType(64)) if width < 64 else found

        return getattr(types, result)(types.int64), codegen

    return _instruction(load, lambda at: in_python(c_type.from_address(int(at)).value))


def _store(width: int, c_type: Any) -> Any:
    """Make a function that stores the last bits of a number at an address."""

    def store(_typing: Any, address: Any, value: Any) -> Any:  # noqa: ARG001 - as above
        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            kind = ir.IntType(width)
            value = builder.trunc(args[1], kind) if width < 64 else args[1]
            builder.store(value, builder.inttoptr(args[0], kind.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.uint64), codegen

    def in_python(address: int, value: int) -> None:
        c_type.from_address(int(address)).value = int(value) & (2**width - 1)

    return _instruction(store, in_python)


def mask_of(up_to: int | None, *sought: int) -> Any:
    """Make a function from an address to 64 bits: which of the 64 bytes there are sought.

    Those are all bytes ``up_to`` one, and the others named. LLVM makes it a compare or two.
    """

    def mask(_typing: Any, address: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            kind = ir.VectorType(ir.IntType(8), 64)
            found = builder.load(builder.inttoptr(args[0], kind.as_pointer()), align=1)
            all_of = {c: ir.Constant(kind, [c] * 64) for c in (up_to or 0, *sought)}
            tests = [builder.icmp_unsigned("==", found, all_of[c]) for c in sought]
            if up_to is not None:
                tests.append(builder.icmp_unsigned("<=", found, all_of[up_to]))
            return builder.bitcast(functools.reduce(builder.or_, tests), ir.IntType(64))

        return types.uint64(types.int64), codegen

    wanted = {*sought, *range(-1 if up_to is None else up_to + 1)}

    def in_python(address: int) -> Any:
        found = ctypes.string_at(int(address), 64)
        return np.uint64(sum(1 << i for i, c in enumerate(found) if c in wanted))

    return _instruction(mask, in_python)


def _pointer(kind: str, c_type: Any) -> Any:
    """Make a function from an address to a pointer, which `carray` takes."""

    def point(_typing: Any, address: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            element = ir.FloatType() if kind == "float32" else ir.IntType(64)
            return builder.inttoptr(args[0], element.as_pointer())

        return types.CPointer(getattr(types, kind))(types.int64), codegen

    return _instruction(point, lambda at: ctypes.cast(int(at), ctypes.POINTER(c_type)))


prefetch = _instruction(_prefetch, lambda _array, _index: None)
leading_zeros = _instruction(_leading_zeros, lambda w: 64 - int(w).bit_length())
lowest = _instruction(_lowest_bit, lambda w: (int(w) & -int(w)).bit_length() - 1 if w else 64)
n_set = _instruction(_set_bits, lambda w: int(w).bit_count())
unlikely = _expect(expected=False)
put = _store(8, ctypes.c_uint8)
put_word = _store(64, ctypes.c_uint64)
byte = _load("int64", ctypes.c_uint8, np.int64)
half = _load("uint64", ctypes.c_uint32, np.uint64)
word = _load("uint64", ctypes.c_uint64, np.uint64)
double = _load("float64", ctypes.c_double, np.float64)
words = _pointer("uint64", ctypes.c_uint64)
singles = _pointer("float32", ctypes.c_float)


def _carray_in_python(pointer: Any, n: int) -> Any:
    return np.ctypeslib.as_array(pointer, (int(n),))


# Numba's array of the elements at a pointer.
carray: Any = (
    Deferred(None, lambda: Later("numba.np.numpy_support").carray) if JIT else _carray_in_python
)


def c_function(name: str, result: str, *given: str) -> Any:
    """Make a C function of this process callable in kernels, by the names of its types."""

    def make() -> Any:
        kinds = [getattr(types, kind) for kind in given]
        return types.ExternalFunction(name, getattr(types, result)(*kinds))

    return Deferred(None, make)
