"""Parameters of scikit-learn and Vowpal Wabbit, answered with their name here."""

import inspect
from dataclasses import fields
from typing import Any, Self

_STRENGTH = "the strength of L1 is gravity"
HABITS = {
    **dict.fromkeys(("alpha", "l1", "lambda_", "lambda1", "reg"), _STRENGTH),
    "C": f"{_STRENGTH}, about 1 / (C n) for n examples",
    "penalty": "gravity is L1, and l2 is L2",
    "l1_ratio": "gravity is L1, and l2 is L2",
    **dict.fromkeys(("eta0", "eta", "lr", "step_size"), "it is learning_rate"),
    **dict.fromkeys(("max_iter", "n_iter", "n_epochs", "epochs", "num_passes"), "it is passes"),
    "tol": "patience ends training when the holdout gets no better",
    "n_iter_no_change": "it is patience",
    "early_stopping": "it is holdout and patience",
    "validation_fraction": "it is holdout: 10 holds out every tenth example",
    "fit_intercept": "it is intercept",
    "noconstant": "it is intercept=False",
    "average": 'it is update="averaged"',
    "solver": "it is update",
    "optimizer": "it is update",
    "loss_function": "it is loss",
    "quantile_tau": "it is tau",
    "epsilon": "it is delta, of loss huber",
    "decay_learning_rate": "it is pass_decay",
    "bit_precision": "not needed: every feature has a weight of its own; max_live bounds them",
}


class _SignatureOfInit:
    """The signature of a class is that of its __init__, though it has a __new__ too."""

    def __get__(self, _instance: Any, cls: Any) -> inspect.Signature:
        found = inspect.signature(cls.__init__)
        return found.replace(parameters=list(found.parameters.values())[1:])


class AnswersHabits:
    """A dataclass that refuses a parameter of other programs with its name here."""

    __signature__ = _SignatureOfInit()

    def __new__(cls, *_args: Any, **given: Any) -> Self:
        """Look at the names; all others are for __init__."""
        known = {each.name for each in fields(cls)}  # type: ignore[arg-type]  # a subclass is one
        for name in given:
            if name in HABITS and name not in known:
                raise TypeError(f"{cls.__name__} has no parameter {name!r}: {HABITS[name]}")
        return super().__new__(cls)
