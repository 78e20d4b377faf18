"""The certificate of a run: both sides of the regret bound of Theorem 3.1."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dwindle.algorithm.clock import Clock
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import Shrinkage, is_truncation
from dwindle.algorithm.updates import Audited, Plain
from dwindle.engine import kernels
from dwindle.engine.learner import Learner
from dwindle.engine.table import Table
from dwindle.features.batch import Batch
from dwindle.features.keys import key_of


class Certificate(NamedTuple):
    """Theorem 3.1 for one run and one comparator; the theorem says that ``left <= right``.

    left  = (1 - A eta / 2) loss + penalty
    right = eta B / 2 + |comparator|^2 / (2 eta T) + comparator_loss + comparator_penalty

    ``loss`` is the mean loss of the run, measured before learning, and ``penalty`` the mean of
    g_i |w_i I(|w_i| <= theta)|_1 at its predictions. ``comparator_penalty`` charges the comparator
    for the same coordinates at the same moments.

    Rates eta_i that decay weigh the means. Lemma A.1 holds for each step with its own rate; times
    eta_i, and added up, with S the sum of all eta_i,

    left  = sum of eta_i (1 - A eta_i / 2) L_i / S + penalty
    right = B sum of eta_i^2 / (2 S) + |comparator|^2 / (2 S) + comparator_loss + comparator_penalty

    ``learning_rate`` is the largest rate.
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
    learning_rate: float

    @property
    def vacuous(self) -> bool:
        """Whether A eta >= 2: then the loss of the run counts for nothing, or against it."""
        return self.A * self.learning_rate >= 2.0

    @property
    def holds(self) -> bool:
        """Whether the bound holds, up to rounding."""
        return self.left <= self.right + 1e-9 * max(1.0, abs(self.right))


def certify(
    batches: Iterable[Batch],
    comparator: Mapping[str, float],
    *,
    comparator_intercept: float = 0.0,
    loss: Any,
    shrinkage: Shrinkage,
    learning_rate: float | Schedule,
    intercept: bool = True,
    normalize: bool = False,
    max_live: int | None = None,
) -> Certificate:
    """Run the paper's algorithm on a stream; return both sides of its regret bound.

    The gravity before the prediction of step i + 1 is the theorem's g_i, and the last one is 0: so
    the theorem's weights are those that predicted. The intercept is one more coordinate, without
    gravity. An example of importance h has the loss h phi. A budget of ``max_live`` features adds
    gravities of single coordinates, for which the theorem holds too: the comparator is charged for
    those coordinates that it has. ``learning_rate`` may be a `Schedule`; a decay after each pass is
    left out, as the batches are one pass.

    >>> batch = Batch.from_dicts([{"a": 1}, {"b": 1}, {"a": 1}, {"b": 1}], [1, -1, 1, -1])
    >>> from dwindle import Logistic, Truncation
    >>> settings = {"loss": Logistic(), "shrinkage": Truncation(gravity=0.01), "learning_rate": 0.5}
    >>> certify([batch], {"a": 1, "b": -1}, **settings).holds
    True
    """
    _check_applies(loss, shrinkage)
    settings = {"intercept": intercept, "normalize": normalize}
    schedule = Schedule.of(learning_rate)
    learner = Learner(loss, shrinkage, Audited(), schedule, **settings)
    budget = _Budget(Learner(loss, shrinkage, Plain(), schedule, **settings, max_live=max_live))
    values = kernels.values.of(loss)
    own = other = own_again = 0.0  # sums of losses times the rate, and of the first, times it again
    a_max = b_max = 0.0  # the largest h |x|^2 and h^2 |x|^2
    for batch in batches:
        prediction = learner.learn(batch) if max_live is None else budget.lead(learner, batch)
        label, h = learner.checked_labels(batch)
        n = np.diff(batch.start)
        spread = np.maximum(n + float(intercept), 1.0) ** -0.5 if normalize else np.ones(len(n))
        row = np.repeat(np.arange(len(n)), n)
        norm = _squared_norms(batch, row) + float(intercept)
        terms = _look_up(comparator, batch.key) * batch.x
        constant = comparator_intercept * float(intercept)
        base = 0.0 if batch.base is None else batch.base
        rival = base + spread * (np.bincount(row, terms, len(n)) + constant)
        step = learner.n_steps - np.count_nonzero(h) + np.cumsum(h > 0)
        rate = schedule.rates(step, 0)
        losses = h * values(learner.loss, prediction, label)
        own += float(rate @ losses)
        own_again += float(rate**2 @ losses)
        other += float((rate * h) @ values(learner.loss, rival, label))
        a_max = max(a_max, float((h * spread**2 * norm).max(initial=0.0)))
        b_max = max(b_max, float((h**2.0 * spread**2 * norm).max(initial=0.0)))

    a, b = loss.slope_bound()
    big_a, big_b = a * a_max, b * b_max
    rates = schedule.rates(np.arange(1, max(learner.n_steps, 1) + 1), 0)
    total = float(rates.sum())
    penalty, comparator_penalty = _penalties(learner, comparator, rates)
    penalty /= total
    comparator_penalty /= total
    length = sum(w * w for w in comparator.values()) + comparator_intercept**2 * float(intercept)
    return Certificate(
        left=(own - 0.5 * big_a * own_again) / total + penalty,
        right=0.5 * big_b * float((rates**2).sum()) / total
        + length / (2.0 * total)
        + other / total
        + comparator_penalty,
        loss=own / total,
        penalty=penalty,
        comparator_loss=other / total,
        comparator_penalty=comparator_penalty,
        A=big_a,
        B=big_b,
        n_examples=learner.n_steps,
        learning_rate=float(rates.max()),
    )


