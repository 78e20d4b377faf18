"""The ways to learn that are compared, and the models that each of them makes of a problem.

The strength of a penalty is that on the sum of the losses: FTRL-Proximal has it as it is, what
pulls at each step a part. Where a way searches is said in `searching`.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import SGDClassifier

from dwindle.algorithm.adaptive import Adaptive
from dwindle.algorithm.dual_averaging import FTRL, RDA
from dwindle.algorithm.losses import Logistic
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import Truncation
from dwindle.algorithm.updates import Plain
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.runs.build import make_learner
from dwindle.runs.metrics import auc
from dwindle.runs.settings import RunSettings
from experiments.frontier.problems import Problem, Rows, matrices, rows
from experiments.frontier.wabbit import Wabbit

REFITTED = 2  # passes over what is left
CLASSES = (-1.0, 1.0)


class Setting(NamedTuple):
    """What a run is told."""

    learning_rate: float
    passes: int
    strength: float
    pass_decay: float = 1.0
    share: float | None = None  # of the distinct features, that may be live


class Point(NamedTuple):
    """A model."""

    auc: float  # on the test part
    weights: int  # that are shipped: not zero, without the intercept
    live: int  # features held in memory, at the most
    seconds: float  # from rows in memory, or from text if it is VW


class Way(NamedTuple):
    """How dwindle learns."""

    update: Any
    rests: bool = False  # at the end, for as many steps as there are examples
    budget: bool = False  # so that at most a share of the features is live
    every_pass: bool = False  # K is a pass: all the pull of a pass comes at its end
    after: int = 0  # a feature is let in when it was seen so often before
    refits: bool = False  # what is left is learned anew, without a penalty

    @property
    def decays(self) -> bool:
        """Whether its learning rate may be multiplied after each pass: others have their own."""
        return not isinstance(self.update, FTRL | RDA)

    def rate(self, known: Rows) -> float:
        """A learning rate to begin with: where the update is stable, in its own units."""
        if not self.decays:
            return 0.3
        if isinstance(self.update, Adaptive):
            return 0.3 * known.length
        return 1 / known.squares

    def gravity(self, setting: Setting, known: Rows) -> float:
        """The strength as the update takes it."""
        if type(self.update) is FTRL:
            return setting.strength
        passes = setting.passes if isinstance(self.update, RDA) else 1
        length = known.length if isinstance(self.update, Adaptive) else 1  # of a step, not a pull
        return setting.strength / (known.train.n_examples * passes * length)


_FTRL, _RDA = FTRL(), RDA()
OURS = {
    "plain": Way(Plain()),
    "plain-rest": Way(Plain(), rests=True),
    "plain-budget": Way(Plain(), rests=True, budget=True),
    "tg": Way(Adaptive()),
    "tg-rest": Way(Adaptive(), rests=True),
    "tg-pass": Way(Adaptive(), every_pass=True),
    "tg-budget": Way(Adaptive(), rests=True, budget=True),
    "tg-refit": Way(Adaptive(), rests=True, refits=True),
    "ftrl": Way(_FTRL),
    "ftrl-budget": Way(_FTRL, budget=True),
    "ftrl-admitting": Way(_FTRL, after=1),
    "ftrl-refit": Way(_FTRL, budget=True, refits=True),
    "rda": Way(_RDA),
    "rda-budget": Way(_RDA, budget=True),
}
THEIRS = ("vw-ftrl", "vw-l1", "vw-l1-sgd", "sgd")
LANES = ("auto", "auto-path")  # which have nothing to be told
NAMES = {
    "plain": "truncated gradient, plain",
    "plain-rest": "truncated gradient, plain, with cooldown",
    "plain-budget": "truncated gradient, plain, with cooldown and a budget",
    "tg": "truncated gradient, adaptive",
    "tg-rest": "truncated gradient, adaptive, with cooldown",
    "tg-pass": "truncated gradient, adaptive, K is a pass",
    "tg-budget": "truncated gradient, adaptive, with cooldown and a budget",
    "tg-refit": "truncated gradient, adaptive, with cooldown, re-fitted",
    "ftrl": "FTRL",
    "ftrl-budget": "FTRL with a budget",
    "ftrl-admitting": "FTRL, from the second time on",
    "ftrl-refit": "FTRL with a budget, re-fitted",
    "rda": "RDA",
    "rda-budget": "RDA with a budget",
    "auto": "automatic: `dwindle train` without options",
    "auto-path": "automatic, all eight models of that run",
    "vw-ftrl": "VW --ftrl",
    "vw-l1": "VW --l1",
    "vw-l1-sgd": "VW --l1 --sgd",
    "sgd": "scikit-learn, SGDClassifier(l1)",
}


Measure = Callable[[Setting], Point]


@contextmanager
def measuring(problem: Problem, seed: int, name: str) -> Iterator[Measure]:
    """A function from a setting of a way to its model, on one seed's rows."""
    with ExitStack() as stack:
        if name in THEIRS:
            peer: Any = (
                Wabbit(problem, seed, name) if name.startswith("vw") else _Sgd(problem, seed)
            )
            stack.enter_context(peer)
            yield lambda setting: _timed(peer.model, setting)
            return
        way, known = OURS[name], rows(problem, seed)
        entering = _admitted(known.train, way.after) if way.after else (known.train, known.train)
        yield lambda setting: _timed(_learned, way, known, entering, setting)


