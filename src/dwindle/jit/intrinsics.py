"""LLVM instructions that Numba does not offer: unaligned loads and stores, bit counts, prefetch."""

import functools
from typing import Any

from llvmlite import ir
from numba import float64, int64, types, uint64
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
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


@intrinsic
def _leading_zeros(_typing: Any, w: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
    """How many bits of ``w`` stand above its highest set one, 64 if none is set."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.IntType(1)(0))

    return types.int64(types.uint64), codegen


def _load(width: int, result: Any) -> Any:
    """A function from an address, which need not be aligned, to what stands there."""

    def load(_typing: Any, address: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            kind = ir.IntType(width) if result is not float64 else ir.DoubleType()
            found = builder.load(builder.inttoptr(args[0], kind.as_pointer()), align=1)
            return builder.zext(found, ir.IntType(64)) if width < 64 else found

        return result(types.int64), codegen

    return intrinsic(load)


def _store(width: int) -> Any:
    """A function that puts a number at an address."""

    def store(_typing: Any, address: Any, value: Any) -> Any:  # noqa: ARG001 - as above
        def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            kind = ir.IntType(width)
            value = builder.trunc(args[1], kind) if width < 64 else args[1]
            builder.store(value, builder.inttoptr(args[0], kind.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.uint64), codegen

    return intrinsic(store)


def _lowest_bit(_typing: Any, w: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
    """Which bit of ``w`` is the lowest set, 64 if none is."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(0))

    return types.int64(types.uint64), codegen


def mask_of(up_to: int | None, *sought: int) -> Any:
    """A function from an address to 64 bits: which of the 64 bytes there are the ones sought.

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

        return uint64(types.int64), codegen

    return intrinsic(mask)


def _set_bits(_typing: Any, w: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
    """How many bits of ``w`` are set."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


def _pointer(kind: Any, width: Any) -> Any:
    """A function from an address to a pointer, as `carray` wants one."""

    def point(_typing: Any, address: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], width.as_pointer())

        return types.CPointer(kind)(types.int64), codegen

    return intrinsic(point)


leading_zeros: Any = _leading_zeros
prefetch: Any = _prefetch  # called with the array and the index; Numba adds the first argument
lowest: Any = intrinsic(_lowest_bit)
n_set: Any = intrinsic(_set_bits)
put = _store(8)
put_word = _store(64)
byte = _load(8, int64)
half = _load(32, uint64)
word = _load(64, uint64)
double = _load(64, float64)
words = _pointer(types.uint64, ir.IntType(64))
singles = _pointer(types.float32, ir.FloatType())
