"""Training: from data to a model file, with progress, checkpoints and a holdout."""

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from typing import Any

from dwindle._base.checks import reading_from
from dwindle._base.errors import DataError, SettingError, errors_at
from dwindle._base.files import (
    Place,
    UnwritableError,
    check_apart,
    check_writable,
    place_of,
    size_of,
    written,
)
from dwindle._base.later import import_arrow
from dwindle._base.system import peak_memory
from dwindle._base.threads import Worker
from dwindle.algorithm.losses import for_classes, is_classification
from dwindle.data.formats.block import BadLine, Parsed
from dwindle.data.labels import unlabelled
from dwindle.data.options import ReadOptions, as_before, kept_reading
from dwindle.data.probes import Probes, with_probes
from dwindle.data.shuffle import shuffled
from dwindle.data.sources import Position, Sources, once_only, size, sources
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.jit.compile import seconds_compiling
from dwindle.model.classes import ClassModels
from dwindle.model.learned import model_of, states_of
from dwindle.model.loading import load_model, load_saved
from dwindle.model.model import Model
from dwindle.model.path import Path as AllLanes
from dwindle.runs import checkpoint
from dwindle.runs.build import choice_of, choosing, in_lanes, make_learners
from dwindle.runs.class_progress import progress_of
from dwindle.runs.continuing import REMEMBERED, check_needed, completed, continued, fixed
from dwindle.runs.loop import passes
from dwindle.runs.observer import Observer, Stopped, awaited
from dwindle.runs.probing import check_probed, without_probes
from dwindle.runs.progress_table import cut, extended
from dwindle.runs.run_data import Passes, labels_of
from dwindle.runs.settings import TrainSettings
from dwindle.runs.summary import Summary, metadata, rate, summarized
from dwindle.runs.theory import asks_theory, with_theory

SHOWN = 3  # bad lines quoted in a summary
FEW = 256  # examples that take no longer to measure than to hand to another thread


def train(
    paths: Sequence[str],
    model_path: str | os.PathLike[str],
    settings: TrainSettings | None = None,
    *,
    observer: Observer | None = None,
    resume: bool = False,
    start_from: str | os.PathLike[str] | None = None,
    given: Collection[str] | None = None,
) -> Summary:
    """Learn from the data on this machine, as `dwindle.train` does, which says what is what."""
    settings = settings or TrainSettings()
    observer = observer or Observer()
    target = place_of(model_path)
    earlier = checkpoint.beside(target) if resume else None
    if earlier is not None and given is not None:
        with reading_from(checkpoint.path_for(target)):
            settings = completed(settings, *earlier, given)
    start = None
    if earlier is not None:
        start_from = start_from or earlier[1].get("start_from")
    elif start_from is not None:
        start = load_model(start_from)
        settings = continued(settings, start_from, start, given)
    settings.check()
    check_needed(settings, given or ())
    files = sources(paths)
    if not resume:
        checkpoint.check_free(target, files.given, observer.note)
    data = Passes(files, settings.reading, settings.holdout, observer.note)
    run = _Run(files, target, settings, data, observer, start_from, start)
    with closing(data):
        try:
            run.hold_out()
            if earlier is not None:
                with reading_from(run.checkpoint):
                    run.restore(*earlier)
            return run.go()
        finally:
            run.clean_up()


