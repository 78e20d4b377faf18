"""Pipes into which lines come slowly: what has arrived is handed on when no more comes.

A reader asks an `Arriving` after each read whether to wait for more. A pipe that is fast fills
whole blocks before it says no, so that nothing is lost there.
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


class Pieces:
    """A pipe as a row of files for Arrow's CSV reader, which hands on its last block at the end.

    A piece ends when no more comes, where a line ends outside quotes.
    """

    closed = False

    def __init__(self, file: io.BufferedReader, clock: Callable[[], Arriving]) -> None:
        self._file, self._clock = file, clock
        self._rest = b""
        self._in_quotes = self._paused = False
        self.ended = False
        self.readline = file.readline

    def next_piece(self) -> bool:
        """Begin the next piece; tell whether there is one."""
        self._paused = False
        return not self.ended

    def read(self, n: int) -> bytes:
        """Read at most n bytes of this piece; b"" at its end."""
        if self._paused or self.ended:
            return b""
        text, more, end = self._rest, self._clock(), n
        while len(text) < end and not self.ended:
            part = self._file.read1(n - len(text))
            text, self.ended = text + part, not part
            if not more() and (whole := text.rfind(b"\n") + 1) and not self._odd(text[:whole]):
                end = whole if part else n
                self._paused = True
        self._rest, text = text[end:], text[:end]
        self._in_quotes = self._odd(text)
        return text

    def _odd(self, text: bytes) -> bool:
        """Tell whether quotes are open after a text."""
        return (self._in_quotes + text.count(b'"')) % 2 == 1
