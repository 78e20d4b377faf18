"""Pipes into which lines come slowly: what has arrived is handed on when no more comes.

A reader asks `Arriving` after each read whether to wait for more. A pipe that is fast fills whole
blocks before that says no, so that nothing is lost there.
"""

import io
import os
import select
import stat
import time
from collections.abc import Callable
from typing import Any

PAUSE = 0.01  # seconds without a byte, after which what is there is handed on
LONGEST = 0.1  # seconds after which it is handed on though more comes

Arriving = Callable[[], bool]


def arriving(file: Any) -> Callable[[], Arriving] | None:
    """Return what makes a clock for each block of a pipe; None if the file is no pipe.

    The clock tells, after a read, whether to wait for more of the block. Windows cannot ask a pipe
    whether it holds anything, so that a pipe is read there as a file is.
    """
    try:
        number = file.fileno()
    except (OSError, io.UnsupportedOperation):
        return None
    if stat.S_ISREG(os.fstat(number).st_mode) or not hasattr(select, "poll"):
        return None
    pipe = select.poll()
    pipe.register(number, select.POLLIN)

    def clock() -> Arriving:
        until = time.monotonic() + LONGEST
        return lambda: bool(pipe.poll(1000 * PAUSE)) and time.monotonic() < until

    return clock
