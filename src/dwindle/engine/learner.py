"""The learner: it runs the algorithm on examples, with a clock and a table of live features."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from os import PathLike
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dwindle._base.dispatch import exact
from dwindle._base.errors import DataError, DivergedError
from dwindle._base.interrupts import Held
from dwindle.algorithm.adaptive import Adaptive
from dwindle.algorithm.clock import Clock
from dwindle.algorithm.losses import Logistic, has_probabilities
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import Shrinkage, Truncation
from dwindle.algorithm.updates import Update, centres, default_learning_rate, eviction_report
from dwindle.engine import kernels
from dwindle.engine.explain import Explanation, explained
from dwindle.engine.fours import in_kernels
from dwindle.engine.label_scale import LabelScale, own_unit
from dwindle.engine.learn_one import (
    CROWDED,
    DICTS,
    DIVERGED,
    LEARNED,
    LEARNED_AND_CROWDED,
    LEARNED_AND_FULL,
    NO_ROOM,
    NUMBERS,
    FastPath,
    Parts,
)
from dwindle.engine.learner_state import PlainData
from dwindle.engine.table import Table, empty_cells
from dwindle.engine.validation import check_labels, check_settings
from dwindle.features.batch import Batch, Features
from dwindle.features.names import shown
from dwindle.jit.compile import in_class

ONCE = 1.0  # the importance of an example, unless it is told


class Lesson(NamedTuple):
    """A batch as kernels learn from it: what they read, and arrays for them to fill."""

    batch: Batch
    label: NDArray[np.float32]
    importance: NDArray[np.float32]
    base: NDArray[np.float32]  # added to each prediction
    slots: NDArray[np.uint64]  # scratch: where the cells of an example's features are
    fresh: NDArray[np.int64]  # which features are new
    prediction: NDArray[np.float64]


class Learner(PlainData):
    """A sparse linear model that learns from a stream, by the paper's Algorithm 1 and relatives.

    At step i, after all weights w_i were pulled toward zero: predict p = w_i . x + intercept,
    observe y, then w_{i+1} = w_i - eta_i phi'(p, y) x. The time per example is proportional to its
    features, the memory to the most features alive at once, and the weights do not depend on how
    the stream is divided into batches.

    ``learning_rate`` is a number or a `Schedule`; None is the update's default: 0.6 for `Adaptive`,
    0.8 for `FTRL`, 1.5 for `RDA`, 0.3 for the others. ``normalize`` divides predictions by the
    square root of the number of non-zero entries, the intercept included, as in section 5. The
    intercept is never shrunk.
    ``max_live`` is a budget: beyond it the features worth least are evicted; see
    `eviction_report`. ``scale_labels`` learns labels in units of their deviation from their mean;
    predictions and weights are in their own unit; see `label_scale`.
    Threads may share a learner: those that learn take turns.

    >>> shrinkage = Truncation(gravity=1e-4, truncate_every=10)
    >>> learner = Learner(loss=Logistic(), shrinkage=shrinkage, learning_rate=0.1)
    >>> learner.learn_one({"color=red": 1, "price": 3.5}, 1)
    0.0
    >>> learner.learn_one({"color=blue": 1, "price": 9.0}, -1) > 0
    True
    >>> sorted(learner.weights())
    ['color=blue', 'color=red', 'price']
    """

    # `model.checkpoint` sets these: the engine knows nothing of files and pages.
    _repr_html_: ClassVar[Callable[[Self], str]]
    save: ClassVar[Callable[[Self, str | PathLike[str]], int]]
    load: ClassVar[Callable[[str | PathLike[str]], "Learner"]]

    def __init__(
        self,
        loss: Any = Logistic(),
        shrinkage: Shrinkage = Truncation(),
        update: Update = Adaptive(),
        learning_rate: float | Schedule | None = None,
        *,
        intercept: bool = True,
        normalize: bool = False,
        max_live: int | None = None,
        scale_labels: bool = False,
    ) -> None:
        rate = default_learning_rate(update) if learning_rate is None else learning_rate
        schedule: Schedule = exact(Schedule.of(rate))
        check_settings(loss, shrinkage, update, schedule, max_live, scale_labels=scale_labels)
        self.loss = exact(loss)
        self.shrinkage = exact(shrinkage)
        self.update = exact(update)
        self.schedule = schedule
        self.has_intercept = intercept
        self.normalize = normalize
        self.max_live = max_live
        self.label_scale = LabelScale(scaled=scale_labels, centred=intercept and not normalize)
        counts_moments = any(getattr(i, "counts_moments", False) for i in (shrinkage, update))
        self.clock = Clock(schedule, self.shrinkage, counts_moments=counts_moments)
        self.table = Table(self.shrinkage, self.update, self.clock, max_live)
        self.bias = empty_cells(self.update, 1)
        ingredients = self.loss, self.shrinkage, in_kernels(self.update, self.shrinkage)
        self._parts = Parts(self.bias, float(intercept), normalize, *ingredients)
        self._learn = in_class(kernels.learn.of(*ingredients))
        self._predict = in_class(kernels.predict.of(self.shrinkage, self.update))
        self._fast = FastPath(self._parts, self.label_scale)
        self._link = self.loss.link if has_probabilities(self.loss) else None

    def __repr__(self) -> str:
        if_set = {"max_live", "scale_labels"}
        known = self.arguments().items()
        parts = (f"{name}={value}" for name, value in known if value or name not in if_set)
        return f"{type(self).__name__}({', '.join(parts)})"

    def __len__(self) -> int:
        """Count the live features: those whose weight is not zero."""
        return len(self.table)

    @property
    def n_steps(self) -> int:
        """The number of examples learned from so far."""
        return self.clock.n_steps

    @property
    def n_seen(self) -> int:
        """An estimate of the distinct features seen so far."""
        return self.table.n_seen

    @property
    def peak_live(self) -> int:
        """The most features that were alive at once."""
        return self.table.peak

    def eviction_report(self) -> dict[str, float]:
        """Describe the last eviction of the budget; empty if there was none.

        ``gravity`` is the one that would have brought the same features to zero in the steps since
        the eviction before. With `FTRL` and `RDA` it is ``absence``: the most steps that a feature
        could be absent, for each time that it was seen, up to 10, and each unit of its squared
        gradients.
        """
        _, steps, least = self.table.last_eviction
        if not steps:
            return {}
        [rate] = self.schedule.rates(np.array([self.n_steps]), self.clock.passes)
        return eviction_report(self.update, self.shrinkage, float(rate), steps, least)

    @property
    def intercept(self) -> float:
        """The weight of the constant 1; never shrunk."""
        nothing = np.zeros(2, np.int64), np.empty(0, np.uint64), np.empty(0, np.float32)
        return float(
            self._predicted(Batch(*nothing), constant=self.has_intercept, normalize=False)[0]
        )

    def weights(self) -> dict[str, float]:
        """Return the weight of each live feature by name, without the intercept."""
        key, weight = self.weight_of_keys()
        names = map(shown, self.table.names.of(key))
        return dict(zip(names, weight.tolist(), strict=True))

    def weight_of_keys(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Return the keys of all live features, and their weights."""
        key, weight = self.table.weights()
        return key, weight * self.label_scale.unit

    def learn(self, batch: Batch) -> NDArray[np.float64]:
        """Predict, then learn from, each example in order; return the predictions.

        A label that the loss is not defined for is refused before anything is learned.
        """
        label, importance = self.checked_labels(batch)
        base, scale = base_of(batch), self.label_scale
        prediction = np.zeros(batch.n_examples)
        if scale.scaled:
            label, moments = scale.standard(label, importance, base)
        taken = np.zeros_like(base) if scale.scaled else base
        longest = self._longest(batch, importance)
        slots, fresh = np.empty(longest, np.uint64), np.empty(0, np.int64)
        lesson = Lesson(batch, label, importance, taken, slots, fresh, prediction)
        with self._fast.turn(), Held() as interrupt:
            i = 0
            while i < batch.n_examples and not interrupt.asked:
                room = min(self.table.room, len(batch.key))  # for the most new features
                if len(lesson.fresh) < room:
                    lesson = lesson._replace(fresh=self.table.scratch(room))
                i = self._learn_from(i, lesson)
                if scale.scaled:
                    scale.moments[:] = moments[i]
        if scale.scaled:
            own_unit(moments, base, prediction)
        return prediction

    def _longest(self, batch: Batch, importance: NDArray[np.float32]) -> int:
        """Return the most features of an example; refuse more than the budget allows."""
        n, first = kernels.longest(batch.start, importance)
        if n > self.table.max_live:
            raise DataError(
                f"the example has {n:,} features, more than max_live = {self.max_live:,} "
                "(of several classes, the share of each)",
                first,
            )
        return int(n)

    def _learn_from(self, i: int, lesson: Lesson) -> int:
        """Learn from example i on, until the kernel needs more room; return the next example."""
        batch, prediction = lesson.batch, lesson.prediction
        i, self.clock.at, n_fresh = self._run(i, lesson)
        is_crowded = n_fresh < 0
        self.table.enter(batch, lesson.fresh[: ~n_fresh if is_crowded else n_fresh])
        if is_crowded:
            self.table.spread()
        elif i < batch.n_examples:
            if not np.isfinite(prediction[i]):
                raise self._diverged(prediction[i], i)
            self._make_room(int(batch.start[i + 1] - batch.start[i]))
        return i

    def _run(self, i: int, lesson: Lesson) -> tuple[int, int, int]:
        """Run the kernel from example i on; return what it returns."""
        batch, label, importance, base, *filled = lesson
        clock, table = self.clock, self.table
        found: tuple[int, int, int] = self._learn.run(
            *(i, batch.start, batch.key, batch.x, label, importance, base),
            *(clock.before, clock.at, clock.rate, clock.pulled, clock.size),
            *(table.cells, table.mixer, table.room, *self._parts, *filled),
        )
        return found

    def learn_one(self, features: Features, label: float, importance: float = ONCE) -> float:
        """Predict, then learn from, one example; return the prediction."""
        fast, clock, table = self._fast, self.clock, self.table
        if (
            type(features) in DICTS
            and type(label) in NUMBERS
            and (importance is ONCE or type(importance) in NUMBERS)
            and (label in fast.labels or fast.accepts(label))
        ):
            if len(features) > fast.room:
                fast.make_room(2 * len(features))
                table.names.expect(fast.room)
            code = fast.learn or fast.compile_learn(clock, table)
            address = id(features)  # no thread may switch after `packed`, as it might at a call
            packed = fast.packed(clock, table)
            outcome, p = code.run(address, label, importance, packed)
            if outcome == LEARNED:
                return p
            if outcome == LEARNED_AND_FULL:
                table.names.expect(fast.room)
                return p
            if outcome in CROWDED:
                with fast.turn(), Held():
                    table.spread()
                is_learned = outcome == LEARNED_AND_CROWDED
                return p if is_learned else self.learn_one(features, label, importance)
            if outcome == DIVERGED:
                raise self._diverged(p, 0)
            if outcome == NO_ROOM and p <= table.max_live:
                self._make_room(int(p))
                return self.learn_one(features, label, importance)
            table.names.expect(fast.room)
        return float(self.learn(Batch.from_dicts([features], [label], [importance]))[0])

    def _make_room(self, n: int) -> None:
        """Make room for an example of n features, in the clock or in the table.

        Only now does the clock open a window: so no prediction depends on where a batch ended.
        """
        with self._fast.turn(), Held():
            if self.clock.spent:
                self._open_window()
            else:
                self.table.make_room(n)

    def predict(self, batch: Batch) -> NDArray[np.float64]:
        """Predict each example, before any link; changes nothing."""
        return self._predicted(batch, constant=self.has_intercept, normalize=self.normalize)

    def predict_one(self, features: Features) -> float:
        """Predict one example; changes nothing."""
        fast, clock, table = self._fast, self.clock, self.table
        if type(features) in DICTS:
            if len(features) > fast.room:
                fast.make_room(2 * len(features))
            code = fast.predict or fast.compile_predict(clock, table)
            address = id(features)  # as in `learn_one`
            packed = fast.packed(clock, table)
            predicted, p = code.run(address, packed)
            if predicted:
                return p
        return float(self._predicted_at_once(Batch.from_dicts([features]))[0])

    def _predicted_at_once(self, batch: Batch) -> NDArray[np.float64]:
        """Predict as `predict_one` does."""
        return self.predict(batch)

    def predict_proba_one(self, features: Features) -> dict[int, float]:
        """Return the probability of each label of one example, -1 and 1; changes nothing."""
        if self._link is None:
            name = type(self.loss).__name__
            raise DataError(
                f"probabilities need a loss of two classes with a link, as Logistic; not {name}"
            )
        positive = self._link(self.predict_one(features))
        return {-1: 1.0 - positive, 1: positive}

    def explain(self, x: Features | Batch) -> Explanation:
        """Tell what each live feature of one example adds to its prediction, the largest first.

        >>> learner = Learner(learning_rate=0.1)
        >>> _ = learner.learn_one({"price": 3.5, "color": "red"}, 1)
        >>> list(learner.explain({"price": 7, "color": "red", "size": 2}).contributions)
        ['price', 'color=red']
        """
        return explained(
            x,
            self.predict,
            lambda batch: self._predicted(batch, constant=False, normalize=False),
            self.intercept,
            float(self.has_intercept) if self.normalize else None,
        )

    def next_pass(self) -> None:
        """Begin a new pass over the data: multiply the rate by the schedule's pass_decay."""
        with self._fast.turn(), Held():
            self._open_window(next_pass=True)

    def begin_passes(self) -> None:
        """Count passes anew: what comes next was not learned from before."""
        self.clock.set(**self.clock.state | {"passes": 0})

    def cooldown(self, n_steps: int = 1) -> None:
        """Take steps without examples: gravity pulls, nothing is learned.

        Algorithm 1 pulls before it predicts, so the pull after the last examples is still due. At
        the end of a run, ``cooldown(K)`` is that pull, which section 3 has in the last update. A
        longer cooldown removes weights that only the last examples made: with K = 1 gravity takes
        some 1/g steps to undo a step, deserved or not.
        """
        with self._fast.turn(), Held() as interrupt:
            before = self.n_steps
            while n_steps > 0 and not interrupt.asked:
                if self.clock.spent:
                    self._open_window()
                n_steps -= self.clock.skip(n_steps)
            if centres(self.update) and self.n_steps > before:
                self.bias["weight"] += self.table.settle_at_the_mean()

    @contextmanager
    def after_cooldown(self, n_steps: int) -> Iterator["Learner"]:
        """Yield the learner as `cooldown` would leave it, to look at; then undo it."""
        if centres(self.update) or (self.clock.counts_moments and self.schedule.power_t):
            copy = deepcopy(self)  # all weights are settled
            copy.cooldown(n_steps)
            yield copy
            return
        before = vars(self.clock) | {"position": self.clock.position.copy()}
        self.cooldown(n_steps)
        try:
            yield self
        finally:
            vars(self.clock).update(before)

    def sweep(self) -> None:
        """Forget the features whose weight has come to zero.

        The table does so by itself when it runs full. With the adaptive update a feature that is
        swept and seen again starts with a fresh rate, and within a budget the room that a sweep
        makes delays the next eviction; otherwise sweeping never changes a weight. `FTRL` and `RDA`
        forget only within a budget.
        """
        with self._fast.turn(), Held():
            self.table.sweep()

    def _predicted(self, batch: Batch, *, constant: bool, normalize: bool) -> NDArray[np.float64]:
        """Predict each example, with or without the intercept."""
        prediction = np.empty(batch.n_examples)
        clock, scale, base = self.clock, self.label_scale, base_of(batch)
        at, scaled = clock.at, scale.scaled
        self._predict.run(
            *(batch.start, batch.key, batch.x, np.zeros_like(base) if scaled else base),
            *(clock.pulled[at], clock.size, clock.before + at, self.table.cells, self.table.mixer),
            *(self.bias, float(constant), normalize, self.shrinkage, self.update, prediction),
        )
        if scaled:
            return base + (scale.mean * constant + scale.unit * prediction)
        return prediction

    def _diverged(self, prediction: float, i: int) -> DivergedError:
        return DivergedError(
            f"the prediction is {prediction}; lower the rate "
            f"(it is {self.clock.rate[self.clock.at]:g}) or scale the features",
            i,
        )

    def checked_labels(self, batch: Batch) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the labels and importances, if the loss is defined for them."""
        if batch.label is None:
            raise DataError("there is nothing to learn: the batch has no labels")
        importance = batch.importances()
        check_labels(self.loss, batch.label, importance)
        return batch.label, importance

    def _open_window(self, *, next_pass: bool = False) -> None:
        """Open the clock's next window; settle every weight if a moment's size changes there."""
        clock = self.clock
        now, size = clock.now, clock.size
        if next_pass:
            clock.next_pass()
        else:
            clock.open()
        if clock.counts_moments and clock.size != size:
            self.table.settle(now, size)


def base_of(batch: Batch) -> NDArray[np.float32]:
    """Return what is added to each prediction."""
    return np.zeros(batch.n_examples, np.float32) if batch.base is None else batch.base
