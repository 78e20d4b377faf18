"""The formats of data: one row each, saying how to recognise, read and write it.

A row imports the code of its format when it is first used; this module itself imports neither
Arrow nor Numba, so that the command line can list the formats at no cost.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from dwindle._base.errors import DataError, SettingError
from dwindle._base.remote import local
from dwindle._base.threads import prefetch

if TYPE_CHECKING:
    from dwindle.data.formats.block import Parsed
    from dwindle.data.options import ReadOptions
    from dwindle.data.schema import ColumnKinds
    from dwindle.data.sources import Opened

Read = Callable[["Opened", "ReadOptions", "ColumnKinds"], Iterator["Parsed"]]
Write = Callable[[Any, Iterable["Parsed"]], None]

_HERE = __name__.rpartition(".")[0]


class Format(NamedTuple):
    """A format of data."""

    name: str
    extensions: tuple[str, ...]
    sniff: Callable[[bytes], bool]  # whether a file with this first line seems to be of it
    read: Read
    write: Write | None = None
    is_text: bool = True  # else Arrow reads it in place: from a file only, and not compressed


def lines_of(module: str) -> Read:
    """Read text line by line, with the module's function ``parse``.

    If lines have namespaces, its function ``mentions`` tells whether a block has one of this name.
    """

    def read(source: "Opened", options: "ReadOptions", kinds: "ColumnKinds") -> Iterator["Parsed"]:
        from dwindle.data.text.lines import parsed_lines  # noqa: PLC0415  (when first used)

        format_ = import_module(module)
        mentions = getattr(format_, "mentions", None)
        return parsed_lines(format_.parse, source, options, kinds, mentions)

    return read


def _csv(delimiter: str) -> Read:
    def read(source: "Opened", options: "ReadOptions", kinds: "ColumnKinds") -> Iterator["Parsed"]:
        csv, pipes = import_module(f"{_HERE}.csv"), import_module("dwindle.data.pipes")
        if options.live and source.clock is not None:
            source = source._replace(file=pipes.Pieces(source.file, source.clock))
        return _located(
            source,
            options,
            csv.batches(source.file, source.name, options, options.delimiter or delimiter, kinds),
        )

    return read


def _json_lines(
    source: "Opened", options: "ReadOptions", kinds: "ColumnKinds"
) -> Iterator["Parsed"]:
    return import_module(f"{_HERE}.jsonl").batches(source, options, kinds)


def _columnar(source: "Opened", options: "ReadOptions", kinds: "ColumnKinds") -> Iterator["Parsed"]:
    if source.name == "stdin":
        raise DataError(f"{source.name}: Parquet and Arrow are read from a file, not from a pipe")
    arrow = import_module(f"{_HERE}.tables.arrow")

    def batches() -> Iterator["Parsed"]:
        with local(source.path) as path:
            yield from arrow.batches(path, options, kinds, source.name)

    return _located(source, options, batches())


def _located(
    source: "Opened", options: "ReadOptions", batches: Iterator["Parsed"]
) -> Iterator["Parsed"]:
    # Arrow does not read through our file, and says itself how far it has come.
    found = (b._replace(source=source.name, end=b.end or source.tell()) for b in batches)
    return prefetch(found) if options.ahead else found


def _text(writer: str) -> Write:
    """Write text, with a function of `writers` that returns the lines of a batch."""

    def write(file: Any, parsed: Iterable["Parsed"]) -> None:
        lines = getattr(import_module(f"{_HERE}.writers"), writer)
        for each in parsed:
            file.write(lines(each))

    return write


def _write_arrow(file: Any, parsed: Iterable["Parsed"]) -> None:
    import_module(f"{_HERE}.tables.arrow").write(file, parsed)


def _begins(sign: bytes) -> Callable[[bytes], bool]:
    return lambda line: line.lstrip().startswith(sign)


def _is_vw(line: bytes) -> bool:
    return b"|" in line or not line.strip()  # its parser skips blank lines


def _is_svmlight(line: bytes) -> bool:
    tokens = line.partition(b"#")[0].split()
    return len(tokens) > 1 and all(token.count(b":") == 1 for token in tokens[1:])


# The first one whose sniff says yes is taken, so a surer sign stands before a weaker one.
FORMATS = [
    Format("parquet", (".parquet",), _begins(b"PAR1"), _columnar, is_text=False),
    Format(
        *("arrow", (".arrow", ".feather"), _begins(b"ARROW1"), _columnar, _write_arrow),
        is_text=False,
    ),
    Format("jsonl", (".jsonl", ".ndjson"), _begins(b"{"), _json_lines),
    Format("vw", (".vw",), _is_vw, lines_of(f"{_HERE}.vw.parser"), _text("vw")),
    Format(
        *("svmlight", (".svm", ".svmlight", ".libsvm"), _is_svmlight),
        *(lines_of(f"{_HERE}.svmlight"), _text("svmlight")),
    ),
    Format("tsv", (".tsv",), lambda line: b"\t" in line.strip(), _csv("\t")),
    Format("csv", (".csv",), lambda line: b"," in line, _csv(",")),
]


def names(*, written: bool = False) -> tuple[str, ...]:
    """List the formats that can be read, or only those that can also be written."""
    return tuple(sorted(each.name for each in FORMATS if each.write or not written))


def named(name: str) -> Format:
    """Find a format by its name."""
    for each in FORMATS:
        if each.name == name:
            return each
    raise SettingError(f"unknown format {name!r}: expected one of {', '.join(names())}")


def by_extension(extension: str) -> str | None:
    """Find the name of the format whose files have this extension."""
    return next((each.name for each in FORMATS if extension in each.extensions), None)


def by_first_line(line: bytes, source: str) -> Format:
    """Find the format that a file's first line looks like."""
    if line.strip() == b"[" or line.lstrip().startswith(b"[{"):
        raise DataError(f"{source}: a JSON array: write one object a line instead (JSON lines)")
    for each in FORMATS:
        if each.sniff(line):
            return each
    if b";" in line:
        raise DataError(f"{source}: is it CSV with ';' between cells? say --delimiter ';'")
    raise DataError(
        f"{source}: cannot tell the format from its name or its first line: say it with --format, "
        f"one of {', '.join(names())}"
    )
