"""CSV, TSV, JSON lines, Parquet and Arrow against readers in plain Python."""

import io

import numpy as np

from attacks import mutation, plain_csv
from attacks.target import Difference, Target
from attacks.text_targets import folder, joined
from dwindle._base.errors import DataError
from dwindle.data.formats import csv
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from helpers import reference_columns as reference
from helpers.compression import COMPRESSED


def same(parts, expected, *, label_names=()):
    """Compare what was read with ({line: example}, [bad line, ...])."""
    good, bad = expected
    found = joined(parts)
    features = [feature for _, _, features in good.values() for feature in features]
    n = [len(each) for _, _, each in good.values()]
    _equal("line", found.line, list(good))
    _equal("bad lines", [fault.line for fault in found.bad], bad)
    _equal("start", found.batch.start, np.cumsum([0, *n]))
    _equal("names", list(found.batch.names or ()), [name for name, _, _ in features])
    _equal("key", found.batch.key, [key for _, key, _ in features])
    reference.same(found.batch.x, [x for _, _, x in features], np.float32)
    reference.same(found.batch.importance, [each for _, each, _ in good.values()], np.float32)
    labels = [label for label, _, _ in good.values()]
    if not label_names:
        reference.same(found.batch.label, labels, np.float32)
        return
    spelled = [str(part.label(i)) for part in parts for i in range(part.batch.n_examples)]
    there = [importance > 0 for _, importance, _ in good.values()]
    names = list(label_names)
    _equal("labels", *([s for s, t in zip(each, there, strict=True) if t] for each in (
        spelled, [names[int(label)] for label in labels])))  # fmt: skip


def _equal(what, found, expected):
    found, expected = (
        each.tolist() if isinstance(each, np.ndarray) else each for each in (found, expected)
    )
    if found != expected:
        raise Difference(f"{what}: {found!r} instead of {expected!r}")


def csv_target(name, delimiter):
    def make(rng, corpus):
        if corpus and rng.random() < 0.3:
            return mutation.changed(rng.choice(corpus), rng, mutation.CSV_PIECES, corpus)
        data = mutation.cells(rng, rng.choice((1, 2, 3, 5)), delimiter)
        return (
            mutation.changed(data, rng, mutation.CSV_PIECES, corpus) if rng.random() < 0.5 else data
        )

    def run(data, rng):
        kinds = _kinds(data, delimiter, rng)
        options = ReadOptions(columns=kinds, threads=rng.choice((1, 2)), ahead=False)
        if rng.random() < 0.1:  # as a file, compressed in some way
            suffix = rng.choice(sorted(COMPRESSED))
            path = folder() / f"data.{name}{suffix}"
            path.write_bytes(COMPRESSED[suffix](data))
            parts = attempted(lambda: list(read(str(path), options)))
        else:
            parts = attempted(lambda: list(csv.batches(io.BytesIO(data), name, options, delimiter)))
        try:
            expected, places = plain_csv.read(data, delimiter, kinds)
        except plain_csv.Refused as refused:
            if parts is not None:
                raise Difference(f"read though it should be refused: {refused}") from None
            return False
        if parts is None:
            raise Difference("refused, though the reference reads it")
        same(parts, expected, label_names=places)
        return not expected[1]

    return Target(
        name, make, run, 3 if name == "csv" else 2, "a parser in plain Python, to the bit"
    )


def attempted(reading):
    """What is read, or None if it is refused."""
    try:
        return reading()
    except DataError:
        return None


def _kinds(data, delimiter, rng):
    """The kinds of columns to say: none, or of all where a date or a text could be guessed."""
    try:
        names, rows = plain_csv.tables(data, delimiter)
    except plain_csv.Refused:
        return {}
    if rng.random() < 0.7 and not plain_csv.needs_kinds(rows):
        return {}
    return {name: rng.choice(("number", "category")) for name in names if name != "label"}


TARGETS = [csv_target("csv", ","), csv_target("tsv", "\t")]
