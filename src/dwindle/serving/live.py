"""The live page: figures of a run that goes on, as parts of a page that replace each other.

The thread that learns leaves a point of figures now and then; whoever watches is sent the parts
again, drawn by `dwindle.pages` as in a report. Nothing is drawn while nobody watches.
"""

import asyncio
import math
import threading
import time
from collections.abc import AsyncIterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import orjson

from dwindle.data.formats.block import spelled_label
from dwindle.engine.lane_scores import Lane
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.features.names import split
from dwindle.model.classes import ClassModels
from dwindle.model.model import Model, heaviest_first
from dwindle.pages.charts import Axis, Chart, Guide, Series, figure_of
from dwindle.pages.html import Markup, join, tag
from dwindle.pages.numbers import compact, figure
from dwindle.pages.tables import charts, section, tiles
from dwindle.pages.weights import Weight, weights_table
from dwindle.runs.checkpoint import Reached
from dwindle.serving.drift import drift_of
from dwindle.serving.figures import Latency
from dwindle.serving.scoring import members_of

EVERY = 1.0  # seconds between two points, at least
SHARE = 0.02  # of the time that looking may take
MOST = 240  # points; then every other one is dropped, and they come half as often
HEAVIEST = 25  # weights that are shown
nan = math.nan


class Point(NamedTuple):
    """Figures of a moment."""

    seconds: float  # since the beginning
    examples: int
    weight: float  # of all examples so far, and
    total: float  # of their losses
    figure: float  # AUC, or accuracy
    alive: int
    kept: int
    seen: int
    predict_p50: float = nan  # milliseconds
    predict_p99: float = nan
    learn_p50: float = nan
    learn_p99: float = nan
    waiting: int = 0


class Moment(NamedTuple):
    """What is shown of the latest moment beside its figures."""

    loss: str
    figure_name: str
    best_constant: float
    weights: tuple[Weight, ...]
    n_weights: int
    lanes: tuple[Lane, ...]
    chosen_by: str


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
        found = {"state": Markup(tag("span", state)), "tiles": _tiles(points, moment)}
        if moment is None:
            return found
        found["curves"] = charts(_curves(points, moment)) or Markup()
        found["lanes"] = charts(_frontier(moment)) or Markup()
        found["weights"] = weights_table(moment.weights, moment.n_weights)
        found["service"] = charts(_service(points)) or Markup()
        return found


def page_parts(feed: Feed) -> list[Markup]:
    """Return the sections of the page; the script fills what changes, by its id."""
    now = feed.parts()

    def place(name: str) -> Markup:
        return tag("div", now.get(name), data_live=name)

    return [
        tag("p", "State: ", tag("span", now["state"], data_live="state"), role="status"),
        tag("form", _token_field(), id="token", hidden=True),
        place("tiles"),
        section("How good it is", place("curves"), id_="good"),
        section("Gravities", place("lanes"), id_="gravities"),
        section("The heaviest weights", place("weights"), id_="weights"),
        section("The service", place("service"), id_="service"),
    ]


def _token_field() -> Markup:
    field = tag("input", type="password", name="token", autocomplete="off", required=True)
    return join([tag("label", "Token ", field), " ", tag("button", "Show", type="submit")])


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


# Drawing


def _tiles(points: list[Point], moment: Moment | None) -> Markup:
    if not points:
        told = "" if moment is None else f"{moment.n_weights:,} features, {moment.loss} loss"
        return tag("p", told or "Nothing is learned yet.")
    last = points[-1]
    assert moment is not None
    rate = _rates(points)[-1]
    drift = drift_of([(p.weight, p.total) for p in points])
    rows: list[tuple[str, Any, Any]] = [
        (
            "Examples",
            f"{last.examples:,}",
            "so far" if math.isnan(rate) else f"{compact(rate)} a second",
        ),
        (
            "Loss",
            figure(_mean(last)),
            f"{moment.loss}; best constant {figure(moment.best_constant)}",
        ),
    ]
    if moment.figure_name:
        told = "before learning" if moment.figure_name == "AUC" else "of the class predicted"
        rows.append((moment.figure_name, figure(last.figure), told))
    share = f"{last.kept / last.seen:.2%} of those seen" if last.seen else ""
    rows.append(("Features kept", f"{last.kept:,}", share))
    rows.append(("Drift", drift.word, drift.told))
    if not math.isnan(last.predict_p50):
        told = f"p99 {figure(last.predict_p99, 3)} ms"
        rows.append(("Prediction", f"{figure(last.predict_p50, 3)} ms", told))
    return tiles(rows)


