"""Figures 3 to 7: AUC on the test part against features kept, from strong pulls to weak ones.

For each strength, rate and passes are those with the best AUC in cross-validation on the training
part; rates go on up or down until the best has a worse one on both sides.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dwindle.algorithm.adaptive import Adaptive
from dwindle.algorithm.shrinkage import (
    LateRounding,
    LateTruncation,
    Rounding,
    Subgradient,
    Truncation,
)
from dwindle.algorithm.updates import Plain
from experiments import data, peers
from experiments.climbing import Ladder, Place, climb
from experiments.measures import Line
from experiments.runs import (
    Family,
    Fold,
    How,
    Rows,
    Weights,
    family,
    folds,
    last_rate,
    learned,
    watched,
)

RANDOM = 1000
STRONGEST = 4.0  # gravity, in the one that lets no weight leave zero
DECADES = 3.5  # from the strongest to the weakest
DECAY = 0.8  # of the learning rate, by each pass
RATES = {"plain": 4.0, "adaptive": 3.0}  # from one learning rate to the next
OWN_RATE = 2.0  # of an update whose features have units, to begin with
MOST = 12  # rates
CUTS = (0.9, 0.003)  # thresholds of the control, in the largest weight
EXAMPLES = 25_000  # in all passes of a run

KS = tuple(Line(method, k) for method in ("truncation", "rounding") for k in (1, 10, 20))
LATE = tuple(Line(method, k) for method in ("section5", "rounding5") for k in (1, 10, 20))
THETAS = tuple(Line("truncation", 10, theta) for theta in ("g", 0.1, 1.0))
OTHERS = (
    Line("subgradient", 10),
    Line("rested", 10),
    Line("adaptive", 10),
    Line("adaptive-rested", 10),
    Line("soft"),
)
PEERS = ("lasso", "l1-logistic", "vw", "ftrl")
COUNTED = ("ad", "spambase")  # where the paper counts features: finer, and with section 5's order
FINER = 2


class Drawn(NamedTuple):
    """A line on one set: what is learned, from what, and how it is judged."""

    line: Line
    kind: Family
    train: Rows
    test: Rows
    folds: list[Fold]

    @property
    def passes(self) -> tuple[int, ...]:
        """As many as there is patience for."""
        n = self.train.batch.n_examples
        return tuple(p for p in self.train.passes() if p == 1 or p * n <= EXAMPLES)

    @property
    def adapts(self) -> bool:
        """Whether features have rates of their own."""
        return self.line.method.startswith("adaptive")

    def how(self, strength: float, rate: float) -> How:
        """The run of a strength and a rate."""
        update = Adaptive() if self.adapts else Plain()
        return How(shrinkage_of(self.line, strength), rate, DECAY, update)


def shrinkage_of(line: Line, strength: float) -> Any:
    """How a line pulls, with so much gravity or, rounding, so high a threshold."""
    every = line.truncate_every or 1
    if line.method == "soft":  # the control: one threshold at the end, see `ended`
        return Truncation()
    if line.method.startswith("rounding"):
        kind = LateRounding if line.method == "rounding5" else Rounding
        return kind(threshold=strength, truncate_every=every)
    if line.method == "subgradient":
        return Subgradient(gravity=strength, truncate_every=every)
    if line.method == "section5":
        return LateTruncation(strength, truncate_every=every)
    threshold = strength if isinstance(line.threshold, str) else line.threshold
    return Truncation(strength, float("inf") if threshold is None else threshold, every)


def drawn(name: str, seed: int, line: Line, n_folds: int) -> Drawn:
    """A line on a set with random features."""
    split = data.split(name, seed, RANDOM)
    d = len(split.names)
    kind = family("logistic" if line.method.startswith("adaptive") else "paper", regression=False)
    train = Rows(split.train, d)
    return Drawn(line, kind, train, Rows(split.test, d), folds(train, n_folds))


def points(what: Drawn, strengths: int) -> list[dict[str, Any]]:
    """A model for each strength that keeps anything."""
    ladder = rates_of(what)
    found: list[dict[str, Any]] = []
    at = 0  # the best rate of the strength before is where the next begins
    for strength in strengths_of(what, strengths):

        def measure(place: Place, strength: float = strength) -> dict[int, float]:
            return judged(what, strength, ladder.value(place[0]))

        by_rate = climb((ladder,), [(at - 1,), (at,), (at + 1,)], measure, picks, MOST)
        (best,) = by_rate.picked[0]
        at = best
        passes, score = max(by_rate.known[best,].items(), key=lambda each: each[1])
        how = what.how(strength, ladder.value(best))
        model, live = finished(what, strength, how, passes)
        if model.kept[0]:
            steps = [step for (step,) in by_rate.known]
            found.append(
                {
                    "strength": strength,
                    "learning_rate": how.learning_rate,
                    "tried": [ladder.value(min(steps)), ladder.value(max(steps))],
                    "passes": passes,
                    "cv": score,
                    "kept": int(model.kept[0]),
                    "auc": what.test.auc(what.kind, model),
                    "peak": max(live),
                    "mean": float(np.mean(live)),
                }
            )
    return found


def picks(known: dict[Place, dict[int, float]], inside: Callable[[Place], bool]) -> Iterator[Place]:
    """The rate with the best AUC; of equals to three digits, one that has others on both sides."""
    best = {place: max(by_passes.values(), default=0.0) for place, by_passes in known.items()}
    yield max(known, key=lambda place: (round(best[place], 3), inside(place), best[place]))


def judged(what: Drawn, strength: float, rate: float) -> dict[int, float]:
    """The AUC after each number of passes, the mean over the folds; none where a fold diverges."""
    how = what.how(strength, rate)
    found: dict[int, list[float]] = {}
    for fold in what.folds:
        made = learned(what.kind, how, fold.train, what.passes)
        for learner, passes in zip(made, what.passes, strict=False):
            weights = ended(what.line, strength, how, passes, learner, fold.train)
            found.setdefault(passes, []).append(fold.held.auc(what.kind, weights))
    return {
        passes: float(np.mean(each))
        for passes, each in found.items()
        if len(each) == len(what.folds)
    }


def finished(what: Drawn, strength: float, how: How, passes: int) -> tuple[Weights, list[int]]:
    """The model of the whole training part, and how many features lived while it learned."""
    learner, live = watched(what.kind, how, what.train, passes)
    return ended(what.line, strength, how, passes, learner, what.train), live


def ended(line: Line, strength: float, how: How, passes: int, learner: Any, rows: Rows) -> Weights:
    """The weights of a line at its end.

    Those of the sub-gradient method swing around zero by one pull, eta K g, and are never zero by
    themselves: they are rounded by the pull of the last step. The control has its only pull here.
    """
    every = line.truncate_every or 1
    if line.method == "soft":
        weights = Weights.of(learner, rows.features)
        return weights.shrunk([strength * weights.largest], soft=True)
    if line.method == "subgradient":
        weights = Weights.of(learner, rows.features)
        pull = last_rate(how, passes) * every * how.shrinkage.gravity
        return weights.shrunk([pull], soft=False)
    if line.method in {"section5", "rounding5"}:
        return Weights.of(learner, rows.features)
    rests = line.method.endswith("rested")
    with learner.after_cooldown(rows.batch.n_examples if rests else every) as cooled:
        return Weights.of(cooled, rows.features)


def rates_of(what: Drawn) -> Ladder:
    """The rates of a line."""
    if what.adapts:
        return Ladder(OWN_RATE, RATES["adaptive"])
    return Ladder(what.train.stable_rate(what.kind), RATES["plain"])


def strengths_of(what: Drawn, n: int) -> list[float]:
    """From one that leaves next to nothing to one that leaves next to everything."""
    if what.line.method == "soft":
        return [float(f"{cut:.3g}") for cut in np.geomspace(*CUTS, n)]
    if what.line.method.startswith("rounding"):
        ladder = rates_of(what)
        how = How(Truncation(), ladder.value(1), DECAY)
        *_, learner = learned(what.kind, how, what.train, what.passes)
        top = Weights.of(learner, what.train.features).largest
    elif what.adapts:
        top = STRONGEST * what.train.steepest(what.kind) / np.sqrt(what.train.x.shape[1])
    else:
        top = STRONGEST * what.train.steepest(what.kind)
    return [float(f"{top * 10**-k:.3g}") for k in np.linspace(0, DECADES, n)]


def curve(name: str, seed: int, asked: Any, n_folds: int, strengths: int) -> list[dict[str, Any]]:
    """The points of a line, or of another program, on one set."""
    about = {"set": name, "seed": seed}
    if isinstance(asked, str):
        nothing = {"truncate_every": None, "threshold": None}
        return [about | {"method": asked} | nothing | {"points": _peer(name, seed, asked, n_folds)}]
    line = Line(*asked)
    fine = name in COUNTED and line in (*KS, *LATE, Line("rested", 10))
    made = points(drawn(name, seed, line, n_folds), strengths * (FINER if fine else 1))
    how = {"method": line.method, "truncate_every": line.truncate_every}
    return [about | how | {"threshold": line.threshold, "points": made}]


def _peer(name: str, seed: int, peer: str, n_folds: int) -> list[dict[str, float]]:
    """The path of another program."""
    split = data.split(name, seed, RANDOM)
    parts: list[Any] = []
    for batch in (split.train, split.test):
        rows = Rows(batch, len(split.names))
        parts += [rows.x, rows.label]
    paths: dict[str, Callable[[], Sequence[peers.Point]]] = {
        "lasso": lambda: peers.lasso(*parts),
        "l1-logistic": lambda: peers.l1_logistic(*parts),
        "vw": lambda: peers.vw(*parts, folds=n_folds, seed=seed),
        "ftrl": lambda: peers.ftrl(*parts, folds=n_folds, seed=seed),
    }
    return [point._asdict() for point in paths[peer]()]