def lanes(problem: Problem, seed: int) -> list[tuple[float, Point, bool]]:
    """All gravities of a run that was told nothing: each, its model, and whether it is chosen."""
    known, begin = rows(problem, seed), time.perf_counter()
    learner = make_learner(RunSettings(gravity="auto"), Logistic())
    assert isinstance(learner, LaneLearner)
    learner.learn(known.train)
    p, kept = learner.predict_lanes(known.test), learner.kept()
    seconds, chosen = round(time.perf_counter() - begin, 3), learner.lane
    found = []
    for at, gravity in enumerate(learner.shrinkage.values):
        point = Point(auc(p[:, at], known.label), int(kept[at]), learner.table.peak, seconds)
        found.append((float(gravity), point, at == chosen))
    return found


def _timed(run: Any, *given: Any) -> Point:
    begin = time.perf_counter()
    found, weights, live = run(*given)
    return Point(found, weights, live, round(time.perf_counter() - begin, 3))


def _learned(
    way: Way, known: Rows, entering: tuple[Batch, Batch], setting: Setting
) -> tuple[float, int, int]:
    """The AUC, the weights and the peak of a run."""
    n = known.train.n_examples
    every = n if way.every_pass else 1
    budget = None if setting.share is None else int(setting.share * known.distinct)
    learner = Learner(
        shrinkage=Truncation(gravity=way.gravity(setting, known), truncate_every=every),
        update=way.update,
        learning_rate=Schedule(setting.learning_rate, pass_decay=setting.pass_decay),
        max_live=budget,
    )
    _pass_over(learner, [entering[0], *[entering[1]] * (setting.passes - 1)])
    if way.rests:
        learner.cooldown(n)
    peak, left = learner.table.peak, learner
    if way.refits:
        key, _ = learner.table.weights()
        left = Learner(
            shrinkage=Truncation(), update=way.update, learning_rate=setting.learning_rate
        )
        _pass_over(left, [_among(known.train, key)] * REFITTED)
    return auc(left.predict(known.test), known.label), len(left), peak


def _pass_over(learner: Learner, passes: list[Batch]) -> None:
    for i, batch in enumerate(passes):
        if i:
            learner.next_pass()
        learner.learn(batch)


def _among(batch: Batch, key: NDArray[np.uint64]) -> Batch:
    """The same examples with these features alone."""
    return _with(batch, np.isin(batch.key, key))


def _admitted(batch: Batch, after: int) -> tuple[Batch, Batch]:
    """A first pass, and later ones, with a feature let in when it was seen so often before."""
    order = np.argsort(batch.key, kind="stable")
    _, first, count = np.unique(batch.key[order], return_index=True, return_counts=True)
    before = np.empty(len(order), np.int64)
    before[order] = np.arange(len(order)) - np.repeat(first, count)
    often = np.empty(len(order), np.bool_)
    often[order] = np.repeat(count > after, count)
    return _with(batch, before >= after), _with(batch, often)


def _with(batch: Batch, chosen: NDArray[np.bool_]) -> Batch:
    """The same examples with the features at these places alone."""
    start = np.concatenate([[0], np.cumsum(chosen)])[batch.start]
    return Batch.from_arrays(start, batch.key[chosen], batch.x[chosen], batch.label)


class _Sgd:
    """Scikit-learn's stochastic gradient with an L1 penalty, at a constant rate."""

    def __init__(self, problem: Problem, seed: int) -> None:
        known = rows(problem, seed)
        self._train, self._test = matrices(problem, seed)
        assert known.train.label is not None
        self._label, self._test_label = known.train.label, known.label

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is left behind."""

    def model(self, setting: Setting) -> tuple[float, int, int]:
        """The AUC, the weights and the columns of a run."""
        model = SGDClassifier(
            loss="log_loss",
            penalty="l1",
            alpha=setting.strength / len(self._label),
            shuffle=False,
            learning_rate="constant",
            eta0=setting.learning_rate,
        )
        for done in range(setting.passes):
            model.set_params(eta0=setting.learning_rate * setting.pass_decay**done)
            model.partial_fit(self._train, self._label, classes=CLASSES)
        found = auc(model.decision_function(self._test), self._test_label)
        return found, int(np.count_nonzero(model.coef_)), self._train.shape[1]
