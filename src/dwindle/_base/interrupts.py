"""Ctrl-C that finds everything whole."""

import signal
import threading
from typing import Any, Self


class Held:
    """While it is entered, an interrupt waits; it is raised at the end. ``asked`` says if one does.

    Weights that a kernel has moved and the clock that says so change one after the other, and an
    interrupt between the two would part them for good. Only Python's own way to take an interrupt
    is held, and only where it is taken, in the main thread.
    """

    def __init__(self) -> None:
        self.asked = False
        self._ours = False

    def __enter__(self) -> Self:
        self._ours = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._ours:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.asked:
            raise KeyboardInterrupt

    def _note(self, _number: int, _frame: Any) -> None:
        self.asked = True
