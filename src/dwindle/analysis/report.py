"""The report of a model, or of a run: one HTML file that needs nothing else."""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from dwindle._base.files import replacing
from dwindle._base.pages.charts import Axis, Chart, Series, figure_of
from dwindle._base.pages.document import Contents, document
from dwindle._base.pages.html import Markup, tag
from dwindle._base.pages.numbers import figure
from dwindle._base.pages.tables import charts, exactly, pairs, section, tiles
from dwindle._base.text import counted
from dwindle.analysis.on_data import cards, curves, figures_list, of_classes
from dwindle.analysis.record import Recorder
from dwindle.data.options import ReadOptions
from dwindle.model.classes import ClassModels
from dwindle.model.display import (
    chosen_of_classes,
    curve_charts,
    figures_of,
    frontier_charts,
    settings_list,
    weights_parts,
)
from dwindle.model.loading import load_saved, picked
from dwindle.model.model import Model
from dwindle.model.path import Path
from dwindle.runs.diagnosis import Diagnosis, diagnose
from dwindle.runs.metrics import HALF, METRICS
from dwindle.runs.observer import Observer
from dwindle.runs.summary import Summary

WEIGHTS = 1000  # that the page has
MISTAKES = 12
MANY = 6  # classes whose gravities have a chart each


@dataclass(frozen=True)
class Report:
    """A page; in a notebook it shows itself."""

    title: str
    html: str

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write the page to a file, replacing an earlier one once whole; return its size."""
        whole = self.html.encode()
        with replacing(path) as file:
            file.write(whole)
        return len(whole)

    def _repr_html_(self) -> str:
        """Show the page in a frame of its own."""
        style = "width: 100%; height: 45rem; border: 1px solid #8885"
        return tag("iframe", srcdoc=self.html, style=style, title=self.title)


class _Page:
    """Sections, and the list of contents that follows from them."""

    def __init__(self) -> None:
        self.parts: list[Markup] = []
        self.contents: list[Contents] = []

    def add(self, name: str, title: str, *parts: Any, about: str | None = None) -> None:
        """Add a section, if there is anything in it."""
        if any(parts):
            self.parts.append(section(title, *parts, id_=name, about=about))
            self.contents.append(Contents(name, title))


def report(
    model: str | os.PathLike[str] | Model | ClassModels | Path,
    paths: Sequence[str] = (),
    reading: ReadOptions | None = None,
    *,
    threshold: float = HALF,
    top: int = WEIGHTS,
    mistakes: int = MISTAKES,
    skip_bad: bool = False,
    keep: int | None = None,
    title: str | None = None,
    observer: Observer | None = None,
) -> Report:
    """Describe a model, and with data how good it is there, on one page.

    The page has the settings, the learning curve, the gravities learned at once with the chosen
    one, and the ``top`` heaviest weights; with data, the figures of `evaluate`, curves that fit the
    labels, and the worst mistakes with their explanations. The data is read once, and none of it is
    kept.
    """
    saved, name = _opened(model)
    found = picked(saved, keep, name)
    measured = None
    if paths:
        measured = diagnose(
            found,
            paths,
            reading,
            threshold=threshold,
            mistakes=mistakes,
            skip_bad=skip_bad,
            observer=observer,
        )
    return _report(title or name, found, saved, top, measured, paths)


def run_report(
    model: str | os.PathLike[str], summary: Summary, recorder: Recorder, *, top: int = WEIGHTS
) -> Report:
    """Describe a training run and the model it wrote."""
    saved, name = _opened(model)
    return _report(name, picked(saved, None, name), saved, top, run=(summary, recorder))


def _opened(model: Any) -> tuple[Model | ClassModels | Path, str]:
    if isinstance(model, Model | ClassModels | Path):
        return model, type(model).__name__
    return load_saved(model), FilePath(model).name


def _report(
    title: str,
    model: Model | ClassModels,
    saved: Model | ClassModels | Path,
    top: int,
    measured: Diagnosis | None = None,
    paths: Sequence[str] = (),
    run: tuple[Summary, Recorder] | None = None,
) -> Report:
    page = _Page()
    page.add("figures", "Figures", tiles(_headline(model, measured)), run and _run_list(run[0]))
    if measured is not None:
        figures = measured.figures
        page.add(
            "data",
            "On the data",
            figures_list(figures),
            charts(figure_of(each) for each in curves(measured)),
            *of_classes(measured),
            about=f"{counted(figures['examples'], 'labelled example')} of {', '.join(paths)}.",
        )
        about = "The examples with the greatest loss, and what each feature added to the score."
        worst = cards(measured.mistakes) if measured.mistakes else None
        page.add("mistakes", "Worst mistakes", worst, about=about)
    page.add("learning", "Learning", charts(figure_of(each) for each in _learning(model, run)))
    page.add("gravities", "Gravities", *_frontiers(model, saved))
    page.add("weights", "Weights", *weights_parts(model, top))
    page.add("settings", "Settings", settings_list(model))
    kind = type(model.loss).__name__.lower()
    return Report(title, document(title, f"A model of {kind} loss", page.parts, page.contents))


def _headline(
    model: Model | ClassModels, measured: Diagnosis | None
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the figures that are read first: on the data, if there is some."""
    yield from figures_of(model)
    if measured is None:
        return
    found = measured.figures
    best = next((name for name in ("auc", "accuracy", "r2") if name in found), None)
    for name in [*([best] if best else []), "rmse" if "rmse" in found else "loss"]:
        below = f"{found['examples']:,} examples"
        yield f"{METRICS[name].title} on the data", exactly(found[name], figure(found[name])), below


