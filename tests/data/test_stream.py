"""How far the data has been read."""

import functools
import gzip
import os
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dwindle._base.errors import DataError
from dwindle.data.options import ReadOptions
from dwindle.data.sources import Position, size
from dwindle.data.stream import read
from dwindle.data.text.scan import size_of
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.compression import COMPRESSED
from helpers.observing import heard

TEXT = b"".join(b"%d | a:%d b%d\n" % (1 - 2 * (i % 2), i, i * i) for i in range(5000))
ROWS = pa.table({"label": [1.0, -1.0] * 2000, "a": range(4000), "b": ["x", "y"] * 2000})


def stream(path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, ROWS.schema) as writer:
        writer.write_table(ROWS, max_chunksize=500)


WRITERS = {
    **{
        f"a.vw{end}": lambda path, compress=compress: path.write_bytes(compress(TEXT))
        for end, compress in COMPRESSED.items()
    },
    "a.csv": lambda path: ROWS.to_pandas().to_csv(path, index=False),
    "a.parquet": lambda path: pq.write_table(ROWS, path, row_group_size=500),
    "file.arrow": lambda path: pyarrow.feather.write_feather(ROWS, str(path), chunksize=500),
    "stream.arrow": stream,
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_bytes_read_grow_to_the_size_of_the_file(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    ends = [parsed.end for parsed in read([str(path)], ReadOptions(block_size=1000))]
    assert ends == sorted(ends)
    assert size([str(path)]) == path.stat().st_size
    assert ends[-1] == pytest.approx(path.stat().st_size, rel=0.01)  # a stream has an end mark
    if name in {"a.vw", "a.parquet", "file.arrow", "stream.arrow"}:
        assert len(set(ends)) >= 8


def test_they_are_those_of_the_batch_not_of_the_reader_ahead_of_it(tmp_path):
    (tmp_path / "a.vw").write_bytes(TEXT)
    lines = TEXT.splitlines(keepends=True)
    for parsed in read([str(tmp_path / "a.vw")], ReadOptions(block_size=1000)):
        assert 0 <= parsed.end - len(b"".join(lines[: parsed.line[-1]])) < 1000


def test_several_files_and_passes_add_up(tmp_path):
    for name in ("a.vw", "b.vw.gz", "c.parquet"):
        WRITERS["a" + name[1:]](tmp_path / name)
    total = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size([str(tmp_path)]) == total
    assert [parsed.end for parsed in read([str(tmp_path)])][-1] == total
    found = []
    train(
        [str(tmp_path)],
        tmp_path / ".m",
        TrainSettings(passes=3),
        observer=heard(on_batch=found.append, on_note=lambda _: None),
    )
    assert found == sorted(found)
    assert found[0] == Position(0, 0, 3 * total, 1, 3)
    assert found[-1] == Position(3 * 14_000, 3 * total, 3 * total, 3, 3)


COMPRESS = {end[1:]: functools.cache(compress) for end, compress in COMPRESSED.items() if end}
LONG = b"".join(b"1 | a:%d b%d\n" % (i, i * i) for i in range(100_000))  # more than a block
HALF = LONG.index(b"\n", len(LONG) // 2) + 1


def examples(path):
    return sum(parsed.batch.n_examples for parsed in read([str(path)]))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPRESS)
def test_parts_compressed_apart_and_put_together_are_one_file(tmp_path, name):
    path = tmp_path / f"a.vw.{name}"
    compress = COMPRESS[name]
    path.write_bytes(compress(LONG[:HALF]) + compress(b"") + compress(LONG[HALF:]))
    assert examples(path) == 100_000


def test_zeros_that_fill_up_the_last_block_of_a_tape_are_no_part_of_a_gz(tmp_path):
    (tmp_path / "a.vw.gz").write_bytes(gzip.compress(TEXT) + bytes(512))
    assert examples(tmp_path / "a.vw.gz") == 5000


@pytest.mark.slow
@pytest.mark.parametrize("cut", ["half", "end", "second"])
@pytest.mark.parametrize("name", COMPRESS)
def test_what_is_cut_short_is_told_wherever_it_is(tmp_path, name, cut):
    path = tmp_path / f"a.vw.{name}"
    whole = COMPRESS[name](LONG)
    path.write_bytes(
        {"half": whole[: len(whole) // 2], "end": whole[:-1], "second": whole + whole[:-1]}[cut]
    )
    with pytest.raises(DataError, match=rf"a.vw.{name}: cannot be read, or is cut short: "):
        examples(path)


@pytest.mark.parametrize("name", ["gz", "bz2", "xz"])  # Arrow's zst has no checksum
def test_what_is_damaged_is_told(tmp_path, name):
    path = tmp_path / f"a.vw.{name}"
    whole = COMPRESS[name](LONG)
    path.write_bytes(whole[:2000] + bytes(100) + whole[2100:])
    with pytest.raises(DataError, match=rf"a.vw.{name}: cannot be read, or is cut short: "):
        examples(path)


@pytest.mark.parametrize("name", ["gz", "zst"])
def test_what_follows_the_compressed_data_and_is_none_is_told(tmp_path, name):
    path = tmp_path / f"a.vw.{name}"
    path.write_bytes(COMPRESS[name](TEXT) + b"1 | plain text\n")
    with pytest.raises(DataError, match=rf"a.vw.{name}: cannot be read, or is cut short: "):
        examples(path)


@pytest.mark.parametrize("name", COMPRESS)
def test_a_pipe_may_be_compressed(tmp_path, name):
    pipe = tmp_path / "pipe.vw"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[COMPRESS[name](LONG)])
    writer.start()
    assert examples(pipe) == 100_000
    writer.join()


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
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read

class Holder:
    pass

holder = Holder()
holder.itself = holder  # only the garbage collector will find it
holder.reading = read([sys.argv[1]], ReadOptions(block_size=1000))
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


OWN = """
import gc, threading
from dwindle._base.threads import prefetch

left, collected = threading.Event(), threading.Event()

class Holder:
    pass

def items():
    yield 1
    left.wait()  # until nobody wants more
    gc.collect()
    collected.set()
    yield 2

holder = Holder()
holder.itself = holder
holder.items = prefetch(items())
gc.disable()
next(holder.items)
del holder
left.set()
print("closed" if collected.wait(30) else "the collector waits for its own thread")
"""


def test_a_reading_may_be_closed_by_a_thread_that_it_would_wait_for():
    done = subprocess.run(
        [sys.executable, "-c", OWN], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "closed\n", done.stderr


@given(st.lists(st.sampled_from([b"\n", b"\r\n", b"\r", b"\0", b" ", b"\t", b"|", b"a" * 30])))
@example([])
@example([b"a" * 63, b"\r\n", b"|"])
@example([b"a" * 63, b"\r", b"|"])
def test_what_a_block_holds_is_counted_as_python_counts_it(parts):
    text = b"".join(parts)
    found = size_of(np.frombuffer(text, np.uint8))
    lines = text.split(b"\n")
    assert found.lines == len(lines)
    assert found.separators == text.count(b" ") + text.count(b"\t")
    assert found.bars == text.count(b"|")
    ended = [line.removesuffix(b"\r") for line in lines]
    assert found.odd == any(b"\0" in line or b"\r" in line for line in ended)


def test_one_path_several_or_a_folder_may_be_given_as_text_or_as_path(tmp_path):
    path = tmp_path / "a.vw"
    path.write_text("1 | a\n-1 | b\n")
    (tmp_path / ".hidden").write_text("no example")
    for paths in (path, str(path), [path, path], tmp_path, str(tmp_path)[:-1] + "?"):
        n = sum(parsed.batch.n_examples for parsed in read(paths))
        assert n == (4 if isinstance(paths, list) else 2)


def test_a_folder_that_has_only_hidden_files_is_refused(tmp_path):
    (tmp_path / ".hidden").write_text("1 | a\n")
    with pytest.raises(DataError, match="has no files"):
        list(read(tmp_path))


def test_a_small_file_is_read_without_starting_threads(tmp_path, monkeypatch):
    monkeypatch.setattr("dwindle.data.text.lines.ordered_map", None)
    for name, text in (("a.vw", "1 |f a\n"), ("a.jsonl", '{"label": 1, "features": {"a": 2}}\n')):
        (tmp_path / name).write_text(text * 100)
        assert sum(p.batch.n_examples for p in read([str(tmp_path / name)])) == 100
    (tmp_path / "large.vw").write_text("1 |f a\n" * 10_000)
    with pytest.raises(TypeError):
        list(read([str(tmp_path / "large.vw")]))
