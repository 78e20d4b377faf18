"""How good a mixed model is beside that of one machine, of shards in memory."""

from collections.abc import Iterator
from functools import cache, reduce
from multiprocessing import Pipe, get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from dwindle import Batch, Learner, TrainSettings, auc, read
from dwindle.algorithm.losses import Logistic
from dwindle.data.formats.block import Block
from dwindle.data.formats.vw import parser as vw
from dwindle.datasets.ads import Ads
from dwindle.distributed import sharing
from dwindle.distributed.judging import (
    compared_after,
    in_one_segment,
    judged,
    judged_sums,
    n_judged,
    own_so_far,
    without_scores,
)
from dwindle.distributed.mixing import mix
from dwindle.distributed.parts import added
from dwindle.distributed.sharing import shared
from dwindle.distributed.telling import Start, Told, followed, tell
from dwindle.runs.build import make_learner
from experiments import data

PASSES = 4
SHARDS = (2, 8, 32)
ADS = 40_000  # examples, after which 50,000 are for testing
CAPS = (16, 32, 64)  # for which shards count at most in rates,
CAPPED = 64  # of so many
OF_CAPS = ("a9a", "words")  # `words` is the ad log without pairs of words
KINDS: dict[str, dict[str, Any]] = {
    "adaptive": {"update": "adaptive"},
    "plain": {"update": "plain"},
    "ftrl": {"update": "ftrl", "gravity": 1.0},
    "rda": {"update": "rda"},
    "auto": {},
}
GRAVITY = 1e-5  # of all but FTRL, whose gravity weighs against the sum of gradients
SEEDS = {"rcv1": 2, "a9a": 3, "ads": 1}
PRIVATE = 3  # one feature in so many is a site's own


def settings(kind: str) -> TrainSettings:
    """Return the settings of a kind of update; those of auto are the default."""
    gravity = {} if kind == "auto" else {"gravity": GRAVITY}
    return TrainSettings(**gravity | KINDS[kind])


@cache
def rows(name: str) -> tuple[Batch, Batch]:
    """Return the examples of a set, to learn from and to test on."""
    if name == "ads":
        log = Ads(1)
        return _whole(log.batches(ADS)), _whole(log.batches(50_000, ADS))
    if name == "words":
        return _words(0, ADS), _words(ADS, 50_000)
    files = {
        "rcv1": (data.RCV1_TRAIN, data.RCV1_TEST),
        "a9a": ("a9a/adult.trn.bz2", "a9a/adult.tst.bz2"),
    }
    train, test = (data.find(file) for file in files[name])
    return _read(train), _read(test)


def _words(first: int, n: int) -> Batch:
    blocks = (Block(np.frombuffer(text, np.uint8), "ads") for text in Ads(1).text(n, first))
    return _whole(vw.parse(block).batch for block in blocks)


def _read(path: Path | None) -> Batch:
    return _whole(one.batch for one in read([str(path)]))


def _whole(batches: Iterator[Batch]) -> Batch:
    joined = Batch.joined([batch._replace(names=None) for batch in batches])
    assert joined.label is not None
    sign = np.where(joined.label > 0, 1, -1).astype(np.float32)
    return joined._replace(label=sign, importance=None)


def part_of(batch: Batch, chosen: Any) -> Batch:
    """Return some rows of a batch, in order."""
    n = np.diff(batch.start)[chosen]
    start = np.concatenate([[0], np.cumsum(n)]).astype(np.int64)
    at = np.repeat(batch.start[:-1][chosen] - start[:-1], n) + np.arange(start[-1])
    assert batch.label is not None
    return Batch(start, batch.key[at], batch.x[at], batch.label[chosen])


def dealt(train: Batch, shards: int, split: str, seed: int) -> list[Batch]:
    """Deal examples at random, by time, or by site, of which each has features of its own."""
    order = np.arange(train.n_examples)
    if split == "random":
        order = np.random.default_rng(seed).permutation(order)
    return [part_of(train, np.sort(some)) for some in np.array_split(order, shards)]


