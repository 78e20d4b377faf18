"""From any format that is read to one that is written: Arrow, svmlight or VW text."""

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import pyarrow as pa

from dwindle._base.errors import SettingError
from dwindle._base.files import replacing
from dwindle.data.formats import writers
from dwindle.data.formats.block import Parsed
from dwindle.data.formats.tables import arrow
from dwindle.data.stream import EXTENSIONS, ReadOptions, read, sources

STDOUT = "-"
MOST_FEATURES = 1 << 20  # written at once: more would only take memory


class Converted(NamedTuple):
    """What was read and written."""

    examples: int
    features: int
    skipped: int
    bytes_in: int | None  # not known of a pipe
    bytes_out: int


def convert(
    paths: Sequence[str],
    out: str,
    reading: ReadOptions | None = None,
    *,
    to: str | None = None,
    skip_bad: bool = False,
) -> Converted:
    """Write the examples of the data to one file, in another format.

    ``to`` is "arrow", "svmlight" or "vw", by default what the extension of ``out`` says; "-" is
    standard output. The file is read as the same examples, to the bit; where its format has no
    words for one, that is an error with its place, and a file that was there stays as it was.
    """
    write = _writer(out, to)
    files = sources(paths)
    tally = _Tally(skip_bad=skip_bad)
    with _opened(out) as file:
        write(file, tally.counted(read(files, reading)))
    sizes = [Path(name).stat().st_size if Path(name).is_file() else None for name in files]
    known = [size for size in sizes if size is not None]
    return Converted(
        tally.examples,
        tally.features,
        tally.skipped,
        sum(known) if len(known) == len(sizes) else None,
        file.size,
    )


class _Tally:
    """Counts what goes by, and cuts it to size."""

    def __init__(self, *, skip_bad: bool) -> None:
        self.skip_bad = skip_bad
        self.examples = self.features = self.skipped = 0

    def counted(self, everything: Iterable[Parsed]) -> Iterator[Parsed]:
        for parsed in everything:
            self.skipped += parsed.n_bad(skip_bad=self.skip_bad)
            self.examples += parsed.batch.n_examples
            self.features += len(parsed.batch.key)
            yield from _pieces(parsed)


def _pieces(parsed: Parsed) -> Iterator[Parsed]:
    """The same examples in runs of at most `MOST_FEATURES`, or of one example."""
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


Writer = Callable[[Any, Iterable[Parsed]], None]


def _write_text(
    lines: Callable[[Parsed], memoryview],
    compressed: Callable[[BinaryIO], AbstractContextManager[Any]],
    file: BinaryIO,
    parsed: Iterable[Parsed],
) -> None:
    with compressed(file) as text:
        for one in parsed:
            text.write(lines(one))


TEXTS = {"svmlight": writers.svmlight, "vw": writers.vw}
FORMATS = ("arrow", *TEXTS)
# Who reads .feather expects what Arrow calls a file, and we write a stream.
WRITTEN = {end: kind for end, kind in EXTENSIONS.items() if kind in FORMATS and end != ".feather"}
COMPRESSED: dict[str, Callable[[Any], AbstractContextManager[Any]]] = {
    ".gz": lambda file: gzip.GzipFile("", "wb", 6, file, mtime=0),  # the same bytes any day
    ".zst": lambda file: pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd"),
    ".bz2": lambda file: bz2.BZ2File(file, "wb"),
    ".xz": lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115  (who calls it closes it)
}


def _writer(out: str, to: str | None) -> Writer:
    """What writes the format that is said, or else that of the file's extension."""
    suffixes = Path(out).suffixes if out != STDOUT else []
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSED else None
    kind = to or (WRITTEN.get(suffixes[-1]) if suffixes else None)
    if kind not in FORMATS:
        name = "standard output" if out == STDOUT else repr(out)
        raise SettingError(
            f"cannot tell the format to write to {name}: say it with --to, "
            f"one of {', '.join(FORMATS)}"
        )
    if kind in TEXTS:
        return partial(_write_text, TEXTS[kind], COMPRESSED.get(compression or "", nullcontext))
    if compression:
        raise SettingError(
            f"{out}: Arrow is read where it stands, so not compressed: leave out {compression}"
        )
    return arrow.write


class _Counting(io.RawIOBase):
    """Passes bytes on and counts them; to close it leaves the file open, to be made safe."""

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
