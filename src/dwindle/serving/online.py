"""A learner that goes on for ever: which examples it takes, and what it makes of them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.dispatch import from_recipe, recipe
from dwindle._base.errors import DataError, SettingError
from dwindle.algorithm.losses import Logistic
from dwindle.data.formats.block import Parsed
from dwindle.data.labels import Labels
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.features.batch import Batch
from dwindle.model.checkpoint import Contents, checkpoint_contents
from dwindle.model.classes import ClassModels
from dwindle.model.model import Model
from dwindle.runs import checkpoint
from dwindle.runs.build import make_learners
from dwindle.runs.class_progress import progress_of
from dwindle.runs.settings import BALANCED, TrainSettings
from dwindle.serving.records import Named, named
from dwindle.serving.scoring import Gate, members_of

AT_ONCE = 256  # examples learned in a turn, between which predictions are made
NO_LABEL = "no label, or importance 0: there is nothing to learn"


@dataclass(frozen=True)
class Limits:
    """What a request may ask for; more is refused before any work is done for it."""

    body: int = 16 * 2**20  # bytes
    examples: int = 100_000  # of a request
    features: int = 2**16  # of an example
    name: int = 1024  # bytes of a feature's name that is learned
    waiting: int = 200_000  # examples to be learned
    seconds: float = 30.0  # until a request has come in, and until it is answered


class Admitted(NamedTuple):
    """The examples of a request that can be learned from, and why the others cannot."""

    batch: Batch  # labels as the learner takes them
    rows: NDArray[np.int64]  # which they are
    refused: dict[int, str]


class Online(checkpoint.Reached):
    """A learner, its labels and its figures, as a run has them that never ends."""

    def __init__(
        self, settings: TrainSettings, limits: Limits, note: Callable[[str], None]
    ) -> None:
        if settings.class_weight == BALANCED:
            raise SettingError(
                "class_weight balanced reads all data first, and requests have no end: say the "
                "weights"
            )
        classes = None if settings.classes is None else Labels.of(settings.classes).target
        super().__init__(labels=Labels(classes, settings.class_weight))
        self.settings, self.limits, self.gate, self._note = settings, limits, Gate(), note
        settings.check()
        loss = settings.ingredients().loss
        make_learners(
            settings, loss or Logistic(), len(self.labels.target)
        )  # what is wrong is told

    def start_from(self, model: Model | ClassModels) -> None:
        """Begin with what a model knows."""
        self.labels = Labels(Labels.in_metadata(model.metadata).target, self.labels.weight)
        fresh = make_learners(self.settings, model.loss, len(self.labels.target))
        self._begun(model.learner(fresh.settings()))
        self.examples_before = model.metadata.get("examples", 0)

    def _begun(self, learner: Learner | OneVsRest) -> None:
        self.learner, self.progress = learner, progress_of(learner)

    # What is taken

    def admitted(self, parsed: Parsed) -> Admitted:
        """Choose the examples that can be learned from; the first labels say what labels mean."""
        batch = parsed.batch
        refused = dict.fromkeys(np.flatnonzero(batch.importances() <= 0).tolist(), NO_LABEL)
        size, most = np.diff(batch.start), self._most_features()
        for i in np.flatnonzero(size > most).tolist():
            refused[i] = f"{size[i]:,} features: at most {most:,} are learned of an example"
        rows = _others(batch.n_examples, refused)
        good = _only(parsed, rows)
        if len(rows):
            loss = self._loss_for(good)
            try:
                labelled = self._labelled(good, loss)
            except DataError:
                for i in range(len(rows)):  # one by one, to tell each its reason
                    try:
                        self._labelled(good.rows(i, i + 1), loss)
                    except DataError as error:
                        place = f"{good.place(i)}: "
                        refused[int(rows[i])] = str(error).removeprefix(place)
                rows = _others(batch.n_examples, refused)
                good = _only(parsed, rows)
                labelled = self._labelled(good, loss) if len(rows) else good.batch
            return Admitted(labelled, rows, refused)
        return Admitted(good.batch, rows, refused)

    def _most_features(self) -> int:
        if self.learner is None:
            return self.limits.features
        budgets = (each.max_live for each in members_of(self.learner))
        return int(min(self.limits.features, *(math.inf if b is None else b for b in budgets)))

    def _loss_for(self, parsed: Parsed) -> Any:
        if self.learner is not None:
            return self.learner.loss
        before = self.labels.target
        try:
            loss = self.labels.decide(parsed, self.settings.ingredients().loss, self._note)
        except SettingError as error:  # these labels do not go with the settings; others may
            self.labels.target = before
            raise DataError(str(error)) from None
        self._begun(make_learners(self.settings, loss, len(self.labels.target)))
        return loss

    def _labelled(self, parsed: Parsed, loss: Any) -> Batch:
        """Return a batch with labels as the learner takes them; refuse what it does not take."""
        batch = self.labels.learned(parsed, loss)
        assert self.learner is not None
        try:
            self.learner.checked_labels(batch)
        except DataError as error:
            raise DataError(error.what) from None
        return batch

    def long_names(self, spelt: Named) -> set[int]:
        """Find the examples that have a feature whose name is too long."""
        bound, _ = spelt.names
        words = np.flatnonzero(np.diff(bound) > self.limits.name)
        if not len(words):
            return set()
        features = np.flatnonzero(np.isin(spelt.code, words))
        return set((np.searchsorted(spelt.batch.start, features, side="right") - 1).tolist())

    def named(self, admitted: Admitted) -> tuple[Named, Admitted]:
        """Spell the names of what is admitted, and refuse the examples whose names are too long."""
        spelt = named(admitted.batch)
        if not len(admitted.rows) or not (long := self.long_names(spelt)):
            return spelt, admitted
        told = f"a feature's name is longer than {self.limits.name:,} bytes"
        refused = admitted.refused | {int(admitted.rows[i]): told for i in long}
        kept = np.array([i not in long for i in range(len(admitted.rows))], np.bool_)
        admitted = Admitted(admitted.batch.only(kept), admitted.rows[kept], refused)
        return named(admitted.batch), admitted

    # What is learned

    def about(self) -> dict[str, Any]:
        """Say, fit for JSON, what labels mean: with the examples, all that a replay needs."""
        assert self.learner is not None
        return {"loss": recipe(self.learner.loss), **self.labels.metadata()}

    def told(self, about: Mapping[str, Any]) -> None:
        """Take over what `about` said."""
        if not about:
            return
        self.labels = Labels(Labels.in_metadata(about).target, self.labels.weight)
        if self.learner is None:
            loss = from_recipe(about["loss"])
            self._begun(make_learners(self.settings, loss, len(self.labels.target)))

    def learn(self, batch: Batch) -> NDArray[np.float64]:
        """Predict, then learn from, each example in order; return the predictions."""
        learner, progress = self.learner, self.progress
        assert learner is not None
        assert progress is not None
        found = []
        for first in range(0, batch.n_examples, AT_ONCE):
            part = batch.rows(first, min(first + AT_ONCE, batch.n_examples))
            with self.gate.writing():
                found.append(learner.learn(part))
        prediction = np.concatenate(found)
        assert batch.label is not None
        progress.add(batch, prediction, batch.label, batch.importances())
        while self.next_row <= progress.examples:
            self.next_row *= 2
        return prediction

    @property
    def examples(self) -> int:
        """How many examples were learned from."""
        return 0 if self.progress is None else self.progress.examples

    # What is kept

    def contents(self, said: dict[str, Any]) -> Contents:
        """Copy everything as the contents of a snapshot."""
        assert self.learner is not None
        return checkpoint_contents(self.learner, checkpoint.metadata_of(self, said))

    def restore_from(self, learner: Learner | OneVsRest, metadata: dict[str, Any]) -> None:
        """Go on from a snapshot."""
        checkpoint.restore(self, learner, metadata)


def _others(n: int, refused: Mapping[int, str]) -> NDArray[np.int64]:
    return np.array([i for i in range(n) if i not in refused], np.int64)


def _only(parsed: Parsed, rows: NDArray[np.int64]) -> Parsed:
    """Return these examples of what was parsed."""
    if len(rows) == parsed.batch.n_examples:
        return parsed
    chosen = np.zeros(parsed.batch.n_examples, np.bool_)
    chosen[rows] = True
    return parsed._replace(batch=parsed.batch.only(chosen), line=parsed.line[chosen], tags=None)
