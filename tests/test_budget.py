"""A budget of live features: kept at all times, by gravity alone, and exact like all else."""

import math
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from dwindle import (
    Adaptive,
    Averaged,
    Batch,
    Ftrl,
    Learner,
    Logistic,
    Plain,
    Rda,
    Truncation,
    certify,
)
from dwindle.budget import edge
from dwindle.errors import DataError
from dwindle.kernels import ALIKE, BINS, MAGNITUDE
from dwindle.model import load_checkpoint, save_checkpoint
from dwindle.schedules import Schedule
from dwindle.shrinkage import Rounding, Unshrunk
from ingredients import LOSSES, UPDATES, rates_of
from streams import batch_of, cut, seeds, stream
from test_algorithm import agree

LOGISTIC = LOSSES[1]
PULLED = [(update, 0.0) for update, _ in UPDATES]
AVERAGED = [(Ftrl(), 0.02), (Rda(), 1e-3)]
every_update = pytest.mark.parametrize(("update", "gravity"), PULLED + AVERAGED, ids=str)
RATES = [0.1, Schedule(0.5, power=0.5)]


def budgeted(update, gravity, max_live, rate=0.1, every=1):
    return Learner(LOGISTIC.loss, Truncation(gravity, every=every), update, rate, max_live=max_live)


def wide(seed, n_features=2000, n_examples=300):
    return stream(seed, LOGISTIC.labels, n_features, n_examples)


def final(learner):
    return learner.weights(), learner.intercept, learner.n_steps, learner.gravity


@every_update
@given(seed=seeds, max_live=st.integers(6, 600), ones=st.booleans())
@settings(max_examples=8)
def test_there_are_never_more_live_features_than_allowed(update, gravity, seed, max_live, ones):
    learner = budgeted(update, gravity, max_live)
    for example in wide(seed):
        features, label, importance = example
        if ones:
            learner.learn_one(dict(features), label, importance)
        else:
            learner.learn(batch_of([example]))
        assert len(learner) <= learner.table.used <= max_live
        assert np.count_nonzero(learner.table.cells["key"]) == learner.table.used
    assert learner.table.peak <= max_live


@every_update
@pytest.mark.parametrize("rate", RATES, ids=str)
@given(seed=seeds, cuts=seeds, max_live=st.integers(6, 400))
@settings(max_examples=6)
def test_batching_never_changes_a_bit_within_a_budget(update, gravity, rate, seed, cuts, max_live):
    examples = wide(seed)
    at_once, in_runs = (budgeted(update, gravity, max_live, rate) for _ in range(2))
    predictions = at_once.learn(batch_of(examples))
    parts = [in_runs.learn(batch_of(run)) for run in cut(examples, cuts) if run]
    assert np.array_equal(np.concatenate(parts), predictions)
    assert final(in_runs) == final(at_once)


@every_update
@pytest.mark.parametrize("rate", RATES, ids=str)
@given(seed=seeds, max_live=st.integers(6, 400), after=st.integers(0, 300))
@settings(max_examples=6)
def test_a_checkpoint_goes_on_to_the_bit_within_a_budget(
    tmp_path_factory, update, gravity, rate, seed, max_live, after
):
    examples = wide(seed)
    path = tmp_path_factory.mktemp("budget") / "checkpoint"
    learner = budgeted(update, gravity, max_live, rate)
    learner.learn(batch_of(examples[:after]))
    save_checkpoint(learner, path)
    resumed, copy = load_checkpoint(path)[0], deepcopy(learner)
    for each in (learner, resumed, copy):
        each.learn(batch_of(examples[after:]))
    assert final(resumed) == final(copy) == final(learner)
    assert resumed.table.peak == learner.table.peak <= max_live


