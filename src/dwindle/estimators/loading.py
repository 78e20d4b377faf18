"""From a model file to an estimator."""

from dwindle.algorithm.losses import is_classification
from dwindle.data.labels import Labels
from dwindle.estimators._learned import Path
from dwindle.estimators.classifier import TruncatedGradientClassifier
from dwindle.estimators.regressor import TruncatedGradientRegressor
from dwindle.model.loading import load_saved, picked
from dwindle.model.path import Path as LanePath
from dwindle.runs.build import settings_of_model


def load(
    path: Path, keep: int | None = None
) -> TruncatedGradientClassifier | TruncatedGradientRegressor:
    """Load a model file as an estimator, which predicts and can go on learning.

    Its parameters are those it was trained with. ``fit`` begins anew with the same; ``partial_fit``
    goes on from the model: exactly, if it was saved with its state, else from its weights. Of a
    path, ``keep`` picks the best gravity of at most so many features.
    """
    saved = load_saved(path)
    model = picked(saved, keep, path)
    metadata, loss, keywords = model.metadata, model.loss, settings_of_model(model)
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
    return found._restored(model, saved if isinstance(saved, LanePath) else None)  # noqa: SLF001  (likewise)
