"""The measurements of section 6, cut into pieces that can be made on their own, in any order."""

import time
from typing import Any, NamedTuple

import numpy as np

from experiments import curves, data
from experiments.curves import COUNTED, KS, LATE, OTHERS, PEERS, RANDOM, THETAS
from experiments.measures import Line
from experiments.runs import FAMILIES
from experiments.sparsifying import sparsified

FEW = 1000  # examples below which there are more folds


class Plan(NamedTuple):
    """How much is measured."""

    seeds: tuple[int, ...]
    curve_seeds: tuple[int, ...]  # of them, those of figures 3 to 7
    sets: tuple[str, ...]
    families: tuple[str, ...]
    folds: tuple[int, int]  # for figures 1 and 2: of sets with few examples, and with many
    curve_folds: int
    strengths: int  # of a curve
    lines: tuple[Line, ...]
    peers: tuple[str, ...]
    rcv1: bool


FULL = Plan(
    seeds=(0, 1, 2),
    curve_seeds=(0, 1),
    sets=tuple(data.SETS),
    families=FAMILIES,
    folds=(5, 4),
    curve_folds=2,
    strengths=8,
    lines=(*KS, *LATE, *THETAS, *OTHERS),
    peers=PEERS,
    rcv1=True,
)
QUICK = Plan(
    seeds=(0,),
    curve_seeds=(0,),
    sets=("housing", "wbc"),
    families=FAMILIES[:1],
    folds=(2, 2),
    curve_folds=2,
    strengths=4,
    lines=(*KS, *THETAS[:1], *OTHERS[:2]),
    peers=PEERS,
    rcv1=False,
)


class Unit(NamedTuple):
    """A piece of work: its results go to the list named ``part``."""

    part: str
    set: str
    seed: int
    what: Any = None

    @property
    def name(self) -> str:
        """Unlike that of any other."""
        return " ".join(map(str, self))


def units(plan: Plan) -> list[Unit]:
    """All of them, in the order in which they are made."""
    sets = (*plan.sets, "rcv1") if plan.rcv1 else plan.sets
    classes = [name for name in plan.sets if name in data.CLASSIFICATION]
    made = [
        *(Unit("sets", name, 0) for name in sets),
        *(
            Unit("sparsified", name, seed, [random, family])
            for name in sets
            for seed in plan.seeds
            for random in ((0,) if name == "rcv1" else (0, RANDOM))
            for family in plan.families
        ),
        *(
            Unit("curves", name, seed, list(line))
            for name in classes
            for seed in plan.curve_seeds
            for line in plan.lines
            if line not in LATE or name in COUNTED
        ),
        *(
            Unit("curves", name, seed, peer)
            for name in classes
            for seed in plan.curve_seeds
            for peer in plan.peers
        ),
    ]
    return sorted(made, key=lambda unit: (_turn(unit), -cost(unit)))


def _turn(unit: Unit) -> tuple[int, bool, bool]:
    """Seed by seed; figures 1 and 2 first, and rcv1 last."""
    return unit.seed, unit.part == "curves", unit.set == "rcv1"


def cost(unit: Unit) -> float:
    """About how many seconds it takes, on one core."""
    if unit.part == "sets":
        return 0.5
    if unit.set == "rcv1":
        return 40.0
    rows = data.SETS[unit.set].train
    if isinstance(unit.what, str):
        return {"lasso": 0.5, "l1-logistic": 0.7, "vw": 2.0, "ftrl": 1.5}[unit.what] * (
            1 + rows / 2000
        )
    if unit.part == "sparsified":
        return float(2 + 2 * np.sqrt(rows / 500))
    return float(0.5 + np.sqrt(rows / 1000))


def measure(unit: Unit, plan: Plan) -> list[dict[str, Any]]:
    """What the piece of work comes to."""
    if unit.part == "sets":
        return _facts(unit)
    if unit.part == "curves":
        return curves.curve(unit.set, unit.seed, unit.what, plan.curve_folds, plan.strengths)
    rows = data.RCV1_ROWS[0] if unit.set == "rcv1" else data.SETS[unit.set].train
    random, family = unit.what
    return sparsified(unit.set, unit.seed, random, family, plan.folds[rows >= FEW])


def timed(unit: Unit, plan: Plan) -> dict[str, Any]:
    """The same, and the processor seconds it took."""
    begin = time.process_time()
    found = measure(unit, plan)
    return {"found": found, "seconds": time.process_time() - begin}


def _facts(unit: Unit) -> list[dict[str, Any]]:
    """What table 1 says of a set."""
    found = data.rcv1(0) if unit.set == "rcv1" else data.split(unit.set, 0)
    regression = unit.set != "rcv1" and data.SETS[unit.set].task == "regression"
    labels = np.concatenate([found.train.label, found.test.label])
    return [
        {
            "set": unit.set,
            "task": "regression" if regression else "classification",
            "features": found.features,
            "train": found.train.n_examples,
            "test": found.test.n_examples,
            "positive": None if regression else int((labels > 0).sum()),
            "source": found.source,
        }
    ]
