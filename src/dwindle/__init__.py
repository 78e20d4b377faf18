"""Sparse linear models from streams, by truncated gradient (Langford, Li and Zhang)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dwindle._base.errors import DataError, DivergedError, SettingError
    from dwindle.algorithm.dual_averaging import FTRL, RDA
    from dwindle.algorithm.losses import (
        ClippedSquared,
        Hinge,
        Huber,
        Logistic,
        Poisson,
        Quantile,
        Squared,
    )
    from dwindle.algorithm.schedules import Schedule
    from dwindle.algorithm.shrinkage import NoShrinkage, Rounding, Subgradient, Truncation
    from dwindle.algorithm.updates import Adaptive, Averaged, Plain
    from dwindle.analysis.certificate import Certificate, certify
    from dwindle.engine.learner import Learner
    from dwindle.estimators.classifier import TruncatedGradientClassifier
    from dwindle.estimators.loading import load
    from dwindle.estimators.regressor import TruncatedGradientRegressor
    from dwindle.features.batch import Batch

# Imported when first asked for: `import dwindle` costs nothing, and no Numba.
_HOME = {
    "Adaptive": "algorithm.updates",
    "Averaged": "algorithm.updates",
    "Batch": "features.batch",
    "Certificate": "analysis.certificate",
    "ClippedSquared": "algorithm.losses",
    "DataError": "_base.errors",
    "DivergedError": "_base.errors",
    "FTRL": "algorithm.dual_averaging",
    "Hinge": "algorithm.losses",
    "Huber": "algorithm.losses",
    "Learner": "model.checkpoint",
    "Logistic": "algorithm.losses",
    "Plain": "algorithm.updates",
    "Poisson": "algorithm.losses",
    "Quantile": "algorithm.losses",
    "RDA": "algorithm.dual_averaging",
    "Rounding": "algorithm.shrinkage",
    "Schedule": "algorithm.schedules",
    "SettingError": "_base.errors",
    "Squared": "algorithm.losses",
    "Subgradient": "algorithm.shrinkage",
    "TruncatedGradientClassifier": "estimators.classifier",
    "TruncatedGradientRegressor": "estimators.regressor",
    "Truncation": "algorithm.shrinkage",
    "NoShrinkage": "algorithm.shrinkage",
    "certify": "analysis.certificate",
    "load": "estimators.loading",
}

__all__ = [
    "FTRL",
    "RDA",
    "Adaptive",
    "Averaged",
    "Batch",
    "Certificate",
    "ClippedSquared",
    "DataError",
    "DivergedError",
    "Hinge",
    "Huber",
    "Learner",
    "Logistic",
    "NoShrinkage",
    "Plain",
    "Poisson",
    "Quantile",
    "Rounding",
    "Schedule",
    "SettingError",
    "Squared",
    "Subgradient",
    "TruncatedGradientClassifier",
    "TruncatedGradientRegressor",
    "Truncation",
    "certify",
    "load",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"dwindle.{_HOME[name]}"), name)
    raise AttributeError(f"module 'dwindle' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