class _Run(checkpoint.Reached):
    """One training run."""

    def __init__(
        self,
        paths: Sources,
        model_path: Place,
        settings: TrainSettings,
        data: Passes,
        observer: Observer,
        start_from: str | os.PathLike[str] | None,
        model: Model | ClassModels | None,
    ) -> None:
        how = settings.classes, settings.class_weight
        super().__init__(labels=labels_of(paths, settings.reading, *how, model, start_from))
        check_writable(model_path)
        held = [settings.holdout] if isinstance(settings.holdout, str) else []
        check_apart(model_path, [*paths, *held])
        self.paths = paths
        self.size = size(paths)
        self.model_path = model_path
        self.checkpoint = checkpoint.path_for(model_path)
        self.best_path = checkpoint.best_for(model_path)
        self.settings = settings
        self.data = data
        self.start_from = None if start_from is None else os.fspath(start_from)
        self.model = model  # that it goes on from
        if model is not None:
            self.examples_before = model.metadata.get("examples", 0)
            self.weight_before = model.metadata.get("importance", self.examples_before)
        self.observer = observer
        self.note = cache(observer.note)
        self.unlabelled = 0  # examples before the first with a label, which decides on the loss
        self.worker = Worker()  # measures, while the learner learns on
        self.importer: Worker | None = None  # imports what the model is written with, meanwhile
        self.begin, self._compiled = time.monotonic(), seconds_compiling()
        self._saved = (self.begin, 0)
        self._before = 0  # examples that an earlier run learned from
        self.probes = Probes(0)

    def hold_out(self) -> None:
        """Read the holdout, if it is a file, so that what is wrong with it is known at once."""
        if self.data.holdout is not None and isinstance(self.settings.holdout, str):
            with self.observer.waiting():
                bad = self.data.holdout.read()
            self.skipped_before = self._skip(bad)

    def go(self) -> Summary:
        """Make the passes and write the model."""
        how = self.settings
        loop = passes(
            self._examples,
            self._step,
            self._end_pass,
            how.passes,
            done=self.pass_number,
            best=self.best,
            patience=how.patience,
        )
        try:
            for _ in loop:
                self._measure_pass()
        except Stopped:
            raise Stopped(self._stop()) from None
        return self._finish()

    def _examples(self, more: bool) -> Iterator[Parsed]:
        """Yield what is left of a pass, from where the run, or an earlier one, stands."""
        self._tell_position(0)
        parsed, window = self.data.learned(more), self.settings.shuffle
        if window is not None:
            parsed = shuffled(parsed, window, (self.settings.seed, self.pass_number))
        if self.settings.probes:
            self.probes = Probes(self.settings.probes)  # the same in each pass
            parsed = with_probes(parsed, self.probes)
        return awaited(checkpoint.left(self, parsed), self.observer)

    def _step(self, parsed: Parsed) -> None:
        """Learn from a batch; write a checkpoint if it is time, or if the run is to stop."""
        self._learn(parsed)
        if self.importer is None and parsed.end != self.size:  # there is more to learn from
            self.importer = Worker()
            self.importer.do(import_arrow)
        self._tell_position(parsed.end)
        self.observer.learned(self)
        if self.observer.should_stop():
            raise Stopped
        is_due = self.settings.checkpoint_every
        if is_due is not None:
            when, examples = self._saved
            done = 0 if self.progress is None else self.progress.examples
            if is_due(time.monotonic() - when, done - examples):
                try:
                    self.save(self.checkpoint)
                except UnwritableError as fault:
                    self.note(f"{fault}: going on without it")
                self._saved = (time.monotonic(), done)

    def _stop(self) -> Place | None:
        """Write a checkpoint, if anything was learned; return where it is."""
        if self.learner is None:
            return None
        place, fault = written(self.checkpoint, self.save)
        if fault is not None:
            raise UnwritableError(
                f"{fault}: it is in {place} instead: move it there to go on with --resume"
            )
        return self.checkpoint

    def _tell_position(self, end: int) -> None:
        """Tell that this pass has been read up to the byte ``end``."""
        examples = 0 if self.progress is None else self.progress.examples
        n, before = self.settings.passes, self.pass_number
        done = before * (self.size or 0) + end
        total = None if self.size is None else n * self.size
        self.observer.position(Position(examples, done, total, before + 1, n))

    def _skip(self, bad: list[BadLine]) -> int:
        """Count bad lines, if they may be skipped; the first few are remembered."""
        if bad and not self.settings.skip_bad:
            raise DataError(str(bad[0]))
        self.bad_lines += map(str, bad[: SHOWN - len(self.bad_lines)])
        return len(bad)

    def _end_pass(self) -> None:
        if self.progress is not None:
            if self.progress.examples != self.next_row // 2:
                self._row()
            self.worker.wait()
            self.last = self.progress.next_pass()
            if self.first is None:
                self.first = self.last
                for doubt in self.progress.doubts():
                    self.note(doubt)
        self.pass_number += 1
        self.skipped_before += self.bad_in_pass
        self.done_in_pass = self.bad_in_pass = 0
        self.read_before = None
        if self.learner is not None:
            self.learner.next_pass()

    def _measure_pass(self) -> None:
        """Measure on the holdout, if there is one, and keep the model if it is the best so far."""
        if self.learner is None or self.data.holdout is None:
            return
        states, holdout = self._states(), self.data.holdout
        with (
            self.learner.after_cooldown(self.settings.cooldown) as cooled,
            holdout.choosing(cooled, self.labels),
        ):
            measured = holdout.measure(cooled, self.labels)
            result = self.best.after(self.pass_number, *measured)
            if result.best:
                model = self._made(cooled, states)
                self.best_path, fault = written(self.best_path, model.save)
                if fault is not None:
                    self.note(f"{fault}: kept in {self.best_path} for now")
        self.observer.pass_ended(result)

    def _learn(self, parsed: Parsed) -> None:
        self.bad_in_pass += self._skip(parsed.bad)
        batch = parsed.batch
        self.worker.do(self.read.add, batch)
        if self.learner is None:
            loss = self.settings.ingredients().loss
            undecided = loss is None or is_classification(for_classes(loss))
            if undecided and not self.labels.found(batch):
                self.unlabelled += batch.n_examples
                self.done_in_pass += batch.n_examples
                return
            self._begin(parsed)
        learner, progress = self.learner, self.progress
        assert learner is not None
        assert progress is not None
        progress.skipped = self.skipped_before + self.bad_in_pass
        progress.unlabelled += unlabelled(batch)
        batch = self.labels.learned(parsed, learner.loss)
        first = self.done_in_pass
        for part in cut(batch, progress.examples, self.next_row):
            with errors_at(parsed.place, self.done_in_pass - first):
                prediction = learner.learn(part)
            progress.count(part)
            if part.n_examples < FEW and self.worker.idle:
                assert part.label is not None
                progress.measure(prediction, part.label, part.importances())
            else:
                self.worker.do(progress.measure, prediction, part.label, part.importances())
            self.done_in_pass += part.n_examples
            if progress.examples == self.next_row:
                self._row()
                self.next_row *= 2

    def _with_rate(self, loss: Any) -> TrainSettings:
        """Return the settings with a learning rate that the data has to say, if it has to."""
        if not asks_theory(self.settings):
            return self.settings
        examples = (self.labels.learned(each, loss) for each in self.data.read_apart())
        settings = with_theory(self.settings, examples, loss, self.settings.passes)
        self.note(f"learning rate {settings.learning_rate:g}, by theory")
        return settings

    def _begin(self, parsed: Parsed) -> None:
        """Make the learner, whose loss the labels may decide."""
        loss = self.settings.ingredients().loss
        loss = self.labels.decide(parsed, loss, self.note)
        if told := self.labels.told():
            self.observer.classes(told)
        self.settings = self._with_rate(loss)
        self.learner = make_learners(self.settings, loss, len(self.labels.target))
        if self.settings.probes:
            check_probed(self.learner, self.settings)
        if self.settings.path and not in_lanes(self.learner):
            raise SettingError(
                "--path keeps several gravities, and there is one: leave out --gravity"
            )
        if self.model is not None:
            with reading_from(self.start_from):
                self.learner = self.model.learner(self.learner.settings())
            if self.learner.n_steps == 0:
                self.note(
                    f"{self.start_from}: only its weights go on, so each feature's learning rate "
                    "begins anew; --save-state keeps it in the model"
                )
            elif not self.model.has_state:
                self.note(
                    f"{self.start_from}: only the features that it kept go on; --save-state keeps "
                    "all in the model"
                )
        self.progress = progress_of(self.learner)
        self.progress.examples = self.progress.unlabelled = self.unlabelled
        while self.next_row <= self.unlabelled:
            self.next_row *= 2
        if self.data.holdout is not None and isinstance(self.settings.holdout, str):
            # A label that does not fit those of the data is told now, not after the pass.
            self.labels.mapped(parsed, self.learner.loss)
            self.data.holdout.measure(self.learner, self.labels)

    def measured(self) -> None:
        """Wait until all that was learned from is measured."""
        self.worker.wait()

    def _row(self) -> None:
        assert self.learner is not None
        assert self.progress is not None
        self.measured()
        if not self.progress.weight:  # no label so far, so there is nothing to show
            return
        where = self.pass_number + 1, self.settings.passes
        row = self.progress.row(len(self.learner), self._n_seen(self.learner), *where)
        self.curve = extended(self.curve, row)
        self.observer.row(row)

    def _n_seen(self, learner: Learner | OneVsRest) -> int:
        """Count the features seen, without probes: all are seen in the first pass."""
        if not self.settings.probes:
            return learner.n_seen
        if self.pass_number:
            return int(self.curve["seen"][-1])
        return max(learner.n_seen - self.probes.n_until(self.done_in_pass), 0)

    def _finish(self) -> Summary:
        learner, progress, first = self.learner, self.progress, self.first
        if learner is None or progress is None or first is None or not first.weight:
            raise DataError(f"{' '.join(self.paths.given)}: no examples to learn from")
        if self.data.holdout is None:
            states = self._states()
            learner.cooldown(self.settings.cooldown)
            model = self._made(learner, states)
        else:
            model = self._best_model()
        probed = None
        if self.settings.probes:
            model, probed = without_probes(model, self.probes, self._n_seen(learner))
        if not isinstance(model, AllLanes):
            model = model.heaviest(self.settings.keep)
        place, fault = written(self.model_path, model.save)
        if fault is not None:
            raise UnwritableError(f"{fault}: the model is in {place} instead")
        self.checkpoint.unlink(missing_ok=True)
        seconds = time.monotonic() - self.begin
        compiling = seconds_compiling() - self._compiled
        return summarized(
            self,
            model,
            seconds=seconds,
            seconds_compiling=compiling,
            examples_per_second=rate(progress.examples - self._before, seconds - compiling),
            peak_memory_bytes=peak_memory(),
            model_bytes=size_of(place),
            probes=probed,
        )

    def _states(self) -> list[dict[str, Any]] | None:
        """Return the state of each learner, if the model is to have it."""
        assert self.learner is not None
        return states_of(self.learner) if self.settings.save_state else None

    def _made(
        self, learner: Learner | OneVsRest, states: list[dict[str, Any]] | None
    ) -> Model | ClassModels | AllLanes:
        """Make the model of what was learned, or those of all gravities, if that is wanted."""
        said = metadata(self, self.data.reading)
        if self.settings.path:
            return AllLanes.of(learner, said, states)
        return model_of(learner, said, states=states)

    def _best_model(self) -> Model | ClassModels | AllLanes:
        model = load_saved(self.best_path)
        best, said = self.best, model.metadata
        if (said.get("passes"), said.get("holdout_loss")) != (best.number, best.loss):
            raise DataError(
                f"{self.best_path}: is not the model of pass {best.number}, which was the best: "
                "another run wrote it; begin anew"
            )
        return model

    def clean_up(self) -> None:
        """Remove the best model so far, unless a checkpoint needs it."""
        self.worker.close()
        if self.importer is not None:
            self.importer.close()
        if self.data.holdout is not None and not self.checkpoint.exists():
            self.best_path.unlink(missing_ok=True)

    def save(self, path: Place) -> None:
        """Write a checkpoint, if anything was learned."""
        if self.progress is None:
            return
        self.worker.wait()
        remembered = {name: getattr(self.settings, name) for name in REMEMBERED}
        checkpoint.write(
            self, path, fixed(self.settings, self.paths, self.labels, self.start_from) | remembered
        )

    def restore(self, learner: Learner | OneVsRest, kept: dict[str, Any]) -> None:
        """Go on from a checkpoint, whose settings must be this run's."""
        one = learner.members[0] if isinstance(learner, OneVsRest) else learner
        if asks_theory(self.settings):  # which the same data gave
            self.settings = replace(self.settings, learning_rate=one.schedule.learning_rate)
        same = fixed(self.settings, self.paths, self.labels, self.start_from)
        n = len(learner.members) if isinstance(learner, OneVsRest) else 0
        checkpoint.check_same(
            self.checkpoint,
            make_learners(self.settings, learner.loss, n).settings() | same,
            choosing(learner, choice_of(self.settings, n)).settings()
            | {name: kept[name] for name in same if name in kept}
            | {"reading": kept_reading(as_before(kept["reading"], ReadOptions()))},
        )
        named = self.labels.classes
        checkpoint.restore(self, learner, kept)
        if named:
            there = {"classes": self.labels.classes}
            checkpoint.check_same(self.checkpoint, {"classes": named}, there)
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
        assert self.progress is not None
        self._before = self.progress.examples
        self._saved = (time.monotonic(), self._before)
