"""SIGINT and SIGTERM while a command runs.

A run that can go on later is asked to stop and writes a checkpoint (see `runs.observer`). In
Python, where Ctrl-C raises KeyboardInterrupt, `_base.interrupts` keeps a learner whole.
"""

import signal
import sys
import time
from typing import Any

AT_ONCE = 0.2  # seconds


def stop_signals() -> list[int]:
    """Return a list that SIGINT and SIGTERM append to; a second signal ends the run at once.

    ``timeout`` sends its signal to the command and then to all of its group, which is one question
    and not two.
    """
    asked: list[int] = []
    since = 0.0

    def stop(number: int, _frame: Any) -> None:
        nonlocal since
        if not asked:
            since = time.monotonic()
        elif time.monotonic() > since + AT_ONCE:  # who asks twice does not want to wait
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        asked.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return asked


def exit_on_signals() -> None:
    """End the command at a signal as an exception does, so that no half-written file is left."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda given, _frame: sys.exit(128 + given))
