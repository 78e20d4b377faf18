"""What a search tries: gravities, rates and passes that suit the data."""

import numpy as np
import pytest

from dwindle import Adaptive, Batch, Learner, Logistic, Plain, Squared
from dwindle.runs.tune import grid as grids
from dwindle.runs.tune.grid import Grid, Setting, completed
from dwindle.runs.tune.search import Search, trained
from helpers.planted_data import CLASSES, NUMBERS, batches


@pytest.mark.parametrize(
    ("loss", "examples"), [(Logistic(), CLASSES), (Squared(), NUMBERS)], ids=["classes", "numbers"]
)
def test_the_gravities_tried_go_down_from_where_almost_nothing_lives(loss, examples):
    grid = completed(Grid(update=("plain",)), batches(examples), loss)
    zero, *gravities = grid.gravity
    assert zero == 0.0
    assert gravities == sorted(gravities)
    assert gravities[-1] / gravities[0] == pytest.approx(10 ** (8 / 3), rel=0.1)
    # The steepest slope at the best constant, from the examples themselves.
    y = np.array([label for label, _, _ in examples], np.float64)
    c = y.mean() if isinstance(loss, Squared) else np.log((y > 0).sum() / (y < 0).sum())
    slope = 2 * (c - y) / y.std() if isinstance(loss, Squared) else -y / (1 + np.exp(y * c))
    total = np.zeros(40)
    for s, (_, j, x) in zip(slope, examples, strict=True):
        total[j] += s * x
    assert gravities[-1] == pytest.approx(np.abs(total).max() / len(y) * 10 ** (-1 / 3), rel=0.06)
    for update, rate in (("plain", 0.01), ("adaptive", 0.1), ("ftrl", 0.1), ("rda", 0.1)):
        gravities = completed(Grid(update=(update,)), batches(examples), loss).gravity
        most = Setting(rate, gravity=3 * gravities[-1], update=update, cooldown=len(examples))
        assert len(trained(batches(examples), most, loss)) <= 1
        least = Setting(rate, gravity=gravities[1], update=update, cooldown=1)
        assert len(trained(batches(examples), least, loss)) > 30


@pytest.mark.parametrize("unit", [1e-6, 1e6, 1e30])
@pytest.mark.parametrize(
    ("loss", "examples"), [(Logistic(), CLASSES), (Squared(), NUMBERS)], ids=["classes", "numbers"]
)
def test_the_unit_of_a_feature_changes_what_is_tried_only_where_it_changes_the_update(
    loss, examples, unit
):
    other = [(y, j, x * unit) for y, j, x in examples]
    adaptive = completed(Grid(), batches(examples), loss)
    assert completed(Grid(), batches(other), loss) == adaptive
    plain, grid = (
        completed(Grid(update=("plain",)), batches(each), loss) for each in (examples, other)
    )
    assert grid.gravity == pytest.approx(unit * np.array(plain.gravity), rel=0.06)


@pytest.mark.parametrize("unit", [1e6, 1e12])
@pytest.mark.parametrize("update", [Plain(), Adaptive()], ids=str)
def test_labels_in_another_unit_are_pulled_by_as_much_more(update, unit):
    learner = Learner(Squared(), update=update)
    in_unit = [(y * unit, j, x) for y, j, x in NUMBERS]
    usual, large = (grids._steepest(batches(each), learner) for each in (NUMBERS, in_unit))
    assert large == pytest.approx(unit * usual, rel=1e-3)


@pytest.mark.parametrize("update", ["plain", "adaptive"])
@pytest.mark.parametrize("weight", [1e-3, 100.0])
def test_examples_that_weigh_more_are_pulled_as_much_more(weight, update):
    plain = Grid(update=(update,))
    heavy = completed(plain, batches(importance=np.full(600, weight)), Logistic())
    usual = completed(plain, batches(), Logistic())
    assert heavy.gravity == pytest.approx(weight * np.array(usual.gravity), rel=0.06)
    if update == "plain":
        assert heavy.learning_rate == pytest.approx(
            np.array(usual.learning_rate) / weight, rel=0.06
        )


