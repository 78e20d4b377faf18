"""Cross-validation: which settings give the sparsest model that is as good as the best.

Folds are taken in turn: example i is held out of fold i modulo k. What is learned from keeps the
order of the data, so that each fold is trained as ``dwindle train`` would train on it, and whatever
is measured is the model that it would write. A run with few passes is the beginning of one with
more, so it is measured on the way and not made again.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle import kernels
from dwindle.batch import Batch
from dwindle.choices import METRICS, UPDATES, schedule_of, shrinkage_called, update_called
from dwindle.errors import DataError, DivergedError
from dwindle.journal import Journal
from dwindle.learner import Learner
from dwindle.losses import Hinge, Logistic, Squared
from dwindle.metrics import accuracy, auc
from dwindle.model import Model
from dwindle.progress import LabelCounts
from dwindle.shrinkage import Truncation
from dwindle.updates import Adaptive, Plain

RATES = dict.fromkeys(UPDATES, (0.03, 0.1, 0.3, 1.0))
RATES["plain"] = (1 / 16, 1 / 4, 1, 4)  # in 1 / mean |x|^2
DECAYS = (0.5, 0.8)
AVERAGING = frozenset({"ftrl", "rda"})  # updates whose rates are not lowered: they remember them
PASSES = (1, 3, 10, 30)
MOST = 300_000  # examples in all passes of a run, unless it is one pass
STEPS = 9  # gravities, a third of a decade apart, below the one that lets no weight live
TINY = 1e-150  # a rate at which no prediction changes, but the slopes are added up


class Setting(NamedTuple):
    """What a search varies, as the command line calls it."""

    rate: float = 0.3
    pass_decay: float = 1.0
    gravity: float = 0.0
    every: int = 1
    threshold: float | None = None
    update: str = "adaptive"
    shrinkage: str = "truncation"
    passes: int = 1
    rest: int = 0

    @property
    def shrinks(self) -> bool:
        """Whether weights are pulled to zero at all."""
        return self.shrinkage == "rounding" or (self.gravity > 0 and self.shrinkage != "none")

    def check(self) -> None:
        """Refuse what no run could use."""
        for name, least in (("passes", 1), ("rest", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be {least} or more, got {getattr(self, name)}")
        self.learner(Squared())

    def learner(self, loss: Any) -> Learner:
        """One that knows nothing yet."""
        given = self.shrinkage, self.gravity, self.every, self.threshold
        schedule = schedule_of(self.rate, 0.0, self.pass_decay)
        return Learner(loss, shrinkage_called(*given), update_called(self.update), schedule)


class Grid(NamedTuple):
    """The values to try of each setting; None is automatic."""

    rate: tuple[float, ...] | None = None
    pass_decay: tuple[float, ...] | None = None
    gravity: tuple[float, ...] | None = None
    every: tuple[int, ...] = (1,)
    threshold: tuple[float | None, ...] = (None,)
    update: tuple[str, ...] = ("adaptive",)
    shrinkage: tuple[str, ...] = ("truncation",)
    passes: tuple[int, ...] | None = None
    rest: tuple[int, ...] | None = None

    def check(self) -> None:
        """Refuse values that no run could use."""
        for name, values in self._asdict().items():
            if values is not None and not values:
                raise ValueError(f"{name} must have a value to try")
            for value in values or ():
                Setting(threshold=1.0)._replace(**{name: value}).check()

    def settings(self) -> list[Setting]:
        """All of them once; first those without shrinkage, which the others are compared with."""
        made = [Setting(*values) for values in itertools.product(*map(_given, self))]
        shrunk = [setting for setting in made if setting.shrinks]
        return list(dict.fromkeys([*map(_unshrunk, made), *shrunk]))


class Score(NamedTuple):
    """How good a setting is on examples that were not learned from, over all folds."""

    setting: Setting
    accuracy: float  # nan if labels are not of two classes, as is the AUC
    auc: float
    loss: float
    kept: float  # features, the mean over folds
    spread: float  # the standard error over folds of the metric that was asked for


class Found(NamedTuple):
    """What a search came to."""

    metric: str
    dense: Score  # the best without shrinkage
    chosen: Score
    bound: float | None  # what the chosen one's metric had to reach; with ``keep``, nothing
    scores: list[Score]

    def frontier(self) -> list[Score]:
        """The scores that no other beats in features kept and metric, the sparsest first."""
        measured = (each for each in self.scores if not math.isnan(each.kept))
        best = -math.inf
        found = []
        for score in sorted(measured, key=lambda each: (each.kept, -good(each, self.metric))):
            if good(score, self.metric) > best:
                best = good(score, self.metric)
                found.append(score)
        return found


class Stopped(Exception):  # noqa: N818  (it is not an error)
    """The search was asked to stop; what it has finished stands in its journal."""


@dataclass(frozen=True)
class Search:
    """Finds the best setting without shrinkage, then the sparsest that is about as good.

    That is: whose metric is worse by no more than ``tolerance``, as a share of it. With ``keep``,
    what is measured is the model's so many heaviest features, and the best is chosen.
    """

    loss: Any
    grid: Grid = Grid()  # noqa: RUF009  (NamedTuples are immutable)
    metric: str | None = None  # accuracy if labels are of two classes, else the loss
    folds: int = 10
    tolerance: float = 0.01
    keep: int | None = None

    def check(self) -> None:
        """Refuse what no search could use."""
        if self.folds < 2:
            raise ValueError(f"folds must be 2 or more, got {self.folds}")
        if not 0 <= self.tolerance < 1:
            raise ValueError(
                f"tolerance must be 0 or more and below 1, got {self.tolerance} (1% is 0.01)"
            )
        if self.metric not in {None, *METRICS}:
            raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {self.metric!r}")
        if self.metric in {"accuracy", "auc"} and not self._ranks:
            name = type(self.loss).__name__
            raise ValueError(f"metric {self.metric} needs labels of two classes, not {name}")
        if self.keep is not None and self.keep < 0:
            raise ValueError(f"keep must be 0 or more, got {self.keep}")
        self.grid.check()

    def run(
        self,
        examples: Sequence[Batch],
        *,
        jobs: int = 1,
        journal: Journal | None = None,
        on_run: Callable[[int, int], None] = lambda _done, _all: None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> Found:
        """Try every setting of the grid on every fold, on ``jobs`` threads, and choose.

        ``on_run`` is told how many runs are made, of how many. Runs in the ``journal`` are not made
        again: it must be about these examples, this loss, these folds and this ``keep``. When
        ``stopping`` says so, `Stopped` is raised.
        """
        self.check()
        each = (self.grid._replace(update=(update,)) for update in self.grid.update)
        settings = itertools.chain.from_iterable(
            completed(grid, examples, self.loss).settings() for grid in each
        )
        return self.choose(
            self.scores(
                examples, settings, jobs=jobs, journal=journal, on_run=on_run, stopping=stopping
            )
        )

    def scores(
        self,
        examples: Sequence[Batch],
        settings: Iterable[Setting],
        *,
        jobs: int = 1,
        journal: Journal | None = None,
        on_run: Callable[[int, int], None] = lambda _done, _all: None,
        stopping: Callable[[], bool] = lambda: False,
    ) -> list[Score]:
        """How good each of these settings is."""
        data = _Folds(examples, self.folds)
        runs = _runs(settings)
        measured = self._measured(data, runs, jobs, journal, on_run, stopping)
        return [
            self._score(setting, [measured[name][fold][at] for fold in range(self.folds)])
            for name, run in runs.items()
            for at, setting in enumerate(run)
        ]

    @property
    def _ranks(self) -> bool:
        return isinstance(self.loss, Logistic | Hinge)

    @property
    def measure(self) -> str:
        """The metric's name."""
        return self.metric or ("accuracy" if self._ranks else "loss")

    def _measured(
        self,
        data: "_Folds",
        runs: dict[str, list[Setting]],
        jobs: int,
        journal: Journal | None,
        on_run: Callable[[int, int], None],
        stopping: Callable[[], bool],
    ) -> dict[str, list[Any]]:
        """What each run came to on each fold, by its name."""
        found: dict[str, list[Any]] = {name: [None] * self.folds for name in runs}
        waiting: list[tuple[str, int]] = []
        for name, fold in itertools.product(runs, range(self.folds)):
            if journal is not None and f"{name} fold {fold}" in journal:
                found[name][fold] = journal[f"{name} fold {fold}"]
            else:
                waiting.append((name, fold))
        total = len(runs) * self.folds
        done = total - len(waiting)
        on_run(done, total)
        for name, fold, result in _in_parallel(
            lambda name, fold: self._try(data, runs[name], fold, stopping),
            waiting,
            jobs,
            stopping,
        ):
            found[name][fold] = result
            if journal is not None:
                journal.add(f"{name} fold {fold}", result)
            done += 1
            on_run(done, total)
        return found

    def _try(
        self,
        data: "_Folds",
        run: Sequence[Setting],
        fold: int,
        stopping: Callable[[], bool] = lambda: False,
    ) -> list[list[float] | None]:
        """What each setting of a run, which differ in passes and rest, comes to on a fold."""
        learner = run[0].learner(self.loss)
        found: dict[Setting, list[float] | None] = dict.fromkeys(run)  # None: it diverged
        try:
            for number in range(1, run[-1].passes + 1):
                for batch in data.learned(fold):
                    if stopping():
                        raise Stopped
                    learner.learn(batch)
                learner.next_pass()
                for setting in run:
                    if setting.passes == number:
                        with learner.resting(setting.rest) as rested:
                            found[setting] = self._held(data, rested, fold)
        except DivergedError:
            pass
        return list(found.values())

    def _held(self, data: "_Folds", learner: Learner, fold: int) -> list[float]:
        """Weight, accuracy, AUC, loss and features kept, on what the fold holds out."""
        # A model cut to its heaviest features is another model; uncut, it is the learner.
        model = learner if self.keep is None else Model.of(learner, keep=self.keep)
        p, label, weight = data.predicted(model, fold)
        loss = float(np.average(kernels.values.of(self.loss)(self.loss, p, label), weights=weight))
        if not (np.isfinite(p).all() and np.isfinite(loss)):
            raise DivergedError("a prediction is not finite, or its loss is not")
        ranks = (accuracy(p, label, weight), auc(p, label, weight)) if self._ranks else (0.0, 0.0)
        return [float(weight.sum()), *ranks, loss, float(len(model))]

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
        """The best without shrinkage, and the sparsest that is about as good."""
        metric = self.measure
        dense = max(
            (each for each in scores if not each.setting.shrinks),
            key=lambda each: good(each, metric),
        )
        if good(dense, metric) == -math.inf:
            raise DataError(
                "every run without gravity diverged or could not be measured: "
                "try smaller rates, or scale the features"
            )
        if self.keep is not None:
            chosen = max(scores, key=lambda each: (good(each, metric), -each.kept))
            return Found(metric, dense, chosen, None, scores)
        least = good(dense, metric) - self.tolerance * abs(good(dense, metric))
        enough = [each for each in scores if good(each, metric) >= least]
        chosen = min(enough, key=lambda each: (each.kept, -good(each, metric)))
        return Found(metric, dense, chosen, METRICS[metric] * least, scores)


