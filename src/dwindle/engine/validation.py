"""Checks of a learner's settings and of the labels it is given."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle._base.dispatch import require
from dwindle._base.errors import DataError, SettingError
from dwindle.algorithm.losses import accepted_labels, takes_any_unit
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import Shrinkage, check_shrinkage
from dwindle.algorithm.updates import Update, check_update
from dwindle.engine import kernels, table_kernels

_KERNELS = (
    *(kernels.values, kernels.learn, kernels.predict, table_kernels.weights),
    *(table_kernels.settle_all, table_kernels.sweep, table_kernels.count_by_worth),
)
_CALLERS = [kernel.function for kernel in _KERNELS]


def check_settings(
    loss: Any,
    shrinkage: Shrinkage,
    update: Update,
    schedule: Schedule,
    max_live: int | None,
    *,
    scale_labels: bool,
) -> None:
    """Refuse, by name, settings that no run could use or that contradict each other."""
    chosen = {"loss": loss, "shrinkage": shrinkage, "update": update}
    require(chosen, *_CALLERS, methods_too=False)
    schedule.check()
    check_loss(loss, scale_labels=scale_labels)
    check_shrinkage(shrinkage)
    check_update(update, shrinkage, schedule, max_live)
    require(chosen, *_CALLERS, methods_too=True)


def check_loss(loss: Any, *, scale_labels: bool) -> None:
    """Refuse a loss with a parameter that it cannot use, and one that cannot be scaled."""
    if hasattr(loss, "check"):
        loss.check()
    if scale_labels and not takes_any_unit(loss):
        raise SettingError(
            f"scale_labels needs a loss that is the same in any unit, as Squared; not {loss}"
        )


def check_labels(loss: Any, label: NDArray[np.float32], importance: NDArray[np.float32]) -> None:
    """Refuse a label that the loss is not defined for; the error says which example's."""
    accepts, wanted = accepted_labels(loss)
    if accepts is None or not len(label):
        return
    two = label[[0, int(np.argmax(label != label[0]))]]  # usually there are no others
    if accepts(two).all() and not kernels.n_others(label, importance, *two):
        return
    bad = ~accepts(label) & (importance > 0)
    if bad.any():
        i = int(np.argmax(bad))
        name = type(loss).__name__
        raise DataError(f"with {name} a label must be {wanted}, got {label[i]:g}", i)
