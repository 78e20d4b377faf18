"""A user's own ingredients: what they must define, and what they get."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest

from dwindle import Averaged, Batch, Learner, Logistic, NoShrinkage, Plain, Squared, Truncation
from dwindle.algorithm.updates import Audited


def own_plain(**methods):
    """An update with no more than it needs to have: those of `Plain`, or other methods."""
    return type("Own", (NamedTuple("Own", []),), {"cell": Plain.cell} | methods)()


def truncation_without(*missing):
    """A shrinkage with the methods of `Truncation` but some."""

    class Own(NamedTuple):
        threshold: float = np.inf
        truncate_every: int = 1
        is_truncation = True

        def pull(self, rate):
            return 0.001 * rate

    for name in {"shrink", "acts_on", "path_sum"} - set(missing):
        setattr(Own, name, getattr(Truncation, name))
    return Own()


def test_an_update_without_a_step_is_refused():
    with pytest.raises(TypeError, match="is not an update: Own has no method step"):
        Learner(update=own_plain())


@pytest.mark.parametrize("missing", ["value", "slope"])
def test_a_loss_that_lacks_a_method_is_refused_by_its_name(missing):
    [other] = {"value", "slope"} - {missing}
    methods = {other: getattr(Squared, other), missing: property(lambda _: 1.0)}
    own = type("Own", (NamedTuple("Own", []),), methods)()
    with pytest.raises(TypeError, match=f"is not a loss: Own has no method {missing} "):
        Learner(own)


def test_a_shrinkage_needs_what_the_update_calls():
    with pytest.raises(TypeError, match="is not a shrinkage: Own has no method shrink"):
        Learner(shrinkage=truncation_without("shrink"), update=Plain())
    with pytest.raises(TypeError, match="a shrinkage for Averaged: Own has no method path_sum"):
        Learner(shrinkage=truncation_without("path_sum"), update=Averaged())
    with pytest.raises(TypeError, match="a shrinkage for Audited: Own has no method acts_on"):
        Learner(shrinkage=truncation_without("acts_on"), update=Audited())
    Learner(shrinkage=truncation_without("acts_on", "path_sum"), update=Plain())


@pytest.mark.slow
def test_whole_ones_are_as_good_as_those_that_they_were_made_of():
    batch = Batch.from_dicts([{"a": 1, f"w{i % 7}": 2} for i in range(50)], [1, -1] * 25)
    own, known = (
        Learner(Logistic(), s, u, 0.1)
        for s, u in [
            (truncation_without(), own_plain(step=Plain.step)),
            (Truncation(gravity=0.001), Plain()),
        ]
    )
    for learner in (own, known):
        learner.learn(batch)
    assert own.weights() == known.weights()


def test_the_default_rate_is_the_update_s_own():
    assert [
        Learner(update=u).schedule.learning_rate for u in (Plain(), own_plain(step=Plain.step))
    ] == [0.3] * 2
    assert Learner().schedule.learning_rate == 0.6


def test_a_budget_needs_an_update_that_can_evict():
    for own, known in itertools.pairwise([own_plain(step=Plain.step), Plain()]):
        with pytest.raises(ValueError, match="max_live needs"):
            Learner(update=own, max_live=10)
        with pytest.raises(ValueError, match="max_live needs"):
            Learner(shrinkage=NoShrinkage(), update=known, max_live=10)
