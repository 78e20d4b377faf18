"""One learner, or one for each class, taken over data together: the loop behind the estimators."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError, errors_at
from dwindle.algorithm.losses import Logistic, is_classification
from dwindle.data.formats.block import Parsed
from dwindle.data.labels import Labels
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.model.model import Model
from dwindle.runs.holdout import Best
from dwindle.runs.passes import Passes
from dwindle.runs.progress import Progress
from dwindle.runs.progress_table import HEADINGS, Row, cut

ROWS = 2**14  # of a matrix that all learners go through before the next ones

Coding = Callable[[Parsed], Batch]  # gives the labels of a file's batch their meaning


class Lesson(NamedTuple):
    """Examples, and what an error calls the i-th of them; a class is its number, as a label."""

    batch: Batch
    place: Callable[[int], str]


class Data(Protocol):
    """What is learned from, pass after pass, and what is held out, if anything is."""

    def learned(self, *, more: bool) -> Iterator[Lesson]:
        """The examples of a pass; after it there may be more."""

    def held(self) -> Iterator[Lesson] | None:
        """The examples to measure on."""

    def check(self, team: "Team") -> None:
        """Refuse what can be known at once not to be learned from."""


class Panel:
    """What predicts: learners or models, one for each class if there are more than two.

    ``classes`` is how many there are; 0 if labels are numbers.
    """

    def __init__(self, members: Sequence[Any], classes: int) -> None:
        self.members = list(members)
        self.classes = classes

    def predict(self, batch: Batch) -> NDArray[np.float64]:
        """A column for each member."""
        return np.column_stack([member.predict(batch) for member in self.members])

    @property
    def intercepts(self) -> NDArray[np.float64]:
        """Of each member."""
        return np.array([member.intercept for member in self.members])

    def models(self, metadata: dict[str, Any]) -> list[Model]:
        """Each member as a model that says these metadata."""
        return [replace(model, metadata=metadata) for model in self.members]

    def weights(self) -> list[tuple[NDArray[np.uint64], NDArray[np.float64]]]:
        """The keys and weights of each member's features."""
        return [(model.key, model.weight) for model in self.members]


