"""The one table of a learner's settings: name, type, default, bound, help, and what each builds.

The command line's options, the estimators' parameters, the grid of a search, what ``--resume``
compares and the command that ``dwindle tune`` prints all derive from it.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from inspect import get_annotations
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeVar

from dwindle._base.errors import SettingError
from dwindle.algorithm.adaptive import Adaptive, Centred
from dwindle.algorithm.dual_averaging import FTRL, RDA
from dwindle.algorithm.habits import AnswersHabits
from dwindle.algorithm.losses import (
    BinaryClippedSquared,
    ClippedSquared,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Quantile,
    Squared,
)
from dwindle.algorithm.schedules import Schedule
from dwindle.algorithm.shrinkage import (
    LATE,
    ORDERS,
    ElasticNet,
    LateRounding,
    LateTruncation,
    NoShrinkage,
    Rounding,
    Subgradient,
    Truncation,
    is_late,
)
from dwindle.algorithm.sigmas import AUTOMATIC, Sigmas
from dwindle.algorithm.updates import Averaged, Plain, default_learning_rate

Class = TypeVar("Class", bound=type[Any])

# The ingredients by the name that users give them.
LOSSES: dict[str, Any] = {
    "logistic": Logistic,
    "squared": Squared,
    "hinge": Hinge,
    "clipped-squared": ClippedSquared,
    "quantile": Quantile,
    "huber": Huber,
    "poisson": Poisson,
}
SHRINKAGES: dict[str, Any] = {
    "truncation": Truncation,
    "elastic-net": ElasticNet,
    "rounding": Rounding,
    "subgradient": Subgradient,
    "none": NoShrinkage,
}
UPDATES: dict[str, Any] = {
    "adaptive": Adaptive,
    "centred": Centred,
    "plain": Plain,
    "averaged": Averaged,
    "ftrl": FTRL,
    "rda": RDA,
}
FAMILIES = {"loss": LOSSES, "shrinkage": SHRINKAGES, "update": UPDATES}
FORMS: dict[type, str] = {  # that a name stands for too
    BinaryClippedSquared: "clipped-squared",
    LateTruncation: "truncation",
    LateRounding: "rounding",
}
THEORY = "theory"  # the learning rate of the paper's regret bound
AUTO = "auto"  # the loss that suits the labels; the gravity, and the update, that suit the data
IN_LANES = {"adaptive", "ftrl", "rda"}  # updates that learn several gravities at once,
USUAL_IN_LANES = "rda"  # and the one that does if none is named; docs/auto.md measures it


class Option(NamedTuple):
    """What is known of a setting beside its name, type and default."""

    help: str
    short: str = ""  # one letter on the command line
    kind: Any = float  # how its text is read
    words: tuple[str, ...] = ()  # that may stand for a number
    choices: tuple[str, ...] = ()
    least: int | None = None  # of a whole number
    default_text: str = ""  # in words, where the value does not say it
    metavar: str | None = None


def option(default: Any, help_: str, **about: Any) -> Any:
    """Declare a setting: its default, its help, and more of `Option`."""
    return field(default=default, metadata={"option": Option(help_, **about)})


def options_of(settings: Any) -> dict[str, Option]:
    """List the options of a class of settings, in order."""
    found = ((each.name, each.metadata.get("option")) for each in fields(settings))
    return {name: about for name, about in found if about is not None}


def with_defaults(defaults: Mapping[str, Any]) -> Callable[[Class], Class]:
    """Give a class of settings other defaults, before it is made a dataclass."""

    def changed(cls: Class) -> Class:
        about = options_of(cls)  # of the class it is derived from
        for name, value in defaults.items():
            setattr(cls, name, field(default=value, metadata={"option": about[name]}))
        cls.__annotations__ = dict.fromkeys(defaults, Any) | get_annotations(cls)
        return cls

    return changed


def default_of(settings: Any, name: str) -> Any:
    """Return the default of a setting."""
    return next(each.default for each in fields(settings) if each.name == name)


def parameters_of(ingredient: type) -> tuple[str, ...]:
    """List the parameters of an ingredient's class: its fields, and the order if it has several."""
    fields_: tuple[str, ...] = getattr(ingredient, "_fields", ())
    return (*fields_, "order") if ingredient in LATE else fields_


