"""Settings of several gravities at once: what goes together, and the update that does it."""

import math
from typing import Any

from dwindle._base.dispatch import exact, require
from dwindle._base.errors import SettingError
from dwindle.algorithm.adaptive import Adaptive
from dwindle.algorithm.dual_averaging import FTRL, RDA, CentredFTRL, CentredRDA
from dwindle.algorithm.shrinkage import check_shrinkage
from dwindle.algorithm.sigmas import MOST_LANES, Sigmas
from dwindle.algorithm.updates import Plain, check_beta, check_max_live
from dwindle.engine import kernels, lane_kernels
from dwindle.engine.lane_centring import LaneCentredFTRL, LaneCentredRDA
from dwindle.engine.lane_scores import Choice
from dwindle.engine.lane_updates import (
    LANES,
    LaneAdaptive,
    LaneFTRL,
    LanePlain,
    LaneRDA,
    LaneUpdate,
    centring,
)
from dwindle.engine.validation import check_loss

_IN_LANES: dict[type, type[LaneUpdate]] = {
    FTRL: LaneFTRL,
    RDA: LaneRDA,
    CentredFTRL: LaneCentredFTRL,
    CentredRDA: LaneCentredRDA,
    Adaptive: LaneAdaptive,
    Plain: LanePlain,
}
_CALLERS = lane_kernels.learn.function, kernels.values.function


def in_lanes(update: Any, shrinkage: Any) -> Any:
    """Return the update that does the same in lanes, as many as registers are made for."""
    if not isinstance(shrinkage, Sigmas):
        raise SettingError(
            f"several gravities at once need the shrinkage Sigmas or Gravities, not {shrinkage}"
        )
    check_shrinkage(shrinkage)
    kind = _IN_LANES.get(type(update))
    if kind is None:
        raise SettingError(
            f"several gravities at once need the update FTRL, RDA, Adaptive or Plain, not {update}"
        )
    if hasattr(update, "beta"):
        check_beta(update.beta)
    averages = issubclass(kind, LaneFTRL)
    if averages and shrinkage.threshold != math.inf:
        raise SettingError(f"{type(update).__name__} has no threshold, got {shrinkage}")
    if any(shrinkage.evidence) and not averages:
        raise SettingError(f"evidence needs the update RDA or FTRL, not {update}")
    width = LANES if len(shrinkage.values) <= LANES else MOST_LANES
    return exact(kind(width, getattr(update, "beta", 1.0), shrinkage.threshold))


def check_lanes(
    loss: Any,
    update: LaneUpdate,
    choice: Choice,
    max_live: int | None,
    *,
    intercept: bool,
    normalize: bool,
    scale_labels: bool,
) -> None:
    """Refuse, by name, settings that no run could use or that contradict each other."""
    if centring(update) and (normalize or not intercept):
        raise SettingError("an update that centres needs an intercept, and no normalize")
    require({"loss": loss, "update": update}, *_CALLERS, methods_too=True)
    check_loss(loss, scale_labels=scale_labels)
    check_max_live(max_live)
    choice.check(loss)
