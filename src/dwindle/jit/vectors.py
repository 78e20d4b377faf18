"""Rows of single-precision numbers, one for each lane, that kernels keep in vector registers.

A row is a value of LLVM's type ``<n x float>``. LLVM does not find these by itself: with the lanes
written out as scalars, or as a loop, it uses one register for each number, at two to five times the
time. On a processor without such registers LLVM splits a row by itself.

A field of a record, of n numbers in single precision, is where a row comes from and goes to:
``row(cell, "lane")``, ``set_row(cell, "lane", v)``. All arithmetic is rounded after each operation,
so it is the same on every machine, and in NumPy, which does it where there is no compiler.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

from dwindle.jit.interpreted import JIT

_FLOAT, _INT = ir.FloatType(), ir.IntType(32)
_F4, _F8 = np.float32, np.float64


class _Row(types.Type):
    """Numba's type of a row."""

    def __init__(self, n: int) -> None:
        self.n = n
        super().__init__(name=f"Row({n})")


@register_model(_Row)
class _RowModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: _Row) -> None:
        super().__init__(manager, kind, ir.VectorType(_FLOAT, kind.n))


def _operation(generate: Callable[..., Any], in_python: Callable[..., Any]) -> Any:
    """Make a function that kernels can call."""
    return intrinsic(prefer_literal=True)(generate) if JIT else in_python


def _field(record: Any, name: Any) -> tuple[int, int]:
    """Return the offset of a record's field and its number of elements."""
    field = record.fields[name.literal_value]
    return field.offset, field.type.nitems


def _pointer(builder: Any, record: Any, offset: int, kind: Any) -> Any:
    byte = builder.bitcast(record, ir.IntType(8).as_pointer())
    return builder.bitcast(builder.gep(byte, [_INT(offset)]), kind.as_pointer())


def _row(_typing: Any, record: Any, name: Any) -> Any:
    offset, n = _field(record, name)

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind = ir.VectorType(_FLOAT, n)
        return builder.load(_pointer(builder, args[0], offset, kind), align=4)

    return _Row(n)(record, name), codegen


def _set_row(_typing: Any, record: Any, name: Any, v: Any) -> Any:
    offset, n = _field(record, name)

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind = ir.VectorType(_FLOAT, n)
        builder.store(args[2], _pointer(builder, args[0], offset, kind), align=4)
        return context.get_dummy_value()

    return types.void(record, name, v), codegen


def _all_lanes(builder: Any, x: Any, n: int) -> Any:
    """Return the row that has x, a double rounded to single precision, in all lanes."""
    kind = ir.VectorType(_FLOAT, n)
    one = builder.fptrunc(x, _FLOAT)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), one, _INT(0))
    places = ir.Constant(ir.VectorType(_INT, n), [0] * n)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), places)


def _times(_typing: Any, v: Any, x: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fmul(args[0], _all_lanes(builder, args[1], v.n))

    return v(v, types.float64), codegen


def _product(_typing: Any, v: Any, w: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fmul(*args)

    return v(v, w), codegen


def _plus(_typing: Any, v: Any, w: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fadd(*args)

    return v(v, w), codegen


def _truncated(_typing: Any, v: Any, a: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        value, most = args
        least = builder.fneg(most)
        part = builder.select(builder.fcmp_ordered(">", value, least), value, least)
        part = builder.select(builder.fcmp_ordered("<", part, most), part, most)
        return builder.fsub(value, part)

    return v(v, a), codegen


def _within(_typing: Any, v: Any, w: Any, limit: Any) -> Any:  # noqa: ARG001 - as above
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        value, other, most = args[0], args[1], _all_lanes(builder, args[2], v.n)
        low = builder.fcmp_ordered(">=", value, builder.fneg(most))
        high = builder.fcmp_ordered("<=", value, most)
        return builder.select(builder.and_(low, high), other, value)

    return v(v, w, types.float64), codegen


def _both(_typing: Any, v: Any, w: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        zero = ir.Constant(ir.VectorType(_FLOAT, v.n), [0.0] * v.n)
        one, other = (builder.fcmp_unordered("!=", each, zero) for each in args)
        lanes = builder.bitcast(builder.and_(one, other), ir.IntType(v.n))
        return builder.icmp_unsigned("!=", lanes, ir.IntType(v.n)(0))

    return types.boolean(v, w), codegen


def _truncated_in_python(v: Any, a: Any) -> Any:
    part = np.where(v > -a, v, -a)
    return v - np.where(part < a, part, a)


def _set_in_python(record: Any, name: str, v: Any) -> None:
    record.record[name] = v


row = _operation(_row, lambda record, name: np.array(record.record[name]))
set_row = _operation(_set_row, _set_in_python)
times = _operation(_times, lambda v, x: v * _F4(x))  # v x, for a number x
product = _operation(_product, lambda v, w: v * w)  # lane by lane, as all that follow
plus = _operation(_plus, lambda v, w: v + w)
truncated = _operation(_truncated, _truncated_in_python)  # v - clip(v, -a, a), which is T1
within = _operation(  # w where |v| is at most the limit, elsewhere v
    _within, lambda v, w, limit: np.where((v >= -_F4(limit)) & (v <= _F4(limit)), w, v)
)
some = _operation(  # whether there is a lane where neither is 0
    _both, lambda v, w: bool(((v != 0) & (w != 0)).any())
)
