"""Quotes of CSV that are opened and never closed, which would swallow the rest of a file."""

from typing import Any, BinaryIO

import numpy as np

from dwindle._base.errors import DataError
from dwindle._base.text import NEWLINE, RETURN
from dwindle.data.pipes import Pieces
from dwindle.jit.compile import kernel

QUOTE = ord('"')
MARK = b"\xef\xbb\xbf"
OUTSIDE, INSIDE, CLOSED = range(3)  # CLOSED: right after a quote that may have closed a cell


class Quotes:
    """A CSV file that, while it is read, knows whether a quote is open, and on which line."""

    closed = False

    def __init__(self, file: BinaryIO | Pieces, source: str, delimiter: str) -> None:
        self._file, self._source, self._delimiter = file, source, ord(delimiter)
        self._before, self._state, self._line = NEWLINE, OUTSIDE, 1
        self._opened_on = 0  # the line of the quote that was opened last
        self._begins = True  # a byte order mark may follow, which Arrow skips

    def readline(self, most: int) -> bytes:
        """Read a line, which must not end inside quotes."""
        text = self._seen(self._file.readline(most))
        self.check()
        self._begins = True
        return text

    def read(self, n: int) -> bytes:
        """Read at most n bytes."""
        return self._seen(self._file.read(n))

    def next_piece(self) -> bool:
        """Go on with the next piece of a pipe; tell whether there is one."""
        self._begins = True
        return isinstance(self._file, Pieces) and self._file.next_piece()

    def check(self) -> None:
        """Refuse that a quote is open here."""
        if self._state == INSIDE:
            raise DataError(
                f"{self._source}:{self._opened_on}: a quote is opened here and not closed: close "
                "it, or write a quote that belongs to a cell twice, and the cell in quotes"
            )

    def _seen(self, text: bytes) -> bytes:
        mark = len(MARK) if self._begins and text.startswith(MARK) else 0
        if self._state != OUTSIDE or QUOTE in text:
            data = np.frombuffer(text, np.uint8)[mark:]
            self._state, at = _walk(data, self._state, self._before, self._delimiter)
            if at >= 0:
                self._opened_on = self._line + text.count(b"\n", 0, mark + at)
        self._begins = False
        self._line += text.count(b"\n")
        self._before = text[-1] if text else self._before
        return text


@kernel
def _walk(text: Any, state: int, before: int, delimiter: int) -> tuple[int, int]:
    """Return the state after a text, and where the last quote was opened in it, or -1.

    A quote opens a cell only as its first byte. Of two in a row inside a cell, the first closes it
    for the moment and the second opens it again.
    """
    at = -1
    for i in range(len(text)):
        c = text[i]
        if c != QUOTE:
            if state == CLOSED:
                state = OUTSIDE
        elif state == INSIDE:
            state = CLOSED
        elif state == CLOSED:
            state = INSIDE
        elif before in (delimiter, NEWLINE, RETURN):
            state, at = INSIDE, i
        before = c
    return state, at
