"""Without a gravity, train learns several at once and keeps the sparsest as good as the best."""

import json

import numpy as np
import pytest

from dwindle import Logistic, SettingError
from dwindle.algorithm.settings import UPDATES, USUAL_IN_LANES
from dwindle.data.options import ReadOptions
from dwindle.engine.lanes import LaneLearner
from dwindle.model.model import Model
from dwindle.model.path import Path
from dwindle.runs.build import make_learner
from dwindle.runs.evaluate import evaluate
from dwindle.runs.observer import Stopped
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers import planted_data
from helpers.commands import dwindle, told
from helpers.observing import heard
from helpers.stop_after import stopped_after

SMALL = ReadOptions(block_size=5000)
PLANTED = {f"f^w{j}" for j in range(len(planted_data.WEIGHTS))}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "train.vw"
    path.write_text(planted_data.vw(planted_data.rows(2500)))
    return path


@pytest.fixture(scope="module")
def trained(data):
    """What train shows, and the model it writes."""
    shown = dwindle("train", data, "-m", data.parent / "m", text=True).stderr
    return shown, Model.load(data.parent / "m")


def test_without_options_the_features_that_tell_are_kept_and_most_others_go(trained):
    _, model = trained
    assert set(model.weights()) >= PLANTED
    assert len(model) <= 15


def test_the_screen_shows_every_gravity_and_marks_the_chosen_one(trained):
    shown, model = trained
    lines = shown.splitlines()
    [head] = [k for k, line in enumerate(lines) if line.split()[:1] == ["gravity"]]
    rows = lines[head + 1 : head + 9]
    kept = [int(row.split()[2].replace(",", "")) for row in rows]
    [chosen] = [k for k, row in enumerate(rows) if row.endswith(" chosen")]
    assert kept[0] == 40
    assert kept[chosen] == len(model)
    assert lines[head + 9].startswith("chosen        the fewest features with an AUC ")
    assert all(len(line) <= 80 for line in lines[head : head + 9])


def test_the_model_says_which_gravity_it_is_of_and_how_it_was_chosen(trained):
    _, model = trained
    said = model.metadata
    [chosen] = [lane for lane in said["frontier"] if lane["chosen"]]
    assert (said["sigmas"], said["evidence"]) == (chosen["gravity"], chosen["evidence"])
    assert said["chosen_by"] == "auc"
    assert chosen["kept"] == len(model)


def test_json_and_python_have_the_same_frontier(data, tmp_path):
    out = dwindle("train", data, "-m", tmp_path / "m", "--json", text=True).stdout
    told_so = json.loads(out.splitlines()[-1])
    summary = train([str(data)], tmp_path / "n")
    assert told_so["frontier"] == [lane._asdict() for lane in summary.frontier]
    assert summary.choice.metric == "auc"
    best = max(lane.judged for lane in summary.frontier)
    good = [lane for lane in summary.frontier if lane.judged >= best - 0.002]
    assert summary.kept == min(lane.kept for lane in good)


def test_dense_is_no_gravity(data, tmp_path):
    for name, how in (("a", ["--dense"]), ("b", ["--gravity", 0]), ("c", ["-g", 0, "--dense"])):
        dwindle("train", data, "-m", tmp_path / name, "-q", *how)
    assert len(Model.load(tmp_path / "a")) == 40
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("--dense --gravity 0.1", "--dense is no gravity: leave out --gravity and --sigmas"),
        ("--dense --sigmas 0.1", "--dense is no gravity: leave out --gravity and --sigmas"),
        ("--gravity 0.1 --sigmas 0.1", "sigmas stands for gravity: give one of them"),
        ("--sigmas 0.1 --l2 0.1", "sigmas is a gravity of shrinkage truncation, not of elastic-net"),
        ("--gravity 0.1 --path", "--path keeps several gravities, and there is one"),
        ("--loss squared --choose-by auc --sigmas 0,1", "choose_by auc needs two classes"),
        ("--tolerance -1", "tolerance must be 0 or more, got -1"),
    ],
)  # fmt: skip
def test_what_contradicts_is_told_in_one_line(data, tmp_path, wrong, message):
    done = dwindle("train", data, "-m", tmp_path / "m", *wrong.split(), check=False, text=True)
    assert (done.returncode, len(told(done))) == (2, 1), done.stderr
    assert told(done)[0].startswith(message)


@pytest.mark.parametrize("wrong", ["gravity=much", "sigmas=a,b", "choose-by=r2"])
def test_what_cannot_be_read_is_bad_usage(data, tmp_path, wrong):
    done = dwindle("train", data, "-m", tmp_path / "m", f"--{wrong}", check=False, text=True)
    assert done.returncode == 2
    assert f"'--{wrong.split('=')[0]}'" in done.stderr


