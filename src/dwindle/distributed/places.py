"""Where the files of a run are, and how many there are of each kind.

plan.json                 what each shard reads, and all settings
pass-0.parquet, ...       checkpoints: before the first pass, and after each
part-2-0-00007.parquet    what shard 7 told in pass 2; part-2-1-00000 adds up the first `FAN`
own-1-00007.parquet       what it told in all passes up to the first, if lanes are compared later
names-2-00007.parquet     the names of features that it was the first to tell of
model.parquet             in the end
"""

from dwindle._base.files import Place, place_of
from dwindle.distributed.plan import Plan

FAN = 4  # parts that one merge adds up, from left to right
JUDGED = "judged"  # the stage in which lanes are compared


def part_file(run: str, stage: str, level: int, k: int) -> Place:
    """Return where a part is: of a shard at level 0, of several above."""
    return place_of(f"{run}/part-{stage}-{level}-{k:05}.parquet")


def names_file(run: str, p: int, k: int) -> Place:
    """Return where the names are that shard k tells in pass p."""
    return place_of(f"{run}/names-{p}-{k:05}.parquet")


def own_file(run: str, p: int, k: int) -> Place:
    """Return the file of what shard k told in passes 1 to p."""
    return place_of(f"{run}/own-{p}-{k:05}.parquet")


def after(run: str, p: int) -> Place:
    """Return the checkpoint after pass p."""
    return place_of(f"{run}/pass-{p}.parquet")


def model_file(run: str) -> Place:
    """Return where the model is in the end."""
    return place_of(f"{run}/model.parquet")


def stages(plan: Plan, p: int) -> tuple[str, ...]:
    """Return the stages of a pass, each of which has a part for each shard, and adds them up.

    After one of them lanes are compared too, by models of all other shards.
    """
    return (str(p), JUDGED) if p == plan.compared_after else (str(p),)


def widths(n: int) -> list[int]:
    """Return how many parts of n shards there are at each level, until they are one.

    >>> widths(17)
    [17, 5, 2, 1]
    """
    found = [n]
    while found[-1] > 1:
        found.append(-(-found[-1] // FAN))
    return found


def root_file(run: str, plan: Plan, stage: str) -> Place:
    """Return where the part is that adds up all of a stage."""
    return part_file(run, stage, len(widths(len(plan.shards))) - 1, 0)
