"""Cross-validation: which settings give the sparsest model that is as good as the best."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dwindle._base.errors import DataError, SettingError
from dwindle.algorithm.losses import is_classification
from dwindle.algorithm.settings import LearnerSettings
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.runs.class_metrics import OF_CLASSES
from dwindle.runs.journal import Journal
from dwindle.runs.loop import fit
from dwindle.runs.metrics import METRICS, check_metric
from dwindle.runs.observer import Observer
from dwindle.runs.tune.explore import End, explore
from dwindle.runs.tune.folds import Folds
from dwindle.runs.tune.grid import Grid, Setting, completed
from dwindle.runs.tune.measure import Measured, Measuring
from dwindle.runs.tune.scores import Found, Score, good


@dataclass(frozen=True)
class Search:
    """A search for the best setting without shrinkage, then for the sparsest about as good.

    That is: whose metric is worse by no more than ``tolerance``, as a share of it. If it is None,
    that is 0.2 % of an AUC; else 1 % or, if it is more, one standard error over the folds. With
    ``keep``, what is measured is the model's so many heaviest features, and the best is chosen.
    """

    loss: Any
    grid: Grid = Grid()  # noqa: RUF009  (NamedTuples are immutable)
    metric: str | None = None  # see `measure`
    folds: int = 5
    tolerance: float | None = None
    keep: int | None = None
    fixed: LearnerSettings | None = None  # settings that are not varied
    classes: int = 0  # more than two are learned one against the rest

    def check(self) -> None:
        """Refuse what no search could use."""
        if self.folds < 2:
            raise SettingError(f"folds must be 2 or more, got {self.folds}")
        if self.tolerance is not None and not 0 <= self.tolerance < 1:
            raise SettingError(
                f"tolerance must be 0 or more and below 1, got {self.tolerance} (1% is 0.01)"
            )
        if self.metric is not None:
            check_metric(self.metric, self.loss)
            if self.classes > 2 and self.metric not in OF_CLASSES:
                raise SettingError(
                    f"metric {self.metric} is of two classes: of several there are "
                    f"{', '.join(OF_CLASSES)}"
                )
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
        """Try the grid on every fold, on ``jobs`` threads, and choose; see `explore` for the order.

        Runs in the ``journal`` are not made again: it must be about these examples, this loss,
        these folds and this ``keep``. When the observer says so, `Stopped` is raised.
        """
        self.check()
        observer = observer or Observer()
        folds = Folds(examples, self.folds)
        best: list[Found] = []

        def scored(scores: list[Score]) -> None:
            if any(not each.setting.shrinks and each.loss < math.inf for each in scores):
                found = self.choose(scores)
                if not best or found.chosen != best[-1].chosen:
                    best.append(found)
                    observer.best(found)

        made = self._measured, folds, jobs, journal, observer, scored
        measuring = Measuring(*made, to_choose=True)

        def settle(found: Found) -> bool:
            return any(measuring.measure_alone(each.setting) for each in self._in_doubt(found))

        ends = {}
        for update in self.grid.update:
            asked = self.grid._replace(update=(update,))

            def measure(settings: Iterable[Setting], update: str = update) -> list[Score]:
                return [
                    each for each in measuring.measure(settings) if each.setting.update == update
                ]

            begun = completed(asked, examples, self.loss, self.fixed, self.classes)
            ends[update] = explore(asked, begun, folds.n_examples, measure, self.choose, settle)
        found = self.choose(measuring.scores)
        while settle(found):
            found = self.choose(measuring.scores)
        chosen = found.chosen.setting
        told = [_at_end(end, getattr(chosen, end.name)) for end in ends[chosen.update]]
        return found._replace(doubts=told)

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
        folds = Folds(examples, self.folds)
        return Measuring(self._measured, folds, jobs, journal, observer).measure(settings)

    @property
    def _measured(self) -> Measured:
        return Measured(self.loss, self.measure, self.keep, self.fixed, self.classes)

    @property
    def _ranks(self) -> bool:
        return is_classification(self.loss)

    @property
    def measure(self) -> str:
        """The metric: by default the AUC of two classes, the accuracy of more, or the loss."""
        if self.metric is not None:
            return self.metric
        return ("auc" if self.classes <= 2 else "accuracy") if self._ranks else "loss"

    def _measured_by(self, scores: list[Score]) -> str:
        """Return the metric: the accuracy instead of an AUC that no fold has, unless asked for."""
        lacks_auc = all(math.isnan(each.auc) for each in scores)
        by_itself = self.metric is None and self.measure == "auc"
        return "accuracy" if by_itself and lacks_auc else self.measure

    def _slack(self, best: Score, metric: str) -> float:
        """Return by how much the metric may be worse than the best."""
        value = abs(good(best, metric))
        if self.tolerance is not None:
            return self.tolerance * value
        if metric == "auc":
            return 0.002 * value
        return max(0.01 * value, 0.0 if math.isnan(best.spread) else best.spread)

    def _in_doubt(self, found: Found) -> list[Score]:
        """List what is chosen, the best without gravity, and what is sparser and almost as good."""
        if found.bound is None:
            return [found.chosen, found.dense]
        best = max(good(each, found.metric) for each in found.scores)
        least = METRICS[found.metric].better * found.bound
        almost = (
            each
            for each in found.frontier()
            if each.kept < found.chosen.kept and good(each, found.metric) >= 2 * least - best
        )
        return [found.chosen, found.dense, *almost]

    def choose(self, scores: list[Score]) -> Found:
        """Choose the best without shrinkage, and the sparsest that is about as good."""
        metric = self._measured_by(scores)
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
            return Found(metric, dense, chosen, None, scores, classes=self.classes)
        best = max(scores, key=lambda each: good(each, metric))
        best = best if self.tolerance is None else dense
        least = good(best, metric) - self._slack(best, metric)
        enough = [each for each in scores if good(each, metric) >= least]
        chosen = min(enough, key=lambda each: (each.kept, -good(each, metric)))
        bound = METRICS[metric].better * least
        return Found(metric, dense, chosen, bound, scores, classes=self.classes)


def trained(
    examples: Sequence[Batch],
    setting: Setting,
    loss: Any,
    fixed: LearnerSettings | None = None,
) -> Learner:
    """Train a learner on all the examples with one setting."""
    return fit(setting.learner(loss, fixed), examples, setting.passes, setting.cooldown)


def _at_end(end: End, value: float) -> str:
    """Say that the best may lie beyond what was tried."""
    name, more = end.name.replace("_", "-"), "larger" if end.up else "smaller"
    if end.name == "gravity" and not value:
        return "no gravity tried is within the tolerance, so nothing is removed: try smaller ones"
    what = "largest" if end.up else "smallest"
    return f"the chosen {name}, {value:g}, is the {what} tried: the best may be {more}"
