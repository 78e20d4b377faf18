"""The live page: figures of a run that goes on, as parts of a page that replace each other.

The thread that learns leaves a point of figures now and then; whoever watches is sent the parts
again, drawn by `dwindle._base.pages` as in a report. Nothing is drawn while nobody watches.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import numpy as np
import orjson

from dwindle._base.pages.html import Markup
from dwindle._base.pages.weights import Weight
from dwindle.data.formats.block import spelled_label
from dwindle.engine.lane_scores import Lane
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.features.names import split
from dwindle.model.classes import ClassModels
from dwindle.model.model import Model
from dwindle.model.order import heaviest_first
from dwindle.runs.checkpoint import Reached
from dwindle.serving.drawing import Moment, Point, nan, parts_of
from dwindle.serving.figures import Latency
from dwindle.serving.scoring import members_of

EVERY = 1.0  # seconds between two points, at least
SHARE = 0.02  # of the time that looking may take
MOST = 240  # points; then every other one is dropped, and they come half as often
HEAVIEST = 25  # weights that are shown


class Feed:
    """Points of a run, and those who watch it."""

    def __init__(self, title: str, *, now: Any = time.monotonic) -> None:
        self.title = title
        self.points: list[Point] = []
        self.moment: Moment | None = None
        self.state = "waiting for examples"
        self.closed = False
        self._now, self._begin, self._next = now, now(), 0.0
        self._spacing = EVERY
        self._done: tuple[int, ...] = ()
        self._lock = threading.Lock()
        self._version = 0
        self._watching: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._drawn: tuple[int, bytes] = (-1, b"")

    # What is told

    def take(
        self,
        run: Reached,
        latency: Mapping[str, Latency] | None = None,
        waiting: int = 0,
        *,
        at_once: bool = False,
    ) -> None:
        """Add a point, if it is time for one; called by the thread that learns."""
        begin = self._now()
        if run.learner is None or run.progress is None or (begin < self._next and not at_once):
            return
        done = run.progress.examples, *(sum(each.count) for each in (latency or {}).values())
        if done == self._done:  # nothing happened since
            return
        self._done = done
        run.measured()
        point, moment = _looked(run, begin - self._begin, latency or {}, waiting)
        with self._lock:
            self._add(point)
            took = self._now() - begin if self.moment else 0.0  # the first look compiles
            self.moment, self.state = moment, "learning"
            self._next = begin + max(EVERY, took / SHARE)
        self._tell()

    def _add(self, point: Point) -> None:
        """Add a point; all but the last are about equally far apart, so that they are few."""
        points = self.points
        if len(points) > 1 and point.seconds - points[-2].seconds < self._spacing:
            points.pop()
        points.append(point)
        if len(points) > MOST:
            self.points = [*points[:-1:2], points[-1]]
            self._spacing *= 2

    def show_model(self, model: Model | ClassModels) -> None:
        """Show the weights of a model that does not change."""
        members = model.members if isinstance(model, ClassModels) else [model]
        classes = model.classes if isinstance(model, ClassModels) else [None]
        weights = [
            Weight(*split(name), float(weight), None if label is None else spelled_label(label))
            for label, each in zip(classes, members, strict=True)
            for name, weight in zip(each.names[:HEAVIEST], each.weight[:HEAVIEST], strict=True)
        ]
        with self._lock:
            loss = type(model.loss).__name__
            self.moment = Moment(loss, "", nan, tuple(weights), len(model), (), "")
            self.state = "predicting"

    def end(self, state: str) -> None:
        """Say that nothing more comes."""
        with self._lock:
            self.state = state
        self._tell()

    def close(self) -> None:
        """Let those who watch go."""
        self.closed = True
        self._tell()

    def _tell(self) -> None:
        with self._lock:
            self._version += 1
            watching = list(self._watching.items())
        for event, loop in watching:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    # What is sent

    async def events(self) -> AsyncIterator[bytes]:
        """Yield server-sent events: the parts now, and whenever there is news."""
        event, loop = asyncio.Event(), asyncio.get_running_loop()
        with self._lock:
            self._watching[event] = loop
        try:
            yield await loop.run_in_executor(None, self._message)
            while not self.closed:
                try:
                    await asyncio.wait_for(event.wait(), 10.0)
                except TimeoutError:
                    yield b": still here\n\n"
                    continue
                event.clear()
                yield await loop.run_in_executor(None, self._message)
        finally:
            with self._lock:
                del self._watching[event]

    def _message(self) -> bytes:
        """Return the parts as an event; drawn once, however many watch."""
        version, drawn = self._drawn
        if version != self._version:
            version = self._version
            data = orjson.dumps({"parts": {part: str(html) for part, html in self.parts().items()}})
            drawn = b"event: parts\ndata: " + data + b"\n\n"
            self._drawn = version, drawn
        return drawn

    def parts(self) -> dict[str, Markup]:
        """Draw the parts of the page, by the id of the element that each fills."""
        with self._lock:
            points, moment, state = list(self.points), self.moment, self.state
        return parts_of(points, moment, state)


def _looked(
    run: Reached, seconds: float, latency: Mapping[str, Latency], waiting: int
) -> tuple[Point, Moment]:
    """Look at a run: a walk through its table or two."""
    learner, progress = run.learner, run.progress
    assert learner is not None
    assert progress is not None
    members = members_of(learner)
    several = isinstance(learner, OneVsRest)
    figure_now = progress.accuracy if several else progress.auc
    quantiles = {
        f"{path[1:]}_p{round(100 * share)}": 1000 * value
        for path, each in latency.items()
        for share, value in zip((0.5, 0.99), each.recent(0.5, 0.99), strict=True)
    }
    point = Point(
        seconds,
        progress.examples,
        progress.weight,
        progress.total,
        figure_now,
        sum(each.table.used for each in members),
        len(learner),
        learner.n_seen,
        waiting=waiting,
        **quantiles,
    )
    classes: list[Any] = run.labels.classes if several else [None]
    weights: list[Weight] = []
    for label, each in zip(classes, members, strict=True):
        weights += _heaviest(each, None if label is None else spelled_label(label))
    weights.sort(key=lambda weight: -abs(weight.weight))
    lanes: tuple[Lane, ...] = ()
    chosen_by = ""
    if isinstance(learner, LaneLearner):
        lanes, chosen_by = tuple(learner.frontier()), learner.judge.metric(learner.choice)
    name = "accuracy" if several else "AUC" if progress.ranking is not None else ""
    constant = progress.best_constant_loss() if progress.weight else nan
    loss = type(learner.loss).__name__
    return point, Moment(
        loss, name, constant, tuple(weights[:HEAVIEST]), point.kept, lanes, chosen_by
    )


def _heaviest(learner: Learner, label: str | None) -> list[Weight]:
    key, weight = learner.weight_of_keys()
    if len(key) > HEAVIEST:
        some = np.argpartition(-np.abs(weight), HEAVIEST)[:HEAVIEST]
        key, weight = key[some], weight[some]
    order = heaviest_first(key, weight)
    names = learner.table.names.of(key[order])
    return [
        Weight(*split(name), value, label)
        for name, value in zip(names, weight[order].tolist(), strict=True)
    ]
