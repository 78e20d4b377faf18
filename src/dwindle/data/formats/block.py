"""Blocks of text, which go into a parser, and parsed examples, which come out."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.data.buffers import Memory
from dwindle.features.batch import Batch


class Size(NamedTuple):
    """Upper bounds on what a block holds.

    ``odd`` says that some line has a NUL, or a carriage return before its end; if not, lines need
    not be searched for them.
    """

    lines: int
    separators: int  # spaces and tabs: there is one before each feature
    bars: int
    odd: bool


class Block(NamedTuple):
    """Whole lines of a source; the last line may lack its newline only at the end of the source."""

    data: NDArray[np.uint8]
    source: str  # what messages call it: a path, or "stdin"
    line: int = 1  # the number of the block's first line
    end: int = 0  # bytes of the source, as it is on disk, read by the end of the block
    memory: Memory = Memory()  # for parsed arrays; shared by the blocks of a source
    size: Size | None = None  # if it is known


class BadLine(NamedTuple):
    """A line that could not be parsed; ``message`` says what was expected and what was found."""

    source: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.message}"


class Parsed(NamedTuple):
    """The examples of a block in order, the line of each, and the lines that were not examples."""

    batch: Batch
    line: NDArray[np.int64]
    bad: list[BadLine]
    tags: Sequence[str] | None = None  # of each example, "" for none; None if no line has one
    source: str = ""  # where the lines are
    end: int = 0  # bytes read by its end: `stream.read` adds up those of all sources

    def place(self, i: int) -> str:
        """Say where example i is, for messages."""
        return f"{self.source}:{self.line[i]}"

    def n_bad(self, *, skip_bad: bool) -> int:
        """Count the bad lines; unless they may be skipped, the first one is raised as an error."""
        if self.bad and not skip_bad:
            raise DataError(str(self.bad[0]))
        return len(self.bad)