def test_automatic_values_look_at_the_data():
    grid = completed(Grid(update=("plain",)), batches(), Logistic())
    length = np.mean([1 + np.square(x).sum() for _, _, x in CLASSES])
    assert grid.learning_rate == pytest.approx(np.array([1 / 16, 1 / 4, 1, 4]) / length, rel=0.05)
    assert (grid.passes, grid.pass_decay, grid.cooldown) == ((1, 3, 10, 30), (0.5, 0.8), (1, 600))
    assert completed(Grid(), batches(), Logistic()).learning_rate == (0.2, 0.6, 2.0, 6.0)
    assert completed(Grid(update=("ftrl",)), batches(), Logistic()).pass_decay == (1.0,)
    once = completed(Grid(passes=(1,), truncate_every=(1, 10)), batches(), Logistic())
    assert (once.pass_decay, once.cooldown) == ((1.0,), (10, 600))
    nothing = Batch.from_dicts([{}, {}], [1, -1])
    assert all(g >= 0 for g in completed(Grid(), [nothing], Logistic()).gravity)


def test_what_is_automatic_for_one_update_is_not_tried_with_the_other():
    both = Search(Logistic(), Grid(passes=(1,), update=("adaptive", "plain")), folds=2)
    settings = {score.setting for score in both.run(batches()).scores}
    alone = [Search(Logistic(), Grid(passes=(1,), update=(update,)), folds=2).run(batches()).scores
             for update in ("adaptive", "plain")]  # fmt: skip
    assert settings == {score.setting for scores in alone for score in scores}


@pytest.mark.parametrize("update", ["adaptive", "plain", "ftrl", "rda"])
def test_no_chosen_setting_is_at_an_end_of_what_was_tried_by_itself(update):
    found = Search(Logistic(), Grid(update=(update,), passes=(1, 3)), folds=2).run(
        batches(), jobs=2
    )
    assert not found.doubts
    chosen = found.chosen.setting
    for name in ("gravity", "learning_rate"):
        tried = sorted({getattr(each.setting, name) for each in found.scores} - {0.0})
        value = getattr(chosen, name)
        inside = [each for each in found.scores if getattr(each.setting, name) in tried[1:-1]]
        assert tried[0] < value < tried[-1] or any(
            (each.accuracy, each.kept) == (found.chosen.accuracy, found.chosen.kept)
            for each in inside
        )


def test_gravities_that_are_all_too_strong_are_told_and_weaker_ones_found_by_itself():
    given = Grid(learning_rate=(0.6,), pass_decay=(1.0,), passes=(1,), gravity=(0.0, 30.0, 90.0))
    told = Search(Logistic(), given, folds=2).run(batches())
    assert told.chosen == told.dense
    assert told.doubts == [
        "no gravity tried is within the tolerance, so nothing is removed: try smaller ones"
    ]
    left_open = Search(Logistic(), given._replace(gravity=None), folds=2).run(batches())
    assert left_open.chosen.kept < left_open.dense.kept
    assert not left_open.doubts


def test_without_gravity_nothing_is_tried_twice():
    made = Grid(
        *((0.1, 0.5), (0.5,), (0.0, 3e-3, 1e-2, 3e-2)),
        passes=(1, 3),
        truncate_every=(1, 5),
        threshold=(None, 0.5),
        cooldown=(1, 9),
    ).settings()
    assert len(made) == len(set(made)) == 2 * 2 * (1 + 3 * 2 * 2 * 2)
    assert [setting.gravity > 0 for setting in made] == sorted(s.gravity > 0 for s in made)


@pytest.mark.parametrize(
    "grid", [Grid(gravity=(0.01,)), Grid(threshold=(0.1,), gravity=(0.0,), shrinkage=("rounding",))]
)
def test_no_gravity_is_always_tried(grid):
    once = grid._replace(learning_rate=(0.3,), pass_decay=(1.0,), passes=(1,), cooldown=(1,))
    found = Search(Logistic(), once, folds=3).run(batches())
    assert [score.setting.shrinks for score in found.scores] == [False, True]
    assert found.dense.setting == Setting(0.3, 1.0)
