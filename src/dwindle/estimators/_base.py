"""What the two estimators share: scikit-learn's conventions, all but what a label means."""

import os
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import wraps
from typing import Any, Self, TypeVar, cast
from warnings import warn

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from dwindle._base.errors import DataError, SettingError
from dwindle.algorithm.by_name import loss_called, schedule_of, shrinkage_called, update_called
from dwindle.data.options import ReadOptions, kept_reading
from dwindle.engine.learner import Learner
from dwindle.estimators._columns import HasColumns
from dwindle.estimators._one_vs_rest import Coding, Data, Files, Panel, Rows, Team, Watch
from dwindle.features.batch import Batch
from dwindle.model.model import save_models
from dwindle.runs.passes import Passes

Path = str | os.PathLike[str]
Fit = TypeVar("Fit", bound=Callable[..., Any])
# What a learner is made of: it cannot change while the learning goes on.
MADE_OF = (
    "loss", "shrinkage", "gravity", "truncate_every", "threshold", "update", "average",
    "learning_rate", "power_t", "pass_decay",
)  # fmt: skip
LEAST = {"passes": 1, "cooldown": 0, "patience": 1, "holdout": 2, "keep": 0}


def all_or_nothing(fit: Fit) -> Fit:
    """Decorates what learns anew: if it fails, the estimator is as it was before."""

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


