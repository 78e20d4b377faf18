"""Figures 1 and 2: the sparsest models that are about as good as the best without gravity.

Nothing here looks at test data to decide anything: settings are chosen by cross-validation on the
training part, by climbing (`climbing`), and the models they give are then tested.

The models:

dense       the best without gravity
alone       Algorithm 1 with K = 1 and nothing else
section5    the same with section 5's order: what is owed is pulled after the step
cooldown    Algorithm 1, then as many pulls without examples as there are examples
soft, hard  the control: no gravity while learning, one threshold at the end, which pulls what is
            beyond it by as much, or leaves it as it is

A model without features is never chosen, though one is good enough where most labels are alike.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from dwindle.algorithm.losses import Logistic, Squared
from dwindle.algorithm.shrinkage import LateTruncation, Truncation
from dwindle.runs.build import make_learner
from dwindle.runs.metrics import accuracy, auc
from dwindle.runs.settings import RunSettings
from experiments import data
from experiments.climbing import Ladder, Place, climb
from experiments.runs import (
    Family,
    Floats,
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

DENSE, ALONE, SECTION5, COOLDOWN, SOFT, HARD = MODELS = (
    "dense",
    "alone",
    "section5",
    "cooldown",
    "soft",
    "hard",
)
CONTROLS = (SOFT, HARD)
AUTO = "auto"  # `dwindle train` without options: nothing is searched
MARGINS = {("ad", 1000): (0.01, 0.013)}  # of accuracy; 1 % for all others
ONE = (0.01,)
DECAYS = Ladder(listed=(0.3, 0.5, 0.8, 1.0))
RATE_FACTOR, GRAVITY_FACTOR = 4.0, 2.0
CUTS = (0.0, *np.geomspace(0.02, 0.95, 20).tolist())  # thresholds, in the largest weight
ALIKE = 1.03  # numbers of features nearer than by this factor are alike
MOST_DENSE, MOST_SPARSE = 40, 120  # places
REACH = 5  # rates to begin with, from the best without gravity and 1 / mean |x|^2 on
AGAIN = 40  # models that may turn out to be empty


class Reading(NamedTuple):
    """What cross-validation says of a model."""

    model: str
    passes: int
    cut: float  # the threshold of a control, in the largest weight
    score: float  # accuracy, or minus the squared loss
    kept: float  # features, the mean over the folds
    least: int  # features in the fold that has the fewest


class Chosen(NamedTuple):
    """A setting."""

    place: Place  # (rate, decay) or (rate, decay, gravity)
    reading: Reading


Known = dict[Place, list[Reading]]


class Searching:
    """The search on one set: it holds what is known."""

    def __init__(self, rows: Rows, kind: Family, n_folds: int) -> None:
        self.rows, self.kind = rows, kind
        self.folds: list[Fold] = folds(rows, n_folds)
        self.passes = rows.passes()
        self.rates = Ladder(rows.stable_rate(kind), RATE_FACTOR)
        self.gravities = Ladder(rows.steepest(kind), GRAVITY_FACTOR)
        self.known: dict[str, Known] = {}

    def how(self, order: str, place: Place) -> How:
        """The run of a place."""
        gravity = self.gravities.value(place[2]) if len(place) > 2 else 0.0
        shrinkage = LateTruncation(gravity) if order == SECTION5 else Truncation(gravity)
        return How(shrinkage, self.rates.value(place[0]), DECAYS.value(place[1]))

    def dense(self, margins: tuple[float, ...]) -> float:
        """Look for the best without gravity, and for both controls; returns its score."""
        starts = [(rate, 1) for rate in (-1, 0, 1)]

        def picks(known: Known, inside: Callable[[Place], bool]) -> Iterator[Place]:
            best = self._best(known, inside)
            yield best.place
            for margin, model in product(margins, CONTROLS):
                bound = lower(best.reading.score, margin)
                yield from (one.place for one in self._sparsest(known, model, bound, inside)[:1])

        self.known[DENSE] = climb(
            (self.rates, DECAYS),
            starts,
            lambda place: self._measured(DENSE, place),
            picks,
            MOST_DENSE,
        ).known
        return self._best(self.known[DENSE]).reading.score

    def sparse(self, order: str, best: float, margins: tuple[float, ...]) -> None:
        """Look for the sparsest that are about as good, in this order of pull and step."""
        models = (SECTION5,) if order == SECTION5 else (ALONE, COOLDOWN)
        start = self._best(self.known[DENSE]).place[0]
        rates = range(start, max(start, 0) + REACH)
        starts = list(product(rates, (1, 2), (-7, -5, -3, -1)))

        def picks(known: Known, inside: Callable[[Place], bool]) -> Iterator[Place]:
            for margin, model in product(margins, models):
                found = self._sparsest(known, model, lower(best, margin), inside)
                yield from _two_rates(found)
                if not found:  # none is good enough: weaker gravities may be
                    yield min(known, key=lambda place: place[2])

        self.known[order] = climb(
            (self.rates, DECAYS, self.gravities),
            starts,
            lambda place: self._measured(order, place),
            picks,
            MOST_SPARSE,
        ).known

    def _measured(self, order: str, place: Place) -> list[Reading]:
        """All readings of a run: after each number of passes, in each way to end."""
        found: dict[tuple[str, int, float], list[tuple[float, int]]] = {}
        for fold in self.folds:
            for learner, passes in zip(
                learned(self.kind, self.how(order, place), fold.train, self.passes), self.passes,
                strict=False,
            ):  # fmt: skip
                weights, names = self._ends(order, learner, fold)
                scores = fold.held.scores(self.kind, weights)
                for (model, cut), score, kept in zip(names, scores, weights.kept, strict=True):
                    found.setdefault((model, passes, cut), []).append((float(score), int(kept)))
        readings = []
        for (model, passes, cut), each in found.items():
            score, kept = (np.array(values) for values in zip(*each, strict=True))
            if len(each) == len(self.folds) and np.isfinite(score).all():
                about = float(score.mean()), float(kept.mean()), int(kept.min())
                readings.append(Reading(model, passes, cut, *about))
        return readings

    def _ends(
        self, order: str, learner: Any, fold: Fold
    ) -> tuple[Weights, list[tuple[str, float]]]:
        """The models that a run ends with, and their names."""
        weights = Weights.of(learner, fold.train.features)
        if order == DENSE:
            by = [cut * weights.largest for cut in CUTS]
            both = weights.beside(weights.shrunk(by, soft=True)).beside(
                weights.shrunk(by, soft=False)
            )
            return both, [(DENSE, 0.0), *product(CONTROLS, CUTS)]
        if order == SECTION5:
            return weights, [(SECTION5, 0.0)]
        found = []
        for steps in (1, fold.train.batch.n_examples):  # before it predicts, Algorithm 1 pulls
            with learner.after_cooldown(steps) as cooled:
                found.append(Weights.of(cooled, fold.train.features))
        return found[0].beside(found[1]), [(ALONE, 0.0), (COOLDOWN, 0.0)]

    def _best(self, known: Known, inside: Callable[[Place], bool] = lambda _: True) -> Chosen:
        """The best without gravity."""
        all_of = [
            Chosen(place, reading)
            for place, readings in known.items()
            for reading in readings
            if reading.model == DENSE
        ]
        return max(all_of, key=lambda one: (one.reading.score, inside(one.place)))

    def _sparsest(
        self,
        known: Known,
        model: str,
        bound: float,
        inside: Callable[[Place], bool] = lambda _: True,
    ) -> list[Chosen]:
        """Those that are good enough, from the sparsest on; of some alike, what is inside first."""
        good = [
            Chosen(place, reading)
            for place, readings in known.items()
            for reading in readings
            if reading.model == model and reading.score >= bound and reading.least > 0
        ]
        good.sort(key=lambda one: (one.reading.kept, -one.reading.score))
        alike = [one for one in good if one.reading.kept <= ALIKE * good[0].reading.kept]
        first = [one for one in alike if inside(one.place)]
        return [*first, *(one for one in good if one not in first)]

    def chosen(self, model: str, bound: float) -> list[Chosen]:
        """The settings of a model, the one to be taken first."""
        if model == DENSE:
            return [self._best(self.known[DENSE], self._inside(DENSE))]
        order = order_of(model)
        return self._sparsest(self.known[order], model, bound, self._inside(order))

    def _inside(self, order: str) -> Callable[[Place], bool]:
        known = self.known[order]

        def inside(place: Place) -> bool:
            return all(
                min(each[axis] for each in known) < place[axis] < max(each[axis] for each in known)
                for axis in (0, 2)[: len(place) - 1]
            )

        return inside

    def tested(self, model: str, options: list[Chosen], test: Rows) -> dict[str, Any] | None:
        """The first of the settings whose model of the whole training part is not empty."""
        last = None
        for one in options[:AGAIN]:
            last = self._tested(model, one, test)
            if last["kept"] > 0:
                break
        return last

    def _tested(self, model: str, one: Chosen, test: Rows) -> dict[str, Any]:
        order, rows = order_of(model), self.rows
        how = self.how(order, one.place)
        learner, live = watched(self.kind, how, rows, one.reading.passes)
        if order == ALONE:
            learner.cooldown(1 if model == ALONE else rows.batch.n_examples)
        weights = Weights.of(learner, rows.features)
        if model in CONTROLS:
            weights = weights.shrunk([one.reading.cut * weights.largest], soft=model == SOFT)
        score = float(test.scores(self.kind, weights)[0])
        return {
            "setting": self._setting(model, one, how),
            "tried": self._tried(order, one.place),
            "cv": abs(one.reading.score),
            "kept_cv": one.reading.kept,
            "test": abs(score),
            "test_auc": test.auc(self.kind, weights) if self.kind.ranks else None,
            "kept": int(weights.kept[0]),
            "live": live,
        }

    def _setting(self, model: str, one: Chosen, how: How) -> dict[str, float]:
        setting = {
            "learning_rate": how.learning_rate,
            "pass_decay": how.pass_decay,
            "passes": one.reading.passes,
            "gravity": how.shrinkage.gravity,
        }
        if model in CONTROLS:
            setting["threshold"] = one.reading.cut
        if model == COOLDOWN:
            setting["last_pull"] = (
                last_rate(how, one.reading.passes)
                * how.shrinkage.gravity
                * self.rows.batch.n_examples
            )
        return setting

    def _tried(self, order: str, place: Place) -> dict[str, list[float]]:
        """The least and the most that was tried of what has no end of its own."""
        known = self.known[order]
        axes = {"learning_rate": (0, self.rates), "gravity": (2, self.gravities)}
        return {
            name: [ladder.value(end(each[axis] for each in known)) for end in (min, max)]
            for name, (axis, ladder) in axes.items()
            if axis < len(place)
        }


def order_of(model: str) -> str:
    """Which search a model comes from."""
    return {ALONE: ALONE, COOLDOWN: ALONE, SECTION5: SECTION5}.get(model, DENSE)


def lower(score: float, margin: float) -> float:
    """The least that is about as good: a share of the accuracy, or of the squared loss."""
    return score - margin * abs(score)


def _two_rates(found: list[Chosen]) -> Iterator[Place]:
    """The first place, and the first with another rate, lest the climb stay at a foothill."""
    if found:
        yield found[0].place
        others = (one.place for one in found if one.place[0] != found[0].place[0])
        yield from list(others)[:1]


def sparsified(name: str, seed: int, random: int, family_name: str, n_folds: int) -> list[Any]:
    """The results on a set, for each margin."""
    split = data.rcv1(seed) if name == "rcv1" else data.split(name, seed, random)
    regression = name != "rcv1" and data.SETS[name].task == "regression"
    kind, d = family(family_name, regression=regression), len(split.names)
    train, test = Rows(split.train, d), Rows(split.test, d)
    margins = MARGINS.get((name, random), ONE)
    search = Searching(train, kind, n_folds)
    best = search.dense(margins)
    for order in (ALONE, SECTION5):
        search.sparse(order, best, margins)
    found = []
    for margin in margins:
        bound = lower(best, margin)
        models = {
            model: search.tested(model, search.chosen(model, bound), test) for model in MODELS
        }
        if family_name == "logistic" and margin == ONE[0]:
            models[AUTO] = automatic(train, test, regression=regression)
        found.append(
            {
                "set": name,
                "random": random,
                "seed": seed,
                "family": family_name,
                "features": split.features,
                "tolerance": margin,
                "metric": "squared loss" if regression else "accuracy",
                "models": models,
            }
        )
    return found


def automatic(train: Rows, test: Rows, *, regression: bool) -> dict[str, Any]:
    """What `dwindle train` makes of a set without being told anything."""
    loss = Squared() if regression else Logistic()
    learner = make_learner(RunSettings(gravity="auto"), loss)
    learner.learn(train.batch)
    p: Floats = learner.predict(test.batch)
    score = float(np.square(p - test.label).mean()) if regression else accuracy(p, test.label)
    return {
        "setting": {"passes": 1},
        "test": score,
        "test_auc": None if regression else auc(p, test.label),
        "kept": len(learner),
    }