def several_numbers(text: str) -> tuple[float, ...]:
    """Read numbers, separated by commas."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise SettingError(f"expected numbers separated by commas, got {text!r}") from None


class Ingredients(NamedTuple):
    """What a learner is made of. The loss is None if the labels are to decide."""

    loss: Any
    shrinkage: Any
    update: Any
    schedule: Schedule


@dataclass(kw_only=True, eq=False)
class LearnerSettings(AnswersHabits):
    """The settings of a learner.

    An ingredient is given by its name, with its parameters as settings of their own, or as the
    object itself: ``shrinkage="truncation", gravity=0.1`` is ``shrinkage=Truncation(0.1)``.
    """

    loss: Any = option(
        AUTO,
        "Loss function; auto chooses by the labels: logistic for classes (text, or two numbers "
        "such as 0 and 1), squared for other numbers.",
        kind=str,
        choices=(AUTO, *LOSSES),
    )
    margin: float | None = option(None, "Margin of the hinge loss.", default_text="1")
    tau: float | None = option(
        None, "Quantile that the quantile loss predicts.", default_text="0.5"
    )
    delta: float | None = option(
        None, "Where the Huber loss turns from square to line.", default_text="1"
    )
    shrinkage: Any = option(
        "truncation", "How weights are pulled to zero.", kind=str, choices=tuple(SHRINKAGES)
    )
    gravity: Any = option(
        0.0,
        "Strength of the pull to zero (the paper's g); auto learns a model for each of several, in "
        "one pass, and keeps the sparsest that predicts as well as the best.",
        short="g",
        words=(AUTO,),
        metavar="auto|G",
    )
    sigmas: Any = option(
        None,
        "Gravity in standard deviations of noise, which needs no scale: 0.25 removes what a "
        "feature that tells nothing would often reach. Of several, one is chosen as by auto.",
        kind=several_numbers,
        metavar="C,...",
    )
    l2: float = option(
        0.0, "Strength of an L2 penalty beside gravity; it makes the shrinkage elastic-net."
    )
    truncate_every: int = option(
        1, "Truncate every K examples, with K times the gravity.", short="K", kind=int
    )
    threshold: float | None = option(
        None, "Pull only weights up to this size (the paper's theta).", default_text="all weights"
    )
    order: str = option(
        "before",
        "Pull weights before the prediction, as the paper's Algorithm 1, or after the step, by the "
        "formulas of its section 5.",
        kind=str,
        choices=ORDERS,
    )
    update: Any = option(
        AUTO,
        "Update rule: adaptive (a learning rate per feature), centred (adaptive, for features far "
        "from zero; standardize chooses it), plain (the paper's), averaged "
        "(plain, returning the mean of all weights), ftrl (FTRL-Proximal) or rda (dual averaging); "
        f"auto is {USUAL_IN_LANES} if gravity is auto or in sigmas, plain if the order is after, "
        "else adaptive.",
        kind=str,
        choices=(AUTO, *UPDATES),
    )
    beta: float | None = option(
        None,
        "Damping of the first steps, for adaptive, centred, ftrl and rda.",
        default_text="0.2; with several classes 0.05 if adaptive, 0.01 if rda",
    )
    learning_rate: Any = option(
        None,
        "Learning rate; theory reads the data once more and takes 1 / sqrt(steps), in units of the "
        "longest example, as the paper's regret bound asks.",
        short="l",
        words=(THEORY,),
        metavar="theory|RATE",
        default_text="0.6 if adaptive or centred, 2 with several classes, 1.5 if rda, 0.8 if ftrl, "
        "0.5 if it centres, else 0.3",
    )
    power_t: float = option(0.0, "The learning rate decays as 1/t^power_t.")
    initial_t: float = option(1.0, "Initial t of the decay; a larger one delays it.")
    pass_decay: float | None = option(
        None,
        "Multiply the learning rate by this after each pass.",
        default_text="1; 0.5 to 1 if adaptive with several classes",
    )
    intercept: bool = option(True, "Learn a constant term, which is never shrunk.", kind=bool)
    normalize: bool = option(
        False,
        "Divide predictions by the root of the number of features, as in the paper's section 5.",
        kind=bool,
    )
    standardize: bool = option(
        True,
        "Centre features that every example has, where gravity is automatic or in sigmas; in "
        "regression with the squared or quantile loss, scale the labels by their mean and "
        "deviation so far. The model is in the unit of the data.",
        kind=bool,
    )
    max_live: int | None = option(
        None,
        "Budget: never more than N live features; the least valuable are evicted. Several classes "
        "share it.",
        kind=int,
        least=1,
        metavar="N",
    )

    def ingredients(self) -> Ingredients:
        """Build what these settings name; refuse a setting that its ingredient does not have."""
        loss, shrinkage, update = map(self._ingredient, FAMILIES)
        return Ingredients(loss, shrinkage, update, self._schedule(update))

    @property
    def gravities(self) -> Sigmas | None:
        """The gravities to learn at once; None if there is one of the paper's, or none.

        Where another shrinkage or update is asked for, ``auto`` is no gravity.
        """
        if self.sigmas is not None:
            if self.order != default_of(self, "order"):
                raise SettingError("sigmas pulls before the prediction: leave out order")
            if self.gravity not in (AUTO, default_of(self, "gravity")):
                raise SettingError("sigmas stands for gravity: give one of them")
            several = isinstance(self.sigmas, Iterable)
            return Sigmas(tuple(self.sigmas) if several else (self.sigmas,))
        truncates = isinstance(self.shrinkage, str) and self._chosen("shrinkage") == "truncation"
        update = self._update_in_lanes
        in_lanes = update in IN_LANES and self.order == default_of(self, "order")
        if not (isinstance(self.gravity, str) and truncates and in_lanes):
            return None
        return Sigmas() if update == "adaptive" else AUTOMATIC

    @property
    def _update_in_lanes(self) -> Any:
        """The name of the update, if several gravities are learned at once.

        One that is not named is `USUAL_IN_LANES`, unless weights are to be pulled in a way that it
        does not know.
        """
        if not isinstance(self.update, str):
            return _name_of("update", self.update)
        pulls_all = self.threshold is None and self.truncate_every == 1
        usual = USUAL_IN_LANES if pulls_all else "adaptive"
        return usual if self.update == AUTO else self.update

    def check(self) -> None:
        """Refuse, by name, whole numbers that no run could use; ingredients check themselves."""
        for name, about in options_of(self).items():
            value, default = getattr(self, name), default_of(self, name)
            if value is None and default is None:
                continue
            if isinstance(value, str) and value in about.words:
                continue
            if about.kind is float and not isinstance(value, Real | Schedule):
                what = " or ".join(["a number", *about.words])
                raise SettingError(f"{name} must be {what}, got {value!r}")
            if about.least is None or (about.kind is not int and isinstance(value, str)):
                continue
            if not isinstance(value, Integral) or value < about.least:
                raise SettingError(
                    f"{name} must be a whole number, {about.least} or more, got {value!r}"
                )

    def _ingredient(self, family: str) -> Any:
        """Build the loss, shrinkage or update: by its name and parameters, or as it is given."""
        known, chosen = FAMILIES[family], self._chosen(family)
        own: tuple[str, ...] = ()
        is_auto = family == "loss" and isinstance(chosen, str) and chosen == AUTO
        if isinstance(chosen, str) and not is_auto:
            if chosen not in known:
                allowed = ", ".join(options_of(self)[family].choices)
                raise SettingError(f"{family} must be one of {allowed}, got {chosen!r}")
            own = parameters_of(known[chosen])
        self._refuse_strange(family, own)
        if is_auto or not isinstance(chosen, str):
            return None if is_auto else chosen
        given = {name: getattr(self, name) for name in own if getattr(self, name) is not None}
        missing = set(own) - given.keys() - known[chosen]._field_defaults.keys()
        if missing:
            raise SettingError(f"{family} {chosen} needs a {min(missing)}")
        if family == "shrinkage" and (gravities := self.gravities) is not None:
            if chosen != "truncation":
                raise SettingError(f"sigmas is a gravity of shrinkage truncation, not of {chosen}")
            own_of_all = given.keys() & gravities._fields
            return gravities._replace(**{name: given[name] for name in own_of_all})
        return known[chosen](**_numbers(given))

    def _chosen(self, family: str) -> Any:
        """Return what was named, or given; truncation with an l2 is the elastic net."""
        chosen = getattr(self, family)
        if not isinstance(chosen, str):
            return chosen
        if family == "shrinkage" and chosen == "truncation" and self.l2 != 0.0:
            return "elastic-net"
        if family == "update" and chosen == AUTO:
            in_lanes = self.gravities is not None or isinstance(self.shrinkage, Sigmas)
            late = self.order == "after" or is_late(self.shrinkage)
            return self._update_in_lanes if in_lanes else "plain" if late else "adaptive"
        return chosen

    def _refuse_strange(self, family: str, own: tuple[str, ...]) -> None:
        """Refuse parameters that are set though the chosen ingredient does not have them."""
        known = {key: parameters_of(each) for key, each in FAMILIES[family].items()}
        for name in dict.fromkeys(itertools.chain(*known.values())):
            value = getattr(self, name)
            unset = (0.0, AUTO) if name == "gravity" else (default_of(self, name),)
            if name not in own and value not in unset:
                having = [key for key, parameters in known.items() if name in parameters]
                raise SettingError(
                    f"{name} is a setting of {family} {' or '.join(having)}, "
                    f"not of {self._chosen(family)}: got {value!r}"
                )

    def _schedule(self, update: Any) -> Schedule:
        if isinstance(self.learning_rate, Schedule):
            for name in Schedule._fields[1:]:
                if getattr(self, name) != default_of(self, name):
                    raise SettingError(f"{name} is given twice: learning_rate is a Schedule")
            return self.learning_rate
        is_known = self.learning_rate not in (None, THEORY)  # else the data has to say it
        rate = self.learning_rate if is_known else default_learning_rate(update)
        decay = 1.0 if self.pass_decay is None else self.pass_decay
        return Schedule(rate, self.power_t, self.initial_t, decay)


def _numbers(given: dict[str, Any]) -> dict[str, Any]:
    """Read a gravity that is ``auto`` though nothing is to be chosen as none."""
    return {name: 0.0 if value == AUTO else value for name, value in given.items()}


def settings_of(ingredients: Ingredients) -> dict[str, Any]:
    """Name the settings that build these ingredients: the inverse of `LearnerSettings.ingredients`.

    The update is left out if it is the one that the others would choose.

    >>> settings_of(Ingredients(Quantile(0.9), Rounding(0.1), Plain(), Schedule(0.3, 0.5)))
    {'loss': 'quantile', 'tau': 0.9, 'shrinkage': 'rounding', 'threshold': 0.1, \
'update': 'plain', 'power_t': 0.5}
    """
    found: dict[str, Any] = {}
    for family in FAMILIES:
        found |= _named(family, getattr(ingredients, family))
    schedule = ingredients.schedule._asdict()
    if schedule["learning_rate"] == default_learning_rate(ingredients.update):
        schedule["learning_rate"] = None
    if schedule["pass_decay"] == 1.0:
        schedule["pass_decay"] = None
    found |= {k: v for k, v in schedule.items() if v != default_of(LearnerSettings, k)}
    others = LearnerSettings(**{k: v for k, v in found.items() if k != "update"})
    if others._chosen("update") == found["update"]:  # noqa: SLF001  (of this module)
        del found["update"]
    return found


def _named(family: str, ingredient: Any) -> dict[str, Any]:
    """Name an ingredient and its parameters: the gravity, and what is not the default."""
    if type(ingredient) is Sigmas and ingredient.pairs == AUTOMATIC.pairs:
        return {family: "truncation", "gravity": AUTO} | _changed(
            ingredient, *AUTOMATIC._fields[:2]
        )
    if type(ingredient) is Sigmas and not ingredient.evidence:
        sigmas = {"sigmas": ingredient.values}
        return {family: "truncation"} | sigmas | _changed(ingredient, "values")
    name = _name_of(family, ingredient)
    if name is None:
        return {family: AUTO if ingredient is None else ingredient}
    gravity = {"gravity": ingredient.gravity} if name == "truncation" else {}
    order = {"order": "after"} if type(ingredient) in LATE.values() else {}
    return {family: name} | gravity | _changed(ingredient) | order


def _name_of(family: str, ingredient: Any) -> str | None:
    """Return the name of an ingredient's class, if it has one: the same for all its forms."""
    names = {cls: name for name, cls in FAMILIES[family].items()} | FORMS
    return names.get(type(ingredient))


def _changed(ingredient: Any, *but: str) -> dict[str, Any]:
    """Return the parameters that are not the default."""
    usual: Mapping[str, Any] = type(ingredient)._field_defaults
    return {k: v for k, v in ingredient._asdict().items() if v != usual.get(k) and k not in but}
