"""Why a model file predicts what it predicts: what each feature of an example adds."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from dwindle._base.errors import SettingError
from dwindle.algorithm.losses import has_probabilities, is_classification
from dwindle.data.options import ReadOptions
from dwindle.engine.explain import Explanation
from dwindle.model.classes import ClassModels
from dwindle.model.loading import opened
from dwindle.model.model import Model
from dwindle.runs.observer import Observer
from dwindle.runs.predict import Scores, conversion, predicted, to_predict


class Explained(NamedTuple):
    """An example, its prediction, and what each feature adds to it.

    Of several classes, the explanation is of the one that is predicted.
    """

    place: str  # file:line
    id: str  # the tag, or the cell that names the row; "" if there is none
    label: Any  # the class that is predicted; None if labels are numbers
    probability: float | None  # of the positive class, or of the class that is predicted
    explanation: Explanation


def explain(
    model: str | os.PathLike[str],
    paths: Sequence[str],
    reading: ReadOptions | None = None,
    *,
    n: int = 10,
    skip_bad: bool = False,
    keep: int | None = None,
    observer: Observer | None = None,
) -> Iterator[Explained]:
    """Explain the predictions of a model file for the first n examples of the data.

    Of a path they are those of the chosen lane or, with ``keep``, of the best one of at most so
    many features.
    """
    if n < 1:
        raise SettingError(f"n must be 1 or more, got {n}")
    trained = opened(model, keep)
    how = to_predict(trained, reading)

    def made() -> Iterator[Explained]:
        left = n
        for parsed, scores in predicted(trained, paths, how, observer or Observer()):
            parsed.n_bad(skip_bad=skip_bad)
            for i in range(min(left, parsed.batch.n_examples)):
                tag = "" if parsed.tags is None else parsed.tags[i]
                one = explain_example(trained, parsed.batch.rows(i, i + 1), scores[i : i + 1])
                yield one._replace(place=parsed.place(i), id=tag)
            left -= parsed.batch.n_examples
            if left <= 0:
                return

    return made()


def explain_example(model: Model | ClassModels, example: Any, score: Scores) -> Explained:
    """Explain one example; its place is not known here."""
    label = chance = None
    if is_classification(model.loss):
        label = conversion(model, "label")(score)[0].item()
    if has_probabilities(model.loss):
        chance = float(conversion(model, "probability")(score).max())
    if isinstance(model, ClassModels):
        return Explained("", "", label, chance, model.explain(example)[label])
    return Explained("", "", label, chance, model.explain(example))
