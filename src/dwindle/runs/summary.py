"""The outcome of a training run."""

import math
from dataclasses import dataclass, field
from typing import Any

from dwindle.data.options import ReadOptions, kept_reading
from dwindle.engine.lane_scores import Choice, Lane
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.model.classes import ClassModels
from dwindle.model.describe import lanes_in
from dwindle.model.model import Model
from dwindle.model.path import Path
from dwindle.runs.checkpoint import Reached
from dwindle.runs.loop import Best
from dwindle.runs.probing import Probed
from dwindle.runs.progress import Figures

SHORT = 1e-3  # seconds, less than what a clock beside the compiler measures
FEW = 20  # examples, which say nothing
FIGURES = ("loss", "auc", "accuracy")  # of a pass; one that is not defined is left out
WORSE = 1.01  # times the loss of the best constant, which is known only in hindsight


@dataclass
class Summary:
    """The outcome of a training run."""

    examples: int  # each counted once, however many passes there were
    feature_count: int
    seen: int
    peak_live: int  # at once, probes included
    kept: int
    loss: float  # of the first pass, as is the AUC: measured before learning
    best_constant_loss: float
    auc: float
    seconds: float
    examples_per_second: float  # nan if hardly anything but compiling took time
    peak_memory_bytes: int
    model_bytes: int
    skipped: int
    seconds_compiling: float = 0.0  # of `seconds`, and not of `examples_per_second`
    loss_name: str = ""
    labels: dict[str, float] = field(default_factory=dict)
    eviction_report: dict[str, float] = field(default_factory=dict)  # with a budget
    bad_lines: list[str] = field(default_factory=list)
    classes: list[float | str] = field(default_factory=list)  # if there are several
    accuracy: float = math.nan  # of several classes
    late_loss: float = math.nan  # of the later half or more of the first pass
    worse_than_constant: bool = False  # on the holdout, else in the later half of the last pass
    passes: int = 1  # that were made
    last_pass_loss: float | None = None  # while learning again; None if there was one pass only
    last_pass_auc: float | None = None
    last_pass_accuracy: float | None = None
    best_pass: int | None = None  # whose model it is; None without a holdout, as are these
    holdout_loss: float | None = None
    holdout_auc: float | None = None
    holdout_accuracy: float | None = None
    frontier: list[Lane] = field(default_factory=list)  # of gravities learned at once,
    class_frontiers: dict[Any, list[Lane]] = field(default_factory=dict)  # of several classes,
    choice: Choice | None = None  # and how one of them was chosen
    probes: Probed | None = None  # if there were any
    shards: int | None = None  # of a run on many machines


def summarized(run: Reached, model: Model | ClassModels | Path, **measured: Any) -> Summary:
    """Sum up a run that has made its passes; what only the caller can measure is ``measured``."""
    learner, progress, first, last, labels = (
        run.learner,
        run.progress,
        run.first,
        run.last,
        run.labels,
    )
    assert learner is not None
    assert progress is not None
    assert first is not None
    assert last is not None
    constant = progress.best_constant_loss()
    probed: Probed | None = measured.get("probes")
    return Summary(
        examples=first.examples,
        feature_count=progress.feature_count,
        seen=learner.n_seen if probed is None else probed.seen,
        peak_live=learner.peak_live,
        kept=len(model),
        loss=first.loss,
        best_constant_loss=constant,
        auc=first.auc,
        skipped=progress.skipped,
        loss_name=type(learner.loss).__name__,
        labels=labels.signs(),
        classes=labels.classes if labels.are_several else [],
        accuracy=first.accuracy,
        eviction_report=learner.eviction_report() if learner.max_live else {},
        bad_lines=run.bad_lines,
        passes=run.pass_number,
        worse_than_constant=not progress.has_one_class and is_worse(last, run.best, constant),
        late_loss=first.late_loss,
        best_pass=run.best.number or None,
        **_lanes(learner, model),
        **_later_figures(run),
        **measured,
    )


def rate(examples: int, seconds: float) -> float:
    """Return how many examples went by in a second; nan if that was too short to measure.

    >>> rate(1000, 0.5), rate(1000, -1e-3)
    (2000.0, nan)
    """
    return examples / seconds if seconds > SHORT else math.nan


def is_worse(last: Figures, best: Best, constant: float) -> bool:
    """Whether the best constant has a smaller loss than the model.

    On the holdout; without one, in the later half of the last pass.
    """
    if best.number:
        return best.loss > WORSE * best.constant_loss
    return last.examples >= FEW and last.late_loss > WORSE * constant


def metadata(run: Reached, reading: ReadOptions) -> dict[str, Any]:
    """Gather what the model file says of a run whose first pass is over."""
    assert run.learner is not None
    assert run.first is not None
    examples = run.examples_before + run.first.examples
    weight = run.weight_before + run.first.weight
    return (
        run.labels.metadata()
        | {
            "reading": kept_reading(reading),
            "examples": examples,
            "seen": run.learner.n_seen,
            "peak_live": run.learner.peak_live,
            "loss": run.first.loss,
            "passes": run.pass_number,
            "learning_curve": run.curve,
        }
        | ({} if weight == examples else {"importance": weight})
        | ({"class_weight": run.labels.weight} if run.labels.weight else {})
        | _later_figures(run)
        | frontier_metadata(run.learner)
    )


def frontier_metadata(learner: Learner | OneVsRest) -> dict[str, Any]:
    """Describe gravities that were learned at once, by what they were compared and which it is.

    Of several classes, each has its own.
    """
    members = [learner] if isinstance(learner, Learner) else learner.members
    lanes = [each.frontier() for each in members if isinstance(each, LaneLearner)]
    if not lanes or not isinstance(members[0], LaneLearner):
        return {}
    told = [[_without_nan(lane) for lane in each] for each in lanes]
    said: dict[str, Any] = {"chosen_by": members[0].judge.metric(members[0].choice)}
    if isinstance(learner, OneVsRest):
        return said | {"frontiers": told}
    chosen = next(lane for lane in lanes[0] if lane.chosen)
    return said | {"sigmas": chosen.gravity, "evidence": chosen.evidence, "frontier": told[0]}


def _without_nan(lane: Lane) -> dict[str, Any]:
    return {name: value for name, value in lane._asdict().items() if not math.isnan(value)}


def _lanes(learner: Learner | OneVsRest, model: Model | ClassModels | Path) -> dict[str, Any]:
    """Read what `frontier_metadata` told: of the pass that the model is of."""
    said = model.metadata
    if "chosen_by" not in said:
        return {}
    member = learner if isinstance(learner, Learner) else learner.members[0]
    assert isinstance(member, LaneLearner)
    found: dict[str, Any] = {"choice": member.choice._replace(metric=said["chosen_by"])}
    if "frontier" in said:
        return found | {"frontier": lanes_in(said["frontier"])}
    by_class = zip(said["classes"], map(lanes_in, said["frontiers"]), strict=True)
    return found | {"class_frontiers": dict(by_class)}


def _later_figures(run: Reached) -> dict[str, Any]:
    """Gather the figures of the last of several passes, and of the best one on the holdout."""
    found: dict[str, Any] = {}
    last, best = run.last, run.best
    if last is not None and run.pass_number > 1:
        found |= {f"last_pass_{name}": getattr(last, name) for name in FIGURES}
    if best.number:
        found |= {f"holdout_{name}": getattr(best, name) for name in FIGURES}
    return {name: value for name, value in found.items() if not math.isnan(value)}
