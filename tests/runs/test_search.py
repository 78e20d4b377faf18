"""Cross-validation finds what was planted, and measures what a plain loop would."""

import itertools
import math
import threading

import numpy as np
import pytest

from dwindle import Batch, DataError, Learner, Logistic, Poisson, Squared
from dwindle.model.model import Model
from dwindle.runs.journal import Journal
from dwindle.runs.metrics import METRICS, accuracy, auc
from dwindle.runs.observer import Stopped
from dwindle.runs.tune.grid import Grid, Setting
from dwindle.runs.tune.scores import Found, Score, good
from dwindle.runs.tune.search import Search, trained
from helpers.observing import heard
from helpers.planted_data import CLASSES, NUMBERS, WEIGHTS, batch_of, batches

SMALL = Grid(
    learning_rate=(0.1, 0.5), pass_decay=(0.5,), gravity=(0.0, 3e-3, 1e-2, 3e-2), passes=(1, 3)
)


@pytest.fixture(scope="module")
def found():
    return Search(Logistic(), SMALL, folds=5).run(batches())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "examples"), [(Logistic(), CLASSES), (Squared(), NUMBERS)], ids=["classes", "numbers"]
)
def test_the_planted_features_are_found_and_few_others(loss, examples):
    grid = Grid(learning_rate=(0.6, 2.0), passes=(1, 3, 10))
    found = Search(loss, grid, folds=5).run(batches(examples), jobs=2)
    learner = trained(batches(examples), found.chosen.setting, loss)
    kept = {int(name) for name in learner.weights()}
    assert kept >= set(range(len(WEIGHTS)))
    assert len(kept) <= 2 * len(WEIGHTS)
    assert found.dense.kept == 40


@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("metric", ["accuracy", "auc", "loss", "average_precision", "brier_score"])
def test_the_chosen_setting_is_the_sparsest_within_the_tolerance(metric, tolerance):
    found = Search(Logistic(), SMALL, metric, 3, tolerance).run(batches())
    sign = METRICS[metric].better
    value = {score.setting: score.metric(metric) for score in found.scores}
    best = max(sign * v for setting, v in value.items() if setting.gravity == 0)
    assert sign * found.dense.metric(metric) == best
    enough = [s for s in found.scores if sign * value[s.setting] >= best - tolerance * abs(best)]
    assert found.chosen in enough
    assert found.chosen.kept == min(score.kept for score in enough)
    assert found.bound == pytest.approx(sign * (best - tolerance * abs(best)))


def leave_out(examples, setting, loss, folds, fold, keep=None):
    """A learner that never saw the fold, and what is measured of it: the plain loop."""
    seen = [e for i, e in enumerate(examples) if i % folds != fold]
    held = [e for i, e in enumerate(examples) if i % folds == fold]
    learner = setting.learner(loss)
    for _ in range(setting.passes):
        learner.learn(batch_of(seen))
        learner.next_pass()
    learner.cooldown(setting.cooldown)
    model = Model.of(learner).heaviest(keep)
    p = model.predict(batch_of(held))
    return p, np.array([y for y, _, _ in held], np.float32), len(model)


def left_out(setting, keep=None):
    """What is measured of learners of which each never saw a fold."""
    parts = [leave_out(CLASSES, setting, Logistic(), 4, f, keep) for f in range(4)]
    n = [len(y) for _, y, _ in parts]
    right = [accuracy(p, y) for p, y, _ in parts]
    losses = [float(np.average(np.logaddexp(0, -p * y))) for p, y, _ in parts]
    each = right, [auc(p, y) for p, y, _ in parts], losses
    kept = np.mean([kept for _, _, kept in parts])
    return [float(np.average(values, weights=n)) for values in each], kept, right


def test_each_score_is_to_the_bit_that_of_learners_that_never_saw_the_fold():
    found = Search(Logistic(), SMALL, "accuracy", folds=4, keep=4).run(batches())
    assert len(found.scores) == 2 * 2 * (1 + 3 * 2)  # gravities but 0 with two rests each
    for score in found.scores:
        (rightly, ranked, loss), kept, right = left_out(score.setting, keep=4)
        assert (score.accuracy, score.auc, score.kept) == (rightly, ranked, kept)
        assert score.loss == pytest.approx(loss, rel=1e-12)
        assert score.spread == pytest.approx(np.std(right, ddof=1) / 2)


