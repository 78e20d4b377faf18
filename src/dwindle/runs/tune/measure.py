"""Settings measured on the folds of a cross-validation.

A run with few passes is the beginning of one with more, so it is measured on the way and not made
again. Where they can be, gravities and folds are the lanes of one walk through the data. Learning
rates then come from the lane that is best so far, which is near enough to choose by; what is chosen
is then measured alone: that is the model that ``dwindle train`` would write without the fold.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
from dwindle.model.learned import model_of
from dwindle.runs.class_metrics import OF_CLASSES, evaluate_classes
from dwindle.runs.journal import Journal
from dwindle.runs.loop import passes
from dwindle.runs.metrics import METRICS, evaluate
from dwindle.runs.observer import Observer, Stopped
from dwindle.runs.tune.folds import Folds, without
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
        *,
        to_choose: bool = False,  # folds may be lanes
    ) -> None:
        self.what, self._folds, self._jobs, self._on_scores = what, folds, jobs, on_scores
        self._folds_at_once = folds.n if to_choose and folds.n <= MOST_LANES else 1
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
        if runs:
            self._make(runs)
        for setting in itertools.chain.from_iterable(runs.values()):  # whatever was ready first
            self._found[setting] = self._found.pop(setting)
        return self.scores

    def measure_alone(self, setting: Setting) -> bool:
        """Measure a setting anew, each fold by a learner of its own, unless it was before.

        Returns whether it was measured anew.
        """
        if setting not in self._shared:
            return False
        self._make({_name([setting]): [setting]}, alone=True)
        return True

    def _make(self, runs: dict[str, list[Setting]], *, alone: bool = False) -> None:
        """Make runs on all folds, and keep the scores of their settings."""
        results: dict[str, dict[int, list[Result]]] = {name: {} for name in runs}
        waiting: list[tuple[str, tuple[int, ...]]] = []
        walks = [
            (name, folds)
            for name, run in runs.items()
            for folds in self._walks(at_once=self._can_be_lanes(run[0]) and not alone)
        ]
        for name, folds in walks:
            if self._journal is not None and (known := _entry(name, folds)) in self._journal:
                self._add(runs[name], results[name], folds, self._journal[known])
            else:
                waiting.append((name, folds))
        total = self._made + len(walks)
        done = total - len(waiting)
        self._observer.runs(done, total)
        for (name, folds), found in unordered_map(
            lambda walk: self._try(runs[walk[0]], walk[1]), waiting, self._jobs, self._check
        ):
            if self._journal is not None:
                self._journal.add(_entry(name, folds), found)
            self._add(runs[name], results[name], folds, found)
            done += 1
            self._observer.runs(done, total)
        self._made = total

    def _walks(self, *, at_once: bool) -> Iterator[tuple[int, ...]]:
        """Yield the folds of each walk through the data: all at once, or one by one."""
        size = self._folds_at_once if at_once else 1
        for first in range(0, self._folds.n, size):
            yield tuple(range(first, first + size))

    def _can_be_lanes(self, setting: Setting) -> bool:
        """Whether gravities, and folds, of such a setting can be learned at once."""
        what = self.what
        if what.keep is not None:  # each lane would be cut to features of its own
            return False
        learner = setting.learners(what.loss, what.fixed, what.classes)
        return (
            isinstance(learner, Learner)
            and type(learner.update) in {Adaptive, Plain, RDA}
            and type(learner.shrinkage) is Truncation
            and learner.max_live is None
        )

    def _runs(self, settings: Iterable[Setting]) -> dict[str, list[Setting]]:
        """Group settings that one run can measure, by its name.

        They differ in passes and cooldown, and in gravity if there can be lanes. Those without
        gravity have no cooldown, and are lanes of their own moments.
        """
        runs = dict[Setting, list[Setting]]()
        for setting in dict.fromkeys(settings):
            kind = setting._replace(passes=1, cooldown=0)
            alike = kind._replace(gravity=0.0)
            runs.setdefault(alike if self._can_be_lanes(alike) else kind, []).append(setting)
        most = MOST_LANES // self._folds_at_once
        parts = itertools.chain.from_iterable(_parts(run, most) for run in runs.values())
        return {_name(run): run for run in parts}

    def _add(
        self,
        run: Sequence[Setting],
        results: dict[int, list[Result]],
        folds: tuple[int, ...],
        found: list[list[Result]],
    ) -> None:
        """Take the results of a walk; when all folds are there, its settings have their scores."""
        results.update(zip(folds, found, strict=True))
        if len(results) == self._folds.n:
            adapts = run[0].update != "plain"  # which has one learning rate, shared or not
            shares = len(folds) > 1 or (adapts and len({each.gravity for each in run}) > 1)
            (self._shared.update if shares else self._shared.difference_update)(run)
            for at, setting in enumerate(run):
                by_fold = [results[fold][at] for fold in range(self._folds.n)]
                self._found[setting] = self._score(setting, by_fold)
            self._on_scores(self.scores)

    def _check(self) -> None:
        if self._observer.should_stop():
            raise Stopped

    def _try(self, run: Sequence[Setting], folds: tuple[int, ...]) -> list[list[Result]]:
        """Train without each fold; measure the settings, which differ in moment and gravity."""
        gravities = sorted({setting.gravity for setting in run})
        try:
            return self._made_in_lanes(run, gravities, folds)
        except DivergedError:  # of a lane: which one is seen when each is alone
            if len(folds) > 1:
                return [self._try(run, (fold,))[0] for fold in folds]
        found: dict[Setting, Result] = {}
        for gravity in gravities:
            alone = [setting for setting in run if setting.gravity == gravity]
            found |= zip(alone, self._try(alone, folds)[0], strict=True)
        return [[found[setting] for setting in run]]

    def _made_in_lanes(
        self, run: Sequence[Setting], gravities: Sequence[float], folds: tuple[int, ...]
    ) -> list[list[Result]]:
        found = [dict[Setting, Result].fromkeys(run) for _ in folds]
        share = _share(folds)
        learner, learn = self._begun(run[0], gravities, folds)
        loop = passes(lambda _: self._folds.numbered(), learn, learner.next_pass, run[-1].passes)
        try:
            for number in loop:
                for moment, settings in itertools.groupby(run, _moment):
                    if moment[0] == number:
                        with learner.after_cooldown(round(moment[1] / share)) as cooled:
                            held = self._held(cooled, folds)
                        for setting in settings:
                            lane = gravities.index(setting.gravity)
                            for into, measured in zip(found, held, strict=True):
                                into[setting] = measured[lane]
        except DivergedError:
            if isinstance(learner, LaneLearner):
                raise
        return [list(each.values()) for each in found]

    def _begun(
        self, setting: Setting, gravities: Sequence[float], folds: tuple[int, ...]
    ) -> tuple[Learner | OneVsRest, Callable[[tuple[Batch, NDArray[np.int64]]], None]]:
        """Make a learner of these gravities and folds, and what it learns a batch by."""
        one = setting.learners(self.what.loss, self.what.fixed, self.what.classes)
        if len(folds) == 1:
            learner = one if len(gravities) == 1 else _in_lanes(one, gravities)

            def learn(item: tuple[Batch, NDArray[np.int64]]) -> None:
                self._check()
                batch, fold = item
                learner.learn(without(batch, fold == folds[0]))

            return learner, learn
        lanes = _in_lanes(one, [each * _share(folds) for each in gravities for _ in folds])

        def learn_folds(item: tuple[Batch, NDArray[np.int64]]) -> None:
            self._check()
            lanes.learn_in_folds(*item, len(folds))

        return lanes, learn_folds

    def _held(
        self, learner: Learner | OneVsRest, folds: tuple[int, ...]
    ) -> list[list[dict[str, float]]]:
        """Measure on what each fold holds out, by each gravity: metrics, weight, features kept."""
        if not isinstance(learner, LaneLearner):
            # A model cut to its heaviest features is another model; uncut, it is the learner.
            model = learner if self.what.keep is None else model_of(learner, keep=self.what.keep)
            ((p, label, weight),) = self._folds.predicted(model.predict, folds)
            return [[self._measured(p, label, weight) | {"kept": float(len(model))}]]
        kept = learner.kept().tolist()
        return [
            [
                self._measured(np.ascontiguousarray(columns[:, lane]), label, weight)
                | {"kept": float(kept[lane])}
                for lane in range(at, len(kept), len(folds))
            ]
            for at, (columns, label, weight) in enumerate(
                self._folds.predicted(learner.predict_lanes, folds)
            )
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


def _parts(settings: Sequence[Setting], most: int) -> Iterator[list[Setting]]:
    """Divide settings into runs of no more gravities than that, each in order."""
    gravities = sorted({setting.gravity for setting in settings})
    for first in range(0, len(gravities), most):
        some = gravities[first : first + most]
        part = [setting for setting in settings if setting.gravity in some]
        yield sorted(part, key=lambda each: (_moment(each), each.gravity))


def _share(folds: tuple[int, ...]) -> float:
    """Return the share of the examples at which it is pulled that a lane of folds learns from."""
    return 1.0 if len(folds) == 1 else 1.0 - 1.0 / len(folds)


def _in_lanes(one: Any, gravities: Sequence[float]) -> LaneLearner:
    """Make a learner of these gravities at once, else like this one."""
    settings = {k: v for k, v in one.arguments().items() if k != "shrinkage"}
    kept = {name: getattr(one.shrinkage, name) for name in ("threshold", "truncate_every")}
    return LaneLearner(shrinkage=Gravities(tuple(gravities), **kept), **settings)


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


def _entry(name: str, folds: tuple[int, ...]) -> str:
    return " ".join([name, "without", *map(str, folds)])
