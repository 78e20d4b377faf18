"""The certificate of a run: both sides of the regret bound, Theorem 3.1."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dwindle import kernels
from dwindle.batch import Batch
from dwindle.clock import Clock
from dwindle.hashing import key_of
from dwindle.learner import Learner
from dwindle.schedules import Schedule
from dwindle.shrinkage import Truncation, Unshrunk
from dwindle.updates import Audited, Plain


class Certificate(NamedTuple):
    """Theorem 3.1 for one run and one comparator; the theorem says that ``left <= right``.

    left  = (1 - A eta / 2) loss + penalty
    right = eta B / 2 + |comparator|^2 / (2 eta T) + comparator_loss + comparator_penalty

    ``loss`` is the mean loss of the run, measured before learning, and ``penalty`` the mean of
    g_i |w_i I(|w_i| <= theta)|_1 at its predictions. ``comparator_penalty`` charges the comparator
    for the same coordinates at the same moments.
    """

    left: float
    right: float
    loss: float
    penalty: float
    comparator_loss: float
    comparator_penalty: float
    A: float
    B: float
    n_examples: int

    @property
    def holds(self) -> bool:
        """Whether the run kept the theorem's promise, up to rounding."""
        return self.left <= self.right + 1e-9 * max(1.0, abs(self.right))


def certify(
    batches: Iterable[Batch],
    comparator: Mapping[str, float],
    *,
    comparator_intercept: float = 0.0,
    loss: Any,
    shrinkage: Any,
    rate: float,
    intercept: bool = True,
    scaled: bool = False,
    max_live: int | None = None,
) -> Certificate:
    """Run the paper's algorithm on a stream; returns both sides of its bound.

    The gravity that Algorithm 1 exerts before step i + 1's prediction is the theorem's g_i, and its
    last one is 0, so the weights the theorem speaks of are those that predicted. The intercept is
    one more coordinate, with no gravity. An example of importance h has the loss h phi. The theorem
    is about any sequence of gravities, and so about the one that a budget of ``max_live`` features
    comes to on this stream.

    >>> batch = Batch.from_dicts([{"a": 1}, {"b": 1}, {"a": 1}, {"b": 1}], [1, -1, 1, -1])
    >>> from dwindle import Logistic
    >>> settings = {"loss": Logistic(), "shrinkage": Truncation(gravity=0.01), "rate": 0.5}
    >>> certify([batch], {"a": 1, "b": -1}, **settings).holds
    True
    """
    if not isinstance(shrinkage, Truncation | Unshrunk):
        raise TypeError(f"Theorem 3.1 is about truncated gradient, not {shrinkage}")
    if not hasattr(loss, "slope_bound"):
        raise TypeError(
            f"Theorem 3.1 needs A and B with |gradient|^2 <= A L + B: {loss} has no slope_bound()"
        )
    learner = Learner(loss, shrinkage, Audited(), float(rate), intercept=intercept, scaled=scaled)
    leader = Learner(
        loss, shrinkage, Plain(), float(rate), intercept=intercept, scaled=scaled, max_live=max_live
    )
    steering = _Steering(leader)
    values = kernels.values.of(loss)
    own = other = 0.0  # sums of losses
    a_max = b_max = 0.0  # the largest h |x|^2 and h^2 |x|^2
    for batch in batches:
        prediction = learner.learn(batch) if max_live is None else steering.lead(learner, batch)
        label, h = learner.lessons(batch)
        n = np.diff(batch.start)
        spread = np.maximum(n + float(intercept), 1.0) ** -0.5 if scaled else np.ones(len(n))
        row = np.repeat(np.arange(len(n)), n)
        norm = _squared_norms(batch, row) + float(intercept)
        terms = _look_up(comparator, batch.key) * batch.x
        constant = comparator_intercept * float(intercept)
        base = 0.0 if batch.base is None else batch.base
        rival = base + spread * (np.bincount(row, terms, len(n)) + constant)
        own += float(h @ values(learner.loss, prediction, label))
        other += float(h @ values(learner.loss, rival, label))
        a_max = max(a_max, float((h * spread**2 * norm).max(initial=0.0)))
        b_max = max(b_max, float((h**2.0 * spread**2 * norm).max(initial=0.0)))

    a, b = loss.slope_bound()
    big_a, big_b = a * a_max, b * b_max
    total = max(learner.n_steps, 1)
    pulled = None if max_live is None else leader.clock.now
    penalty, comparator_penalty = _penalties(learner, comparator, pulled)
    penalty /= rate * total
    comparator_penalty /= rate * total
    length = sum(w * w for w in comparator.values()) + comparator_intercept**2 * float(intercept)
    return Certificate(
        left=(1.0 - 0.5 * big_a * rate) * own / total + penalty,
        right=0.5 * rate * big_b
        + length / (2.0 * rate * total)
        + other / total
        + comparator_penalty,
        loss=own / total,
        penalty=penalty,
        comparator_loss=other / total,
        comparator_penalty=comparator_penalty,
        A=big_a,
        B=big_b,
        n_examples=learner.n_steps,
    )


