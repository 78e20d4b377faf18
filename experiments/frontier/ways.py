"""The ways to learn that are compared, and the models that each of them makes of a problem.

All have as many rates, and the same passes and strengths, to choose from. The strength of a penalty
is that on the sum of the losses: FTRL-Proximal has it as it is, what pulls at each step a part.
"""

import time
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import SGDClassifier

from dwindle.algorithm.adaptive import Adaptive
from dwindle.algorithm.dual_averaging import FTRL, RDA
from dwindle.algorithm.shrinkage import Truncation
from dwindle.algorithm.updates import Plain
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.runs.metrics import auc
from experiments.frontier.problems import Problem, Rows, matrices, rows
from experiments.frontier.wabbit import Wabbit

REFITTED = 2  # passes over what is left
LENGTH = 3  # what `Adaptive` divides a step by, roughly: its rates are so much larger


class Setting(NamedTuple):
    """What a run is told."""

    learning_rate: float
    passes: int
    strength: float
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

    def gravity(self, setting: Setting, n: int) -> float:
        """The strength as the update takes it, on n examples."""
        if type(self.update) is FTRL:
            return setting.strength
        passes = setting.passes if isinstance(self.update, RDA) else 1
        length = LENGTH if isinstance(self.update, Adaptive) else 1  # of a step, but not of a pull
        return setting.strength / (n * passes * length)


_FTRL, _RDA = FTRL(), RDA()
OURS = {
    "plain": Way(Plain()),
    "plain-rest": Way(Plain(), rests=True),
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
THEIRS = ("vw-ftrl", "vw-l1", "sgd")
NAMES = {
    "plain": "truncated gradient, plain",
    "plain-rest": "truncated gradient, plain, with cooldown",
    "tg": "truncated gradient",
    "tg-rest": "truncated gradient, with cooldown",
    "tg-pass": "truncated gradient, K is a pass",
    "tg-budget": "truncated gradient, with cooldown and a budget",
    "tg-refit": "truncated gradient, with cooldown, re-fitted",
    "ftrl": "FTRL",
    "ftrl-budget": "FTRL with a budget",
    "ftrl-admitting": "FTRL, from the second time on",
    "ftrl-refit": "FTRL with a budget, re-fitted",
    "rda": "RDA",
    "rda-budget": "RDA with a budget",
    "vw-ftrl": "VW --ftrl",
    "vw-l1": "VW --l1",
    "sgd": "scikit-learn, SGDClassifier(l1)",
}


def measured(problem: Problem, seed: int, name: str) -> Iterator[tuple[Setting, Point]]:
    """Every setting of a way, and the model it gives."""
    if name in THEIRS:
        with Wabbit(problem, seed, name) if name.startswith("vw") else _Sgd(problem, seed) as peer:
            for setting in settings(problem, in_units=name == "vw-l1"):
                yield setting, _timed(peer.model, setting)
        return
    way, known = OURS[name], rows(problem, seed)
    entering = _admitted(known.train, way.after) if way.after else (known.train, known.train)
    adaptive = isinstance(way.update, Adaptive)
    for setting in settings(problem, budget=way.budget, in_units=adaptive):
        told = (
            setting._replace(learning_rate=LENGTH * setting.learning_rate) if adaptive else setting
        )
        yield told, _timed(_learned, way, known, entering, told)


def settings(problem: Problem, *, budget: bool = False, in_units: bool = False) -> list[Setting]:
    """Each rate with each number of passes, each strength and, if there is one, each budget."""
    rates = (in_units and problem.in_units) or problem.rates
    shares = problem.shares if budget else (None,)
    return [Setting(*each) for each in product(rates, problem.passes, problem.strengths, shares)]


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
        shrinkage=Truncation(gravity=way.gravity(setting, n), truncate_every=every),
        update=way.update,
        learning_rate=setting.learning_rate,
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
            max_iter=setting.passes,
            tol=None,
            shuffle=False,
            learning_rate="constant",
            eta0=setting.learning_rate,
        ).fit(self._train, self._label)
        found = auc(model.decision_function(self._test), self._test_label)
        return found, int(np.count_nonzero(model.coef_)), self._train.shape[1]
