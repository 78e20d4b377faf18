"""The settings of Numba that matter here, read without importing it."""

import importlib
import os
from pathlib import Path
from typing import Any

_FILE = Path(".numba_config.yaml")  # where Numba looks for settings too, by the present folder
_KNOWN = {"NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT"}

# Whether nothing is set by which Numba would compile in another way.
ARE_USUAL = not _FILE.exists() and {k for k in os.environ if k.startswith("NUMBA_")} <= _KNOWN


def _of_numba() -> tuple[str, bool]:
    config: Any = importlib.import_module("numba").config
    return config.CACHE_DIR, bool(config.DISABLE_JIT)


def _of_environment() -> tuple[str, bool]:
    compiles = os.environ.get("NUMBA_DISABLE_JIT", "") in {"", "0"}
    return os.environ.get("NUMBA_CACHE_DIR", ""), not compiles


CACHE_DIR, DISABLE_JIT = _of_environment() if ARE_USUAL else _of_numba()
