"""The settings of a run, in the one table that `algorithm.settings` begins.

Importing it imports no compiler, so that ``--help`` and bad usage are answered at once.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dwindle._base.errors import SettingError
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.settings import (
    AUTO,
    FAMILIES,
    LearnerSettings,
    default_of,
    option,
    options_of,
    parameters_of,
)
from dwindle.data.options import ReadOptions

BALANCED = "balanced"  # class weights by which all classes weigh the same

# The system that the paper measured, in its sections 5 and 6. The order is Algorithm 1's, K is 1
# and theta infinite, as they are by default; rate, gravity and passes are for cross-validation.
PAPER: Mapping[str, Any] = {
    "loss": "clipped-squared",
    "update": "plain",
    "normalize": True,
    "pass_decay": 0.5,
    "cooldown": 0,
}


def number_or_file(text: str) -> int | str:
    """Read ``N|FILE``: every N-th example, or a file."""
    if text.isdecimal():
        return int(text)
    try:
        share = float(text)
    except ValueError:
        return text
    if not 0 < share < 1 or Path(text).exists():
        return text
    raise SettingError(
        f"expected a whole number or a file, got {text}: {1 / share:.0f} holds out every "
        f"{1 / share:.0f}th example"
    )


def interval(text: str) -> Callable[[float, int], bool]:
    """Read ``60s`` or a number of examples; returns a question to ask after each batch."""
    try:
        if text.endswith("s"):
            pause = float(text[:-1])
            return lambda seconds, _examples: seconds >= pause
        count = int(text)
    except ValueError:
        raise SettingError(
            f"expected seconds like 60s or a number of examples, got {text!r}"
        ) from None
    return lambda _seconds, examples: examples >= count


def class_names(text: str) -> list[str] | list[float]:
    """Read the names of classes, separated by commas: numbers, if all of them are."""
    names = [name.strip() for name in text.split(",")]
    try:
        return [float(name) for name in names]
    except ValueError:
        return names


def class_weights(text: str) -> str | dict[str, float]:
    """Read ``spam=5,ham=1``, or ``balanced``."""
    if text == BALANCED:
        return text
    pairs = [part.rsplit("=", 1) for part in text.split(",")]
    try:
        return {name.strip(): float(weight) for name, weight in pairs}
    except ValueError:
        raise SettingError(
            f"expected weights like spam=5,ham=1 or balanced, got {text!r}"
        ) from None


@dataclass(kw_only=True, eq=False)
class RunSettings(LearnerSettings):
    """How to learn, how often to go over the data, and what to keep."""

    passes: int = option(1, "Number of passes over the data.", kind=int, least=1)
    cooldown: int = option(
        0,
        "Gravity-only steps after the last example; they remove weights that only the last "
        "examples made.",
        kind=int,
        least=0,
    )
    holdout: Any = option(
        None,
        "Measure after each pass on every N-th example, which is then not learned from, or on a "
        "file, and write the model of the best pass; gravities learned at once are compared there.",
        kind=number_or_file,
        least=2,
        metavar="N|FILE",
    )
    patience: int = option(
        3,
        "With a holdout: stop after N passes in a row that did not improve its loss.",
        kind=int,
        least=1,
    )
    keep: int | None = option(
        None,
        "Keep at most N features, of several classes of each: the best gravity of those learned at "
        "once that keeps no more, and of what it keeps the N heaviest.",
        kind=int,
        least=0,
        metavar="N",
    )
    choose_by: str = option(
        AUTO,
        "Of gravities learned at once, compare the AUC or the loss; auto is AUC for two classes.",
        kind=str,
        choices=(AUTO, "auc", "loss"),
    )
    tolerance: float | None = option(
        None,
        "Of gravities learned at once, choose the sparsest that is worse than the best by no more "
        "than this: in AUC, or as a share of the loss.",
        default_text="0.002 of AUC, 1 % of loss",
        metavar="T",
    )


@dataclass(kw_only=True)
class TrainSettings(RunSettings):
    """The settings of `train`."""

    gravity: Any = field(default=AUTO, metadata={"option": options_of(LearnerSettings)["gravity"]})
    classes: Any = option(
        None,
        "All classes, separated by commas: needed if the beginning of the data lacks some.",
        kind=class_names,
        metavar="A,B,...",
        default_text="those of the first block",
    )
    class_weight: Any = option(
        None,
        "Factor on the importance of each class's examples: spam=5,ham=1; balanced reads the data "
        "once more and makes all classes weigh the same.",
        kind=class_weights,
        metavar="A=W,...",
    )
    skip_bad: bool = False
    checkpoint_every: Callable[[float, int], bool] | None = option(
        None,
        "Write a checkpoint every 60 seconds, say, or every N examples.",
        kind=interval,
        metavar="60s|N",
    )  # is asked with the seconds and examples since the last one
    shuffle: int | None = option(
        None,
        "Shuffle the examples within windows of N, which are kept in memory; in each pass anew.",
        kind=int,
        least=2,
        metavar="N",
    )
    seed: int = option(0, "With --shuffle: another seed is another order.", kind=int, least=0)
    probes: int = option(
        0,
        "Add up to N random features, as frequent as real ones, and say how many are kept: as many "
        "of the others may be kept by chance. They are not in the model.",
        kind=int,
        least=0,
        metavar="N",
    )
    save_state: bool = option(
        False,
        "Keep the learner's state in the model file, so that --start-from goes on exactly.",
        kind=bool,
    )
    path: bool = option(
        False,
        "Keep the models of all gravities learned at once in the model file: predict, evaluate, "
        "explain and inspect pick another one with their option --keep.",
        kind=bool,
    )
    reading: ReadOptions = field(default_factory=ReadOptions)


# Settings of a run that has an end, or goes over its data again: a server does neither.
OF_RUNS = frozenset(
    {"passes", "pass_decay", "cooldown", "holdout", "patience", "checkpoint_every", "shuffle"}
) | {"seed", "save_state", "path", "probes"}
ONLINE = tuple(name for name in options_of(TrainSettings) if name not in OF_RUNS)


def complete(
    settings: TrainSettings, earlier: Mapping[str, Any], given: Collection[str]
) -> TrainSettings:
    """Return the settings with those that were not given taken from an earlier run.

    ``earlier`` has all that were not default. The settings of one ingredient are taken together:
    who gives a shrinkage gives its gravity.
    """
    together = [
        {family, *(name for cls in known.values() for name in parameters_of(cls))}
        for family, known in FAMILIES.items()
    ]
    together.append(set(Schedule._fields))
    next(each for each in together if "gravity" in each).add("sigmas")
    taken: dict[str, Any] = {}
    for name in {*options_of(LearnerSettings), *earlier}:
        group: set[str] = next((each for each in together if name in each), {name})
        if not group & set(given):
            taken[name] = earlier.get(name, default_of(settings, name))
    return replace(settings, **taken)
