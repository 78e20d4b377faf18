"""The learning rate for which the paper's regret bound is O(1 / sqrt(T))."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from dwindle._base.errors import DataError, SettingError
from dwindle.algorithm.settings import THEORY, LearnerSettings
from dwindle.algorithm.updates import Plain
from dwindle.features.batch import Batch

Settings = TypeVar("Settings", bound=LearnerSettings)


def with_theory(
    settings: Settings, examples: Iterable[Batch], loss: Any, passes: int = 1
) -> Settings:
    """Return settings with the learning rate that the theory gives for these examples, if asked."""
    if not asks_theory(settings):
        return settings
    if not isinstance(settings.ingredients().update, Plain):
        raise SettingError(
            "learning_rate 'theory' is of the paper's updates: say --update plain or averaged"
        )
    how = {"intercept": settings.intercept, "normalize": settings.normalize}
    return replace(settings, learning_rate=theory_rate(examples, loss, passes=passes, **how))


def asks_theory(settings: LearnerSettings) -> bool:
    """Whether the learning rate is to be the theory's."""
    return isinstance(settings.learning_rate, str) and settings.learning_rate == THEORY


def theory_rate(
    examples: Iterable[Batch],
    loss: Any,
    *,
    passes: int = 1,
    intercept: bool = True,
    normalize: bool = False,
) -> float:
    """Return 1 / max(A, C sqrt(b T)), rounded to three digits.

    T is the number of steps, C the largest h |x| of an example of importance h, the constant 1 in x
    included, and a and b those of the loss's `slope_bound`: A = a max h |x|^2 and B = b C^2 are
    Theorem 3.1's. Where b is 0, it stands for 1. With this rate A eta <= 1, and the regret against
    a comparator of length 1 is O(1 / sqrt(T)).

    >>> from dwindle import Logistic
    >>> theory_rate([Batch.from_dicts([{"a": 3.0}] * 16, [1] * 16)], Logistic(), intercept=False)
    0.0833
    """
    if not hasattr(loss, "slope_bound"):
        raise SettingError(
            f"learning_rate 'theory' needs a loss with A and B of Assumption 3.1, which {loss} "
            "has not"
        )
    a, b = loss.slope_bound()
    steps, longest, longest_of_a = 0, 0.0, 0.0
    for batch in examples:
        h, n = batch.importances().astype(np.float64), np.diff(batch.start)
        row = np.repeat(np.arange(len(n)), n)
        squared = np.bincount(row, np.square(batch.x, dtype=np.float64), len(n)) + float(intercept)
        squared = squared / np.maximum(n + intercept, 1.0) if normalize else squared
        steps += int(np.count_nonzero(h))
        longest = max(longest, float((h**2 * squared).max(initial=0.0)))
        longest_of_a = max(longest_of_a, float((h * squared).max(initial=0.0)))
    if not steps or not longest:
        raise DataError("learning_rate 'theory': there are no examples with features to learn from")
    largest = max(a * longest_of_a, math.sqrt(longest * (b or 1.0) * steps * passes))
    return float(f"{1.0 / largest:.3g}")
