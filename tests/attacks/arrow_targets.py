"""Parquet and Arrow: tables of any types, written in any way, and then damaged."""

import datetime as dt
import io
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from attacks import mutation
from attacks.table_targets import attempted, same
from attacks.target import Difference, Target
from attacks.text_targets import folder
from dwindle.data.formats.block import Block
from dwindle.data.formats.tables import arrow, lists
from dwindle.data.formats.vw import parser as vw
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from helpers import reference_columns as reference

DAY = dt.date(2024, 5, 31)
TIME = dt.datetime(2024, 5, 31, 13, 45, tzinfo=dt.UTC)
WORDS = ["red", "blue", "", "ü", None, "x" * 20]
NUMBERS = [0, 1, None, 3, 100]
FLOATS = [0.0, 1.0, None, 3.5, -2.5, 0.1, 65504.0]
# Types whose cells are read here in plain Python, with their cells; and others.
SIMPLE = {
    **dict.fromkeys((pa.int8(), pa.uint8(), pa.int16(), pa.uint32(), pa.int64()), NUMBERS),
    pa.uint64(): [0, None, 2**64 - 1, 1],
    pa.float32(): [*FLOATS, 1e38, 1e-45],
    pa.float64(): [*FLOATS, 1e38, 1e39, 1e-46, float("inf")],
    pa.bool_(): [True, False, None],
    pa.string(): WORDS,
    pa.large_string(): WORDS,
    pa.dictionary(pa.int8(), pa.string()): WORDS,
    pa.dictionary(pa.int32(), pa.string()): WORDS,
    pa.list_(pa.string()): [["p", "q", "p"], [], None, ["ü"]],
}
OTHER = {
    pa.float16(): [np.float16(1.5), None, np.float16(0)],
    pa.decimal128(10, 2): [Decimal("1.25"), None, Decimal(0)],
    pa.date32(): [DAY, None],
    pa.timestamp("ms"): [TIME.replace(tzinfo=None), None],
    pa.timestamp("us", "UTC"): [TIME, None],
    pa.list_(pa.int32()): [[1], [], None],
    pa.struct([("city", pa.string()), ("age", pa.int32())]): [{"city": "x", "age": 3}, None],
    pa.map_(pa.string(), pa.float32()): [[("a", 1.5)], [], None],
    pa.null(): [None],
    pa.binary(): [b"x\xff", None],
    pa.time32("s"): [dt.time(1, 2), None],
}


def table(rng):
    """A table with a label and some columns."""
    n = rng.choice((0, 1, 2, 5, 20))
    columns = {"label": pa.array([rng.choice((0, 1, 1, None)) for _ in range(n)], pa.int8())}
    for name in rng.sample(("a", "b", "c", "zip", "ü"), rng.randrange(5)):
        kinds = SIMPLE if rng.random() < 0.8 else OTHER
        kind = rng.choice(list(kinds))
        columns[name] = array([rng.choice(kinds[kind]) for _ in range(n)], kind)
    return pa.table(columns)


def array(values, kind):
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)


def as_parquet(rng):
    """A table as Parquet."""
    file = io.BytesIO()
    pq.write_table(
        table(rng),
        file,
        compression=rng.choice(("none", "snappy", "zstd", "gzip", "lz4")),
        use_dictionary=rng.random() < 0.6,
        data_page_version=rng.choice(("1.0", "2.0")),
        row_group_size=rng.choice((1, 3, 1000)),
        write_statistics=rng.random() < 0.7,
        write_page_checksum=rng.random() < 0.3,
        version=rng.choice(("1.0", "2.4", "2.6")),
    )
    return file.getvalue()


def as_arrow(rng):
    """A table, or lists of features without checksums, as an Arrow file or stream."""
    found = table(rng) if rng.random() < 0.7 else listed(rng)
    file = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=rng.choice((None, None, "lz4", "zstd")))
    new = rng.choice((pa.ipc.new_file, pa.ipc.new_stream))
    with new(file, found.schema, options=options) as writer:
        for batch in found.to_batches(max_chunksize=rng.choice((1, 3, 1000))):
            if pa.types.is_dictionary(batch.schema.types[-1]) and new is pa.ipc.new_file:
                writer.write_table(found)
                break
            writer.write_batch(batch)
    return file.getvalue()


