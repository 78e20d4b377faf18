"""Arguments that stand in memory, where a kernel finds them: no call need unpack them anew.

For calls that are many and short. To unpack an array takes Numba 40 ns, and a learner has 16.
"""

import struct
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types

_extending: Any = extending
_Tuple: Any = types.BaseTuple  # its parts can be gone through, which its own types do not say
WORD = ir.IntType(64)


class Standing(types.Type):
    """A tuple of some type that stands in memory: in the bytes that `laid` made."""

    def __init__(self, of: Any) -> None:
        self.of = of
        super().__init__(f"Standing({of})")

    @property
    def key(self) -> Any:
        """Types of the same key are one: the name of a tuple's type does not tell its class."""
        return self.of


@_extending.register_model(Standing)
class _Address(_extending.models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(8).as_pointer())


@_extending.unbox(Standing)
def _(_kind: Any, given: Any, context: Any) -> Any:
    return _extending.NativeValue(context.pyapi.bytes_as_string(given))


def laid(argument: Any) -> bytes:
    """The argument in words of eight bytes; what its arrays hold stays where it is."""
    if isinstance(argument, tuple):
        return b"".join(map(laid, argument))
    if isinstance(argument, np.ndarray):
        return laid((argument.ctypes.data, *argument.shape, *argument.strides))
    return struct.pack("d" if isinstance(argument, float) else "q", argument)


def _taken(_typing: Any, standing: Any) -> Any:
    """The tuple that stands there. Its arrays are borrowed: nobody counts references to them."""

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        place = iter(range(0, 2**16, 8))

        def word(kind: Any = WORD) -> Any:
            at = builder.gep(args[0], [WORD(next(place))])
            return builder.load(builder.bitcast(at, kind.as_pointer()))

        def value(kind: Any) -> Any:
            if isinstance(kind, _Tuple):
                return context.make_tuple(builder, kind, list(map(value, kind)))
            if isinstance(kind, types.Array):
                return _array(context, builder, kind, [word() for _ in range(1 + 2 * kind.ndim)])
            if isinstance(kind, types.Float):
                return word(ir.DoubleType())
            return context.cast(builder, word(), types.int64, kind)

        return value(standing.of)

    return standing.of(standing), codegen


def _array(context: Any, builder: Any, kind: Any, words: list[Any]) -> Any:
    from numba.np import arrayobj  # noqa: PLC0415 - slow to import, and needed only to compile

    make: Any = arrayobj
    address, *sizes = words
    array = make.make_array(kind)(context, builder)
    make.populate_array(
        array,
        builder.inttoptr(address, array.data.type),
        sizes[: kind.ndim],
        sizes[kind.ndim :],
        WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype))),
        None,
    )
    return array._getvalue()  # noqa: SLF001 - Numba has no other door


taken: Any = _extending.intrinsic(_taken)
