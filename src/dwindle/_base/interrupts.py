"""Ctrl-C, held back while data structures are changed."""

import signal
import threading
from typing import Any, Self


class Held:
    """A context in which Ctrl-C waits: KeyboardInterrupt is raised at the end of it.

    A kernel moves the weights, and only after it the clock is set: an interrupt between the two
    would leave them inconsistent for good. A long loop looks at ``asked`` to end early. Only
    Python's own handler of SIGINT is replaced, and only in the main thread, where it runs.
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