def listed(rng):
    """Lists of features, numbered or not."""
    given = parsed(rng)
    coded = lists.numbered(given.batch) if rng.random() < 0.5 else None
    return pa.Table.from_batches([lists.to_arrow(given, coded)])


def parsed(rng):
    """Examples from VW text."""
    text = b"".join(
        b"%d %d 'tag%d |u n%d:0.%d n%d |v c%d\n"
        % ((-1) ** i, 1 + i % 2, i, i % 5, i + 1, i + 9, i % 3)
        for i in range(rng.choice((1, 5, 20)))
    )
    return vw.parse(Block(np.frombuffer(text, np.uint8), "data.vw"))


def as_converted(rng):
    """What `dwindle convert` writes."""
    file = io.BytesIO()
    arrow.write(file, [parsed(rng) for _ in range(rng.choice((1, 2)))])
    return file.getvalue()


def maker(write):
    def make(rng, corpus):
        if corpus and rng.random() < 0.2:
            data = rng.choice(corpus)
        else:
            try:
                data = write(rng)
            except (pa.ArrowException, OSError):  # a type that the format has not
                return b""
        return mutation.changed(data, rng, (), corpus) if rng.random() < 0.75 else data

    return make


def run(data, rng):
    """Read it; if that succeeds, compare with what pyarrow reads, as plain Python understands it."""
    path = folder() / f"table{rng.randrange(2)}"
    path.write_bytes(data)
    parts = attempted(lambda: list(arrow.batches(str(path), ReadOptions())))
    if parts is None:
        return False
    rows = _rows(data)
    if rows is not None:
        same(parts, reference.wide(rows, "label"))
    return not any(part.bad for part in parts)


def _rows(data):
    """The rows of a table as Python's values; None if it has columns of other types."""
    try:
        found = _table(data)
        found.validate(full=True)
    except (pa.ArrowException, OSError, ValueError):  # it was read with more care, or in part
        return None
    kinds = [
        kind
        for name, kind in zip(found.schema.names, found.schema.types, strict=True)
        if name != "label"
    ]
    label = found.schema.field("label").type
    if not set(kinds) <= SIMPLE.keys() or label not in SIMPLE or not pa.types.is_integer(label):
        return None
    if _doubtful(found):
        return None
    return found.to_pylist()


def _doubtful(found):
    """Whether some words could be dates or texts, or a category could stand for null."""
    for column in found.columns:
        for value in column.to_pylist():
            if isinstance(value, str) and (value.count(" ") >= 3 or value[:1].isdigit()):
                return True
            if isinstance(value, list) and None in value:
                return True
    return False


def _table(data):
    if data[:4] == b"PAR1":
        return pq.read_table(io.BytesIO(data))
    if data[:6] == b"ARROW1":
        return pa.ipc.open_file(io.BytesIO(data)).read_all()
    return pa.ipc.open_stream(io.BytesIO(data)).read_all()


def make_converted(rng, corpus):
    """A converted file, and the same one damaged: the first tells what it should be."""
    data = as_converted(rng)
    harmed = mutation.changed(data, rng) if rng.random() < 0.95 else data
    return len(data).to_bytes(4, "little") + data + harmed


def run_converted(data, rng):
    """A damaged file is refused, or read as before."""
    n = int.from_bytes(data[:4], "little")
    whole, harmed = data[4 : 4 + n], data[4 + n :]
    path = folder() / "converted.arrow"
    path.write_bytes(harmed)
    found = attempted(lambda: _seen(path))
    if found is None:
        if harmed == whole:
            raise Difference("a whole file is refused")
        return False
    path.write_bytes(whole)
    if found != _seen(path):
        raise Difference("a damaged file is read as other data")
    return True


def _seen(path):
    return [
        (
            [each is not None and each.tobytes() for each in part.batch[:6]],
            list(part.batch.names or ()),
            list(part.tags or ()),
            part.line.tolist(),
            [str(fault) for fault in part.bad],
        )
        for part in read(str(path), ReadOptions(ahead=False))
    ]


TARGETS = [
    Target("parquet", maker(as_parquet), run, 3, "pyarrow's values, read in plain Python"),
    Target("arrow", maker(as_arrow), run, 3, "pyarrow's values, read in plain Python"),
    Target("converted arrow", make_converted, run_converted, 2, "the file before it was damaged"),
]
