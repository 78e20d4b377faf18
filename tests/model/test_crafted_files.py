"""A file with a right digest and absurd contents is refused in one line, or does no harm.

Every value of its metadata and every column is replaced by absurd ones, in a forked process: so a
crash, or a loop without end, is a failure like any other.
"""

import os

import numpy as np
import pytest

import dwindle
from dwindle._base.checks import reading_from
from dwindle._base.errors import DataError
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.features.batch import Batch
from dwindle.model.checkpoint import load_checkpoint, save_checkpoint
from dwindle.model.learned import model_of, states_of
from dwindle.model.loading import load_saved
from dwindle.model.path import Path as AllLanes
from helpers import crafted
from helpers.effort import FULL

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
N = 80  # examples
MANY = None if FULL else 6  # files of each kind


def examples(n=N, classes=2, seed=1):
    rng = np.random.default_rng(seed)
    rows = [
        {f"f{k}": float(x) for k, x in zip(rng.integers(0, 60, 5), rng.normal(size=5), strict=True)}
        | {"always": 1.0 + rng.random()}
        for _ in range(n)
    ]
    label = rng.integers(0, classes, n)
    return Batch.from_dicts(rows, label * 2 - 1 if classes == 2 else label)


def plain():
    return dwindle.Learner()


def within_a_budget():
    return dwindle.Learner(update=dwindle.FTRL(), shrinkage=dwindle.Truncation(0.1), max_live=30)


def scaled():
    return dwindle.Learner(dwindle.Squared(), scale_labels=True, learning_rate=0.1)


def centred():
    return LaneLearner(dwindle.Squared(), update=CENTRED, scale_labels=True)


def several():
    return OneVsRest([LaneLearner(max_live=40) for _ in range(3)])


CENTRED = dwindle.algorithm.dual_averaging.CentredRDA()
LEARNERS = [plain, within_a_budget, scaled, LaneLearner, centred, several]


def learned(make):
    learner = make()
    learner.learn(examples(classes=3 if make is several else 2))
    return learner


def go_on(learner):
    """Do all that a run does with a learner."""
    more = examples(seed=2, classes=3 if isinstance(learner, OneVsRest) else 2)
    learner.learn(more)
    learner.next_pass()
    learner.learn(more)
    members = learner.members if isinstance(learner, OneVsRest) else [learner]
    for each in members:
        each.sweep()
        each.table.make_room(100)
        each.learn_one({"f1": 1.0, "new": 2.0}, 1)
    learner.cooldown(3)
    model = model_of(learner, {"examples": N, "classes": ["a", "b", "c"]})
    model.predict(more)


def use(path):
    """Do all that is done with the file of a model."""
    found = load_saved(path)
    found.predict(examples())
    found.weights()
    model = found.model() if isinstance(found, AllLanes) else found
    with reading_from(path):  # as `train --start-from` does
        learner = model.learner()
    more = examples(seed=2, classes=3 if isinstance(learner, OneVsRest) else 2)
    learner.learn(more)


def use_checkpoint(path):
    learner, _ = load_checkpoint(path)
    go_on(learner)


@pytest.mark.slow
@pytest.mark.parametrize("make", LEARNERS)
def test_a_crafted_checkpoint_is_refused_or_does_no_harm(make, tmp_path):
    path = tmp_path / "c"
    save_checkpoint(learned(make), path, {"data": ["a.vw"]})
    use_checkpoint(path)  # also so that all is compiled before it forks
    columns, about = crafted.contents(path, "checkpoint")
    cases = crafted.mutations(columns, about, MANY)
    assert crafted.harmed("checkpoint", path, cases, use_checkpoint) == []