class Team(Panel):
    """Learners that go through the data together, each batch once."""

    def __init__(self, make: Callable[[], Learner], classes: int) -> None:
        super().__init__([make() for _ in range(classes if classes > 2 else 1)], classes)
        self._heaviest: tuple[Any, Panel] | None = None
        self._rested = 0  # steps that were no examples

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_heaviest": None}

    @property
    def n_steps(self) -> int:
        """Examples learned from so far."""
        steps: int = self.members[0].n_steps
        return steps - self._rested

    def models(self, metadata: dict[str, Any]) -> list[Model]:
        """The model that each has come to."""
        return [Model.of(learner, metadata) for learner in self.members]

    def weights(self) -> list[tuple[NDArray[np.uint64], NDArray[np.float64]]]:
        """The keys and weights of each learner's live features."""
        return [learner.table.weights() for learner in self.members]

    def heaviest(self, keep: int | None) -> Panel:
        """What predicts with the so many heaviest features of each; None is all."""
        if keep is None:
            return self
        now = (keep, self.n_steps, self.members[0].clock.passes)
        if self._heaviest is None or self._heaviest[0] != now:
            models = [Model.of(learner, keep=keep) for learner in self.members]
            self._heaviest = (now, Panel(models, self.classes))
        return self._heaviest[1]

    def told(self, batch: Batch, k: int) -> Batch:
        """The batch as the k-th learner is told it: a class is 1 to its own learner, else -1."""
        if self.classes == 0 or batch.label is None:
            return batch
        own = batch.label == np.float32(k if self.classes > 2 else 1)
        # Quicker than `where`, which has a branch for each label.
        return batch._replace(label=own * np.float32(2) - np.float32(1))

    def learn(self, batch: Batch, watch: "Watch | None" = None) -> None:
        """Every learner learns from the batch."""
        for k, learner in enumerate(self.members):
            told = self.told(batch, k)
            prediction = learner.learn(told)
            if watch is not None:
                watch.add(k, told, prediction)

    def follow(self, lessons: Iterator[Lesson], watch: "Watch | None" = None) -> None:
        """Learn from all of it, in order."""
        for batch, place in lessons:
            if watch is None:
                with errors_at(place):
                    self.learn(batch)
            else:
                watch.learn(batch, place)

    def loss_on(self, lessons: Iterator[Lesson], learners: Sequence[Learner]) -> float:
        """The mean loss, by importance, of all learners together: the team's, as rested."""
        measured = [Progress(learner.loss, ranks=False) for learner in learners]
        for batch, place in lessons:
            for k, (learner, progress) in enumerate(zip(learners, measured, strict=True)):
                told = self.told(batch, k)
                with errors_at(place):
                    label, importance = learner.lessons(told)
                progress.add(told, learner.predict(told), label, importance)
        loss = sum(progress.mean_loss for progress in measured)
        if measured[0].weight == 0:
            raise DataError("early_stopping: no examples are held out to measure on")
        return math.inf if math.isnan(loss) else loss

    def fit(self, data: Data, passes: int, rest: int, patience: int, watch: "Watch | None") -> int:
        """Go over the data; returns how often.

        With a holdout it ends when the loss there was not smaller for ``patience`` passes in a row,
        and the learners are those of the best pass.
        """
        best, number, kept = Best(), 0, self.members
        while number < passes and best.since < patience:
            number += 1
            self.follow(data.learned(more=number < passes), watch)
            for learner in self.members:
                learner.next_pass()
            held = data.held()
            if held is not None:
                with ExitStack() as looking:
                    rested = [
                        looking.enter_context(each.after_cooldown(rest)) for each in self.members
                    ]
                    measured = best.after(number, self.loss_on(held, rested), math.nan)
                if measured.best:
                    kept = deepcopy(self.members)
                if watch is not None:
                    watch.measured(number, measured.holdout_loss, best=measured.best)
        if watch is not None:
            watch.end()
        self.members = kept
        for learner in self.members:
            learner.cooldown(rest)
        self._rested = rest
        return number