@pytest.mark.parametrize(
    ("update", "near", "decay"),
    [("plain", 0.01, 0.5), ("adaptive", 0.03, 0.5), ("rda", 0.03, 1.0)],
    ids=str,
)
def test_gravities_and_folds_in_lanes_score_about_as_learners_of_their_own(update, near, decay):
    grid = SMALL._replace(update=(update,), passes=(1,), pass_decay=(decay,))
    found = Search(Logistic(), grid, folds=4).run(batches())
    for score in found.scores:
        (_, ranked, loss), kept, _ = left_out(score.setting)
        assert score.auc == pytest.approx(ranked, abs=near)
        assert score.loss == pytest.approx(loss, rel=near)
        assert score.kept == pytest.approx(kept, abs=1 if near < 0.01 else 10)


@pytest.mark.parametrize("update", ["adaptive", "rda"])
def test_what_is_chosen_was_measured_alone_to_the_bit(update):
    grid = SMALL._replace(update=(update,), passes=(1,), pass_decay=(1.0,))
    found = Search(Logistic(), grid, folds=4).run(batches())
    (rightly, ranked, _), kept, _ = left_out(found.chosen.setting)
    assert (found.chosen.accuracy, found.chosen.auc, found.chosen.kept) == (rightly, ranked, kept)
    assert found.chosen in found.scores


@pytest.mark.parametrize("update", ["ftrl", "rda"])
def test_updates_that_average_are_searched(update):
    found = Search(Logistic(), Grid(update=(update,), passes=(1,)), folds=3).run(batches())
    assert found.chosen.auc > 0.7
    assert found.chosen.kept < found.dense.kept


def test_by_default_a_sparser_model_is_hardly_worse_than_the_best():
    found = Search(Logistic(), SMALL, folds=5).run(batches())
    best = max(score.auc for score in found.scores)
    assert found.metric == "auc"
    assert found.chosen.auc >= best * (1 - 0.002)
    enough = [score for score in found.scores if score.auc >= best * (1 - 0.002)]
    assert found.chosen.kept == min(score.kept for score in enough)


def test_fewer_passes_measured_on_the_way_are_as_runs_of_their_own(found):
    for passes in (1, 3):
        alone = Search(Logistic(), SMALL._replace(passes=(passes,)), folds=5).run(batches())
        of_these = [score for score in found.scores if score.setting.passes == passes]
        # What is chosen was measured anew, each fold by a learner of its own.
        by_itself = [each.setting for of in (found, alone) for each in (of.chosen, of.dense)]
        for one, other in zip(alone.scores, of_these, strict=True):
            assert one == other or one.setting in by_itself


@pytest.mark.parametrize("jobs", [2, 4])
def test_the_number_of_threads_changes_nothing(found, jobs):
    assert Search(Logistic(), SMALL, folds=5).run(batches(), jobs=jobs) == found


def test_how_examples_are_cut_into_batches_changes_nothing(found):
    assert Search(Logistic(), SMALL, folds=5).run(batches(sizes=(600,))) == found


def test_weighted_and_unlabelled_examples_count_as_they_weigh():
    weight = np.random.default_rng(1).choice([0.0, 1.0, 2.0], len(CLASSES))
    grid = Grid((0.3,), (1.0,), (0.0, 1e-2), passes=(1,), cooldown=(1,))
    found = Search(Logistic(), grid, "accuracy", folds=3, keep=40).run(batches(importance=weight))
    for score in found.scores:
        right = total = 0.0
        for fold in range(3):
            learner = score.setting.learner(Logistic())
            for i, (example, w) in enumerate(zip(CLASSES, weight, strict=True)):
                if i % 3 != fold and w:
                    learner.learn(batch_of([example], [w]))
            learner.next_pass()
            learner.cooldown(score.setting.cooldown)
            p = learner.predict(batch_of(CLASSES))
            for i in range(fold, len(CLASSES), 3):
                right += weight[i] * ((p[i] > 0) == (CLASSES[i][0] > 0))
                total += weight[i]
        assert score.accuracy == pytest.approx(right / total, rel=1e-12)


