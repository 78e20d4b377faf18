"""VW text and svmlight: blocks in guarded memory, and files cut, compressed and threaded at random."""

import os
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from attacks import mutation
from attacks.guard import Guarded
from attacks.target import Target
from dwindle.data.formats import svmlight
from dwindle.data.formats.block import Block, Parsed
from dwindle.data.formats.vw import parser as vw
from dwindle.data.options import ReadOptions
from dwindle.data.stream import read
from dwindle.features.batch import Batch
from helpers import reference_parsers as reference
from helpers.compression import COMPRESSED

INTERACTIONS = ((), (), (), (("f", "g"),), (("f", "f"), ("", "f", "g")), (("g", "g", "g"),))
IGNORED = (frozenset(), frozenset(), frozenset({"f"}), frozenset({""}))
PARSERS = {"vw": (vw.parse, reference.vw), "svmlight": (svmlight.parse, reference.svmlight)}
GRAMMAR = {
    "vw": (mutation.vw, mutation.VW_PIECES),
    "svmlight": (mutation.svmlight, mutation.SVMLIGHT_PIECES),
}


@cache
def guarded():
    """Memory for one text: of this process, as the pages of a fork are its own."""
    return Guarded()


@cache
def folder():
    """A folder for files that are read once: in memory where there is such a place."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108  (in memory, so fast)
    return Path(tempfile.mkdtemp(prefix="dwindle-attacks-", dir=place))


def maker(name):
    """A function that makes texts: by the grammar, changed, or changed from the corpus."""
    grammar, pieces = GRAMMAR[name]

    def make(rng, corpus):
        if corpus and rng.random() < 0.3:
            return mutation.changed(rng.choice(corpus), rng, pieces, corpus)
        data = grammar(rng)
        return mutation.changed(data, rng, pieces, corpus) if rng.random() < 0.5 else data

    return make


def options_for(name, rng):
    """Settings of the parser."""
    if name != "vw":
        return {}
    return {"interactions": rng.choice(INTERACTIONS), "ignore": rng.choice(IGNORED)}


def block_run(name):
    """A function that parses a text, which lies against a protected page, and compares."""
    parse, plain = PARSERS[name]

    def run(data, rng):
        options = options_for(name, rng)
        line = rng.choice((1, 1, 5))
        text = guarded().copy(np.frombuffer(data, np.uint8), at_end=rng.random() < 0.7)
        parsed = parse(Block(text, "data", line), **options)
        reading = plain(data, line, **options)
        reference.check(parsed, reading, "data", named=name == "vw")
        return not reading.bad

    return run


def file_run(data, rng):
    """Write a text as a file, read it in blocks and on threads, and compare."""
    name = rng.choice(sorted(PARSERS))
    _, plain = PARSERS[name]
    options = options_for(name, rng)
    suffix = rng.choice(sorted(COMPRESSED))
    path = folder() / f"data.{name}{suffix}"
    path.write_bytes(COMPRESSED[suffix](data))
    found = joined(read(str(path), read_options(rng, options)))
    reading = plain(data, 1, **options)
    if not reading.examples and not reading.bad:
        assert not found.batch.n_examples
        return True
    reference.check(found, reading, str(path), named=name == "vw")
    return not reading.bad


def read_options(rng, options):
    return ReadOptions(
        interactions=options.get("interactions", ()),
        columns=dict.fromkeys(options.get("ignore", ()), "drop"),
        block_size=rng.choice((1, 2, 7, 40, 300, 2**21)),
        threads=rng.choice((1, 2, 3)),
        ahead=rng.random() < 0.5,
    )


def joined(parts):
    """Put the batches of a file together."""
    parts = list(parts)
    batches = [part.batch for part in parts]
    n_before = np.cumsum([0, *(batch.start[-1] for batch in batches)])
    starts = [batch.start[1:] + n for batch, n in zip(batches, n_before, strict=False)]
    bases = [batch.base for batch in batches]
    base = None
    if any(each is not None for each in bases):
        base = np.concatenate(
            [
                np.zeros(batch.n_examples, np.float32) if batch.base is None else batch.base
                for batch in batches
            ]
        )
    names = None
    if any(batch.names is not None for batch in batches):
        names = [name for batch in batches for name in batch.names or ()]
    tags = None
    if any(part.tags is not None for part in parts):
        tags = [t for p in parts for t in (p.tags or [""] * p.batch.n_examples)]
    return Parsed(
        Batch(
            np.concatenate([np.zeros(1, np.int64), *starts]),
            np.concatenate([np.empty(0, np.uint64), *(each.key for each in batches)]),
            np.concatenate([np.empty(0, np.float32), *(each.x for each in batches)]),
            np.concatenate([np.empty(0, np.float32), *(each.label for each in batches)]),
            np.concatenate([np.empty(0, np.float32), *(each.importance for each in batches)]),
            names=names,
            base=base,
        ),
        np.concatenate([np.empty(0, np.int64), *(part.line for part in parts)]),
        [fault for part in parts for fault in part.bad],
        tags,
    )


def any_text(rng, corpus):
    return maker(rng.choice(sorted(GRAMMAR)))(rng, corpus)


TARGETS = [
    Target("vw", maker("vw"), block_run("vw"), 35, "a parser in plain Python, to the bit"),
    Target(
        "svmlight",
        maker("svmlight"),
        block_run("svmlight"),
        35,
        "a parser in plain Python, to the bit",
    ),
    Target("files", any_text, file_run, 2, "the same parsers, on the whole text"),
]
