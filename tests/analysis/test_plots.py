"""Pictures show what they are given."""

import io

import matplotlib as mpl
import numpy as np
import pytest

from dwindle import Batch, DataError, Learner, Plain, Squared, Truncation
from dwindle.datasets.wdbc import wdbc
from dwindle.model.model import Model

mpl.use("Agg")

import matplotlib.pyplot as plt

from dwindle.analysis.plots import (
    BLUE,
    LONGEST,
    ORANGE,
    Point,
    path,
    plot_frontier,
    plot_path,
    plot_weights,
)
from dwindle.runs.tune.grid import Setting
from dwindle.runs.tune.scores import Found, Score


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def png(axes):
    out = io.BytesIO()
    axes.figure.savefig(out, format="png")
    return out.getvalue()


def learned():
    learner = Learner(Squared(), Truncation(), Plain(), 0.1)
    learner.learn_one({"a": 3, "b": -1, "$c$": 2, "d" * 100: 0.5}, 1)
    return learner


@pytest.mark.parametrize("model", [learned(), Model.of(learned())], ids=["learner", "model"])
def test_bars_are_the_weights_heaviest_first_each_sign_in_its_colour(model):
    axes = plot_weights(model, top=3)
    bars = axes.containers[0]
    assert [bar.get_width() for bar in bars] == pytest.approx([0.6, 0.4, -0.2])
    assert [mpl.colors.to_hex(bar.get_facecolor()).upper() for bar in bars] == [BLUE, BLUE, ORANGE]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "$c$", "b"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("weight", "feature (1 more)")
    assert png(axes).startswith(b"\x89PNG")


def test_a_long_name_is_cut():
    labels = plot_weights(learned()).get_yticklabels()
    assert len(labels[-1].get_text()) == LONGEST


def test_a_model_without_features_has_nothing_to_draw():
    with pytest.raises(DataError, match="the model has kept no feature"):
        plot_weights(Learner())


def test_a_path_is_of_the_features_kept_and_the_score_at_each_gravity():
    data = wdbc(0)
    points = path(data.train, data.test, [0, 2e-3, 0.3])
    assert [p.gravity for p in points] == [0, 2e-3, 0.3]
    assert points[0].kept > points[1].kept > points[2].kept
    assert points[1].score > 0.98
    learner = Learner(shrinkage=Truncation(2e-3))
    learner.learn(data.train)
    assert points[1].kept == len(learner)


def test_the_score_of_numbers_is_their_mean_loss():
    batch = Batch.from_dicts([{"a": 1}, {"a": 2}], [1, 2], [1, 3])
    [point] = path(batch, batch, [0], loss=Squared(), update=Plain(), learning_rate=0.1)
    learner = Learner(Squared(), Truncation(), Plain(), 0.1)
    learner.learn(batch)
    errors = (learner.predict(batch) - [1, 2]) ** 2
    assert point.score == pytest.approx(np.average(errors, weights=[1, 3]))


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 1e-6])
@pytest.mark.parametrize("last", [0, 3])
def test_a_path_is_drawn_with_zeros_or_without(first, last):
    points = [Point(1e-4, last, 0.5), Point(first, 1000, 0.9), Point(1e-5, 40, 0.95)]
    above, below = plot_path(points, score="accuracy")
    assert above.lines[0].get_xydata().tolist() == [[first, 0.9], [1e-5, 0.95], [1e-4, 0.5]]
    assert below.lines[0].get_ydata().tolist() == [1000, 40, last]
    assert above.get_ylabel() == "accuracy"
    assert (below.get_xlabel(), below.get_ylabel()) == ("gravity", "features kept")
    assert png(above).startswith(b"\x89PNG")


def score(kept, accuracy, auc, gravity=0.0, loss=1.0):
    metrics = {"accuracy": accuracy, "auc": auc, "loss": loss}
    return Score(Setting(gravity=gravity), metrics, kept, 0.01)