class Told:
    """What a clock was told by a budget, besides doing it."""

    def __init__(self, clock):
        self.pulls = {}  # at once, by the step they came after
        self.gravity = {0: clock.gravity}  # from a step on
        self.pull, self.steer, self.clock = clock.pull, clock.steer, clock
        clock.pull, clock.steer = self._pull, self._steer

    def _pull(self, owed):
        self.pulls[self.clock.n_steps] = self.pulls.get(self.clock.n_steps, 0.0) + owed
        self.pull(owed)

    def _steer(self, missing):
        self.steer(missing)
        self.gravity[self.clock.n_steps] = self.clock.gravity

    def pulls_of(self, n, rates, every):
        """What each of n steps pulls before it predicts."""
        gravity, pulls = 0.0, []
        for i in range(n):
            gravity = self.gravity.get(i, gravity)
            due = rates[i] * every * gravity if (i + 1) % every == 0 else 0.0
            pulls.append(due + self.pulls.get(i, 0.0))
        return pulls


@pytest.mark.parametrize("rate", RATES, ids=str)
@given(seed=seeds, max_live=st.integers(6, 300), every=st.integers(1, 3))
@settings(max_examples=12)
def test_a_budget_is_algorithm_1_with_some_sequence_of_gravities(rate, seed, max_live, every):
    """Each g_i is that of the last steering, and once in a while one more pull of any size."""
    examples = [example for example in wide(seed) if example[2] > 0]
    learner = budgeted(Plain(), 1e-3, max_live, rate, every)
    told = Told(learner.clock)
    predictions = learner.learn(batch_of(examples))
    schedule = rate if isinstance(rate, Schedule) else Schedule(rate)
    rates = rates_of(schedule, len(examples), [0] * len(examples))
    pulls = told.pulls_of(len(examples), rates, every)
    eager = list(
        reference.learn(
            examples, rates, pulls, LOGISTIC.slope, reference.t1, reference.Plain(), intercept=True
        )
    )
    np.testing.assert_allclose(predictions, [p for p, _ in eager], 1e-9, 1e-9)
    if not told.pulls.get(len(examples)):
        agree(learner, eager[-1][1] if eager else {})
    assert min(told.gravity.values()) >= 1e-3  # its own gravity is the least


@given(seed=seeds, cuts=seeds, max_live=st.integers(6, 300), every=st.integers(1, 3))
@settings(max_examples=20)
def test_the_regret_bound_of_a_budget_is_that_of_the_gravities_it_came_to(
    seed, cuts, max_live, every
):
    examples = [example for example in wide(seed) if example[2] > 0]
    rate, n = 0.05, len(examples)
    rng = np.random.default_rng(seed)
    comparator = {str(name): float(rng.normal()) for name in rng.choice(2000, 20, replace=False)}
    certificate = certify(
        [batch_of(run) for run in cut(examples, cuts) if run],
        comparator,
        loss=LOGISTIC.loss,
        shrinkage=Truncation(1e-3, every=every),
        rate=rate,
        max_live=max_live,
    )
    assert certificate.holds
    learner = budgeted(Plain(), 1e-3, max_live, rate, every)
    told = Told(learner.clock)
    predictions = learner.learn(batch_of(examples))
    loss = sum(h * LOGISTIC.value(p, y) for p, (_, y, h) in zip(predictions, examples, strict=True))
    assert certificate.loss == pytest.approx(loss / max(n, 1), 1e-9, 1e-12)
    pulls = told.pulls_of(n, [rate] * n, every)
    run = reference.learn(
        examples, [rate] * n, pulls, LOGISTIC.slope, reference.t1, reference.Plain(), intercept=True
    )
    penalty, before = 0.0, {}
    for pull, (_, after) in zip(pulls, run, strict=True):
        felt = (reference.t1(w, pull) for name, w in before.items() if name is not None)
        penalty += pull / rate * sum(map(abs, felt))
        before = after
    assert certificate.penalty == pytest.approx(penalty / max(n, 1), 1e-6, 1e-9)
    charged = sum(pulls[1:]) / rate * sum(map(abs, comparator.values()))
    assert certificate.comparator_penalty == pytest.approx(charged / max(n, 1), 1e-6, 1e-9)


