"""From data to model: the library call behind ``dwindle train``."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle.batch import Batch
from dwindle.errors import DataError, DivergedError
from dwindle.formats.block import Parsed
from dwindle.learner import Learner
from dwindle.losses import Hinge, Logistic, Squared
from dwindle.model import Model, load_checkpoint, save_checkpoint, settings_of
from dwindle.progress import Progress, peak_memory
from dwindle.schedules import Schedule
from dwindle.shrinkage import Truncation
from dwindle.stream import STDIN, Position, Reading, kept_reading, read, size
from dwindle.updates import Adaptive

PAIRS = ((-1.0, 1.0), (0.0, 1.0), (1.0, 2.0))  # labels of two classes, the negative one first
SHOWN = 3  # bad lines quoted in a summary


class Row(NamedTuple):
    """A line of the table that is shown while training."""

    examples: int
    loss: float
    since_last: float
    auc: float
    alive: int
    seen: int


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
    bad_lines: list[str] = field(default_factory=list)


class Interrupted(Exception):  # noqa: N818  (it is not an error)
    """The run was asked to stop and has written a checkpoint, if it had learned anything."""

    def __init__(self, checkpoint: Path | None) -> None:
        super().__init__(str(checkpoint))
        self.checkpoint = checkpoint


@dataclass
class Training:
    """The settings of a run: how to learn, from what, and what to keep."""

    loss: Any = None  # by the labels
    shrinkage: Any = field(default_factory=Truncation)
    update: Any = field(default_factory=Adaptive)
    rate: float | Schedule = 0.3
    scaled: bool = False
    passes: int = 1
    keep: int | None = None
    skip_bad: bool = False
    checkpoint_every: Callable[[float, int], bool] | None = None  # of seconds and examples since
    reading: Reading = field(default_factory=Reading)


def train(
    paths: Sequence[str],
    model_path: str | os.PathLike[str],
    training: Training | None = None,
    *,
    resume: bool = False,
    on_row: Callable[[Row], None] = lambda _: None,
    on_batch: Callable[[Position], None] = lambda _: None,
    stopping: Callable[[], bool] = lambda: False,
) -> Summary:
    """Learn from the data and write the model; returns what the run came to.

    Every figure is measured before learning. ``on_row`` is called at 1, 2, 4, 8, ... examples, and
    ``on_batch`` with the place in the data at the beginning and after each batch. When ``stopping``
    says so, a checkpoint is written beside the model and `Interrupted` raised; with
    ``resume`` such a run goes on, and its model is the same to the bit as if it had never stopped.
    """
    run = _Run(list(paths), Path(model_path), training or Training(), on_row, on_batch, stopping)
    if resume and run.checkpoint.exists():
        run.restore()
    return run.go()


class _Run:
    """One training run."""

    def __init__(
        self,
        paths: list[str],
        model_path: Path,
        training: Training,
        on_row: Callable[[Row], None],
        on_batch: Callable[[Position], None],
        stopping: Callable[[], bool],
    ) -> None:
        if training.passes > 1 and STDIN in paths:
            raise DataError("stdin can be read only once: several passes need a file")
        if not model_path.absolute().parent.is_dir():
            raise DataError(f"{model_path}: there is no folder {model_path.parent} to write to")
        self.paths = paths
        self.size = size(paths)
        self.model_path = model_path
        self.checkpoint = model_path.with_name(model_path.name + ".checkpoint")
        self.training = training
        self.on_row = on_row
        self.on_batch = on_batch
        self.stopping = stopping
        self.learner: Learner | None = None
        self.progress: Progress | None = None
        self.labels = Labels()
        self.next_row = 1
        self.pass_number = 0
        self.done_in_pass = 0  # examples
        self.bad_in_pass = 0  # lines that were none
        self.unlabelled = 0  # examples before the first with a label, which decides on the loss
        self.bad_lines: list[str] = []
        self.skipped_before = 0  # bad lines of earlier passes
        self.begin = time.monotonic()
        self._saved = (self.begin, 0)

    def go(self) -> Summary:
        training = self.training
        while self.pass_number < training.passes:
            everything = read(self.paths, training.reading)
            self._place(0)
            for parsed in _after(everything, self.done_in_pass, self.bad_in_pass):
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
            self.pass_number += 1
            self.skipped_before += self.bad_in_pass
            self.done_in_pass = self.bad_in_pass = 0
            if self.learner is not None:
                self.learner.next_pass()
        return self._finish()

    def _place(self, end: int) -> None:
        """Tell how far the run has come: to the byte ``end`` of this pass."""
        examples = 0 if self.progress is None else self.progress.examples
        passes, before = self.training.passes, self.pass_number
        done = before * (self.size or 0) + end
        total = None if self.size is None else passes * self.size
        self.on_batch(Position(examples, done, total, before + 1, passes))

    def _learn(self, parsed: Parsed) -> None:
        if parsed.bad:
            if not self.training.skip_bad:
                raise DataError(str(parsed.bad[0]))
            self.bad_lines += map(str, parsed.bad[: SHOWN - len(self.bad_lines)])
            self.bad_in_pass += len(parsed.bad)
        batch = parsed.batch
        if self.learner is None:
            if not self.labels.found(batch) and self.training.loss is None:
                self.unlabelled += batch.n_examples
                self.done_in_pass += batch.n_examples
                return
            self._begin(batch)
        learner, progress = self.learner, self.progress
        assert learner is not None
        assert progress is not None
        progress.skipped = self.skipped_before + self.bad_in_pass
        batch = batch._replace(label=self.labels.mapped(parsed, learner.loss))
        first = self.done_in_pass
        for part in self._to_next_row(batch):
            try:
                prediction = learner.learn(part)
            except (DataError, DivergedError) as error:
                if error.example is None:
                    raise
                line = parsed.line[self.done_in_pass - first + error.example]
                raise type(error)(f"{parsed.source}:{line}: {error.what}") from None
            label, importance = learner.lessons(part)
            progress.add(part, prediction, label, importance)
            self.done_in_pass += part.n_examples
            if progress.examples == self.next_row:
                self._row()
                self.next_row *= 2

    def _begin(self, batch: Batch) -> None:
        training = self.training
        loss = self.labels.loss_for(batch) if training.loss is None else training.loss
        self.learner = Learner(
            loss, training.shrinkage, training.update, training.rate, scaled=training.scaled
        )
        self.progress = Progress(self.learner.loss, ranks=isinstance(loss, Logistic | Hinge))
        self.progress.examples = self.unlabelled
        while self.next_row <= self.unlabelled:
            self.next_row *= 2

    def _to_next_row(self, batch: Batch) -> Iterator[Batch]:
        """The batch, cut where a row of the table is due: batching never changes a weight."""
        assert self.progress is not None
        first = 0
        due = self.next_row - self.progress.examples
        while first + due <= batch.n_examples:
            yield batch.rows(first, first + due)
            first, due = first + due, self.progress.examples
        if first < batch.n_examples:
            yield batch.rows(first, batch.n_examples)

    def _row(self) -> None:
        assert self.learner is not None
        assert self.progress is not None
        p = self.progress
        self.on_row(
            Row(
                p.examples,
                p.mean_loss,
                p.since_last(),
                p.auc,
                len(self.learner),
                self.learner.table.seen.count(),
            )
        )

    def _finish(self) -> Summary:
        learner, progress = self.learner, self.progress
        if learner is None or progress is None or progress.examples == 0:
            raise DataError(f"{' '.join(self.paths)}: no examples to learn from")
        if progress.examples != self.next_row // 2:
            self._row()
        model = Model.of(learner, self._facts(), self.training.keep)
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
            labels=self.labels.facts(),
            bad_lines=self.bad_lines,
        )

    def _facts(self) -> dict[str, Any]:
        assert self.learner is not None
        assert self.progress is not None
        return {
            "labels": self.labels.facts(),
            "reading": kept_reading(self.training.reading),
            "examples": self.progress.examples,
            "seen": self.learner.table.seen.count(),
            "peak_live": self.learner.table.peak,
            "loss": self.progress.mean_loss,
        }

    def save(self) -> None:
        """Write a checkpoint: all that it takes to go on."""
        if self.learner is None or self.progress is None:
            return
        facts = {
            "progress": self.progress.state(),
            "ranks": self.progress.ranking is not None,
            "labels": self.labels.facts(),
            "next_row": self.next_row,
            "pass_number": self.pass_number,
            "done_in_pass": self.done_in_pass,
            "bad_in_pass": self.bad_in_pass,
            "skipped_before": self.skipped_before,
            "bad_lines": self.bad_lines,
            "paths": self.paths,
            "passes": self.training.passes,
            "reading": kept_reading(self.training.reading),
        }
        save_checkpoint(self.learner, self.checkpoint, facts)
        self._saved = (time.monotonic(), self.progress.examples)

    def restore(self) -> None:
        """Go on from the checkpoint, whose settings must be this run's."""
        learner, facts = load_checkpoint(self.checkpoint)
        wanted = Learner(
            learner.loss if self.training.loss is None else self.training.loss,
            self.training.shrinkage,
            self.training.update,
            self.training.rate,
            scaled=self.training.scaled,
        )
        here, there = settings_of(wanted), settings_of(learner)
        reading = kept_reading(self.training.reading)
        here |= {"passes": self.training.passes, "data": self.paths, "reading": reading}
        there |= {"passes": facts["passes"], "data": facts["paths"], "reading": facts["reading"]}
        for name, value in there.items():
            if here[name] != value:
                raise DataError(
                    f"{self.checkpoint}: was written with {name} {value}, and now it is "
                    f"{here[name]}: resume with the same, or remove the file to begin anew"
                )
        self.learner = learner
        self.progress = Progress(learner.loss, ranks=facts["ranks"])
        self.progress.restore(facts["progress"])
        self.labels = Labels({float(k): v for k, v in facts["labels"].items()})
        self.next_row, self.bad_lines = facts["next_row"], facts["bad_lines"]
        self.pass_number, self.done_in_pass = facts["pass_number"], facts["done_in_pass"]
        self.bad_in_pass, self.skipped_before = facts["bad_in_pass"], facts["skipped_before"]
        self._saved = (time.monotonic(), self.progress.examples)


