"""A kernel's fixed arguments, packed into one bytes object.

For kernels that are called often and do little: Numba takes 40 ns to unpack an array, and learning
from one example needs some twenty. Packed, they are one argument, and cost a few loads.
"""

import struct
from typing import Any

import numpy as np

from dwindle.jit.deferred import Deferred, Later

ir, types, extending = Later("llvmlite.ir"), Later("numba.types"), Later("numba.extending")


def pack(argument: Any) -> bytes:
    """Write an argument in words of eight bytes.

    Of an array these are its address, shape and strides: the caller must keep it alive.
    """
    if isinstance(argument, tuple):
        return b"".join(map(pack, argument))
    if isinstance(argument, np.ndarray):
        return pack((argument.ctypes.data, *argument.shape, *argument.strides))
    return struct.pack("d" if isinstance(argument, float) else "q", argument)


def _unpack(_typing: Any, packed: Any) -> Any:
    """Read the tuple that `pack` wrote. Its arrays are borrowed: no references are counted."""
    word_type = ir.IntType(64)

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        offset = iter(range(0, 2**16, 8))

        def word(kind: Any = word_type) -> Any:
            at = builder.gep(args[0], [word_type(next(offset))])
            return builder.load(builder.bitcast(at, kind.as_pointer()))

        def value(kind: Any) -> Any:
            if isinstance(kind, types.BaseTuple):
                return context.make_tuple(builder, kind, list(map(value, kind)))
            if isinstance(kind, types.Array):
                return _array(context, builder, kind, [word() for _ in range(1 + 2 * kind.ndim)])
            if isinstance(kind, types.Float):
                return word(ir.DoubleType())
            return context.cast(builder, word(), types.int64, kind)

        return value(packed.content)

    return packed.content(packed), codegen


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
        ir.IntType(64)(context.get_abi_sizeof(context.get_data_type(kind.dtype))),
        None,
    )
    return array._getvalue()  # noqa: SLF001 - Numba has no public function for it


unpack = Deferred(_unpack, lambda: extending.intrinsic(_unpack))


def signature(*kinds: str, packed: Any) -> tuple[Any, ...]:
    """Return the types of arguments of these names, and of one that is packed."""
    numba = Later("numba")
    content = Later("dwindle.jit.kinds").Packed(numba.typeof(packed))
    return (*(getattr(types, kind) for kind in kinds), content)
