"""Conversion of data from any format that can be read to one that can be written."""

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from dwindle._base.errors import DataError, SettingError
from dwindle._base.files import check_apart, replacing
from dwindle.data.compression import Compression, compressed, split_extension
from dwindle.data.formats.block import Parsed
from dwindle.data.formats.registry import Format, by_extension, named, names
from dwindle.data.options import ReadOptions, kinds_for
from dwindle.data.sources import size, sources
from dwindle.data.stream import read
from dwindle.runs.observer import Observer

STDOUT = "-"
MOST_FEATURES = 1 << 20  # written at a time, to bound the memory that writing takes


class Converted(NamedTuple):
    """How much was read and written."""

    examples: int
    features: int
    skipped: int
    bytes_in: int | None  # None if some of it came from a pipe
    bytes_out: int


def convert(
    paths: Sequence[str],
    out: str,
    options: ReadOptions | None = None,
    *,
    to: str | None = None,
    skip_bad: bool = False,
    observer: Observer | None = None,
) -> Converted:
    """Write the examples of the data to one file, in another format.

    ``to`` is "arrow", "svmlight" or "vw", by default the format of the extension of ``out``; "-" is
    standard output. The new file holds the same examples, to the bit. An example that its format
    cannot express is an error that says where it is, and a file that was there stays as it was.
    """
    target, compression = _target(out, to)
    assert target.write is not None
    files = sources(paths)
    if out != STDOUT:
        check_apart(out, files)
    tally = _Tally(skip_bad=skip_bad)
    how = options or ReadOptions()
    kinds = kinds_for(how, (observer or Observer()).note)
    with _opened(out) as file, compressed(compression, file) as content:
        target.write(content, tally.counted(read(files, how, kinds)))
    kinds.tell_unseen()
    return Converted(tally.examples, tally.features, tally.skipped, size(files), file.size)


class _Tally:
    """Counts the examples that pass, and cuts them into pieces."""

    def __init__(self, *, skip_bad: bool) -> None:
        self.skip_bad = skip_bad
        self.examples = self.features = self.skipped = 0

    def counted(self, everything: Iterable[Parsed]) -> Iterator[Parsed]:
        for parsed in everything:
            self.skipped += parsed.n_bad(skip_bad=self.skip_bad)
            if parsed.label_names:
                raise DataError(
                    f"{parsed.source}: labels are text, such as {parsed.label_names[0]!r}, and the "
                    "formats to write hold numbers: train reads the file as it is"
                )
            self.examples += parsed.batch.n_examples
            self.features += len(parsed.batch.key)
            yield from _pieces(parsed)


def _pieces(parsed: Parsed) -> Iterator[Parsed]:
    """Cut a batch into pieces of at most `MOST_FEATURES`, or of one example."""
    start, first = parsed.batch.start, 0
    while first < parsed.batch.n_examples:
        fits = int(np.searchsorted(start, start[first] + MOST_FEATURES, side="right")) - 1
        last = max(first + 1, fits)
        yield parsed._replace(
            batch=parsed.batch.rows(first, last),
            line=parsed.line[first:last],
            tags=None if parsed.tags is None else parsed.tags[first:last],
        )
        first = last


def _target(out: str, to: str | None) -> tuple[Format, Compression | None]:
    """Find the format and the compression to write."""
    extension, compression = split_extension(out)
    # Readers of .feather expect what Arrow calls a file, and we write what it calls a stream.
    name = to or (by_extension(extension) if extension != ".feather" else None)
    if name not in names(written=True):
        target = "standard output" if out == STDOUT else repr(out)
        raise SettingError(
            f"cannot tell the format to write to {target}: say it with --to, "
            f"one of {', '.join(names(written=True))}"
        )
    if compression and not named(name).is_text:
        raise SettingError(
            f"{out}: Arrow files are read in place, so they cannot be compressed as a whole: "
            f"leave out {compression.extension}"
        )
    return named(name), compression


class _Counting(io.RawIOBase):
    """Passes bytes on and counts them; closing it leaves the file open, for `replacing` to sync."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._file.write(data)
        self.size += len(data)
        return len(data)


@contextmanager
def _opened(out: str) -> Iterator[_Counting]:
    if out == STDOUT:
        yield _Counting(cast("BinaryIO", sys.stdout.buffer))
        sys.stdout.flush()
        return
    with replacing(out) as file:
        yield _Counting(file)
