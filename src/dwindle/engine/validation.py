"""Settings that no run could use and labels that a loss is not defined for, refused by name."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.errors import DataError, SettingError
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import NoShrinkage, Truncation
from dwindle.algorithm.updates import FTRL, RDA, Adaptive, Averaged, Plain
from dwindle.engine import kernels


def check_settings(loss: Any, shrinkage: Any, update: Any, schedule: Schedule) -> None:
    """Refuse, by name, settings that no run could use or that contradict each other."""
    schedule.check()
    if hasattr(loss, "check"):
        loss.check()
    for name in ("gravity", "threshold"):
        setting = getattr(shrinkage, name, 0.0)
        if not setting >= 0.0:
            raise SettingError(f"{name} must be 0 or more, got {setting}")
    if getattr(shrinkage, "gravity", 0.0) == np.inf:
        raise SettingError("gravity must be finite; Rounding removes weights at once")
    if shrinkage.truncate_every != int(shrinkage.truncate_every) or shrinkage.truncate_every < 1:
        raise SettingError(
            f"truncate_every must be a whole number, 1 or more, got {shrinkage.truncate_every}"
        )
    if isinstance(update, Adaptive | FTRL | RDA) and not 0.0 < update.beta < np.inf:
        raise SettingError(f"beta must be finite and above 0, got {update.beta}")
    if isinstance(update, Averaged):
        _check_theorem_3_2(shrinkage, schedule)
    if isinstance(update, FTRL | RDA):
        _check_dual(update, shrinkage)


def check_budget(max_live: int | None, shrinkage: Any, update: Any) -> None:
    """A budget has to be kept by pulling, or by what averages gradients forgetting some."""
    if max_live is None:
        return
    if max_live != int(max_live) or max_live < 1:
        raise SettingError(f"max_live must be a whole number, 1 or more, got {max_live}")
    pulls = isinstance(shrinkage, Truncation) and shrinkage.threshold == np.inf
    if not (isinstance(update, FTRL | RDA) or (pulls and isinstance(update, Plain | Adaptive))):
        raise SettingError(
            "max_live needs Truncation without a threshold and the update Adaptive or Plain, or "
            f"else FTRL or RDA: got {shrinkage} and {update}"
        )


def _is_t1(shrinkage: Any) -> bool:
    return isinstance(shrinkage, Truncation | NoShrinkage)


def _check_dual(update: FTRL | RDA, shrinkage: Any) -> None:
    """What is pulled is the sum of the gradients, by T1."""
    name = type(update).__name__
    if not _is_t1(shrinkage):
        raise SettingError(f"{name} knows only Truncation, got {shrinkage}")
    if getattr(shrinkage, "threshold", np.inf) != np.inf:
        raise SettingError(f"{name} has no threshold, got {shrinkage}")
    if isinstance(update, FTRL) and shrinkage.truncate_every != 1:
        raise SettingError(f"FTRL's gravity is no pull at every K-th step, got {shrinkage}")


def _check_theorem_3_2(shrinkage: Any, schedule: Schedule) -> None:
    """The mean of the weights is known in closed form in the theorem's setting alone."""
    if not _is_t1(shrinkage):
        raise SettingError(
            f"Averaged is Theorem 3.2's mean, which knows only Truncation: got {shrinkage}"
        )
    if shrinkage.truncate_every != 1 or getattr(shrinkage, "threshold", np.inf) != np.inf:
        raise SettingError(
            "Averaged is Theorem 3.2's mean, which asks for truncate_every=1 and no threshold: "
            f"got {shrinkage}"
        )
    if not schedule.constant:
        raise SettingError(
            f"Averaged is Theorem 3.2's mean, which asks for a constant rate: got {schedule}"
        )


def check_labels(loss: Any, label: NDArray[np.float32], importance: NDArray[np.float32]) -> None:
    """Refuse, by its place, a label that the loss is not defined for."""
    accepts = getattr(loss, "accepts", None)
    if accepts is None or not len(label):
        return
    two = label[[0, int(np.argmax(label != label[0]))]]  # as a rule there are no others
    if accepts(two).all() and not kernels.n_others(label, importance, *two):
        return
    bad = ~accepts(label) & (importance > 0)
    if bad.any():
        i = int(np.argmax(bad))
        name = type(loss).__name__
        raise DataError(f"with {name} a label must be {loss.wants}, got {label[i]:g}", i)
