"""The measurements of section 6, cut into pieces that can be made on their own, in any order.

Nothing here looks at test data to decide anything: settings are chosen by cross-validation on the
training part, and the models they give are then tested.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from dwindle.algorithm.losses import Logistic, Squared
from dwindle.algorithm.settings import LearnerSettings
from dwindle.engine.learner import Learner
from dwindle.features.batch import Batch
from dwindle.model.model import Model
from dwindle.runs.metrics import accuracy, auc
from dwindle.runs.tune.grid import PASSES, Grid, Setting, completed
from dwindle.runs.tune.scores import Score
from dwindle.runs.tune.search import Search, trained
from experiments import data, peers
from experiments.measures import Line

RANDOM = 1000
AS_IN_THE_PAPER = LearnerSettings(standardize=False)  # which matters for housing and zoo
MARGINS = {"ad": (0.01, 0.013)}  # of accuracy; 1 % for all others
ONE = (0.01,)
STRONGEST = 5.0  # gravity of a curve, in those of the search
MOST = 65_000  # examples in all passes of a run
PRECISE, FINER = ("ad", "spambase"), 2  # where the paper counts features: more strengths
DECADES = 3.5  # from the strongest to the weakest


class Plan(NamedTuple):
    """How much is measured."""

    seeds: tuple[int, ...]
    sets: tuple[str, ...]
    folds: int  # for figures 1 and 2
    grid: Grid  # likewise
    curve_folds: int
    curve_grid: Grid
    strengths: int  # of a curve
    lines: tuple[Line, ...]
    peers: tuple[str, ...]
    rcv1: bool


def setting_of(
    line: Line, rest: int, strength: float, rate: float, decay: float, passes: int
) -> Setting:
    """How a line of the figures learns with so much gravity or, rounding, so high a threshold."""
    every = line.truncate_every or 1
    setting = Setting(
        learning_rate=rate,
        pass_decay=decay,
        truncate_every=every,
        update="adaptive" if line.method == "adaptive" else "plain",
        passes=passes,
        cooldown=rest,
    )
    if line.method == "rounding":
        return setting._replace(shrinkage="rounding", threshold=strength)
    shrinkage = "subgradient" if line.method == "subgradient" else "truncation"
    threshold = strength if isinstance(line.threshold, str) else line.threshold
    return setting._replace(gravity=strength, threshold=threshold, shrinkage=shrinkage)


KS = tuple(Line(method, k) for method in ("truncation", "rounding") for k in (1, 10, 20))
THETAS = tuple(Line("truncation", 10, theta) for theta in ("g", 0.1, 1.0))
OTHERS = (Line("subgradient", 10), Line("adaptive", 10), Line("rested", 10))
PEERS = ("lasso", "l1-logistic", "vw", "ftrl")

FULL = Plan(
    seeds=(0, 1, 2, 3, 4),
    sets=tuple(data.SETS),
    folds=10,
    grid=Grid(update=("plain",)),
    curve_folds=3,
    curve_grid=Grid(update=("plain",), pass_decay=(0.8,)),
    strengths=12,
    lines=(*KS, *THETAS, *OTHERS),
    peers=PEERS,
    rcv1=True,
)
QUICK = Plan(
    seeds=(0,),
    sets=("housing", "wbc", "wdbc"),
    folds=4,
    grid=Grid(update=("plain",), pass_decay=(0.8,), passes=(3, 10)),
    curve_folds=2,
    curve_grid=Grid(update=("plain",), pass_decay=(0.8,), passes=(3, 10)),
    strengths=6,
    lines=(*KS, *THETAS[:1], *OTHERS),
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
    """All of them, the longest first, so that no core is left with one at the end."""
    classes = [name for name in plan.sets if name in data.CLASSIFICATION]
    made = [
        *(Unit("sets", name, 0) for name in plan.sets),
        *(
            Unit("sparsified", name, seed, random)
            for name in plan.sets
            for seed in plan.seeds
            for random in (0, RANDOM)
        ),
        *(
            Unit("curves", name, seed, list(line))
            for name in classes
            for seed in plan.seeds
            for line in plan.lines
        ),
        *(
            Unit("curves", name, seed, peer)
            for name in classes
            for seed in plan.seeds
            for peer in plan.peers
        ),
    ]
    if plan.rcv1:
        made.append(Unit("sets", "rcv1", 0))
        made += (
            Unit("rcv1", "rcv1", seed, update)
            for seed in plan.seeds
            for update in ("plain", "adaptive")
        )
    return sorted(made, key=cost, reverse=True)


def cost(unit: Unit) -> float:
    """About how many seconds it takes, on one core."""
    if unit.part == "sets":
        return 0.5
    if unit.part == "rcv1":
        return 60.0
    rows = data.SETS[unit.set].train
    if isinstance(unit.what, str):
        return {"lasso": 1.0, "l1-logistic": 1.5, "vw": 4.0, "ftrl": 3.0}[unit.what] * (
            1 + rows / 2000
        )
    visits = rows * passes_on(rows)[-1] / 1000
    if unit.part == "sparsified":
        return visits * (0.7 if unit.what else 0.4) + 3
    return visits * 0.2 + 1


def passes_on(rows: int) -> tuple[int, ...]:
    """How often to go over so many examples: the whole run should fit into an hour."""
    return tuple(passes for passes in PASSES if passes * rows <= MOST)


def measure(unit: Unit, plan: Plan) -> list[dict[str, Any]]:
    """What the piece of work comes to."""
    part = {"sets": _facts, "sparsified": _sparsified, "curves": _curve, "rcv1": _rcv1}[unit.part]
    return part(unit, plan)


def timed(unit: Unit, plan: Plan) -> dict[str, Any]:
    """The same, and the processor seconds it took."""
    begin = time.process_time()
    found = measure(unit, plan)
    return {"found": found, "seconds": time.process_time() - begin}


def _facts(unit: Unit, _plan: Plan) -> list[dict[str, Any]]:
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


def _sparsified(unit: Unit, plan: Plan) -> list[dict[str, Any]]:
    """The sparsest settings within a margin of the best without gravity: figures 1 and 2."""
    split = data.split(unit.set, unit.seed, unit.what)
    loss = Squared() if data.SETS[unit.set].task == "regression" else Logistic()
    metric = "loss" if isinstance(loss, Squared) else "accuracy"
    search = Search(loss, plan.grid, metric, plan.folds, 0.01, fixed=AS_IN_THE_PAPER)
    settings = _completed(search.grid, split.train, loss).settings()
    scores = search.scores([split.train], settings)
    about = {"set": unit.set, "random": unit.what, "seed": unit.seed, "features": split.features}
    return [
        about | _chosen(replace(search, tolerance=margin), scores, split)
        for margin in MARGINS.get(unit.set, ONE)
    ]


def _rcv1(unit: Unit, _plan: Plan) -> list[dict[str, Any]]:
    """The same for rcv1, in one pass and in several."""
    split = data.rcv1(unit.seed)
    grid = Grid(update=(unit.what,), passes=(1, 3), pass_decay=(0.5,))
    search = Search(Logistic(), grid, "accuracy", 5, 0.01)
    settings = completed(search.grid, [split.train], search.loss).settings()
    scores = search.scores([split.train], settings)
    about = {"seed": unit.seed, "update": unit.what, "features": split.features}
    once = [score for score in scores if score.setting.passes == 1]
    return [
        about | {"passes": passes} | _chosen(search, some, split)
        for passes, some in (("one", once), ("several", scores))
    ]


def _chosen(search: Search, scores: list[Score], split: data.Split) -> dict[str, Any]:
    """The best without gravity and the sparsest as good, with and without a rest at the end."""
    found = search.choose(scores)
    unrested = search.choose([score for score in scores if score.setting.cooldown <= 1])
    chosen = {"dense": found.dense, "sparse": found.chosen, "unrested": unrested.chosen}
    metric = "accuracy" if found.metric == "accuracy" else "squared loss"
    tested = {name: _tested(search, score, split) for name, score in chosen.items()}
    return {"tolerance": search.tolerance, "metric": metric} | tested


def _tested(search: Search, score: Score, split: data.Split) -> dict[str, Any]:
    """A setting, what cross-validation says of it, and its model on the test part."""
    learner = trained([split.train], score.setting, search.loss, search.fixed)
    p, label = learner.predict(split.test), split.test.label
    ranks = isinstance(search.loss, Logistic)
    assert label is not None
    return {
        "setting": score.setting._asdict(),
        "cv": score.accuracy if ranks else score.loss,
        "kept_cv": score.kept,
        "test": accuracy(p, label) if ranks else float(np.square(p - label).mean()),
        "test_auc": auc(p, label) if ranks else None,
        "kept": len(learner),
    }


def _curve(unit: Unit, plan: Plan) -> list[dict[str, Any]]:
    """AUC on the test part against features kept: a line of figures 3 to 7, on one set."""
    split = data.split(unit.set, unit.seed, RANDOM)
    if isinstance(unit.what, str):
        line, points = Line(unit.what), _peer(unit, plan, split)
        every = threshold = None
    else:
        line = Line(*unit.what)
        every, threshold = line.truncate_every, line.threshold
        points = list(_points(unit.set, line, plan, split))
    return [
        {
            "set": unit.set,
            "seed": unit.seed,
            "method": line.method,
            "truncate_every": every,
            "threshold": threshold,
            "points": points,
        }
    ]


def _points(name: str, line: Line, plan: Plan, split: data.Split) -> Iterator[dict[str, float]]:
    """For each strength, the best rate and passes by cross-validation, then the test."""
    loss = Logistic()
    search = Search(loss, metric="auc", folds=plan.curve_folds)
    update = "adaptive" if line.method == "adaptive" else "plain"
    grid = _completed(plan.curve_grid._replace(update=(update,)), split.train, loss)
    ways = list(itertools.product(*_known(grid)))
    fine = name in PRECISE and (line in KS or line.method == "rested")
    n = plan.strengths * (FINER if fine else 1)
    strengths = _strengths(line, split.train, grid, n)
    rest = split.train.n_examples if line.method == "rested" else line.truncate_every or 1
    by_strength = {each: [setting_of(line, rest, each, *way) for way in ways] for each in strengths}
    scores = search.scores([split.train], itertools.chain(*by_strength.values()))
    known = {score.setting: score for score in scores}
    label = split.test.label
    assert label is not None
    for strength, settings in by_strength.items():
        best = max(settings, key=lambda setting: known[setting].auc)
        learner = trained([split.train], best, loss)
        kept, p = _finished(learner, best, split.test)
        if kept:
            yield {"strength": strength, "kept": kept, "auc": auc(p, label)}


def _strengths(line: Line, train: Batch, grid: Grid, n: int) -> list[float]:
    """From one that leaves next to nothing to one that leaves next to everything."""
    if line.method == "rounding":
        rates, decays, passes = _known(grid)
        setting = Setting(rates[-2], decays[0], update="plain", passes=passes[-1])
        _, weight = trained([train], setting, Logistic()).table.weights()
        top = float(np.abs(weight).max())
    else:
        assert grid.gravity is not None
        top = STRONGEST * max(grid.gravity)
    return [float(f"{top * 10**-k:.3g}") for k in np.linspace(0, DECADES, n)]


def _completed(grid: Grid, train: Batch, loss: Any) -> Grid:
    """As `completed`, with passes that fit."""
    passes = grid.passes or passes_on(train.n_examples)
    return completed(grid._replace(passes=passes), [train], loss, AS_IN_THE_PAPER)


def _known(grid: Grid) -> tuple[tuple[float, ...], tuple[float, ...], tuple[int, ...]]:
    """Rates, pass decays and passes of a grid that is completed."""
    assert grid.learning_rate is not None
    assert grid.pass_decay is not None
    assert grid.passes is not None
    return grid.learning_rate, grid.pass_decay, grid.passes


def _finished(learner: Learner, setting: Setting, test: Batch) -> tuple[int, Any]:
    """Features kept and predictions; sub-gradient's weights are rounded at the end.

    They swing around zero by one pull of the last pass, eta K g, and are never zero by themselves.
    """
    if setting.shrinkage != "subgradient":
        return len(learner), learner.predict(test)
    assert setting.learning_rate is not None
    pull = (
        setting.learning_rate
        * (setting.pass_decay or 1.0) ** (setting.passes - 1)
        * setting.truncate_every
        * setting.gravity
    )
    _, weight = learner.table.weights()
    n = int((np.abs(weight) > pull).sum())
    return n, Model.of(learner, keep=n).predict(test)


def _peer(unit: Unit, plan: Plan, split: data.Split) -> list[dict[str, float]]:
    """The path of another program."""
    parts: list[Any] = []
    for batch in (split.train, split.test):
        n = len(split.names)
        x = csr_array(
            (batch.x.astype(np.float64), batch.key.astype(np.int32), batch.start.astype(np.int32)),
            shape=(batch.n_examples, n),
        )
        parts += [x, np.asarray(batch.label, np.float64)]
    folds, seed = plan.curve_folds, unit.seed
    paths: dict[str, Callable[[], list[peers.Point]]] = {
        "lasso": lambda: peers.lasso(*parts),
        "l1-logistic": lambda: peers.l1_logistic(*parts),
        "vw": lambda: peers.vw(*parts, folds=folds, seed=seed),
        "ftrl": lambda: peers.ftrl(*parts, folds=folds, seed=seed),
    }
    return [point._asdict() for point in paths[unit.what]()]