def good(score: Score, metric: str) -> float:
    """The metric, turned so that more is better; least of all if there is none."""
    value = METRICS[metric] * float(getattr(score, metric))
    return -math.inf if math.isnan(value) else value


def trained(examples: Sequence[Batch], setting: Setting, loss: Any) -> Learner:
    """A learner that went over all the examples with one setting."""
    learner = setting.learner(loss)
    for _ in range(setting.passes):
        for batch in examples:
            learner.learn(batch)
        learner.next_pass()
    learner.rest(setting.rest)
    return learner


def completed(grid: Grid, examples: Sequence[Batch], loss: Any) -> Grid:
    """What the grid leaves open is filled in by looking at the examples.

    Rates of the plain update are in units of 1 / mean |x|^2, around which it is stable. Gravities
    go down from max_j |mean of phi'(c, y) x_j|, the slope at the best constant c: with more, no
    weight would leave zero. For the adaptive update x_j is in units of its largest value, as there;
    for FTRL-Proximal it is the sum, and not the mean, that gravity weighs against.
    """
    n = sum(batch.n_examples for batch in examples)
    rates = (
        _short(rate / _length(examples) if update == "plain" else rate)
        for update in grid.update
        for rate in RATES[update]
    )
    passes = grid.passes or tuple(p for p in PASSES if p == 1 or p * n <= MOST)
    gravity = grid.gravity
    if gravity is None:
        steepest = (_steepest(examples, loss, update) for update in grid.update)
        steps = range(1, STEPS + 1)
        gravity = (0.0, *(_short(top * 10 ** (-k / 3)) for top in steepest for k in steps))
    lowered = max(passes) > 1 and not AVERAGING.issuperset(grid.update)
    return grid._replace(
        rate=grid.rate or tuple(sorted(set(rates))),
        pass_decay=grid.pass_decay or (DECAYS if lowered else (1.0,)),
        gravity=tuple(sorted(set(gravity))),
        passes=tuple(sorted(set(passes))),
        rest=grid.rest or (max(grid.every), n),
    )