def _squared_norms(batch: Batch, row: NDArray[np.int64]) -> NDArray[np.float64]:
    """|x|^2 of each example; a feature that comes twice in it is one coordinate, the sum."""
    _, column = np.unique(batch.key, return_inverse=True)
    shape = (batch.n_examples, int(column.max(initial=0)) + 1)
    summed = csr_array((batch.x.astype(np.float64), (row, column)), shape=shape)
    return np.asarray(summed.multiply(summed).sum(axis=1)).ravel()


def _look_up(comparator: Mapping[str, float], key: NDArray[Any]) -> NDArray[np.float64]:
    """The comparator's weight of each key; 0 where it has none."""
    known = np.array([key_of(name) for name in comparator] or [0], np.uint64)
    weight = np.array(list(comparator.values()) or [0.0], np.float64)
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known, key, sorter=order), len(known) - 1)
    found = order[place]
    return np.where(known[found] == key, weight[found], 0.0)


class _Steering:
    """What a budget tells the clock of a run, for the clock of another that keeps the books.

    The budget is kept by a learner that forgets what has died; with books nothing is forgotten.
    """

    def __init__(self, leader: Learner) -> None:
        old = leader.clock
        self._leader = leader
        self._clock = _Recording(old.schedule, old.shrinkage, counts_moments=old.counts_moments)
        leader.clock = leader.table.clock = self._clock

    def lead(self, learner: Learner, batch: Batch) -> NDArray[np.float64]:
        """Learn from the batch, pulled as the budget has it; returns the predictions."""
        step = learner.n_steps + np.cumsum(batch.importances() > 0)  # made, after each example
        self._leader.learn(batch)
        predictions, done = [], 0
        for n_steps, owed, added in self._clock.told:
            until = int(np.searchsorted(step, n_steps, side="right"))
            predictions.append(learner.learn(batch.rows(done, until)))
            _pull(learner, owed, added)
            done = until
        self._clock.told.clear()
        predictions.append(learner.learn(batch.rows(done, batch.n_examples)))
        return np.concatenate(predictions)


class _Recording(Clock):
    """A clock that remembers what it was told: after which step, the pull, the gravity added."""

    def __init__(self, schedule: Schedule, shrinkage: Any, *, counts_moments: bool) -> None:
        super().__init__(schedule, shrinkage, counts_moments=counts_moments)
        self.told: list[tuple[int, float, float]] = []

    def pull(self, owed: float) -> None:
        super().pull(owed)
        self.told.append((self.n_steps, owed, self.added))

    def steer(self, missing: float) -> None:
        super().steer(missing)
        self.told.append((self.n_steps, 0.0, self.added))


def _pull(learner: Learner, owed: float, added: float) -> None:
    """All weights are pulled at once, and the gravity is another from here on.

    It is one pull with that of the next step, if that is a moment: both are charged for the weight
    that both leave.
    """
    clock, table = learner.clock, learner.table
    table.settle(clock.now, clock.size)
    clock.set(**(clock.state | {"added": added}))
    clock.open()
    following = clock.size if (clock.n_steps + 1) % learner.shrinkage.every == 0 else 0.0
    cells = table.cells[table.cells["key"] != 0]
    weight = cells["weight"]
    cells["penalty"] += owed * np.maximum(np.abs(weight) - owed - following, 0.0)
    cells["weight"] -= np.clip(weight, -owed, owed)
    table.cells[table.cells["key"] != 0] = cells


def _penalties(
    learner: Learner, comparator: Mapping[str, float], pulled: float | None
) -> tuple[float, float]:
    """Times the rate: the sums of g_i |w| and of g_i |comparator|, each over I(|w| <= theta).

    ``pulled`` is all the pull of a run with a budget: it has no theta, so all have felt all of it.
    """
    clock, table = learner.clock, learner.table
    table.settle(clock.now, clock.size)
    own = getattr(learner.shrinkage, "gravity", 0.0) * learner.schedule.rate
    # Before step 1 there is no w_i for a pull to be charged to: all weights are 0 already.
    uncharged = own if learner.shrinkage.every == 1 and learner.n_steps else 0.0
    full = table.cells[table.cells["key"] != 0]
    exposure: dict[int, float] = {}
    if pulled is None:
        key = full["key"] - np.uint64(1)
        exposure = dict(zip(key.tolist(), full["exposure"].tolist(), strict=True))
        pulled = clock.now * clock.size
    charged = sum(
        abs(w) * (exposure.get(key_of(name), pulled) - uncharged) for name, w in comparator.items()
    )
    return float(full["penalty"].sum()), charged
