"""Predictions as a table, a row for each example, and its files: CSV, TSV, Parquet, JSON lines."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from dwindle.algorithm.losses import has_probabilities, is_classification, link
from dwindle.data.formats.block import spelled_label
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions
from dwindle.features.batch import Batch
from dwindle.model.classes import ClassModels
from dwindle.model.loading import opened
from dwindle.model.model import Model
from dwindle.runs.metrics import HALF
from dwindle.runs.observer import Observer
from dwindle.runs.predict import Scores, conversion, predicted, to_predict

Write = Callable[[pa.RecordBatch], None]


class Rows(NamedTuple):
    """The predictions for a run of examples, and how many bad lines there were among them."""

    table: pa.RecordBatch
    skipped: int


def predict_table(
    model: str | os.PathLike[str],
    paths: Sequence[str],
    reading: ReadOptions | None = None,
    *,
    threshold: float = HALF,
    skip_bad: bool = False,
    keep: int | None = None,
    observer: Observer | None = None,
) -> Iterator[Rows]:
    """Predict the examples of the data with a model file, as rows of a table.

    Two classes have the columns ``score``, ``probability`` (of the positive class) and ``label``;
    several have ``label`` and ``probability_CLASS``; numbers have ``prediction``. If the first
    examples have tags, or rows are named by a column, ``id`` is the first column. Some rows come
    in any case, if only none.
    """
    trained = opened(model, keep)
    columns = _columns(trained, threshold)
    how = to_predict(trained, reading)

    def made() -> Iterator[Rows]:
        has_ids = None
        for parsed, scores in predicted(trained, paths, how, observer or Observer()):
            skipped = parsed.n_bad(skip_bad=skip_bad)
            has_ids = parsed.tags is not None if has_ids is None else has_ids
            tags = list(parsed.tags or [""] * len(scores)) if has_ids else None
            yield Rows(_table(columns(scores), tags), skipped)
        if has_ids is None:
            yield Rows(_table(columns(trained.predict(Batch.from_dicts([]))), None), 0)

    return made()  # so that a model that cannot be read is refused at once


def _columns(model: Model | ClassModels, threshold: float) -> Callable[[Scores], dict[str, Scores]]:
    """Return what makes the columns out of scores."""
    if not is_classification(model.loss):
        return lambda p: {"prediction": np.asarray(link(model.loss, p))}
    spelled = conversion(model, "label", threshold)

    known = Labels.in_metadata(model.metadata).target  # empty: -1 and 1
    whole = all(not isinstance(each, str) and float(each).is_integer() for each in known)

    def label(p: Scores) -> Scores:
        return spelled(p).astype(np.int64) if whole else spelled(p)

    kind = "probability" if has_probabilities(model.loss) else "score"
    number = conversion(model, kind)
    if isinstance(model, ClassModels):
        names = [f"{kind}_{spelled_label(each)}" for each in model.classes]
        return lambda p: {"label": label(p)} | dict(zip(names, number(p).T, strict=True))
    return lambda p: {"score": p, kind: number(p), "label": label(p)}


def _table(columns: dict[str, Scores], tags: list[str] | None) -> pa.RecordBatch:
    arrays = {name: pa.array(np.ascontiguousarray(each)) for name, each in columns.items()}
    ids = {} if tags is None else {"id": pa.array([_valid(tag) for tag in tags], pa.string())}
    return pa.RecordBatch.from_pydict(ids | arrays)


def _valid(tag: str) -> str:
    return tag.encode("utf-8", "surrogateescape").decode(errors="replace")


@contextmanager
def _csv(file: Any, delimiter: str = ",") -> Iterator[Write]:
    first = True

    def write(table: pa.RecordBatch) -> None:
        nonlocal first
        how = pyarrow.csv.WriteOptions(include_header=first, delimiter=delimiter)
        pyarrow.csv.write_csv(table, file, how)
        first = False

    yield write


@contextmanager
def _jsonl(file: Any) -> Iterator[Write]:
    yield lambda table: file.write(b"".join(orjson.dumps(row) + b"\n" for row in table.to_pylist()))


@contextmanager
def _parquet(file: Any) -> Iterator[Write]:
    writer: pq.ParquetWriter | None = None

    def write(table: pa.RecordBatch) -> None:
        nonlocal writer
        writer = writer or pq.ParquetWriter(file, table.schema)
        writer.write_batch(table)

    yield write
    if writer is not None:
        writer.close()


WRITERS: dict[str, Callable[[Any], AbstractContextManager[Write]]] = {
    "csv": _csv,
    "tsv": partial(_csv, delimiter="\t"),
    "jsonl": _jsonl,
    "parquet": _parquet,
}
