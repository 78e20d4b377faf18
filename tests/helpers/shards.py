"""Runs on many machines in tests: small data, and what their models are told apart by."""

from hashlib import sha256

import numpy as np

from dwindle import Batch, Observer, TrainSettings, train
from dwindle.distributed.sharing import shared
from dwindle.distributed.telling import followed, tell

SETTINGS = {
    "adaptive": {"update": "adaptive", "gravity": 1e-4},
    "plain": {"update": "plain", "gravity": 1e-4},
    "ftrl": {"update": "ftrl", "gravity": 0.3},
    "rda": {"update": "rda", "gravity": 1e-4},
    "auto": {},
    "adaptive in sigmas": {"update": "adaptive"},
}


def write_words(path, n=3000, seed=0, classes=2, words=400):
    """Write examples of which some words tell the class."""
    rng = np.random.default_rng(seed)
    weight = rng.normal(size=(classes, words)) * (rng.random((classes, words)) < 0.2)
    with path.open("w") as file:
        for _ in range(n):
            found = rng.integers(0, words, 8)
            score = weight[:, found].sum(axis=1) + rng.gumbel(size=classes) * 0.5
            label = int(score.argmax()) if classes > 2 else (1 if score[1] > score[0] else -1)
            file.write(f"{label} | {' '.join(f'w{w}' for w in found)} c:{rng.normal():.3f}\n")
    return path


class Quiet(Observer):
    """An observer that keeps what it is told, and stops after so many shards."""

    def __init__(self, stop_after=None):
        self.notes, self.rows, self.done, self.held = [], [], [], []
        self.stop_after = stop_after

    def note(self, text):
        self.notes.append(text)

    def row(self, row):
        self.rows.append(row)

    def shards(self, done):
        self.done.append(done)

    def pass_ended(self, result):
        self.held.append(result)

    def should_stop(self):
        return (
            self.stop_after is not None
            and sum(each.done > 0 for each in self.done) >= self.stop_after
        )


def model_of_run(data, folder, how=None, **options):
    """Train on many machines; return the model's bytes as a digest, and the summary."""
    folder.mkdir(exist_ok=True)
    target = folder / "model.parquet"
    options = {"observer": Quiet(), "shards": 4} | options
    summary = train([str(data)], target, how or TrainSettings(), **options)
    return sha256(target.read_bytes()).hexdigest(), summary


def examples(n, seed, words=60):
    """Draw examples of five words, of which some tell the class."""
    rng = np.random.default_rng(seed)
    weight = rng.normal(size=words) * (rng.random(words) < 0.3)
    key = rng.integers(0, words, (n, 5))
    x = rng.choice([1.0, 2.0, -1.0], (n, 5)).astype(np.float32)
    label = np.where((weight[key] * x).sum(1) + rng.normal(size=n) > 0, 1, -1).astype(np.float32)
    start = np.arange(0, 5 * n + 1, 5, dtype=np.int64)
    return Batch(start, key.ravel().astype(np.uint64), x.ravel(), label)


def told_by(learner, batch, shards):
    """Return what one of so many shards tells of a batch."""
    own = shared(learner, shards)
    start = followed(own)
    own.learn(batch)
    return tell(own, start)
