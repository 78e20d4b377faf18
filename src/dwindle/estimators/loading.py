"""From a model file to an estimator that predicts."""

from dwindle.algorithm.losses import is_classification
from dwindle.engine.learner import Learner
from dwindle.estimators._base import Path
from dwindle.estimators._one_vs_rest import Predictors
from dwindle.estimators.classifier import TruncatedGradientClassifier
from dwindle.estimators.regressor import TruncatedGradientRegressor
from dwindle.model.model import load_models
from dwindle.runs.build import settings_of_learner


def load(path: Path) -> TruncatedGradientClassifier | TruncatedGradientRegressor:
    """Load a model file as an estimator that predicts.

    Its parameters are those it was trained with, so ``fit`` begins anew with the same.
    """
    models = load_models(path)
    settings, metadata, loss = models[0].settings, models[0].metadata, models[0].loss
    keywords = settings_of_learner(Learner.from_settings(settings))
    classes = metadata.get("classes")
    if classes is None and is_classification(loss):
        signs = {sign: float(label) for label, sign in metadata.get("labels", {}).items()}
        classes = [signs.get(-1.0, -1.0), signs.get(1.0, 1.0)]
    found: TruncatedGradientClassifier | TruncatedGradientRegressor
    if classes is None:
        found = TruncatedGradientRegressor(**keywords)
    else:
        found = TruncatedGradientClassifier(**keywords)
        found._set_classes(classes)  # noqa: SLF001  (a constructor, in all but name)
    predictors = Predictors(models, len(classes or ()))
    return found._restored(predictors, metadata)  # noqa: SLF001  (likewise)