class _Folds:
    """Examples to learn from and examples held out, by fold."""

    def __init__(self, examples: Sequence[Batch], folds: int) -> None:
        self._examples, self._folds = examples, folds
        self._first = np.cumsum([0, *(batch.n_examples for batch in examples)])
        if self._first[-1] < folds:
            raise DataError(f"there are {self._first[-1]} examples, too few for {folds} folds")

    def learned(self, fold: int) -> Iterator[Batch]:
        """In order; one that is held out has importance 0, which leaves everything as it was."""
        for first, batch in zip(self._first[:-1], self._examples, strict=True):
            importance = _importance(batch).copy()
            importance[(fold - first) % self._folds :: self._folds] = 0.0
            yield batch._replace(importance=importance)

    def predicted(
        self, model: Any, fold: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float32], NDArray[np.float64]]:
        """Predictions, labels and weights of what is held out."""
        parts = []
        for first, batch in zip(self._first[:-1], self._examples, strict=True):
            held = np.arange(first, first + batch.n_examples) % self._folds == fold
            held &= _importance(batch) > 0
            some = batch.only(held)
            parts.append((model.predict(some), some.label, _importance(some)))
        p, label, weight = (np.concatenate(each) for each in zip(*parts, strict=True))
        if not len(p):
            raise DataError(f"fold {fold} has no labelled examples: take fewer folds")
        return p, label, weight.astype(np.float64)


