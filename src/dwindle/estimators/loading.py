"""From a model file to an estimator that predicts."""

from dwindle.algorithm.by_name import loss_name, schedule_names, shrinkage_names, update_names
from dwindle.algorithm.losses import is_classification
from dwindle.engine.learner import Learner
from dwindle.estimators._base import Path
from dwindle.estimators._one_vs_rest import Panel
from dwindle.estimators.classifier import TruncatedGradientClassifier
from dwindle.estimators.regressor import TruncatedGradientRegressor
from dwindle.model.model import load_models


def load(path: Path) -> TruncatedGradientClassifier | TruncatedGradientRegressor:
    """The model of a file, as an estimator that predicts.

    Its settings are those it was trained with, so that ``fit`` would begin anew with the same.
    """
    models = load_models(path)
    settings, metadata, loss = models[0].settings, models[0].metadata, models[0].loss
    learner = Learner.from_settings(settings)
    keywords = {
        "loss": loss_name(loss),
        **shrinkage_names(learner.shrinkage),
        **update_names(learner.update),
        **schedule_names(learner.update, learner.schedule),
        "max_live": learner.max_live,
    }
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
    panel = Panel(models, len(classes or ()))
    return found._restored(panel, metadata)  # noqa: SLF001  (likewise)
