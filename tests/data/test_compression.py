"""Damaged compressed files are refused, and what is written has checksums."""

import bz2
import gzip
import io
import lzma
import random

import numpy as np
import pyarrow as pa
import pytest

from dwindle._base.errors import DataError
from dwindle.data.compression import COMPRESSIONS
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from helpers.compression import COMPRESSED

TEXT = b"".join(b"%d |f a%d:0.%d\n" % ((-1) ** i, i % 7, i + 1) for i in range(300))
KINDS = [each.extension for each in COMPRESSIONS]


def written(extension, content=TEXT):
    """What `dwindle convert` writes, in several pieces."""
    file = io.BytesIO()
    (kind,) = (each for each in COMPRESSIONS if each.extension == extension)
    with kind.compress(file) as stream:
        for i in range(0, len(content), 1000):
            stream.write(content[i : i + 1000])
    return file.getvalue()


def labels(path):
    parts = read([str(path)], ReadOptions(threads=1, ahead=False))
    return np.concatenate([np.empty(0), *(part.batch.x for part in parts)]).tolist()


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "data.vw"
    path.write_bytes(TEXT)
    return labels(path)


@pytest.mark.parametrize("extension", KINDS)
def test_a_changed_bit_in_what_is_written_is_refused(extension, expected, tmp_path):
    path = tmp_path / f"data.vw{extension}"
    raw = written(extension)
    chosen = random.Random(1)
    for i in [*range(6, 20), *(chosen.randrange(6, len(raw)) for _ in range(60))]:
        changed = bytearray(raw)
        changed[i] ^= 1 << chosen.randrange(8)
        path.write_bytes(changed)
        try:
            found = labels(path)
        except DataError as error:
            assert str(path) in str(error)  # noqa: PT017  (a bit of a header may mean nothing)
        else:
            assert found == expected, i


@pytest.mark.parametrize("extension", KINDS)
def test_what_follows_compressed_data_and_is_none_is_refused(extension, expected, tmp_path):
    path = tmp_path / f"data.vw{extension}"
    raw = written(extension)
    path.write_bytes(raw + raw)
    assert labels(path) == expected * 2
    for junk in (b"1 |f a\n", raw[:1], raw[:-1]):
        path.write_bytes(raw + junk)
        with pytest.raises(DataError, match="cannot be read, or is cut short"):
            labels(path)


@pytest.mark.parametrize("zeros", [4, 2**21])
def test_zeros_after_and_between_streams_of_xz_are_padding(zeros, expected, tmp_path):
    path = tmp_path / "data.vw.xz"
    path.write_bytes((written(".xz") + bytes(zeros)) * 2)
    assert labels(path) == expected * 2


@pytest.mark.parametrize("size", [0, 1, 10**5])
@pytest.mark.parametrize("extension", KINDS)
def test_other_programs_read_what_is_written(extension, size):
    content = np.random.default_rng(0).integers(0, 9, size, np.uint8).tobytes()
    undone = {
        ".gz": gzip.decompress,
        ".bz2": bz2.decompress,
        ".xz": lzma.decompress,
        ".zst": lambda raw: pa.decompress(raw, size, "zstd", asbytes=True) if size else b"",
    }
    assert undone[extension](written(extension, content)) == content


def test_a_frame_of_zstd_without_a_checksum_is_read(expected, tmp_path):
    path = tmp_path / "data.vw.zst"
    path.write_bytes(COMPRESSED[".zst"](TEXT))
    assert labels(path) == expected
