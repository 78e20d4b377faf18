"""Tuning: from data to the sparsest model that is about as good as the best."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from dwindle._base.errors import DataError, SettingError, errors_at
from dwindle._base.files import check_apart, check_writable, place_of
from dwindle._base.system import cores
from dwindle._base.text import counted
from dwindle.algorithm.losses import Logistic, Squared, for_classes
from dwindle.algorithm.settings import LearnerSettings, options_of
from dwindle.data.cache import Cache
from dwindle.data.formats.block import Parsed
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions, kinds_for
from dwindle.data.sources import Position, Sources, once_only, size, sources
from dwindle.data.stream import read
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.runs.checkpoint import check_free
from dwindle.runs.journal import Journal
from dwindle.runs.metrics import METRICS
from dwindle.runs.observer import Observer, Stopped, awaited
from dwindle.runs.progress import ALL_ALIKE
from dwindle.runs.run_data import labels_of
from dwindle.runs.settings import TrainSettings
from dwindle.runs.summary import Summary
from dwindle.runs.train import train
from dwindle.runs.tune.grid import Grid, Setting
from dwindle.runs.tune.scores import Found
from dwindle.runs.tune.search import Search

MANY = 0.9  # of the examples: whoever always tells this class is nearly always right


@dataclass(kw_only=True)
class TuneSettings:
    """The settings of `tune`: what to try, and how to choose."""

    grid: Grid = field(default_factory=Grid)
    fixed: LearnerSettings = field(default_factory=LearnerSettings)  # what the grid does not vary
    metric: str | None = None  # the AUC of two classes, the accuracy of more, or the loss
    folds: int = 5
    tolerance: float | None = None  # see `Search`
    keep: int | None = None
    skip_bad: bool = False
    reading: ReadOptions = field(default_factory=ReadOptions)
    jobs: int | None = None  # as many as there are cores
    classes: Any = None  # all of them, if the beginning of the data lacks some
    class_weight: Any = None  # as in `TrainSettings`

    def search(self, loss: Any, classes: int = 0) -> Search:
        """Make the search for the best setting."""
        how = (self.metric, self.folds, self.tolerance, self.keep, self.fixed, classes)
        return Search(loss, self.grid, *how)

    def training(self, setting: Setting) -> TrainSettings:
        """Return the settings that train the model with a setting."""
        run = setting.settings(self.fixed)
        return TrainSettings(
            **{name: getattr(run, name) for name in options_of(run)} | {"keep": self.keep},
            skip_bad=self.skip_bad,
            reading=self.reading,
            classes=self.classes,
            class_weight=self.class_weight,
        )

    def check(self) -> None:
        """Refuse what no search could use."""
        self.fixed.check()
        loss = self.fixed.ingredients().loss
        possible = (Logistic(), Squared()) if loss is None else (for_classes(loss), loss)
        metric = METRICS.get(self.metric or "")
        # The data decides: assume what has the metric that is asked for.
        has_it = (each for each in possible if metric is None or metric.applies(each))
        self.search(next(has_it, possible[0])).check()
        if self.jobs is not None and self.jobs < 1:
            raise SettingError(f"jobs must be 1 or more, got {self.jobs}")


@dataclass
class Tuned:
    """The result of a search, and the summary of the training with it."""

    found: Found
    summary: Summary


def tune(
    paths: Sequence[str],
    model_path: str | os.PathLike[str],
    settings: TuneSettings | None = None,
    *,
    observer: Observer | None = None,
) -> Tuned:
    """Find the best setting by cross-validation, then learn from all the data with it.

    The model is the one that `train` writes with that setting, to the bit. What the search has
    finished stands in a journal beside the model until the model is written. When the observer
    says so, `Stopped` is raised; called again, the search goes on from the journal.
    """
    settings, observer = settings or TuneSettings(), observer or Observer()
    settings.check()
    target = place_of(model_path)
    check_writable(target)
    files = sources(paths)
    check_apart(target, files)
    check_free(target, files.given)
    if once_only(files):
        raise DataError("a pipe can be read only once, and tune reads the data twice: use a file")
    # A journal grows by lines, which files behind a URL do not: it is in the working folder then.
    beside = target if isinstance(target, Path) else Path(target.name)
    journal = beside.with_name(beside.name + ".tuning")
    try:
        found = _found(files, journal, settings, observer)
        observer.found(found)
        chosen = settings.training(found.chosen.setting)
        summary = train(files, target, chosen, observer=observer)
    except Stopped as stopped:
        if stopped.resume_from is not None:
            stopped.resume_from.unlink()  # a checkpoint of one run of many, which is made anew
        raise Stopped(journal if journal.exists() else None) from None
    journal.unlink(missing_ok=True)
    return Tuned(found, summary)


def _found(paths: Sources, path: Path, settings: TuneSettings, observer: Observer) -> Found:
    """Run the search, with its journal at ``path``."""
    with closing(Cache()) as cache:
        loss, labels = _fill(cache, paths, settings, observer)
        examples = [parsed.batch for parsed in cache.read()]
        if len(set[float]().union(*map(Labels().found, examples))) < 2:
            observer.note(ALL_ALIKE)  # which the training says too, if they are classes
        journal = Journal(path, _about(examples, loss, settings))
        if len(journal):
            observer.note(f"going on: {counted(len(journal), 'run')} found finished in {path}")
        search = settings.search(loss, len(labels.target))
        jobs = settings.jobs or cores()
        found = search.run(examples, jobs=jobs, journal=journal, observer=observer)
        for doubt in (*found.doubts, *_says_little(found)):
            observer.note(doubt)
        return found


def _says_little(found: Found) -> Iterator[str]:
    """Say that accuracy is nothing to choose by, if nearly all examples are of one class."""
    commoner = found.chosen.metric("majority_accuracy")  # which only two classes have
    if commoner > 0 and found.metric == "accuracy" and (commoner > MANY or found.chosen.kept == 0):
        yield (
            f"accuracy says little: the commoner class has {commoner:.2%} of the examples, and the "
            f"chosen model keeps {counted(found.chosen.kept, 'feature')}: try --metric auc or "
            "--metric average-precision"
        )


def _about(examples: Sequence[Batch], loss: Any, settings: TuneSettings) -> dict[str, Any]:
    """Describe all that decides the result of a run of a given name.

    What else is asked for may change: other rates, gravities and passes are other runs, and the
    metric and the tolerance only choose among them.
    """
    return {
        "dwindle": version("dwindle"),
        "data": _digest(examples),
        "loss": repr(loss),
        "folds": settings.folds,
        "keep": settings.keep,
        "fixed": {k: repr(getattr(settings.fixed, k)) for k in options_of(LearnerSettings)},
    }


def _fill(
    cache: Cache,
    paths: Sources,
    settings: TuneSettings,
    observer: Observer,
) -> tuple[Any, Labels]:
    """Parse the data into the cache, labels as the loss wants them; return the loss and labels."""
    labels = labels_of(paths, settings.reading, settings.classes, settings.class_weight)
    loss = settings.fixed.ingredients().loss
    total, done = size(paths), 0
    observer.position(Position(0, 0, total))
    begun = False
    kinds = kinds_for(settings.reading, observer.note)
    for parsed in awaited(read(paths, settings.reading, kinds), observer):
        parsed.n_bad(skip_bad=settings.skip_bad)
        if not begun and labels.found(parsed.batch):
            loss, begun = labels.decide(parsed, loss, observer.note), True
        if loss is not None:
            cache.add(_checked(parsed, labels, loss))
        if cache.fault is not None:
            break
        done += parsed.batch.n_examples
        observer.position(Position(done, parsed.end, total))
        if observer.should_stop():
            raise Stopped
    cache.finish()
    if cache.fault is not None:
        raise DataError(
            f"no room for a cache of the data in the temporary folder ({cache.fault}): "
            "set TMPDIR to another folder"
        )
    if loss is None:
        raise DataError(f"{' '.join(paths.given)}: no examples to learn from")
    return loss, labels


def _checked(parsed: Parsed, labels: Labels, loss: Any) -> Parsed:
    """Map and weigh the labels, refuse those the loss cannot use, and drop the names."""
    batch = labels.learned(parsed, loss)._replace(names=None)
    if not labels.are_several:
        with errors_at(parsed.place):
            Learner(loss).checked_labels(batch)
    return parsed._replace(batch=batch, bad=[])


def _digest(examples: Sequence[Batch]) -> str:
    """Hash all that is learned from, however it is cut into batches."""
    found = [xxhash.xxh64() for _ in Batch._fields]
    for batch in examples:
        for digest, array in zip(found, _arrays(batch), strict=False):
            digest.update(np.ascontiguousarray(array).data)
    return " ".join(digest.hexdigest() for digest in found)


def _arrays(batch: Batch) -> Iterator[Any]:
    yield np.diff(batch.start)
    yield from (batch.key, batch.x, batch.label, batch.importance)
    if batch.base is not None:
        yield batch.base
