"""Follow a run in MLflow: settings, the progress table, the summary and the model.

    pip install mlflow-skinny
    python examples/track_with_mlflow.py train.vw ads.parquet

An `Observer` is told of a run while it goes on; any other tracker is called in the same places.
Runs are kept in the folder mlruns; `mlflow ui` shows them.
"""

import math
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mlflow

from dwindle import Observer, TrainSettings, train


class Tracked(Observer):
    """Send what a run tells to the active run of MLflow."""

    def row(self, row: Any) -> None:
        """Log a row of the progress table, at 1, 2, 4, 8, ... examples."""
        self._log({"loss": row.loss, "auc": row.auc, "alive": row.alive}, row.examples)

    def pass_ended(self, result: Any) -> None:
        """Log how good the model is on the holdout after a pass."""
        self._log({"holdout_loss": result.holdout_loss}, result.number)

    def note(self, text: str) -> None:
        """Keep what a user should know."""
        mlflow.set_tag("note", text)

    @staticmethod
    def _log(figures: dict[str, Any], step: int) -> None:
        known = {k: v for k, v in figures.items() if v is not None and math.isfinite(v)}
        mlflow.log_metrics(known, step=step)


def tracked(data: str, model: str, settings: TrainSettings, folder: Path) -> str:
    """Train as `dwindle train` does, and return the number of the run in MLflow."""
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # or MLflow asks for a database
    mlflow.set_tracking_uri(folder.absolute().as_uri())
    with mlflow.start_run() as run:
        given = {k: v for k, v in asdict(settings).items() if isinstance(v, int | float | str)}
        mlflow.log_params(given)
        summary = train([data], model, settings, observer=Tracked())
        mlflow.log_metrics({"kept": summary.kept, "final_loss": summary.loss})
        mlflow.log_artifact(model)
    return str(run.info.run_id)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python examples/track_with_mlflow.py DATA MODEL")
    print(tracked(sys.argv[1], sys.argv[2], TrainSettings(), Path("mlruns")))
