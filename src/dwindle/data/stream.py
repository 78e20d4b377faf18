"""Parsed batches of files and pipes, in order.

One thread reads and decompresses, one or more parse, and the caller learns: decompressors and
kernels release the interpreter's lock, and between the threads there are only short queues.
"""

from collections.abc import Iterable, Iterator

from dwindle._base.errors import DataError
from dwindle._base.text import counted
from dwindle._base.threads import prefetch
from dwindle.data.compression import damage
from dwindle.data.formats.block import Parsed
from dwindle.data.options import ReadOptions, kinds_for
from dwindle.data.rows import Rows
from dwindle.data.schema import ColumnKinds
from dwindle.data.sources import Given, name_of, opened, sources, with_format


def read(
    paths: Given | Iterable[Given],
    options: ReadOptions | None = None,
    kinds: ColumnKinds | None = None,
) -> Iterator[Parsed]:
    """Yield the examples of a file, or of several in order, a batch at a time.

    ``kinds`` remembers what the columns of tables are, from one reading to the next.
    """
    options = options or ReadOptions()
    kinds = kinds or kinds_for(options)
    end = 0
    for path in sources(paths):
        before, n_blank = end, 0
        for parsed in _read_file(path, options, kinds):
            end = before + parsed.end
            n_blank += parsed.n_blank
            kinds.tell()
            yield parsed._replace(end=end)
        if n_blank:
            kinds.note(f"{name_of(path)}: {counted(n_blank, 'blank line')}, skipped")
            kinds.tell()


def _read_file(path: str, options: ReadOptions, kinds: ColumnKinds) -> Iterator[Parsed]:
    if isinstance(path, Rows):
        if (note := path.note) is not None:
            kinds.note(note)
        from dwindle.data.formats.tables.arrow import reader_batches  # noqa: PLC0415  (text is read without)

        with path.reader() as reader:
            found = reader_batches(reader, path.shown, options, kinds)
            yield from prefetch(found) if options.ahead else found
        return
    try:
        with opened(path) as file:
            kind, source = with_format(file, options)
            yield from kind.read(source, options, kinds)
    except damage() as error:
        raise DataError(f"{name_of(path)}: cannot be read, or is cut short: {error}") from None