class Labels:
    """How the labels of two classes become -1 and 1: settled by the first that are seen."""

    def __init__(self, sign: dict[float, float] | None = None) -> None:
        self.sign = dict(sign or {})

    def loss_for(self, batch: Batch) -> Any:
        """Logistic if the labels are those of two classes, else squared."""
        found = self.found(batch)
        return Logistic() if any(found <= set(pair) for pair in PAIRS) else Squared()

    def mapped(self, parsed: Parsed, loss: Any) -> NDArray[np.float32] | None:
        """The labels as the loss wants them."""
        label = parsed.batch.label
        if label is None or not isinstance(loss, Logistic | Hinge):
            return label
        new = self.found(parsed.batch) - self.sign.keys()
        if new:
            self._admit(new, parsed)
        out = np.array(label)
        for value, sign in self.sign.items():
            out[label == np.float32(value)] = sign
        return out

    def facts(self) -> dict[str, float]:
        """The mapping, as a model keeps it."""
        return {f"{value:g}": sign for value, sign in self.sign.items()}

    def found(self, batch: Batch) -> set[float]:
        """The labels of the examples to be learned from; past three, no more are looked for."""
        if batch.label is None:
            return set()
        label = batch.label if batch.importance is None else batch.label[batch.importance > 0]
        found: set[float] = set()
        while len(label) and len(found) < 3:  # two passes over the labels, as a rule, and no sort
            found.add(float(label[0]))
            label = label[label != label[0]]
        return found

    def _admit(self, new: set[float], parsed: Parsed) -> None:
        """Labels not met before: with those that were, they must make one of the known pairs."""
        for negative, positive in PAIRS:
            sign = {negative: -1.0, positive: 1.0}
            # A 1 that came alone was taken for the positive class, as in the commonest pairs.
            if new | self.sign.keys() <= sign.keys() and self.sign.items() <= sign.items():
                self.sign |= {value: sign[value] for value in new}
                return
        label = parsed.batch.label
        assert label is not None
        first = {value: int(np.argmax(label == np.float32(value))) for value in new}
        value = max(new, key=lambda v: (v not in (-1.0, 0.0, 1.0), -first[v]))
        known = " and ".join(f"{v:g}" for v in sorted(self.sign)) or "-1 and 1, 0 and 1, or 1 and 2"
        raise DataError(
            f"{parsed.source}:{parsed.line[first[value]]}: expected a label of two classes "
            f"({known}), got {value:g} (say --loss squared to learn numbers)"
        )


def _after(parsed: Iterator[Parsed], examples: int, bad: int) -> Iterator[Parsed]:
    """What follows the first so many examples and bad lines."""
    for item in parsed:
        n, n_bad = min(examples, item.batch.n_examples), min(bad, len(item.bad))
        examples, bad = examples - n, bad - n_bad
        if n or n_bad:
            rest = item.batch.rows(n, item.batch.n_examples)
            item = item._replace(batch=rest, line=item.line[n:], bad=item.bad[n_bad:])  # noqa: PLW2901
            if not rest.n_examples and not item.bad:
                continue
        yield item
    if examples:
        raise DataError(
            f"the data has {examples:,} examples fewer than the checkpoint has learned from: "
            "resume with the same data"
        )
