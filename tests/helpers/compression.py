"""The ways to compress that are read, by the ending of a file's name."""

import bz2
import gzip
import lzma

import pyarrow as pa


def zst(raw):
    return pa.compress(raw, codec="zstd", asbytes=True)


COMPRESSED = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zst,
}
