"""Lemma A.1, the step from which Theorem 3.1 follows, checked at each step of a run."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle.algorithm.losses import value
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import Shrinkage, is_late, is_truncation
from dwindle.algorithm.updates import Plain
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.features.keys import key_of

INTERCEPT = -1  # beside the keys of features


class Step(NamedTuple):
    """Both sides of Lemma A.1 for a step from w to w', with a comparator; left <= right.

    left  = (1 - A eta / 2) L(w) + |w'|_g
    right = L(comparator) + |comparator|_g + eta B / 2
            + (|comparator - w|^2 - |comparator - w'|^2) / (2 eta)

    |v|_g is the sum of g_j |v_j| over the coordinates with |w'_j| <= theta: the lemma's proof goes
    coordinate by coordinate, so each may have a gravity of its own. A and B are those of the
    example alone, so this is at least as strong as with the largest.
    """

    left: float
    right: float

    @property
    def holds(self) -> bool:
        """Whether the bound holds, up to rounding."""
        return self.left <= self.right + 1e-9 * max(1.0, abs(self.left), abs(self.right))


def certify_steps(
    batches: Iterable[Batch],
    comparator: Mapping[str, float],
    *,
    comparator_intercept: float = 0.0,
    loss: Any,
    shrinkage: Shrinkage,
    learning_rate: float | Schedule,
    intercept: bool = True,
    normalize: bool = False,
) -> Iterator[Step]:
    """Run the paper's algorithm on a stream; yield both sides of Lemma A.1 for each step.

    It looks at all weights at each step, so it takes time. The gravity before the prediction of
    step i + 1 is the lemma's of step i. With ``order="after"`` a step's gravity is what its
    features paid after it, and the others have none.

    >>> from dwindle import Logistic, Truncation
    >>> batch = Batch.from_dicts([{"a": 1}, {"b": 1}, {"a": 1}], [1, -1, 1])
    >>> settings = {"loss": Logistic(), "shrinkage": Truncation(gravity=0.01), "learning_rate": 0.5}
    >>> [step.holds for step in certify_steps([batch], {"a": 1, "b": -1}, **settings)]
    [True, True, True]
    """
    if not (is_truncation(shrinkage) or (is_late(shrinkage) and hasattr(shrinkage, "gravity"))):
        raise TypeError(f"Lemma A.1 is about truncated gradient, not {shrinkage}")
    if not hasattr(loss, "slope_bound"):
        raise TypeError(
            f"Lemma A.1 needs A and B with |gradient|^2 <= A L + B: {loss} has no slope_bound()"
        )
    how = {"intercept": intercept, "normalize": normalize}
    learner = Learner(loss, shrinkage, Plain(), learning_rate, **how)
    rival = {key_of(name): w for name, w in comparator.items()}
    if intercept:
        rival[INTERCEPT] = comparator_intercept
    looker = _Looker(learner)
    before, _ = looker.next_weights()
    for batch in batches:
        label, importance = learner.checked_labels(batch)
        for i in range(batch.n_examples):
            p = float(learner.learn(batch.rows(i, i + 1))[0])
            if importance[i] > 0.0:
                after, pull = looker.next_weights()
                example = _Example(*_coordinates(batch, i, learner), p, float(label[i]))
                yield _step(example, float(importance[i]), learner, rival, (before, after), pull)
                before = after


class _Example(NamedTuple):
    x: dict[int, float]
    base: float
    prediction: float
    label: float


Weights = dict[int, float]
Pull = Callable[[int], float]


def _coordinates(batch: Batch, i: int, learner: Learner) -> tuple[dict[int, float], float]:
    """Return the coordinates of an example, and what is added to its predictions."""
    begin, end = batch.start[i : i + 2].tolist()
    x: dict[int, float] = {INTERCEPT: 1.0} if learner.has_intercept else {}
    n = end - begin + len(x)
    spread = max(n, 1) ** -0.5 if learner.normalize else 1.0
    keys, values = batch.key[begin:end].tolist(), batch.x[begin:end].tolist()
    for key, each in zip(keys, values, strict=True):
        x[key] = x.get(key, 0.0) + each
    base = 0.0 if batch.base is None else float(batch.base[i])
    return {key: each * spread for key, each in x.items()}, base


class _Looker:
    """Looks at the weights of a learner after each step."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self._stamps: Weights = {}  # of features, if the shrinkage is late

    def next_weights(self) -> tuple[Weights, Pull]:
        """Return the weights of the next prediction, and how far gravity pulled each before it."""
        found, pull = (self._late if is_late(self.learner.shrinkage) else self._pulled)()
        return found | {INTERCEPT: self.learner.intercept}, pull

    def _late(self) -> tuple[Weights, Pull]:
        """What is in the cells is what predicts; a time stamp moves by the steps paid for."""
        cells = self.learner.table.cells[self.learner.table.cells["key"] != 0]
        key = (cells["key"] - np.uint64(1)).tolist()
        stamps = dict(zip(key, cells["settled"].tolist(), strict=True))
        size = self.learner.clock.size * self.learner.shrinkage.gravity
        pulls = {k: (now - self._stamps.get(k, now)) * size for k, now in stamps.items()}
        self._stamps = stamps
        found = dict(zip(key, cells["weight"].tolist(), strict=True))
        return found, lambda k: pulls.get(k, 0.0)

    def _pulled(self) -> tuple[Weights, Pull]:
        """All features are pulled before the prediction, if it is a moment."""
        learner, n = self.learner, self.learner.n_steps + 1
        with learner.after_cooldown(1) as cooled:
            key, weight = cooled.weight_of_keys()
        rate = learner.schedule.rates(np.array([n]), learner.clock.passes)
        is_moment = n % learner.shrinkage.truncate_every == 0
        pull = float(learner.shrinkage.pull(rate)[0]) if is_moment else 0.0
        found = dict(zip(key.tolist(), weight.tolist(), strict=True))
        return found, lambda k: 0.0 if k == INTERCEPT else pull


def _step(
    example: _Example,
    importance: float,
    learner: Learner,
    rival: Weights,
    steps: tuple[Weights, Weights],
    pull: Pull,
) -> Step:
    """Return both sides for one step, in which weights went from one to the other of ``steps``."""
    loss, (before, after) = learner.loss, steps
    [rate] = learner.schedule.rates(np.array([learner.n_steps]), learner.clock.passes).tolist()
    threshold = getattr(learner.shrinkage, "threshold", np.inf)
    keys = sorted({*before, *after, *rival})
    w, then, other = (np.array([each.get(k, 0.0) for k in keys]) for each in (before, after, rival))
    pulled = np.array([pull(k) for k in keys])
    gravity: NDArray[Any] = np.where(np.abs(then) <= threshold, pulled, 0.0) / rate
    own = importance * value(loss, example.prediction, example.label)
    score = example.base + sum(rival.get(k, 0.0) * x for k, x in example.x.items())
    others = importance * value(loss, score, example.label)
    a, b = loss.slope_bound()
    length = sum(x * x for x in example.x.values())
    near = float(((other - w) ** 2).sum() - ((other - then) ** 2).sum())
    return Step(
        left=(1.0 - 0.5 * a * importance * length * rate) * own + float(gravity @ np.abs(then)),
        right=others
        + float(gravity @ np.abs(other))
        + 0.5 * rate * b * importance**2 * length
        + near / (2.0 * rate),
    )
