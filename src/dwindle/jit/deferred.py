"""What only the compiler needs, made when a kernel is compiled: importing Numba takes 0.15 s.

Where all compiled code is on disk, Numba is never imported; see `machine_code`.
"""

import functools
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

from dwindle._base import later

# Numba's modules import each other, so two threads that begin with different ones would meet half
# of one: the first import of all is that of Numba as a whole, by one thread.
importing = threading.RLock()


class Later(later.Later):
    """A module of the compiler, which is imported when something in it is first asked for."""

    def _module(self) -> Any:
        with importing:
            if not self._name.startswith("llvmlite"):
                import_module("numba")
            return super()._module()


class Deferred:
    """Something that kernels can call, which is made when the first of them is compiled.

    ``function`` is where its code is from.
    """

    def __init__(self, function: Callable[..., Any] | None, make: Callable[[], Any]) -> None:
        self.function = function
        self._make = make
        self.__doc__ = getattr(function, "__doc__", None)

    @functools.cached_property
    def made(self) -> Any:
        """What Numba knows."""
        return self._make()

    @functools.cached_property
    def _numba_type_(self) -> Any:
        """By which Numba finds out what a name in a kernel stands for."""
        context = import_module("numba.core.registry").cpu_target.typing_context
        made = self.made
        context.refresh()  # for what is new
        return context.resolve_value_type(made)

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Refuse to be called from Python."""
        name = getattr(self.function, "__qualname__", "it")
        raise TypeError(f"{name} is called by kernels only, not from Python")

    def __deepcopy__(self, _memo: Any) -> "Deferred":
        return self  # as Numba copies code that refers to it
