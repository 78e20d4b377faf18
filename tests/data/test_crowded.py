"""Lines of many products are read in parts, which changes nothing but the memory that it takes."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dwindle.data import sources
from dwindle.data.formats import interactions
from dwindle.data.formats.tables import vocabulary
from dwindle.data.formats.vw import parser
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from dwindle.data.text import lines

LINES = 60
ROWS = [
    {"label": i % 2, "words": " ".join(f"w{(i * j) % 17}" for j in range(1 + i % 9))}
    for i in range(LINES)
]
CROSSED = (("words", "words"),)


def vw(path):
    path.write_text("".join(f"{row['label']} |words {row['words']}\n" for row in ROWS))


def csv(path):
    path.write_text("label,words\n" + "".join(f"{r['label']},{r['words']}\n" for r in ROWS))


def flat_json(path):
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def json_lines(path):
    rows = [
        {"label": row["label"], "features": {"words": dict.fromkeys(row["words"].split(), 1)}}
        for row in ROWS
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def parquet(path):
    pq.write_table(pa.Table.from_pylist(ROWS), path)


FILES = {
    "a.vw": vw,
    "a.csv": csv,
    "b.jsonl": flat_json,
    "c.jsonl": json_lines,
    "a.parquet": parquet,
}


def everything(path, options):
    """Each example with its line, and the number of batches."""
    found, parts = [], 0
    for parsed in read([str(path)], options):
        assert not parsed.bad
        batch, parts = parsed.batch, parts + 1
        for i in range(batch.n_examples):
            here = slice(batch.start[i], batch.start[i + 1])
            names = [batch.names[k] for k in range(here.start, here.stop)]
            key, x = batch.key[here].tolist(), batch.x[here].tolist()
            found.append((int(parsed.line[i]), float(batch.label[i]), names, key, x))
    return found, parts


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("most", [1, 60, 200])
def test_lines_of_many_products_are_read_in_parts(name, most, tmp_path, monkeypatch):
    path = tmp_path / name
    FILES[name](path)
    how = ReadOptions(interactions=CROSSED, columns={} if name == "a.vw" else {"words": "text"})
    if name == "c.jsonl":
        how = ReadOptions(interactions=CROSSED)
    whole, parts = everything(path, how)
    assert (len(whole), parts) == (LINES, 1)
    for module in (interactions, vocabulary, parser):
        monkeypatch.setattr(module, "MOST_PRODUCTS", most)
    monkeypatch.setattr(vocabulary, "MOST_PRODUCTS", max(most, 100))  # no line has more
    again, parts = everything(path, how)
    assert again == whole
    assert parts > 3


def test_blocks_are_smaller_where_their_lines_make_many_products(tmp_path, monkeypatch):
    path = tmp_path / "a.vw"
    path.write_text("".join(f"1 |words w{i} a b c d e f g h i j k l\n" for i in range(2000)))
    options = ReadOptions(interactions=CROSSED)
    whole = [line for parsed in read([str(path)], options) for line in parsed.line.tolist()]
    monkeypatch.setattr(lines, "FIRST", 1 << 12)
    monkeypatch.setattr(lines, "LEAST", 1 << 8)
    monkeypatch.setattr(lines, "MOST_FEATURES", 5000)
    monkeypatch.setattr(sources, "SMALL", 0)
    batches = [*read([str(path)], options)]
    assert [line for parsed in batches for line in parsed.line.tolist()] == whole
    n_features = [len(parsed.batch.key) for parsed in batches]
    assert max(n_features[1:]) < 6000 < n_features[0]
    assert min(n_features[1:-1]) > 4000
