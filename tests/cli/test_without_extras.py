"""`pip install dwindle` is enough for the command line, `Learner` and River: no extra is needed."""

import json
import subprocess
import sys

import numpy as np
import pytest

from dwindle.datasets import wdbc

EXTRAS = ["matplotlib", "pandas", "polars", "scipy", "sklearn"]
WITHOUT = f"""
import json, sys
from importlib.machinery import PathFinder

class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, *where):
        return None if name in {EXTRAS} else super().find_spec(name, *where)

sys.meta_path[sys.meta_path.index(PathFinder)] = Installed
import dwindle
"""
COMMANDS = """
from dwindle.cli import main
for args in json.loads(sys.argv[1]):
    main(args, prog_name="dwindle", standalone_mode=False)
"""


def run(code, *args):
    command = [sys.executable, "-c", WITHOUT + code, *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_every_command_works_with_the_core_alone(tmp_path):
    data, model, other = (str(tmp_path / name) for name in ("t.csv", "m.parquet", "o.parquet"))
    rows = "".join(f"{i % 2},{i % 7},{'red' if i % 3 else 'blue'}\n" for i in range(60))
    (tmp_path / "t.csv").write_text(f"label,x,color\n{rows}")
    commands = [
        ["train", data, "--model", model],
        ["train", data, "--model", other, "--passes", "2"],
        ["predict", model, data],
        ["evaluate", model, data],
        ["inspect", model],
        ["merge", model, other, "--model", str(tmp_path / "both.parquet")],
        ["convert", data, str(tmp_path / "t.vw")],
        ["tune", data, "--model", model, "--gravity", "0", "--gravity", "1e-4", "--folds", "2"],
        ["demo", "--json"],
    ]
    done = run(COMMANDS, json.dumps(commands))
    assert done.returncode == 0, done.stderr


def test_an_estimator_without_scikit_learn_says_what_to_install():
    for name in ("TruncatedGradientClassifier", "TruncatedGradientRegressor", "load"):
        done = run(f"from dwindle import {name}")
        assert done.stderr.splitlines()[-1] == (
            f'ImportError: {name} needs scikit-learn: pip install "dwindle[sklearn]"'
        )


def test_the_learner_and_the_certificate_need_no_extra():
    done = run("from dwindle import Batch, Certificate, Learner, ReadOptions, certify, read, train")
    assert done.returncode == 0, done.stderr


def test_the_demo_s_data_is_that_of_scikit_learn():
    bunch = pytest.importorskip("sklearn.datasets").load_breast_cancer()
    data = wdbc.wdbc(0)
    order = np.random.default_rng(0).permutation(len(bunch.target))
    label = np.where(bunch.target[order] == 0, 1, -1)
    assert data.names[:30] == [*bunch.feature_names]
    assert np.array_equal(np.concatenate([data.train.label, data.test.label]), label)
    real = bunch.data[order]
    real = (real - real[: wdbc.N_TRAIN].mean(axis=0)) / real[: wdbc.N_TRAIN].std(axis=0)
    first = data.train.key[: data.train.start[1]] < 30
    assert np.array_equal(data.train.x[: data.train.start[1]][first], np.float32(real[0]))
