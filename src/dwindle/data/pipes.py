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
from typing import Any, BinaryIO

from dwindle._base.threads import POLL, check_wanted

PAUSE = 0.01  # seconds without a byte, after which what is there is handed on
LONGEST = 0.1  # seconds after which it is handed on though more comes

Arriving = Callable[[], bool]


def arriving(file: Any) -> Callable[[], Arriving] | None:
    """Return what makes a clock for each block of a pipe; None if the file is no pipe.

    The clock tells, after a read, whether to wait for more of the block. Windows cannot ask a pipe
    whether it holds anything, so that a pipe is read there as a file is.
    """
    if not isinstance(file, Pipe):
        return None

    def clock() -> Arriving:
        until = time.monotonic() + LONGEST
        return lambda: file.has_more(PAUSE) and time.monotonic() < until

    return clock


class Pipe:
    """A pipe, whose reads end when nobody waits for them any more (`threads.check_wanted`)."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._poll = select.poll()
        self._poll.register(file.fileno(), select.POLLIN)

    def has_more(self, seconds: float) -> bool:
        """Wait at most so long for a byte, or for the end; tell whether there is one."""
        return bool(self._poll.poll(1000 * seconds))

    def read1(self, n: int) -> bytes:
        """Read what is there, at most n bytes; wait for the first."""
        while not self.has_more(POLL):
            check_wanted()
        some: bytes = self._file.read1(n)
        return some


def piped(file: BinaryIO) -> "BinaryIO | Pipe":
    """Return the file itself, or a `Pipe` if it is one."""
    try:
        is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, io.UnsupportedOperation):
        return file
    return file if is_file or not hasattr(select, "poll") else Pipe(file)


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
