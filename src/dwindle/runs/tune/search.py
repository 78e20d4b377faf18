"""Cross-validation: which settings give the sparsest model that is as good as the best.

Folds are taken in turn: example i is held out of fold i modulo k. What is learned from keeps the
order of the data, so that each fold is trained as ``dwindle train`` would train on it, and whatever
is measured is the model that it would write. A run with few passes is the beginning of one with
more, so it is measured on the way and not made again.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError, DivergedError, SettingError
from dwindle._base.threads import unordered_map
from dwindle.algorithm.losses import is_classification
from dwindle.algorithm.settings import LearnerSettings
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.model.model import Model
from dwindle.runs.journal import Journal
from dwindle.runs.loop import fit, passes
from dwindle.runs.metrics import evaluate
from dwindle.runs.observer import Observer, Stopped
from dwindle.runs.settings import METRICS
from dwindle.runs.tune.grid import Grid, Setting, completed


class Score(NamedTuple):
    """How good a setting is on examples that were not learned from, over all folds."""

    setting: Setting
    accuracy: float  # nan if labels are not of two classes, as is the AUC
    auc: float
    loss: float
    kept: float  # features, the mean over folds
    spread: float  # the standard error over folds of the metric that was asked for


class Found(NamedTuple):
    """The result of a search."""

    metric: str
    dense: Score  # the best without shrinkage
    chosen: Score
    bound: float | None  # what the chosen one's metric had to reach; with ``keep``, nothing
    scores: list[Score]

    def frontier(self) -> list[Score]:
        """List the scores that no other beats in features kept and metric, the sparsest first."""
        measured = (each for each in self.scores if not math.isnan(each.kept))
        best = -math.inf
        found = []
        for score in sorted(measured, key=lambda each: (each.kept, -good(each, self.metric))):
            if good(score, self.metric) > best:
                best = good(score, self.metric)
                found.append(score)
        return found


@dataclass(frozen=True)
class Search:
    """A search for the best setting without shrinkage, then for the sparsest about as good.

    That is: whose metric is worse by no more than ``tolerance``, as a share of it. With ``keep``,
    what is measured is the model's so many heaviest features, and the best is chosen.
    """

    loss: Any
    grid: Grid = Grid()  # noqa: RUF009  (NamedTuples are immutable)
    metric: str | None = None  # accuracy if labels are of two classes, else the loss
    folds: int = 10
    tolerance: float = 0.01
    keep: int | None = None
    fixed: LearnerSettings | None = None  # settings that are not varied

    def check(self) -> None:
        """Refuse what no search could use."""
        if self.folds < 2:
            raise SettingError(f"folds must be 2 or more, got {self.folds}")
        if not 0 <= self.tolerance < 1:
            raise SettingError(
                f"tolerance must be 0 or more and below 1, got {self.tolerance} (1% is 0.01)"
            )
        if self.metric not in {None, *METRICS}:
            raise SettingError(f"metric must be one of {', '.join(METRICS)}, got {self.metric!r}")
        if self.metric in {"accuracy", "auc"} and not self._ranks:
            name = type(self.loss).__name__
            raise SettingError(f"metric {self.metric} needs labels of two classes, not {name}")
        if self.keep is not None and self.keep < 0:
            raise SettingError(f"keep must be 0 or more, got {self.keep}")
        self.grid.check(self.loss, self.fixed)

    def run(
        self,
        examples: Sequence[Batch],
        *,
        jobs: int = 1,
        journal: Journal | None = None,
        observer: Observer | None = None,
    ) -> Found:
        """Try every setting of the grid on every fold, on ``jobs`` threads, and choose.

        Runs in the ``journal`` are not made again: it must be about these examples, this loss,
        these folds and this ``keep``. When the observer says so, `Stopped` is raised.
        """
        self.check()
        each = (self.grid._replace(update=(update,)) for update in self.grid.update)
        settings = itertools.chain.from_iterable(
            completed(grid, examples, self.loss).settings() for grid in each
        )
        return self.choose(
            self.scores(examples, settings, jobs=jobs, journal=journal, observer=observer)
        )

    def scores(
        self,
        examples: Sequence[Batch],
        settings: Iterable[Setting],
        *,
        jobs: int = 1,
        journal: Journal | None = None,
        observer: Observer | None = None,
    ) -> list[Score]:
        """Measure each of these settings."""
        data = _Folds(examples, self.folds)
        runs = _runs(settings)
        measured = self._measured(data, runs, jobs, journal, observer or Observer())
        return [
            self._score(setting, [measured[name][fold][at] for fold in range(self.folds)])
            for name, run in runs.items()
            for at, setting in enumerate(run)
        ]

    @property
    def _ranks(self) -> bool:
        return is_classification(self.loss)

    @property
    def measure(self) -> str:
        """Name of the metric."""
        return self.metric or ("accuracy" if self._ranks else "loss")

    def _measured(
        self,
        data: "_Folds",
        runs: dict[str, list[Setting]],
        jobs: int,
        journal: Journal | None,
        observer: Observer,
    ) -> dict[str, list[Any]]:
        """Make all runs on all folds; returns the results by the name of the run."""
        found: dict[str, list[Any]] = {name: [None] * self.folds for name in runs}
        waiting: list[tuple[str, int]] = []
        for name, fold in itertools.product(runs, range(self.folds)):
            if journal is not None and f"{name} fold {fold}" in journal:
                found[name][fold] = journal[f"{name} fold {fold}"]
            else:
                waiting.append((name, fold))
        total = len(runs) * self.folds
        done = total - len(waiting)
        observer.runs(done, total)

        def check() -> None:
            if observer.should_stop():
                raise Stopped

        for (name, fold), result in unordered_map(
            lambda work: self._try(data, runs[work[0]], work[1], observer), waiting, jobs, check
        ):
            found[name][fold] = result
            if journal is not None:
                journal.add(f"{name} fold {fold}", result)
            done += 1
            observer.runs(done, total)
        return found

    def _try(
        self,
        data: "_Folds",
        run: Sequence[Setting],
        fold: int,
        observer: Observer,
    ) -> list[list[float] | None]:
        """Train on a fold; measure each setting of the run, which differ in passes and cooldown."""
        learner = run[0].learner(self.loss, self.fixed)
        found: dict[Setting, list[float] | None] = dict.fromkeys(run)  # None: it diverged

        def learn(batch: Batch) -> None:
            if observer.should_stop():
                raise Stopped
            learner.learn(batch)

        loop = passes(lambda _: data.learned(fold), learn, learner.next_pass, run[-1].passes)
        try:
            for number in loop:
                for setting in run:
                    if setting.passes == number:
                        with learner.after_cooldown(setting.cooldown) as cooled:
                            found[setting] = self._held(data, cooled, fold)
        except DivergedError:
            pass
        return list(found.values())

    def _held(self, data: "_Folds", learner: Learner, fold: int) -> list[float]:
        """Measure weight, accuracy, AUC, loss and features kept on what the fold holds out."""
        # A model cut to its heaviest features is another model; uncut, it is the learner.
        model = learner if self.keep is None else Model.of(learner, keep=self.keep)
        p, label, weight = data.predicted(model, fold)
        if not np.isfinite(p).all():
            raise DivergedError("a prediction is not finite")
        measured = {"accuracy": 0.0, "auc": 0.0} | evaluate(self.loss, p, label, weight)
        if not np.isfinite(measured["loss"]):
            raise DivergedError("the loss is not finite")
        figures = (measured[name] for name in ("accuracy", "auc", "loss"))
        return [float(weight.sum()), *figures, float(len(model))]

    def _score(self, setting: Setting, folds: list[list[float] | None]) -> Score:
        if any(fold is None for fold in folds):
            worst = -math.inf if self._ranks else math.nan
            return Score(setting, worst, worst, math.inf, math.nan, math.nan)
        weight, right, ranked, loss, kept = np.array(folds, np.float64).T
        by_name = {"accuracy": right, "auc": ranked, "loss": loss}
        if not self._ranks:
            right = ranked = np.full(len(weight), np.nan)
        measured = by_name[self.measure]
        measured = measured[~np.isnan(measured)]  # a fold of one class has no AUC
        ranked = ranked[~np.isnan(ranked)]
        return Score(
            setting,
            float(np.average(right, weights=weight)),
            float(ranked.mean()) if len(ranked) else math.nan,
            float(np.average(loss, weights=weight)),
            float(kept.mean()),
            float(measured.std(ddof=1) / math.sqrt(len(measured)))
            if len(measured) > 1
            else math.nan,
        )

    def choose(self, scores: list[Score]) -> Found:
        """Choose the best without shrinkage, and the sparsest that is about as good."""
        metric = self.measure
        dense = max(
            (each for each in scores if not each.setting.shrinks),
            key=lambda each: good(each, metric),
        )
        if good(dense, metric) == -math.inf:
            raise DataError(
                "every run without gravity diverged or could not be measured: "
                "try smaller learning rates, or scale the features"
            )
        if self.keep is not None:
            chosen = max(scores, key=lambda each: (good(each, metric), -each.kept))
            return Found(metric, dense, chosen, None, scores)
        least = good(dense, metric) - self.tolerance * abs(good(dense, metric))
        enough = [each for each in scores if good(each, metric) >= least]
        chosen = min(enough, key=lambda each: (each.kept, -good(each, metric)))
        return Found(metric, dense, chosen, METRICS[metric] * least, scores)


def good(score: Score, metric: str) -> float:
    """Return the metric, negated if less is better; -inf if there is none."""
    value = METRICS[metric] * float(getattr(score, metric))
    return -math.inf if math.isnan(value) else value


def trained(examples: Sequence[Batch], setting: Setting, loss: Any) -> Learner:
    """Train a learner on all the examples with one setting."""
    return fit(setting.learner(loss), examples, setting.passes, setting.cooldown)


class _Folds:
    """Cross-validation folds: the examples to learn from and those held out of each."""

    def __init__(self, examples: Sequence[Batch], folds: int) -> None:
        self._examples, self._folds = examples, folds
        self._first = np.cumsum([0, *(batch.n_examples for batch in examples)])
        if self._first[-1] < folds:
            raise DataError(f"there are {self._first[-1]} examples, too few for {folds} folds")

    def learned(self, fold: int) -> Iterator[Batch]:
        """Yield the examples in order; one that is held out has importance 0."""
        for first, batch in zip(self._first[:-1], self._examples, strict=True):
            importance = batch.importances().copy()
            importance[(fold - first) % self._folds :: self._folds] = 0.0
            yield batch._replace(importance=importance)

    def predicted(
        self, model: Any, fold: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float32], NDArray[np.float64]]:
        """Return predictions, labels and weights of what is held out."""
        parts = []
        for first, batch in zip(self._first[:-1], self._examples, strict=True):
            held = np.arange(first, first + batch.n_examples) % self._folds == fold
            held &= batch.importances() > 0
            some = batch.only(held)
            parts.append((model.predict(some), some.label, some.importances()))
        p, label, weight = (np.concatenate(each) for each in zip(*parts, strict=True))
        if not len(p):
            raise DataError(f"fold {fold} has no labelled examples: take fewer folds")
        return p, label, weight.astype(np.float64)


def _runs(settings: Iterable[Setting]) -> dict[str, list[Setting]]:
    """Group settings that differ only in passes and cooldown into one run, by its name.

    The name says all moments, so that a journal gives back what was measured at these and no other.
    """
    runs: dict[Setting, list[Setting]] = {}
    for setting in dict.fromkeys(settings):
        runs.setdefault(setting._replace(passes=1, cooldown=0), []).append(setting)
    return {_name(run): run for run in (sorted(each, key=_moment) for each in runs.values())}


def _moment(setting: Setting) -> tuple[int, int]:
    return setting.passes, setting.cooldown


def _name(run: Sequence[Setting]) -> str:
    said = run[0]._asdict()
    del said["passes"], said["cooldown"]
    moments = (f"passes {passes} cooldown {cooldown}" for passes, cooldown in map(_moment, run))
    return " ".join([*(f"{field} {value}" for field, value in said.items()), *moments])
