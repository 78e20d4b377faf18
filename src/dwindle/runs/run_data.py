"""The data of a run: its labels, its passes, and the examples held out to measure on."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError, SettingError, errors_at
from dwindle.data.cached_examples import CachedExamples
from dwindle.data.formats.block import BadLine, Parsed
from dwindle.data.labels import Labels, balanced, listed
from dwindle.data.options import ReadOptions, kinds_for
from dwindle.data.sources import format_by_name, may_differ, needs_parsing, once_only
from dwindle.data.stream import read
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest, against_rest
from dwindle.features.batch import Batch
from dwindle.model.classes import ClassModels
from dwindle.model.model import Model
from dwindle.runs.class_progress import progress_of
from dwindle.runs.settings import BALANCED


def labels_of(
    paths: Sequence[str],
    reading: ReadOptions,
    classes: Any,
    class_weight: Any,
    model: Model | ClassModels | None = None,
    model_path: str | os.PathLike[str] | None = None,
) -> Labels:
    """Begin with the classes that are named, or those of a model to go on from, and their weights.

    Weights that are to be balanced are found by reading the data.
    """
    labels = Labels() if classes is None else Labels.of(classes)
    if model is not None:
        target = Labels.in_metadata(model.metadata).target
        if labels.target not in ({}, target):
            raise SettingError(
                f"{model_path}: was trained with other classes: {listed(Labels(target).classes)}"
            )
        labels = Labels(target)
    if class_weight == BALANCED and once_only(paths):
        raise DataError(
            "class_weight balanced reads the data twice, and a pipe can be read only once: use a "
            "file, or say the weights"
        )
    if class_weight == BALANCED:
        labels = balanced(labels, read(paths, reading))
    else:
        labels = Labels(labels.target, class_weight)
    labels.of_model = model is not None
    return labels


class Passes:
    """The examples of a run, to go over as often as wanted, and its holdout, if any.

    ``holdout`` is a number n, for every n-th example, or a file. ``note`` is told, once, if there
    is no room to keep what was parsed.
    """

    def __init__(
        self,
        paths: Sequence[str],
        reading: ReadOptions,
        holdout: int | str | None,
        note: Callable[[str], None],
    ) -> None:
        self.paths, self._reading, self._every = paths, reading, holdout
        self._kinds = kinds_for(reading, note)
        note, self._once = cache(note), once_only(paths)
        self._data = CachedExamples(self._learned, note, once=self._once)
        self.holdout: Holdout | None = None
        if holdout is not None and not isinstance(holdout, str):
            self.holdout = Holdout(
                CachedExamples(self._held, note, once=self._once), f"1 example in {holdout}"
            )
        elif holdout is not None:
            how = replace(reading, format=format_by_name(holdout) or reading.format)
            file = CachedExamples(
                lambda: self._held_file(holdout, how), note, once=once_only([holdout])
            )
            self.holdout = Holdout(file, holdout)

    @property
    def reading(self) -> ReadOptions:
        """How the data was read, with what was decided of its columns."""
        return replace(self._reading, schema=self._kinds.schema())

    def learned(self, more: bool) -> Iterator[Parsed]:
        """Yield the examples to learn from; if more passes may follow, keep what is parsed."""
        # Products are many, and made faster than they are read: with them only a pipe is kept.
        worth = self._once or may_differ(self.paths) or not self._reading.interactions
        kept = more and worth and needs_parsing(self.paths, self._reading)
        return self._data.parsed() if kept else self._data.again()

    def read_apart(self) -> Iterator[Parsed]:
        """Read the examples to learn from once, beside the passes over them."""
        if self._once:
            raise DataError(
                "learning_rate theory reads the data twice, and a pipe can be read only once: use "
                "a file, or say the rate"
            )
        everything = read(self.paths, self._reading)
        if self.holdout is None or isinstance(self._every, str | None):
            return everything
        return (learned for learned, _ in parted(everything, self._every))

    def close(self) -> None:
        """Delete the caches."""
        self._data.close()
        if self.holdout is not None:
            self.holdout.examples.close()

    def _learned(self) -> Iterator[Parsed]:
        everything = read(self.paths, self._reading, self._kinds)
        if self.holdout is None or isinstance(self._every, str | None):
            yield from everything
        else:
            for learned, held in parted(everything, self._every):
                self.holdout.examples.add(held)
                yield learned
            self.holdout.examples.finish()
        self._kinds.tell_unseen()

    def _held_file(self, path: str, how: ReadOptions) -> Iterator[Parsed]:
        """Read a file that is held out; the data decides what its columns are."""
        if not self._once:
            next(read(self.paths, replace(self._reading, ahead=False), self._kinds), None)
        return read([path], how, self._kinds)

    def _held(self) -> Iterator[Parsed]:
        assert not isinstance(self._every, str | None)
        for _, held in parted(read(self.paths, self._reading, self._kinds), self._every):
            yield held


def parted(parsed: Iterator[Parsed], every: int) -> Iterator[tuple[Parsed, Parsed]]:
    """Split each batch into the examples to learn from and those that are held out.

    Held out are the examples ``every``, 2 ``every``, ... of the data, counted from 1.
    """
    n = 0
    for item in parsed:
        held = np.arange(n + 1, n + 1 + item.batch.n_examples) % every == 0
        n += len(held)
        yield _only(item, ~held), _only(item, held)._replace(bad=[])


def _only(item: Parsed, chosen: NDArray[np.bool_]) -> Parsed:
    batch, line = item.batch.only(chosen), item.line[chosen]
    return item._replace(batch=batch, line=line, tags=None)


def _against(batch: Batch, k: int) -> Batch:
    """Relabel a batch of several classes for one of them."""
    return batch._replace(label=None if batch.label is None else against_rest(batch.label, k))


class Holdout:
    """The examples held out, to measure on as often as wanted; messages call them ``name``."""

    def __init__(self, examples: CachedExamples, name: str) -> None:
        self.examples = examples
        self.name = name

    def read(self) -> list[BadLine]:
        """Parse them all, now; returns the lines that are no examples."""
        bad: list[BadLine] = []
        labelled = False
        for parsed in self.examples.parsed():
            bad += parsed.bad
            importance = parsed.batch.importance
            labelled |= bool(parsed.batch.n_examples if importance is None else importance.any())
        if not labelled and not bad:
            raise self.empty()
        return bad

    def measure(
        self, learner: Learner | OneVsRest, labels: Labels
    ) -> tuple[float, float, float, float]:
        """Return the mean loss, AUC (of two classes), accuracy (of several), best constant's loss.

        A figure that does not apply is NaN. Labels mean what they mean in training.
        """
        progress = progress_of(learner)
        for parsed, batch in self._labelled(learner, labels):
            with errors_at(parsed.place):
                label, importance = learner.checked_labels(batch)
            progress.add(batch, learner.predict(batch), label, importance)
        if progress.weight == 0:
            raise self.empty()
        loss = math.inf if math.isnan(progress.mean_loss) else progress.mean_loss
        return loss, progress.auc, progress.accuracy, progress.best_constant_loss()

    @contextmanager
    def choosing(self, learner: Learner | OneVsRest, labels: Labels) -> Iterator[None]:
        """Let a learner of several gravities choose by the examples held out."""
        members = [learner] if isinstance(learner, Learner) else learner.members
        with ExitStack() as held:
            for k, member in enumerate(members):
                if isinstance(member, LaneLearner):
                    batches = (batch for _, batch in self._labelled(learner, labels))
                    own = batches if member is learner else (_against(each, k) for each in batches)
                    held.enter_context(member.judged_on(own))
            yield

    def _labelled(
        self, learner: Learner | OneVsRest, labels: Labels
    ) -> Iterator[tuple[Parsed, Batch]]:
        labels = Labels(labels.target, labels.weight)  # nothing is learned here, not even a label
        for parsed in self.examples.again():
            yield parsed, labels.learned(parsed, learner.loss)

    def empty(self) -> DataError:
        """Say that there is nothing to measure on."""
        return DataError(f"holdout ({self.name}): no labelled examples to measure the model on")
