"""Numba, in one place: how a kernel is compiled, specialised by class, cached and prefetched."""

import types as pytypes
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils, event
from numba.extending import intrinsic, overload

from dwindle._base.dispatch import bodies, sources

try:
    from dwindle.jit.disk_cache import Store
except ImportError:  # a Numba whose inside is other than the one we know: its own way is slower
    # The name is ours where it can be, and its base's where not.
    from numba.core.caching import FunctionCache as Store  # type: ignore[assignment]

_HERE = Path(__file__)
_OURS = b"".join(_HERE.with_name(name).read_bytes() for name in (_HERE.name, "disk_cache.py"))


def compiled(function: Callable[..., Any]) -> Any:
    """A kernel: compiled when first called, or taken from the cache.

    It runs without the interpreter's lock.
    """
    return _cached(njit(nogil=True, error_model="numpy")(function))


def locked(function: Callable[..., Any]) -> Any:
    """A kernel that keeps the interpreter's lock, and so may use its objects."""
    return _cached(njit(error_model="numpy")(function))


def _cached(kernel: Any) -> Any:
    kernel._cache = Store(kernel.py_func)  # noqa: SLF001  (Numba has no other door for it)
    return kernel


# What a kernel calls. It has no cache of its own, which would go stale unnoticed when what it calls
# in turn is edited: its code is in the cache of the kernels.
helper = njit(nogil=True, error_model="numpy")
# A helper in an inner loop: LLVM would rather call it, through memory, when it is not small.
inlined = njit(nogil=True, error_model="numpy", forceinline=True)


class _Once(event.Listener):
    def __init__(self, tell: Callable[[], object]) -> None:
        self._tell = [tell]

    def on_start(self, _event: Any) -> None:
        if self._tell:  # Numba compiles in one thread at a time, so no other is here
            self._tell.pop()()

    def on_end(self, _event: Any) -> None:
        pass


def before_compiling(tell: Callable[[], object]) -> None:
    """``tell`` is called before the first code that is compiled and not taken from the cache."""
    event.register("numba:compile", _Once(tell))


def teach(*generics: Callable[..., Any]) -> None:
    """Let Numba choose the body of each generic by the class of its first argument."""
    for generic in generics:
        overload(generic, strict=False)(_chooser(bodies(generic)))


def _chooser(known: dict[type, Callable[..., Any]]) -> Callable[..., Any]:
    def choose(chosen: Any, *_: Any) -> Callable[..., Any] | None:
        return known.get(getattr(chosen, "instance_class", type(None)))

    return choose


def _stamped(function: pytypes.FunctionType, *code: bytes, compile_: Any = compiled) -> Any:
    """The function compiled, with a digest of ``code`` in the name that its cache goes by.

    Numba re-reads a kernel's own file before trusting its cache on disk, but not the files that the
    kernel calls into. (The digest could be the default of a parameter too, but Numba looks up a
    call that leaves out an argument anew each time: 40 us and more.)
    """
    f = function
    clone = pytypes.FunctionType(
        f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__
    )
    digest = sha256(_OURS + b"".join(code)).hexdigest()
    clone.__qualname__, clone.__module__ = f"{f.__qualname__}_{digest[:16]}", f.__module__
    clone.__doc__ = f.__doc__
    return compile_(clone)


def compiled_with(*files: Path) -> Callable[[Callable[..., Any]], Any]:
    """Decorates a kernel whose helpers stand in these files."""
    code = [file.read_bytes() for file in files]

    def compile_with(function: Callable[..., Any]) -> Any:
        assert isinstance(function, pytypes.FunctionType)
        return _stamped(function, *code)

    return compile_with


class Kernel:
    """A loop that is compiled once for each combination of ingredients and cached on disk."""

    def __init__(
        self, function: pytypes.FunctionType, *files: Path, compile_: Any = compiled
    ) -> None:
        self.function = function
        own = Path(function.__code__.co_filename)
        self._own = b"".join(file.read_bytes() for file in (own, *files))
        self._compile = compile_
        self._made: dict[bytes, Callable[..., Any]] = {}
        self.__doc__ = function.__doc__

    def of(self, *ingredients: object) -> Callable[..., Any]:
        """The compiled loop for ingredients of these classes."""
        code = sources(*ingredients)
        if code not in self._made:
            self._made[code] = _stamped(self.function, self._own, code, compile_=self._compile)
        return self._made[code]

    def compiled(self) -> list[Any]:
        """Numba's dispatchers made so far, for looking into them."""
        return list(self._made.values())


def kernel(function: Callable[..., Any]) -> Kernel:
    """Decorates a loop; see `Kernel`."""
    assert isinstance(function, pytypes.FunctionType)
    return Kernel(function)


def locked_kernel(*files: Path) -> Callable[[Callable[..., Any]], Kernel]:
    """Decorates a loop that uses the interpreter's objects; its helpers stand in these files."""

    def make(function: Callable[..., Any]) -> Kernel:
        assert isinstance(function, pytypes.FunctionType)
        return Kernel(function, *files, compile_=locked)

    return make


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


leading_zeros: Any = _leading_zeros
prefetch: Any = _prefetch  # called with the array and the index; Numba adds the first argument
