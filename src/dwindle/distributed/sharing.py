"""The learner of a shard, which goes on from one machine's: the rates and sums of its share.

`mixing` says why they are as they are.
"""

from typing import Any

import numpy as np

from dwindle.algorithm.dual_averaging import RDA
from dwindle.algorithm.updates import Plain
from dwindle.distributed.cells import is_dual
from dwindle.engine.kinds import learner_from
from dwindle.engine.lane_kernels import CLOCK, NOISE, ROOT, SLOPES, WAITING
from dwindle.engine.lane_updates import LAST_32
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner

MOST_BOOST = 32  # docs/many-machines.md measures it,
DAMPING = 0.0125  # and this
DIGITS = "0123456789"


def boost(update: Any, shards: int) -> float:
    """Return by how much the learning rate of a shard is larger than that of one machine.

    Where rates fall with the root of the squared gradients, these make up for the other sqrt(K).
    """
    return float(min(shards, MOST_BOOST) ** (1.0 if isinstance(update, Plain) else 0.5))


def damping(shards: int) -> float:
    """Return by how much more a shard's sums of gradients move than they would on one machine.

    Its long steps go too far at first and come back, which leaves features that tell nothing.
    """
    return 1.0 + DAMPING * min(shards - 1, MOST_BOOST)


def shared(learner: Learner, shards: int) -> Learner:
    """Return the learner of a shard that goes on from one machine's.

    With a the boost by K, it has (a z) / K and n / K, and the pull that goes with them. The gravity
    of `FTRL` weighs against the sum of all gradients: a shard's is its share. That of lanes may
    weigh against their deviation, of which the shard's share is the root.
    """
    longer = boost(learner.update, shards)
    factors = {"norm": shards**-0.5, "root": shards**-0.5}
    if is_dual(learner):
        factors |= {"z": longer / shards, "lane": longer / shards, "v": 0.0, "weight": 0.0}
    state = learner.state()
    for name, column in state["cells"].items():
        state["cells"][name] = column * column.dtype.type(factors.get(name.rstrip(DIGITS), 1))
    bias = state["intercept"].items()
    state["intercept"] = {name: v * factors.get(name.rstrip(DIGITS), 1) for name, v in bias}
    clock = state["clock"]
    if "last" in state["cells"]:
        state["cells"]["last"] = _shard_time(clock["n_steps"], state["cells"]["last"], shards)
    clock["n_steps"] //= shards
    if is_dual(learner):
        clock["now"] *= 1 / shards if learner.clock.counts_moments else longer / shards
    if learner.clock.counts_moments:
        clock["size"] *= longer / (shards if _weighs_sums(learner) else 1)
    if isinstance(learner, LaneLearner):
        lanes = np.array(state["lanes"]["state"])
        lanes[[NOISE, SLOPES]] /= shards
        lanes[ROOT] = np.sqrt(lanes[NOISE])
        lanes[[CLOCK, WAITING]] *= longer * shards**-0.5
        state["lanes"]["state"] = lanes.tolist()
    del state["last_cut"]
    return learner_from(state | {"settings": _shard_settings(learner, shards, longer)})


def _shard_time(n_steps: int, last: Any, shards: int) -> Any:
    """Return when features were last seen, as a shard counts steps, in as many bits."""
    absent = (np.uint64(n_steps) - last.astype(np.uint64)) & np.uint64(LAST_32)
    shard_last = np.uint64(n_steps // shards) - absent // np.uint64(shards)
    return (shard_last & np.uint64(LAST_32)).astype(last.dtype)


def _weighs_sums(learner: Learner) -> bool:
    """Whether gravity weighs against the sum of all gradients, however many there are."""
    in_lanes = isinstance(learner, LaneLearner)
    return is_dual(learner) and not isinstance(learner.update, RDA) and not in_lanes


def _shard_settings(learner: Learner, shards: int, longer: float) -> dict[str, Any]:
    shrinkage, schedule = learner.shrinkage, learner.schedule
    if isinstance(learner, LaneLearner):
        if shrinkage.by_noise:
            shrinkage = shrinkage._replace(
                values=tuple(shards**-0.5 * each for each in shrinkage.values),
                evidence=tuple(shards**-0.5 * each for each in shrinkage.evidence),
            )
    elif _weighs_sums(learner):
        shrinkage = shrinkage._replace(gravity=shrinkage.gravity / shards)
    schedule = schedule._replace(learning_rate=schedule.learning_rate * longer)
    made = learner.arguments() | {"learning_rate": schedule, "shrinkage": shrinkage}
    return type(learner)(**made).settings()
