"""The regressor for scikit-learn."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from sklearn.base import RegressorMixin

from dwindle.algorithm.losses import Squared, link
from dwindle.data.formats.block import Parsed
from dwindle.data.options import ReadOptions
from dwindle.estimators._base import Path, TruncatedGradient, all_or_nothing
from dwindle.features.batch import Batch


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
    _target_rules: ClassVar[Mapping[str, Any]] = {"y_numeric": True}

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn anew from all the rows; a row of weight 0 is as if it were not there."""
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Go on learning from these rows, in order."""
        return self._partial_fit(X, y, sample_weight, first=not hasattr(self, "_predictors"))

    @all_or_nothing
    def fit_file(
        self, *paths: Path, reading: ReadOptions | None = None, skip_bad: bool = False
    ) -> Self:
        """Learn anew from files, folders, globs or pipes, in order, as ``dwindle train`` does."""
        return self._fit_file(paths, _as_it_is, 0, reading or ReadOptions(), skip_bad)

    def partial_fit_file(
        self, *paths: Path, reading: ReadOptions | None = None, skip_bad: bool = False
    ) -> Self:
        """Go on learning from files, once, in order."""
        first, how = not hasattr(self, "_predictors"), reading or ReadOptions()
        return self._partial_fit_file(paths, _as_it_is, how, first=first, skip_bad=skip_bad)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict each row: the mean, where the loss has a link."""
        scores = self._scores(X)[:, 0]
        return np.asarray(link(self._loss, scores))

    @property
    def intercept_(self) -> float:
        """The weight of the constant 1; never shrunk."""
        return float(self._kept.intercepts[0])

    def weights(self) -> dict[str, float]:
        """Return the weight of each feature by name, heaviest first."""
        return self._kept.models({})[0].weights()

    def _begun(self, y: NDArray[Any]) -> NDArray[Any]:
        return y

    def _coded(self, y: NDArray[Any]) -> NDArray[Any]:
        return y

    def _importance(self, label: NDArray[Any], weight: Any, *, whole: bool) -> Any:  # noqa: ARG002  (numbers have no classes)
        return weight

    def _in_shape(self, rows: list[tuple[Any, Any]], n: int) -> Any:
        [(column, weight)] = rows
        return coo_array((weight, (column,)), shape=(n,)).tocsr()

    def _target_metadata(self) -> dict[str, Any]:
        return {}


def _as_it_is(parsed: Parsed) -> Batch:
    return parsed.batch