def test_a_rate_that_diverges_spoils_no_other():
    settings = {"pass_decay": (1.0,), "gravity": (0.0, 0.01), "update": ("plain",), "passes": (1,)}
    alone = Search(Squared(), Grid((0.01,), **settings), folds=3).run(batches(NUMBERS))
    with_another = Search(Squared(), Grid((0.01, 5.0), **settings), folds=3).run(batches(NUMBERS))
    others = [s for s in with_another.scores if s.setting.learning_rate == 0.01]
    assert repr(others) == repr(alone.scores)  # nan is not nan
    worst = [s for s in with_another.scores if s.setting.learning_rate == 5.0]
    assert all(s.loss == math.inf and math.isnan(s.kept) for s in worst)
    assert repr(with_another[:4]) == repr(alone[:4])
    assert not set(map(id, worst)) & set(map(id, with_another.frontier()))


def test_if_every_rate_diverges_that_is_told():
    grid = Grid((50.0,), (1.0,), (0.0,), update=("plain",), passes=(1,))
    with pytest.raises(
        DataError, match=r"every run without gravity diverged.*smaller learning rates"
    ):
        Search(Squared(), grid, folds=3).run(batches(NUMBERS))


def test_with_keep_the_best_of_so_many_features_is_chosen(found):
    cut = Search(Logistic(), SMALL, folds=5, keep=6).run(batches())
    assert all(score.kept <= 6 for score in cut.scores)
    assert cut.chosen.auc == max(score.auc for score in cut.scores)
    assert cut.bound is None
    assert max(score.kept for score in found.scores) == 40


def test_the_frontier_is_what_no_other_beats_in_both(found):
    frontier = found.frontier()
    assert found.chosen in frontier
    for score in frontier:
        better = [s for s in found.scores if s.auc >= score.auc and s.kept <= score.kept]
        assert all((s.auc, s.kept) == (score.auc, score.kept) for s in better)
    assert [s.kept for s in frontier] == sorted({s.kept for s in frontier})
    for score in found.scores:
        assert any(s.auc >= score.auc and s.kept <= score.kept for s in frontier)


def test_less_loss_is_better_and_what_was_not_measured_is_worst():
    score = Score(Setting(), {"auc": 0.5, "loss": 2.0}, 1.0, 0.0)
    assert (good(score, "loss"), good(score, "auc")) == (-2.0, 0.5)
    assert good(score, "accuracy") == -math.inf
    other = score._replace(metrics={"loss": 1.0}, kept=3.0)
    worse = score._replace(metrics={"loss": 1.5}, kept=4.0)
    assert Found("loss", other, other, 1.0, [worse, other, score]).frontier() == [score, other]


def test_what_would_be_chosen_so_far_is_told_while_it_runs():
    told = []
    found = Search(Logistic(), SMALL, folds=2).run(batches(), observer=heard(on_best=told.append))
    assert told[-1].chosen == found.chosen
    assert len(told) > 1
    assert all(one.chosen != other.chosen for one, other in itertools.pairwise(told))


def test_a_setting_that_is_asked_for_twice_is_scored_once():
    one, other = Setting(gravity=0.01), Setting(gravity=0.01, passes=2)
    search = Search(Logistic(), folds=2)
    assert search.scores(batches(), [one, one, other]) == search.scores(batches(), [one, other])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"folds": 1}, "folds must be 2 or more, got 1"),
        ({"tolerance": 1.0}, r"tolerance must be 0 or more and below 1, got 1.0 \(1% is 0.01\)"),
        ({"tolerance": -0.1}, "tolerance must be 0 or more and below 1, got -0.1"),
        ({"metric": "nonsense"}, "metric must be one of loss, log_loss, auc.*got 'nonsense'"),
        ({"keep": -1}, "keep must be 0 or more"),
        (
            {"loss": Poisson(), "metric": "auc"},
            "metric auc needs labels of two classes, not Poisson",
        ),
        ({"grid": Grid(learning_rate=())}, "rate must have a value to try"),
        (
            {"grid": Grid(learning_rate=(0.1, -1.0))},
            "learning_rate must be finite and above 0, got -1.0",
        ),
        ({"grid": Grid(gravity=(0.0, math.nan))}, "gravity must be 0 or more"),
        ({"grid": Grid(passes=(0,))}, "passes must be a whole number, 1 or more, got 0"),
        ({"grid": Grid(cooldown=(-1,))}, "cooldown must be a whole number, 0 or more, got -1"),
        ({"grid": Grid(truncate_every=(0,))}, "truncate_every must be a whole number, 1 or more"),
        (
            {"grid": Grid(update=("best",))},
            "update must be one of auto, adaptive, centred, plain, averaged, ftrl, rda, got 'best'",
        ),
    ],
)
def test_what_no_search_could_use_is_refused_by_name(wrong, said):
    with pytest.raises(ValueError, match=said):
        Search(**({"loss": Logistic()} | wrong)).run(batches())


