"""Which lane is the model: on some examples of each shard, by the model of all *other* shards.

So no example is judged by what was learned from it. Lanes of strong gravity lag behind in short
shards, and catch up in later passes: the more passes come before, the better is known which lane
will be best in the end. With sums of gradients, what a shard told in all passes is taken away. What
the others told in later passes answers to it, though, by more the larger its share is: after too
many passes lanes would be judged by what is missing. So there are at most K / `SHARE`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dwindle.distributed.cells import is_dual
from dwindle.distributed.mixing import mix
from dwindle.distributed.parts import added, without
from dwindle.distributed.telling import SCORES, Rows, Told
from dwindle.engine.lane_scores import SEGMENTS, LaneScores
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch

SHARE = 4  # docs/many-machines.md says on what it was chosen
OF_ONE_PASS = ("learned", "size", "pace", "error")  # sums that no earlier pass adds to


def compared_after(learner: Learner, passes: int, shards: int) -> int:
    """Return the pass after which lanes are compared; 0 if there are none, or they are judged.

    One shard is judged as one machine is: while it learns.
    """
    if not isinstance(learner, LaneLearner) or shards == 1:
        return 0
    return max(min(passes, shards // SHARE), 1) if is_dual(learner) else 1


def n_judged(examples: int) -> int:
    """Return on how many examples of a shard lanes are compared: a quarter, if there are many.

    >>> [n_judged(n) for n in (100, 8000, 10**7)]
    [1000, 2000, 65536]
    """
    return min(max(examples // 4, 1000), 2**16)


def own_so_far(before: Told | None, told: Told, learner: Learner) -> Told:
    """Return what a shard told in all passes, of what is still in the model it began with."""
    if before is None:
        return told
    stayed = np.isin(before.mark, learner.table.cells["key"], kind="sort")
    rows = before.rows[stayed]
    for name in ("shards", "centred"):
        rows[:, Rows._fields.index(name)] = 0.0
    sums = {
        name: np.zeros_like(array) if name in OF_ONE_PASS else array
        for name, array in before.sums.items()
    }
    return added(Told(before.mark[stayed], rows, sums), told)


def judged(
    learner: Learner, everything: Told, own: Told, shards: int, batches: Sequence[Batch]
) -> LaneScores:
    """Return how well lanes predict examples of a shard, by what all others told.

    Only of the features of these examples: to mix all for each shard would take longest.
    """
    assert isinstance(learner, LaneLearner)
    if not batches:
        return LaneScores(learner.loss, learner.n_lanes, whole=True)
    key = np.unique(np.concatenate([batch.key for batch in batches]))
    others = mix(learner, without(everything, own), shards, only=key + np.uint64(1))
    assert isinstance(others, LaneLearner)
    scores = LaneScores(others.loss, others.n_lanes, whole=True)
    for batch in batches:
        assert batch.label is not None
        predicted = others.predict_lanes(batch).astype(np.float32)
        scores.add(predicted, batch.label, batch.importances())
    return scores


def without_scores(told: Told) -> Told:
    """Leave out how well lanes predicted: a shard is too short to compare them."""
    return told._replace(
        sums={name: v for name, v in told.sums.items() if name not in {"judged", *SCORES}}
    )


def judged_sums(scores: LaneScores) -> dict[str, NDArray[np.float64]]:
    """Return scores as sums over all examples."""
    sums = {name: getattr(scores, name).sum(axis=0) for name in SCORES}
    return sums | {"judged": np.array([float(scores.examples)])}


def in_one_segment(sums: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    """Return what `judged_sums` returned, or shards add up to, as scores of the last segment."""
    found = {"judged": sums["judged"]}
    for name in SCORES:
        found[name] = np.zeros((SEGMENTS, *sums[name].shape))
        found[name][-1] = sums[name]
    return found
