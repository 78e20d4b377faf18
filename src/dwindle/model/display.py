"""Parts of a page that show a model: its figures, curves, gravities and weights.

The report has them, and so do notebooks, where a `Model`, a `Path` and a `Learner` show themselves.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dwindle._base.pages.charts import Axis, Chart, Guide, Series, figure_of
from dwindle._base.pages.document import fragment
from dwindle._base.pages.html import Markup, stranger, tag
from dwindle._base.pages.numbers import figure
from dwindle._base.pages.tables import charts, pairs, table, tiles
from dwindle._base.pages.weights import Share, Weight, namespaces_table, weights_table
from dwindle._base.text import counted
from dwindle.engine.lane_scores import Lane
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.features.names import Text, cut, shown
from dwindle.model.classes import ClassModels
from dwindle.model.describe import checked_curve, frontiers_of, judged_by, settings_of
from dwindle.model.model import Model
from dwindle.model.path import Path

Models = Model | ClassModels
IN_NOTEBOOKS = 100  # weights
FIRST = 16  # examples, of which a mean begins to say something
MANY_PASSES = 10  # beyond, their ends are not drawn
METRICS = {"auc": "AUC", "accuracy": "accuracy", "loss": "loss"}


def figures_of(model: Models | Path) -> Iterator[tuple[str, Any, Any]]:
    """Yield the figures that are read first, for `tiles`: a name, the figure, a few words."""
    said = model.metadata
    several = len(said.get("classes", ())) > 2
    seen = said.get("seen")
    below = "" if not seen else f"of ~{seen:,} features seen"
    yield ("weights kept" if several else "features kept"), f"{len(model):,}", below
    if "examples" in said:
        passes = said.get("passes", 1)
        yield (
            "examples",
            f"{said['examples']:,}",
            "in 1 pass" if passes == 1 else f"{passes} passes",
        )
    loss = type(model.loss).__name__.lower()
    if "loss" in said:
        yield "loss", figure(float(said["loss"])), f"{loss}, before learning"
    curve = checked_curve(said.get("learning_curve", {}))
    for name in ("auc", "accuracy"):
        if (value := _of_first_pass(curve, name)) is not None:
            yield METRICS[name], figure(value), "before learning"
    for name in ("loss", "auc", "accuracy"):
        if f"holdout_{name}" in said:
            yield f"holdout {METRICS[name]}", figure(float(said[f"holdout_{name}"])), "best pass"


def _of_first_pass(curve: Mapping[str, list[Any]], name: str) -> float | None:
    """Return the last value of the first pass: later passes have seen the examples before."""
    values = curve.get(name, [])
    first = [v for v, n in zip(values, curve.get("pass", []), strict=False) if n == 1]
    return first[-1] if first and first[-1] is not None else None


def settings_list(model: Models | Path) -> Markup:
    """List the settings of a model."""
    intercept = (
        [("intercept", figure(float(model.intercept), 6))]
        if isinstance(model.intercept, float)
        else []
    )
    said = [*settings_of(model), *intercept]
    return pairs(((name, stranger(value)) for name, value in said), class_="wide")


def curve_charts(model: Models | Path, best_constant_loss: float | None = None) -> Iterator[Chart]:
    """Draw what was measured before learning, against the number of examples."""
    curve = checked_curve(model.metadata.get("learning_curve", {}))
    told = [k for k, n in enumerate(curve.get("examples", [])) if n >= FIRST]
    if len(told) < 2:
        return
    curve = {name: [values[k] for k in told] for name, values in curve.items()}
    x = curve["examples"]
    known: dict[str, list[float]] = {
        name: [math.nan if v is None else v for v in values] for name, values in curve.items()
    }
    axis = Axis("examples", log=True)
    ends = [n for n, a, b in zip(x, curve["pass"], curve["pass"][1:], strict=False) if a != b]
    ends = ends if len(ends) < MANY_PASSES else []

    def guides(values: Sequence[float]) -> list[Guide]:
        there = [v for v in values if not math.isnan(v)] or [0.0]
        return [Guide("end of a pass", (n, min(there)), (n, max(there))) for n in ends]

    losses = [
        Series("loss so far", known["loss"]),
        Series("since the row before", known["since_last"]),
    ]
    compare = []
    if best_constant_loss is not None and math.isfinite(best_constant_loss):
        level = (x[0], best_constant_loss), (x[-1], best_constant_loss)
        compare.append(Guide("best constant", *level))
    again = " From the second pass on, of examples seen before." if max(curve["pass"]) > 1 else ""
    about = f"Mean loss of predictions made before learning, in each pass.{again}"
    yield Chart(
        "Progressive loss", about, axis, Axis("loss"), x, losses,
        [*compare, *guides([*known["loss"], *known["since_last"]])],
        whole=frozenset({"examples"}),
    )  # fmt: skip
    for name in ("auc", "accuracy"):
        if name in known:
            title = METRICS[name]
            about = f"{title} of predictions made before learning, in each pass."
            yield Chart(
                f"Progressive {title}", about, axis, Axis(title), x, [Series(title, known[name])],
                guides(known[name]), whole=frozenset({"examples"}),
            )  # fmt: skip
    counts = [Series("alive", known["alive"]), Series("seen", known["seen"])]
    about = "Features with a weight, of all distinct features seen so far."
    yield Chart(
        "Features", about, axis, Axis("features", log=True), x, counts,
        whole=frozenset({"examples", "alive", "seen"}),
    )  # fmt: skip


def frontier_charts(model: Models | Path) -> Iterator[Chart]:
    """Draw score against size for the gravities learned at once, of several classes for each."""
    title = METRICS[judged_by(model)]
    held = "on the holdout" if "holdout_loss" in model.metadata else "over the last quarter"
    for name, lanes in frontiers_of(model).items():
        if len(lanes) > 1:
            yield frontier_chart(lanes, f"{title} {held}", "" if name is None else str(name))


def frontier_chart(lanes: Sequence[Lane], score: str, class_: str = "") -> Chart:
    """Draw the score of each gravity against the features it keeps, with the chosen one marked."""
    ordered = sorted(lanes, key=lambda lane: lane.kept)
    chosen = next((k for k, lane in enumerate(ordered) if lane.chosen), None)
    columns = {
        name: [getattr(lane, name) for lane in ordered] for name in ("gravity", "loss", "auc")
    }
    hidden = [
        Series(METRICS.get(name, name), values, "hidden")
        for name, values in columns.items()
        if not all(map(math.isnan, values))
    ]
    kinds = sorted({lane.evidence for lane in ordered})
    judged = [
        Series(
            score if len(kinds) == 1 else f"evidence {kind:g}",
            [lane.judged if lane.evidence == kind else math.nan for lane in ordered],
        )
        for kind in kinds
    ]
    title = f"Size against score, class {class_}" if class_ else "Size against score"
    return Chart(
        title,
        "Models of several gravities, learned at once; the ring is around the chosen one.",
        Axis("features kept", log=True),
        Axis(score),
        [lane.kept for lane in ordered],
        [*judged, *hidden],
        marked=None if chosen is None else (chosen, f"chosen: {ordered[chosen].kept:,}"),
        whole=frozenset({"features kept"}),
    )


def chosen_of_classes(model: Models | Path) -> Markup | None:
    """Return a table of the gravity chosen for each class, if there are too many for charts."""
    metric = METRICS[judged_by(model)]
    chosen = {
        name: next(lane for lane in lanes if lane.chosen)
        for name, lanes in frontiers_of(model).items()
    }
    cells = [
        [stranger(name), figure(each.gravity, 3), f"{each.kept:,}", figure(each.judged)]
        for name, each in chosen.items()
    ]
    values = [["", each.gravity, each.kept, each.judged] for each in chosen.values()]
    names = ["class", "gravity", "features", metric]
    caption = "The gravity that was chosen for each class"
    return table(caption, names, cells, values=values, sortable=True)


def weights_parts(model: Models | Path, top: int) -> list[Markup | None]:
    """Return the tables of weights: by namespace or column, and the ``top`` heaviest."""
    found = model.model() if isinstance(model, Path) else model
    names, group = _groups(found)
    rows = heaviest(found, top)
    return [namespaces_table(shares(found, names), group), weights_table(rows, len(found))]


def heaviest(model: Models, top: int) -> list[Weight]:
    """List the heaviest weights; of several classes, the heaviest of all of them."""
    if isinstance(model, Model):
        namespaces, features = model.names[:top].split()
        rows = zip(map(shown, namespaces), features, model.weight[:top].tolist(), strict=True)
        return [Weight(*row) for row in rows]
    every = [
        row._replace(class_=str(name))
        for name, member in zip(model.classes, model.members, strict=True)
        for row in heaviest(member, top)
    ]
    return sorted(every, key=lambda row: -abs(row.weight))[:top]


def shares(model: Models, groups: Sequence[Text]) -> list[Share]:
    """Add up the features and the weight of each group, the heaviest first."""
    members = [model] if isinstance(model, Model) else model.members
    parts = zip(members, groups, strict=True)
    tables = [
        pa.table({"group": _binary(names), "size": np.abs(member.weight)})
        for member, names in parts
    ]
    found = (
        pa.concat_tables(tables).group_by("group").aggregate([("size", "count"), ("size", "sum")])
    )
    rows = found.sort_by([("size_sum", "descending"), ("group", "ascending")]).to_pylist()
    return [
        Share(
            shown(each["group"].decode("utf-8", "surrogateescape")),
            each["size_count"],
            each["size_sum"],
        )
        for each in rows
    ]


def _groups(model: Models) -> tuple[list[Text], str]:
    """Return the namespaces of all names or, if there are none, what stands before a ``=``."""
    members = [model] if isinstance(model, Model) else model.members
    split = [Text.of(member.names).split() for member in members]
    if any(len(namespaces.text) for namespaces, _ in split):
        return [namespaces for namespaces, _ in split], "namespace"
    return [_before_equals(features) for _, features in split], "column"


def _before_equals(names: Text) -> Text:
    """Return the columns that features of a table are of: ``city`` of ``city=Paris``."""
    at = np.asarray(pc.find_substring(_binary(names), b"=").to_numpy(zero_copy_only=False))
    size = np.where(at < 0, np.diff(names.bound), at)
    return Text(*cut(names.text, names.bound[:-1], size.astype(np.int64)))


def _binary(names: Text) -> pa.Array:
    """Return names as an Arrow array, whatever bytes they have."""
    bound: NDArray[np.int64] = names.bound.astype(np.int64)
    buffers = [None, pa.py_buffer(bound), pa.py_buffer(np.ascontiguousarray(names.text))]
    return pa.Array.from_buffers(pa.large_binary(), len(names), buffers)


def html_of(model: Models | Path, name: str | None = None) -> str:
    """Show a model in a notebook: figures, curve and gravities, and the heaviest weights."""
    drawn = [*curve_charts(model)][:2]
    if len(frontiers := [*frontier_charts(model)]) == 1:
        drawn += frontiers
    *by_group, weights = weights_parts(model, IN_NOTEBOOKS)
    title = f"{name or type(model).__name__} of {counted(len(model), 'feature')}"
    return fragment(
        tag("h3", title),
        tiles(figures_of(model)),
        tag("details", tag("summary", "Settings"), settings_list(model)),
        charts(figure_of(each) for each in drawn),
        *(
            tag("details", tag("summary", "By namespace or column"), part)
            for part in by_group
            if part
        ),
        weights,
    )


def html_of_learner(learner: Learner) -> str:
    """Show a learner in a notebook, as the model it has come to."""
    said = {"examples": learner.n_steps, "seen": learner.n_seen}
    made = Path.of(learner, said) if isinstance(learner, LaneLearner) else Model.of(learner, said)
    return html_of(made, type(learner).__name__)
