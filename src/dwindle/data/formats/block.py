"""Blocks of text, which go into a parser, and parsed examples, which come out."""

from collections.abc import Sequence
from typing import Any, NamedTuple

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


def spelled_label(label: float | str) -> str:
    """Write a label as files do: a whole number without its point."""
    if isinstance(label, str):
        return label
    return str(int(label)) if label == int(label) else f"{label:.9g}"


def are_words(n_words: int, n: int) -> bool:
    """Tell whether n labels are text; a word among ten or more numbers is a bad line instead.

    >>> are_words(1, 2), are_words(1, 20)
    (True, False)
    """
    return n_words > 0.1 * n


def coded_labels(labels: Sequence[float | str]) -> tuple[NDArray[np.float32], list[str] | None]:
    """Number labels if some are text, and name what is numbered; numbers alone stay as they are.

    >>> coded_labels(["spam", 1, "spam"])
    (array([0., 1., 0.], dtype=float32), ['spam', '1'])
    """
    if not any(isinstance(label, str) for label in labels):
        return np.array(labels, np.float32), None
    places: dict[str, int] = {}
    codes = [places.setdefault(spelled_label(label), len(places)) for label in labels]
    return np.array(codes, np.float32), list(places)


class Parsed(NamedTuple):
    """The examples of a block in order, the line of each, and the lines that were not examples."""

    batch: Batch
    line: NDArray[np.int64]
    bad: list[BadLine]
    tags: Sequence[str] | None = None  # of each example, "" for none; None if no line has one
    source: str = ""  # where the lines are
    end: int = 0  # bytes read by its end: `stream.read` adds up those of all sources
    label_names: Sequence[str] | None = None  # if labels are text: what the labels number
    sources: NDArray[Any] | None = None  # of each example, if they are from several
    n_blank: int = 0  # lines that were skipped because nothing is in them, where that is unusual

    def place(self, i: int) -> str:
        """Say where example i is, for messages."""
        return f"{self.source if self.sources is None else self.sources[i]}:{self.line[i]}"

    def rows(self, first: int, last: int) -> "Parsed":
        """Return the examples from ``first`` to before ``last``, with all bad lines."""
        some = slice(first, last)
        return self._replace(
            batch=self.batch.rows(first, last),
            line=self.line[some],
            tags=None if self.tags is None else self.tags[some],
            sources=None if self.sources is None else self.sources[some],
        )

    def label(self, i: int) -> str | float:
        """Return the label of example i as it is written, for messages."""
        assert self.batch.label is not None
        label = float(self.batch.label[i])
        if self.label_names is not None:
            return self.label_names[int(label)]
        return int(label) if label.is_integer() else label

    def n_bad(self, *, skip_bad: bool) -> int:
        """Count the bad lines; unless they may be skipped, the first one is raised as an error."""
        if self.bad and not skip_bad:
            raise DataError(str(self.bad[0]))
        return len(self.bad)


def joined(items: Sequence[Parsed]) -> Parsed:
    """Make one of several, in order, with one numbering of the labels that are text."""
    if len(items) == 1:
        return items[0]
    names: dict[str, int] = {}
    are_text = any(item.label_names is not None for item in items)
    batches = [_renumbered(item, names) if are_text else item.batch for item in items]
    have_tags = all(item.tags is not None for item in items)
    sources = np.repeat(
        np.array([item.source for item in items], object), [len(item.line) for item in items]
    )
    return items[0]._replace(
        batch=Batch.joined(batches),
        line=np.concatenate([item.line for item in items]),
        bad=[line for item in items for line in item.bad],
        tags=[tag for item in items for tag in item.tags or ()] if have_tags else None,
        sources=sources if len({item.source for item in items}) > 1 else None,
        label_names=[*names] if are_text else None,
    )


def _renumbered(item: Parsed, names: dict[str, int]) -> Batch:
    """Number the labels by their place in ``names``, to which new ones are added."""
    label = item.batch.label
    if label is None:
        return item.batch
    if item.label_names is None:
        distinct, code = np.unique(label, return_inverse=True)
        own = [*map(spelled_label, distinct.tolist())]
    else:
        code, own = label.astype(np.int64), list(item.label_names)
    place = np.array([names.setdefault(name, len(names)) for name in own] or [0], np.float32)
    return item.batch._replace(label=place[code])
