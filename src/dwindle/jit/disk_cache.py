"""Compiled kernels on disk: Numba's cache, without the 0.2 s of loading what only compiling needs.

Compiling sees to that itself.
"""

import functools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llvmlite.binding import add_symbol, parse_assembly
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime._nrt_python import c_helpers


class _Stored(CompileResultCacheImpl):
    """A kernel without the code that Numba would put into those that call it.

    It would be parsed at each start, and kernels are called from Python only. What stands for it
    has the one name that Python's way in is looked up by.
    """

    def reduce(self, data: Any) -> Any:
        """What is written of a compiled kernel."""
        match super().reduce(data):
            case ((name, kind, (machine_code, _)), function, *rest):
                entry = f'@"{function.llvm_cpython_wrapper_name}"'
                stub = parse_assembly(f"define void {entry}() {{ ret void }}").as_bitcode()
                return ((name, kind, (machine_code, stub)), function, *rest)
            case other:  # of a Numba that we do not know
                return other


class _File(IndexDataCacheFile):
    def _load_data(self, name: str) -> Any:
        with Path(self._data_path(name)).open("rb") as file:
            return _Unpickler(file).load()


class _Unpickler(pickle.Unpickler):
    """Numba's own imports the module of each function that was inlined, for its globals.

    Code that runs without the interpreter has no use for them.
    """

    def find_class(self, module: str, name: str) -> Any:
        """What is meant by a name."""
        return _environment if name == "_rebuild_env" else super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Environment:
    known = lookup_environment(name)
    if known is None:
        known = Environment({"__name__": module})
        Environment._memo[name] = known  # noqa: SLF001  (Numba looks there, and has no other door)
        known.consts[:], known.env_name = constants, name
    return known


class Store(FunctionCache):
    """The compiled code of one kernel, a file for each signature."""

    _impl_class = _Stored

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file.__class__ = _File

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code for a signature, or None."""
        _link_runtime()
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


@functools.cache
def _link_runtime() -> None:
    """Tell LLVM where the functions are by which compiled code gets and frees memory.

    The rest of Numba's runtime, which it would compile anew, is in the compiled code already.
    """
    for name, address in c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