class Watch:
    """The table on standard error while learners learn."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._progress = [
            Progress(learner.loss, ranks=team.classes == 2 and is_classification(learner.loss))
            for learner in team.members
        ]
        self._due = 1
        self._print(HEADINGS)

    def learn(self, batch: Batch, place: Callable[[int], str]) -> None:
        """The team learns from the batch, and a row is shown whenever it is due."""
        first = 0
        for part in cut(batch, self._progress[0].examples, self._due):
            with errors_at(place, first):
                self._team.learn(part, self)
            first += part.n_examples
            if self._progress[0].examples == self._due:
                self._row()
                self._due *= 2

    def add(self, k: int, batch: Batch, prediction: NDArray[np.float64]) -> None:
        """The k-th learner predicted these, then learned from them."""
        label, importance = self._team.members[k].lessons(batch)
        self._progress[k].add(batch, prediction, label, importance)

    def measured(self, number: int, loss: float, *, best: bool) -> None:
        """A pass was measured."""
        self._print(f"pass {number}: holdout loss {loss:.4f}{', best so far' if best else ''}")

    def end(self) -> None:
        """The last row, if it was not shown."""
        if self._progress[0].examples != self._due // 2:
            self._row()

    def _row(self) -> None:
        all_of, learners = self._progress, self._team.members
        self._print(
            Row(
                all_of[0].examples,
                sum(progress.mean_loss for progress in all_of),
                sum(progress.since_last() for progress in all_of),
                all_of[0].auc,
                sum(map(len, learners)),
                max(learner.table.seen.count() for learner in learners),
            )
        )

    @staticmethod
    def _print(line: object) -> None:
        print(line, file=sys.stderr)  # noqa: T201  (what ``verbose`` asks for)


class Rows:
    """The rows of a matrix: in their order or, each pass anew, in a random one.

    ``holdout`` n holds out every n-th row. ``number`` is what an error calls each.
    """

    def __init__(
        self,
        batch: Batch,
        number: NDArray[np.int64],
        holdout: int | None = None,
        shuffled: Callable[[int], NDArray[np.int64]] | None = None,
    ) -> None:
        self._batch, self._number, self._shuffled = batch, number, shuffled
        self._held: Batch | None = None
        if holdout is not None:
            held = np.arange(1, batch.n_examples + 1) % holdout == 0
            self._held, self._batch = batch.only(held), batch.only(~held)
            self._number = number[~held]

    def check(self, team: Team) -> None:
        """A bad label refuses all rows: nothing is learned from any."""
        if team.classes == 0:
            with errors_at(self._called(self._number)):
                team.members[0].lessons(self._batch)

    def learned(self, *, more: bool) -> Iterator[Lesson]:  # noqa: ARG002  (`Files` needs it)
        """The rows, some at a time: to take all of them in another order would copy the matrix."""
        n = self._batch.n_examples
        order = None if self._shuffled is None else self._shuffled(n)
        for i in range(0, n, ROWS):
            last = min(i + ROWS, n)
            if order is None:
                yield Lesson(self._batch.rows(i, last), self._called(self._number[i:last]))
            else:
                some = order[i:last]
                yield Lesson(self._batch.take(some), self._called(self._number[some]))

    @staticmethod
    def _called(number: NDArray[np.int64]) -> Callable[[int], str]:
        return lambda k: f"row {number[k]}"

    def held(self) -> Iterator[Lesson] | None:
        """The rows held out, if any are."""
        return None if self._held is None else iter([Lesson(self._held, str)])


class Files:
    """The examples of files, as ``dwindle train`` reads them; ``coded`` gives labels meaning."""

    def __init__(self, data: Passes, coded: Coding, *, skip_bad: bool) -> None:
        self._data, self._coded, self._skip_bad = data, coded, skip_bad

    def check(self, team: Team) -> None:
        """It shows while they are read."""

    def learned(self, *, more: bool) -> Iterator[Lesson]:
        """The examples, a block of the file at a time."""
        return map(self._lesson, self._data.learned(more=more))

    def held(self) -> Iterator[Lesson] | None:
        """The examples held out, if any are."""
        held = self._data.holdout
        return None if held is None else map(self._lesson, held.examples.again())

    def _lesson(self, parsed: Parsed) -> Lesson:
        parsed.n_bad(skip_bad=self._skip_bad)
        return Lesson(self._coded(parsed), lambda k: f"{parsed.source}:{parsed.line[k]}")


def two_classes(labels: Labels) -> Coding:
    """Labels are those of two classes, as on the command line: -1 and 1, 0 and 1, or 1 and 2."""

    def coded(parsed: Parsed) -> Batch:
        sign = labels.mapped(parsed, Logistic())
        return (
            parsed.batch
            if sign is None
            else parsed.batch._replace(label=(sign + np.float32(1)) / np.float32(2))
        )

    return coded


def these_classes(classes: NDArray[Any]) -> Coding:
    """Labels are among these numbers."""
    known = classes.astype(np.float32)

    def coded(parsed: Parsed) -> Batch:
        label, importance = parsed.batch.label, parsed.batch.importance
        if label is None:
            return parsed.batch
        code = np.minimum(np.searchsorted(known, label), len(known) - 1)
        bad = known[code] != label
        if importance is not None:
            bad &= importance > 0
        if bad.any():
            i = int(np.argmax(bad))
            said = ", ".join(f"{each:g}" for each in known)
            raise DataError(
                f"{parsed.source}:{parsed.line[i]}: expected a label among {said}, got {label[i]:g}"
            )
        return parsed.batch._replace(label=code.astype(np.float32))

    return coded
