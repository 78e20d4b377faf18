"""Numba, in one place: how a kernel is compiled, specialised by class, cached and prefetched."""

import types as pytypes
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from dwindle.registry import bodies, sources

# What every kernel is made of whatever its ingredients. `sources` adds the ingredients' own files.
_ALWAYS = sha256(
    b"".join((Path(__file__).parent / f).read_bytes() for f in ("_jit.py", "kernels.py"))
)

compiled = njit(cache=True, nogil=True, error_model="numpy")
# What a kernel calls. It has no cache of its own, which would go stale unnoticed when what it calls
# in turn is edited: its code is in the cache of the kernels.
helper = njit(nogil=True, error_model="numpy")
# A helper in an inner loop: LLVM would rather call it, through memory, when it is not small.
inlined = njit(nogil=True, error_model="numpy", forceinline=True)


def teach(*generics: Callable[..., Any]) -> None:
    """Let Numba choose the body of each generic by the class of its first argument."""
    for generic in generics:
        overload(generic, strict=False)(_chooser(bodies(generic)))


def _chooser(known: dict[type, Callable[..., Any]]) -> Callable[..., Any]:
    def choose(chosen: Any, *_: Any) -> Callable[..., Any] | None:
        return known.get(getattr(chosen, "instance_class", type(None)))

    return choose


class Kernel:
    """A loop that is compiled once for each combination of ingredients and cached on disk.

    Numba re-reads a kernel's own file before trusting its cache, but not the files the kernel
    calls into. So the last parameter of every kernel is ``stamp``, and its default a digest of all
    the code that goes in: a default is part of the compiled signature.
    """

    def __init__(self, function: pytypes.FunctionType) -> None:
        self.function = function
        self._stamped: dict[int, Callable[..., Any]] = {}
        self.__doc__ = function.__doc__

    def of(self, *ingredients: object) -> Callable[..., Any]:
        """The compiled loop for ingredients of these classes."""
        digest = sha256(_ALWAYS.digest() + sources(*ingredients)).hexdigest()
        stamp = int(digest[:15], 16)  # an int: a str default would cost 7 us a call
        if stamp not in self._stamped:
            f = self.function
            clone = pytypes.FunctionType(
                f.__code__, f.__globals__, f.__name__, (stamp,), f.__closure__
            )
            clone.__qualname__, clone.__module__ = f.__qualname__, f.__module__
            self._stamped[stamp] = compiled(clone)
        return self._stamped[stamp]

    def compiled(self) -> list[Any]:
        """Numba's dispatchers made so far, for looking into them."""
        return list(self._stamped.values())


def kernel(function: Callable[..., Any]) -> Kernel:
    """Decorates a loop; see `Kernel`."""
    assert isinstance(function, pytypes.FunctionType)
    return Kernel(function)


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


prefetch: Any = _prefetch  # called with the array and the index; Numba adds the first argument