def test_too_few_examples_for_the_folds_are_told():
    few = [batch_of(CLASSES[:4])]
    with pytest.raises(DataError, match="there are 4 examples, too few for 5 folds"):
        Search(Logistic(), SMALL).run(few)
    weight = [0.0 if i % 3 == 1 else 1.0 for i in range(12)]
    with pytest.raises(DataError, match="fold 1 has no labelled examples: take fewer folds"):
        Search(Logistic(), SMALL, folds=3).run([batch_of(CLASSES[:12], weight)])


def test_folds_of_one_class_have_no_auc_and_the_others_do():
    examples = [({"a": i % 7, "b": 1}, 1 if i % 2 else -1) for i in range(60)]
    batch = Batch.from_dicts([x for x, _ in examples], [y for _, y in examples])
    grid = Grid((0.1,), (1.0,), (0.0,), passes=(1,))
    with pytest.raises(DataError, match="could not be measured"):
        Search(Logistic(), grid, "auc", folds=2).run([batch])
    found = Search(Logistic(), grid, "accuracy", folds=2).run([batch])
    assert math.isnan(found.chosen.auc)
    assert found.chosen.accuracy == 0  # each fold learns from the other class alone


def test_a_search_that_is_stopped_goes_on_from_its_journal(found, tmp_path):
    made = []
    with pytest.raises(Stopped):
        Search(Logistic(), SMALL, folds=5).run(
            batches(),
            jobs=2,
            journal=Journal(tmp_path / "j", 1),
            observer=heard(
                on_run=lambda done, _: made.append(done),
                stopping=lambda: bool(made) and made[-1] >= 2,
            ),
        )
    before = len(Journal(tmp_path / "j", 1))
    assert 2 <= before < 6
    steps = []
    again = Search(Logistic(), SMALL, folds=5).run(
        batches(),
        journal=Journal(tmp_path / "j", 1),
        observer=heard(on_run=lambda *step: steps.append(step)),
    )
    assert again == found
    assert steps[0] == (before, 4)
    assert steps[-1][0] == steps[-1][1] > 4  # what is chosen is measured alone


@pytest.mark.parametrize("other", [{"passes": (1, 2)}, {"passes": (3,)}, {"cooldown": (1, 5)}])
def test_what_a_journal_has_of_other_passes_and_rests_is_not_taken_for_these(tmp_path, other):
    journal = Journal(tmp_path / "j", 1)
    Search(Logistic(), SMALL, folds=2).run(batches(), journal=journal)
    search = Search(Logistic(), SMALL._replace(**other), folds=2)
    assert search.run(batches(), journal=journal) == search.run(batches())


def test_when_it_stops_no_thread_goes_on():
    before = set(threading.enumerate())
    calls = itertools.count()
    with pytest.raises(Stopped):
        Search(Logistic(), SMALL._replace(passes=(10_000,)), folds=5).run(
            batches(), jobs=2, observer=heard(stopping=lambda: next(calls) > 5)
        )
    assert not set(threading.enumerate()) - before


def test_a_learner_trained_with_a_setting_is_the_learner_itself():
    setting = Setting(learning_rate=0.2, pass_decay=0.5, gravity=0.01, passes=2, cooldown=5)
    expected = Learner(**setting.learner(Logistic()).arguments())
    for _ in range(2):
        for batch in batches():
            expected.learn(batch)
        expected.next_pass()
    expected.cooldown(5)
    assert trained(batches(), setting, Logistic()).weights() == expected.weights()
