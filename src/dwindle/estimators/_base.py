"""The base class of the classifier and the regressor: all but what a label means."""

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from dwindle._base.errors import DataError, SettingError
from dwindle._base.notes import warn
from dwindle.algorithm.settings import LearnerSettings, option, options_of
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions, as_before, kept_reading
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.estimators._columns import HasColumns
from dwindle.estimators._data import Data, FileExamples, MatrixRows
from dwindle.estimators._fitting import (
    Fitting,
    Learners,
    Models,
    Predictor,
    members_of,
)
from dwindle.model.classes import ClassModels, model_of, states_of
from dwindle.model.model import Model
from dwindle.runs.build import make_learners
from dwindle.runs.evaluate import evaluate
from dwindle.runs.predict import predict
from dwindle.runs.run_data import Passes
from dwindle.runs.settings import RunSettings, number_or_file

Path = str | os.PathLike[str]
Fit = TypeVar("Fit", bound=Callable[..., Any])


def texts_of(paths: Iterable[Path]) -> list[str]:
    """Return paths as text."""
    return [os.fspath(path) for path in paths]


def all_or_nothing(fit: Fit) -> Fit:
    """Decorate a method that learns anew: if it fails, the estimator is as it was before."""

    @wraps(fit)
    def tried(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast("Fit", tried)


@dataclass(kw_only=True, eq=False, repr=False)
class TruncatedGradient(HasColumns, RunSettings):
    """What the classifier and the regressor share: all but what a label means.

    Its parameters are the settings of ``dwindle train``, from the same table.
    """

    holdout: Any = option(
        10, "Hold out every N-th row, or a file, for early stopping.", kind=number_or_file, least=2
    )
    shuffle: bool = True
    random_state: Any = 0
    early_stopping: bool = False
    warm_start: bool = False
    columns: Any = None
    ngrams: int = 1
    counts: bool = False
    verbose: bool = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_predictor")

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
    def t_(self) -> int:
        """Number of examples learned from so far, those of every pass counted."""
        predictor = self._fitted
        if isinstance(predictor, Learner | OneVsRest):
            return predictor.n_steps - self._cooled
        return int(self._said.get("examples", 0)) * int(self._said.get("passes", 1))

    def sparsify(self) -> Self:
        """Make `coef_` a scipy sparse array, as it is by default."""
        self._dense = not self._fitted
        return self

    def densify(self) -> Self:
        """Make `coef_` a NumPy array; what is kept in memory stays sparse."""
        self._dense = bool(self._fitted)
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
        self._check_names(names, self.n_features_in_ if self._fitted else 0)
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

    # What differs: what a label is, and how weights are shown.

    @abstractmethod
    def _begun(self, y: NDArray[Any]) -> NDArray[Any]:
        """Code labels as numbers, and remember how."""

    @abstractmethod
    def _coded(self, y: NDArray[Any]) -> NDArray[Any]:
        """Code labels as numbers, as remembered."""

    @abstractmethod
    def _target(self, code: NDArray[Any]) -> NDArray[Any]:
        """Return coded labels as a learner needs them."""

    @abstractmethod
    def _importance(self, label: NDArray[Any], weight: Any, *, whole: bool) -> Any:
        """Return the importance of each example; ``whole`` if these are all there are."""

    @abstractmethod
    def _in_shape(self, rows: list[tuple[Any, Any]], n: int) -> Any:
        """Return the columns and weights of each member as one sparse array."""

    @abstractmethod
    def _target_metadata(self) -> dict[str, Any]:
        """Return what a model file says of the labels."""

    # Learning.

    def _fit(self, X: Any, y: Any, sample_weight: Any, feature_names: Any) -> Self:
        """Learn anew from all the rows."""
        self.check()
        if self.early_stopping and isinstance(self.holdout, str):
            raise SettingError(f"holdout must be a number for a matrix, got {self.holdout!r}")
        warm = self._is_warm
        batch, y, weight, number = self._present(X, y, sample_weight, reset=not warm)
        if len(y) == 0:
            raise ValueError("every sample_weight is zero: there is nothing to learn from")
        code = self._coded(y) if warm else self._begun(y)
        importance = self._importance(code, weight, whole=True)
        batch = batch.labelled(self._target(code), importance)
        shuffled = check_random_state(self.random_state).permutation if self.shuffle else None
        held = self.holdout if self.early_stopping else None
        rows = MatrixRows(batch, number, held, shuffled)
        self._begin(rows, lambda: self._classes, warm=warm)
        if feature_names is not None:
            self.name_features(feature_names)
        return self

    def _fit_file(
        self, paths: tuple[Path, ...], labels: Labels, how: ReadOptions, skip_bad: bool
    ) -> Self:
        """Learn anew from files."""
        self.check()
        held = self.holdout if self.early_stopping else None
        warm = self._is_warm
        how = self._as_before(how) if warm else self._as_said(how)
        with closing(Passes(texts_of(paths), how, held, warn)) as data:
            if isinstance(held, str) and data.holdout is not None:
                data.holdout.read()
            files = FileExamples(data, labels, self._loss, skip_bad=skip_bad)
            self._begin(files, lambda: len(labels.target), warm=warm)
            self._said = {"reading": kept_reading(data.reading)}
            self._schema = data.reading.schema
        self._forget_columns()
        return self

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, *, first: bool) -> Self:
        """Go on learning from these rows, once, in order."""
        batch, y, weight, number = self._present(X, y, sample_weight, reset=first)
        code = self._coded(y)
        importance = self._importance(code, weight, whole=False)
        rows = MatrixRows(batch.labelled(self._target(code), importance), number)
        self._go_on(rows, first=first)
        return self

    def _partial_fit_file(
        self,
        paths: tuple[Path, ...],
        labels: Labels,
        how: ReadOptions,
        *,
        first: bool,
        skip_bad: bool,
    ) -> Self:
        """Go on learning from files, once, with the columns of the first ones."""
        how = self._as_said(how) if first else self._as_before(how)
        with closing(Passes(texts_of(paths), how, None, warn)) as data:
            files = FileExamples(data, labels, self._loss, skip_bad=skip_bad)
            self._go_on(files, first=first, verbose=self.verbose)
            self._said = {"reading": kept_reading(data.reading)}
            self._schema = data.reading.schema
        return self

    def _as_said(self, how: ReadOptions) -> ReadOptions:
        """Return how to read files, with what the estimator says of columns."""
        return replace(
            how,
            columns={**(self.columns or {}), **how.columns},
            ngrams=max(self.ngrams, how.ngrams),
            counts=self.counts or how.counts,
        )

    def _as_before(self, how: ReadOptions) -> ReadOptions:
        """Return how to read files to go on with: as the first ones, with the same columns."""
        if how == ReadOptions() and "reading" in self._said:
            return as_before(self._said["reading"], how)
        return replace(self._as_said(how), schema=self._schema)

    @property
    def _is_warm(self) -> bool:
        """Whether `fit` goes on from what was learned before."""
        return self.warm_start and hasattr(self, "_predictor")

    def _begin(self, data: Data, classes: Callable[[], int], *, warm: bool) -> None:
        """Go over the data, with a new learner unless it is ``warm``.

        The number of ``classes`` is asked for when the first examples are there.
        """

        def made() -> Learners:
            return deepcopy(self._learning(data)) if warm else self._new_learner(classes(), data)

        fitting = Fitting(made, verbose=self.verbose, passes=self.passes)
        self.n_iter_ = fitting.fit(data, self)
        if fitting.learner is None:
            raise DataError(f"{data.name}: no examples to learn from")
        if not warm:
            self._said, self._feature_names, self._cooled, self._n_examples = {}, None, 0, 0
        self._predictor, self._heaviest = fitting.learner, None
        self._cooled, self._n_examples = (
            self._cooled + self.cooldown,
            self._n_examples + fitting.examples,
        )

    def _go_on(self, data: Data, *, first: bool, verbose: bool = False) -> None:
        """Learn from the data once, the first time with a new learner."""
        if first:
            self.check()
            self._predictor = self._new_learner(self._classes, data)
            self._said, self.n_iter_, self._cooled, self._n_examples = {}, 1, 0, 0
            self._feature_names = self._heaviest = None
        learner = self._learning(data)
        fitting = Fitting(lambda: learner, verbose=verbose)
        for examples in data.learned(more=False):
            fitting.learn(examples)
        self._n_examples += fitting.examples

    def _learning(self, data: Data) -> Learners:
        """Return the learner, if it can go on learning from the data."""
        if not isinstance(self._fitted, Learner | OneVsRest):
            self._learn_on(self._fitted)
        found = self._predictor
        assert isinstance(found, Learner | OneVsRest)
        for name, then in self._made_of.items():
            now = getattr(self, name)
            if now is not then and now != then:
                raise SettingError(
                    f"{name} was {then!r} when the learning began, and now it is {now!r}: "
                    "set it back, or begin anew with fit"
                )
        if isinstance(found, Learner):
            data.check(found)
        return found

    def _learn_on(self, model: Models) -> None:
        """Make a learner of a model that was loaded."""
        self._made_of = {name: getattr(self, name) for name in options_of(LearnerSettings)}
        before = self.t_
        settings = make_learners(self, self._loss, self._classes).settings()
        self._predictor = model.learner(settings)
        if self._predictor.n_steps == 0:
            warn(
                "the model was saved without its state: learning goes on from its weights, and "
                "each feature's learning rate begins anew"
            )
        self._n_examples = int(self._said.get("examples", 0))
        self.n_iter_, self._heaviest = int(self._said.get("passes", 1)), None
        self._cooled = self._predictor.n_steps - before

    def _new_learner(self, classes: int, data: Data) -> Learners:
        """Make a learner, or one for each of several classes, that can learn from the data."""
        self._made_of = {name: getattr(self, name) for name in options_of(LearnerSettings)}
        learner = make_learners(self, self._loss, classes)
        if isinstance(learner, Learner):
            data.check(learner)
        return learner

    def _restored(self, predictor: Models, metadata: Mapping[str, Any]) -> Self:
        """Predict as the models of a file with this metadata do."""
        self._predictor, self._said = predictor, metadata
        self._restore_columns(metadata)
        return self

    # What was learned.

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
            replace(each, metadata=metadata)
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

    @property
    def _loss(self) -> Any:
        loss = self.ingredients().loss
        return self._default_loss if loss is None else loss

    @property
    def _classes(self) -> int:
        """Number of classes; 0 if labels are numbers."""
        return len(getattr(self, "classes_", ()))

    @property
    def _fitted(self) -> Predictor:
        if not hasattr(self, "_predictor"):
            raise NotFittedError(
                f"this {type(self).__name__} has not learned anything yet: call fit"
            )
        return self._predictor

    @property
    def _kept(self) -> Predictor:
        """What predicts: with ``keep``, only the heaviest features."""
        predictor = self._fitted
        if self.keep is None or not isinstance(predictor, Learner | OneVsRest):
            return predictor
        now = (self.keep, predictor.n_steps)
        if self._heaviest is None or self._heaviest[0] != now:
            self._heaviest = (now, model_of(predictor, keep=self.keep))
        found: Models = self._heaviest[1]
        return found

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
        return metadata | self._column_metadata()
