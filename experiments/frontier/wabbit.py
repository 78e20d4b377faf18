"""Vowpal Wabbit, as commands would run it: from text to predictions and a list of weights.

It holds a weight for every feature it ever saw, or a table of 2^b for all there might be.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
from vowpalwabbit import Workspace

from dwindle.runs.metrics import auc
from experiments.frontier.problems import Problem, rows, write

CONSTANT = 11650396  # the hash of its intercept
RULES = {
    "vw-ftrl": "--ftrl --ftrl_alpha",
    "vw-l1": "--learning_rate",
    "vw-l1-sgd": "--sgd --learning_rate",
}
BITS = {"ads": 26}  # so that few of the products of a log share a slot
OTHERS = 18  # a slot for each column
WEIGHT = re.compile(r"(\d+):-?[0-9.e-]+$")


class Wabbit:
    """Vowpal Wabbit on files that are written once for all runs."""

    def __init__(self, problem: Problem, seed: int, name: str) -> None:
        self._problem, self._rule = problem, RULES[name]
        self._rows = rows(problem, seed)
        self._folder = TemporaryDirectory()
        self._train, self._test = write(problem, seed, Path(self._folder.name))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def model(self, setting: Any) -> tuple[float, int, int]:
        """The AUC, the weights and the features seen of a run.

        A model that is only to predict with has its gravity taken off the weights when it is saved,
        and leaves out those that are zero.
        """
        name = self._problem.name
        bits = BITS.get(name, OTHERS)
        n = 1 if "ftrl" in self._rule else self._rows.train.n_examples
        model, listed, predicted = (
            self._train.with_name(each) for each in ("model", "listed", "predicted")
        )
        options = (
            f"--quiet --loss_function logistic -b {bits} {self._rule} {setting.learning_rate!r} "
            f"--l1 {setting.strength / n!r} --decay_learning_rate {setting.pass_decay!r}"
        )
        products = "--interactions qa" if name == "ads" else ""
        Workspace(
            f"{options} {products} --passes {setting.passes} --holdout_off --predict_only_model",
            arg_list=[
                *("-d", str(self._train), "--cache_file", str(self._train.with_suffix(".cache"))),
                *("-f", str(model), "--readable_model", str(listed)),
            ],
        ).finish()
        Workspace(
            "--quiet --testonly",
            arg_list=["-d", str(self._test), "-i", str(model), "-p", str(predicted)],
        ).finish()
        found = auc(np.loadtxt(predicted, usecols=0), self._rows.label)
        return found, _weights(listed, CONSTANT % 2**bits), self._rows.distinct


def _weights(listed: Path, constant: int) -> int:
    """How many weights a readable model lists, the intercept not counted."""
    with listed.open() as file:
        found = (WEIGHT.match(line) for line in file)
        return sum(int(each[1]) != constant for each in found if each)