def _run_list(s: Summary) -> Markup:
    """List what a run took."""
    speed = s.examples_per_second
    memory = s.peak_memory_bytes
    return pairs(
        [
            ("time", f"{s.seconds:.2f} s"),
            ("speed", f"{speed:,.0f} examples a second" if not math.isnan(speed) else None),
            ("memory", f"{memory / 1e6:,.0f} MB at the peak" if memory else None),
            ("model file", f"{s.model_bytes:,} bytes"),
            ("alive", f"{counted(s.peak_live, 'feature')} at the peak"),
            ("best constant", f"loss {figure(s.best_constant_loss)}"),
            ("skipped", counted(s.skipped, "bad line") if s.skipped else None),
        ]
    )


def _learning(model: Model | ClassModels, run: tuple[Summary, Recorder] | None) -> Iterator[Chart]:
    """Draw the learning curve and, of a run, its passes and its memory."""
    constant = None if run is None else run[0].best_constant_loss
    yield from curve_charts(model, constant)
    if run is None:
        return
    passes = run[1].passes
    if len(passes) > 1:
        best = max(k for k, each in enumerate(passes) if each.best)
        yield Chart(
            "Holdout",
            "Loss on the examples held out, after each pass; the model is that of the best.",
            Axis("pass"), Axis("loss"), [each.number for each in passes],
            [Series("loss", [each.holdout_loss for each in passes])],
            marked=(best, "best"), whole=frozenset({"pass"}),
        )  # fmt: skip
    samples = [each for each in run[1].memory if each.resident]
    if len(samples) > 1:
        yield Chart(
            "Memory",
            "What the process had resident while it ran, compiler and all.",
            Axis("seconds", low=0.0), Axis("MB", low=0.0), [each.seconds for each in samples],
            [
                Series("MB", [each.resident / 1e6 for each in samples]),
                Series("examples", [each.examples for each in samples], "hidden"),
            ],
            whole=frozenset({"examples"}),
        )  # fmt: skip


def _frontiers(
    model: Model | ClassModels, saved: Model | ClassModels | Path
) -> Iterator[Markup | None]:
    """Draw the gravities, of many classes as a table."""
    told = model if model.metadata.get("frontier") or model.metadata.get("frontiers") else saved
    drawn = [*frontier_charts(told)]
    if len(drawn) > MANY:
        yield chosen_of_classes(told)
    else:
        yield charts(figure_of(each) for each in drawn)