@pytest.mark.parametrize("update", [Plain(), Adaptive()], ids=str)
def test_the_gravity_settles_and_pulls_at_once_become_rare(update):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=50)
    learner = budgeted(update, 0.0, 2000)
    told = Told(learner.clock)
    gravities, losses = [], []
    n, once = 200, 20
    for t in range(200):
        known = rng.integers(0, 50, (n, 5))
        new = 50 + t * n * once + np.arange(n * once).reshape(n, once)
        margin = truth[known].sum(axis=1)
        label = np.where(rng.random(n) < 1 / (1 + np.exp(-margin)), 1.0, -1.0)
        key = np.hstack([known, new]).astype(np.uint64)
        start = np.arange(n + 1) * (5 + once)
        p = learner.learn(Batch.from_arrays(start, key.ravel(), np.ones(key.size), label))
        gravities.append(learner.gravity)
        losses.append(np.logaddexp(0, -p * label).mean())
    later = gravities[50:]
    assert 0 < max(later) < 1.5 * min(later)
    at_once = sum(pull for step, pull in told.pulls.items() if step > 50 * n)
    assert at_once < 0.1 * learner.clock.now
    assert np.mean(losses[150:]) < np.mean(losses[:5]) - 0.04  # and it learns all the while
    assert {int(name) for name in learner.weights() if int(name) < 50} == set(range(50))


def test_what_averages_gradients_forgets_the_undecided_before_the_decided():
    rng = np.random.default_rng(1)
    learner = budgeted(Ftrl(patience=math.inf), 1.0, 300, 0.5)
    decided = set()
    for t in range(3000):
        names = [f"word{j}" for j in rng.choice(100, 3, replace=False)]
        noise = {f"once{t}.{k}": 1.0 for k in range(10)}
        label = 1 if int(names[0][4:]) < 50 else -1
        learner.learn_one(dict.fromkeys(names, 1.0) | noise, label)
        decided |= {name for name in learner.weights() if name.startswith("word")}
    held = set(learner.table.names.of(learner.table.names.keys))
    assert len(decided) > 30
    assert decided <= held
    assert learner.table.peak <= 300


@given(
    worth=st.lists(st.floats(-1e30, 1e30, width=32), min_size=1, max_size=200),
    most=st.integers(0, 200),
)
def test_an_edge_of_worth_leaves_no_more_than_asked_and_few_less(worth, most):
    value = np.array(worth, np.float32)
    bits = value.view(np.int32)
    count = np.zeros(BINS, np.int64)
    np.add.at(count, (np.where(bits >= 0, bits, bits ^ MAGNITUDE) >> ALIKE) + BINS // 2, 1)
    least = edge(count, most)
    assert np.count_nonzero(value >= least) <= most
    lower = least - abs(least) / 64 - 1e-37
    assert np.count_nonzero(value >= lower) > most or np.count_nonzero(value >= least) == len(value)


def test_an_example_beyond_the_budget_is_refused_and_nothing_is_learned():
    learner = budgeted(Adaptive(), 0.0, 10)
    small, large = {"a": 1.0}, {f"f{k}": 1.0 for k in range(11)}
    with pytest.raises(DataError, match="has 11 features, more than max_live = 10") as error:
        learner.learn(Batch.from_dicts([small, large], [1, -1]))
    assert error.value.example == 1
    with pytest.raises(DataError, match="has 11 features, more than max_live = 10"):
        learner.learn_one(large, 1)
    assert final(learner) == final(budgeted(Adaptive(), 0.0, 10))
    assert learner.learn_one(small, 1) == 0.0


@pytest.mark.parametrize(
    ("shrinkage", "update", "max_live", "complaint"),
    [
        (Truncation(threshold=0.5), Adaptive(), 100, "needs Truncation without a threshold"),
        (Rounding(0.1), Adaptive(), 100, "needs Truncation"),
        (Unshrunk(), Plain(), 100, "needs Truncation"),
        (Truncation(), Averaged(), 100, "the update Adaptive or Plain"),
        (Truncation(), Plain(), 0, "max_live must be a whole number, 1 or more"),
        (Truncation(), Plain(), 1.5, "max_live must be a whole number, 1 or more"),
    ],
)
def test_a_budget_that_nothing_could_keep_is_refused(shrinkage, update, max_live, complaint):
    with pytest.raises(ValueError, match=complaint):
        Learner(Logistic(), shrinkage, update, max_live=max_live)