CRAFTED = [
    *(({"n_cells": n}, "n_cells is") for n in (0, 1, 32, 64, 1000, 1025, 2**41, -1024, "x")),
    ({"seen": "AAAA"}, "the counter of features"),
    ({"clock": {"n_steps": -5, "passes": 0, "now": 0.0, "size": 1.0}}, "n_steps is -5"),
    ({"clock": {"n_steps": 5, "passes": 0, "now": float("nan"), "size": 1.0}}, "the clock is nan"),
    ({"peak": "x"}, "peak is 'x'"),
    ({"peak": 3}, "peak is 3: expected a whole number of 61 or more"),
    ({"label_moments": [1, 2, 3]}, "label_moments"),
    ({"last_cut": [10**9, 0, 0.0]}, "the last eviction is 1000000000"),
]


@pytest.mark.parametrize(("changed", "told"), CRAFTED)
def test_what_a_crafted_checkpoint_says_is_told(changed, told, tmp_path):
    path = tmp_path / "c"
    save_checkpoint(learned(plain), path)
    columns, about = crafted.contents(path, "checkpoint")
    crafted.write(path, "checkpoint", columns, about | changed)
    with pytest.raises(DataError, match=rf"{path}: .*({told})"):
        load_checkpoint(path)


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("id", 0, "id 0 is there more than once"),
        ("weight", np.nan, "weight: expected finite numbers"),
        ("norm", np.nan, "norm: expected finite numbers"),
    ],
)
def test_the_column_of_a_crafted_checkpoint_is_told(column, value, told, tmp_path):
    path = tmp_path / "c"
    save_checkpoint(learned(plain), path)
    columns, about = crafted.contents(path, "checkpoint")
    crafted.write(path, "checkpoint", columns | {column: columns[column] * 0 + value}, about)
    with pytest.raises(DataError, match=f"{path}: {told}"):
        load_checkpoint(path)


def test_a_budget_that_is_smaller_than_what_is_there_is_told(tmp_path):
    path = tmp_path / "c"
    save_checkpoint(learned(within_a_budget), path)
    columns, about = crafted.contents(path, "checkpoint")
    about["settings"]["max_live"] = 3
    crafted.write(path, "checkpoint", columns, about)
    with pytest.raises(DataError, match=f"{path}: it has .* features, where there is room for 3"):
        load_checkpoint(path)


def test_a_checkpoint_of_few_features_is_small(tmp_path):
    assert save_checkpoint(learned(plain), tmp_path / "c") < 20_000
    assert save_checkpoint(learned(LaneLearner), tmp_path / "c") < 80_000


def test_the_crafted_file_of_nothing_changed_is_the_same(tmp_path):
    path = tmp_path / "c"
    save_checkpoint(learned(plain), path)
    columns, about = crafted.contents(path, "checkpoint")
    crafted.write(tmp_path / "again", "checkpoint", columns, about)
    again, _ = load_checkpoint(tmp_path / "again")
    assert again.weights() == load_checkpoint(path)[0].weights()


@pytest.mark.slow
@pytest.mark.parametrize("with_state", [False, True])
@pytest.mark.parametrize("make", [plain, scaled, LaneLearner, several])
def test_a_crafted_model_is_refused_or_does_no_harm(make, with_state, tmp_path):
    path, learner = tmp_path / "m", learned(make)
    said = {"examples": N, "passes": 1} | ({"classes": ["a", "b", "c"]} if make is several else {})
    model_of(learner, said, states=states_of(learner) if with_state else None).save(path)
    if with_state:
        use(path)
    kind = "classifier" if make is several else "model"
    columns, about = crafted.contents(path, kind)
    assert crafted.harmed(kind, path, crafted.mutations(columns, about, MANY), use) == []


@pytest.mark.slow
def test_a_crafted_path_is_refused_or_does_no_harm(tmp_path):
    path = tmp_path / "p"
    AllLanes.of(learned(LaneLearner), {"examples": N}).save(path)
    use(path)
    columns, about = crafted.contents(path, "path")
    assert crafted.harmed("path", path, crafted.mutations(columns, about, MANY), use) == []
