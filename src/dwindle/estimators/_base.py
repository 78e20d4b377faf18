"""The base class of the classifier and the regressor: all but what a label means."""

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Self, TypeVar, cast
from warnings import warn

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from dwindle._base.errors import DataError, SettingError
from dwindle.algorithm.settings import LearnerSettings, option, options_of
from dwindle.data.options import ReadOptions, kept_reading
from dwindle.engine.learner import Learner
from dwindle.estimators._columns import HasColumns
from dwindle.estimators._data import Coding, Data, FileExamples, MatrixRows
from dwindle.estimators._one_vs_rest import OneVsRest, Predictors, Table
from dwindle.model.model import save_models
from dwindle.runs.build import make_learner
from dwindle.runs.run_data import Passes
from dwindle.runs.settings import RunSettings, number_or_file

Path = str | os.PathLike[str]
Fit = TypeVar("Fit", bound=Callable[..., Any])


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
    columns: Any = None
    ngrams: int = 1
    counts: bool = False
    verbose: bool = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_predictors")

    @property
    def coef_(self) -> Any:
        """The weight of each column: a sparse array, unless `densify` was called.

        A model learned from a file has names instead of columns: see `weights`.
        """
        listed = self._kept.weights()
        if not hasattr(self, "n_features_in_"):
            raise AttributeError("a model learned from a file has no columns: see weights()")
        found = self._in_shape([self._by_column(*each) for each in listed], self.n_features_in_)
        return found.toarray() if self._dense else found

    @property
    def n_kept_(self) -> int:
        """Number of features whose weight is not zero, for one class at least."""
        return len(np.unique(np.concatenate([key for key, _ in self._kept.weights()])))

    @property
    def t_(self) -> int:
        """Number of examples learned from so far, those of every pass counted."""
        predictors = self._fitted
        return (
            predictors.n_steps
            if isinstance(predictors, OneVsRest)
            else int(self._said.get("examples", 0)) * int(self._said.get("passes", 1))
        )

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
        found = [member.explain(batch) for member in self._kept.members]
        return found[0] if len(found) == 1 else dict(zip(self.classes_, found, strict=True))

    def save(self, path: Path) -> int:
        """Write a model file, as ``dwindle train`` does, for `dwindle.load`; returns its size."""
        models = self._kept.models(self._metadata())
        return models[0].save(path) if len(models) == 1 else save_models(path, models)

    # What differs: what a label is, and how weights are shown.

    @abstractmethod
    def _begun(self, y: NDArray[Any]) -> NDArray[Any]:
        """Code labels as numbers, and remember how."""

    @abstractmethod
    def _coded(self, y: NDArray[Any]) -> NDArray[Any]:
        """Code labels as numbers, as remembered."""

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

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Learn anew from all the rows."""
        self.check()
        if self.early_stopping and isinstance(self.holdout, str):
            raise SettingError(f"holdout must be a number for a matrix, got {self.holdout!r}")
        batch, y, weight, number = self._present(X, y, sample_weight, reset=True)
        if len(y) == 0:
            raise ValueError("every sample_weight is zero: there is nothing to learn from")
        label = self._begun(y)
        batch = batch.labelled(label, self._importance(label, weight, whole=True))
        shuffled = check_random_state(self.random_state).permutation if self.shuffle else None
        held = self.holdout if self.early_stopping else None
        self._begin(MatrixRows(batch, number, held, shuffled), said={})
        return self

    def _fit_file(
        self, paths: tuple[Path, ...], coded: Coding, classes: int, how: ReadOptions, skip_bad: bool
    ) -> Self:
        """Learn anew from files."""
        self.check()
        held = self.holdout if self.early_stopping else None
        how = self._as_said(how)
        with closing(Passes([os.fspath(path) for path in paths], how, held, warn)) as data:
            if isinstance(held, str) and data.holdout is not None:
                data.holdout.read()
            files = FileExamples(data, coded, skip_bad=skip_bad)
            self._begin(files, said={}, classes=classes)
            self._said = {"reading": kept_reading(data.reading)}
            self._schema = data.reading.schema
        if self.t_ == 0:
            raise DataError(f"{' '.join(map(str, paths))}: no examples to learn from")
        self._forget_columns()
        return self

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, *, first: bool) -> Self:
        """Go on learning from these rows, once, in order."""
        batch, y, weight, number = self._present(X, y, sample_weight, reset=first)
        label = self._coded(y)
        rows = MatrixRows(
            batch.labelled(label, self._importance(label, weight, whole=False)), number
        )
        learners = self._learners(rows, first=first)
        for examples in rows.learned():
            learners.learn_from(examples)
        return self

    def _partial_fit_file(
        self,
        paths: tuple[Path, ...],
        coded: Coding,
        how: ReadOptions,
        *,
        first: bool,
        skip_bad: bool,
    ) -> Self:
        """Go on learning from files, once, with the columns of the first ones."""
        how = self._as_said(how)
        how = how if first else replace(how, schema=self._schema)
        with closing(Passes([os.fspath(path) for path in paths], how, None, warn)) as data:
            files = FileExamples(data, coded, skip_bad=skip_bad)
            learners = self._learners(files, first=first)
            table = Table(learners) if self.verbose else None
            for examples in files.learned(more=False):
                learners.learn_from(examples, table)
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

    def _begin(self, data: Data, said: Mapping[str, Any], classes: int | None = None) -> None:
        """Learn anew from the data."""
        learners = self._new_learners(self._classes if classes is None else classes)
        self._refuse(data, learners)
        table = Table(learners, self.passes) if self.verbose else None
        self.n_iter_ = learners.fit(data, self, table)
        self._predictors, self._said = learners, said

    def _learners(self, data: Data, *, first: bool) -> OneVsRest:
        """Return the learners, new ones the first time, if they can learn from the data."""
        if first:
            self.check()
            learners = self._new_learners(self._classes)
            self._refuse(data, learners)
            self._predictors, self._said, self.n_iter_ = learners, {}, 1
            return learners
        found = self._fitted
        if not isinstance(found, OneVsRest):
            raise TypeError("a loaded model predicts and cannot go on learning: begin with fit")
        for name, then in self._made_of.items():
            now = getattr(self, name)
            if now is not then and now != then:
                raise SettingError(
                    f"{name} was {then!r} when the learning began, and now it is {now!r}: "
                    "set it back, or begin anew with fit"
                )
        self._refuse(data, found)
        return found

    @staticmethod
    def _refuse(data: Data, learners: OneVsRest) -> None:
        """Refuse labels that cannot be used; those of classes are checked where they are coded."""
        if learners.classes == 0:
            data.check(learners.members[0])

    def _new_learners(self, classes: int) -> OneVsRest:
        self._made_of = {name: getattr(self, name) for name in options_of(LearnerSettings)}
        return OneVsRest(self._learner, classes)

    def _learner(self) -> Learner:
        return make_learner(self, self._loss)

    def _restored(self, predictors: Predictors, metadata: Mapping[str, Any]) -> Self:
        """Predict as the models of a file with this metadata do."""
        self._predictors, self._said = predictors, metadata
        self._restore_columns(metadata)
        return self

    # What was learned.

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """Predict each row with each member, before any link."""
        return self._kept.predict(self._examples(X))

    @property
    def _loss(self) -> Any:
        loss = self.ingredients().loss
        return self._default_loss if loss is None else loss

    @property
    def _classes(self) -> int:
        """Number of classes; 0 if labels are numbers."""
        return len(getattr(self, "classes_", ()))

    @property
    def _fitted(self) -> Predictors:
        if not hasattr(self, "_predictors"):
            raise NotFittedError(
                f"this {type(self).__name__} has not learned anything yet: call fit"
            )
        return self._predictors

    @property
    def _kept(self) -> Predictors:
        """What predicts: with ``keep``, only the heaviest features."""
        predictors = self._fitted
        return predictors.heaviest(self.keep) if isinstance(predictors, OneVsRest) else predictors

    def _metadata(self) -> dict[str, Any]:
        """Return what a model file says beside the weights."""
        predictors = self._fitted
        metadata = dict(self._said)
        if isinstance(predictors, OneVsRest):
            tables = [learner.table for learner in predictors.members]
            metadata |= self._target_metadata() | {
                "examples": predictors.examples,
                "seen": max(table.n_seen for table in tables),
                "peak_live": max(table.peak for table in tables),
                "passes": self.n_iter_,
            }
        return metadata | self._column_metadata()
