"""The classifier for scikit-learn."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from dwindle._base.errors import SettingError
from dwindle.algorithm.losses import (
    Logistic,
    accepted_labels,
    boundary,
    for_classes,
    has_probabilities,
    link,
    log_probabilities,
)
from dwindle.algorithm.settings import with_defaults
from dwindle.data.labels import Labels, balanced
from dwindle.data.options import ReadOptions
from dwindle.data.sources import once_only
from dwindle.data.stream import read
from dwindle.estimators._base import TruncatedGradient, all_or_nothing
from dwindle.estimators._fitting import members_of
from dwindle.estimators._learned import Path, texts_of
from dwindle.model.classes import class_log_probabilities
from dwindle.runs.settings import BALANCED, PAPER

BOTH = np.array([-1, 1], np.float32)  # what two classes are to a loss


def _has_probabilities(estimator: Any) -> bool:
    loss = estimator._loss  # noqa: SLF001  (a method, in all but place: see available_if)
    if not has_probabilities(loss):
        raise AttributeError(f"probabilities need a loss with a link, such as logistic, not {loss}")
    return True


@dataclass(kw_only=True, eq=False, repr=False)
class TruncatedGradientClassifier(ClassifierMixin, TruncatedGradient):
    """A sparse linear classifier, learned by truncated gradient.

    The parameters are the options of ``dwindle train``, with the same defaults and meaning:
    docs/scikit-learn.md explains each. More than two classes are learned one-vs-rest, in one walk
    over the data. The same rows give the same weights, to the bit, in any batching.

    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = TruncatedGradientClassifier(gravity=1e-4, passes=5, keep=40).fit(X, y)
    >>> model.score(X, y) > 0.9, model.coef_.shape, model.coef_.nnz
    (True, (10, 64), 400)
    """

    _default_loss = Logistic()
    _file_kind, _score_name = "label", "accuracy"
    _target_rules: ClassVar[Mapping[str, Any]] = {}

    class_weight: Any = None

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, feature_names: Any = None) -> Self:
        """Learn anew from all the rows; a row of weight 0 is as if it were not there.

        ``feature_names`` are for the columns of a matrix: see `name_features`.
        """
        return self._fit(X, y, sample_weight, feature_names)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Go on learning from these rows, in order; the first call must name all classes."""
        return self._partial_fit(X, y, sample_weight, first=self._named_classes(classes))

    @all_or_nothing
    def fit_file(
        self,
        *paths: Path,
        classes: Any = None,
        reading: ReadOptions | None = None,
        skip_bad: bool = False,
    ) -> Self:
        """Learn anew from files, folders, globs or pipes, in order, as ``dwindle train`` does.

        Unless all ``classes`` are named, they are those of the first block: text, whole numbers, or
        -1 and 1, 0 and 1, or 1 and 2.
        """
        how = reading or ReadOptions()
        if classes is None and self._is_warm:
            classes = self.classes_
        labels = Labels() if classes is None else Labels.of(_plain(classes))
        if self.class_weight == BALANCED:
            if once_only(texts_of(paths)):
                raise SettingError(f"class_weight {BALANCED!r} reads the data twice: use a file")
            labels = balanced(labels, read(texts_of(paths), how))
        else:
            labels = Labels(labels.target, self._given_weights())
        self._fit_file(paths, labels, how, skip_bad)
        self._set_classes(labels.classes)
        return self

    def partial_fit_file(
        self,
        *paths: Path,
        classes: Any = None,
        reading: ReadOptions | None = None,
        skip_bad: bool = False,
    ) -> Self:
        """Go on learning from files, once, in order; the first call must name all classes."""
        first, how = self._named_classes(classes), reading or ReadOptions()
        labels = Labels(Labels.of(_plain(self.classes_)).target, self._given_weights())
        return self._partial_fit_file(paths, labels, how, first=first, skip_bad=skip_bad)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return scores: above 0 for the second of two classes; a column for each of several.

        With the clipped squared loss it is the prediction less 1/2.
        """
        scores = self._scores(X)
        return scores - boundary(self._loss) if scores.ndim == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row."""
        scores = self.decision_function(X)
        place = scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0).astype(int)
        return np.asarray(self.classes_[place])

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probability of each class; those of several are scaled to sum to 1."""
        if self._classes > 2:
            return np.asarray(np.exp(self.predict_log_proba(X)))
        positive = link(self._loss, self._scores(X))
        return np.column_stack([1.0 - positive, positive])

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict log probabilities, which are finite also where a probability rounds to 0."""
        scores = self._scores(X)
        if scores.ndim == 1:
            return np.column_stack(log_probabilities(self._loss, scores))
        return class_log_probabilities(self._loss, scores)

    def predict_file(
        self, *paths: Path, reading: ReadOptions | None = None, skip_bad: bool = False
    ) -> NDArray[Any]:
        """Predict the class of each example of files, in order, as `fit_file` reads them."""
        found = super().predict_file(*paths, reading=reading, skip_bad=skip_bad)
        return found.astype(self.classes_.dtype)

    @available_if(_has_probabilities)
    def predict_proba_file(
        self, *paths: Path, reading: ReadOptions | None = None, skip_bad: bool = False
    ) -> NDArray[np.float64]:
        """Predict the probability of each class for each example of files."""
        chance = self._predicted_file(paths, "probability", reading, skip_bad)
        return chance if chance.ndim > 1 else np.column_stack([1.0 - chance, chance])

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercept of each class, or of the second of two; never shrunk."""
        return np.array([each.intercept for each in members_of(self._kept)])

    def weights(self) -> dict[Any, Any]:
        """Return the weight of each feature by name, heaviest first; by class, if several."""
        named = [model.weights() for model in self._models()]
        return (
            named[0] if len(named) == 1 else dict(zip(self.classes_.tolist(), named, strict=True))
        )

    @property
    def _loss(self) -> Any:
        loss = for_classes(super()._loss)
        accepts, wanted = accepted_labels(loss)
        if accepts is not None and not accepts(BOTH).all():
            raise SettingError(f"{loss} cannot tell classes apart: its labels must be {wanted}")
        return loss

    def _begun(self, y: NDArray[Any]) -> NDArray[Any]:
        check_classification_targets(y)
        self._set_classes(np.unique(y))
        return self._coded(y)

    def _set_classes(self, classes: Any) -> None:
        found = np.unique(np.asarray(classes))
        if found.dtype.kind == "f" and (found == np.rint(found)).all():
            found = found.astype(np.int64)
        if len(found) < 2:
            raise ValueError(
                f"at least two classes are needed to tell them apart, got {len(found)} class"
            )
        self.classes_ = found

    def _named_classes(self, classes: Any) -> bool:
        """Tell whether this is the first call, which fixes the classes."""
        if not hasattr(self, "_predictor"):
            if classes is None:
                raise ValueError(
                    "classes must be given in the first call: later ones may be missing"
                )
            self._set_classes(classes)
            return True
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes were {self.classes_} in the first call, and now {classes}")
        return False

    def _coded(self, y: NDArray[Any]) -> NDArray[Any]:
        code = np.minimum(np.searchsorted(self.classes_, y), self._classes - 1)
        strange = self.classes_[code] != y
        if strange.any():
            raise ValueError(
                f"the label {y[strange].tolist()[0]!r} is not among the classes, which are "
                f"{', '.join(map(repr, self.classes_.tolist()))}"
            )
        return code.astype(np.float32)

    def _target(self, code: NDArray[Any]) -> NDArray[Any]:
        return code if self._classes > 2 else code * np.float32(2) - np.float32(1)

    def _importance(self, label: NDArray[Any], weight: Any, *, whole: bool) -> Any:
        if self.class_weight is None:
            return weight
        code, each = label.astype(np.int64), np.ones(self._classes)
        if isinstance(self.class_weight, Mapping):
            classes = self.classes_.tolist()
            strange = [name for name in self.class_weight if name not in classes]
            if strange and not self.class_weight.keys() >= {*classes}:
                raise SettingError(
                    f"class_weight names {strange[0]!r}, which is none of the classes: "
                    f"{', '.join(map(repr, classes))}"
                )
            each = np.array([self.class_weight.get(c, 1.0) for c in classes])
        elif whole and self.class_weight == BALANCED:
            present = np.bincount(code, weight, self._classes)
            each = present.sum() / (self._classes * np.where(present > 0, present, 1))
        else:
            self._refuse_class_weight()
        return each[code] if weight is None else weight * each[code]

    def _refuse_class_weight(self) -> NoReturn:
        """Refuse a class_weight that cannot be used here."""
        if self.class_weight == BALANCED:
            raise SettingError(
                "class_weight 'balanced' needs to see all the rows first: use fit, or give a dict"
            )
        raise SettingError(f"class_weight must be a dict or 'balanced', got {self.class_weight!r}")

    def _given_weights(self) -> Mapping[Any, float] | None:
        """Return the weights of classes, if they are given one by one."""
        given = self.class_weight
        if given is None or isinstance(given, Mapping):
            return given
        return self._refuse_class_weight()

    def _in_shape(self, rows: list[tuple[Any, Any]], n: int) -> Any:
        column, weight = (np.concatenate(part) for part in zip(*rows, strict=True))
        bound = np.cumsum([0, *(len(each) for each, _ in rows)])
        return csr_array((weight, column, bound), shape=(len(rows), n))

    def _target_metadata(self) -> dict[str, Any]:
        classes = _plain(self.classes_)
        return {"classes": classes, "labels": Labels.of(classes).signs()}


@dataclass(kw_only=True, eq=False, repr=False)
@with_defaults(PAPER)
class PaperClassifier(TruncatedGradientClassifier):
    """The classifier that the paper measured: `TruncatedGradientClassifier` with other defaults.

    Those of `PAPER`: its clipped squared loss, normalised predictions and plain updates, with a
    learning rate that halves after each pass. Each is a parameter as any other.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PaperClassifier(gravity=0.003, passes=5).fit(scale(X), y)
    >>> model.score(scale(X), y) > 0.9, model.predict_proba(scale(X)).max()
    (True, np.float64(1.0))
    """


def _plain(classes: Any) -> list[Any]:
    """Return classes as Python's numbers or strings, which a model file holds."""
    found: list[Any] = np.unique(np.asarray(classes)).tolist()
    return found
