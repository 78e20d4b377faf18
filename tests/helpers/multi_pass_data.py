"""Examples in any format, and the ways to go over them several times."""

import json

import numpy as np

from dwindle import Truncation
from dwindle.data.options import ReadOptions
from dwindle.model.model import Model
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train

SHRINKAGE = Truncation(gravity=3e-3)  # strong enough to sweep features away that come again
SMALL = ReadOptions(block_size=10_000)
OVERFIT = {
    "shrinkage": Truncation(1e-4),
    "learning_rate": 0.05,
    "holdout": 3,
    "reading": ReadOptions(),
}


def rows(n=900, seed=0):
    """(label, {name: value}) with more names than the first table holds."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        words = {f"w{w}": round(float(rng.uniform(0.1, 2)), 4) for w in rng.integers(0, 1500, 9)}
        positive = int(rng.integers(0, 2))
        yield 2 * positive - 1, words | {f"sign{positive}": 1.0, "place": float(i % 7)}


def vw_text(given):
    return "".join(
        f"{y} 'tag |text {' '.join(f'{k}:{v}' for k, v in x.items())} |b {i % 9} :2 ä=\udcff\n"
        for i, (y, x) in enumerate(given)
    ).encode("utf-8", "surrogateescape")


def svmlight_text(given):
    keys = ({int(k[1:]): v for k, v in x.items() if k[1:].isdecimal()} for _, x in given)
    return "".join(
        f"{y} {' '.join(f'{k}:{v}' for k, v in sorted(x.items()))}\n"
        for (y, _), x in zip(given, keys, strict=True)
    ).encode()


def jsonl_text(given):
    return b"".join(json.dumps({"label": y, "features": x}).encode() + b"\n" for y, x in given)


def table_text(given, delimiter):
    lines = [["label", "word", "place"]]
    lines += [[str(y), next(iter(x)), str(x["place"])] for y, x in given]
    return "".join(delimiter.join(line) + "\n" for line in lines).encode()


TEXTS = {
    "vw": vw_text,
    "svmlight": svmlight_text,
    "jsonl": jsonl_text,
    "csv": lambda given: table_text(given, ","),
    "tsv": lambda given: table_text(given, "\t"),
}


def bits(model):
    return model.weights(), model.intercept


def fitted(paths, out, **settings):
    """The model, and what the run came to."""
    given = {"shrinkage": SHRINKAGE, "reading": SMALL} | settings
    summary = train([str(path) for path in paths], out, TrainSettings(**given))
    return Model.load(out), summary
