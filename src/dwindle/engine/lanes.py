"""A learner of several gravities at once: a whole path of models, of which one is chosen."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dwindle._base.dispatch import exact
from dwindle._base.interrupts import Held
from dwindle.algorithm.clock import Clock
from dwindle.algorithm.dual_averaging import RDA
from dwindle.algorithm.losses import Logistic, has_probabilities
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.sigmas import AUTOMATIC, Sigmas
from dwindle.algorithm.updates import Update, default_learning_rate
from dwindle.engine import lane_kernels
from dwindle.engine.explain import Explanation, explained
from dwindle.engine.label_scale import LabelScale
from dwindle.engine.lane_learn_one import LaneParts
from dwindle.engine.lane_memory import Moment, begun, statistics_of
from dwindle.engine.lane_scores import Choice, Lane, LaneScores
from dwindle.engine.lane_settings import check_lanes, in_lanes
from dwindle.engine.lane_time import LaneTime
from dwindle.engine.lane_updates import LaneFTRL, SweepView, centring, lane_record
from dwindle.engine.learn_one import FastPath
from dwindle.engine.learner import Learner, Lesson, base_of
from dwindle.engine.state_checks import check_lane_state
from dwindle.engine.table import Table, empty_cells
from dwindle.features.batch import Batch, Features

FORGETS = 2**20  # cells of a table from which on features that no gravity holds may be forgotten


class LaneLearner(Learner):
    """A learner with a lane for each of several gravities, which go through the data together.

    All lanes predict and learn from every example in one walk; see `lane_updates`. A prediction is
    that of the lane that was best so far. The model is that of the lane that `choice` chooses, by
    the predictions of the first pass; `frontier` lists them all.

    >>> learner = LaneLearner()
    >>> for tells, noise in [(1, 1), (1, -1), (-1, -1), (-1, 1)] * 50:
    ...     _ = learner.learn_one({"tells": tells, "noise": noise}, tells)
    >>> list(learner.weights())
    ['tells']
    """

    def __init__(
        self,
        loss: Any = Logistic(),
        shrinkage: Sigmas = AUTOMATIC,
        update: Update = RDA(),
        learning_rate: float | Schedule | None = None,
        *,
        intercept: bool = True,
        normalize: bool = False,
        max_live: int | None = None,
        scale_labels: bool = False,
        choice: Choice = Choice(),
    ) -> None:
        rate = default_learning_rate(update) if learning_rate is None else learning_rate
        self.schedule: Schedule = exact(Schedule.of(rate))
        self.schedule.check()
        self._lane_update = in_lanes(update, shrinkage)
        self._centres = centring(self._lane_update)
        self._averages = isinstance(self._lane_update, LaneFTRL)  # nothing wears off
        about = {"intercept": intercept, "normalize": normalize, "scale_labels": scale_labels}
        check_lanes(loss, self._lane_update, choice, max_live, **about)
        self.shrinkage, self.update = exact(shrinkage), exact(update)
        self.loss, self.choice = exact(loss), choice
        self._logistic = type(self.loss).slope is Logistic.slope
        self.n_lanes = len(self.shrinkage.values)
        self.has_intercept, self.normalize, self.max_live = intercept, normalize, max_live
        self.label_scale = LabelScale(scaled=scale_labels, centred=intercept and not normalize)
        width = self._lane_update.n_lanes
        self._lanes = lane_record(width, self.shrinkage)
        self._state = np.zeros(6)
        self._best = np.zeros(1, np.int64)
        self._centred = np.zeros(0, np.uint64)
        self.clock = Clock(self.schedule, self.shrinkage, counts_moments=False)
        self._time = LaneTime(self.clock, self._state, self.shrinkage.by_noise)
        view: Any = SweepView(self._lanes, forgets=False)
        self.table = Table(view, self._lane_update, self._time, max_live)
        self.bias = empty_cells(self._lane_update, 1)
        self.bias["unit"] = 1.0
        self.scores = LaneScores(self.loss, self.n_lanes)
        self._link = self.loss.link if has_probabilities(self.loss) else None
        self._rows = np.dtype([("lane", "f4", (width,))])
        self._fast = FastPath(self._as_parts(), self.label_scale)
        self._held: LaneScores | None = None
        self._fold, self._n_folds = np.zeros(0, np.int64), 0
        self._look: tuple[Any, NDArray[np.int64], int] | None = None

    def _as_parts(self) -> LaneParts:
        """Return what it is made of, as `learn_one` takes it."""
        row, scores = np.empty(1, self._rows), self.scores
        parts: tuple[Any, ...] = (
            *(self.bias, float(self.has_intercept), self.normalize),
            *(self.shrinkage.by_noise, self.shrinkage.truncate_every),
            *(self._lanes, self._state, self._best, self._centred, self._logistic),
            *(self.loss, self._lane_update, self._lanes["slope"][0], row, row["lane"]),
            *(scores.ranks, scores.position, scores.weight, scores.total),
            *(scores.products, scores.count),
        )
        return LaneParts._make(parts)

    def _set_centred(self, centred: NDArray[np.uint64]) -> None:
        """Set the keys, plus one, of the features that are centred; a 0 stands for one no more."""
        self._centred = centred
        self._fast.parts = self._as_parts()

    def __len__(self) -> int:
        """Count the features that the chosen lane keeps."""
        return int(self._looked[1][self.lane])

    @property
    def best_so_far(self) -> int:
        """The lane that predicts best at present."""
        return int(self._best[0])

    @property
    def lane(self) -> int:
        """The lane that is the model: the best so far, until there are examples to judge by."""
        return self._looked[2] if self.scores.examples else self.best_so_far

    @property
    def judge(self) -> LaneScores:
        """The scores that the choice is made by."""
        return self.scores if self._held is None else self._held

    @contextmanager
    def judged_on(self, batches: Iterable[Batch]) -> Iterator[None]:
        """Choose by these examples, which were not learned from; then as before."""
        held = LaneScores(self.loss, self.n_lanes, whole=True)
        for batch in batches:
            label, importance = self.checked_labels(batch)
            held.add(self.predict_lanes(batch).astype(np.float32), label, importance)
        self._held = held
        try:
            yield
        finally:
            self._held = None

    def kept(self) -> NDArray[np.int64]:
        """Count the features that each lane keeps."""
        return self._looked[1].copy()

    @property
    def _looked(self) -> tuple[Any, NDArray[np.int64], int]:
        """The moment of the last look, how many features each lane kept, and the lane chosen."""
        # All that they depend on: it takes a walk through the table.
        time = self.n_steps, self._time.size
        moment = *time, self.scores.examples, self.table.used, self.choice, self._held
        if self._look is None or self._look[0] != moment:
            count = np.zeros(self.n_lanes, np.int64)
            lane_kernels.count_weights(
                *(self.table.cells, self._time.size, self._lanes, self._lane_update, count)
            )
            self._look = moment, count, self.judge.choose(self.choice, count)
        return self._look

    def frontier(self) -> list[Lane]:
        """List the lanes from the least gravity to the strongest."""
        kept, scores, metric = self.kept(), self.scores, self.judge.metric(self.choice)
        unit = self.label_scale.unit_of(self.loss)
        in_own_unit = metric == "auc" or self.judge is self._held
        judged = self.judge.judged(metric) * (1.0 if in_own_unit else unit)
        losses = scores.losses * unit
        columns = kept.tolist(), losses.tolist(), scores.aucs.tolist(), judged.tolist()
        return [
            Lane._make([*figures, k == self.lane])
            for k, figures in enumerate(zip(*self.shrinkage.pairs, *columns, strict=True))
        ]

    @property
    def intercept(self) -> float:
        """The weight of the constant 1; never shrunk."""
        return float(self.intercepts[self.lane])

    @property
    def intercepts(self) -> NDArray[np.float64]:
        """The weight of the constant 1 in each lane."""
        if not self.has_intercept:
            return np.zeros(self.n_lanes)
        rows = np.empty(1, self._rows)
        found = lane_kernels.levels(
            *(self._time.size, self.table.cells, self.table.mixer, self.bias, self._lanes),
            *(self._centred, self._lane_update, rows, rows["lane"]),
        )
        return np.asarray(self.label_scale.mean + self.label_scale.unit * found[: self.n_lanes])

    def weight_of_keys(
        self, lane: int | None = None
    ) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Return the keys and weights of the features that a lane keeps: the chosen one's."""
        key, weight = np.empty(self.table.used, np.uint64), np.empty(self.table.used)
        row = np.empty(1, self._rows)
        n = lane_kernels.weights(
            *(self.table.cells, self._time.size, self._lanes, self._lane_update),
            *(self.lane if lane is None else lane, row, row["lane"], key, weight),
        )
        return key[:n].copy(), weight[:n] * self.label_scale.unit

    def weights_of_lanes(self) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
        """Return the keys of all features in the table, and their weights: a column per lane."""
        key, rows = np.empty(self.table.used, np.uint64), np.empty(self.table.used, self._rows)
        lane_kernels.all_weights(
            *(self.table.cells, self._time.size, self._lanes, self._lane_update, key, rows)
        )
        weight = rows["lane"][:, : self.n_lanes]
        return key, np.multiply(weight, self.label_scale.unit, dtype=np.float64)

    def _run(self, i: int, lesson: Lesson) -> tuple[int, int, int]:
        """Run the kernel from example i on, and score the lanes; return what it returns."""
        batch, label, importance, base, slots, fresh, prediction = lesson
        clock, table = self.clock, self.table
        if self._centres and not self._state[lane_kernels.NOTED]:
            self._set_centred(np.zeros(len(slots), np.uint64))
        rows = np.empty(batch.n_examples, self._rows)
        predicted = rows["lane"]
        found: tuple[int, int, int] = lane_kernels.learn(
            *(i, batch.start, batch.key, batch.x, label, importance, base),
            *(clock.before, clock.at, clock.rate, clock.pulled, self.shrinkage.by_noise),
            *(self.shrinkage.truncate_every, table.cells, table.mixer, table.room, self.bias),
            *(self._lanes, self._state, self._best, self._centred, float(self.has_intercept)),
            *(self.normalize, self._logistic, self.loss, self._lane_update, slots),
            *(np.empty(len(slots), np.float32), self._lanes["slope"][0], fresh, rows),
            *(predicted, prediction, self._fold, self._n_folds),
        )
        if not self._centred.all():
            self._set_centred(self._centred[self._centred != 0])
        learned = slice(i, found[0])
        self.scores.add(predicted[learned], label[learned], importance[learned])
        return found

    def learn_in_folds(self, batch: Batch, fold: NDArray[np.int64], n_folds: int) -> None:
        """Learn; lane a does not step by the examples whose ``fold`` is a modulo ``n_folds``.

        What lanes share, such as learning rates, is learned from every example, and counts the part
        of them that each lane learns from.
        """
        self._fold, self._n_folds = fold, n_folds
        try:
            self.learn(batch)
        finally:
            self._n_folds = 0

    def sweep(self) -> None:
        """Forget the features that no lane with a gravity holds and that were absent for long.

        The table does so by itself when it runs full, once it is large; see `SweepView`.
        """
        self._set_view(forgets=True)
        super().sweep()

    def _make_room(self, n: int) -> None:
        if self.scores.full:  # which `learn_one` cannot mend; others come back for more room
            with self._fast.turn(), Held():
                if self.scores.full:  # else another thread did
                    self.scores.join()
            return
        self._set_view(forgets=len(self.table.cells) >= FORGETS)
        super()._make_room(n)

    def _set_view(self, *, forgets: bool) -> None:
        """Tell sweeps whether to forget: never if there is no lane with a gravity."""
        view: Any = SweepView(
            self._lanes, forgets and any((*self.shrinkage.values, *self.shrinkage.evidence))
        )
        self.table.shrinkage = view

    def _open_window(self, *, next_pass: bool = False) -> None:
        """Open the clock's next window; no weight need be settled."""
        if next_pass:
            self.clock.next_pass()
        else:
            self.clock.open()

    def learn_one(self, features: Features, label: float, importance: float = 1.0) -> float:
        """Predict, then learn from, one example; return the prediction."""
        if self._centres and not self._state[lane_kernels.NOTED]:
            return float(self.learn(Batch.from_dicts([features], [label], [importance]))[0])
        return super().learn_one(features, label, importance)

    def _predicted_at_once(self, batch: Batch) -> NDArray[np.float64]:
        """Predict by the lane that is best so far."""
        return self.predict_lanes(batch)[:, self.best_so_far]

    def predict_lanes(self, batch: Batch) -> NDArray[np.float64]:
        """Predict each example by all lanes, before any link; returns a column for each."""
        return self._predicted_lanes(batch, self.has_intercept, normalize=self.normalize)

    def explain(self, x: Features | Batch, lane: int | None = None) -> Explanation:
        """Tell what each feature of an example adds to its prediction by a lane: the chosen one."""
        k = self.lane if lane is None else lane
        return explained(
            x,
            lambda batch: self.predict_lanes(batch)[:, k],
            lambda batch: self._predicted_lanes(batch, constant=False, normalize=False)[:, k],
            float(self.intercepts[k]),
            float(self.has_intercept) if self.normalize else None,
        )

    def _predicted(self, batch: Batch, *, constant: bool, normalize: bool) -> NDArray[np.float64]:
        columns = self._predicted_lanes(batch, constant, normalize=normalize)
        return np.ascontiguousarray(columns[:, self.lane])

    def _predicted_lanes(
        self, batch: Batch, constant: bool, *, normalize: bool
    ) -> NDArray[np.float64]:
        rows = np.empty(batch.n_examples, self._rows)
        scale, base = self.label_scale, base_of(batch)
        lane_kernels.predict(
            *(batch.start, batch.key, batch.x, np.zeros_like(base) if scale.scaled else base),
            *(self._time.size, self.table.cells, self.table.mixer, self.bias, self._lanes),
            *(self._centred if constant else np.zeros(0, np.uint64), float(constant)),
            *(normalize, self._lane_update, rows),
        )
        found = rows["lane"][:, : self.n_lanes].astype(np.float64)
        if scale.scaled:
            return base[:, None] + (scale.mean * constant + scale.unit * found)
        return found

    def next_pass(self) -> None:
        """Begin a new pass over the data; lanes are judged by the first one."""
        super().next_pass()
        self.scores.done = self.scores.examples > 0

    def begin_passes(self) -> None:
        """Count passes anew: what comes next was not learned from before, so it is judged."""
        super().begin_passes()
        self.scores.done = False

    def statistics_of(self, key: NDArray[np.uint64]) -> dict[str, NDArray[Any]]:
        """Return what is known of features beside their weights: see `lane_memory`."""
        table = self.table
        return statistics_of(table.cells, table.places(key), self._lane_update)

    def moment(self) -> dict[str, Any]:
        """Return the clocks, and which lane is the model, fit for JSON."""
        return Moment(
            self.lane,
            self.shrinkage.values[self.lane],
            self.bias["root"].item(),
            self._time.size,
            self.shrinkage.by_noise,
            self.clock.state,
            self._state.tolist(),
        )._asdict()

    def begun(
        self,
        key: NDArray[np.uint64],
        weight: NDArray[np.float64],
        intercept: float,
        statistics: Mapping[str, NDArray[Any]],
        moment: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """Return the state of this learner, which is new, if all lanes had these weights.

        With the moment they are those of its lane, and the others follow from the same sums.
        """
        made = self._lane_update, self.shrinkage
        return begun(self.state(), *made, key, weight, intercept, statistics, moment)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that make a new learner like this one."""
        return super().arguments() | {"choice": self.choice}

    def state(self) -> dict[str, Any]:
        """Return all that `from_state` needs to make a learner that goes on as this one does."""
        return super().state() | {"lanes": self.lane_state() | {"scores": self.scores.state()}}

    def lane_state(self) -> dict[str, Any]:
        """Return what the lanes share beside cells and scores, fit for JSON."""
        return {
            "state": self._state.tolist(),
            "error": self._lanes["error"][0].tolist(),
            "best": self.best_so_far,
            "centred": self._centred[self._centred != 0].tolist(),
        }

    @property
    def pulled(self) -> float:
        """How far a gravity of 1 has pulled so far."""
        return self._time.size

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Make the learner that `state` described."""
        learner = super().from_state(state)
        learner._restore_lanes(state["lanes"])  # noqa: SLF001  (a method of this very class)
        return learner

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._restore_lanes(state["lanes"])

    def _restore_lanes(self, lanes: Mapping[str, Any]) -> None:
        check_lane_state(lanes, self.n_lanes, self._lane_update.n_lanes, len(self._state))
        self._state[:], self._lanes["error"] = lanes["state"], lanes["error"]
        lane_kernels.restore_proof(self._lanes, self._state)
        self._best[0] = lanes["best"]
        self._set_centred(np.array(lanes["centred"], np.uint64))
        self.scores.restore(lanes["scores"])

    def eviction_report(self) -> dict[str, float]:
        """Describe the last eviction of the budget; empty if there was none.

        As the longest absence, in steps, for each time that a feature was seen, up to 10, and each
        unit of its squared gradients.
        """
        worth = self.table.last_eviction.worth
        return {"absence": 1.0 / worth} if worth > 0.0 else {}

    def cooldown(self, n_steps: int = 1) -> None:
        """Let gravity pull on as if so many more examples had come, of noise as so far.

        `FTRL` and `RDA` have nothing to wear off: their weights follow from sums.
        """
        with Held():
            before = self.n_steps
            super().cooldown(n_steps)
            if self.shrinkage.by_noise and not self._averages:
                self._time.rest_since(before)

    @contextmanager
    def after_cooldown(self, n_steps: int) -> Iterator[Learner]:
        """Yield the learner as `cooldown` would leave it, to look at; then undo it."""
        before = self._state.copy()
        try:
            with super().after_cooldown(n_steps) as cooled:
                yield cooled
        finally:
            self._state[:] = before