def _check_applies(loss: Any, shrinkage: Shrinkage) -> None:
    """Refuse what Theorem 3.1 is not about."""
    if not is_truncation(shrinkage):
        raise TypeError(f"Theorem 3.1 is about truncated gradient, not {shrinkage}")
    if not hasattr(loss, "slope_bound"):
        raise TypeError(
            f"Theorem 3.1 needs A and B with |gradient|^2 <= A L + B: {loss} has no slope_bound()"
        )


def _squared_norms(batch: Batch, row: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return |x|^2 of each example; a feature that is in it twice is one coordinate, the sum."""
    _, column = np.unique(batch.key, return_inverse=True)
    n_columns = int(column.max(initial=0)) + 1
    entry, place = np.unique(row * n_columns + column, return_inverse=True)
    x = np.bincount(place, batch.x.astype(np.float64))
    return np.bincount(entry // n_columns, x**2, batch.n_examples).astype(np.float64)


def _look_up(comparator: Mapping[str, float], key: NDArray[Any]) -> NDArray[np.float64]:
    """Return the comparator's weight of each key, 0 if it has none."""
    known = np.array([key_of(name) for name in comparator] or [0], np.uint64)
    weight = np.array(list(comparator.values()) or [0.0], np.float64)
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known, key, sorter=order), len(known) - 1)
    found = order[place]
    return np.where(known[found] == key, weight[found], 0.0)


class _Budget:
    """A learner with a budget, whose evictions are repeated by a learner with `Audited`.

    The latter must forget nothing, so it cannot keep the budget itself.
    """

    def __init__(self, leader: Learner) -> None:
        self._leader = leader
        self._table = _RecordingTable(
            leader.shrinkage, leader.update, leader.clock, leader.max_live
        )
        leader.table = self._table

    def lead(self, learner: Learner, batch: Batch) -> NDArray[np.float64]:
        """Learn from the batch, with the evictions of the budget; return the predictions."""
        step = learner.n_steps + np.cumsum(batch.importances() > 0)  # number, after each example
        self._leader.learn(batch)
        predictions, done = [], 0
        for n_steps, left in self._table.evictions:
            until = int(np.searchsorted(step, n_steps, side="right"))
            predictions.append(learner.learn(batch.rows(done, until)))
            _keep_only(learner, left)
            done = until
        self._table.evictions.clear()
        predictions.append(learner.learn(batch.rows(done, batch.n_examples)))
        return np.concatenate(predictions)


class _RecordingTable(Table):
    """A table that records its evictions: after which step, and the keys that were left."""

    def __init__(self, shrinkage: Any, update: Any, clock: Clock, max_live: int | None) -> None:
        super().__init__(shrinkage, update, clock, max_live)
        self.evictions: list[tuple[int, NDArray[np.uint64]]] = []

    def evict(self, most: int) -> None:
        super().evict(most)
        self.evictions.append((self.clock.n_steps, self.cells["key"][self.cells["key"] != 0]))


def _keep_only(learner: Learner, left: NDArray[np.uint64]) -> None:
    """Pull all weights but these to zero, each by a gravity of its own.

    The run's penalty does not grow, as these weights are zero then; the comparator's does, as for
    pulls that were not spared it.
    """
    table, clock = learner.table, learner.clock
    table.settle(clock.now, clock.size)
    gone = (table.cells["key"] != 0) & ~np.isin(table.cells["key"], left)
    table.cells["spared"][gone] -= np.abs(table.cells["weight"][gone])
    table.cells["weight"][gone] = 0.0


def _penalties(
    learner: Learner, comparator: Mapping[str, float], rates: NDArray[np.float64]
) -> tuple[float, float]:
    """Sum g_i |w| and g_i |comparator|, each times the rate and where |w| <= theta."""
    clock, table = learner.clock, learner.table
    table.settle(clock.now, clock.size)
    every = learner.shrinkage.truncate_every
    moments = learner.shrinkage.pull(rates)[every - 1 : learner.n_steps : every]
    # A pull before step 1 belongs to no w_i, and finds all weights at 0.
    pulled = float(moments[1:].sum() if every == 1 else moments.sum())
    full = table.cells[table.cells["key"] != 0]
    key = full["key"] - np.uint64(1)
    spared = dict(zip(key.tolist(), full["spared"].tolist(), strict=True))
    charged = sum(
        abs(w) * (pulled - spared.get(key_of(name), 0.0)) for name, w in comparator.items()
    )
    return float(full["penalty"].sum()), charged
