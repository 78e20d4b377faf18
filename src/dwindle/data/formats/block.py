"""What goes into a parser and what comes out."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError
from dwindle.data.buffers import Memory
from dwindle.features.batch import Batch


class Size(NamedTuple):
    """What a block holds at most.

    ``odd`` says that some line has a NUL, or a carriage return before its end. Without one, no line
    need be searched for them.
    """

    lines: int
    separators: int  # spaces and tabs: there is one before each feature
    bars: int
    odd: bool


class Block(NamedTuple):
    """Whole lines of a text source: the last line may lack its newline only at the source's end."""

    data: NDArray[np.uint8]
    source: str  # what messages call it: a path, or "stdin"
    line: int = 1  # the number of the block's first line
    end: int = 0  # bytes of the source, compressed as it is, read by the block's end
    memory: Memory = Memory()  # for what is parsed; blocks of one source share it
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
    end: int = 0  # bytes read by the end of it: of all sources, once `stream.read` has added up

    def place(self, i: int) -> str:
        """Say where example i is, for messages."""
        return f"{self.source}:{self.line[i]}"

    def n_bad(self, *, skip_bad: bool) -> int:
        """How many lines were not examples; unless they may be skipped, the first is an error."""
        if self.bad and not skip_bad:
            raise DataError(str(self.bad[0]))
        return len(self.bad)
