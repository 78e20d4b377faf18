"""Rows of numbers, one for each lane, that kernels keep in vector registers.

A row is a value of LLVM's type ``<n x float>`` or ``<n x double>``. LLVM does not find these by
itself: with the lanes written out as scalars, or as a loop, it uses one register for each number,
at two to five times the time. On a processor without such registers LLVM splits a row by itself.

A field of a record, of n numbers in single precision, is where a row comes from and goes to:
``row(cell, "lane")``, ``set_row(cell, "lane", v)``. Or a row has a number of each of four records:
``gathered(a, b, c, d, "norm")``, ``scattered(a, b, c, d, "norm", v)``. All arithmetic is rounded
after each operation, so it is the same on every machine, and in NumPy, which does it where there is
no compiler.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from dwindle.jit.deferred import Deferred, Later
from dwindle.jit.interpreted import JIT

ir, types, extending = Later("llvmlite.ir"), Later("numba.types"), Later("numba.extending")
kinds, cgutils = Later("dwindle.jit.kinds"), Later("numba.core.cgutils")
_F4, _I4 = np.float32, np.int32
FOUR = 4
_MANTISSA = 23  # bits of a single-precision number after its point


def _operation(generate: Callable[..., Any], in_python: Callable[..., Any]) -> Any:
    """Make a function that kernels can call."""
    make = functools.partial(_intrinsic, generate)
    return Deferred(generate, make) if JIT else in_python


def _intrinsic(generate: Callable[..., Any]) -> Any:
    return extending.intrinsic(prefer_literal=True)(generate)


def _float() -> Any:
    return ir.FloatType()


def _int() -> Any:
    return ir.IntType(32)


def _field(record: Any, name: Any) -> tuple[int, int]:
    """Return the offset of a record's field and its number of elements."""
    field = record.fields[name.literal_value]
    return field.offset, field.type.nitems


def _pointer(builder: Any, record: Any, offset: int, kind: Any) -> Any:
    byte = builder.bitcast(record, ir.IntType(8).as_pointer())
    return builder.bitcast(builder.gep(byte, [_int()(offset)]), kind.as_pointer())


def _row(_typing: Any, record: Any, name: Any) -> Any:
    offset, n = _field(record, name)

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind = ir.VectorType(_float(), n)
        return builder.load(_pointer(builder, args[0], offset, kind), align=4)

    return kinds.Row(n)(record, name), codegen


def _set_row(_typing: Any, record: Any, name: Any, v: Any) -> Any:
    offset, n = _field(record, name)

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind = ir.VectorType(_float(), n)
        builder.store(args[2], _pointer(builder, args[0], offset, kind), align=4)
        return context.get_dummy_value()

    return types.void(record, name, v), codegen


def _number(x: Any) -> Any:
    """Return the type in which a number is passed: single precision if it is, else double."""
    return types.float32 if x == types.float32 else types.float64


def _all_lanes(builder: Any, x: Any, kind: Any) -> Any:
    """Return the row of an LLVM type that has x, rounded if it is single, in all lanes."""
    n = kind.count
    one = x if x.type == kind.element else builder.fptrunc(x, kind.element)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), one, _int()(0))
    places = ir.Constant(ir.VectorType(_int(), n), [0] * n)
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), places)


