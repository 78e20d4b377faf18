"""What `convert` writes is read as the same examples, to the bit, or it says what it cannot write."""

import bz2
import gzip
import json
import lzma
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dwindle import Batch, DataError
from dwindle._base.files import replacing
from dwindle.data.formats import svmlight
from dwindle.data.formats import writers as texts
from dwindle.data.formats.block import Block, Parsed
from dwindle.data.formats.vw import parser as vw
from dwindle.data.options import ReadOptions
from dwindle.features.keys import key_of
from dwindle.features.names import split
from dwindle.runs import convert as converting
from dwindle.runs.convert import convert
from helpers.conversion import PLAIN, RICH, dwindle, examples


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.svm"
    path.write_text(PLAIN)
    return path


# What is written is what was read


def converted(file, path, folder):
    """The file, converted from one to the next of the names of a path."""
    for name in path:
        convert([str(file)], str(folder / name))
        file = folder / name
    return file


@pytest.mark.parametrize("path", [["a.vw"], ["a.arrow"], ["a.arrow", "b.vw"], ["a.vw.zst", "b.vw"]])
def test_all_that_vw_text_says_comes_back_to_the_bit(rich, path, tmp_path):
    assert len(examples([rich])) == 7
    assert examples([converted(rich, path, tmp_path)]) == examples([rich])


@pytest.mark.parametrize("path", [["a.svm"], ["a.arrow", "b.svmlight"], ["a.vw", "b.libsvm.xz"]])
def test_all_that_svmlight_says_comes_back_to_the_bit(plain, path, tmp_path):
    assert len(examples([plain])) == 3
    assert examples([converted(plain, path, tmp_path)]) == examples([plain])


def table():
    rows = range(1, 200)
    return pd.DataFrame(
        {
            "y": [None if i % 11 == 0 else (-1) ** i for i in rows],
            "w": [i / 4 for i in rows],
            "price": [None if i % 5 == 0 else (i % 13) / 3 for i in rows],
            "color": [["", "red", "dark-blue", "ü"][i % 4] for i in rows],
        }
    )


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "jsonl"])
@pytest.mark.parametrize("out", ["out.vw", "out.arrow"])
def test_tables_and_json_lines_are_written_too(kind, out, tmp_path):
    path, said = tmp_path / f"data.{kind}", {"label_column": "y", "weight_column": "w"}
    if kind == "jsonl":
        rows = json.loads(table().to_json(orient="records"))
        lines = [
            {"label": row["y"], "weight": row["w"], "features": {"user": dict(list(row.items())[2:])}}
            for row in rows
        ]  # fmt: skip
        path.write_text("\n".join(map(json.dumps, lines)))
    elif kind == "parquet":
        table().to_parquet(path)
    else:
        table().to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    convert([str(path)], str(tmp_path / out), ReadOptions(**said))
    assert len(examples([path], **said)) == 199
    assert examples([tmp_path / out]) == examples([path], **said)


def test_products_are_kept_by_arrow_and_refused_by_text(rich, tmp_path):
    crossed = ReadOptions(interactions=(("user", "user"),))
    convert([str(rich)], str(tmp_path / "a.arrow"), crossed)
    expected = examples([rich], interactions=crossed.interactions)
    assert examples([tmp_path / "a.arrow"]) == expected
    assert any("user*user\0city=oslo*age" in names for _, _, names, _, _ in expected)
    for given_path, reading in ((rich, crossed), (tmp_path / "a.arrow", ReadOptions())):
        with pytest.raises(DataError, match=r":1: VW text has no products of features, got 'user\*user\^city=oslo\*city=oslo'"):  # fmt: skip
            convert([str(given_path)], str(tmp_path / "b.vw"), reading)


def test_several_files_become_one(rich, tmp_path):
    convert([str(rich), str(rich)], str(tmp_path / "a.vw"))
    assert examples([tmp_path / "a.vw"]) == examples([rich]) * 2


@pytest.mark.parametrize("most", [1, 3, 5])
def test_how_much_is_written_at_once_changes_nothing(rich, plain, most, tmp_path, monkeypatch):
    convert([str(rich)], str(tmp_path / "a.vw"))
    convert([str(plain)], str(tmp_path / "a.svm"))
    monkeypatch.setattr(converting, "MOST_FEATURES", most)
    convert([str(rich)], str(tmp_path / "b.vw"))
    convert([str(plain)], str(tmp_path / "b.svm"))
    convert([str(rich)], str(tmp_path / "b.arrow"))
    assert (tmp_path / "b.vw").read_bytes() == (tmp_path / "a.vw").read_bytes()
    assert (tmp_path / "b.svm").read_bytes() == (tmp_path / "a.svm").read_bytes()
    assert examples([tmp_path / "b.arrow"]) == examples([rich])


def test_tags_are_comments_in_svmlight(tmp_path):
    (tmp_path / "a.vw").write_text("1 'one | 3:2\n-1 | 4\n0 'none |\n")
    convert([str(tmp_path / "a.vw")], str(tmp_path / "a.svm"))
    assert (tmp_path / "a.svm").read_text() == "1 3:2 # one\n-1 4:1\n0 # none\n"


def parsed_of(names, tags=None, x=None):
    """One example for each name."""
    pairs = [split(name) for name in names]
    key = np.array([key_of(feature, namespace) for namespace, feature in pairs], np.uint64)
    n = len(names)
    x = np.ones(n, np.float32) if x is None else x
    batch = Batch(np.arange(n + 1), key, x, np.ones(n, np.float32), names=names)
    return Parsed(batch, np.arange(1, n + 1), [], tags, "data")


def lines_of(text):
    return Block(np.frombuffer(text, np.uint8), "data")


words = st.text(st.sampled_from("ab1=-.:| \t\r\n\0'#é\udce9\ufeff"), max_size=6)


