"""The settings that a search tries, and what it tries by itself for data it has looked at."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from dwindle._base.errors import SettingError
from dwindle.algorithm.adaptive import Adaptive, Centred
from dwindle.algorithm.dual_averaging import FTRL
from dwindle.algorithm.settings import SHRINKAGES, UPDATES, LearnerSettings, options_of
from dwindle.algorithm.shrinkage import Truncation
from dwindle.algorithm.updates import Plain
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest, against_rest
from dwindle.features.batch import Batch
from dwindle.runs.build import make_learner, make_learners
from dwindle.runs.progress import LabelCounts
from dwindle.runs.settings import RunSettings

RATES = dict.fromkeys(UPDATES, (1 / 16, 1 / 4, 1.0, 4.0))  # in 1 / mean |x|^2
RATES["auto"] = RATES["adaptive"] = RATES["centred"] = (0.2, 0.6, 2.0, 6.0)
RATES["ftrl"] = RATES["rda"] = (0.25, 0.8, 2.5, 8.0)
DECAYS = (0.5, 0.8)
AVERAGING = frozenset({"averaged", "ftrl", "rda"})  # updates whose learning rates do not decay
PASSES = (1, 3, 10, 30)
MOST = 300_000  # examples in all passes of a run, unless it is one pass
ALL_DECAYS = (0.1, 0.2, 0.35, *DECAYS, 0.9, 1.0)
ALL_PASSES = (*PASSES, 100, 300, 1000)
STEPS = 9  # gravities, a third of a decade apart, below the one that lets no weight live
TINY = 1e-150  # a rate at which no prediction changes, but the slopes are added up
STEADY = 2.0**40  # a beta, in units of the labels, beside which no slopes change a rate


class Setting(NamedTuple):
    """The settings that a search varies; the others are those of `TuneSettings.fixed`."""

    learning_rate: float | None = None
    pass_decay: float | None = None
    gravity: float = 0.0
    truncate_every: int = 1
    threshold: float | None = None
    update: str = "adaptive"
    shrinkage: str = "truncation"
    passes: int = 1
    cooldown: int = 0

    @property
    def shrinks(self) -> bool:
        """Whether weights are pulled to zero at all."""
        return self.shrinkage == "rounding" or (self.gravity > 0 and self.shrinkage != "none")

    @property
    def is_whole(self) -> bool:
        """Whether the shrinkage has what it needs: rounding needs a threshold."""
        return self.shrinkage != "rounding" or self.threshold is not None

    def settings(self, fixed: LearnerSettings | None = None) -> RunSettings:
        """Return all settings of a run with this one."""
        known = {} if fixed is None else {k: getattr(fixed, k) for k in options_of(LearnerSettings)}
        return RunSettings(**(known | self._asdict()))

    def learner(self, loss: Any, fixed: LearnerSettings | None = None) -> Learner:
        """Make a learner that knows nothing yet."""
        return make_learner(self.settings(fixed), loss)

    def learners(
        self, loss: Any, fixed: LearnerSettings | None, classes: int
    ) -> Learner | OneVsRest:
        """Make a learner that knows nothing yet, or one for each of more than two classes."""
        return make_learners(self.settings(fixed), loss, classes)

    def own(self) -> "Setting":
        """Drop what this shrinkage does not have, so that lists of several shrinkages work."""
        kept = SHRINKAGES[self.shrinkage]._fields if self.shrinkage in SHRINKAGES else self._fields
        dropped = {"gravity", "threshold", "truncate_every"} - set(kept)
        return self._replace(**{name: self._field_defaults[name] for name in dropped})


class Grid(NamedTuple):
    """The values to try of each setting; None chooses them by the data."""

    learning_rate: tuple[float, ...] | None = None
    pass_decay: tuple[float, ...] | None = None
    gravity: tuple[float, ...] | None = None
    truncate_every: tuple[int, ...] = (1,)
    threshold: tuple[float | None, ...] = (None,)
    update: tuple[str, ...] = ("adaptive",)
    shrinkage: tuple[str, ...] = ("truncation",)
    passes: tuple[int, ...] | None = None
    cooldown: tuple[int, ...] | None = None

    def check(self, loss: Any, fixed: LearnerSettings | None = None) -> None:
        """Refuse, before any work, values that no run could use with the fixed settings."""
        for name, values in self._asdict().items():
            if values is not None and not values:
                raise SettingError(f"{name} must have a value to try")
        kinds = itertools.product(self.update, self.shrinkage, self.threshold)
        made = [Setting(update=u, shrinkage=s, threshold=t) for u, s, t in kinds]
        usable = [each for each in made if each.is_whole] or made
        for name, values in self._asdict().items():
            if name not in {"update", "shrinkage", "threshold"}:
                made += [usable[0]._replace(**{name: value}) for value in values or ()]
        for setting in [*usable, *made[len(usable) :]]:
            setting.own().learner(loss, fixed)

    def settings(self) -> list[Setting]:
        """List all settings once; first those without shrinkage, the others' baseline."""
        all_of = (Setting(*values).own() for values in itertools.product(*map(_given, self)))
        made = [setting for setting in all_of if setting.is_whole]
        shrunk = [setting for setting in made if setting.shrinks]
        return list(dict.fromkeys([*map(_without_shrinkage, made), *shrunk]))

    def grown(self, name: str, up: bool, *, examples: int) -> "Grid":
        """Add values beyond an end of a list; the same grid if there are none to try.

        A learning rate gets one more, half a decade on, a gravity three, each a third of a decade.
        """
        values = [value for value in _given(getattr(self, name)) if value]
        end = max(values) if up else min(values)
        sign = 1 if up else -1
        if name == "learning_rate":
            more = [_short(end * 10 ** (sign / 2))]
        elif name == "gravity":
            more = [_short(end * 10 ** (sign * k / 3)) for k in (1, 2, 3)]
        else:
            ladder: Sequence[float] = ALL_DECAYS
            if name == "passes":
                ladder = [p for p in ALL_PASSES if p * examples <= MOST]
            more = [value for value in ladder if (value - end) * sign > 0][::sign][:1]
        return self._replace(**{name: tuple(sorted({*getattr(self, name), *more}))})


