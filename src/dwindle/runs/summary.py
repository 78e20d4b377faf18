"""The outcome of a training run."""

import math
from dataclasses import dataclass, field

from dwindle.runs.loop import Best
from dwindle.runs.progress import Figures

FEW = 20  # examples, which say nothing
WORSE = 1.01  # times the loss of the best constant, which is known only in hindsight


@dataclass
class Summary:
    """The outcome of a training run."""

    examples: int  # each counted once, however many passes there were
    feature_count: int
    seen: int
    peak_live: int
    kept: int
    loss: float  # of the first pass, as is the AUC: measured before learning
    best_constant_loss: float
    auc: float
    seconds: float
    examples_per_second: float
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
    best_pass: int | None = None  # whose model it is; None without a holdout, as are these
    holdout_loss: float | None = None
    holdout_auc: float | None = None


def is_worse(last: Figures, best: Best, constant: float) -> bool:
    """Whether the best constant has a smaller loss than the model.

    On the holdout; without one, in the later half of the last pass.
    """
    if best.number:
        return best.loss > WORSE * best.constant_loss
    return last.examples >= FEW and last.late_loss > WORSE * constant
