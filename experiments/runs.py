"""Runs of dwindle's learner on a set, and what their weights make of examples that were held out.

A *family* is a loss and whether predictions are normalised: that of the paper's section 5, and the
logistic loss beside it. On the two sets whose labels are numbers both have the squared loss.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dwindle._base.errors import DivergedError
from dwindle.algorithm.losses import BinaryClippedSquared, Logistic, Squared, boundary
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.updates import Plain
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.runs.metrics import auc

Floats = NDArray[np.float64]

PASSES = (1, 3, 10, 30)
MOST = {1: math.inf, 3: 70_000, 10: 70_000, 30: 12_000}  # examples in all passes of a run


class Family(NamedTuple):
    """What is learned, apart from how."""

    loss: Any
    normalize: bool

    @property
    def ranks(self) -> bool:
        """Whether labels are two classes."""
        return not isinstance(self.loss, Squared)


FAMILIES = ("paper", "logistic")


def family(name: str, *, regression: bool) -> Family:
    """Return the family of that name, for a set of this kind."""
    losses = {"paper": BinaryClippedSquared(), "logistic": Logistic()}
    return Family(Squared() if regression else losses[name], normalize=name == "paper")


class Weights(NamedTuple):
    """A model, or several with a column each: a row for each feature, and the intercepts."""

    w: Floats
    intercept: Floats

    @classmethod
    def of(cls, learner: Learner, features: int) -> "Weights":
        """Those of a learner at this moment, as one column."""
        key, weight = learner.table.weights()
        w = np.zeros((features, 1))
        w[key.astype(np.int64), 0] = weight
        return cls(w, np.array([learner.intercept]))

    def shrunk(self, by: Sequence[float], *, soft: bool) -> "Weights":
        """A column for each threshold: what is within it is 0, the rest pulled by it, or not."""
        limit = np.asarray(by)[None, :]
        pulled = np.sign(self.w) * (np.abs(self.w) - limit) if soft else self.w
        kept = np.where(np.abs(self.w) > limit, pulled, 0.0)
        return Weights(kept, np.repeat(self.intercept, len(by)))

    @property
    def kept(self) -> NDArray[np.int64]:
        """How many features each column has."""
        n: NDArray[np.int64] = np.count_nonzero(self.w, axis=0)
        return n

    @property
    def largest(self) -> float:
        """The largest weight."""
        return float(np.abs(self.w).max(initial=0.0))

    def beside(self, other: "Weights") -> "Weights":
        """The columns of both."""
        return Weights(
            np.hstack([self.w, other.w]), np.concatenate([self.intercept, other.intercept])
        )


class Rows:
    """Examples with labels, as a batch to learn from and as a matrix to predict."""

    def __init__(self, batch: Batch, features: int) -> None:
        assert batch.label is not None
        self.batch, self.features = batch, features
        self.label: Floats = batch.label.astype(np.float64)

    @cached_property
    def x(self) -> csr_array:
        """The matrix, without a column of ones."""
        batch = self.batch
        parts = (
            batch.x.astype(np.float64),
            batch.key.astype(np.int32),
            batch.start.astype(np.int32),
        )
        return csr_array(parts, shape=(batch.n_examples, self.features))

    def scales(self, kind: Family) -> Floats:
        """What each example is multiplied by."""
        if not kind.normalize:
            return np.ones(self.batch.n_examples)
        return 1 / np.sqrt(np.diff(self.batch.start) + 1.0)

    def predictions(self, kind: Family, weights: Weights) -> Floats:
        """Predict by each column."""
        p: Floats = (self.x @ weights.w + weights.intercept) * self.scales(kind)[:, None]
        return p

    def scores(self, kind: Family, weights: Weights) -> Floats:
        """How good each column is: its accuracy, or minus its squared loss."""
        p = self.predictions(kind, weights)
        if not kind.ranks:
            squares: Floats = -np.square(p - self.label[:, None]).mean(axis=0)
            return squares
        right: Floats = ((p > boundary(kind.loss)) == (self.label > 0)[:, None]).mean(axis=0)
        return right

    def auc(self, kind: Family, weights: Weights) -> float:
        """The AUC of the first column."""
        return float(auc(self.predictions(kind, weights)[:, 0], self.label))

    def steepest(self, kind: Family) -> float:
        """The gravity that lets no weight leave zero: max_j |mean slope x_j| at a constant."""
        y = (self.label + 1) / 2 if kind.ranks else self.label
        factor = 1.0 if isinstance(kind.loss, Logistic) else 2.0
        slope = factor * (y.mean() - y) * self.scales(kind)
        return float(np.abs(self.x.T @ slope).max() / len(y))

    def stable_rate(self, kind: Family) -> float:
        """1 / mean |x|^2, around which the plain update is stable."""
        squares = np.asarray(self.x.multiply(self.x).sum(axis=1)).ravel() + 1
        return float(1 / (squares * np.square(self.scales(kind))).mean())

    def passes(self) -> tuple[int, ...]:
        """How often to go over them: the whole run should fit into an hour."""
        return tuple(p for p in PASSES if p * self.batch.n_examples <= MOST[p])


class Fold(NamedTuple):
    """Examples to learn from and examples held out."""

    train: Rows
    held: Rows


def folds(rows: Rows, n: int) -> list[Fold]:
    """Hold out every n-th example, n times."""
    part = np.arange(rows.batch.n_examples) % n
    return [
        Fold(*(Rows(rows.batch.only(where), rows.features) for where in (part != k, part == k)))
        for k in range(n)
    ]


class How(NamedTuple):
    """How a run learns."""

    shrinkage: Any
    learning_rate: float
    pass_decay: float
    update: Any = Plain()


def learner_of(kind: Family, how: How, features: int) -> Learner:
    """One that knows nothing yet, with room for all features, so that it need not make room."""
    schedule = Schedule(how.learning_rate, pass_decay=how.pass_decay)
    learner = Learner(kind.loss, how.shrinkage, how.update, schedule, normalize=kind.normalize)
    if isinstance(how.update, Plain):  # others forget rates when room is made
        learner.table.fill(learner.table.cells[:0], 1 << (2 * features).bit_length())
    return learner


def learned(kind: Family, how: How, rows: Rows, passes: Sequence[int]) -> Iterator[Learner]:
    """A learner after each of so many passes; it ends early if weights grow without bound."""
    learner = learner_of(kind, how, rows.features)
    for number in range(1, max(passes) + 1):
        if number > 1:
            learner.next_pass()
        try:
            learner.learn(rows.batch)
        except DivergedError:
            return
        if number in passes:
            yield learner


SAMPLES = 60  # of the features that live, in a run


def watched(kind: Family, how: How, rows: Rows, passes: int) -> tuple[Learner, list[int]]:
    """A learner after so many passes, and how many features lived at evenly spaced moments."""
    learner = learner_of(kind, how, rows.features)
    n = rows.batch.n_examples
    moments = np.unique(np.linspace(0, n * passes, SAMPLES + 1).round().astype(int)[1:])
    live: list[int] = []
    for number in range(passes):
        if number:
            learner.next_pass()
        at = 0
        for stop in [*(moments[(number * n < moments) & (moments <= number * n + n)] - number * n)]:
            learner.learn(part(rows.batch, at, stop))
            live.append(len(learner))
            at = stop
        if at < n:
            learner.learn(part(rows.batch, at, n))
    return learner, live


def part(batch: Batch, a: int, b: int) -> Batch:
    """The examples from a up to b."""
    start = batch.start[a : b + 1]
    inside = slice(start[0], start[-1])
    assert batch.label is not None
    return Batch.from_arrays(start - start[0], batch.key[inside], batch.x[inside], batch.label[a:b])


def last_rate(how: How, passes: int) -> float:
    """The learning rate of the last step."""
    return how.learning_rate * math.prod([how.pass_decay] * (passes - 1))
