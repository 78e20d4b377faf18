"""Settings measured on the folds of a cross-validation.

A run with few passes is the beginning of one with more, so it is measured on the way and not made
again. Where they can be, gravities are learned in the lanes of one run: their learning rates then
come from the lane that is best so far, which is near enough to choose by; what is chosen is then
measured alone. Else, whatever is measured is the model that ``dwindle train`` would write.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dwindle._base.errors import DivergedError
from dwindle._base.threads import unordered_map
from dwindle.algorithm.adaptive import Adaptive
from dwindle.algorithm.dual_averaging import RDA
from dwindle.algorithm.settings import LearnerSettings
from dwindle.algorithm.shrinkage import Truncation
from dwindle.algorithm.sigmas import MOST_LANES, Gravities
from dwindle.algorithm.updates import Plain
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.features.batch import Batch
from dwindle.model.classes import model_of
from dwindle.runs.class_metrics import OF_CLASSES, evaluate_classes
from dwindle.runs.journal import Journal
from dwindle.runs.loop import passes
from dwindle.runs.metrics import METRICS, evaluate
from dwindle.runs.observer import Observer, Stopped
from dwindle.runs.tune.folds import Folds
from dwindle.runs.tune.grid import Setting
from dwindle.runs.tune.scores import Score

Result = dict[str, float] | None  # None: the run diverged


class Measured(NamedTuple):
    """What is measured: models learned with this loss, cut to ``keep`` features if that is said."""

    loss: Any
    metric: str
    keep: int | None = None
    fixed: LearnerSettings | None = None  # settings that are not varied
    classes: int = 0  # more than two are learned one against the rest


class Measuring:
    """Makes runs on all folds, ``jobs`` at a time, and keeps the scores of their settings.

    Runs in the ``journal`` are not made again.
    """

    def __init__(
        self,
        what: Measured,
        folds: Folds,
        jobs: int = 1,
        journal: Journal | None = None,
        observer: Observer | None = None,
        on_scores: Callable[[list[Score]], None] = lambda _: None,  # called with all so far
    ) -> None:
        self.what, self._folds, self._jobs, self._on_scores = what, folds, jobs, on_scores
        self._journal, self._observer = journal, observer or Observer()
        self._found: dict[Setting, Score] = {}
        self._shared: set[Setting] = set()  # measured as one of several lanes
        self._made = 0  # runs of earlier calls

    @property
    def scores(self) -> list[Score]:
        """All that was measured so far."""
        return list(self._found.values())

    def measure(self, settings: Iterable[Setting]) -> list[Score]:
        """Measure those of the settings that were not measured yet; returns all scores."""
        runs = self._runs(setting for setting in settings if setting not in self._found)
        self._make(runs)
        for setting in itertools.chain.from_iterable(runs.values()):  # whatever was ready first
            self._found[setting] = self._found.pop(setting)
        return self.scores

    def measure_alone(self, setting: Setting) -> bool:
        """Measure a setting anew, without other gravities, unless that is how it was measured.

        Returns whether it was. In lanes it had the learning rates of the best one.
        """
        if setting not in self._shared:
            return False
        self._make({_name([setting]): [setting]})
        return True

    def _make(self, runs: dict[str, list[Setting]]) -> None:
        """Make runs on all folds, and keep the scores of their settings."""
        results: dict[str, list[Any]] = {name: [] for name in runs}
        waiting: list[tuple[str, int]] = []
        for name, fold in itertools.product(runs, range(self._folds.n)):
            if self._journal is not None and (known := _entry(name, fold)) in self._journal:
                self._add(runs, results, name, fold, self._journal[known])
            else:
                waiting.append((name, fold))
        total = self._made + len(runs) * self._folds.n
        done = total - len(waiting)
        self._observer.runs(done, total)
        for (name, fold), result in unordered_map(
            lambda work: self._try(runs[work[0]], work[1]), waiting, self._jobs, self._check
        ):
            if self._journal is not None:
                self._journal.add(_entry(name, fold), result)
            self._add(runs, results, name, fold, result)
            done += 1
            self._observer.runs(done, total)
        self._made = total

    def _runs(self, settings: Iterable[Setting]) -> dict[str, list[Setting]]:
        """Group settings that one run can measure, by its name.

        They differ in passes and cooldown, and in gravity if there can be lanes. Those without
        gravity have no cooldown, and are lanes of their own moments.
        """
        what, runs = self.what, dict[Setting, list[Setting]]()
        for setting in dict.fromkeys(settings):
            kind = setting._replace(passes=1, cooldown=0)
            alike = kind._replace(gravity=0.0)
            lanes = what.keep is None and _can_be_lanes(
                alike.learners(what.loss, what.fixed, what.classes)
            )
            runs.setdefault(alike if lanes else kind, []).append(setting)
        parts = itertools.chain.from_iterable(map(_parts, runs.values()))
        return {_name(run): run for run in parts}

    def _add(self, runs: Any, results: Any, name: str, fold: int, result: Any) -> None:
        """Take the result of a run; when all folds are there, its settings have their scores."""
        results[name].append((fold, result))
        if len(results[name]) == self._folds.n:
            by_fold = [each for _, each in sorted(results[name], key=lambda pair: pair[0])]
            adapts = runs[name][0].update != "plain"  # which has one learning rate, shared or not
            shares = adapts and len({each.gravity for each in runs[name]}) > 1
            (self._shared.update if shares else self._shared.difference_update)(runs[name])
            for at, setting in enumerate(runs[name]):
                self._found[setting] = self._score(setting, [each[at] for each in by_fold])
            self._on_scores(self.scores)

    def _check(self) -> None:
        if self._observer.should_stop():
            raise Stopped

    def _try(self, run: Sequence[Setting], fold: int) -> list[Result]:
        """Train on a fold; measure each setting of the run, which differ in moment and gravity."""
        gravities = sorted({setting.gravity for setting in run})
        try:
            return self._made_in_lanes(run, gravities, fold)
        except DivergedError:
            if len(gravities) == 1:
                return [None] * len(run)
        found: dict[Setting, Result] = {}
        for gravity in gravities:
            alone = [setting for setting in run if setting.gravity == gravity]
            found |= zip(alone, self._try(alone, fold), strict=True)
        return [found[setting] for setting in run]

    def _made_in_lanes(
        self, run: Sequence[Setting], gravities: Sequence[float], fold: int
    ) -> list[Result]:
        what, found = self.what, dict.fromkeys(run)
        learner = run[0].learners(what.loss, what.fixed, what.classes)
        if len(gravities) > 1:
            learner = _in_lanes(learner, gravities)

        def learn(batch: Batch) -> None:
            self._check()
            learner.learn(batch)

        loop = passes(lambda _: self._folds.learned(fold), learn, learner.next_pass, run[-1].passes)
        try:
            for number in loop:
                for moment, settings in itertools.groupby(run, _moment):
                    if moment[0] == number:
                        with learner.after_cooldown(moment[1]) as cooled:
                            held = self._held(cooled, fold)
                        for setting in settings:
                            found[setting] = held[gravities.index(setting.gravity)]
        except DivergedError:
            if len(gravities) > 1:
                raise
        return list(found.values())

    def _held(self, learner: Learner | OneVsRest, fold: int) -> list[Result]:
        """Measure each lane on what the fold holds out: metrics, its weight and features kept."""
        if isinstance(learner, LaneLearner):
            columns, label, weight = self._folds.predicted(learner.predict_lanes, fold)
            kept, predictions = learner.kept().tolist(), list(columns.T)
        else:
            # A model cut to its heaviest features is another model; uncut, it is the learner.
            model = learner if self.what.keep is None else model_of(learner, keep=self.what.keep)
            p, label, weight = self._folds.predicted(model.predict, fold)
            kept, predictions = [len(model)], [p]
        return [
            self._measured(np.ascontiguousarray(p), label, weight) | {"kept": float(n)}
            for p, n in zip(predictions, kept, strict=True)
        ]

    def _measured(self, p: Any, label: Any, weight: Any) -> dict[str, float]:
        if not np.isfinite(p).all():
            raise DivergedError("a prediction is not finite")
        measured = self._evaluated(p, label, weight)
        if not np.isfinite(measured["loss"]):
            raise DivergedError("the loss is not finite")
        return measured | {"weight": float(weight.sum())}

    def _evaluated(self, p: Any, label: Any, weight: Any) -> dict[str, float]:
        """Compute every metric of predictions."""
        if self.what.classes <= 2:
            return evaluate(self.what.loss, p, label, weight)
        found = evaluate_classes(self.what.loss, p, label, weight, range(self.what.classes))
        return {name: found[name] for name in OF_CLASSES if name in found}

    def _score(self, setting: Setting, folds: list[dict[str, float] | None]) -> Score:
        """Average over folds, by weight; a fold of one class has no AUC and is left out of it."""
        measured = [fold for fold in folds if fold is not None]
        if len(measured) < len(folds):
            return Score(setting, {"loss": math.inf}, math.nan, math.nan)
        means = {}
        for name in (each for each in METRICS if each in measured[0]):
            some = [fold for fold in measured if not math.isnan(fold[name])]
            if some:
                values, weights = ([fold[key] for fold in some] for key in (name, "weight"))
                means[name] = float(np.average(values, weights=weights))
        asked = [fold[self.what.metric] for fold in measured]
        known = [value for value in asked if not math.isnan(value)]
        error = np.std(known, ddof=1) / math.sqrt(len(known)) if len(known) > 1 else math.nan
        kept = np.mean([fold["kept"] for fold in measured])
        return Score(setting, means, float(kept), float(error))


def _parts(settings: Sequence[Setting]) -> Iterator[list[Setting]]:
    """Divide settings into runs of no more gravities than there can be lanes, each in order."""
    gravities = sorted({setting.gravity for setting in settings})
    for first in range(0, len(gravities), MOST_LANES):
        some = gravities[first : first + MOST_LANES]
        part = [setting for setting in settings if setting.gravity in some]
        yield sorted(part, key=lambda each: (_moment(each), each.gravity))


def _in_lanes(one: Any, gravities: Sequence[float]) -> LaneLearner:
    """Make a learner of these gravities at once, else like this one."""
    settings = {k: v for k, v in one.arguments().items() if k != "shrinkage"}
    kept = {name: getattr(one.shrinkage, name) for name in ("threshold", "truncate_every")}
    return LaneLearner(shrinkage=Gravities(tuple(gravities), **kept), **settings)


def _can_be_lanes(learner: Learner | OneVsRest) -> bool:
    """Whether the gravities of such learners can be learned at once."""
    return (
        isinstance(learner, Learner)
        and type(learner.update) in {Adaptive, Plain, RDA}
        and type(learner.shrinkage) is Truncation
        and learner.max_live is None
    )


def _moment(setting: Setting) -> tuple[int, int]:
    return setting.passes, setting.cooldown


def _name(run: Sequence[Setting]) -> str:
    """Name a run by all that it measures, so that a journal gives back that and nothing else."""
    said = run[0]._asdict()
    del said["passes"], said["cooldown"], said["gravity"]
    moments = (
        f"passes {each.passes} cooldown {each.cooldown} gravity {each.gravity}" for each in run
    )
    return " ".join([*(f"{field} {value}" for field, value in said.items()), *moments])


def _entry(name: str, fold: int) -> str:
    return f"{name} fold {fold}"
