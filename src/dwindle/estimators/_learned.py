"""What an estimator has learned: its weights, what explains them, and the model file."""

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr

from dwindle._base.errors import DataError
from dwindle.data.options import ReadOptions
from dwindle.engine.lane_scores import Choice
from dwindle.engine.lanes import LaneLearner
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.estimators._columns import HasColumns
from dwindle.estimators._fitting import Models, Predictor, members_of
from dwindle.model.classes import ClassModels
from dwindle.model.display import html_of
from dwindle.model.learned import model_of, states_of
from dwindle.model.model import Model
from dwindle.model.path import Path as LanePath
from dwindle.runs.evaluate import evaluate
from dwindle.runs.predict import predict
from dwindle.runs.summary import frontier_metadata

Path = str | os.PathLike[str]


def texts_of(paths: Iterable[Path]) -> list[str]:
    """Return paths as text."""
    return [os.fspath(path) for path in paths]


class HasLearned(HasColumns):
    """An estimator that shows what it has learned: a learner, or a model from a file."""

    keep: int | None
    _predictor: Predictor  # what was learned
    _path: LanePath | None = None  # that the predictor was picked from, if it was loaded
    _heaviest: dict[Any, Models]  # what was cut to ``keep`` features, and when
    _cooled = 0  # steps that were no examples
    _n_examples = 0  # learned from, each counted once
    _file_kind: ClassVar[str]  # what `predict_file` asks `runs.predict` for
    _score_name: ClassVar[str]  # what `score` computes, among the metrics
    _dense = False  # whether `coef_` is a dense array

    @abstractmethod
    def _in_shape(self, rows: list[tuple[Any, Any]], n: int) -> Any:
        """Return the columns and weights of each member as one sparse array."""

    @property
    @abstractmethod
    def _choice(self) -> Choice:
        """The rule by which one of several gravities is chosen."""

    @abstractmethod
    def _target_metadata(self) -> dict[str, Any]:
        """Return what a model file says of the labels."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_predictor")

    def _repr_html_inner(self) -> str:
        """Show scikit-learn's diagram in a notebook and, below it, what was learned."""
        diagram = str(estimator_html_repr(self))
        if not hasattr(self, "_predictor"):
            return diagram
        return diagram + html_of(self._whole_model(), type(self).__name__)

    def _repr_mimebundle_(self, **how: Any) -> dict[str, str]:
        """Show the same where notebooks ask for it in this way."""
        found: dict[str, str] = super()._repr_mimebundle_(**how)
        return found | ({"text/html": self._repr_html_inner()} if "text/html" in found else {})

    @property
    def coef_(self) -> Any:
        """The weight of each column: a sparse array, unless `densify` was called.

        What was learned from a file, or from a data frame with strings, has names: see `weights`.
        """
        listed = self._weights()
        if not hasattr(self, "n_features_in_"):
            raise AttributeError(
                "coef_ is of the columns of a matrix, and this model's features have names of "
                "their own, from a file or from a frame with strings: see weights()"
            )
        found = self._in_shape([self._by_column(*each) for each in listed], self.n_features_in_)
        return found.toarray() if self._dense else found

    @property
    def n_kept_(self) -> int:
        """Number of features whose weight is not zero, for one class at least."""
        return len(np.unique(np.concatenate([key for key, _ in self._weights()])))

    @property
    def path_(self) -> LanePath:
        """The models of all gravities that were learned at once, by gravity auto or sigmas."""
        predictor, metadata = self._fitted, self._metadata()
        if isinstance(predictor, Learner | OneVsRest):
            if not all(isinstance(each, LaneLearner) for each in members_of(predictor)):
                raise AttributeError(
                    "one gravity was learned: gravity='auto' learns several, of which path_ has all"
                )
            found = LanePath.of(predictor, metadata)
        elif self._path is None:
            raise AttributeError(
                "the model file has one gravity only: dwindle train --path, or path_.save, "
                "writes all"
            )
        else:
            found = self._path
        return found.with_models([self._renamed(each.base) for each in found.members])

    @property
    def frontier_(self) -> Any:
        """The gravities that were learned at once: a list of `Lane`, of several classes by class.

        Each has its gravity, the features it kept, its loss and AUC before learning from a row, and
        whether it is the one that predicts.
        """
        return self.path_.frontier()

    @property
    def t_(self) -> int:
        """Number of examples learned from so far, those of every pass counted."""
        predictor = self._fitted
        if isinstance(predictor, Learner | OneVsRest):
            return predictor.n_steps - self._cooled
        return int(self._said.get("examples", 0)) * int(self._said.get("passes", 1))

    def sparsify(self) -> Self:
        """Make `coef_` a scipy sparse array, as it is by default."""
        self._check_fitted()
        self._dense = False
        return self

    def densify(self) -> Self:
        """Make `coef_` a NumPy array; what is kept in memory stays sparse."""
        self._check_fitted()
        self._dense = True
        return self

    def explain(self, x: Any) -> Any:
        """Explain the prediction for one row: what each live feature adds to it.

        The row is a dict, or X with one row. Returns an `Explanation`; of more than two classes, a
        dict with one for each class.
        """
        batch = self._one(x) if isinstance(x, Mapping) else self._examples(x)
        found = [model.explain(self._renamed_batch(batch)) for model in self._models()]
        return (
            found[0] if len(found) == 1 else dict(zip(self.classes_.tolist(), found, strict=True))
        )

    def name_features(self, names: Any) -> Self:
        """Give the columns of X names, for `weights`, `explain` and `save`.

        They are those of the step before, say: after ``pipeline.fit(X, y)``,
        ``pipeline[-1].name_features(pipeline[:-1].get_feature_names_out())``.
        """
        self._check_fitted()
        self._check_names(names, self.n_features_in_)
        self._feature_names = np.asarray(names, object)
        return self

    def save(self, path: Path, *, state: bool = False) -> int:
        """Write a model file, as ``dwindle train`` does, for `dwindle.load`; returns its size.

        With ``state``, what is loaded goes on learning exactly as this estimator would.
        """
        return self._whole_model(state=state).save(path)

    def predict_file(
        self, *paths: Path, reading: ReadOptions | None = None, skip_bad: bool = False
    ) -> NDArray[Any]:
        """Predict the examples of files, in order, as `fit_file` reads them."""
        return self._predicted_file(paths, self._file_kind, reading, skip_bad)

    def score_file(
        self, *paths: Path, reading: ReadOptions | None = None, skip_bad: bool = False
    ) -> float:
        """Return what `score` returns, on the labelled examples of files."""
        found = evaluate(self._whole_model(), texts_of(paths), reading, skip_bad=skip_bad)
        return float(found[self._score_name])

    def _check_fitted(self) -> None:
        if not hasattr(self, "_predictor"):
            raise NotFittedError(
                f"this {type(self).__name__} has not learned anything yet: call fit"
            )

    @property
    def _fitted(self) -> Predictor:
        self._check_fitted()
        if isinstance(self._predictor, Learner | OneVsRest):
            for member in members_of(self._predictor):
                if isinstance(member, LaneLearner):
                    member.choice = self._choice  # which may change, without learning anew
        return self._predictor

    @property
    def _kept(self) -> Predictor:
        """What predicts: with ``keep``, only the heaviest features; of several gravities, one."""
        predictor = self._fitted
        if not isinstance(predictor, Learner | OneVsRest):
            return predictor
        if self.keep is None and not isinstance(members_of(predictor)[0], LaneLearner):
            return predictor
        now = (self.keep, predictor.n_steps, self._choice)
        if now not in self._heaviest:
            self._heaviest.clear()
            self._heaviest[now] = model_of(predictor, keep=self.keep)
        return self._heaviest[now]

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Predict each row, before any link; of several classes, a column for each."""
        return self._kept.predict(self._examples(X))

    def _weights(self) -> list[tuple[NDArray[np.uint64], NDArray[np.float64]]]:
        """Return the keys and weights of each class, or the only ones."""
        return [
            each.weight_of_keys() if isinstance(each, Learner) else (each.key, each.weight)
            for each in members_of(self._kept)
        ]

    def _models(self, *, state: bool = False) -> list[Model]:
        """Return the model of each class, or the only one, its features by name."""
        kept, metadata, learner = self._kept, self._metadata(), self._fitted
        models = [
            replace(each, metadata=each.metadata | metadata)
            if isinstance(each, Model)
            else Model.of(each, metadata)
            for each in members_of(kept)
        ]
        if isinstance(learner, Learner | OneVsRest):
            states = states_of(learner) if state else [None] * len(models)
            models = [replace(m, state=its) for m, its in zip(models, states, strict=True)]
        return [*map(self._renamed, models)]

    def _whole_model(self, *, state: bool = False) -> Models:
        """Return what a model file holds; with the learner's ``state``, if that is wanted."""
        models = self._models(state=state)
        return models[0] if len(models) == 1 else ClassModels(models)

    def _predicted_file(
        self, paths: tuple[Path, ...], kind: str, reading: ReadOptions | None, skip_bad: bool
    ) -> NDArray[Any]:
        """Predict the examples of files: their labels, scores or probabilities."""
        model, given = self._whole_model(), texts_of(paths)
        parts = predict(model, given, reading, kind=kind, skip_bad=skip_bad)
        found = [part.prediction for part in parts]
        if not found:
            raise DataError(f"{' '.join(given)}: no examples to predict")
        return np.concatenate(found)

    def _metadata(self) -> dict[str, Any]:
        """Return what a model file says beside the weights."""
        predictor = self._fitted
        metadata = dict(self._said)
        if isinstance(predictor, Learner | OneVsRest):
            metadata |= self._target_metadata() | {
                "examples": self._n_examples,
                "seen": predictor.n_seen,
                "peak_live": predictor.peak_live,
                "passes": self.n_iter_,
            }
            metadata |= frontier_metadata(predictor)
        return metadata | self._column_metadata()
