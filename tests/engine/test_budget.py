"""A budget of live features: kept at all times, and exact like all else."""

import json
import math
from collections import defaultdict
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_algorithm import agree

import reference
from dwindle import (
    FTRL,
    RDA,
    Adaptive,
    Averaged,
    Batch,
    Learner,
    Logistic,
    Plain,
    Truncation,
    certify,
)
from dwindle._base.errors import DataError
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import NoShrinkage, Rounding
from dwindle.data.options import ReadOptions
from dwindle.datasets.ads import Ads
from dwindle.engine.budget import least_worth
from dwindle.engine.table_kernels import BINS, IGNORED_BITS, MAGNITUDE
from dwindle.model.checkpoint import load_checkpoint, save_checkpoint
from dwindle.model.model import Model
from dwindle.runs.observer import Stopped
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.budget_learners import LOGISTIC, budgeted, wide
from helpers.commands import dwindle
from helpers.effort import few_examples
from helpers.ingredients import UPDATES, near, pulls_of, rates_of
from helpers.observing import heard
from helpers.random_streams import batch_of, cut, seeds
from helpers.stop_after import stopped_after

PULLED = [(update, 0.0) for update, _ in UPDATES]
AVERAGED = [(FTRL(), 0.02), (RDA(), 1e-3)]
every_update = pytest.mark.parametrize(("update", "gravity"), PULLED + AVERAGED, ids=str)
RATES = [0.1, Schedule(0.5, power_t=0.5)]


def final(learner):
    return learner.weights(), learner.intercept, learner.n_steps, learner.eviction_report()


@every_update
@given(seed=seeds, max_live=st.integers(6, 600), ones=st.booleans())
@few_examples(8)
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
@few_examples(6)
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
@few_examples(6)
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


def taken_from(learner):
    """The names that a budget will take from the learner, by the step before which it does.

    Other steps before which it is swept have none.
    """
    taken, cut, sweep = defaultdict(set), learner.table.evict, learner.table.sweep

    def swept(*least):
        sweep(*least)
        taken[learner.n_steps] |= set()

    def recorded(most):
        before = set(learner.weights())
        cut(most)
        taken[learner.n_steps] |= before - set(learner.weights())

    learner.table.evict, learner.table.sweep = recorded, swept
    return taken


@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize(("update", "memory"), UPDATES, ids=str)
@given(seed=seeds, max_live=st.integers(6, 300), every=st.integers(1, 3))
@few_examples(6)
def test_a_budget_is_algorithm_1_that_loses_what_would_have_died_first(
    update, memory, rate, seed, max_live, every
):
    examples = [example for example in wide(seed) if example[2] > 0]
    learner = budgeted(update, 1e-3, max_live, rate, every)
    taken = taken_from(learner)
    predictions = learner.learn(batch_of(examples))
    schedule = rate if isinstance(rate, Schedule) else Schedule(rate)
    rates = rates_of(schedule, len(examples), [0] * len(examples))
    rule = memory()
    run = reference.learn(
        examples,
        rates,
        pulls_of(learner.shrinkage, rates),
        LOGISTIC.slope,
        reference.t1,
        rule,
        intercept=True,
        swept_before=taken,
        dropped_before=taken,
    )
    weights = {}
    for step, (ours, (p, after)) in enumerate(zip(predictions, run, strict=True), start=1):
        assert ours == pytest.approx(p, near(update), near(update))
        weights = after
        if taken.get(step):
            worth = {name: abs(w) / rule.pull(name) for name, w in weights.items() if name and w}
            assert taken[step] <= worth.keys()
            stays = [v for name, v in worth.items() if name not in taken[step]]
            most = max(worth[name] for name in taken[step])
            assert most <= min(stays, default=math.inf) * 65 / 64  # a bin is 1/64 wide
    agree(learner, weights)