def _filled(_typing: Any, v: Any, x: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return _all_lanes(builder, args[1], args[0].type)

    return v(v, _number(x)), codegen


def _with_number(operator: str) -> Callable[..., Any]:
    """Make the code of an operator of a row and a number."""

    def generate(_typing: Any, v: Any, x: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            v_type = args[0].type
            return getattr(builder, operator)(args[0], _all_lanes(builder, args[1], v_type))

        return v(v, _number(x)), codegen

    return generate


def _with_row(operator: str) -> Callable[..., Any]:
    """Make the code of an operator of two rows."""

    def generate(_typing: Any, v: Any, w: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return getattr(builder, operator)(*args)

        return v(v, w), codegen

    return generate


def _where_positive(_typing: Any, m: Any, v: Any, w: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        test, value, other = args
        zero = ir.Constant(ir.VectorType(_float(), m.n), [0.0] * m.n)
        return builder.select(builder.fcmp_ordered(">", test, zero), value, other)

    return v(m, v, w), codegen


def _shifted(_typing: Any, v: Any, k: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        bits = ir.VectorType(_int(), v.n)
        power = builder.shl(builder.bitcast(args[1], bits), ir.Constant(bits, [_MANTISSA] * v.n))
        return builder.bitcast(builder.add(builder.bitcast(args[0], bits), power), args[0].type)

    return v(v, k), codegen


def _all_within(_typing: Any, v: Any, limit: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        value, most = args[0], _all_lanes(builder, args[1], args[0].type)
        low = builder.fcmp_ordered(">=", value, builder.fneg(most))
        high = builder.fcmp_ordered("<=", value, most)
        lanes = builder.bitcast(builder.and_(low, high), ir.IntType(v.n))
        return builder.icmp_unsigned("==", lanes, ir.IntType(v.n)(2**v.n - 1))

    return types.boolean(v, _number(limit)), codegen


def _place_of_least(_typing: Any, v: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        least, step = args[0], v.n // 2
        while step:  # each lane becomes the lesser of itself and the one that is so far away
            places = ir.Constant(ir.VectorType(_int(), v.n), [(k + step) % v.n for k in range(v.n)])
            other = builder.shuffle_vector(least, least, places)
            least = builder.select(builder.fcmp_ordered("<", other, least), other, least)
            step //= 2
        lanes = builder.bitcast(builder.fcmp_ordered("==", args[0], least), ir.IntType(v.n))
        return builder.zext(builder.cttz(lanes, ir.IntType(1)(0)), ir.IntType(64))

    return types.int64(v), codegen


def _truncated(_typing: Any, v: Any, a: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        value, most = args
        least = builder.fneg(most)
        part = builder.select(builder.fcmp_ordered(">", value, least), value, least)
        part = builder.select(builder.fcmp_ordered("<", part, most), part, most)
        return builder.fsub(value, part)

    return v(v, a), codegen


def _within(_typing: Any, v: Any, w: Any, limit: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        value, other, most = args[0], args[1], _all_lanes(builder, args[2], args[0].type)
        low = builder.fcmp_ordered(">=", value, builder.fneg(most))
        high = builder.fcmp_ordered("<=", value, most)
        return builder.select(builder.and_(low, high), other, value)

    return v(v, w, _number(limit)), codegen


def _at_least(_typing: Any, v: Any, least: Any, w: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        value, limit, other = args
        high = builder.fcmp_ordered(">=", value, limit)
        low = builder.fcmp_ordered("<=", value, builder.fneg(limit))
        zero = ir.Constant(ir.VectorType(_float(), v.n), [0.0] * v.n)
        return builder.select(builder.or_(low, high), other, zero)

    return v(v, least, w), codegen


def _nonzero(_typing: Any, v: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        zero = ir.Constant(ir.VectorType(_float(), v.n), [0.0] * v.n)
        lanes = builder.bitcast(builder.fcmp_unordered("!=", args[0], zero), ir.IntType(v.n))
        return builder.zext(lanes, ir.IntType(64))

    return types.int64(v), codegen


def _four(builder: Any, elements: list[Any]) -> Any:
    v = ir.Constant(ir.VectorType(elements[0].type, FOUR), ir.Undefined)
    for k, element in enumerate(elements):
        v = builder.insert_element(v, element, _int()(k))
    return v


def _gathered(_typing: Any, a: Any, b: Any, c: Any, d: Any, name: Any) -> Any:
    field = a.fields[name.literal_value]

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind = context.get_data_type(field.type)
        places = [_pointer(builder, each, field.offset, kind) for each in args[:FOUR]]
        v = _four(builder, list(map(builder.load, places)))
        is_count = isinstance(field.type, types.Integer)
        return builder.uitofp(v, ir.VectorType(_float(), FOUR)) if is_count else v

    return kinds.Row(FOUR, is_double=field.type == types.float64)(a, b, c, d, name), codegen


def _scattered(_typing: Any, a: Any, b: Any, c: Any, d: Any, name: Any, v: Any) -> Any:
    field = a.fields[name.literal_value]

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        for k, each in enumerate(args[:FOUR]):
            x = builder.extract_element(args[-1], _int()(k))
            builder.store(x, _pointer(builder, each, field.offset, x.type))
        return context.get_dummy_value()

    return types.void(a, b, c, d, name, v), codegen


def _four_at(_typing: Any, array: Any, k: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = signature.args[0]
        parts = context.make_array(kind)(context, builder, args[0])

        def at(n: int) -> Any:
            place = [builder.add(args[1], args[1].type(n))]
            return cgutils.get_item_pointer(context, builder, kind, parts, place, wraparound=False)

        v = _four(builder, [builder.load(at(n)) for n in range(FOUR)])
        doubles = ir.VectorType(ir.DoubleType(), FOUR)
        return v if v.type == doubles else builder.fpext(v, doubles)

    return kinds.Row(FOUR, is_double=True)(array, k), codegen


def _element(_typing: Any, v: Any, k: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.extract_element(args[0], _int()(k.literal_value))

    return (types.float64 if v.is_double else types.float32)(v, k), codegen


def _converted(operator: str, *, is_double: bool) -> Callable[..., Any]:
    """Make the code that converts a row to another precision."""

    def generate(_typing: Any, v: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            element = ir.DoubleType() if is_double else _float()
            return getattr(builder, operator)(args[0], ir.VectorType(element, v.n))

        return kinds.Row(v.n, is_double=is_double)(v), codegen

    return generate


def _root(_typing: Any, v: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind, name = args[0].type, f"llvm.sqrt.v{v.n}f{64 if v.is_double else 32}"
        sqrt = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), name)
        return builder.call(sqrt, args)

    return v(v), codegen


def _all_between(_typing: Any, v: Any, low: Any, high: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        least, most = (_all_lanes(builder, x, args[0].type) for x in args[1:])
        above = builder.fcmp_ordered(">", args[0], least)
        below = builder.fcmp_ordered("<", args[0], most)
        lanes = builder.bitcast(builder.and_(above, below), ir.IntType(v.n))
        return builder.icmp_unsigned("==", lanes, ir.IntType(v.n)(2**v.n - 1))

    return types.boolean(v, _number(low), _number(high)), codegen


def _at_most(_typing: Any, v: Any, limit: Any) -> Any:
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        most = _all_lanes(builder, args[1], args[0].type)
        return builder.select(builder.fcmp_ordered("<", args[0], most), args[0], most)

    return v(v, _number(limit)), codegen


def _summed(_typing: Any, first: Any, v: Any) -> Any:  # noqa: ARG001 - Numba counts the parameters
    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        total = args[0]
        for k in range(v.n):
            total = builder.fadd(total, builder.extract_element(args[1], _int()(k)))
        return total

    return types.float64(types.float64, v), codegen


def _gathered_in_python(*args: Any) -> Any:
    *records, name = args
    found = np.array([each.record[name] for each in records])
    return found if found.dtype == np.float64 else found.astype(_F4)


def _scattered_in_python(*args: Any) -> None:
    *records, name, v = args
    for record, x in zip(records, v, strict=True):
        record.record[name] = x


def _truncated_in_python(v: Any, a: Any) -> Any:
    part = np.where(v > -a, v, -a)
    return v - np.where(part < a, part, a)


def _set_in_python(record: Any, name: str, v: Any) -> None:
    record.record[name] = v


row = _operation(_row, lambda record, name: np.array(record.record[name]))
set_row = _operation(_set_row, _set_in_python)
filled = _operation(_filled, lambda v, x: np.full_like(v, _F4(x)))  # x in as many lanes as v has
times = _operation(_with_number("fmul"), lambda v, x: v * v.dtype.type(x))  # v x, for a number x
added = _operation(_with_number("fadd"), lambda v, x: v + v.dtype.type(x))  # v + x, for a number x
product = _operation(_with_row("fmul"), lambda v, w: v * w)  # lane by lane, as all that follow
quotient = _operation(_with_row("fdiv"), lambda v, w: v / w)
plus = _operation(_with_row("fadd"), lambda v, w: v + w)
where_positive = _operation(  # v where m is above 0, elsewhere w
    _where_positive, lambda m, v, w: np.where(m > 0, v, w)
)
shifted = _operation(  # v times 2 to the power of the integer in the last bits of k
    _shifted, lambda v, k: (v.view(_I4) + (k.view(_I4) << _I4(_MANTISSA))).view(_F4)
)
truncated = _operation(_truncated, _truncated_in_python)  # v - clip(v, -a, a), which is T1
within = _operation(  # w where |v| is at most the limit, elsewhere v
    _within, lambda v, w, limit: np.where(np.abs(v) <= v.dtype.type(limit), w, v)
)
where_at_least = _operation(  # w where |v| is at least the limit, which is 0 or more; elsewhere 0
    _at_least, lambda v, least, w: np.where((v >= least) | (v <= -least), w, _F4(0))
)
nonzero = _operation(  # the lanes where v is not 0, as bits, that of the first lane lowest
    _nonzero, lambda v: sum(1 << k for k in np.flatnonzero(v).tolist())
)
all_within = _operation(  # whether |v| is at most the limit in every lane
    _all_within, lambda v, limit: bool(((v >= -_F4(limit)) & (v <= _F4(limit))).all())
)
place_of_least = _operation(_place_of_least, lambda v: int(v.argmin()))  # the first of equals
gathered = _operation(_gathered, _gathered_in_python)  # a field of four records; counts as single
scattered = _operation(_scattered, _scattered_in_python)
four_at = _operation(  # the four numbers of an array from k on, as doubles
    _four_at, lambda x, k: np.asarray(x)[int(k) : int(k) + FOUR].astype(np.float64)
)
element = _operation(_element, lambda v, k: v[k])
as_doubles = _operation(_converted("fpext", is_double=True), lambda v: v.astype(np.float64))
as_singles = _operation(_converted("fptrunc", is_double=False), lambda v: v.astype(_F4))
root = _operation(_root, np.sqrt)
all_between = _operation(  # whether v is above one number and below another in every lane
    _all_between, lambda v, low, high: bool(((v > _F4(low)) & (v < _F4(high))).all())
)
at_most = _operation(  # v, or the limit where that is less
    _at_most, lambda v, limit: np.where(v < v.dtype.type(limit), v, v.dtype.type(limit))
)
summed = _operation(_summed, lambda first, v: sum(v, first))  # first + v[0] + v[1] + ..., in order
