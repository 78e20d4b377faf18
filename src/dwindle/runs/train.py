"""From data to model: the library call behind ``dwindle train``."""

import math
import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from warnings import warn

from dwindle._base.errors import DataError, SettingError, errors_at
from dwindle._base.files import check_apart
from dwindle._base.system import peak_memory
from dwindle._base.threads import Worker
from dwindle.algorithm.losses import is_classification
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import Truncation
from dwindle.algorithm.updates import Adaptive
from dwindle.data.formats.block import BadLine, Parsed
from dwindle.data.options import ReadOptions, kept_reading
from dwindle.data.sources import Position, Sources, once_only, size, sources
from dwindle.engine.learner import Learner
from dwindle.model.model import Model
from dwindle.runs.checkpoint import Reached, after, read_into, write
from dwindle.runs.holdout import Pass
from dwindle.runs.passes import Passes
from dwindle.runs.progress import Progress
from dwindle.runs.progress_table import Row, cut

SHOWN = 3  # bad lines quoted in a summary


@dataclass
class Summary:
    """What a run came to."""

    examples: int
    feature_count: int
    seen: int
    peak_live: int
    kept: int
    loss: float
    best_constant_loss: float
    auc: float
    seconds: float
    examples_per_second: float
    peak_memory_bytes: int
    model_bytes: int
    skipped: int
    loss_name: str = ""
    labels: dict[str, float] = field(default_factory=dict)
    settled: dict[str, float] = field(default_factory=dict)  # what a budget came to
    bad_lines: list[str] = field(default_factory=list)
    passes: int = 1  # that were made
    best_pass: int | None = None  # whose model it is; None without a holdout, as are these
    holdout_loss: float | None = None
    holdout_auc: float | None = None


class Interrupted(Exception):  # noqa: N818  (it is not an error)
    """The run was asked to stop and has written a checkpoint, if it had learned anything."""

    def __init__(self, checkpoint: Path | None) -> None:
        super().__init__(str(checkpoint))
        self.checkpoint = checkpoint


@dataclass
class TrainSettings:
    """The settings of a run: how to learn, from what, and what to keep."""

    loss: Any = None  # by the labels
    shrinkage: Any = field(default_factory=Truncation)
    update: Any = field(default_factory=Adaptive)
    learning_rate: float | Schedule | None = None  # the update's own
    normalize: bool = False
    max_live: int | None = None  # features, at any time
    passes: int = 1
    cooldown: int = 0  # steps at the end, without examples
    keep: int | None = None
    holdout: int | str | None = None  # every n-th example, or a file
    patience: int = 3
    skip_bad: bool = False
    checkpoint_every: Callable[[float, int], bool] | None = None  # of seconds and examples since
    reading: ReadOptions = field(default_factory=ReadOptions)

    def check(self) -> None:
        """Refuse what no run could use."""
        if isinstance(self.holdout, int) and self.holdout < 2:
            raise SettingError(
                "holdout must be a file, or 2 or more for one example in so many, "
                f"got {self.holdout}"
            )
        for name, least in (("patience", 1), ("cooldown", 0)):
            value = getattr(self, name)
            if value < least:
                raise SettingError(f"{name} must be {least} or more, got {value}")


def train(
    paths: Sequence[str],
    model_path: str | os.PathLike[str],
    training: TrainSettings | None = None,
    *,
    resume: bool = False,
    on_row: Callable[[Row], None] = lambda _: None,
    on_batch: Callable[[Position], None] = lambda _: None,
    on_pass: Callable[[Pass], None] = lambda _: None,
    on_note: Callable[[str], None] = warn,
    stopping: Callable[[], bool] = lambda: False,
) -> Summary:
    """Learn from the data and write the model; returns what the run came to.

    Every figure is measured before learning. ``on_row`` is called at 1, 2, 4, 8, ... examples,
    ``on_batch`` with the place in the data at the beginning and after each batch, ``on_pass`` after
    each pass if there is a holdout, ``on_note`` with what a user should know though the run goes
    on. With a holdout, the run ends when its loss has not become smaller for ``patience`` passes in
    a row, and the model is that of the best pass.

    When ``stopping`` says so, a checkpoint is written beside the model and `Interrupted` raised;
    with ``resume`` such a run goes on, and its model is the same to the bit as if it had never
    stopped.
    """
    training = training or TrainSettings()
    training.check()
    files = sources(paths)
    data = Passes(files, training.reading, training.holdout, on_note)
    run = _Run(files, Path(model_path), training, data, on_row, on_batch, on_pass, stopping)
    with closing(data):
        try:
            run.hold_out()
            if resume and run.checkpoint.exists():
                run.restore()
            return run.go()
        finally:
            run.clean_up()


