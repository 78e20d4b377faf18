"""Kernels, the helpers they call, and dispatch by class.

Numba, by which they are compiled, is imported where compiled code is not on disk.
"""

import functools
import logging
import sys
import time
import types as pytypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dwindle._base.dispatch import generic_of
from dwindle.jit import machine_code
from dwindle.jit.cache_folders import Folder
from dwindle.jit.deferred import Deferred, Later, importing
from dwindle.jit.interpreted import JIT, run_as_python
from dwindle.jit.stamps import stamp

_numba, _parts, _numba_cache = map(Later, ("numba", "dwindle.jit.parts", "dwindle.jit.numba_cache"))
INGREDIENTS = ("loss", "shrinkage", "update")  # parameters by whose class code is chosen

LONG = 0.5  # seconds of compiling after which it is said that it happens once
log = logging.getLogger("dwindle")


def helper(function: Callable[..., Any], **options: Any) -> Any:
    """Decorate a function that kernels call. It is cached on disk only as part of the kernels."""
    return Deferred(function, lambda: _parts.part(function, **options)) if JIT else function


# Decorates a helper of an inner loop, which LLVM would not inline by itself if it is not small.
inlined = functools.partial(helper, forceinline=True)
# Decorates a helper that is called rather than inlined, also by helpers that are inlined: a loop of
# its own beside an inner loop, which would take registers from that.
called = functools.partial(helper, forceinline=False)


class Code:
    """A kernel for ingredients of some classes: machine code for each kind of arguments.

    Where Numba is not imported and the code is on disk, it is loaded as `machine_code`; else it is
    Numba's. Both are the same code.
    """

    def __init__(
        self, function: pytypes.FunctionType, classes: tuple[type, ...], *, nogil: bool
    ) -> None:
        f, self._stamp = function, stamp(function, *classes)
        self._function = pytypes.FunctionType(
            f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__
        )
        self._function.__qualname__ = f"{f.__qualname__}_{self._stamp[:16]}"
        self._function.__module__, self._function.__doc__ = f.__module__, f.__doc__
        self._nogil = nogil
        self._loaded: dict[tuple[Any, ...], Any] = {}  # machine code, by the kinds of arguments
        self._dispatcher: Any = None  # Numba's, once it is needed
        self._store: Any = None  # where Numba's code is kept

    def __call__(self, *args: Any) -> Any:
        """Run the machine code for arguments of these kinds."""
        if self._dispatcher is None:
            try:
                code = self._loaded[machine_code.kinds_of(args)]
            except KeyError:
                code = self._load(args)
            if code is not None:
                return code(*args)
        result = self.dispatcher(*args)
        fresh = self._store.fresh  # which another thread may take
        if fresh is not None:
            self._keep(args, *fresh)
        return result

    @property
    def dispatcher(self) -> Any:
        """Numba's dispatcher; it calls faster than code loaded by itself."""
        if self._dispatcher is None:
            _wake()
            compiler = _parts.KernelCompiler
            options = {"nogil": self._nogil, "error_model": "numpy", "pipeline_class": compiler}
            made = _numba.njit(**options)(self._function)
            self._store = made._cache = _numba_cache.Store(made.py_func)  # noqa: SLF001  (Numba has no public way)
            self._dispatcher = made
        return self._dispatcher

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def _load(self, args: tuple[Any, ...]) -> Any:
        """Load machine code from disk; None if there is none, or if Numba is there anyway."""
        file = self._file(args)
        if file is None or "numba" in sys.modules:
            return None
        folder, name = file
        for each in folder.places():
            code = machine_code.load(each / name)
            if code is not None:
                self._loaded[machine_code.kinds_of(args)] = code
                return code
        return None

    def _keep(self, args: tuple[Any, ...], signature: Any, compiled: Any) -> None:
        """Keep what Numba has just compiled or loaded, if it fits, as machine code."""
        if tuple(map(self.dispatcher.typeof_pyval, args)) == signature:
            self._store.fresh = None
            file = self._file(args)
            if file is not None and file[0].path is not None:
                machine_code.save(file[0].path / file[1], compiled)

    def _file(self, args: tuple[Any, ...]) -> tuple[Folder, str] | None:
        """Return where machine code for such arguments is kept; None if it cannot be."""
        source = self._function.__code__.co_filename
        if not machine_code.IS_USED or not Path(source).is_file():
            return None
        try:
            kinds = machine_code.kinds_of(args)
        except KeyError:
            return None
        name = machine_code.file_name(self._function.__qualname__, self._stamp, kinds)
        return Folder(self._function, source), name


class Kernel:
    """A loop that is compiled when first called, once per combination of ingredients.

    Compiled code is cached on disk under a name with a digest of every file it was compiled from:
    the kernel's own, and those of all functions, generics and intrinsics that it reaches. (Numba by
    itself would look at the kernel's own file only.)
    """

    def __init__(self, function: pytypes.FunctionType, *, nogil: bool) -> None:
        self.function = function
        self._nogil = nogil
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
        """Return the code for ingredients of these classes."""
        classes = tuple(map(type, ingredients))
        if classes not in self._made:
            self._made[classes] = self._compiled(classes)
        return self._made[classes]

    def compiled(self) -> list[Any]:
        """List the code made so far, for tests that look into it."""
        return list(self._made.values())

    def _compiled(self, classes: tuple[type, ...]) -> Any:
        f = self.function
        if not JIT:
            return functools.partial(run_as_python, f)
        return Code(f, classes, nogil=self._nogil)


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


def teach(*generics: Callable[..., Any], **options: Any) -> None:
    """Let Numba choose the code of each generic by the class of its first argument.

    With ``forceinline=True`` calls are as cheap as no calls, also for code that is not small.
    """
    if JIT:
        with importing:
            _taught.extend((generic, options) for generic in generics)
            if _watched.cache_info().currsize:
                _teach_numba()


_taught: list[tuple[Callable[..., Any], dict[str, Any]]] = []  # what Numba is not yet told of


def _teach_numba() -> None:
    as_part = {"pipeline_class": _parts.PartCompiler, "forceinline": True}
    while _taught:
        generic, options = _taught.pop(0)
        _numba.extending.overload(generic, as_part | options, strict=False)(_chooser(generic))


def _chooser(generic: Callable[..., Any]) -> Callable[..., Any]:
    known = generic_of(generic)
    assert known is not None

    def choose(chosen: Any, *_: Any) -> Callable[..., Any] | None:
        return known.code(getattr(chosen, "instance_class", type(None)))

    return choose


class _Stopwatch:
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


def _wake() -> None:
    """Import Numba, tell it of all that kernels may call, and watch how long it compiles."""
    with importing:
        _watched()
        _teach_numba()


@functools.cache
def _watched() -> None:
    event = Later("numba.core.event")

    class Listener(event.Listener):  # type: ignore[name-defined]  # Numba has no types
        on_start, on_end = _stopwatch.on_start, _stopwatch.on_end

    event.register("numba:compile", Listener())


def seconds_compiling() -> float:
    """Return for how long this process has compiled, rather than loaded, kernels."""
    return _stopwatch.seconds
