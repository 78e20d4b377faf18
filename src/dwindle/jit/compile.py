"""Compilation with Numba: kernels, the helpers they call, dispatch by class and cache stamps."""

import functools
import logging
import sys
import time
import types as pytypes
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numba.core import event
from numba.extending import overload

from dwindle._base.dispatch import generic_of, methods_of, names_in
from dwindle.jit.disk_cache import Store
from dwindle.jit.interpreted import JIT, run_as_python
from dwindle.jit.parts import KernelCompiler, PartCompiler, part

_AS_PART: Any = {"pipeline_class": PartCompiler, "forceinline": True}
INGREDIENTS = ("loss", "shrinkage", "update")  # parameters by whose class code is chosen

LONG = 0.5  # seconds of compiling after which it is said that it happens once
log = logging.getLogger("dwindle")

_FOREIGN = {"numba", "numpy", "llvmlite"} | sys.stdlib_module_names  # never edited by a user
_CONSTANT = (bool, int, float, str, bytes, tuple, np.generic, np.ndarray)

# Decorates a function that kernels call. It is cached on disk only as part of the kernels.
helper = part
# Decorates a helper of an inner loop, which LLVM would not inline by itself if it is not small.
inlined = functools.partial(part, forceinline=True)


class Kernel:
    """A loop that is compiled when first called, once per combination of ingredients.

    Compiled code is cached on disk under a name with a digest of every file it was compiled from:
    the kernel's own, and those of all functions, generics and intrinsics that it reaches. (Numba by
    itself would look at the kernel's own file only.)
    """

    def __init__(self, function: pytypes.FunctionType, *, nogil: bool) -> None:
        self.function = function
        self._compile: Any = njit(nogil=nogil, error_model="numpy", pipeline_class=KernelCompiler)
        self._made: dict[tuple[type, ...], Any] = {}
        parameters = function.__code__.co_varnames[: function.__code__.co_argcount]
        places = [i for i, name in enumerate(parameters) if name in INGREDIENTS]
        first = min(places, default=0)
        self._ingredients = slice(first, first + len(places))  # they are side by side
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        """Run the loop compiled for the ingredients among its arguments."""
        try:  # short, because a small batch calls several kernels in a few microseconds
            code = self._made[tuple(map(type, args[self._ingredients]))]
        except KeyError:
            code = self.of(*args[self._ingredients])
        return code(*args)

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
        if not JIT:
            return functools.partial(run_as_python, f)
        clone = pytypes.FunctionType(
            f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__
        )
        clone.__qualname__ = f"{f.__qualname__}_{stamp(f, *classes)[:16]}"
        clone.__module__, clone.__doc__ = f.__module__, f.__doc__
        dispatcher = self._compile(clone)
        dispatcher._cache = Store(dispatcher.py_func)  # noqa: SLF001  (Numba has no public way)
        return dispatcher


def in_class(code: Any) -> Any:
    """Make a class with the code as its ``run``, for an object that calls it often.

    Tools that measure an object by all it refers to, as River does, skip classes; from a compiled
    function they would walk through all of Numba.
    """
    return type("MachineCode", (), {"run": code})


def kernel(function: Callable[..., Any] | None = None, *, nogil: bool = True) -> Any:
    """Decorate a loop that Python calls; see `Kernel`.

    ``nogil=False`` is for loops that use Python objects, and for those so short that releasing and
    regaining the interpreter's lock would take longer.
    """
    if function is None:
        return functools.partial(kernel, nogil=nogil)
    assert isinstance(function, pytypes.FunctionType)
    return Kernel(function, nogil=nogil)


