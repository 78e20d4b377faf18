"""A format is one row: how to recognise it, read it and write it."""

import subprocess
import sys

import numpy as np
import pytest

from dwindle._base.errors import DataError
from dwindle.data.formats import registry
from dwindle.data.formats.block import Parsed
from dwindle.data.formats.registry import Format
from dwindle.data.stream import read
from dwindle.features.batch import Batch
from dwindle.runs.convert import convert


def read_toy(source, _options, _kinds):
    """Lines of a label and the numbers of features: ``1: 3 5``."""
    for number, line in enumerate(source.file, 1):
        label, _, rest = line[3:].partition(b":")
        key = np.array(rest.split(), np.uint64)
        batch = Batch.from_arrays([0, len(key)], key, np.ones(len(key)), [float(label)])
        yield Parsed(batch, np.array([number]), [], source=source.name, end=source.tell())


def write_toy(file, parsed):
    for each in parsed:
        for i in range(each.batch.n_examples):
            keys = each.batch.key[each.batch.start[i] : each.batch.start[i + 1]]
            file.write(b"toy%g: %s\n" % (each.batch.label[i], b" ".join(b"%d" % k for k in keys)))


TOY = Format("toy", (".toy",), lambda line: line.startswith(b"toy"), read_toy, write_toy)


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setattr(registry, "FORMATS", [TOY, *registry.FORMATS])


@pytest.mark.usefixtures("toy")
def test_a_new_row_is_read_and_written(tmp_path):
    svm, by_name, by_line = (str(tmp_path / name) for name in ("a.svm", "a.toy.gz", "nameless"))
    (tmp_path / "a.svm").write_text("1 3:1 5:1\n-1 7:1\n")
    convert([svm], by_name)
    convert([by_name], by_line, to="toy")
    assert (tmp_path / "nameless").read_bytes() == b"toy1: 3 5\ntoy-1: 7\n"
    for path in (by_name, by_line):
        assert [parsed.batch.key.tolist() for parsed in read([path])] == [[3, 5], [7]]
    assert "toy" in registry.names()


def test_a_format_that_nobody_knows_is_refused(tmp_path):
    (tmp_path / "a").write_text("hello\n")
    with pytest.raises(DataError, match=r"cannot tell the format .* one of arrow, csv, jsonl"):
        list(read([str(tmp_path / "a")]))
    with pytest.raises(ValueError, match="unknown format 'toy': expected one of arrow, csv"):
        registry.named("toy")


def test_the_formats_are_listed_without_arrow_or_numba():
    code = (
        "import sys; from dwindle.data.formats.registry import names; print(*names())\n"
        "print({'numpy', 'numba', 'pyarrow'} & set(sys.modules) or 'light')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "arrow csv jsonl parquet svmlight tsv vw\nlight\n"
