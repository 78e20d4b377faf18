"""The fast path for one example, as in `learn_one`, of several gravities learned at once."""

from typing import Any, NamedTuple

from dwindle.engine import lane_kernels, lane_scores
from dwindle.engine.lane_scores import DONE, EXAMPLES, LENGTH, SEGMENTS
from dwindle.engine.learn_one import BASE, FRESH, IMPORTANCE, KEY, LABEL, SLOT, START
from dwindle.jit.compile import helper

_learn = helper(lane_kernels.learn.function)
_predict = helper(lane_kernels.predict.function)
_count = helper(lane_scores.count_examples.function)


class LaneParts(NamedTuple):
    """What a `LaneLearner` is made of beside its table and clock."""

    bias: Any
    constant: float
    normalize: bool
    by_noise: bool
    every: int
    lanes: Any
    state: Any
    best: Any
    centred: Any
    logistic: bool
    loss: Any
    update: Any
    slopes: Any
    rows: Any
    predicted: Any
    ranks: bool
    position: Any  # this and what follows are of `LaneScores`
    weight: Any
    total: Any
    products: Any
    count: Any

    def learn_example(self, work: Any, n: int) -> Any:
        at = work.position[0]
        position = self.position
        judged = position[DONE] == 0
        if judged and position[EXAMPLES] == SEGMENTS * position[LENGTH]:  # which must be joined
            return 0, at, 0
        label, importance = work.floats[LABEL:IMPORTANCE], work.floats[IMPORTANCE:BASE]
        done, then, n_fresh = _learn(
            0, work.ints[START:], work.hashes[KEY][:n], work.x, label, importance,
            work.floats[BASE:], work.n_steps, at, work.rate, work.pulled, self.by_noise, self.every,
            work.cells, work.mixer, work.capacity - work.counts[0], self.bias, self.lanes,
            self.state, self.best, self.centred, self.constant, self.normalize, self.logistic,
            self.loss, self.update, work.hashes[SLOT], work.shares, self.slopes, work.places[FRESH],
            self.rows, self.predicted, work.prediction, work.ints[START:START], 0,
        )  # fmt: skip
        if done == 1 and judged:
            k = position[EXAMPLES] // position[LENGTH]
            _count(
                self.loss, self.predicted, label, importance, self.ranks,
                self.weight[k], self.total[k], self.products[k], self.count[k],
            )  # fmt: skip
            position[EXAMPLES] += 1
        return done, then, n_fresh

    def predict_example(self, work: Any, n: int) -> Any:
        clock = work.pulled[work.position[0]]
        if self.by_noise:
            clock = self.state[lane_kernels.CLOCK]
        _predict(
            work.ints[START:], work.hashes[KEY][:n], work.x, work.floats[BASE:], clock, work.cells,
            work.mixer, self.bias, self.lanes, self.centred, self.constant, self.normalize,
            self.update, self.rows,
        )  # fmt: skip
        return float(self.predicted[0, self.best[0]])
