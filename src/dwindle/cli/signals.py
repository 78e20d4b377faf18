"""SIGINT and SIGTERM while a command runs.

A run that can go on later is asked to stop and writes a checkpoint (see `runs.observer`). In
Python, where Ctrl-C raises KeyboardInterrupt, `_base.interrupts` keeps a learner whole.
"""

import atexit
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

AT_ONCE = 0.2  # seconds
STOPPING = b"\ndwindle: stopping, so that nothing is lost; once more ends it at once\n"
AGAIN = 0.01  # seconds until a signal that came in the midst of an import is looked at again


class StopSignals:
    """SIGINT and SIGTERM, which ask a run to stop; the third ends it at once.

    ``timeout`` sends its signal to the command and then to all of its group, which is one question
    and not two.
    """

    def __init__(self) -> None:
        self.asked: list[int] = []  # the numbers of the signals that came
        self._raised: type[BaseException] | None = None
        self._times, self._since = 0, -AT_ONCE
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)

    @contextmanager
    def raising(self, error: type[BaseException]) -> Iterator[None]:
        """Raise ``error`` as soon as a signal comes, or if one came before."""
        self._raised = error
        try:
            if self.asked:
                raise error
            yield
        finally:
            self._raised = None

    def _stop(self, number: int, _frame: Any) -> None:
        if time.monotonic() > self._since + AT_ONCE:
            self._times, self._since = self._times + 1, time.monotonic()
            if self._times == 2:  # it may be writing the checkpoint
                os.write(2, STOPPING)
            elif self._times > 2:
                signal.signal(number, signal.SIG_DFL)
                signal.raise_signal(number)
        self.asked.append(number)
        error, self._raised = self._raised, None
        if error is not None:
            raise error


def exit_on_signals() -> None:
    """End the command at a signal as an exception does, so that no half-written file is left.

    An import is ended first, since an exception may be lost in one of its callbacks.
    """
    since = -AT_ONCE

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal since
        if _imports(frame) and hasattr(signal, "setitimer"):
            signal.signal(signal.SIGALRM, lambda _alarm, frame: end(number, frame))
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
            atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)  # too late: the work is done
        elif time.monotonic() > since + AT_ONCE:
            since = time.monotonic()
            sys.exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def _imports(frame: FrameType | None) -> bool:
    """Whether a module is being imported."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
