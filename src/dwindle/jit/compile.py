"""Compiling with Numba: kernels, the helpers they call, dispatch by class and cache stamps."""

import functools
import sys
import types as pytypes
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numba.core import event
from numba.extending import overload

from dwindle._base.dispatch import all_bodies, bodies

try:
    from dwindle.jit.disk_cache import Store
except ImportError:  # a Numba whose internals we do not know: its own cache works, only slower
    # The name is ours where it can be, and its base's where not.
    from numba.core.caching import FunctionCache as Store  # type: ignore[assignment]

_FOREIGN = {"numba", "numpy", "llvmlite"} | sys.stdlib_module_names  # never edited by a user

_CONSTANT = (bool, int, float, str, bytes, tuple, np.generic, np.ndarray)

# A function that kernels call. It has no disk cache of its own: its code is in the kernels' caches.
helper = njit(nogil=True, error_model="numpy")
# A helper in an inner loop: LLVM would rather call it, through memory, when it is not small.
inlined = njit(nogil=True, error_model="numpy", forceinline=True)


class Kernel:
    """A loop that is compiled when first called, once per combination of ingredients.

    Compiled code is cached on disk under a name that holds a digest of every file it was compiled
    from: the kernel's own, and those of all functions, generics and intrinsics that it reaches.
    Numba itself looks only at the kernel's own file before it trusts its cache. (The digest could
    also be the default of a parameter, but Numba looks up a call that leaves out an argument anew
    each time: 40 us and more.)
    """

    def __init__(self, function: pytypes.FunctionType, *, nogil: bool) -> None:
        self.function = function
        self._compile: Any = njit(nogil=nogil, error_model="numpy")
        self._made: dict[tuple[type, ...], Any] = {}
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        """Run the loop, whose code depends on no ingredient."""
        return self.of()(*args)

    def of(self, *ingredients: object) -> Any:
        """Return Numba's dispatcher for ingredients of these classes."""
        classes = tuple(map(type, ingredients))
        if classes not in self._made:
            self._made[classes] = self._compiled(classes)
        return self._made[classes]

    def compiled(self) -> list[Any]:
        """List the dispatchers made so far, for tests that look into them."""
        return list(self._made.values())

    def _compiled(self, classes: tuple[type, ...]) -> Any:
        f = self.function
        clone = pytypes.FunctionType(
            f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__
        )
        clone.__qualname__ = f"{f.__qualname__}_{stamp(f, *classes)[:16]}"
        clone.__module__, clone.__doc__ = f.__module__, f.__doc__
        dispatcher = self._compile(clone)
        dispatcher._cache = Store(dispatcher.py_func)  # noqa: SLF001  (Numba has no other door)
        return dispatcher


def kernel(function: Callable[..., Any] | None = None, *, nogil: bool = True) -> Any:
    """Decorate a loop that Python calls; see `Kernel`.

    ``nogil=False`` is for loops that use Python objects, or that are so short that releasing the
    interpreter's lock and waiting for it again would take longer.
    """
    if function is None:
        return functools.partial(kernel, nogil=nogil)
    assert isinstance(function, pytypes.FunctionType)
    return Kernel(function, nogil=nogil)


def stamp(function: pytypes.FunctionType, *classes: type) -> str:
    """Digest the source of all code that a kernel reaches for ingredients of these classes.

    That is the files of all functions and the values of all constants. A generic leads to the
    bodies of dwindle's own classes and to those of ``classes``, so that the digest does not depend
    on what else a user has imported.
    """
    reached = _reached(function, classes)
    parts = {_digest_of(Path(__file__)), *map(_source, reached), *map(_constants, reached)}
    return sha256(b"".join(sorted(parts))).hexdigest()


def _reached(
    function: pytypes.FunctionType, classes: tuple[type, ...]
) -> set[pytypes.FunctionType]:
    found: set[pytypes.FunctionType] = set()
    waiting = [function, *(body for cls in classes for body in all_bodies(cls))]
    while waiting:
        f = waiting.pop()
        if f not in found:
            found.add(f)
            waiting += _called_by(f, classes)
    return found


def _called_by(
    f: pytypes.FunctionType, classes: tuple[type, ...]
) -> Iterator[pytypes.FunctionType]:
    """Yield the functions that the names in a function's code stand for."""
    cells = [cell.cell_contents for cell in f.__closure__ or ()]
    for value in (*(f.__globals__.get(name) for name in _names(f.__code__)), *cells):
        known = bodies(value)
        if known is not None:
            yield from (b for c, b in known.items() if c in classes or _is_ours(c))
            continue
        for attribute in ("py_func", "function", "_defn"):  # of a helper, a kernel, an intrinsic
            inner = getattr(value, attribute, value)
            if isinstance(inner, pytypes.FunctionType) and _package(inner) not in _FOREIGN:
                yield inner


def _names(code: pytypes.CodeType) -> Iterator[str]:
    """Yield the names in a function's code and in the functions within it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, pytypes.CodeType):
            yield from _names(constant)


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def _package(f: pytypes.FunctionType) -> str:
    return f.__module__.partition(".")[0]


@functools.cache
def _source(f: pytypes.FunctionType) -> bytes:
    """Digest the file a function stands in, or, in a notebook, its code.

    Read once: an edit has no effect on a function that was already imported.
    """
    file = Path(f.__code__.co_filename)
    if file.is_file():
        return _digest_of(file)
    code = f.__code__
    return sha256(code.co_code + repr((code.co_consts, code.co_names)).encode()).digest()


def _constants(f: pytypes.FunctionType) -> bytes:
    """Digest the numbers and texts that a function's names stand for."""
    found = ((name, f.__globals__.get(name)) for name in sorted(set(_names(f.__code__))))
    said = (f"{name}={value!r}" for name, value in found if isinstance(value, _CONSTANT))
    return sha256(" ".join(said).encode()).digest()


@functools.cache
def _digest_of(file: Path) -> bytes:
    return sha256(file.read_bytes()).digest()


def teach(*generics: Callable[..., Any]) -> None:
    """Let Numba choose the body of each generic by the class of its first argument."""
    for generic in generics:
        known = bodies(generic)
        assert known is not None
        overload(generic, strict=False)(_chooser(known))


def _chooser(known: Mapping[type, Callable[..., Any]]) -> Callable[..., Any]:
    def choose(chosen: Any, *_: Any) -> Callable[..., Any] | None:
        return known.get(getattr(chosen, "instance_class", type(None)))

    return choose


class _Once(event.Listener):
    def __init__(self, tell: Callable[[], object]) -> None:
        self._tell = [tell]

    def on_start(self, _event: Any) -> None:
        if self._tell:  # Numba compiles in one thread at a time, so no other is here
            self._tell.pop()()

    def on_end(self, _event: Any) -> None:
        pass


def before_compiling(tell: Callable[[], object]) -> None:
    """Call ``tell`` before the first code that is compiled rather than loaded from the cache."""
    event.register("numba:compile", _Once(tell))
