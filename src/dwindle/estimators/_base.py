"""The base class of the classifier and the regressor: all but what a label means."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar, cast

from numpy.typing import NDArray
from sklearn.utils import check_random_state

from dwindle._base.errors import DataError, SettingError
from dwindle._base.notes import warn
from dwindle.algorithm.settings import LearnerSettings, option, options_of
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions, as_before, kept_reading
from dwindle.engine.lane_scores import Choice
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.estimators._data import Data, FileExamples, MatrixRows
from dwindle.estimators._fitting import Fitting, Learners, Models
from dwindle.estimators._learned import HasLearned, Path, texts_of
from dwindle.model.path import Path as LanePath
from dwindle.runs.build import choice_of, make_learners
from dwindle.runs.run_data import Passes
from dwindle.runs.settings import RunSettings, number_or_file
from dwindle.runs.theory import with_theory

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
class TruncatedGradient(HasLearned, RunSettings):
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

    _default_loss: ClassVar[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # What differs: what a label is.

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

    @property
    def _loss(self) -> Any:
        loss = self.ingredients().loss
        return self._default_loss if loss is None else loss

    @property
    def _choice(self) -> Choice:
        return choice_of(self, self._classes)

    @property
    def _classes(self) -> int:
        """Number of classes; 0 if labels are numbers."""
        return len(getattr(self, "classes_", ()))

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
            if warm:
                return deepcopy(self._learning(data))
            return self._new_learner(classes(), data, whole=True)

        fitting = Fitting(made, verbose=self.verbose, passes=self.passes)
        self.n_iter_ = fitting.fit(data, self)
        if fitting.learner is None:
            raise DataError(f"{data.name}: no examples to learn from")
        if not warm:
            self._said, self._feature_names, self._cooled, self._n_examples = {}, None, 0, 0
        self._predictor, self._heaviest = fitting.learner, {}
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
            self._feature_names, self._heaviest = None, {}
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
        elif not model.has_state:
            warn("the model was saved without its state: only the features that it kept go on")
        self._n_examples = int(self._said.get("examples", 0))
        self.n_iter_, self._heaviest = int(self._said.get("passes", 1)), {}
        self._cooled = self._predictor.n_steps - before

    def _new_learner(self, classes: int, data: Data, *, whole: bool = False) -> Learners:
        """Make a learner, or one for each of several classes, that can learn from the data.

        It is the ``whole`` data if nothing more is to be learned from.
        """
        self._made_of = {name: getattr(self, name) for name in options_of(LearnerSettings)}
        rated = with_theory(self, data.everything(), self._loss, self.passes) if whole else self
        learner = make_learners(rated, self._loss, classes)
        if isinstance(learner, Learner):
            data.check(learner)
        return learner

    def _restored(self, predictor: Models, path: LanePath | None) -> Self:
        """Predict as the models of a file do, which may be picked from a path."""
        metadata = predictor.metadata
        self._predictor, self._path, self._said = predictor, path, metadata
        self._restore_columns(metadata)
        return self