@given(words, words, st.sampled_from([1.0, 0.5, -3.0]), words)
def test_any_name_and_tag_comes_back_from_vw_text_or_is_refused(namespace, feature, value, tag):
    name = f"{namespace}\0{feature}" if namespace else feature
    given_one = parsed_of([name], [tag], np.float32([value]))
    parts = split(name)
    ends = set("| \t\r\n\0")
    if not parts[1] or set("".join(parts)) & (ends | {":"}) or set(tag) & ends:
        with pytest.raises(DataError, match=r"^data:1: VW text has no "):
            texts.vw(given_one)
        return
    text = texts.vw(given_one)
    back = vw.parse(lines_of(text))
    assert not back.bad
    assert [split(each) for each in back.batch.names] == [parts]
    assert back.batch.key.tolist() == given_one.batch.key.tolist()
    assert back.batch.x.tolist() == [value]
    assert list(back.tags or [""]) == [tag]


@pytest.mark.slow
def test_every_number_is_read_as_the_same_one():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2**32, 300_000, np.uint32).view(np.float32)
    special = [texts.UNLUCKY, -texts.UNLUCKY, 1e-45, -1e-45, 3.4028235e38, 0.1, 16777216, 1e10]
    x = np.concatenate([x[np.isfinite(x) & (x != 0)], np.float32(special)])
    said = texts.number_texts(x).to_pylist()
    assert np.array([float(text) for text in said]).astype(np.float32).tobytes() == x.tobytes()
    parsed = parsed_of(["3"] * len(x), x=x)
    for back in (vw.parse(lines_of(texts.vw(parsed))), svmlight.parse(lines_of(texts.svmlight(parsed)))):  # fmt: skip
        assert not back.bad
        assert back.batch.x.tobytes() == x.tobytes()


def test_numbers_have_no_more_digits_than_they_need():
    """NumPy finds the fewest by another algorithm."""
    x = np.random.default_rng(1).uniform(-1, 1, 10_000).astype(np.float32)
    digits = re.compile(r"e.*|[-.]")
    for text, number in zip(texts.number_texts(x).to_pylist(), x, strict=True):
        assert digits.sub("", text.decode()).strip("0") == digits.sub("", str(number)).strip("0")


# Where it goes


def test_the_extension_says_the_compression(rich, tmp_path):
    convert([str(rich)], str(tmp_path / "a.vw"))
    plain = (tmp_path / "a.vw").read_bytes()
    unpacked = {
        "gz": gzip.decompress,
        "bz2": bz2.decompress,
        "xz": lzma.decompress,
        "zst": lambda raw: pa.input_stream(pa.py_buffer(raw), compression="zstd").read(),
    }
    for end, decompress in unpacked.items():
        done = convert([str(rich)], str(tmp_path / f"a.txt.{end}"), to="vw")
        raw = (tmp_path / f"a.txt.{end}").read_bytes()
        assert raw != plain
        assert decompress(raw) == plain
        assert done.bytes_out == len(raw)


def test_what_is_said_beats_the_extension(plain, tmp_path):
    convert([str(plain)], str(tmp_path / "a.arrow"), to="vw")
    assert (tmp_path / "a.arrow").read_text().startswith("1 | 3:0.5 12\n-1 |\n")


@pytest.mark.slow
def test_standard_output_holds_the_data_and_nothing_else(rich, tmp_path):
    done = dwindle("-", "-", "--to", "vw", stdin=RICH.encode())
    convert([str(rich)], str(tmp_path / "a.vw"))
    assert done.stdout == (tmp_path / "a.vw").read_bytes()
    size = len(done.stdout)
    assert done.stderr.decode() == f"7 examples, 16 features, written in {size} bytes\n"
    (tmp_path / "a.arrow").write_bytes(dwindle(rich, "-", "--to", "arrow", "-q").stdout)
    assert examples([tmp_path / "a.arrow"]) == examples([rich])


def test_the_closing_line_counts(rich, tmp_path):
    with rich.open("a") as file:
        file.write("nonsense\n")
    out = tmp_path / "a.vw"
    assert dwindle(rich, out).returncode == 1
    assert not out.exists()
    done = dwindle(rich, out, "--skip-bad")
    read_bytes, written = rich.stat().st_size, out.stat().st_size
    assert done.stdout == b""
    assert done.stderr.decode() == (
        f"7 examples, 16 features of {read_bytes} bytes, written in {written} bytes, "
        "1 bad line left out\n"
    )
    assert dwindle(rich, out, "--skip-bad", "--quiet").stderr == b""
    assert json.loads(dwindle(rich, out, "--skip-bad", "--json").stderr) == {
        "examples": 7,
        "features": 16,
        "skipped": 1,
        "bytes_in": read_bytes,
        "bytes_out": written,
    }


def test_a_pipe_is_written_to_as_it_stands(rich, tmp_path):
    fifo, got = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()))
    reader.start()
    convert([str(rich)], str(fifo), to="vw")
    reader.join()
    assert got[0].startswith(b"1 2.5 0.25 'first | a b:0.1 |user city=oslo")
    assert fifo.is_fifo()


def test_a_file_is_replaced_only_when_it_is_whole(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"earlier")

    def fail():
        with replacing(path) as file:
            file.write(b"later")
            file.flush()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"earlier"
    with replacing(path) as file:
        file.write(b"later")
        assert path.read_bytes() == b"earlier"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"later"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_leaves_nothing_behind(number, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "dwindle", "convert", "-", str(tmp_path / "a.vw"), "--format", "vw"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not list(tmp_path.iterdir()):  # the file under another name
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    with process:
        assert (process.wait(), process.stderr.read()) == (128 + number, b"")
    assert list(tmp_path.iterdir()) == []
