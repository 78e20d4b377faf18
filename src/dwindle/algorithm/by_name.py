"""What the command line and the estimators call the ingredients, and what is measured."""

import math
from typing import Any

from dwindle._base.errors import SettingError
from dwindle.algorithm.dual_averaging import FTRL, RDA
from dwindle.algorithm.losses import (
    ClippedSquared,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Quantile,
    Squared,
)
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import NoShrinkage, Rounding, Subgradient, Truncation
from dwindle.algorithm.updates import Adaptive, Averaged, Plain, default_learning_rate

LOSSES: dict[str, Any] = {
    "auto": None,
    "logistic": Logistic(),
    "squared": Squared(),
    "hinge": Hinge(),
    "clipped-squared": ClippedSquared(),
    "quantile": Quantile(),
    "huber": Huber(),
    "poisson": Poisson(),
}
SHRINKAGES = {
    "truncation": Truncation,
    "rounding": Rounding,
    "subgradient": Subgradient,
    "none": NoShrinkage,
}
UPDATES: dict[str, Any] = {
    "adaptive": Adaptive(),
    "plain": Plain(),
    "ftrl": FTRL(),
    "rda": RDA(),
}
METRICS = {"accuracy": 1, "auc": 1, "loss": -1}  # 1 if more of it is better


def loss_called(name: Any) -> Any:
    """The loss of this name, None for "auto"; one that is a loss already is itself."""
    return _called(name, LOSSES, "loss")


def shrinkage_called(name: Any, gravity: float, every: int, threshold: float | None) -> Any:
    """The shrinkage of this name; one that is a shrinkage already is itself.

    >>> shrinkage_called("truncation", 0.1, 1, None)
    Truncation(gravity=0.1, threshold=inf, truncate_every=1)
    """
    if not isinstance(name, str):
        return name
    kind = _called(name, SHRINKAGES, "shrinkage")
    if kind is Rounding and threshold is None:
        raise SettingError("shrinkage rounding needs a threshold")
    given = {
        "gravity": gravity,
        "truncate_every": every,
        "threshold": math.inf if threshold is None else threshold,
    }
    return kind(**{field: given[field] for field in kind._fields})


def shrinkage_names(shrinkage: Any) -> dict[str, Any]:
    """What `shrinkage_called` makes this shrinkage of.

    >>> shrinkage_names(Rounding(0.1))
    {'shrinkage': 'rounding', 'threshold': 0.1, 'truncate_every': 1}
    """
    name = next((name for name, kind in SHRINKAGES.items() if type(shrinkage) is kind), None)
    if name is None:
        return {"shrinkage": shrinkage}
    fields: dict[str, Any] = shrinkage._asdict()
    if fields.get("threshold") == math.inf:
        fields["threshold"] = None
    return {"shrinkage": name} | fields


def update_called(name: Any, *, average: bool = False) -> Any:
    """The update of this name; with ``average``, what leaves the learner is its mean."""
    update = _called(name, UPDATES, "update")
    if not average:
        return update
    if not isinstance(update, Plain):
        raise SettingError(
            f"average is Theorem 3.2's mean of the plain update: say update='plain', got {name!r}"
        )
    return Averaged()


def update_names(update: Any) -> dict[str, Any]:
    """What `update_called` makes this update of."""
    if isinstance(update, Averaged):
        return {"update": "plain", "average": True}
    return {"update": _name(update, UPDATES)}


def loss_name(loss: Any) -> Any:
    """What `loss_called` makes this loss of."""
    return _name(loss, LOSSES)


def schedule_of(
    update: Any, rate: float | Schedule | None, power: float, pass_decay: float
) -> Schedule:
    """A rate that falls as 1/i^power and, after each pass, by ``pass_decay``.

    >>> schedule_of(Adaptive(), None, 0.5, 1.0)
    Schedule(learning_rate=0.6, power_t=0.5, initial_t=1.0, pass_decay=1.0)
    """
    if isinstance(rate, Schedule):
        return rate
    return Schedule(
        default_learning_rate(update) if rate is None else rate, power, pass_decay=pass_decay
    )


def schedule_names(update: Any, schedule: Schedule) -> dict[str, Any]:
    """What `schedule_of` makes this schedule of."""
    if schedule.initial_t != 1.0:
        return {"learning_rate": schedule}
    rate = (
        None if schedule.learning_rate == default_learning_rate(update) else schedule.learning_rate
    )
    return {"learning_rate": rate, "power_t": schedule.power_t, "pass_decay": schedule.pass_decay}


def _called(name: Any, known: dict[str, Any], role: str) -> Any:
    if not isinstance(name, str):
        return name
    if name not in known:
        raise SettingError(f"{role} must be one of {', '.join(known)}, got {name!r}")
    return known[name]


def _name(ingredient: Any, known: dict[str, Any]) -> Any:
    """The name of an ingredient as it stands in ``known``, or itself."""
    same = (
        name
        for name, each in known.items()
        if type(each) is type(ingredient) and each == ingredient
    )
    return next(same, ingredient)