class _Run(Reached):
    """One training run."""

    def __init__(
        self,
        paths: Sources,
        model_path: Path,
        training: TrainSettings,
        data: Passes,
        on_row: Callable[[Row], None],
        on_batch: Callable[[Position], None],
        on_pass: Callable[[Pass], None],
        stopping: Callable[[], bool],
    ) -> None:
        super().__init__()
        if not model_path.absolute().parent.is_dir():
            raise DataError(f"{model_path}: there is no folder {model_path.parent} to write to")
        held = [training.holdout] if isinstance(training.holdout, str) else []
        check_apart(model_path, [*paths, *held])
        self.paths = paths
        self.size = size(paths)
        self.model_path = model_path
        self.checkpoint = model_path.with_name(model_path.name + ".checkpoint")
        self.best_path = model_path.with_name(model_path.name + ".best")
        self.training = training
        self.data = data
        self.on_row = on_row
        self.on_batch = on_batch
        self.on_pass = on_pass
        self.stopping = stopping
        self.unlabelled = 0  # examples before the first with a label, which decides on the loss
        self.aside = Worker()  # measures, while the learner learns on
        self.begin = time.monotonic()
        self._saved = (self.begin, 0)

    def hold_out(self) -> None:
        """Read the holdout, if it is a file: what is wrong with it is better known at once."""
        if self.data.holdout is not None and isinstance(self.training.holdout, str):
            self.skipped_before = self._skip(self.data.holdout.read())

    def go(self) -> Summary:
        training = self.training
        while self.pass_number < training.passes and self.best.since < training.patience:
            everything = self.data.learned(more=self.pass_number + 1 < training.passes)
            self._place(0)
            for parsed in after(everything, self.done_in_pass, self.bad_in_pass):
                self._learn(parsed)
                self._place(parsed.end)
                if self.stopping():
                    self.save()
                    raise Interrupted(None if self.learner is None else self.checkpoint)
                if training.checkpoint_every is not None:
                    when, examples = self._saved
                    done = 0 if self.progress is None else self.progress.examples
                    if training.checkpoint_every(time.monotonic() - when, done - examples):
                        self.save()
            self._end_pass()
        return self._finish()

    def _place(self, end: int) -> None:
        """Tell how far the run has come: to the byte ``end`` of this pass."""
        examples = 0 if self.progress is None else self.progress.examples
        passes, before = self.training.passes, self.pass_number
        done = before * (self.size or 0) + end
        total = None if self.size is None else passes * self.size
        self.on_batch(Position(examples, done, total, before + 1, passes))

    def _skip(self, bad: list[BadLine]) -> int:
        """How many lines are bad, unless they must not be; the first few are remembered."""
        if bad and not self.training.skip_bad:
            raise DataError(str(bad[0]))
        self.bad_lines += map(str, bad[: SHOWN - len(self.bad_lines)])
        return len(bad)

    def _end_pass(self) -> None:
        """The pass is counted, and measured if something was held out."""
        self.pass_number += 1
        self.skipped_before += self.bad_in_pass
        self.done_in_pass = self.bad_in_pass = 0
        if self.learner is None:
            return
        self.learner.next_pass()
        if self.data.holdout is not None:
            with self.learner.after_cooldown(self.training.cooldown) as rested:
                measured = self.data.holdout.measure(rested, self.labels)
                row = self.best.after(self.pass_number, *measured)
                if row.best:
                    Model.of(rested, self._metadata()).save(self.best_path)
            self.on_pass(row)

    def _learn(self, parsed: Parsed) -> None:
        self.bad_in_pass += self._skip(parsed.bad)
        batch = parsed.batch
        if self.learner is None:
            if not self.labels.found(batch) and self.training.loss is None:
                self.unlabelled += batch.n_examples
                self.done_in_pass += batch.n_examples
                return
            self._begin(parsed)
        learner, progress = self.learner, self.progress
        assert learner is not None
        assert progress is not None
        progress.skipped = self.skipped_before + self.bad_in_pass
        batch = batch._replace(label=self.labels.mapped(parsed, learner.loss))
        first = self.done_in_pass
        for part in cut(batch, progress.examples, self.next_row):
            with errors_at(parsed.place, self.done_in_pass - first):
                prediction = learner.learn(part)
            progress.count(part)
            self.aside.do(progress.measure, prediction, part.label, part.importances())
            self.done_in_pass += part.n_examples
            if progress.examples == self.next_row:
                self._row()
                self.next_row *= 2

    def _begin(self, parsed: Parsed) -> None:
        training = self.training
        loss = self.labels.loss_for(parsed.batch) if training.loss is None else training.loss
        self.learner = self._learner(loss)
        loss = self.learner.loss
        self.progress = Progress(loss, ranks=is_classification(loss))
        self.progress.examples = self.unlabelled
        while self.next_row <= self.unlabelled:
            self.next_row *= 2
        if self.data.holdout is not None and isinstance(training.holdout, str):
            # A label that does not fit those of the data is told now, not after the pass.
            self.labels.mapped(parsed, self.learner.loss)
            self.data.holdout.measure(self.learner, self.labels)

    def _learner(self, loss: Any) -> Learner:
        """One that has learned nothing yet; the loss is this unless the settings say which."""
        t = self.training
        loss = loss if t.loss is None else t.loss
        return Learner(
            loss, t.shrinkage, t.update, t.learning_rate, normalize=t.normalize, max_live=t.max_live
        )

    def _row(self) -> None:
        assert self.learner is not None
        assert self.progress is not None
        self.aside.wait()
        p, kept, seen = self.progress, len(self.learner), self.learner.table.seen.count()
        self.on_row(Row(p.examples, p.mean_loss, p.since_last(), p.auc, kept, seen))

    def _finish(self) -> Summary:
        learner, progress = self.learner, self.progress
        if learner is None or progress is None or progress.examples == 0:
            raise DataError(f"{' '.join(self.paths.given)}: no examples to learn from")
        if progress.examples != self.next_row // 2:
            self._row()
        self.aside.wait()
        keep = self.training.keep
        if self.data.holdout is None:
            learner.cooldown(self.training.cooldown)
            model = Model.of(learner, self._metadata(), keep)
        else:
            model = self._best_model().heaviest(keep)
        size = model.save(self.model_path)
        self.checkpoint.unlink(missing_ok=True)
        seconds = time.monotonic() - self.begin
        return Summary(
            examples=progress.examples,
            feature_count=progress.feature_count,
            seen=learner.table.seen.count(),
            peak_live=learner.table.peak,
            kept=len(model),
            loss=progress.mean_loss,
            best_constant_loss=progress.labels.best_constant(learner.loss)[1],
            auc=progress.auc,
            seconds=seconds,
            examples_per_second=progress.examples / max(seconds, 1e-9),
            peak_memory_bytes=peak_memory(),
            model_bytes=size,
            skipped=progress.skipped,
            loss_name=type(learner.loss).__name__,
            labels=self.labels.metadata(),
            settled=learner.eviction_report() if learner.max_live else {},
            bad_lines=self.bad_lines,
            passes=self.pass_number,
            best_pass=self.best.number or None,
            **self._measured(),
        )

    def _best_model(self) -> Model:
        model = Model.load(self.best_path)
        best, metadata = self.best, model.metadata
        if (metadata.get("pass"), metadata.get("holdout_loss")) != (best.number, best.loss):
            raise DataError(
                f"{self.best_path}: is not the model of pass {best.number}, which was the best: "
                "another run wrote it; begin anew"
            )
        return model

    def _metadata(self) -> dict[str, Any]:
        assert self.learner is not None
        assert self.progress is not None
        self.aside.wait()
        return (
            {
                "labels": self.labels.metadata(),
                "reading": kept_reading(self.training.reading),
                "examples": self.progress.examples,
                "seen": self.learner.table.seen.count(),
                "peak_live": self.learner.table.peak,
                "loss": self.progress.mean_loss,
                "pass": self.pass_number,
            }
            | self._weighed()
            | self._measured()
        )

    def _weighed(self) -> dict[str, Any]:
        """Of how much importance the examples are, unless each counts as 1."""
        assert self.progress is not None
        weight = self.progress.weight
        return {} if weight == self.progress.examples else {"importance": weight}

    def _measured(self) -> dict[str, Any]:
        """Of the best pass, if there is a holdout."""
        best = self.best
        if best.number == 0:
            return {}
        auc = None if math.isnan(best.auc) else best.auc
        return {"holdout_loss": best.loss, "holdout_auc": auc}

    def clean_up(self) -> None:
        """The best model so far stays only for a checkpoint."""
        self.aside.close()
        if self.data.holdout is not None and not self.checkpoint.exists():
            self.best_path.unlink(missing_ok=True)

    def save(self) -> None:
        """Write a checkpoint, if anything was learned."""
        if self.progress is None:
            return
        self.aside.wait()
        write(self, self.checkpoint, self._settings())
        self._saved = (time.monotonic(), self.progress.examples)

    def restore(self) -> None:
        """Go on from the checkpoint, whose settings must be this run's."""
        progress = read_into(self, self.checkpoint, self._settings(), self._learner)
        if self.best.number and not self.best_path.exists():
            raise DataError(
                f"{self.checkpoint}: the best model so far, {self.best_path}, is gone: "
                "remove the checkpoint to begin anew"
            )
        if self.pass_number and once_only(self.paths):
            raise DataError(
                f"{self.checkpoint}: was written in pass {self.pass_number + 1}, and its data "
                "came through a pipe, which is read in the first only: remove it to begin anew"
            )
        self._saved = (time.monotonic(), progress.examples)

    def _settings(self) -> dict[str, Any]:
        """What must be as it was when a run goes on, beside the learner's own settings."""
        training = self.training
        return {
            "data": list(self.paths.given),
            "reading": kept_reading(training.reading),
            "passes": training.passes,
            "cooldown": training.cooldown,
            "holdout": training.holdout,
            "patience": training.patience,
        }
