"""The same rows in every format and cut in any way; and compressed files that are damaged."""

import csv
import io
import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from attacks import mutation
from attacks.table_targets import attempted, same
from attacks.target import Difference, Target
from attacks.text_targets import folder, joined
from dwindle.data.compression import COMPRESSIONS, compressed
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from helpers import reference_columns as reference

KINDS = {
    "price": ("number", pa.float64(), [None, 0.0, 1.5, -2.0, 0.1, 1e30, 1e-46, 1e39, 16777217.0]),
    "n": ("number", pa.int64(), [None, 0, 1, -7, 2**53 + 1, 2**31]),
    "on": ("number", pa.bool_(), [None, True, False]),
    "color": (
        "category",
        pa.string(),
        [None, "red", "blü", 'say "hi"', "a,b", "x\ty", "012", "NA"],
    ),
    "shop": ("category", pa.dictionary(pa.int32(), pa.string()), [None, "a", "b", "1e5", "true"]),
}
FORMATS = ("csv", "tsv", "jsonl", "nested", "parquet", "arrow", "stream")


def make_rows(rng, corpus):
    """Rows, the formats to write them in, and where to cut them into files, as JSON."""
    names = rng.sample(sorted(KINDS), rng.randrange(1, 5))
    rows = [
        {"label": rng.choice((0, 1, 1, -1, None)), **{n: rng.choice(KINDS[n][2]) for n in names}}
        for _ in range(rng.choice((1, 2, 5, 12)))
    ]
    for row in rows:  # else it is a blank line, which CSV skips
        row["label"] = 1 if not any(value is not None for value in row.values()) else row["label"]
    n_files = rng.choice((1, 1, 2, 3))
    cuts = sorted(rng.randrange(len(rows) + 1) for _ in range(n_files - 1))
    formats = rng.sample(FORMATS, 2)
    return json.dumps({"rows": rows, "cuts": cuts, "formats": formats}).encode()


def run_rows(data, rng):
    """Rows are the same examples, whatever they are written in."""
    given = json.loads(data)
    rows = given["rows"]
    names = [name for name in rows[0] if name != "label"]
    good, bad = reference.wide(rows, "label")
    bounds = [0, *given["cuts"], len(rows)]
    parts = [rows[a:b] for a, b in pairwise(bounds) if a < b]
    lines = [i + 1 for part in parts for i in range(len(part))]
    for kind in given["formats"]:
        paths = [_written(kind, part, names, k, rng) for k, part in enumerate(parts)]
        options = ReadOptions(
            columns={name: KINDS[name][0] for name in names} if kind in {"csv", "tsv"} else {},
            block_size=rng.choice((1, 50, 2**21)),
            threads=rng.choice((1, 2)),
            ahead=rng.random() < 0.3,
        )
        found = joined(read(paths, options))
        # Lines count from the header on, and anew in each file: here the rows count.
        first = 2 if kind in {"csv", "tsv"} else 1
        expected = [(lines[i - 1] + first - 1, each) for i, each in good.items()]
        if found.line.tolist() != [line for line, _ in expected]:
            raise Difference(f"{kind}: lines {found.line.tolist()}")
        found = found._replace(line=np.array(list(good), np.int64))
        if len(found.bad) != len(bad):
            raise Difference(f"{kind}: {len(found.bad)} bad lines instead of {len(bad)}")
        same([found._replace(bad=[])], (good, []))
    return not bad


def _written(kind, rows, names, k, rng):
    """Write rows as a file of a format; return its path."""
    extension = {"nested": "jsonl", "stream": "arrow"}.get(kind, kind)
    path = folder() / f"rows{k}.{extension}"
    if kind in {"csv", "tsv"}:
        file = io.StringIO()
        writer = csv.writer(
            file,
            delimiter="," if kind == "csv" else "\t",
            lineterminator=rng.choice(("\n", "\r\n")),
        )
        writer.writerow(["label", *names])
        writer.writerows([_cell(row[name]) for name in ("label", *names)] for row in rows)
        path.write_bytes(file.getvalue().encode())
    elif kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, rows)))
    elif kind == "nested":
        lines = [{"label": row["label"], "features": {n: row[n] for n in names}} for row in rows]
        path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    else:
        columns = {"label": pa.array([row["label"] for row in rows], pa.int8())}
        for name in names:
            columns[name] = _array([row[name] for row in rows], KINDS[name][1])
        _write_table(pa.table(columns), kind, path, rng)
    return str(path)


def _cell(value):
    return "" if value is None else str(value).lower() if isinstance(value, bool) else value


def _array(values, kind):
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode()
    return pa.array(values, kind)


def _write_table(table, kind, path, rng):
    if kind == "parquet":
        pq.write_table(
            table, path, row_group_size=rng.choice((1, 3, 100)), use_dictionary=rng.random() < 0.5
        )
        return
    new = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
    with new(str(path), table.schema) as writer:
        writer.write_table(table)


# Compressed files


def make_compressed(rng, corpus):
    """A text, compressed as `dwindle convert` does, and damaged."""
    text = mutation.vw(rng) * rng.choice((1, 3, 30))
    i = rng.randrange(len(COMPRESSIONS))
    file = io.BytesIO()
    with compressed(COMPRESSIONS[i], file) as writer:
        writer.write(text)
    data = file.getvalue()
    kind = rng.random()
    if kind < 0.2:
        data = data[: rng.randrange(len(data))]
    elif kind < 0.95:
        data = mutation.changed(data, rng)
    return bytes([i]) + len(text).to_bytes(4, "little") + text + data


def run_compressed(data, rng):
    """A damaged file is refused, or holds the same text."""
    kind, n = COMPRESSIONS[data[0]], int.from_bytes(data[1:5], "little")
    text, packed = data[5 : 5 + n], data[5 + n :]
    plain, path = folder() / "whole.vw", folder() / f"packed.vw{kind.extension}"
    path.write_bytes(packed)
    found = attempted(lambda: _seen(path))
    if found is None:
        return False
    if not packed.startswith(kind.magic):  # read as it is, as text
        return False
    plain.write_bytes(text)
    if found != _seen(plain):
        raise Difference("a damaged file is read as other data")
    return True


def _seen(path):
    part = joined(read(str(path), ReadOptions(format="vw", ahead=False, threads=1)))
    arrays = [each is not None and each.tobytes() for each in part.batch[:6]]
    return arrays, list(part.batch.names or ()), [fault[1:] for fault in part.bad]


TARGETS = [
    Target(
        "rows", make_rows, run_rows, 0.5, "the rows as plain Python reads them, in two formats each"
    ),
    Target("compressed", make_compressed, run_compressed, 2, "the text before it was compressed"),
]