def stamp(function: pytypes.FunctionType, *classes: type) -> str:
    """Digest the source of all code that a kernel reaches for ingredients of these classes.

    That is the files of all functions and the values of all constants. From a generic the walk goes
    on to the methods of ``classes``, and from an ingredient that is a constant to all of its own.
    The classes count by name, too: what is cached refers to their modules, which another program
    may not have.
    """
    reached = _reached(function, classes)
    compiler = map(_digest_of, (Path(__file__), Path(__file__).with_name("parts.py")))
    names = (f"{cls.__module__}.{cls.__qualname__}".encode() for cls in classes)
    digests = {*compiler, *map(_source, reached), *map(_constants, reached), *names}
    return sha256(b"".join(sorted(digests))).hexdigest()


def _reached(function: pytypes.FunctionType, classes: Iterable[type]) -> set[pytypes.FunctionType]:
    found: set[pytypes.FunctionType] = set()
    waiting = [function]
    while waiting:
        f = waiting.pop()
        if f not in found:
            found.add(f)
            waiting += _called_by(f, classes)
    return found


def _called_by(f: pytypes.FunctionType, classes: Iterable[type]) -> Iterator[pytypes.FunctionType]:
    """Yield the functions that a function's code refers to."""
    cells = [cell.cell_contents for cell in f.__closure__ or ()]
    for value in (*(f.__globals__.get(name) for name in names_in(f.__code__)), *cells):
        generic = generic_of(value)
        if generic is not None:
            yield from filter(None, map(generic.code, classes))
        elif hasattr(value, "_fields"):
            yield from methods_of(type(value))
        for attribute in ("py_func", "function", "_defn"):  # of a helper, a kernel, an intrinsic
            inner = getattr(value, attribute, value)
            if isinstance(inner, pytypes.FunctionType) and _package(inner) not in _FOREIGN:
                yield inner


def _package(f: pytypes.FunctionType) -> str:
    return f.__module__.partition(".")[0]


@functools.cache
def _source(f: pytypes.FunctionType) -> bytes:
    """Digest the file that a function is from or, in a notebook, its code.

    The file is read once: an edit has no effect on a function that was imported before.
    """
    file = Path(f.__code__.co_filename)
    if file.is_file():
        return _digest_of(file)
    code = f.__code__
    return sha256(code.co_code + repr((code.co_consts, code.co_names)).encode()).digest()


def _constants(f: pytypes.FunctionType) -> bytes:
    """Digest the global numbers and texts that a function's code refers to."""
    found = ((name, f.__globals__.get(name)) for name in sorted(set(names_in(f.__code__))))
    said = (f"{name}={value!r}" for name, value in found if isinstance(value, _CONSTANT))
    return sha256(" ".join(said).encode()).digest()


@functools.cache
def _digest_of(file: Path) -> bytes:
    return sha256(file.read_bytes()).digest()


def teach(*generics: Callable[..., Any], **options: Any) -> None:
    """Let Numba choose the code of each generic by the class of its first argument.

    With ``forceinline=True`` calls are as cheap as no calls, also for code that is not small.
    """
    for generic in generics if JIT else ():
        overload(generic, _AS_PART | options, strict=False)(_chooser(generic))


def _chooser(generic: Callable[..., Any]) -> Callable[..., Any]:
    known = generic_of(generic)
    assert known is not None

    def choose(chosen: Any, *_: Any) -> Callable[..., Any] | None:
        return known.code(getattr(chosen, "instance_class", type(None)))

    return choose


class _Stopwatch(event.Listener):
    """How long kernels were compiled; says so, once, when it takes long."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._begin = 0.0
        self._depth = 0  # Numba compiles in one thread at a time, so no other is here
        self._told = False

    def on_start(self, _event: Any) -> None:
        now = time.monotonic()
        if not self._depth:
            self._begin = now
        elif not self._told and self.seconds + now - self._begin > LONG:
            self._told = True
            log.warning("compiling for this machine, once: this may take up to a minute")
        self._depth += 1

    def on_end(self, _event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += time.monotonic() - self._begin


_stopwatch = _Stopwatch()
event.register("numba:compile", _stopwatch)


def seconds_compiling() -> float:
    """Return for how long this process has compiled, rather than loaded, kernels."""
    return _stopwatch.seconds