def _in_parallel(
    work: Callable[[str, int], Any],
    waiting: Sequence[tuple[str, int]],
    jobs: int,
    stopping: Callable[[], bool],
) -> Iterator[tuple[str, int, Any]]:
    """What each piece of work comes to, as it comes: kernels release the GIL."""
    todo = iter(waiting)
    with ThreadPoolExecutor(jobs) as threads:
        going: dict[Future[Any], tuple[str, int]] = {}
        try:
            while True:
                if stopping():
                    raise Stopped
                for name, fold in itertools.islice(todo, 2 * jobs - len(going)):
                    going[threads.submit(work, name, fold)] = name, fold
                if not going:
                    return
                done, _ = wait(going, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    yield *going.pop(future), future.result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)  # what has not begun need not


def _runs(settings: Iterable[Setting]) -> dict[str, list[Setting]]:
    """Settings by the name of the run that they are moments of, in the order of its passes.

    The name says all moments, so that a journal gives back what was measured at these and no other.
    """
    runs: dict[Setting, list[Setting]] = {}
    for setting in dict.fromkeys(settings):
        runs.setdefault(setting._replace(passes=1, rest=0), []).append(setting)
    return {_name(run): run for run in (sorted(each, key=_moment) for each in runs.values())}


def _moment(setting: Setting) -> tuple[int, int]:
    return setting.passes, setting.rest


def _name(run: Sequence[Setting]) -> str:
    said = run[0]._asdict()
    del said["passes"], said["rest"]
    moments = (f"passes {passes} rest {rest}" for passes, rest in map(_moment, run))
    return " ".join([*(f"{field} {value}" for field, value in said.items()), *moments])


def _unshrunk(setting: Setting) -> Setting:
    """Without gravity there is nothing that the others could change."""
    return setting._replace(gravity=0.0, every=1, threshold=None, shrinkage="truncation", rest=0)


def _given(values: tuple[Any, ...] | None) -> tuple[Any, ...]:
    assert values is not None, "the grid is not completed"
    return values


def _length(examples: Sequence[Batch]) -> float:
    """The mean of |x|^2, the constant among x; an example of importance 2 makes twice the step."""
    total = steps = 0.0
    for batch in examples:
        importance = _importance(batch)
        each = np.repeat(importance, np.diff(batch.start))
        total += float((each * np.square(batch.x, dtype=np.float64)).sum() + importance.sum())
        steps += np.count_nonzero(importance)
    return total / steps if steps else 1.0


def _steepest(examples: Sequence[Batch], loss: Any, update: str) -> float:
    """max_j |mean over examples of phi'(c, y) x_j| at the best constant c, in the update's units.

    The mean is over the steps, for gravity pulls once at each, whatever the example weighs.
    """
    counts = LabelCounts()
    for batch in examples:
        importance = _importance(batch)
        assert batch.label is not None
        counts.add(batch.label[importance > 0], importance[importance > 0])
    constant, _ = counts.best_constant(loss)
    adapts = update == "adaptive"
    learner = (
        Learner(loss, Truncation(), Adaptive(beta=1 / TINY), rate=1.0, intercept=False)
        if adapts
        else Learner(loss, Truncation(), Plain(), rate=TINY, intercept=False)
    )
    for batch in examples:
        learner.learn(batch._replace(base=np.full(batch.n_examples, constant, np.float32)))
    cells = learner.table.cells
    total = float(np.abs(cells["weight"] * (cells["scale"] if adapts else 1.0)).max()) / TINY
    steps = 1 if update == "ftrl" else max(learner.n_steps, 1)
    return total / steps or 1.0  # nothing to learn from


def _importance(batch: Batch) -> NDArray[np.float32]:
    given = batch.importance
    return np.ones(batch.n_examples, np.float32) if given is None else given


def _short(number: float) -> float:
    return float(f"{number:.2g}")
