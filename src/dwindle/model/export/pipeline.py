"""A scikit-learn pipeline with the weights of a model.

Its steps are scikit-learn's own, so it is saved and served without dwindle: `DictVectorizer`, which
reads dicts as dwindle does (a text is the feature ``name=text``), the products of features if the
model has some, and a linear model.
"""

from math import comb
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, LabelBinarizer, PolynomialFeatures
from sklearn.svm import LinearSVC

from dwindle._base.errors import SettingError
from dwindle.algorithm.losses import (
    BinaryClippedSquared,
    ClippedSquared,
    Hinge,
    Logistic,
    Poisson,
    boundary,
    clipped,
)
from dwindle.model.classes import ClassModels
from dwindle.model.export.linear import Linear, linear_of
from dwindle.model.loading import opened

MOST_COLUMNS = 20_000_000  # of all products of the features that are part of one


def to_sklearn(model: Any, keep: int | None = None) -> Any:
    """Make a fitted scikit-learn Pipeline that predicts as a model does, from dicts of features.

    Classes have ``predict_proba`` and ``decision_function`` as in scikit-learn, numbers
    ``predict``. ``model`` is a `Model` or the name of its file.
    """
    trained = opened(model, keep)
    linear = linear_of(trained)
    names = linear.names()
    if not names:
        raise SettingError("the model keeps no feature: there is nothing for a pipeline to read")
    vectorizer = DictVectorizer().fit([dict.fromkeys(names, 1.0)])
    column = [vectorizer.vocabulary_[name] for name in names]
    steps: list[tuple[str, Any]] = [("features", vectorizer)]
    coefficients, products = _coefficients(linear, column)
    if products is not None:
        steps.append(("products", products))
    steps.append(("model", _linear_model(trained, linear, coefficients)))
    return Pipeline(steps)


def _coefficients(linear: Linear, column: list[int]) -> tuple[Any, Any]:
    """Return the weight of each column, by class, and the step that multiplies, if one is needed.

    That step has first the products, of all orders, of the columns that are part of one, as
    `PolynomialFeatures` orders them, and then all other columns.
    """
    n, n_classes = len(column), len(linear.intercept)
    if linear.degree == 1:
        found = np.zeros((n_classes, n))
        for (j,), weight in linear.of_degree(1):
            found[:, column[j]] = weight
        return found, None

    factors = sorted({column[j] for term in linear.terms if len(term) > 1 for j in term})
    n_products = comb(len(factors) + linear.degree, linear.degree) - 1
    if n_products > MOST_COLUMNS:
        raise SettingError(
            f"{len(factors):,} features are part of products: scikit-learn would make "
            f"{n_products:,} columns of them: export to js, c or sql-join"
        )
    polynomial = PolynomialFeatures(linear.degree, include_bias=False)
    step = ColumnTransformer([("products", polynomial, factors)], remainder="passthrough")
    step.fit(csr_array(np.ones((1, n))))
    powers = polynomial._combinations(  # noqa: SLF001  (powers_ would be a dense table)
        len(factors), 1, linear.degree, interaction_only=False, include_bias=False
    )
    place = {tuple(factors[i] for i in each): at for at, each in enumerate(powers)}
    rest = [j for j in range(n) if j not in set(factors)]
    place |= {(j,): n_products + at for at, j in enumerate(rest)}
    found = np.zeros((n_classes, n_products + len(rest)))
    for term, weight in zip(linear.terms, linear.weight, strict=True):
        found[:, place[tuple(sorted(column[j] for j in term))]] += weight
    return found, step


def _linear_model(model: Any, linear: Linear, coefficients: Any) -> Any:
    """Return scikit-learn's model of this loss, as if it had been fitted."""
    loss = model.loss
    if isinstance(model, ClassModels):
        several = OneVsRestClassifier(_classifier(loss))
        several.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(linear.classes)
        known = linear.classes or []
        order = [known.index(each) for each in several.label_binarizer_.classes_.tolist()]
        several.estimators_ = [
            _fitted(_classifier(loss), coefficients[k : k + 1], linear.intercept[k : k + 1], [0, 1])
            for k in order
        ]
        several.classes_ = several.label_binarizer_.classes_
        several.n_features_in_ = coefficients.shape[1]
        return several
    if isinstance(loss, Logistic | Hinge | BinaryClippedSquared):
        classes, constant = linear.labels or [-1.0, 1.0], linear.intercept - boundary(loss)
        return _fitted(_classifier(loss), coefficients, constant, classes)
    if isinstance(loss, Poisson):
        found = _fitted(PoissonRegressor(), coefficients[0], float(linear.intercept[0]))
        found._base_loss = found._get_loss()  # noqa: SLF001  (fit makes it)
        return found
    linear_model = _fitted(LinearRegression(), coefficients[0], float(linear.intercept[0]))
    if not isinstance(loss, ClippedSquared):
        return linear_model
    found = TransformedTargetRegressor(linear_model, inverse_func=clipped, check_inverse=False)
    found.regressor_, found._training_dim = linear_model, 1  # noqa: SLF001  (fit sets them)
    found.transformer_ = FunctionTransformer(inverse_func=clipped, check_inverse=False)
    return found


def _classifier(loss: Any) -> Any:
    return LogisticRegression() if isinstance(loss, Logistic) else LinearSVC()


def _fitted(estimator: Any, coefficients: Any, intercept: Any, classes: Any = None) -> Any:
    estimator.coef_, estimator.intercept_ = coefficients, intercept
    estimator.n_features_in_ = coefficients.shape[-1]
    if classes is not None:
        estimator.classes_ = np.array(classes)
    return estimator
