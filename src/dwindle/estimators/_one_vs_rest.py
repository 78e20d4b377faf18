"""One learner, or one per class, that go through the data together: one-vs-rest."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError, errors_at
from dwindle.algorithm.losses import is_classification
from dwindle.engine.learner import Learner
from dwindle.estimators._data import Data, Examples
from dwindle.features.batch import Batch
from dwindle.model.model import Model
from dwindle.runs.loop import Best, passes
from dwindle.runs.progress import Progress
from dwindle.runs.progress_table import Row, cut, headings
from dwindle.runs.settings import RunSettings


class Predictors:
    """Learners or models that predict, one per class if there are more than two.

    ``classes`` is the number of classes; 0 if labels are numbers.
    """

    def __init__(self, members: Sequence[Any], classes: int) -> None:
        self.members = list(members)
        self.classes = classes

    def predict(self, batch: Batch) -> NDArray[np.float64]:
        """Predict with each member; a column for each."""
        return np.column_stack([member.predict(batch) for member in self.members])

    @property
    def intercepts(self) -> NDArray[np.float64]:
        """The intercept of each member."""
        return np.array([member.intercept for member in self.members])

    def models(self, metadata: dict[str, Any]) -> list[Model]:
        """Return each member as a model with this metadata."""
        return [replace(model, metadata=metadata) for model in self.members]

    def weights(self) -> list[tuple[NDArray[np.uint64], NDArray[np.float64]]]:
        """Return the keys and weights of each member's features."""
        return [(model.key, model.weight) for model in self.members]


class OneVsRest(Predictors):
    """Learners that go through the data together, each batch once."""

    def __init__(self, make: Callable[[], Learner], classes: int) -> None:
        super().__init__([make() for _ in range(classes if classes > 2 else 1)], classes)
        self._heaviest: tuple[Any, Predictors] | None = None
        self._cooled = 0  # steps that were no examples
        self.examples = 0  # learned from, each counted once, however many passes there were

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_heaviest": None}

    @property
    def n_steps(self) -> int:
        """Examples learned from so far."""
        steps: int = self.members[0].n_steps
        return steps - self._cooled

    def models(self, metadata: dict[str, Any]) -> list[Model]:
        """Return the model of each learner, with this metadata."""
        return [Model.of(learner, metadata) for learner in self.members]

    def weights(self) -> list[tuple[NDArray[np.uint64], NDArray[np.float64]]]:
        """Return the keys and weights of each learner's live features."""
        return [learner.table.weights() for learner in self.members]

    def heaviest(self, keep: int | None) -> Predictors:
        """Return predictors with only the ``keep`` heaviest features of each; None keeps all."""
        if keep is None:
            return self
        now = (keep, self.n_steps, self.members[0].clock.passes)
        if self._heaviest is None or self._heaviest[0] != now:
            models = [Model.of(learner, keep=keep) for learner in self.members]
            self._heaviest = (now, Predictors(models, self.classes))
        return self._heaviest[1]

    def relabelled(self, batch: Batch, k: int) -> Batch:
        """Relabel the batch for learner k: +1 for its own class, -1 for all others."""
        if self.classes == 0 or batch.label is None:
            return batch
        own = batch.label == np.float32(k if self.classes > 2 else 1)
        # Quicker than `where`, which has a branch for each label.
        return batch._replace(label=own * np.float32(2) - np.float32(1))

    def learn(self, batch: Batch, table: "Table | None" = None) -> None:
        """Let every learner learn from the batch."""
        for k, learner in enumerate(self.members):
            relabelled = self.relabelled(batch, k)
            prediction = learner.learn(relabelled)
            if table is not None:
                table.add(k, relabelled, prediction)

    def learn_from(self, examples: Examples, table: "Table | None" = None) -> None:
        """Learn from a batch; an error about an example says where in the data it is."""
        self.examples += examples.batch.n_examples
        if table is not None:
            table.learn(examples)
            return
        with errors_at(examples.place):
            self.learn(examples.batch)

    def fit(self, data: Data, settings: RunSettings, table: "Table | None") -> int:
        """Go over the data; returns how often.

        With a holdout it ends when the loss there has not improved for ``settings.patience`` passes
        in a row, and the learners are those of the best pass.
        """
        best, number, kept, before = Best(), 0, self.members, self.examples
        loop = passes(
            data.learned,
            lambda examples: self.learn_from(examples, table),
            lambda: self._next_pass(table),
            settings.passes,
            best=best,
            patience=settings.patience,
        )
        for number in loop:
            held = data.held()
            if held is not None:
                result = best.after(number, self._loss_on(held, settings.cooldown), math.nan)
                if result.best:
                    kept = deepcopy(self.members)
                if table is not None:
                    table.print(result)
        self.members = kept
        self.examples = before + (self.examples - before) // number
        for learner in self.members:
            learner.cooldown(settings.cooldown)
        self._cooled = settings.cooldown
        return number

    def _next_pass(self, table: "Table | None") -> None:
        if table is not None:
            table.end_pass()
        for learner in self.members:
            learner.next_pass()

    def _loss_on(self, held: Iterator[Examples], cooldown: int) -> float:
        """Compute the mean loss, by importance, of all learners together, as cooled down."""
        measured = [Progress(learner.loss, ranks=False) for learner in self.members]
        with ExitStack() as undone:
            cooled = [undone.enter_context(each.after_cooldown(cooldown)) for each in self.members]
            for batch, place in held:
                for k, (learner, progress) in enumerate(zip(cooled, measured, strict=True)):
                    relabelled = self.relabelled(batch, k)
                    with errors_at(place):
                        label, importance = learner.checked_labels(relabelled)
                    progress.add(relabelled, learner.predict(relabelled), label, importance)
        loss = sum(progress.mean_loss for progress in measured)
        if measured[0].weight == 0:
            raise DataError("early_stopping: no examples are held out to measure on")
        return math.inf if math.isnan(loss) else loss


