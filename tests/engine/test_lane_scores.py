"""How lanes are judged: the figures against exact ones, and each branch of the rule of choice."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from dwindle import Hinge, Logistic, SettingError, Squared
from dwindle.engine import kernels, lane_scores
from dwindle.engine.lane_scores import SEGMENTS, SHORTEST, Choice, LaneScores
from helpers.compiled import kernel_of
from helpers.random_streams import seeds


def scored(loss, predicted, label, importance=None, cuts=()):
    """Scores of predictions, a column for each lane, given in parts that end at ``cuts``."""
    label = np.asarray(label, np.float32)
    ones = np.ones(len(label)) if importance is None else importance
    given_parts = (
        np.split(np.asarray(each, np.float32), cuts) for each in (predicted, label, ones)
    )
    scores = LaneScores(loss, np.shape(predicted)[1])
    for part in zip(*given_parts, strict=True):
        scores.add(*part)
    return scores


def two_classes(seed, n, share, centre, spread):
    """Scores that tell a little about the label."""
    rng = np.random.default_rng(seed)
    label = np.where(rng.random(n) < share, 1.0, -1.0)
    label[:2] = -1.0, 1.0
    z = rng.normal(size=n) + 0.7 * label
    return np.float32(centre + spread * z)[:, None], label


@pytest.mark.parametrize("share", [0.5, 0.1, 0.001])
@pytest.mark.parametrize(
    ("centre", "spread"),
    [(0, 1), (0, 0.001), (0, 0.03), (0, 30), (0, 200), (-7, 0.3), (-7, 1), (3, 4), (300, 100)],
)
def test_auc_and_loss_from_bins_are_the_exact_ones(share, centre, spread):
    for seed, loss in enumerate([Logistic(), Hinge()]):
        n = 20_000 if share > 0.01 else 200_000  # a positive, of 20, moves the AUC by up to 0.05
        p, label = two_classes(seed, n, share, centre, spread)
        scores = scored(loss, p, label)
        assert scores.aucs[0] == pytest.approx(roc_auc_score(label > 0, p[:, 0]), abs=1e-3)
        exact = np.mean(kernels.values(loss, p[:, 0].astype(np.float64), label))
        assert scores.losses[0] == pytest.approx(exact, rel=1e-3, abs=1e-4)


def test_importances_count_in_auc_and_loss():
    rng = np.random.default_rng(1)
    p, label = two_classes(2, 3000, 0.3, 0, 1)
    h = np.float32(rng.choice([0.0, 0.5, 3.0], len(label)))
    scores = scored(Logistic(), p, label, h)
    exact = roc_auc_score(label > 0, p[:, 0], sample_weight=h)
    assert scores.aucs[0] == pytest.approx(exact, abs=1e-3)
    losses = np.logaddexp(0, -p[:, 0].astype(float) * label)
    assert scores.losses[0] == pytest.approx(np.average(losses, weights=h), rel=1e-3)


def test_predictions_of_0_rank_alike_whatever_their_sign():
    scores = scored(Logistic(), [[-0.0], [0.0]], [-1, 1])
    assert scores.aucs.tolist() == [0.5]


@given(st.floats(width=32, allow_nan=False))
def test_a_score_is_between_the_edges_of_its_bin(score):
    place = kernel_of(lane_scores.bin_of)(np.float32(score))
    edges = lane_scores.bin_edges()
    assert edges[0] == 0
    assert (np.diff(edges) > 0).all()
    assert len(edges) == lane_scores.SIDE + 1
    k = place - lane_scores.SIDE if score >= 0 else lane_scores.SIDE - 1 - place
    assert edges[k] <= abs(score)
    assert abs(score) < edges[k + 1] or k == lane_scores.SIDE - 1


@given(n=st.integers(1, 1500), cuts=st.lists(st.integers(0, 1500), max_size=5))
def test_the_judged_part_is_the_last_quarter_or_500_and_no_segment_more(n, cuts):
    """Each example's loss is its number's: so sums tell which examples were counted."""
    at = np.arange(n, dtype=np.float64)
    scores = scored(
        Squared(), np.sqrt(at)[:, None], np.zeros(n), cuts=sorted(min(c, n) for c in cuts)
    )
    whole = scored(Squared(), np.sqrt(at)[:, None], np.zeros(n))
    assert scores.state() == whole.state()
    assert scores.losses[0] == pytest.approx(at.mean(), rel=1e-5)
    wanted = max(n / 4, min(500, n))
    first = next(
        first
        for first in range(n)
        if scores.judged("loss")[0] == pytest.approx(at[first:].mean(), rel=1e-6, abs=1e-6)
    )
    assert wanted <= n - first < wanted + scores.length
    assert scores.length == SHORTEST or SEGMENTS * scores.length < 2 * n


def rule(scores, kept, **settings):
    return scores.choose(Choice(**settings), np.array(kept))


def ranked(aucs, n=40_000):
    """Lanes whose AUC are these: of each positive, a share outranks all negatives."""
    label = np.tile([-1.0, 1.0], n // 2)
    columns = []
    for auc in aucs:
        p = np.zeros(n)
        p[1::2] = np.where(617 * np.arange(n // 2) % 1000 < round(2000 * auc - 1000), 1.0, 0.0)
        columns.append(p)
    return scored(Logistic(), np.array(columns).T, label)


def test_the_sparsest_lane_within_the_tolerance_of_the_best_auc_is_chosen():
    scores = ranked([0.9, 0.91, 0.9085, 0.9075, 0.8])
    kept = [900, 500, 300, 100, 10]
    assert rule(scores, kept) == 2  # 0.0015 below the best
    assert rule(scores, kept, tolerance=0.003) == 3
    assert rule(scores, kept, tolerance=0.0) == 1
    assert rule(scores, kept, tolerance=0.2) == 4
    assert rule(scores, [1, 500, 300, 100, 10], tolerance=0.01) == 0  # the order is that of sizes


def test_of_lanes_with_as_many_features_the_strongest_gravity_is_chosen():
    scores = ranked([0.9, 0.9, 0.9, 0.9])
    assert rule(scores, [7, 5, 5, 9]) == 2
    assert rule(scores, [5, 5, 5, 5]) == 3


def test_with_keep_the_best_lane_of_at_most_so_many_features_is_chosen():
    scores = ranked([0.9, 0.91, 0.85, 0.8])
    kept = [900, 500, 300, 100]
    assert rule(scores, kept, keep=1000) == 1
    assert rule(scores, kept, keep=499) == 2
    assert rule(scores, kept, keep=300) == 2
    assert rule(scores, kept, keep=100) == 3
    assert rule(scores, kept, keep=99) == 3  # the sparsest, as all have more


def test_by_loss_two_classes_need_a_hundredth_of_the_best():
    n = 2000
    label = np.tile([-1.0, 1.0], n // 2)
    columns = [label * p for p in (1.0, 1.004, 0.99, 0.9)]
    scores = scored(Logistic(), np.array(columns).T, label)
    best = scores.losses.min()
    assert [loss < 1.01 * best for loss in scores.losses] == [True, True, False, False]
    kept = [9, 8, 7, 6]
    assert rule(scores, kept, metric="loss") == 1
    assert rule(scores, kept, metric="loss", tolerance=0.1) == 2
    assert rule(scores, kept, metric="loss", tolerance=0.0) == 1
    assert rule(scores, kept) == 3  # all rank alike
    assert rule(scores, kept, metric="loss", keep=7) == 2


def test_one_class_is_judged_by_loss_and_so_is_one_in_the_last_quarter():
    for label in (np.ones(3000), np.repeat([-1.0, 1.0], [200, 2800])):
        scores = scored(Logistic(), np.array([label * p for p in (0.1, 2, 1)]).T, label)
        for metric in ("auto", "auc"):
            assert scores.metric(Choice(metric)) == "loss"
            assert rule(scores, [9, 8, 7], metric=metric) == 1
    assert math.isnan(scored(Logistic(), np.ones((9, 1)), np.ones(9)).aucs[0])


def test_a_stream_without_examples_chooses_the_first_lane():
    for loss in (Logistic(), Squared()):
        scores = LaneScores(loss, 3)
        assert rule(scores, [0, 0, 0]) == 0
        assert rule(scores, [0, 0, 0], keep=1) == 0
        assert scores.losses.tolist() == [0, 0, 0]


@pytest.mark.parametrize("n", [1, 2, 3, 17])
def test_tiny_streams_are_judged_as_a_whole(n):
    label = np.where(np.arange(n) % 2, 1.0, -1.0)
    scores = scored(Logistic(), np.array([0.1 * label, label]).T, label)
    assert scores.judged("loss") == pytest.approx(scores.losses)
    assert rule(scores, [5, 3], metric="loss") == 1
    assert rule(scores, [5, 3]) == 1


def test_examples_of_importance_0_decide_nothing():
    scores = scored(Squared(), [[0.0, 1.0]] * 5, np.zeros(5), np.zeros(5))
    assert scores.losses.tolist() == [0, 0]
    assert rule(scores, [2, 1]) == 1


@given(seed=seeds, unit=st.sampled_from([0.1, 1.0, 7.0]), weighted=st.booleans())
def test_the_standard_error_of_a_difference_is_that_of_the_pairs(seed, unit, weighted):
    rng = np.random.default_rng(seed)
    n = 900
    label = rng.normal(size=n).astype(np.float32)
    p = np.float32(label[:, None] + rng.normal(size=(n, 3)) * [0.5, 0.6, 0.7])
    h = np.float32(unit * (rng.choice([0.0, 1.0, 2.0], n) if weighted else np.ones(n)))
    scores = scored(Squared(), p, label, h)
    best = int(np.argmin(scores.judged("loss")))
    judged = slice(scores._first_judged("loss") * scores.length, None)
    loss, weight = (p.astype(float) - label[:, None])[judged] ** 2, h[judged].astype(float)
    d = loss - loss[:, [best]]
    mean = (weight @ d) / weight.sum()
    expected = np.sqrt(weight**2 @ (d - mean) ** 2) / weight.sum()
    found = scores._standard_errors(best)
    np.testing.assert_allclose(found, expected, 1e-6, 1e-9)
    apart = scores.judged("loss") - scores.judged("loss")[best]
    good = apart <= np.maximum(0.01 * scores.judged("loss")[best], expected)
    kept = np.array([30, 20, 10])
    assert rule(scores, kept) == np.flatnonzero(good)[-1]


def test_everything_that_is_known_can_be_written_and_read():
    for loss, labels in ((Logistic(), [-1.0, 1.0]), (Squared(), [0.3, 2.0])):
        rng = np.random.default_rng(0)
        p, label = rng.normal(size=(700, 3)), rng.choice(labels, 700)
        scores = scored(loss, p, label)
        copy = LaneScores(loss, 3)
        copy.restore(json.loads(json.dumps(scores.state())))
        for each in (scores, copy):
            each.add(p.astype(np.float32), label.astype(np.float32), np.ones(700, np.float32))
        assert copy.state() == scores.state()
        np.testing.assert_array_equal(copy.losses, scores.losses)
        np.testing.assert_array_equal(copy.aucs, scores.aucs)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metric": "f1"}, "choose_by must be auto, auc or loss, got 'f1'"),
        ({"metric": "auc"}, r"choose_by auc needs two classes, which Squared\(\) does not have"),
        ({"tolerance": -0.1}, "tolerance must be 0 or more, got -0.1"),
        ({"tolerance": math.nan}, "tolerance must be 0 or more, got nan"),
        ({"keep": -1}, "keep must be 0 or more, got -1"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_before_anything_is_learned(settings, message):
    with pytest.raises(SettingError, match=message):
        Choice(**settings).check(Squared())
