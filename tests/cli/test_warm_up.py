"""`dwindle warm-up` compiles what most runs need; the runs then compile nothing."""

import os
import subprocess
import sys

from helpers.commands import command
from helpers.effort import in_full

ESTIMATORS = """
import numpy as np
from dwindle import Learner, TruncatedGradientClassifier, TruncatedGradientRegressor
from dwindle.jit.compile import seconds_compiling
x = np.eye(6)
TruncatedGradientClassifier().fit(x, [0, 1] * 3).predict_proba(x)
TruncatedGradientRegressor().fit(x, range(6)).predict(x)
Learner().learn_one({"a": "b", "x": 1.0}, 1)
print(seconds_compiling())
"""


@in_full
def test_after_a_warm_up_neither_commands_nor_estimators_compile(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    data, model = tmp_path / "train.vw", tmp_path / "m.parquet"
    data.write_text("1 |a red |b x:2\n-1 |a blue |b x:0.5\n")

    def run(*words):
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=environment)
        return done.stdout, done.stderr

    _, told = run(*command("warm-up"))
    assert [line.rsplit(maxsplit=2)[0] for line in told.splitlines()[1:4]] == [
        "VW text",
        "svmlight",
        "CSV",
    ]
    _, told = run(*command("train", data, "--model", model))
    assert "compiling" not in told
    assert run(sys.executable, "-c", ESTIMATORS) == ("0.0\n", "")
