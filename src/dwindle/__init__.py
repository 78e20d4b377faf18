"""Sparse linear models from streams, by truncated gradient (Langford, Li and Zhang)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dwindle._base.errors import DataError, DivergedError, SettingError
    from dwindle.algorithm.adaptive import Adaptive, Centred
    from dwindle.algorithm.dual_averaging import FTRL, RDA
    from dwindle.algorithm.losses import (
        BinaryClippedSquared,
        ClippedSquared,
        Hinge,
        Huber,
        Logistic,
        Poisson,
        Quantile,
        Squared,
    )
    from dwindle.algorithm.schedules import Schedule
    from dwindle.algorithm.shrinkage import (
        ElasticNet,
        LateRounding,
        LateTruncation,
        NoShrinkage,
        Rounding,
        Subgradient,
        Truncation,
    )
    from dwindle.algorithm.sigmas import Gravities, Sigmas
    from dwindle.algorithm.updates import Averaged, Plain
    from dwindle.analysis.certificate import Certificate, certify
    from dwindle.analysis.report import Report, report
    from dwindle.analysis.steps import Step, certify_steps
    from dwindle.data.frames import batch_of
    from dwindle.data.options import ReadOptions
    from dwindle.data.stream import read
    from dwindle.distributed.train import train
    from dwindle.engine.explain import Explanation
    from dwindle.engine.lane_scores import Choice, Lane
    from dwindle.engine.lanes import LaneLearner  # likewise
    from dwindle.engine.learner import Learner  # from model.checkpoint it can save and load
    from dwindle.estimators.classifier import PaperClassifier, TruncatedGradientClassifier
    from dwindle.estimators.loading import load
    from dwindle.estimators.regressor import TruncatedGradientRegressor
    from dwindle.features.batch import Batch
    from dwindle.model.export.pipeline import to_sklearn
    from dwindle.model.export.targets import export
    from dwindle.model.merge import merge
    from dwindle.model.model import Model
    from dwindle.model.path import Path
    from dwindle.model.vw_import import import_vw
    from dwindle.runs.convert import convert
    from dwindle.runs.evaluate import evaluate
    from dwindle.runs.explain import explain
    from dwindle.runs.metrics import accuracy, auc, average_precision
    from dwindle.runs.observer import Observer, Stopped
    from dwindle.runs.predict import predict
    from dwindle.runs.settings import TrainSettings
    from dwindle.runs.tune.grid import Grid
    from dwindle.runs.tune.tune import TuneSettings, tune

# Where each public name is defined. It is imported when first asked for, so that `import dwindle`
# costs nothing, and no Numba.
_HOMES = {
    "_base.errors": ("DataError", "DivergedError", "SettingError"),
    "algorithm.adaptive": ("Adaptive", "Centred"),
    "algorithm.dual_averaging": ("FTRL", "RDA"),
    "algorithm.losses": (
        *("BinaryClippedSquared", "ClippedSquared", "Hinge", "Huber", "Logistic", "Poisson"),
        *("Quantile", "Squared"),
    ),
    "algorithm.schedules": ("Schedule",),
    "algorithm.shrinkage": (
        *("ElasticNet", "LateRounding", "LateTruncation", "NoShrinkage", "Rounding"),
        *("Subgradient", "Truncation"),
    ),
    "algorithm.sigmas": ("Gravities", "Sigmas"),
    "algorithm.updates": ("Averaged", "Plain"),
    "analysis.certificate": ("Certificate", "certify"),
    "analysis.steps": ("Step", "certify_steps"),
    "data.frames": ("batch_of",),
    "data.options": ("ReadOptions",),
    "data.stream": ("read",),
    "engine.explain": ("Explanation",),
    "engine.lane_scores": ("Choice", "Lane"),
    "estimators.classifier": ("PaperClassifier", "TruncatedGradientClassifier"),
    "estimators.loading": ("load",),
    "estimators.regressor": ("TruncatedGradientRegressor",),
    "features.batch": ("Batch",),
    "model.checkpoint": ("LaneLearner", "Learner"),
    "model.export.pipeline": ("to_sklearn",),
    "model.export.targets": ("export",),
    "model.vw_import": ("import_vw",),
    "model.merge": ("merge",),
    "model.model": ("Model",),
    "model.path": ("Path",),
    "analysis.report": ("Report", "report"),
    "runs.convert": ("convert",),
    "runs.evaluate": ("evaluate",),
    "runs.explain": ("explain",),
    "runs.metrics": ("accuracy", "auc", "average_precision"),
    "runs.observer": ("Observer", "Stopped"),
    "runs.predict": ("predict",),
    "runs.settings": ("TrainSettings",),
    "distributed.train": ("train",),
    "runs.tune.grid": ("Grid",),
    "runs.tune.tune": ("TuneSettings", "tune"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "FTRL",
    "RDA",
    "Adaptive",
    "Averaged",
    "Batch",
    "BinaryClippedSquared",
    "Centred",
    "Certificate",
    "Choice",
    "ClippedSquared",
    "DataError",
    "DivergedError",
    "ElasticNet",
    "Explanation",
    "Gravities",
    "Grid",
    "Hinge",
    "Huber",
    "Lane",
    "LaneLearner",
    "LateRounding",
    "LateTruncation",
    "Learner",
    "Logistic",
    "Model",
    "NoShrinkage",
    "Observer",
    "PaperClassifier",
    "Path",
    "Plain",
    "Poisson",
    "Quantile",
    "ReadOptions",
    "Report",
    "Rounding",
    "Schedule",
    "SettingError",
    "Sigmas",
    "Squared",
    "Step",
    "Stopped",
    "Subgradient",
    "TrainSettings",
    "TruncatedGradientClassifier",
    "TruncatedGradientRegressor",
    "Truncation",
    "TuneSettings",
    "accuracy",
    "auc",
    "average_precision",
    "batch_of",
    "certify",
    "certify_steps",
    "convert",
    "evaluate",
    "explain",
    "export",
    "import_vw",
    "load",
    "merge",
    "predict",
    "read",
    "report",
    "to_sklearn",
    "train",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        try:
            return getattr(import_module(f"dwindle.{_HOME[name]}"), name)
        except ModuleNotFoundError as missing:
            if str(missing.name).partition(".")[0] not in {"scipy", "sklearn"}:
                raise
            needs = f'{name} needs scikit-learn: pip install "dwindle[sklearn]"'
            raise ImportError(needs, name=missing.name) from None
    raise AttributeError(f"module 'dwindle' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
