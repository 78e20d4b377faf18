"""Kernels as plain Python, with NUMBA_DISABLE_JIT=1: for coverage and debuggers.

Some thousand times slower, with the same results. Where Numba and NumPy disagree about arithmetic,
Numba is right here: a single-precision number and a Python float make a double, small integers do
not wrap around, and a negative number becomes an unsigned one by wrapping around.
"""

from typing import Any

import numpy as np

from dwindle.jit.settings import DISABLE_JIT

JIT = not DISABLE_JIT  # whether there is a compiler

_SMALL = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32)


def run_as_python(function: Any, *args: Any) -> Any:
    """Call a kernel's Python function with arguments that behave as they do in compiled code."""
    with np.errstate(all="ignore"):
        return _unwrapped(function(*map(_wrapped, args)))


class _Array(np.ndarray[Any, Any]):
    def __getitem__(self, place: Any) -> Any:
        return _widened(super().__getitem__(place))

    def __setitem__(self, place: Any, value: Any) -> None:
        super().__setitem__(place, value.record if isinstance(value, _Cell) else value)


class _Cell:
    """An element of an array of records, whose fields are attributes."""

    record: np.void

    def __init__(self, record: np.void) -> None:
        vars(self)["record"] = record

    def __getattr__(self, name: str) -> Any:
        return _widened(self.record[name])

    def __setattr__(self, name: str, value: Any) -> None:
        self.record[name] = value


def _widened(element: Any) -> Any:
    if isinstance(element, np.void):
        return _Cell(element)
    if isinstance(element, np.float32):
        return np.float64(element)
    return element.item() if isinstance(element, _SMALL) else element


def _wrapped(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return argument.view(_Array)
    if isinstance(argument, tuple):
        return _each(_wrapped, argument)
    return np.float64(argument) if isinstance(argument, float) else _widened(argument)


def _unwrapped(result: Any) -> Any:
    if isinstance(result, np.ndarray):
        return np.asarray(result)
    if isinstance(result, tuple):
        return _each(_unwrapped, result)
    return result.item() if isinstance(result, np.generic) else result


def _each(change: Any, parts: tuple[Any, ...]) -> Any:
    kind: Any = type(parts)
    return kind(*map(change, parts)) if hasattr(kind, "_fields") else tuple(map(change, parts))
