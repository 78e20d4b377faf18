"""The figures of the live page, for every kind of learner, and how many points there are."""

from itertools import pairwise

import pytest

pytest.importorskip("starlette", reason="needs dwindle[serve]")

from dwindle.runs.settings import TrainSettings
from dwindle.serving import app
from dwindle.serving.drawing import Point
from dwindle.serving.live import MOST, Feed
from helpers.serving import closing, post

LABELS = {"classes": ["ham", "spam", "eggs"], "numbers": [0.5, 2.5, 7.0], "pair": [-1, 1]}


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("classes", {"loss": "logistic", "gravity": 0.0, "classes": ["ham", "spam", "eggs"]}),
        ("numbers", {"loss": "squared", "gravity": 0.0}),
        ("pair", {"loss": "logistic", "gravity": 0.0}),
        pytest.param("pair", {"loss": "logistic"}, marks=pytest.mark.slow),
    ],
)
def test_every_kind_of_learner_has_its_page(tmp_path, kind, how):
    labels = LABELS[kind]
    rows = [{"label": y, "features": {f"<{y}>": 1, "x": 0.5}} for y in labels] * 40
    settings = TrainSettings(**how)
    with closing(app(learn=str(tmp_path), settings=settings, durability="none")) as served:
        for _ in range(3):
            post(served, "/learn", rows)
        service = served.state.service
        feed = Feed("test")
        feed.take(service.online, service.figures.latency, at_once=True)
        parts = feed.parts()
    assert f"{len(rows) * 3:,}" in parts["tiles"]
    assert ("AUC" in parts["tiles"]) == (kind == "pair")
    assert ("accuracy" in parts["tiles"]) == (kind == "classes")
    assert "&lt;" in parts["weights"]  # a name is text
    assert "<svg" in parts["curves"]
    assert ("<svg" in parts["lanes"]) == ("gravity" not in how)


def test_points_are_few_and_about_equally_far_apart_but_the_last():
    feed = Feed("test")
    for second in range(2000):
        feed._add(Point(float(second), second, second, second, 0.5, 1, 1, 1))
    seconds = [point.seconds for point in feed.points]
    assert len(seconds) <= MOST
    assert seconds[0] == 0
    assert seconds[-1] == 1999
    gaps = [b - a for a, b in pairwise(seconds[:-1])]
    assert max(gaps) <= 2 * min(gaps)