def test_one_sigma_is_one_model_and_several_are_compared(data, tmp_path):
    one = train([str(data)], tmp_path / "one", TrainSettings(sigmas=0.25))
    assert [lane.gravity for lane in one.frontier] == [0.25]
    shown = dwindle("train", data, "-m", tmp_path / "m", "--sigmas", "0.25", text=True).stderr
    assert "chosen" not in shown
    several = train([str(data)], tmp_path / "many", TrainSettings(sigmas=(0, 0.25, 4)))
    assert [lane.gravity for lane in several.frontier] == [0.0, 0.25, 4.0]


@pytest.mark.parametrize("keep", [0, 3, 10, 100])
def test_keep_is_the_best_that_has_no_more_features(data, tmp_path, keep):
    summary = train([str(data)], tmp_path / "m", TrainSettings(keep=keep))
    fitting = [lane for lane in summary.frontier if lane.kept <= keep]
    [chosen] = [lane for lane in summary.frontier if lane.chosen]
    assert summary.kept == len(Model.load(tmp_path / "m")) <= keep
    if fitting:
        assert chosen == max(fitting, key=lambda lane: lane.judged)
    else:
        assert chosen.kept == min(lane.kept for lane in summary.frontier)


def test_more_tolerance_keeps_no_more(data, tmp_path):
    kept = [
        train([str(data)], tmp_path / "m", TrainSettings(tolerance=tolerance)).kept
        for tolerance in (0.0, 0.01, 1.0)
    ]
    assert kept == sorted(kept, reverse=True)
    summary = train([str(data)], tmp_path / "m", TrainSettings(choose_by="loss", tolerance=0.0))
    assert summary.choice.metric == "loss"
    assert min(lane.judged for lane in summary.frontier) <= summary.best_constant_loss


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"passes": 3, "cooldown": 10, "path": True},
        {"holdout": 5, "passes": 3, "save_state": True},
        {"shuffle": 500, "passes": 2, "max_live": 30},
        {"update": "adaptive", "threshold": 2.0},
    ],
    ids=str,
)
def test_stopped_and_resumed_the_model_and_the_frontier_are_the_same_to_the_bit(
    data, tmp_path, how
):
    settings = TrainSettings(**how, reading=SMALL)
    whole = train([str(data)], tmp_path / "whole", settings)
    stop = heard(stopping=stopped_after(7))
    with pytest.raises(Stopped):
        train([str(data)], tmp_path / "part", settings, observer=stop)
    part = train([str(data)], tmp_path / "part", resume=True, given=())
    assert (tmp_path / "part").read_bytes() == (tmp_path / "whole").read_bytes()
    assert part.frontier == whole.frontier


def test_a_resumed_run_may_keep_another_number(data, tmp_path):
    settings = TrainSettings(reading=SMALL)
    whole = train([str(data)], tmp_path / "whole", TrainSettings(reading=SMALL, keep=7))
    stop = heard(stopping=stopped_after(7))
    with pytest.raises(Stopped):
        train([str(data)], tmp_path / "part", settings, observer=stop)
    how = TrainSettings(keep=7)
    part = train([str(data)], tmp_path / "part", how, resume=True, given=["keep"])
    assert part.frontier == whole.frontier
    made, expected = (Model.load(tmp_path / name) for name in ("part", "whole"))
    assert list(made.weights().items()) == list(expected.weights().items())
    curves = [model.metadata.pop("learning_curve") for model in (made, expected)]
    assert made.metadata == expected.metadata
    assert all(each.pop("alive") for each in curves)  # of the models chosen until then
    assert curves[0] == curves[1]


def test_two_days_with_the_state_are_as_one_stream(data, tmp_path):
    lines = data.read_text().splitlines(keepends=True)
    (tmp_path / "a.vw").write_text("".join(lines[:1000]))
    (tmp_path / "b.vw").write_text("".join(lines[1000:]))
    files = [str(tmp_path / "a.vw"), str(tmp_path / "b.vw")]
    whole = train([str(data)], tmp_path / "whole")
    train(files[:1], tmp_path / "m", TrainSettings(save_state=True))
    part = train(files[1:], tmp_path / "m", start_from=tmp_path / "m")
    assert part.frontier == whole.frontier
    assert Model.load(tmp_path / "m").weights() == Model.load(tmp_path / "whole").weights()


def test_how_it_is_chosen_goes_on_with_a_model_but_not_how_many_it_may_keep(data, tmp_path):
    how = {"keep": 3, "tolerance": 0.01, "choose_by": "loss", "save_state": True}
    train([str(data)], tmp_path / "m", TrainSettings(**how))
    later = train([str(data)], tmp_path / "m", start_from=tmp_path / "m")
    assert later.choice == ("loss", 0.01, None)
    assert later.kept > 3