@pytest.mark.slow
@given(seed=seeds, cuts=seeds, max_live=st.integers(6, 300), every=st.integers(1, 3))
@few_examples(20)
def test_the_regret_bound_holds_for_the_gravities_that_a_budget_comes_to(
    seed, cuts, max_live, every
):
    examples = [example for example in wide(seed) if example[2] > 0]
    rate, n = 0.05, max(len(examples), 1)
    rng = np.random.default_rng(seed)
    comparator = {str(name): float(rng.normal()) for name in rng.choice(2000, 200, replace=False)}
    certificate = certify(
        [batch_of(run) for run in cut(examples, cuts) if run],
        comparator,
        loss=LOGISTIC.loss,
        shrinkage=Truncation(1e-3, truncate_every=every),
        learning_rate=rate,
        max_live=max_live,
    )
    assert certificate.holds
    learner = budgeted(Plain(), 1e-3, max_live, rate, every)
    taken = taken_from(learner)
    predictions = learner.learn(batch_of(examples))
    loss = sum(h * LOGISTIC.value(p, y) for p, (_, y, h) in zip(predictions, examples, strict=True))
    assert certificate.loss == pytest.approx(loss / n, 1e-9, 1e-12)
    pulls = pulls_of(learner.shrinkage, [rate] * len(examples))
    run = reference.learn(
        examples, [rate] * len(examples), pulls, LOGISTIC.slope, reference.t1, reference.Plain(),
        intercept=True, dropped_before=taken,
    )  # fmt: skip
    penalty = charged = 0.0
    before = {}
    for step, (pull, (_, after)) in enumerate(zip(pulls, run, strict=True)):
        left = {name: w for name, w in before.items() if name not in taken[step]}
        charged += sum(abs(before[name] * comparator.get(name, 0.0)) for name in taken[step])
        if pull is not None and step > 0:
            felt = sum(abs(reference.t1(w, pull)) for name, w in left.items() if name is not None)
            penalty += pull * felt
            charged += pull * sum(map(abs, comparator.values()))
        before = after
    assert certificate.penalty == pytest.approx(penalty / rate / n, 1e-6, 1e-9)
    assert certificate.comparator_penalty == pytest.approx(charged / rate / n, 1e-6, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("update", [Plain(), Adaptive()], ids=str)
def test_what_tells_something_stays_while_the_rest_comes_and_goes(update):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=50)
    learner = budgeted(update, 0.0, 500)
    gravities, losses = [], []
    n, once = 200, 20
    for t in range(100):
        known = rng.integers(0, 50, (n, 5))
        new = 50 + t * n * once + np.arange(n * once).reshape(n, once)
        margin = truth[known].sum(axis=1)
        label = np.where(rng.random(n) < 1 / (1 + np.exp(-margin)), 1.0, -1.0)
        key = np.hstack([known, new]).astype(np.uint64)
        start = np.arange(n + 1) * (5 + once)
        p = learner.learn(Batch.from_arrays(start, key.ravel(), np.ones(key.size), label))
        gravities.append(learner.eviction_report()["gravity"])
        losses.append(np.logaddexp(0, -p * label).mean())
    assert set(map(int, learner.weights())) >= set(np.flatnonzero(np.abs(truth) > 0.5).tolist())
    assert np.mean(losses[50:]) < np.mean(losses[:2]) - 0.02
    assert 0 < np.max(gravities) < 10 * np.median(gravities)


@every_update
def test_a_cut_leaves_four_fifths_of_the_budget(update, gravity):
    for rate in (0.02, 0.3):
        learner = budgeted(update, gravity, 400, rate)
        left, cut = [], learner.table.evict

        def recorded(most, cut=cut, left=left, learner=learner):
            cut(most)
            left.append(learner.table.used)

        learner.table.evict = recorded
        learner.learn(batch_of(wide(3, n_features=20_000, n_examples=3000)))
        assert len(left) > 3
        assert min(left) > 0.7 * 400 * 0.8
        assert 0.78 * 400 < max(left) <= 0.8 * 400


