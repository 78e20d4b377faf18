"""The parts of a report that show how good a model is on data."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.pages.charts import Axis, Chart, Guide, Series
from dwindle._base.pages.html import Markup, join, stranger, tag
from dwindle._base.pages.numbers import compact, figure, signed
from dwindle._base.pages.tables import bar, exactly, pairs, table
from dwindle._base.text import counted
from dwindle.runs.diagnosis import Diagnosis, calibration, histogram, precision_recall, roc
from dwindle.runs.metrics import METRICS, Predicted
from dwindle.runs.mistakes import Mistake

POINTS = 150  # of a curve
MATRIX = 20  # classes that a confusion matrix may have; of more, the commonest confusions
CONFUSIONS = 30
SHOWN = 8  # features of an explanation
TITLES = {name: metric.title for name, metric in METRICS.items()} | {
    "best_constant_loss": "loss of the best constant",
    "macro_f1": "macro F1",
    "coverage": "coverage",
}


def figures_list(found: dict[str, Any]) -> Markup:
    """List the figures that `evaluate` prints."""
    rows: list[tuple[str, Any]] = [
        ("examples", exactly(found["examples"], f"{found['examples']:,}")),
        *((TITLES.get(k, k), exactly(v, figure(v))) for k, v in found.items() if _is_figure(k, v)),
    ]
    if found["skipped"]:
        rows.append(("skipped", counted(found["skipped"], "bad line")))
    return pairs(rows)


def _is_figure(name: str, value: Any) -> bool:
    return isinstance(value, float) and name not in {"skipped", "kept", "examples"}


def curves(found: Diagnosis) -> Iterator[Chart]:
    """Draw what fits the labels."""
    if found.bins is not None:
        yield from of_two_classes(found.bins, found.figures)
    if found.sample is not None:
        yield from of_numbers(found.sample)


def of_two_classes(bins: Predicted, figures: dict[str, Any]) -> Iterator[Chart]:
    """Draw ROC, precision against recall, calibration, and the scores of both classes."""
    share = figures["positive_share"]
    if 0.0 < share < 1.0:
        x, y = _thinned(*roc(bins))
        yield Chart(
            "ROC",
            f"How many positives are found for how many false alarms; AUC {figures['auc']:.4f}.",
            Axis("share of negatives told positive", low=0.0, high=1.0),
            Axis("share of positives found", low=0.0, high=1.0),
            x, [Series("share of positives found", y)], [Guide("by chance", (0, 0), (1, 1))],
        )  # fmt: skip
        x, y = _thinned(*precision_recall(bins))
        area = figures["average_precision"]
        yield Chart(
            "Precision and recall",
            f"How many of those told positive are; average precision {area:.4f}.",
            Axis("recall", low=0.0, high=1.0),
            Axis("precision", low=0.0, high=1.0),
            x, [Series("precision", y)], [Guide("by chance", (0, share), (1, share))],
        )  # fmt: skip
    if "calibration_error" in figures:
        x, y, weight = (each.tolist() for each in calibration(bins))
        error = figures["calibration_error"]
        high = _round_up(max(*x, *y))
        yield Chart(
            "Calibration",
            f"How often it was so, for how likely it was said to be; expected error {error:.4f}.",
            Axis("probability told", low=0.0, high=high),
            Axis("share of positives", low=0.0, high=high),
            x, [Series("share of positives", y, "dots"), Series("weight", weight, "hidden")],
            [Guide("exact", (0, 0), (high, high))],
        )  # fmt: skip
    edges, negative, positive = histogram(bins)
    told = "probability" if "calibration_error" in figures else "1 / (1 + exp(-score))"
    middle = ((edges[1:] + edges[:-1]) / 2).tolist()
    both = negative.sum() or 1.0, positive.sum() or 1.0
    yield Chart(
        "Scores",
        f"The {told} of negatives and of positives, as shares of each.",
        Axis(told, low=0.0, high=1.0),
        Axis("share of the class", low=0.0),
        middle,
        [
            Series("negatives", (negative / both[0]).tolist(), "bars"),
            Series("positives", (positive / both[1]).tolist(), "bars"),
        ],
        edges=edges.tolist(),
    )


def of_numbers(sample: Predicted) -> Iterator[Chart]:
    """Draw labels against predictions, and how far they are apart."""
    told, label = sample.mean, sample.label.astype(np.float64)
    n = len(label)
    if n < 2:
        return
    by_told = np.argsort(told, kind="stable")
    groups = np.array_split(by_told, min(20, max(1, n // 5)))
    x = [float(told[each].mean()) for each in groups]
    low, middle, high = (
        [float(np.quantile(label[each], q)) for each in groups] for q in (0.1, 0.5, 0.9)
    )
    ends = min(x), max(x)
    of = f"{counted(n, 'example')}" + ("" if n < 20_000 else " chosen at random")
    yield Chart(
        "Labels against predictions",
        f"In groups of about as many examples each, by prediction; {of}.",
        Axis("prediction"),
        Axis("label"),
        x,
        [Series("median label", middle), Series("from 10 to 90 %", low, "band", high)],
        [Guide("exact", (ends[0], ends[0]), (ends[1], ends[1]))],
    )
    error = told - label
    first, last = np.quantile(error, [0.005, 0.995]).tolist()
    if first == last:
        first, last = first - 0.5, last + 0.5
    count, edges = np.histogram(np.clip(error, first, last), 40, (first, last))
    yield Chart(
        "Residuals",
        f"Prediction less label; the outermost bars have all beyond them. {of}.",
        Axis("prediction - label"),
        Axis("examples", low=0.0),
        ((edges[1:] + edges[:-1]) / 2).tolist(),
        [Series("examples", count.tolist(), "bars")],
        edges=edges.tolist(),
        whole=frozenset({"examples"}),
    )


def _thinned(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[list[float], list[float]]:
    """Leave out points of a curve that are hardly apart."""
    along = np.append(0.0, np.cumsum(np.hypot(np.diff(x), np.diff(y))))
    wanted = np.linspace(0.0, along[-1], POINTS)
    kept = np.unique(np.append(np.searchsorted(along, wanted).clip(0, len(x) - 1), [0, len(x) - 1]))
    return x[kept].tolist(), y[kept].tolist()


def _round_up(value: float) -> float:
    """Return the least of 1, 2, 5 times a power of ten that is no less; at most 1."""
    if not 0.0 < value < 1.0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return min(next(k * power for k in (1, 2, 5, 10) if k * power >= value), 1.0)


def of_classes(found: Diagnosis) -> Iterator[Markup]:
    """Show which classes are confused, and how well each is told."""
    if not found.several:
        return
    classes, confusion = found.several["classes"], found.several["confusion"]
    yield (matrix if len(classes) <= MATRIX else commonest)(classes, confusion)
    rows = found.figures["classes"]
    names = ["class", "precision", "recall", "F1", "support"]
    values = [["", r["precision"], r["recall"], r["f1"], r["support"]] for r in rows]
    cells = [[stranger(r["class"]), *(figure(v) for v in vs[1:4]), compact(vs[4])]
             for r, vs in zip(rows, values, strict=True)]  # fmt: skip
    caption = "How well each class is told; support is the weight of its examples"
    yield table(caption, names, cells, values=values, sortable=True)


def matrix(classes: Sequence[Any], confusion: NDArray[np.float64]) -> Markup:
    """Return the confusion matrix, shaded by the share of each row."""
    total = np.maximum(confusion.sum(axis=1), np.finfo(float).tiny)
    rows = []
    for i, name in enumerate(classes):
        cells = [
            tag(
                "td",
                compact(confusion[i, j]),
                class_="cell" if i == j else "cell off",
                style=f"--w:{confusion[i, j] / total[i]:.3f}",
                data_v=repr(float(confusion[i, j])),
            )
            for j in range(len(classes))
        ]
        rows.append(tag("tr", tag("th", stranger(name), scope="row"), *cells))
    caption = "Confusion: a row for each class that is true, a column for each that is predicted"
    heads = [tag("th", stranger(name), scope="col") for name in classes]
    made = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", tag("td"), *heads)),
        tag("tbody", *rows),
        class_="heat",
    )
    return tag("div", made, class_="scroll", tabindex=0, role="region", aria_label=caption)


def commonest(classes: Sequence[Any], confusion: NDArray[np.float64]) -> Markup:
    """Return a table of the commonest confusions."""
    wrong = confusion - np.diag(np.diag(confusion))
    order = np.argsort(-wrong, axis=None, kind="stable")[:CONFUSIONS]
    places = [divmod(int(k), len(classes)) for k in order]
    rows = [(classes[i], classes[j], float(wrong[i, j])) for i, j in places if wrong[i, j]]
    cells = [[stranger(a), stranger(b), compact(n)] for a, b, n in rows]
    values = [["", "", n] for *_, n in rows]
    caption = f"The {counted(len(rows), 'commonest confusion')} of {len(classes):,} classes"
    return table(caption, ["class", "is told to be", "weight"], cells, values=values, sortable=True)


def cards(mistakes: Sequence[Mistake]) -> Markup:
    """Return the worst mistakes, each with what its features added to the prediction."""
    return tag("div", *(_card(each) for each in mistakes), class_="cards")


def _card(mistake: Mistake) -> Markup:
    explained = mistake.explained
    score = explained.explanation
    said = [f"loss {figure(mistake.loss)}", f"score {signed(score.prediction)}"]
    if explained.probability is not None:
        said.append(f"probability {explained.probability:.4f}")
    every = [*score.contributions.items()]
    rest = every[SHOWN:]
    rows = every[:SHOWN]
    if rest:
        rows.append((f"({counted(len(rest), 'other')})", sum(value for _, value in rest)))
    rows.append(("(intercept)", score.intercept))
    largest = max(abs(value) for _, value in rows) or 1.0
    cells = [
        [stranger(name), signed(value), bar(abs(value) / largest, negative=value < 0)]
        for name, value in rows
    ]
    values = [[None, value, None] for _, value in rows]
    caption = f"What each feature adds to the score of {explained.place}"
    return tag(
        "article",
        tag("h3", join(["is ", stranger(mistake.label), ", was told ", stranger(mistake.told)])),
        tag("p", stranger(f"{explained.place} {explained.id}".strip())),
        tag("p", ", ".join(said)),
        table(caption, ["feature", "adds", ""], cells, values=values),
        class_="card",
    )
