"""Digests of all the source code that a kernel is compiled from.

A run asks for those of two dozen kernels, which reach some hundred functions. So whatever depends
on one function or one file alone is worked out once.
"""

import functools
import sys
import types as pytypes
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from dwindle._base.dispatch import Generic, generic_of, methods_of, names_in
from dwindle._base.later import Later

_FOREIGN = {"numba", "numpy", "llvmlite"} | sys.stdlib_module_names  # never edited by a user
_CONSTANT = (bool, int, float, str, bytes, tuple, np.generic, np.ndarray)
_NO_CODE = (Generic, Later, pytypes.ModuleType, str, bytes, int, float, np.ndarray, type(None))
_COMPILER = ("compile.py", "kinds.py", "machine_code.py", "parts.py")  # by which it is compiled


def stamp(function: pytypes.FunctionType, *classes: type) -> str:
    """Digest the source of all code that a kernel reaches for ingredients of these classes.

    That is the files of all functions and the values of all constants. From a generic the walk goes
    on to the methods of ``classes``, and from an ingredient that is a constant to all of its own.
    The classes count by name, too: what is cached refers to their modules, which another program
    may not have.
    """
    digests = set(_compiler())
    for each in reached(function, classes):
        digests.update((_of_source(each.__code__), _of_constants(each)))
    digests.update(f"{cls.__module__}.{cls.__qualname__}".encode() for cls in classes)
    return sha256(b"".join(sorted(digests))).hexdigest()


def reached(function: pytypes.FunctionType, classes: Iterable[type]) -> set[pytypes.FunctionType]:
    """Find the functions that a kernel calls, directly or not, for ingredients of these classes."""
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
    functions, generics = _referred_to(f)
    yield from functions
    for generic in generics:
        yield from filter(None, map(generic.code, classes))


@functools.cache
def _referred_to(f: pytypes.FunctionType) -> tuple[list[pytypes.FunctionType], list[Generic]]:
    """Return the functions that a function's code refers to by itself, and the generics."""
    functions: list[pytypes.FunctionType] = []
    generics: list[Generic] = []
    cells = [cell.cell_contents for cell in f.__closure__ or ()]
    for value in (*map(f.__globals__.get, _names(f.__code__)), *cells):
        if isinstance(value, _NO_CODE):
            continue
        generic = generic_of(value)
        if generic is not None:
            generics.append(generic)
        elif hasattr(value, "_fields"):
            functions += methods_of(type(value))
        inner = value if isinstance(value, pytypes.FunctionType) else _inside(value)
        if inner is not None and _package(inner) not in _FOREIGN:
            functions.append(inner)
    return functions, generics


def _inside(value: Any) -> pytypes.FunctionType | None:
    """Return the function that was made into a helper, a kernel or an intrinsic."""
    for attribute in ("function", "py_func", "_defn"):
        inner = getattr(value, attribute, None)
        if isinstance(inner, pytypes.FunctionType):
            return inner
    return None


def _package(f: pytypes.FunctionType) -> str:
    return f.__module__.partition(".")[0]


@functools.cache
def _of_source(code: pytypes.CodeType) -> bytes:
    """Digest the file that a function is from or, in a notebook, where there is none, its code.

    A file is read once: an edit has no effect on a function that was imported before.
    """
    source = _of_file(code.co_filename)
    if source is None:
        source = sha256(code.co_code + repr((code.co_consts, code.co_names)).encode()).digest()
    return source


def _of_constants(f: pytypes.FunctionType) -> bytes:
    """Digest the constants that a function's code refers to, which may have changed since."""
    found = ((name, f.__globals__.get(name)) for name in _names(f.__code__))
    said = (f"{name}={_said(value)}" for name, value in found if isinstance(value, _CONSTANT))
    return sha256(" ".join(said).encode()).digest()


def _said(constant: Any) -> str:
    is_array = isinstance(constant, np.ndarray)  # of which Python would say the ends only
    return f"{constant.dtype} {constant.tobytes().hex()}" if is_array else repr(constant)


@functools.cache
def _names(code: pytypes.CodeType) -> list[str]:
    return sorted(set(names_in(code)))


@functools.cache
def _of_file(name: str) -> bytes | None:
    file = Path(name)
    return sha256(file.read_bytes()).digest() if file.is_file() else None


@functools.cache
def _compiler() -> list[bytes]:
    """Digest what compiles."""
    return [sha256(Path(__file__).with_name(name).read_bytes()).digest() for name in _COMPILER]
