"""Kernels on disk as machine code, loaded by LLVM alone: without importing Numba, 0.15 s faster.

A file has what Numba compiled for arguments of one kind, with the wrapper by which Python calls it.
Its name has a digest of all that the code depends on, so a file that is found fits; if none is
found, or one is damaged or needs what this process does not have, Numba compiles as ever. The C
functions that the code calls are in three extension modules of Numba, which stand on their own.
"""

import builtins
import ctypes
import importlib.util
import json
import os
import pickle
import struct
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.machinery import PathFinder
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from dwindle.jit import settings
from dwindle.jit.deferred import Later

_llvm = Later("llvmlite.binding")
# Where it was tried; elsewhere, and with unusual settings, Numba does it all.
IS_USED = settings.ARE_USUAL and not settings.DISABLE_JIT and sys.platform == "linux"
_DIGEST = 32  # bytes
# Bits of an array's flags: the order of its elements, C's before Fortran's if it has both; and
# whether it is aligned and may be written.
_C, _FORTRAN, _OTHERS = 0x1, 0x2, 0x500
_HELPERS = {"_helperlib": "numba_", "_dynfunc": "numba_", "core/runtime/_nrt_python": "NRT_"}
_lock = Lock()
_kept: list[Any] = []  # what machine code refers to


def _of_integer(given: int) -> str:
    if not -(2**63) <= given < 2**63:
        raise KeyError(given)
    return "int64"


