"""How good a mixed model is beside that of one machine, of shards in memory."""

from collections.abc import Iterator
from functools import cache, reduce
from pathlib import Path
from typing import Any

import numpy as np

from dwindle import Batch, LaneLearner, Learner, TrainSettings, auc, read
from dwindle.algorithm.losses import Logistic
from dwindle.datasets.ads import Ads
from dwindle.distributed.mixing import mix, shared
from dwindle.distributed.parts import added, without
from dwindle.distributed.tasks import JUDGED_LEAST, JUDGED_SHARE
from dwindle.distributed.telling import SCORES, Told, started, tell
from dwindle.engine.lane_scores import LaneScores
from dwindle.runs.build import make_learner
from experiments import data

PASSES = 4
SHARDS = (2, 8, 32)
ADS = 40_000  # examples, after which 50,000 are for testing
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
    files = {
        "rcv1": (data.RCV1_TRAIN, data.RCV1_TEST),
        "a9a": ("a9a/adult.trn.bz2", "a9a/adult.tst.bz2"),
    }
    train, test = (data.find(file) for file in files[name])
    return _read(train), _read(test)


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


def one_machine(how: TrainSettings, train: Batch, test: Batch) -> dict[str, float]:
    """Learn on one machine."""
    learner = make_learner(how, Logistic())
    for _ in range(PASSES):
        learner.learn(train)
        learner.next_pass()
    return score(learner, test)


def many_machines(how: TrainSettings, shards: list[Batch], test: Batch) -> dict[str, float]:
    """Learn from shards, which are mixed after each pass."""
    learner, n = make_learner(how, Logistic()), len(shards)
    for p in range(PASSES):
        parts = []
        for batch in shards:
            own = shared(learner, n)
            start = started(own)
            own.learn(batch)
            told = tell(own, start)
            sums = {k: v for k, v in told.sums.items() if k not in {"judged", *SCORES}}
            parts.append(told._replace(sums=sums))
        everything = reduce(added, parts)
        if p == 0 and isinstance(learner, LaneLearner):
            everything.sums.update(_judged(learner, everything, parts, shards))
        learner = mix(learner, everything, n)
        learner.next_pass()
    return score(learner, test)


def _judged(
    learner: LaneLearner, everything: Told, parts: list[Told], shards: list[Batch]
) -> dict[str, Any]:
    """Compare lanes on examples of each shard, by the model of the others."""
    scores = LaneScores(learner.loss, learner.n_lanes, whole=True)
    for batch, part in zip(shards, parts, strict=True):
        others = mix(learner, without(everything, part), len(shards))
        some = batch.rows(
            0, min(batch.n_examples, max(batch.n_examples // JUDGED_SHARE, JUDGED_LEAST))
        )
        assert some.label is not None
        assert isinstance(others, LaneLearner)
        scores.add(others.predict_lanes(some).astype(np.float32), some.label, some.importances())
    found: dict[str, Any] = {"judged": np.array([float(scores.examples)])}
    for name in SCORES:
        array = getattr(scores, name)
        found[name] = np.zeros_like(array)
        found[name][-1] = array.sum(axis=0)
    return found


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