@pytest.mark.slow
def test_a_frontier_is_drawn_with_the_bound_and_the_chosen_point():
    dense, chosen = score(1000, 0.9, 0.95), score(50, 0.895, 0.94, 1e-3)
    others = [score(3, 0.6, 0.7, 0.1), score(60, 0.7, 0.8, 1e-4), score(100, 0.91, 0.9, 1e-5)]
    diverged = Score(Setting(learning_rate=9.0), {"loss": np.inf}, np.nan, np.nan)
    found = Found("accuracy", dense, chosen, 0.891, [dense, chosen, *others, diverged])
    above, below = plot_frontier(found)
    drawn = {line.get_label(): line.get_xydata().tolist() for line in above.lines}
    assert drawn["a setting"] == [[s.kept, s.accuracy] for s in (dense, chosen, *others)]
    assert drawn["frontier"] == [[3, 0.6], [50, 0.895], [100, 0.91]]
    assert drawn["best without gravity"] == [[1000, 0.9]]
    assert drawn["chosen"] == [[50, 0.895]]
    assert [y for _, y in drawn["bound"]] == [0.891, 0.891]
    assert below.lines[1].get_ydata().tolist() == [0.7, 0.94, 0.9]
    assert (above.get_ylabel(), below.get_ylabel()) == ("accuracy", "AUC")
    assert below.get_xlabel() == "features kept"
    assert [text.get_text() for text in above.texts] == ["50 features, 0.895"]
    assert above.get_xscale() == "log"
    assert png(above).startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize(("worst", "best"), [(0.55, 0.93), (0.6, 0.99), (0.8, 0.99)])
def test_nothing_of_a_frontier_is_cut_off(worst, best):
    points = [score(0, worst, 0.5), score(2968, best - 0.008, 0.979), score(70113, best, 0.9823)]
    above, below = plot_frontier(Found("accuracy", points[2], points[1], 0.99 * best, points))
    figure = above.figure
    figure.savefig(io.BytesIO(), dpi=150)
    for axes in (above, below):
        assert axes.yaxis.label.get_window_extent().x0 > 0.05 * figure.dpi


@pytest.mark.slow
def test_where_no_bound_plays_a_part_none_is_drawn():
    dense, chosen = score(10, 0.9, 0.95), score(10, 0.91, 0.96, 1e-3)
    above, _ = plot_frontier(Found("accuracy", dense, chosen, None, [dense, chosen]))
    assert "bound" not in {line.get_label() for line in above.lines}
    assert "bound" not in {text.get_text() for text in above.get_legend().get_texts()}
    assert above.lines
    assert png(above).startswith(b"\x89PNG")


def test_numbers_have_one_picture_in_which_the_frontier_goes_down():
    points = [score(kept, np.nan, np.nan, loss=loss) for kept, loss in ((0, 9), (3, 2), (40, 1.9))]
    _, axes = plt.subplots()
    [drawn] = plot_frontier(Found("loss", points[2], points[1], 2.1, points), axes=axes)
    assert drawn is axes
    assert drawn.lines[1].get_xydata().tolist() == [[0, 9], [3, 2], [40, 1.9]]
    assert drawn.get_xscale() == "symlog"
    assert drawn.get_xlim() == (-0.2, 60)
    assert drawn.get_ylabel() == "loss"


@pytest.mark.slow
def test_the_other_picture_is_of_the_accuracy_if_the_metric_is_the_auc():
    one = score(7, 0.8, 0.9)
    axes = plot_frontier(Found("auc", one, one, 0.89, [one]))
    assert [each.get_ylabel() for each in axes] == ["AUC", "accuracy"]


def test_one_feature_is_not_features():
    one = score(1.3, 0.8, 0.9)  # a mean over folds
    above, _ = plot_frontier(Found("accuracy", one, one, 0.79, [one]))
    assert [text.get_text() for text in above.texts] == ["1 feature, 0.8"]


def test_pictures_go_where_they_are_told():
    _, axes = plt.subplots(2)
    assert plot_path([(0.1, 5, 0.5)], axes=axes) == tuple(axes)
    _, one = plt.subplots()
    assert plot_weights(learned(), axes=one) is one
    with pytest.raises(DataError, match="the path has no points"):
        plot_path([])