def completed(
    grid: Grid,
    examples: Sequence[Batch],
    loss: Any,
    fixed: LearnerSettings | None = None,
    classes: int = 0,
) -> Grid:
    """Fill in what the grid leaves open by looking at the examples.

    Rates of the plain update are in units of 1 / mean |x|^2, around which it is stable, x being
    divided by the root of its number of features if predictions are. Gravities
    go down from max_j |mean of phi'(c, y) x_j|, the slope at the best constant c: with more, no
    weight would leave zero. Where the update has a unit for each feature, x_j is in it and divided
    by the length of the example, as there; for FTRL-Proximal it is the sum, and not the mean, that
    gravity weighs against. Labels are in standard units where the learner scales them.
    """
    n = sum(batch.n_examples for batch in examples)
    length = _length(examples, normalize=fixed is not None and fixed.normalize)
    rates = (
        _short(rate / length if update in {"plain", "averaged"} else rate)
        for update in grid.update
        for rate in RATES[update]
    )
    passes = grid.passes or tuple(p for p in PASSES if p == 1 or p * n <= MOST)
    gravity = grid.gravity
    if gravity is None:
        learners = (Setting(update=update).learner(loss, fixed) for update in grid.update)
        steepest = [
            max(_steepest(each, learner) for each in _by_class(examples, classes))
            for learner in learners
        ]
        steps = range(1, STEPS + 1)
        gravity = (0.0, *(_short(top * 10 ** (-k / 3)) for top in steepest for k in steps))
    lowered = max(passes) > 1 and not AVERAGING.issuperset(grid.update)
    return grid._replace(
        learning_rate=grid.learning_rate or tuple(sorted(set(rates))),
        pass_decay=grid.pass_decay or (DECAYS if lowered else (1.0,)),
        gravity=tuple(sorted(set(gravity))),
        passes=tuple(sorted(set(passes))),
        cooldown=grid.cooldown or (max(grid.truncate_every), n),
    )


def _by_class(examples: Sequence[Batch], classes: int) -> Iterator[Sequence[Batch]]:
    """Yield the examples as each learner has them: labelled as they are, or one class by one."""
    if classes <= 2:
        yield examples
        return
    for k in range(classes):
        yield [
            batch._replace(label=None if batch.label is None else against_rest(batch.label, k))
            for batch in examples
        ]


def _without_shrinkage(setting: Setting) -> Setting:
    """Return the setting without gravity, where the other options change nothing."""
    return setting._replace(
        gravity=0.0, truncate_every=1, threshold=None, shrinkage="truncation", cooldown=0
    )


def _given(values: tuple[Any, ...] | None) -> tuple[Any, ...]:
    assert values is not None, "the grid is not completed"
    return values


def _length(examples: Sequence[Batch], *, normalize: bool) -> float:
    """Compute the mean of |x|^2, with the constant 1 in x, by importance."""
    total = steps = 0.0
    for batch in examples:
        importance = batch.importances()
        n = np.diff(batch.start)
        share = importance / (n + 1.0) if normalize else importance
        squares = np.repeat(share, n) * np.square(batch.x, dtype=np.float64)
        total += float(squares.sum() + share.sum())
        steps += np.count_nonzero(importance)
    return total / steps if steps else 1.0


def _steepest(examples: Sequence[Batch], like: Learner) -> float:
    """max_j |mean over examples of phi'(c, y) x_j| at the best constant c, in the learner's units.

    The mean is over the steps, for gravity pulls once at each, whatever the example weighs.
    """
    counts = LabelCounts()
    for batch in examples:
        importance = batch.importances()
        assert batch.label is not None
        counts.add(batch.label[importance > 0], importance[importance > 0])
    constant, _ = counts.best_constant(like.loss)
    unit = counts.deviation() if like.label_scale.scaled else 1.0
    has_units = "inverse" in like.table.cells.dtype.names
    adapts = Centred if isinstance(like.update, Centred) else Adaptive
    steady = STEADY * max(counts.deviation() / unit, 1.0)
    learner = (
        Learner(like.loss, Truncation(), adapts(steady), learning_rate=steady * TINY)
        if has_units
        else Learner(
            *(like.loss, Truncation(), Plain()),
            learning_rate=TINY,
            intercept=False,
            normalize=like.normalize,
        )
    )
    for batch in examples:
        assert batch.label is not None
        base = np.full(batch.n_examples, constant / unit, np.float32)
        learner.learn(batch._replace(label=batch.label / np.float32(unit), base=base))
    cells = learner.table.cells[learner.table.cells["weight"] != 0.0]
    in_units = np.abs(cells["weight"] / (cells["inverse"] if has_units else 1.0))
    total = float(in_units.max(initial=0.0)) / TINY
    steps = 1 if type(like.update) is FTRL else max(learner.n_steps, 1)
    return total / steps or 1.0  # nothing to learn from


def _short(number: float) -> float:
    return float(f"{number:.2g}")
