"""Learning in estimators: passes over the data, early stopping, and the table of ``verbose``."""

import math
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, overload

from dwindle._base.errors import DataError, errors_at
from dwindle.analysis.notebook import Bar, notebook_bar
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.estimators._data import Data, Examples
from dwindle.model.classes import ClassModels
from dwindle.model.model import Model
from dwindle.runs.class_progress import progress_of
from dwindle.runs.loop import Best, passes
from dwindle.runs.progress import Progress
from dwindle.runs.progress_table import Row, cut
from dwindle.runs.settings import RunSettings

Learners = Learner | OneVsRest  # one, or one for each of several classes
Models = Model | ClassModels
Predictor = Learners | Models


@overload
def members_of(predictor: Learners) -> list[Learner]: ...
@overload
def members_of(predictor: Models) -> list[Model]: ...
def members_of(predictor: Predictor) -> list[Any]:
    """List the learners or models of several classes, or the only one."""
    if isinstance(predictor, OneVsRest | ClassModels):
        return [*predictor.members]
    return [predictor]


class Fitting:
    """A learner on its way through the data; it is made when the first examples are there."""

    def __init__(
        self, make: Callable[[], Learners], *, verbose: bool = False, passes: int = 1
    ) -> None:
        self._make = make
        self.learner: Learners | None = None
        self.examples = 0  # learned from, each counted once, however many passes there were
        self._table = Table(passes) if verbose else None

    def learn(self, examples: Examples) -> None:
        """Learn from a batch; an error about an example says where in the data it is."""
        if self.learner is None:
            self.learner = self._make()
        self.examples += examples.batch.n_examples
        if self._table is not None:
            self._table.learn(self.learner, examples)
            return
        with errors_at(examples.place):
            self.learner.learn(examples.batch)

    def fit(self, data: Data, settings: RunSettings) -> int:
        """Go over the data; returns how often.

        With a holdout it ends when the loss there has not improved for ``settings.patience`` passes
        in a row, and the learner is that of the best pass.
        """
        with notebook_bar(settings.passes) as bar:
            return self._fit(data, settings, bar)

    def _fit(self, data: Data, settings: RunSettings, bar: Bar | None) -> int:
        best, number, kept = Best(), 0, None

        def learned(more: bool) -> Iterator[Examples]:
            for examples in data.learned(more):
                yield examples
                if bar is not None:
                    bar.at(number + 1, data.share, self.examples)

        loop = passes(
            learned,
            self.learn,
            self._end_pass,
            settings.passes,
            best=best,
            patience=settings.patience,
        )
        for number in loop:
            held = data.held()
            if held is not None and self.learner is not None:
                loss = _loss_on(held, self.learner, settings.cooldown)
                result = best.after(number, loss)
                if result.best:
                    kept = deepcopy(self.learner)
                if self._table is not None:
                    self._table.print(result)
        self.learner = kept or self.learner
        self.examples //= number
        if self.learner is not None:
            self.learner.cooldown(settings.cooldown)
            for member in members_of(self.learner):
                # Whatever it learns next is of other passes, also after it was saved and loaded.
                member.begin_passes()
        return number

    def _end_pass(self) -> None:
        if self._table is not None:
            self._table.end_pass()
        if self.learner is not None:
            self.learner.next_pass()


def _loss_on(held: Iterator[Examples], learner: Learners, cooldown: int) -> float:
    """Compute the mean loss, by importance, of the learner as cooled down."""
    progress = progress_of(learner)
    with learner.after_cooldown(cooldown) as cooled:
        for batch, place in held:
            with errors_at(place):
                label, importance = cooled.checked_labels(batch)
            progress.add(batch, cooled.predict(batch), label, importance)
    if progress.weight == 0:
        raise DataError("early_stopping: no examples are held out to measure on")
    return math.inf if math.isnan(progress.mean_loss) else progress.mean_loss


class Table:
    """The progress table on standard error that ``verbose`` asks for."""

    def __init__(self, passes: int) -> None:
        self._due = 1
        self._pass, self._passes = 1, passes
        self._learner: Learners | None = None
        self._progress: Progress | None = None

    def learn(self, learner: Learners, examples: Examples) -> None:
        """Learn from a batch, and print a row whenever it is due."""
        if self._progress is None:
            self._learner, self._progress = learner, progress_of(learner)
            self.print(self._row().headings())
        progress, first = self._progress, 0
        for part in cut(examples.batch, progress.examples, self._due):
            with errors_at(examples.place, first):
                label, importance = learner.checked_labels(part)
                progress.add(part, learner.learn(part), label, importance)
            first += part.n_examples
            if progress.examples == self._due:
                self.print(self._row())
                self._due *= 2

    def end_pass(self) -> None:
        """Print the last row of a pass, if it was not printed."""
        if self._progress is not None:
            if self._progress.examples != self._due // 2:
                self.print(self._row())
            self._progress.next_pass()
        self._pass += 1

    def print(self, line: object) -> None:
        """Print a line of the table."""
        print(line, file=sys.stderr)  # noqa: T201  (what ``verbose`` asks for)

    def _row(self) -> Row:
        p, learner = self._progress, self._learner
        assert p is not None
        assert learner is not None
        return p.row(len(learner), learner.n_seen, self._pass, self._passes)