def at_sites(batch: Batch, shards: int, seed: int) -> tuple[Batch, Any]:
    """Give each example a site, and a third of its features the name of that site."""
    site = np.random.default_rng(seed).integers(0, shards, batch.n_examples)
    of_feature = np.repeat(site, np.diff(batch.start)).astype(np.uint64)
    own = batch.key % np.uint64(PRIVATE) == 0
    mixed = (
        batch.key ^ ((of_feature + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
    ) >> np.uint64(1)
    return batch._replace(key=np.where(own, mixed, batch.key)), site


def score(learner: Learner, test: Batch) -> dict[str, float]:
    """Return AUC, log loss and the number of features."""
    p, y = learner.predict(test), test.label
    assert y is not None
    return {
        "auc": float(auc(p, y)),
        "loss": float(np.logaddexp(0, -y * p).mean()),
        "kept": len(learner),
    }


def one_machine(how: TrainSettings, train: Batch, test: Batch) -> dict[str, Any]:
    """Learn on one machine."""
    learner, after = make_learner(how, Logistic()), []
    for _ in range(PASSES):
        learner.learn(train)
        learner.next_pass()
        after.append(score(learner, test))
    return after[-1] | {"aucs": [each["auc"] for each in after]}


def many_machines(how: TrainSettings, shards: list[Batch], test: Batch) -> dict[str, Any]:
    """Learn from shards, which are mixed after each pass."""
    learner, n = make_learner(how, Logistic()), len(shards)
    first = shared(learner, n)
    _told(first, followed(first), shards[0].rows(0, 1))  # so that all is compiled here, once
    compared = compared_after(learner, PASSES, n)
    owns: list[Any] = [None] * n
    after = []
    for p in range(1, PASSES + 1):
        own = shared(learner, n)
        start = followed(own)
        parts = [_told_apart(own, start, batch) for batch in shards]
        everything = reduce(added, parts)
        if p <= compared:
            owns = [own_so_far(*each, learner) for each in zip(owns, parts, strict=True)]
        if p == compared:
            everything.sums.update(_judged(learner, everything, owns, shards))
        learner = mix(learner, everything, n)
        learner.next_pass()
        after.append(score(learner, test))
    return after[-1] | {"aucs": [each["auc"] for each in after]}


def _told(own: Learner, start: Start, batch: Batch) -> Told:
    own.learn(batch)
    return without_scores(tell(own, start))


def _told_apart(own: Learner, start: Start, batch: Batch) -> Told:
    """Learn in a process that begins with all that is here; here nothing changes.

    To copy a learner of millions of features for each shard would take longer than all else.
    """
    receives, sends = Pipe(duplex=False)
    child = get_context("fork").Process(target=lambda: sends.send(_told(own, start, batch)))
    child.start()
    sends.close()
    told: Told = receives.recv()
    child.join()
    return told


def _judged(
    learner: Learner, everything: Told, owns: list[Told], shards: list[Batch]
) -> dict[str, Any]:
    """Compare lanes on examples of each shard, by the model of the others."""
    total: dict[str, Any] = {}
    for batch, own in zip(shards, owns, strict=True):
        some = batch.rows(0, min(batch.n_examples, n_judged(batch.n_examples)))
        sums = judged_sums(judged(learner, everything, own, len(shards), [some]))
        total = {name: total.get(name, 0.0) + v for name, v in sums.items()}
    return in_one_segment(total)


def measured(name: str, kind: str, shards: int, split: str, seed: int) -> dict[str, Any]:
    """Measure one case; a single shard is one machine."""
    (train, test), how = rows(name), settings(kind)
    batches = None
    if split == "site":
        train, site = at_sites(train, shards, seed)
        test, _ = at_sites(test, shards, seed + 1)
        batches = [part_of(train, np.flatnonzero(site == k)) for k in range(shards)]
        one = one_machine(how, train, test)
    if shards == 1:
        found = one_machine(how, train, test)
    else:
        found = many_machines(how, batches or dealt(train, shards, split, seed), test)
    case = {"set": name, "kind": kind, "shards": shards, "split": split, "seed": seed}
    return case | found | ({"one": one} if split == "site" else {})


def cases() -> Iterator[tuple[str, str, int, str, int]]:
    """Yield all cases."""
    for name in ("rcv1", "a9a"):
        for kind in ("adaptive", "ftrl", "rda"):
            for split in ("time", "site"):
                yield name, kind, 8, split, 0
    for name in ("rcv1", "a9a", "ads"):
        for kind in KINDS:
            yield name, kind, 1, "random", 0
            for shards in SHARDS:
                for seed in range(1 if kind == "auto" else SEEDS[name]):
                    yield name, kind, shards, "random", seed


def measured_cap(name: str, kind: str, cap: int) -> dict[str, Any]:
    """Measure many shards, of which so many count in rates; 0 is one machine."""
    (train, test), how = rows(name), settings(kind)
    found = one_machine(how, train, test)
    if cap:
        with patch.object(sharing, "MOST_BOOST", cap):
            found = many_machines(how, dealt(train, CAPPED, "random", 0), test)
    return {"set": name, "kind": kind, "cap": cap} | found


def caps() -> Iterator[tuple[str, str, int]]:
    """Yield all cases of caps."""
    for name in OF_CAPS:
        for kind in ("adaptive", "plain", "rda"):
            for cap in (0, *CAPS):
                yield name, kind, cap
