"""The parts of the live page, drawn by `dwindle._base.pages` as those of a report are."""

import math
from itertools import pairwise
from typing import Any, NamedTuple

from dwindle._base.pages.charts import Axis, Chart, Guide, Series, figure_of
from dwindle._base.pages.html import Markup, join, tag
from dwindle._base.pages.numbers import compact, figure
from dwindle._base.pages.tables import charts, section, tiles
from dwindle._base.pages.weights import Weight, weights_table
from dwindle.engine.lane_scores import Lane
from dwindle.serving.drift import drift_of

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


def parts_of(points: list[Point], moment: Moment | None, state: str) -> dict[str, Markup]:
    """Draw the parts of the page, by the name of the place that each fills."""
    found = {"state": Markup(tag("span", state)), "tiles": _tiles(points, moment)}
    if moment is None:
        return found
    found["curves"] = charts(_curves(points, moment)) or Markup()
    found["lanes"] = charts(_frontier(moment)) or Markup()
    found["weights"] = weights_table(moment.weights, moment.n_weights)
    found["service"] = charts(_service(points)) or Markup()
    return found


def page_parts() -> list[Markup]:
    """Return the sections of the page, empty; the script fills the places by their names."""
    now = parts_of([], None, "waiting")

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