class TruncatedGradient(HasColumns):
    """What the classifier and the regressor share: all but what a label means."""

    _default_loss: Any
    _panel: Panel
    _dense = False  # whether `coef_` is a dense array
    _said: Mapping[str, Any] = {}

    def __init__(
        self,
        *,
        loss: Any = "auto",
        shrinkage: Any = "truncation",
        gravity: float = 0.0,
        truncate_every: int = 1,
        threshold: float | None = None,
        update: Any = "adaptive",
        average: bool = False,
        learning_rate: Any = None,
        power_t: float = 0.0,
        passes: int = 1,
        pass_decay: float = 1.0,
        cooldown: int = 0,
        max_live: int | None = None,
        keep: int | None = None,
        shuffle: bool = True,
        random_state: Any = 0,
        early_stopping: bool = False,
        holdout: Any = 10,
        patience: int = 3,
        verbose: bool = False,
    ) -> None:
        self.loss = loss
        self.shrinkage = shrinkage
        self.gravity = gravity
        self.truncate_every = truncate_every
        self.threshold = threshold
        self.update = update
        self.average = average
        self.learning_rate = learning_rate
        self.power_t = power_t
        self.passes = passes
        self.pass_decay = pass_decay
        self.cooldown = cooldown
        self.max_live = max_live
        self.keep = keep
        self.shuffle = shuffle
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.holdout = holdout
        self.patience = patience
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_panel")

    @property
    def coef_(self) -> Any:
        """The weight of each column as it stands now: a sparse array, unless `densify` was called.

        What was learned from a file has names instead of columns: see `weights`.
        """
        listed = self._kept.weights()
        if not hasattr(self, "n_features_in_"):
            raise AttributeError("what was learned from a file has no columns: see weights()")
        found = self._in_shape([self._by_column(*each) for each in listed], self.n_features_in_)
        return found.toarray() if self._dense else found

    @property
    def n_kept_(self) -> int:
        """Features whose weight is not zero, for one class at least."""
        return len(np.unique(np.concatenate([key for key, _ in self._kept.weights()])))

    @property
    def t_(self) -> int:
        """Examples learned from so far, those of every pass counted."""
        panel = self._fitted
        return panel.n_steps if isinstance(panel, Team) else int(self._said.get("examples", 0))

    def sparsify(self) -> Self:
        """`coef_` is a scipy sparse array, as it was from the beginning."""
        self._dense = not self._fitted
        return self

    def densify(self) -> Self:
        """`coef_` is a NumPy array; what is kept in memory stays sparse."""
        self._dense = bool(self._fitted)
        return self

    def explain(self, x: Any) -> Any:
        """What each live feature of one row adds to its prediction: see `Explanation`.

        The row is a dict, or X with one row. Of more than two classes, one for each by its name.
        """
        batch = Batch.from_dicts([x]) if isinstance(x, Mapping) else self._examples(x)
        found = [member.explain(batch) for member in self._kept.members]
        return found[0] if len(found) == 1 else dict(zip(self.classes_, found, strict=True))

    def save(self, path: Path) -> int:
        """Write the model, as ``dwindle train`` does; `load` gives it back. Returns its size."""
        models = self._kept.models(self._metadata())
        return models[0].save(path) if len(models) == 1 else save_models(path, models)

    # What differs: what a label is, and how weights are shown.

    @abstractmethod
    def _begun(self, y: NDArray[Any]) -> NDArray[Any]:
        """Labels as numbers; what they are is settled here."""

    @abstractmethod
    def _coded(self, y: NDArray[Any]) -> NDArray[Any]:
        """Labels as numbers, as it was settled before."""

    @abstractmethod
    def _importance(self, label: NDArray[Any], weight: Any, *, whole: bool) -> Any:
        """How much each example counts; ``whole`` if these are all there are."""

    @abstractmethod
    def _in_shape(self, rows: list[tuple[Any, Any]], n: int) -> Any:
        """The columns and weights of each member as one sparse array."""

    @abstractmethod
    def _target_metadata(self) -> dict[str, Any]:
        """What a model file says of the labels."""

    # Learning.

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Learn anew from all the rows."""
        self._check()
        if self.early_stopping and isinstance(self.holdout, str):
            raise SettingError(f"holdout must be a number for a matrix, got {self.holdout!r}")
        batch, y, weight, number = self._present(X, y, sample_weight, reset=True)
        if len(y) == 0:
            raise ValueError("every sample_weight is zero: there is nothing to learn from")
        label = self._begun(y)
        batch = batch.labelled(label, self._importance(label, weight, whole=True))
        shuffled = check_random_state(self.random_state).permutation if self.shuffle else None
        held = self.holdout if self.early_stopping else None
        self._begin(Rows(batch, number, held, shuffled), said={})
        return self

    def _fit_file(
        self, paths: tuple[Path, ...], coded: Coding, classes: int, how: ReadOptions, skip_bad: bool
    ) -> Self:
        """Learn anew from files."""
        self._check()
        held = self.holdout if self.early_stopping else None
        with closing(Passes([os.fspath(path) for path in paths], how, held, warn)) as data:
            if isinstance(held, str) and data.holdout is not None:
                data.holdout.read()
            files = Files(data, coded, skip_bad=skip_bad)
            self._begin(files, said={"reading": kept_reading(how)}, classes=classes)
        if self.t_ == 0:
            raise DataError(f"{' '.join(map(str, paths))}: no examples to learn from")
        self._forget_columns()
        return self

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, *, first: bool) -> Self:
        """Go on learning from these rows, once, in order."""
        batch, y, weight, number = self._present(X, y, sample_weight, reset=first)
        label = self._coded(y)
        rows = Rows(batch.labelled(label, self._importance(label, weight, whole=False)), number)
        team = self._team(rows, first=first)
        team.follow(rows.learned(more=False))
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
        """Go on learning from files, once."""
        with closing(Passes([os.fspath(path) for path in paths], how, None, warn)) as data:
            files = Files(data, coded, skip_bad=skip_bad)
            team = self._team(files, first=first)
            team.follow(files.learned(more=False), Watch(team) if self.verbose else None)
        self._said = {"reading": kept_reading(how)}
        return self

    def _begin(self, data: Data, said: Mapping[str, Any], classes: int | None = None) -> None:
        """Learners that knew nothing have gone over the data."""
        team = self._new_team(self._classes if classes is None else classes)
        data.check(team)
        watch = Watch(team) if self.verbose else None
        self.n_iter_ = team.fit(data, self.passes, self.cooldown, self.patience, watch)
        self._panel, self._said = team, said

    def _team(self, data: Data, *, first: bool) -> Team:
        """The learners, which can learn from the data; they go on, unless it is the first time."""
        if first:
            self._check()
            team = self._new_team(self._classes)
            data.check(team)
            self._panel, self._said, self.n_iter_ = team, {}, 1
            return team
        found = self._fitted
        if not isinstance(found, Team):
            raise TypeError("a loaded model predicts and cannot go on learning: begin with fit")
        for name, then in self._made_of.items():
            now = getattr(self, name)
            if now is not then and now != then:
                raise SettingError(
                    f"{name} was {then!r} when the learning began, and now it is {now!r}: "
                    "set it back, or begin anew with fit"
                )
        data.check(found)
        return found

    def _new_team(self, classes: int) -> Team:
        self._made_of = {name: getattr(self, name) for name in MADE_OF}
        return Team(self._learner, classes)

    def _learner(self) -> Learner:
        update = update_called(self.update, average=self.average)
        return Learner(
            self._loss,
            shrinkage_called(self.shrinkage, self.gravity, self.truncate_every, self.threshold),
            update,
            schedule_of(update, self.learning_rate, self.power_t, self.pass_decay),
            max_live=self.max_live,
        )

    def _check(self) -> None:
        """Refuse, by name, what no run could use; the learner does so with the rest."""
        for name, least in LEAST.items():
            value = getattr(self, name)
            if (name == "keep" and value is None) or (name == "holdout" and isinstance(value, str)):
                continue
            if not isinstance(value, int | np.integer) or value < least:
                raise SettingError(f"{name} must be a whole number, {least} or more, got {value!r}")

    def _restored(self, panel: Panel, metadata: Mapping[str, Any]) -> Self:
        """It predicts as the models of a file do, which says these metadata."""
        self._panel, self._said = panel, metadata
        self._restore_columns(metadata)
        return self

    # What was learned.

    def _scores(self, X: Any) -> NDArray[np.float64]:
        """The prediction of each member for each row, before any link."""
        return self._kept.predict(self._examples(X))

    @property
    def _loss(self) -> Any:
        loss = loss_called(self.loss)
        return self._default_loss if loss is None else loss

    @property
    def _classes(self) -> int:
        """How many classes there are; 0 if labels are numbers."""
        return len(getattr(self, "classes_", ()))

    @property
    def _fitted(self) -> Panel:
        if not hasattr(self, "_panel"):
            raise NotFittedError(
                f"this {type(self).__name__} has not learned anything yet: call fit"
            )
        return self._panel

    @property
    def _kept(self) -> Panel:
        """What predicts: with ``keep``, by the heaviest features alone."""
        panel = self._fitted
        return panel.heaviest(self.keep) if isinstance(panel, Team) else panel

    def _metadata(self) -> dict[str, Any]:
        """What a model file says beside the weights."""
        panel = self._fitted
        metadata = dict(self._said)
        if isinstance(panel, Team):
            tables = [learner.table for learner in panel.members]
            metadata |= self._target_metadata() | {
                "examples": self.t_,
                "seen": max(table.seen.count() for table in tables),
                "peak_live": max(table.peak for table in tables),
                "pass": self.n_iter_,
            }
        return metadata | self._column_metadata()