def _mean(point: Point) -> float:
    return point.total / point.weight if point.weight else nan


def _since(points: list[Point]) -> list[float]:
    """Return the mean loss between each point and the one before."""
    found = []
    weight = total = 0.0
    for point in points:
        gained = point.weight - weight
        found.append((point.total - total) / gained if gained > 0 else nan)
        weight, total = point.weight, point.total
    return found


def _rates(points: list[Point]) -> list[float]:
    """Return the examples a second between each point and the one before."""
    found = [nan]
    for before, after in pairwise(points):
        seconds = after.seconds - before.seconds
        found.append((after.examples - before.examples) / seconds if seconds > 0 else nan)
    return found


def _curves(points: list[Point], moment: Moment) -> list[Markup]:
    learned = [p for k, p in enumerate(points) if not k or p.examples != points[k - 1].examples]
    if not learned:
        return []
    x = [p.examples for p in learned]
    across = Axis("examples")
    guides = []
    if not math.isnan(moment.best_constant):
        level = moment.best_constant
        guides = [Guide("best constant", (x[0], level), (x[-1], level))]
    loss = Chart(
        "Loss",
        "Mean loss of all examples so far and of those since the last point, before learning.",
        across,
        Axis("loss"),
        x,
        [Series("so far", [*map(_mean, learned)]), Series("recent", _since(learned))],
        guides,
        whole=frozenset({"examples"}),
    )
    features = Chart(
        "Features",
        "Distinct features seen, alive in the table, and kept with a weight.",
        across,
        Axis("features", log=True),
        x,
        [
            Series("kept", [p.kept for p in learned]),
            Series("alive", [p.alive for p in learned]),
            Series("seen", [p.seen for p in learned]),
        ],
        whole=frozenset({"examples", "kept", "alive", "seen"}),
    )
    found = [figure_of(loss)]
    if moment.figure_name:
        quality = Chart(
            moment.figure_name,
            f"{moment.figure_name} of all examples so far, predicted before learning from them.",
            across,
            Axis(moment.figure_name),
            x,
            [Series(moment.figure_name, [p.figure for p in learned])],
            whole=frozenset({"examples"}),
        )
        found.append(figure_of(quality))
    drift = drift_of([(p.weight, p.total) for p in learned])
    if drift.z:
        strength = Chart(
            "Drift",
            "Recent loss beside that before, in standard errors: above 3 the data has changed.",
            across,
            Axis("standard errors"),
            x,
            [Series("drift", drift.z)],
            [Guide("a change", (x[0], 3.0), (x[-1], 3.0))],
            whole=frozenset({"examples"}),
        )
        found.append(figure_of(strength))
    return [*found, figure_of(features)]


def _frontier(moment: Moment) -> list[Markup]:
    lanes = [lane for lane in moment.lanes if lane.kept > 0]
    if len(lanes) < 2:
        return []
    lanes.sort(key=lambda lane: lane.kept)
    chosen = next((k for k, lane in enumerate(lanes) if lane.chosen), None)
    by_auc = moment.chosen_by == "auc"
    score = "AUC" if by_auc else "loss"
    chart = Chart(
        "Accuracy against size",
        f"Each gravity learned at once: features kept, and the {score} that it is chosen by.",
        Axis("features kept", log=True),
        Axis(score),
        [lane.kept for lane in lanes],
        [Series(score, [lane.judged for lane in lanes], "dots")],
        marked=None if chosen is None else (chosen, "chosen"),
        whole=frozenset({"features kept"}),
    )
    return [figure_of(chart)]


def _service(points: list[Point]) -> list[Markup]:
    if len(points) < 2:
        return []
    across = Axis("seconds")
    x = [p.seconds for p in points]
    rate = Chart(
        "Rate",
        "Examples learned from in a second.",
        across,
        Axis("examples/s"),
        x,
        [Series("rate", _rates(points))],
    )
    found = [figure_of(rate)]
    columns = {
        "predict, median": [p.predict_p50 for p in points],
        "predict, p99": [p.predict_p99 for p in points],
        "learn, median": [p.learn_p50 for p in points],
        "learn, p99": [p.learn_p99 for p in points],
    }
    drawn = [Series(name, y) for name, y in columns.items() if not all(map(math.isnan, y))]
    if drawn:
        latency = Chart(
            "Latency",
            "Time from a request to its answer, in the server.",
            across,
            Axis("ms", log=True),
            x,
            drawn,
        )
        found.append(figure_of(latency))
    return found
