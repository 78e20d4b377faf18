"""What the header of an Arrow message says, read before any of its body is.

A header is a FlatBuffer: a table begins with the distance back to its list of fields, which holds
the size of that list, the size of the table, and where each field is, or 0 if it is absent.
"""

import struct

DICTIONARY, RECORDS = 2, 3  # kinds of messages that have a body
_KIND, _HEADER = 1, 2  # fields of a message
_DATA = 1  # field of a dictionary: its records
_COMPRESSION = 3  # field of records


def is_compressed(header: bytes) -> bool:
    """Tell whether the body of a message is compressed, by its header.

    >>> import pyarrow as pa
    >>> table, sink = pa.table({"a": [1.0] * 100}), pa.BufferOutputStream()
    >>> options = pa.ipc.IpcWriteOptions(compression="zstd")
    >>> with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
    ...     writer.write_table(table)
    >>> reader = pa.ipc.MessageReader.open_stream(sink.getvalue())
    >>> [is_compressed(bytes(reader.read_next_message().metadata)) for _ in range(2)]
    [False, True]
    """
    try:
        message = _follow(header, 0)
        kind_at = _field(header, message, _KIND)
        kind = header[kind_at] if kind_at else 0
        if kind not in {DICTIONARY, RECORDS}:
            return False
        records = _follow(header, _field(header, message, _HEADER))
        if kind == DICTIONARY:
            records = _follow(header, _field(header, records, _DATA))
        return bool(_field(header, records, _COMPRESSION))
    except (struct.error, IndexError):
        return True  # it is no header that Arrow would read, and so not one to be trusted


def _follow(header: bytes, at: int) -> int:
    """Return the place that the offset at a place leads to."""
    return at + int(struct.unpack_from("<I", header, at)[0])


def _field(header: bytes, table: int, number: int) -> int:
    """Return the place of a table's field, 0 if it is absent."""
    fields = table - int(struct.unpack_from("<i", header, table)[0])
    if fields < 0:
        raise IndexError(fields)
    [size] = struct.unpack_from("<H", header, fields)
    at = 4 + 2 * number
    [place] = struct.unpack_from("<H", header, fields + at) if at < size else [0]
    return table + place if place else 0
