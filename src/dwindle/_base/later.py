"""Modules that take long to import, imported when something in them is first asked for.

This is the one place that says without which modules a command starts:

- *pyarrow* and *pyarrow.parquet* (35 ms), which models are read and written with. Training from
  text needs them in the end only, so they are imported on a thread meanwhile, and a file that is
  refused at once does not wait for them.

Numba and LLVM are `jit.deferred`'s.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["Later", "import_arrow", "pa", "pq"]


class Later:
    """A module that is imported when something in it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module(), name)
        setattr(self, name, found)
        return found

    def _module(self) -> Any:
        return import_module(self._name)


if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
else:
    pa, pq = Later("pyarrow"), Later("pyarrow.parquet")


def import_arrow() -> None:
    """Import what models are written with, for a thread that does so while kernels run."""
    import_module("pyarrow.parquet")
