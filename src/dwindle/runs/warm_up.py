"""Compile what most runs need, by making such runs in small."""

import functools
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dwindle.algorithm.adaptive import Centred
from dwindle.algorithm.losses import Squared
from dwindle.data.options import ReadOptions
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.jit.compile import seconds_compiling
from dwindle.runs.evaluate import evaluate
from dwindle.runs.observer import Observer
from dwindle.runs.predict import predict
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train

N = 8  # examples


class Warmed(NamedTuple):
    """One kind of run whose kernels are now in the cache."""

    name: str
    seconds: float
    seconds_compiling: float


def warm_up() -> Iterator[Warmed]:
    """Make small runs of every format, of regression, several passes and single examples."""
    with TemporaryDirectory() as folder:
        for name, run in _runs(Path(folder)):
            begin, compiled = time.monotonic(), seconds_compiling()
            run()
            yield Warmed(name, time.monotonic() - begin, seconds_compiling() - compiled)


def _runs(folder: Path) -> Iterator[tuple[str, Callable[[], None]]]:
    for name, path in _files(folder):
        yield name, functools.partial(_train, path, TrainSettings())
    vw, csv = folder / "data.vw", folder / "data.csv"
    crossed = ReadOptions(interactions=(("a", "b"),))
    yield "interactions", functools.partial(_train, vw, TrainSettings(reading=crossed))
    yield "several passes", functools.partial(_train, vw, TrainSettings(passes=2, holdout=4))
    yield "regression", functools.partial(_train, csv, TrainSettings(loss="squared"))
    yield "matrices", _learn_matrix
    yield "learn_one", _learn_one


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Write the same examples in each format."""
    label = [i % 2 for i in range(N)]
    x = [0.25 * i + 1 for i in range(N)]
    color = ["red" if i % 3 else "blue" for i in range(N)]
    rows = list(zip(label, x, color, strict=True))
    lines = {
        "data.vw": ("VW text", [f"{2 * y - 1} |a {c} |b x:{v}" for y, v, c in rows]),
        "data.svm": ("svmlight", [f"{2 * y - 1} 1:{v}" for y, v, _ in rows]),
        "data.csv": ("CSV", ["label,x,color", *(f"{y},{v},{c}" for y, v, c in rows)]),
        "data.jsonl": (
            "JSON lines",
            [json.dumps({"label": y, "x": v, "color": c}) for y, v, c in rows],
        ),
    }
    for file, (name, text) in lines.items():
        (folder / file).write_text("\n".join(text) + "\n")
        yield name, folder / file
    table = pa.table({"label": label, "x": x, "color": color})
    pq.write_table(table, folder / "data.parquet")
    yield "Parquet", folder / "data.parquet"


def _train(data: Path, settings: TrainSettings) -> None:
    model, silent = data.with_name("model"), _Silent()
    train([str(data)], model, settings, observer=silent)
    list(predict(model, [str(data)], settings.reading, observer=silent))
    evaluate(model, [str(data)], settings.reading, observer=silent)


class _Silent(Observer):
    def note(self, text: str) -> None:
        """Say nothing: the data is not the user's."""


def _learn_matrix() -> None:
    batch = Batch.from_dense(np.eye(N), np.ones(N))
    for learner in (Learner(), Learner(Squared(), update=Centred(), scale_labels=True)):
        learner.learn(batch)
        learner.predict(batch)


def _learn_one() -> None:
    learner = Learner()
    learner.learn_one({"color": "red", "x": 1.0}, 1)
    learner.predict_one({"color": "red", "x": 1.0})
    learner.weights()
