"""Numba's cache of compiled kernels, without loading what only the compiler needs: 0.2 s less."""

import functools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llvmlite.binding import add_symbol, parse_assembly
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime._nrt_python import c_helpers

from dwindle.jit.cache_folders import Folder, cannot_keep


class _Stored(CompileResultCacheImpl):
    """How a kernel is stored: its machine code, and a stub in place of its LLVM code.

    Numba keeps the LLVM code for kernels that call this one, and parses it at each start; but
    kernels are called from Python only. The stub defines the one name that Numba looks up there.
    """

    _locator_classes = [Folder]  # noqa: RUF012  (as Numba has it)

    def reduce(self, data: Any) -> Any:
        """Return what is written of a compiled kernel."""
        match super().reduce(data):
            case ((name, kind, (machine_code, _)), function, *rest):
                entry = f'@"{function.llvm_cpython_wrapper_name}"'
                stub = parse_assembly(f"define void {entry}() {{ ret void }}").as_bitcode()
                return ((name, kind, (machine_code, stub)), function, *rest)
            case other:  # of an unknown version of Numba
                return other

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        """Return a compiled kernel of what was written, with its machine code: see `Code`."""
        found = super().rebuild(target_context, payload)
        match payload:
            case ((_, _, (machine_code, _)), *_):
                found.library._compiled_object = machine_code  # noqa: SLF001  (likewise)
        return found


class _File(IndexDataCacheFile):
    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except OSError:  # such as a file that may not be read
            return {}

    def _load_data(self, name: str) -> Any:
        with Path(self._data_path(name)).open("rb") as file:
            return _Unpickler(file).load()


class _Unpickler(pickle.Unpickler):
    """An unpickler that imports no module for the globals of the functions that were inlined.

    Numba would; but machine code does not use them.
    """

    def find_class(self, module: str, name: str) -> Any:
        """Find what a name in the file stands for."""
        return _environment if name == "_rebuild_env" else super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Environment:
    known = lookup_environment(name)
    if known is None:
        known = Environment({"__name__": module})
        Environment._memo[name] = known  # noqa: SLF001  (where Numba looks for it)
        known.consts[:], known.env_name = constants, name
    return known


class Store(FunctionCache):
    """The compiled code of one kernel, a file for each signature.

    What was compiled where the package is installed, as `dwindle warm-up` does in an image, is
    loaded by users who may not write there too.
    """

    _impl_class = _Stored

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        names = self._impl.filename_base, self._impl.locator.get_source_stamp()
        folder: Folder = self._impl.locator
        self.fresh: Any = None  # what was compiled or loaded last, and for which signature
        self._own = _File(str(folder.path), *names) if folder.path else None
        self._installed = _File(str(folder.beside), *names) if folder.looks_beside else None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature, or None."""
        _link_runtime()
        for file in (self._own, self._installed):
            if file is not None:
                self._cache_file = file
                with self._guard_against_spurious_io_errors():
                    found = self._load_overload(sig, target_context)
                    if found is not None:
                        self.fresh = sig, found
                        return found
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled code for a signature, where that is possible."""
        self.fresh = sig, data
        if self._own is not None:
            self._cache_file = self._own
            try:
                super().save_overload(sig, data)
            except OSError as error:  # such as a full disk
                cannot_keep(error)


@functools.cache
def _link_runtime() -> None:
    """Tell LLVM the addresses of the functions by which compiled code allocates and frees memory.

    The rest of Numba's runtime is part of the compiled code.
    """
    for name, address in c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)
