"""The regressor for scikit-learn."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from sklearn.base import RegressorMixin

from dwindle.algorithm.losses import Squared, link
from dwindle.data.labels import Labels
from dwindle.data.options import ReadOptions
from dwindle.estimators._base import TruncatedGradient, all_or_nothing
from dwindle.estimators._fitting import members_of
from dwindle.estimators._learned import Path


@dataclass(kw_only=True, eq=False, repr=False)
class TruncatedGradientRegressor(RegressorMixin, TruncatedGradient):
    """A sparse linear regressor, learned by truncated gradient.

    The parameters are the options of ``dwindle train``, with the same defaults and meaning:
    docs/scikit-learn.md explains each. `coef_` is one row, as of scikit-learn's linear regressors,
    but sparse. With the Poisson loss, predictions are means: exp of the linear model.

    >>> X = np.eye(3)[np.arange(300) % 3]
    >>> regressor = TruncatedGradientRegressor(gravity=0.01).fit(X, X @ [0.0, 1.0, 3.0])
    >>> regressor.coef_.shape, bool(abs(regressor.predict([[0, 0, 1]])[0] - 3) < 0.2)
    ((3,), True)
    """

    _default_loss = Squared()
    _file_kind, _score_name = "score", "r2"
    _target_rules: ClassVar[Mapping[str, Any]] = {"y_numeric": True}

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None, feature_names: Any = None) -> Self:
        """Learn anew from all the rows; a row of weight 0 is as if it were not there.

        ``feature_names`` are for the columns of a matrix: see `name_features`.
        """
        return self._fit(X, y, sample_weight, feature_names)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on learning from these rows, in order."""
        return self._partial_fit(X, y, sample_weight, first=not hasattr(self, "_predictor"))

    @all_or_nothing
    def fit_file(
        self, *paths: Path, reading: ReadOptions | None = None, skip_bad: bool = False
    ) -> Self:
        """Learn anew from files, folders, globs or pipes, in order, as ``dwindle train`` does."""
        return self._fit_file(paths, Labels(), reading or ReadOptions(), skip_bad)

    def partial_fit_file(
        self, *paths: Path, reading: ReadOptions | None = None, skip_bad: bool = False
    ) -> Self:
        """Go on learning from files, once, in order."""
        first, how = not hasattr(self, "_predictor"), reading or ReadOptions()
        return self._partial_fit_file(paths, Labels(), how, first=first, skip_bad=skip_bad)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict each row: the mean, where the loss has a link."""
        return np.asarray(link(self._loss, self._scores(X)))

    def predict_file(
        self, *paths: Path, reading: ReadOptions | None = None, skip_bad: bool = False
    ) -> NDArray[np.float64]:
        """Predict the examples of files, in order, as `fit_file` reads them."""
        scores = super().predict_file(*paths, reading=reading, skip_bad=skip_bad)
        return np.asarray(link(self._loss, scores))

    @property
    def intercept_(self) -> float:
        """The weight of the constant 1; never shrunk."""
        return float(members_of(self._kept)[0].intercept)

    def weights(self) -> dict[str, float]:
        """Return the weight of each feature by name, heaviest first."""
        return self._models()[0].weights()

    def _begun(self, y: NDArray[Any]) -> NDArray[Any]:
        return y

    def _coded(self, y: NDArray[Any]) -> NDArray[Any]:
        return y

    def _target(self, code: NDArray[Any]) -> NDArray[Any]:
        return code

    def _importance(self, label: NDArray[Any], weight: Any, *, whole: bool) -> Any:  # noqa: ARG002  (numbers have no classes)
        return weight

    def _in_shape(self, rows: list[tuple[Any, Any]], n: int) -> Any:
        [(column, weight)] = rows
        return coo_array((weight, (column,)), shape=(n,)).tocsr()

    def _target_metadata(self) -> dict[str, Any]:
        return {}