class Table:
    """The progress table on standard error that ``verbose`` asks for."""

    def __init__(self, learners: OneVsRest, passes: int = 1) -> None:
        self._learners = learners
        self._progress = [
            Progress(learner.loss, ranks=learners.classes == 2 and is_classification(learner.loss))
            for learner in learners.members
        ]
        self._due = 1
        self._pass, self._passes = 1, passes
        self.print(headings(passes))

    def learn(self, examples: Examples) -> None:
        """Learn from a batch, and print a row whenever it is due."""
        first = 0
        for part in cut(examples.batch, self._progress[0].examples, self._due):
            with errors_at(examples.place, first):
                self._learners.learn(part, self)
            first += part.n_examples
            if self._progress[0].examples == self._due:
                self._row()
                self._due *= 2

    def add(self, k: int, batch: Batch, prediction: NDArray[np.float64]) -> None:
        """Count what learner k predicted before it learned."""
        label, importance = self._learners.members[k].checked_labels(batch)
        self._progress[k].add(batch, prediction, label, importance)

    def end_pass(self) -> None:
        """Print the last row of a pass, if it was not printed."""
        if self._progress[0].examples != self._due // 2:
            self._row()
        for progress in self._progress:
            progress.next_pass()
        self._pass += 1

    def print(self, line: object) -> None:
        """Print a line of the table."""
        print(line, file=sys.stderr)  # noqa: T201  (what ``verbose`` asks for)

    def _row(self) -> None:
        parts, learners = self._progress, self._learners.members
        self.print(
            Row(
                parts[0].examples,
                sum(progress.mean_loss for progress in parts),
                sum(progress.since_last() for progress in parts),
                parts[0].auc,
                sum(map(len, learners)),
                max(learner.table.n_seen for learner in learners),
                self._pass,
                self._passes,
            )
        )