def _of_array(given: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    flags = given.flags.num
    return given.dtype, given.ndim, flags & (_OTHERS | (_C if flags & _C else _FORTRAN))


_NUMBERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
_KINDS: dict[type, Callable[[Any], Any]] = {
    np.ndarray: _of_array,
    int: _of_integer,
    float: lambda _: "float64",
    bool: lambda _: "bool",
    np.bool_: lambda _: "bool",
    **{kind: lambda given: given.dtype.name for kind in (*_NUMBERS, np.float32, np.float64)},
}


def kinds_of(arguments: Iterable[Any]) -> tuple[Any, ...]:
    """Describe arguments by what Numba would tell apart; raise KeyError if one is of no such kind.

    >>> kinds_of([1, 0.5, np.zeros(3)])
    ('int64', 'float64', (dtype('float64'), 1, 1281))
    """
    return tuple(
        [
            (type(each), kinds_of(each)) if isinstance(each, tuple) else _KINDS[type(each)](each)
            for each in arguments
        ]
    )


def _spelled(kind: Any) -> str:
    """Describe a kind in the same way in each process."""
    if isinstance(kind, type):
        return f"{kind.__module__}.{kind.__qualname__}{getattr(kind, '_fields', ())}"
    if isinstance(kind, tuple):
        return f"({' '.join(map(_spelled, kind))})"
    return repr(kind)


def file_name(kernel: str, stamp: str, kinds: tuple[Any, ...]) -> str:
    """Name the file of a kernel with this stamp for arguments of these kinds."""
    said = "\n".join([stamp, _spelled(kinds), *_machine()])
    return f"{kernel}-{sha256(said.encode()).hexdigest()[:32]}.code"


@cache
def _machine() -> tuple[str, ...]:
    """Describe the versions and the processor that machine code is made for."""
    versions = (_package(name) / "_version.py" for name in ("numba", "llvmlite"))
    return (
        *(sys.version, np.__version__, *(file.read_text() for file in versions)),
        *(_llvm.get_process_triple(), _llvm.get_host_cpu_name()),
        _llvm.get_host_cpu_features().flatten(),
    )


def _package(name: str) -> Path:
    """Return the folder of a package, which need not be imported."""
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise ImportError(name)
    return Path(found.origin).parent


def load(file: Path) -> Any:
    """Return the function in a file; None if there is none that can be used."""
    with suppress(OSError, ImportError, RuntimeError):
        content = file.read_bytes()
        digest, rest = content[:_DIGEST], content[_DIGEST:]
        if sha256(rest).digest() == digest:
            return _loaded(rest)
        file.unlink()  # so that it is written anew
    return None


def _loaded(content: bytes) -> Any:
    head, _, machine_code = content.partition(b"\n")
    said = json.loads(head)
    with _lock:
        engine, dynamic = _engine()
        if not all(map(_is_there, said["needs"])):
            return None
        engine.add_object_file(_llvm.ObjectFileRef.from_data(machine_code))
        engine.finalize_object()
        environment = dynamic.Environment({"__name__": __name__})
        environment.consts.extend(map(np.dtype, said["constants"]))
        place = engine.get_global_value_address(said["environment"])
        ctypes.c_void_p.from_address(place).value = id(environment)
        _kept.append(environment)
        entry = engine.get_function_address(said["entry"])
        module = sys.modules[__name__]
        return dynamic.make_function(module, said["name"], "", entry, environment, (engine,))


@cache
def _is_there(symbol: str) -> bool:
    return _llvm.address_of_symbol(symbol) is not None


@cache
def _engine() -> tuple[Any, Any]:
    """Make LLVM's loader; return it and the module that makes functions for Python."""
    _llvm.initialize_native_target()
    _llvm.initialize_native_asmprinter()
    machine = _llvm.Target.from_default_triple().create_target_machine()
    engine = _llvm.create_mcjit_compiler(_llvm.parse_assembly(""), machine)
    modules = {name: _extension(name) for name in _HELPERS}
    for name, module in modules.items():
        for symbol, address in module.c_helpers.items():
            known = symbol.startswith("_") and name.endswith("_nrt_python")
            _llvm.add_symbol(symbol if known else _HELPERS[name] + symbol, address)
    _llvm.add_symbol("numba_unpickle", ctypes.cast(_unpickle, ctypes.c_void_p).value)
    _llvm.add_symbol("_Py_NoneStruct", id(None))
    for name, thing in vars(builtins).items():
        if isinstance(thing, type) and issubclass(thing, BaseException):
            _llvm.add_symbol(f"PyExc_{name}", id(thing))
    return engine, modules["_dynfunc"]


@cache
def _unpickled(address: int, size: int) -> Any:
    return pickle.loads(ctypes.string_at(address, size))  # noqa: S301  (part of machine code)


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
def _unpickle(address: int, size: int, _digest: int) -> Any:
    """Make a constant of machine code, such as the class of arrays; Numba's own imports Numba."""
    return _unpickled(address, size)


def _extension(path: str) -> Any:
    """Load an extension module of Numba, which imports nothing else of it."""
    name = f"numba.{path.replace('/', '.')}"
    if name in sys.modules:
        return sys.modules[name]
    found = PathFinder.find_spec(name, [str((_package("numba") / path).parent)])
    if found is None or found.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    sys.modules.pop(name, None)  # so that Numba, if it is imported later, finds it as it expects
    return module


def save(file: Path, compiled: Any) -> None:
    """Write what Numba has compiled, if it stands on its own and is not there."""
    library, entry = compiled.library, compiled.fndesc
    constants = compiled.environment.consts  # the types of arrays that are returned
    if file.exists() or not all(isinstance(c, np.dtype) and c.names is None for c in constants):
        return
    machine_code = library._get_compiled_object()  # noqa: SLF001  (Numba has no public way)
    said = {
        "name": entry.qualname,
        "entry": entry.llvm_cpython_wrapper_name,
        "environment": entry.env_name,
        "constants": [each.str for each in constants],
        "needs": _undefined(machine_code),
    }
    rest = json.dumps(said).encode() + b"\n" + machine_code
    with suppress(OSError), tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as made:
        try:
            made.write(sha256(rest).digest() + rest)
            made.close()
            Path(made.name).chmod(0o644 & ~_umask())
            Path(made.name).replace(file)
        except BaseException:
            Path(made.name).unlink(missing_ok=True)  # as when the disk is full
            raise


_SECTION = np.dtype(  # of an ELF file, as `_SYMBOL`; fields that are not used have no name
    {"names": ["type", "begin", "size", "link"], "formats": ["u4", "u8", "u8", "u4"],
     "offsets": [4, 24, 32, 40], "itemsize": 64}
)  # fmt: skip
_SYMBOL = np.dtype(
    {"names": ["name", "section"], "formats": ["u4", "u2"], "offsets": [0, 6], "itemsize": 24}
)
_SYMBOL_TABLE = 2


def _undefined(machine_code: bytes) -> list[str]:
    """List the names that an object file, in ELF of 64 bits, expects to be defined elsewhere."""
    (begin,), (n,) = (
        struct.unpack_from("Q", machine_code, 40),
        struct.unpack_from("H", machine_code, 60),
    )
    sections = np.frombuffer(machine_code, _SECTION, n, begin)
    names: set[bytes] = set()
    for table in sections[sections["type"] == _SYMBOL_TABLE]:
        n_symbols = table["size"] // _SYMBOL.itemsize
        symbols = np.frombuffer(machine_code, _SYMBOL, n_symbols, table["begin"])
        text = sections["begin"][table["link"]]
        for at in symbols["name"][(symbols["section"] == 0) & (symbols["name"] > 0)]:
            names.add(machine_code[text + at :].partition(b"\0")[0])
    return sorted(name.decode() for name in names)


def _umask() -> int:
    now = os.umask(0o022)
    os.umask(now)
    return now
