"""From a model file to an estimator that predicts."""

from dwindle.algorithm.losses import is_classification
from dwindle.data.labels import Labels
from dwindle.engine.learner import Learner
from dwindle.engine.one_vs_rest import OneVsRest
from dwindle.estimators._base import Path
from dwindle.estimators.classifier import TruncatedGradientClassifier
from dwindle.estimators.regressor import TruncatedGradientRegressor
from dwindle.model.classes import ClassModels, load_model
from dwindle.runs.build import settings_of_learner


def load(path: Path) -> TruncatedGradientClassifier | TruncatedGradientRegressor:
    """Load a model file as an estimator that predicts.

    Its parameters are those it was trained with, so ``fit`` begins anew with the same.
    """
    model = load_model(path)
    settings, metadata, loss = model.settings, model.metadata, model.loss
    n = len(model.members) if isinstance(model, ClassModels) else 1
    made = [Learner.from_settings(settings) for _ in range(n)]
    keywords = settings_of_learner(made[0] if n == 1 else OneVsRest(made))
    classes = metadata.get("classes")
    if classes is None and is_classification(loss):
        signs = {sign: label for label, sign in Labels.in_metadata(metadata).target.items()}
        classes = [signs.get(-1.0, -1.0), signs.get(1.0, 1.0)]
    found: TruncatedGradientClassifier | TruncatedGradientRegressor
    if classes is None:
        found = TruncatedGradientRegressor(**keywords)
    else:
        found = TruncatedGradientClassifier(**keywords)
        found._set_classes(classes)  # noqa: SLF001  (a constructor, in all but name)
    return found._restored(model, metadata)  # noqa: SLF001  (likewise)
