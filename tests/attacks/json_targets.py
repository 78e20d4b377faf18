"""JSON lines, with features in an object or flat."""

import json

import numpy as np

from attacks import mutation, plain_json
from attacks.table_targets import attempted, same
from attacks.target import Difference, Target
from attacks.text_targets import folder, guarded
from dwindle.data.formats import jsonl
from dwindle.data.formats.block import Block
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from helpers.compression import COMPRESSED

ROLES = ("label", "weight", "tag")


def _roles(rng):
    roles = {"label": rng.choice((0, 1, 1, -1, 2.5, True, None, "spam", 1e39))}
    if rng.random() < 0.3:
        roles["weight"] = rng.choice((0, 1, 2.5, -1, None, 1e39, "2", True))
    if rng.random() < 0.2:
        roles["tag"] = rng.choice(("t", "", None, 5, "ü"))
    return roles


def _written(rng, rows):
    lines = [json.dumps(row, ensure_ascii=rng.random() < 0.5) for row in rows]
    return "\n".join(lines).encode("utf-8", "replace")


def _nested(rng):
    if rng.random() < 0.7:  # mostly good
        features = {
            mutation.a_name(rng): rng.choice((1, 2.5, "x", True)) for _ in range(rng.randrange(5))
        }
        return {"label": rng.choice((0, 1)), "features": features}
    features = {mutation.a_name(rng): mutation.a_value(rng) for _ in range(rng.randrange(5))}
    return _roles(rng) | {"features": features}


def _changed(data, rng, corpus):
    if corpus and rng.random() < 0.3:
        data = rng.choice(corpus)
    return mutation.changed(data, rng, mutation.JSON_PIECES, corpus) if rng.random() < 0.5 else data


def make_nested(rng, corpus):
    return _changed(
        _written(rng, [_nested(rng) for _ in range(rng.choice((1, 2, 3, 6)))]), rng, corpus
    )


def run_nested(data, rng):
    line = rng.choice((1, 1, 7))
    text = guarded().copy(np.frombuffer(data, np.uint8), at_end=rng.random() < 0.7)
    parsed = jsonl.parse(Block(text, "data", line))
    expected, places = plain_json.read(data, line)
    same([parsed], expected, label_names=places)
    return not expected[1]


def make_flat(rng, corpus):
    names = rng.sample(("a", "b", "zip", "ü", "when"), rng.randrange(1, 5))
    kinds = [rng.choice(("number", "word", "truth", "any")) for _ in names]
    kinds = dict(zip(names, kinds, strict=True))
    rows = []
    for _ in range(rng.choice((1, 2, 3, 6))):
        row = {"label": rng.choice((0, 1, 1, -1))}
        row |= {name: _flat_value(rng, kind) for name, kind in kinds.items() if rng.random() < 0.9}
        rows.append(row)
    return _changed(_written(rng, rows), rng, corpus)


def _flat_value(rng, kind):
    if kind == "number":
        return rng.choice((0, 1, -3, 2.5, 1e30, None, 2**63, 1e-46, 0.1))
    if kind == "word":
        return rng.choice(("red", "blue", "", "ü", None, "012"))
    return rng.choice((True, False, None)) if kind == "truth" else mutation.a_value(rng)


def run_flat(data, rng):
    """Read it whole, and again in another way, which must not matter."""
    found = []
    for threads, ahead in ((1, False), (rng.choice((1, 2, 3)), rng.random() < 0.5)):
        suffix = rng.choice(sorted(COMPRESSED)) if found else ""
        path = folder() / f"data.jsonl{suffix}"
        path.write_bytes(COMPRESSED[suffix](data))
        options = ReadOptions(threads=threads, ahead=ahead)
        found.append(attempted(lambda path=path, options=options: _seen(path, options)))
    if found[0] != found[1]:
        raise Difference(f"{found[0]} and then {found[1]}")
    return found[0] is not None and not any(part[-1] for part in found[0])


def _seen(path, options):
    parts = []
    for part in read(str(path), options):
        batch = part.batch
        arrays = tuple(each is not None and each.tobytes() for each in batch[:5])
        parts.append((arrays, list(batch.names or ()), [fault.line for fault in part.bad]))
    return parts


TARGETS = [
    Target("jsonl", make_nested, run_nested, 12, "a parser in plain Python, to the bit"),
    Target("flat jsonl", make_flat, run_flat, 0.5, "itself, compressed and on other threads"),
]
