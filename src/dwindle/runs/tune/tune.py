"""From data to the sparsest model that is about as good as the best: behind ``dwindle tune``."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any
from warnings import warn

import numpy as np
import xxhash

from dwindle._base.errors import DataError, SettingError, errors_at
from dwindle._base.files import check_apart
from dwindle._base.system import cores
from dwindle._base.text import counted
from dwindle.algorithm.by_name import schedule_of, shrinkage_called, update_called
from dwindle.algorithm.losses import Logistic
from dwindle.data.cache import Cache
from dwindle.data.formats.block import Parsed
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions
from dwindle.data.sources import Position, Sources, once_only, size, sources
from dwindle.data.stream import read
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.runs.journal import Journal
from dwindle.runs.progress_table import Row
from dwindle.runs.train import Interrupted, Summary, TrainSettings, train
from dwindle.runs.tune.grid import Grid, Setting
from dwindle.runs.tune.search import Found, Search, Stopped


@dataclass
class TuneSettings:
    """What to try, and what is wanted of the model."""

    grid: Grid = field(default_factory=Grid)
    loss: Any = None  # by the labels
    metric: str | None = None  # accuracy if labels are of two classes, else the loss
    folds: int = 10
    tolerance: float = 0.01
    keep: int | None = None
    skip_bad: bool = False
    reading: ReadOptions = field(default_factory=ReadOptions)
    jobs: int | None = None  # as many as there are cores

    def search(self, loss: Any) -> Search:
        """What finds the setting."""
        return Search(loss, self.grid, self.metric, self.folds, self.tolerance, self.keep)

    def training(self, setting: Setting) -> TrainSettings:
        """What makes the model with a setting."""
        shrinkage = setting.shrinkage, setting.gravity, setting.truncate_every, setting.threshold
        update = update_called(setting.update)
        return TrainSettings(
            loss=self.loss,
            shrinkage=shrinkage_called(*shrinkage),
            update=update,
            learning_rate=schedule_of(update, setting.learning_rate, 0.0, setting.pass_decay),
            passes=setting.passes,
            cooldown=setting.cooldown,
            keep=self.keep,
            skip_bad=self.skip_bad,
            reading=self.reading,
        )

    def check(self) -> None:
        """Refuse what no search could use."""
        self.search(Logistic() if self.loss is None else self.loss).check()
        if self.jobs is not None and self.jobs < 1:
            raise SettingError(f"jobs must be 1 or more, got {self.jobs}")


@dataclass
class Tuned:
    """What was found, and what the training with it came to."""

    found: Found
    summary: Summary


class Halted(Exception):  # noqa: N818  (it is not an error)
    """The search was asked to stop; its journal, if anything is finished, lets it go on."""

    def __init__(self, journal: Path | None) -> None:
        super().__init__(str(journal))
        self.journal = journal


def tune(
    paths: Sequence[str],
    model_path: str | os.PathLike[str],
    tuning: TuneSettings | None = None,
    *,
    on_batch: Callable[[Position], None] = lambda _: None,
    on_run: Callable[[int, int], None] = lambda _done, _all: None,
    on_found: Callable[[Found], None] = lambda _: None,
    on_row: Callable[[Row], None] = lambda _: None,
    on_note: Callable[[str], None] = warn,
    stopping: Callable[[], bool] = lambda: False,
) -> Tuned:
    """Find the setting by cross-validation, then learn from all the data with it.

    The model is the one that `train` writes with that setting, to the bit. ``on_batch`` is called
    with the place in the data while it is read, ``on_run`` with how many runs of the search are
    made, of how many, ``on_found`` before the training, ``on_row`` in it, and ``on_note`` with what
    a user should know.

    What the search has finished stands in a journal beside the model until the model is written.
    When ``stopping`` says so, `Halted` is raised; called again, it goes on from the journal.
    """
    tuning = tuning or TuneSettings()
    tuning.check()
    target = Path(model_path)
    if not target.absolute().parent.is_dir():
        raise DataError(f"{target}: there is no folder {target.parent} to write to")
    files = sources(paths)
    check_apart(target, files)
    if once_only(files):
        raise DataError("a pipe can be read only once, and tuning reads the data twice: use a file")
    path = target.with_name(target.name + ".tuning")
    try:
        found = _found(files, path, tuning, on_batch, on_run, on_note, stopping)
        on_found(found)
        training = tuning.training(found.chosen.setting)
        summary = train(
            files,
            target,
            training,
            on_row=on_row,
            on_batch=on_batch,
            on_note=on_note,
            stopping=stopping,
        )
    except Stopped:
        raise Halted(path if path.exists() else None) from None
    except Interrupted as interrupted:
        if interrupted.checkpoint is not None:
            interrupted.checkpoint.unlink()  # it is one run of many, and is made anew
        raise Halted(path) from None
    path.unlink(missing_ok=True)
    return Tuned(found, summary)


def _found(
    paths: Sources,
    path: Path,
    tuning: TuneSettings,
    on_batch: Callable[[Position], None],
    on_run: Callable[[int, int], None],
    on_note: Callable[[str], None],
    stopping: Callable[[], bool],
) -> Found:
    """What the search comes to, with its journal at ``path``."""
    with closing(Cache()) as cache:
        loss = _fill(cache, paths, tuning, on_batch, stopping)
        examples = [parsed.batch for parsed in cache.read()]
        if len(set[float]().union(*map(Labels().found, examples))) < 2:
            on_note("all labels are the same: there is nothing to tell apart")
        journal = Journal(path, _about(examples, loss, tuning))
        if len(journal):
            on_note(f"going on: {counted(len(journal), 'run')} found finished in {path}")
        return tuning.search(loss).run(
            examples,
            jobs=tuning.jobs or cores(),
            journal=journal,
            on_run=on_run,
            stopping=stopping,
        )


def _about(examples: Sequence[Batch], loss: Any, tuning: TuneSettings) -> dict[str, Any]:
    """All that decides what a run of a given name comes to.

    What else is asked for may change: other rates, gravities and passes are other runs, and the
    metric and the tolerance only choose among them.
    """
    return {
        "dwindle": version("dwindle"),
        "data": _digest(examples),
        "loss": repr(loss),
        "folds": tuning.folds,
        "keep": tuning.keep,
    }


def _fill(
    cache: Cache,
    paths: Sources,
    tuning: TuneSettings,
    on_batch: Callable[[Position], None],
    stopping: Callable[[], bool],
) -> Any:
    """Parse the data into the cache, labels as the loss wants them; returns the loss."""
    labels, loss = Labels(), tuning.loss
    total, done = size(paths), 0
    on_batch(Position(0, 0, total))
    for parsed in read(paths, tuning.reading):
        parsed.n_bad(skip_bad=tuning.skip_bad)
        if loss is None and labels.found(parsed.batch):
            loss = labels.loss_for(parsed.batch)
        if loss is not None:
            cache.add(_lessons(parsed, labels, loss))
        if cache.fault is not None:
            break
        done += parsed.batch.n_examples
        on_batch(Position(done, parsed.end, total))
        if stopping():
            raise Stopped
    cache.finish()
    if cache.fault is not None:
        raise DataError(
            f"no room for a cache of the data in the temporary folder ({cache.fault}): "
            "set TMPDIR to another folder"
        )
    if loss is None:
        raise DataError(f"{' '.join(paths.given)}: no examples to learn from")
    return loss


def _lessons(parsed: Parsed, labels: Labels, loss: Any) -> Parsed:
    """What is learned from, if the loss can, and no names."""
    batch = parsed.batch._replace(label=labels.mapped(parsed, loss), names=None)
    with errors_at(parsed.place):
        Learner(loss).lessons(batch)
    return parsed._replace(batch=batch, bad=[])


def _digest(examples: Sequence[Batch]) -> str:
    """Of all that is learned from, however it is cut into batches."""
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
