"""How far the data has been read."""

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import threading

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from dwindle.stream import Position, Reading, read, size
from dwindle.training import Training, train

TEXT = b"".join(b"%d | a:%d b%d\n" % (1 - 2 * (i % 2), i, i * i) for i in range(5000))
ROWS = pa.table({"label": [1.0, -1.0] * 2000, "a": range(4000), "b": ["x", "y"] * 2000})


def stream(path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, ROWS.schema) as writer:
        writer.write_table(ROWS, max_chunksize=500)


WRITERS = {
    "a.vw": lambda path: path.write_bytes(TEXT),
    "a.vw.gz": lambda path: path.write_bytes(gzip.compress(TEXT)),
    "a.vw.bz2": lambda path: path.write_bytes(bz2.compress(TEXT)),
    "a.vw.xz": lambda path: path.write_bytes(lzma.compress(TEXT)),
    "a.vw.zst": lambda path: path.write_bytes(pa.compress(TEXT, codec="zstd", asbytes=True)),
    "a.csv": lambda path: ROWS.to_pandas().to_csv(path, index=False),
    "a.parquet": lambda path: pq.write_table(ROWS, path, row_group_size=500),
    "file.arrow": lambda path: pyarrow.feather.write_feather(ROWS, str(path), chunksize=500),
    "stream.arrow": stream,
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_bytes_read_grow_to_the_size_of_the_file(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    ends = [parsed.end for parsed in read([str(path)], Reading(block_size=1000))]
    assert ends == sorted(ends)
    assert size([str(path)]) == path.stat().st_size
    assert ends[-1] == pytest.approx(path.stat().st_size, rel=0.01)  # a stream has an end mark
    if name in {"a.vw", "a.parquet", "file.arrow", "stream.arrow"}:
        assert len(set(ends)) >= 8


def test_they_are_those_of_the_batch_not_of_the_reader_ahead_of_it(tmp_path):
    (tmp_path / "a.vw").write_bytes(TEXT)
    lines = TEXT.splitlines(keepends=True)
    for parsed in read([str(tmp_path / "a.vw")], Reading(block_size=1000)):
        assert 0 <= parsed.end - len(b"".join(lines[: parsed.line[-1]])) < 1000


def test_several_files_and_passes_add_up(tmp_path):
    for name in ("a.vw", "b.vw.gz", "c.parquet"):
        WRITERS["a" + name[1:]](tmp_path / name)
    total = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size([str(tmp_path)]) == total
    assert [parsed.end for parsed in read([str(tmp_path)])][-1] == total
    found = []
    train([str(tmp_path)], tmp_path / ".m", Training(passes=3), on_batch=found.append)
    assert found == sorted(found)
    assert found[0] == Position(0, 0, 3 * total, 1, 3)
    assert found[-1] == Position(3 * 14_000, 3 * total, 3 * total, 3, 3)


def test_of_a_pipe_the_bytes_are_counted_and_the_total_is_not_known(tmp_path):
    pipe = tmp_path / "pipe.vw"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[gzip.compress(TEXT)])
    writer.start()
    ends = [parsed.end for parsed in read([str(pipe)])]
    writer.join()
    assert ends[-1] == len(gzip.compress(TEXT))
    assert size([str(pipe)]) is None
    assert size(["-"]) is None


LEFT = """
import gc, sys, threading
from dwindle.stream import Reading, read

class Holder:
    pass

holder = Holder()
holder.itself = holder  # only the garbage collector will find it
holder.reading = read([sys.argv[1]], Reading(block_size=1000))
next(holder.reading)
del holder
with threading._shutdown_locks_lock:  # as in a thread that is just starting
    gc.collect()
print("closed")
"""


@pytest.mark.skipif(
    not hasattr(threading, "_shutdown_locks_lock"), reason="this Python's threads start otherwise"
)
def test_a_reading_that_is_left_unfinished_is_closed_wherever_the_collector_finds_it(tmp_path):
    path = tmp_path / "data.vw"
    path.write_text("1 | a b c\n" * 5000)
    done = subprocess.run(
        [sys.executable, "-c", LEFT, path], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "closed\n", done.stderr