@given(
    worth=st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=1, max_size=200),
    most=st.integers(0, 200),
)
def test_an_edge_of_worth_leaves_no_more_than_asked_and_few_less(worth, most):
    value = np.array(worth, np.float32) + np.float32(0)  # zeros without a sign
    bits = value.view(np.int32)
    count = np.zeros(BINS, np.int64)
    np.add.at(count, (np.where(bits >= 0, bits, bits ^ MAGNITUDE) >> IGNORED_BITS) + BINS // 2, 1)
    least = least_worth(count, most)
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
        (NoShrinkage(), Plain(), 100, "needs Truncation"),
        (Truncation(), Averaged(), 100, "the update Adaptive or Plain"),
        (Truncation(), Plain(), 0, "max_live must be a whole number, 1 or more"),
        (Truncation(), Plain(), 1.5, "max_live must be a whole number, 1 or more"),
    ],
)
def test_a_budget_that_nothing_could_keep_is_refused(shrinkage, update, max_live, complaint):
    with pytest.raises(ValueError, match=complaint):
        Learner(Logistic(), shrinkage, update, max_live=max_live)


def run(*args, **how):
    """The end of what a command says in JSON, or its one line of complaint."""
    done = dwindle(*args, check=False, text=True, **how)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else done.stderr


@pytest.fixture(scope="module")
def clicks(tmp_path_factory):
    path = tmp_path_factory.mktemp("clicks") / "clicks.vw"
    path.write_bytes(b"".join(Ads().text(3000)))
    return path


@pytest.mark.slow
def test_the_command_line_keeps_a_budget_and_says_what_it_came_to(clicks, tmp_path):
    with_products = "train", clicks, "--interactions", "q*a", "--model", tmp_path / "m.parquet"
    budget = "--json", "--max-live", 9000
    free, within = run(*with_products, "--json", "--dense"), run(*with_products, *budget, "--dense")
    assert free["peak_live"] > 300_000
    assert within["peak_live"] <= 9000
    assert within["eviction_report"]["gravity"] > 0 == len(free["eviction_report"])
    for forgets in ([], ["--update", "ftrl", "-g", 3]):
        forgetting = run(*with_products, *budget, *forgets)
        assert forgetting["peak_live"] <= 9000
        assert 0 < forgetting["eviction_report"]["absence"] < 3000  # the steps there were


def test_a_run_within_a_budget_is_stopped_and_resumed_to_the_bit(clicks, tmp_path):
    how = TrainSettings(max_live=9000, reading=ReadOptions(interactions=(("q", "a"),)))
    train([str(clicks)], tmp_path / "whole", how)
    short = replace(how, reading=replace(how.reading, block_size=2**16))
    with pytest.raises(Stopped):
        train([str(clicks)], tmp_path / "parts", short, observer=heard(stopping=stopped_after(3)))
    train([str(clicks)], tmp_path / "parts", short, resume=True)
    whole, parts = (Model.load(tmp_path / name) for name in ("whole", "parts"))
    assert np.array_equal(whole.key, parts.key)
    assert np.array_equal(whole.weight, parts.weight)
    assert whole.intercept == parts.intercept


def test_what_cannot_be_a_size_of_memory_is_told(clicks, tmp_path):
    to = clicks, "--model", tmp_path / "m.parquet"
    assert "expected a size like 500MB or 2GB, got '2XB'" in run("train", *to, "--memory", "2XB")
    assert "memory must be more than 500 MB" in run("train", *to, "--memory", "300MB")
    assert "give one of them" in run("train", *to, "--memory", "2GB", "--max-live", 7)


@pytest.mark.slow
def test_a_run_stays_within_the_memory_it_is_given(tmp_path):
    path = tmp_path / "clicks.vw"
    path.write_bytes(b"".join(Ads().text(40_000)))
    done = run("train", path, "--interactions", "q*a", "--memory", "700MB", "--json",
               "--model", tmp_path / "m.parquet", apart=True)  # fmt: skip
    assert done["seen"] > 6_000_000
    assert done["peak_live"] > 600_000
    assert done["kept"] > 500_000
    assert done["peak_memory_bytes"] < 700e6
