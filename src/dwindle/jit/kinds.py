"""Numba's types of what only our kernels have: rows of numbers and packed arguments."""

from typing import Any

from llvmlite import ir
from numba import extending, types

_extending: Any = extending


class Row(types.Type):
    """A row of n numbers in single or in double precision: see `vectors`."""

    def __init__(self, n: int, *, is_double: bool = False) -> None:
        self.n, self.is_double = n, is_double
        super().__init__(name=f"Row({n}{', double' if is_double else ''})")


@_extending.register_model(Row)
class _Vector(_extending.models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Row) -> None:
        element = ir.DoubleType() if kind.is_double else ir.FloatType()
        super().__init__(manager, kind, ir.VectorType(element, kind.n))


class Packed(types.Type):
    """A packed tuple: see `packed_args`. ``content`` is the type of the tuple itself."""

    def __init__(self, content: Any) -> None:
        self.content = content
        super().__init__(f"Packed({content})")

    @property
    def key(self) -> Any:
        """Tell types apart by content: the name of a tuple's type does not include its class."""
        return self.content


@_extending.register_model(Packed)
class _Pointer(_extending.models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.IntType(8).as_pointer())


@_extending.unbox(Packed)
def _(_kind: Any, given: Any, context: Any) -> Any:
    return _extending.NativeValue(context.pyapi.bytes_as_string(given))