def test_within_a_budget_never_more_are_alive(data, tmp_path):
    summary = train([str(data)], tmp_path / "m", TrainSettings(max_live=20))
    assert summary.peak_live <= 20
    assert summary.eviction_report


@pytest.mark.parametrize("loss", ["logistic", "hinge", "huber", "poisson", "clipped-squared"])
def test_every_loss_finds_its_gravity(tmp_path, loss):
    rows = planted_data.rows(1000)
    if loss not in {"logistic", "hinge"}:
        rows = [((y > 0) * 1, js, xs) for y, js, xs in rows]
    (tmp_path / "a.vw").write_text(planted_data.vw(rows))
    summary = train([str(tmp_path / "a.vw")], tmp_path / "m", TrainSettings(loss=loss))
    assert len(summary.frontier) == 8
    assert summary.loss < summary.best_constant_loss


def test_importance_counts_in_the_choice(tmp_path):
    rows = planted_data.rows(1500)
    lines = [
        f"{y} {k % 2} |f " + " ".join(f"w{j}:{x}" for j, x in zip(js, xs, strict=True)) + "\n"
        for k, (y, js, xs) in enumerate(rows)
    ]
    (tmp_path / "a.vw").write_text("".join(lines))
    (tmp_path / "b.vw").write_text("".join(lines[1::2]))
    a, b = (train([str(tmp_path / f"{n}.vw")], tmp_path / n).frontier for n in "ab")
    np.testing.assert_allclose([lane.loss for lane in a], [lane.loss for lane in b])


def test_with_a_holdout_gravities_are_compared_on_it_after_the_best_pass(data, tmp_path):
    (tmp_path / "held.vw").write_text(planted_data.vw(planted_data.rows(1000, seed=1)))
    how = TrainSettings(holdout=str(tmp_path / "held.vw"), passes=4, path=True)
    summary = train([str(data)], tmp_path / "m", how)
    [chosen] = [k for k, lane in enumerate(summary.frontier) if lane.chosen]
    assert summary.frontier[chosen].kept == summary.kept == len(Model.load(tmp_path / "m"))
    for k, lane in enumerate(summary.frontier):
        Path.load(tmp_path / "m").model(lane=k).save(tmp_path / "n")
        found = evaluate(tmp_path / "n", [str(tmp_path / "held.vw")])
        assert found["auc"] == pytest.approx(lane.judged, abs=1e-3)
        if k == chosen:
            assert found["loss"] == pytest.approx(summary.holdout_loss)


def test_the_path_has_all_models_and_is_read_as_the_chosen_one(data, tmp_path):
    whole = train([str(data)], tmp_path / "path", TrainSettings(path=True))
    train([str(data)], tmp_path / "m")
    assert Path.load(tmp_path / "path").frontier() == whole.frontier
    chosen = (dwindle("predict", tmp_path / name, data).stdout for name in ("path", "m"))
    assert len(set(chosen)) == 1


def test_the_picture_is_drawn_by_its_name(data, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "sizes.svg"
    dwindle("train", data, "-m", tmp_path / "m", "--picture", picture, "-q")
    assert "<svg" in picture.read_text()
    picture.unlink()
    how = ("--picture", picture, "--dense")
    done = dwindle("train", data, "-m", tmp_path / "m", *how, text=True)
    assert told(done) == [
        "no picture: one gravity was learned; leave out --gravity to learn several"
    ]
    assert not picture.exists()


@pytest.mark.parametrize(
    ("given", "lanes"),
    [
        ({}, f"Centred{UPDATES[USUAL_IN_LANES].__name__}"),
        ({"standardize": False}, UPDATES[USUAL_IN_LANES].__name__),
        ({"update": "ftrl"}, "CentredFTRL"),
        ({"update": "adaptive"}, "Adaptive"),
        ({"threshold": 1.0}, "Adaptive"),
        ({"truncate_every": 5}, "Adaptive"),
        ({"gravity": 0.0}, None),
        ({"gravity": 0.1}, None),
        ({"update": "plain"}, None),
        ({"update": "averaged"}, None),
        ({"shrinkage": "rounding", "threshold": 0.1}, None),
        ({"shrinkage": "none"}, None),
        ({"l2": 0.1}, None),
    ],
    ids=str,
)
def test_gravity_is_found_unless_something_is_asked_for_that_has_none(given, lanes):
    learner = make_learner(TrainSettings(**given), Logistic())
    found = type(learner.update).__name__ if isinstance(learner, LaneLearner) else None
    assert found == lanes


def test_in_python_sigmas_and_gravity_exclude_each_other():
    with pytest.raises(SettingError, match="sigmas stands for gravity"):
        make_learner(TrainSettings(gravity=0.1, sigmas=0.25), Logistic())
