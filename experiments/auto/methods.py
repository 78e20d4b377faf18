"""The methods: what each makes of a set, and the processor time that it takes.

Whoever has a penalty to choose walks from the strongest, which keeps nothing, to weaker ones by
factors of 2: ten at least that keep something, and at least three beyond the best. So the best is
never at an end of what was tried. The AUC judges, and of equals the strongest penalty is taken.
"""

import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MaxAbsScaler
from vowpalwabbit import Workspace

from dwindle.data.options import ReadOptions
from dwindle.model.model import Model
from dwindle.runs.evaluate import evaluate
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from experiments.auto.sets import Files, Floats, Rows
from experiments.frontier.wabbit import CONSTANT
from experiments.peers import l1_regression, strongest_penalty

FACTOR, LEAST, BEYOND, MOST = 2.0, 10, 3, 40  # of a walk
CHANCE = 0.5  # the AUC of a model that keeps nothing
FOLDS = 5
HELD_OUT = 0.25  # of what there is to learn from, to choose a penalty by
HELD_OUT_EVERY = 10  # the one of so many examples that is not learned
EPOCHS = 100  # of SGDClassifier, at most
VW_RATE = 0.5  # its default
BITS, BITS_OF_A_LOG = 18, 26  # of the number of weights that Vowpal Wabbit has
PRODUCTS = "qa"  # of the words of a query and of an ad
WEIGHT = re.compile(r"(\d+):(-?[0-9.e-]+)$")


class Found(NamedTuple):
    """A model on the test part."""

    auc: float
    kept: int  # weights that are not 0, the intercept's not counted
    seconds: float  # of the processor, for all that leads to the model
    random: int  # random features kept
    penalty: float | None = None  # chosen by a walk


def auto(rows: Rows, _seed: int, **options: Any) -> Found:
    """Train without options, or with some."""
    with TemporaryDirectory() as folder:
        files, model = rows.write(Path(folder)), Path(folder) / "model.parquet"
        with _timed() as seconds:
            train([str(files.train)], model, TrainSettings(reading=_reading(rows), **options))
        return _judged(model, files, rows, seconds())


def gradient(rows: Rows, seed: int, **options: Any) -> Found:
    """Train by truncated gradient, which finds its gravity by itself, too."""
    return auto(rows, seed, update="adaptive", **options)


def cooled(rows: Rows, seed: int, **options: Any) -> Found:
    """Train likewise, with a cooldown as long as the pass."""
    return gradient(rows, seed, cooldown=rows.train.shape[0], **options)


def judged_cooled(rows: Rows, seed: int) -> Found:
    """Train likewise; models are compared after the cooldown, on a part that is not learned."""
    return cooled(rows, seed, holdout=HELD_OUT_EVERY)


def _reading(rows: Rows) -> ReadOptions:
    return ReadOptions(interactions=() if rows.log is None else (tuple(PRODUCTS),))


def _judged(model: Path, files: Files, rows: Rows, seconds: float) -> Found:
    said = evaluate(model, [str(files.test)])
    first = rows.train.shape[1] - rows.random
    names = Model.load(model).weights() if rows.random else {}
    return Found(said["auc"], said["kept"], seconds, sum(int(name) >= first for name in names))


# scikit-learn


def liblinear(rows: Rows, seed: int) -> Found:
    """Fit logistic regression with an L1 penalty, chosen by cross-validation."""
    (x, x_test), y = rows.comparable, rows.label
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(y, y))

    def fitted(strength: float, x: csr_array, y: Floats) -> LogisticRegression:
        return l1_regression(strength).fit(x, y)

    def judged(strength: float) -> float:
        each = [_auc(fitted(strength, x[fit], y[fit]), x[held], y[held]) for fit, held in folds]
        return float(np.mean(each))

    with _timed() as seconds, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # at the weak end: it fits noise there
        chosen = walked(judged, strongest_penalty(x, y)).penalty
        model = fitted(chosen, x, y)
    return _of_weights(model, x_test, rows, seconds(), chosen)


def sgd(rows: Rows, seed: int) -> Found:
    """Fit scikit-learn's stochastic gradient descent, its penalty chosen on a part held out.

    So is the scale: columns that have deviation 1, or those divided by their largest value.
    """
    y, cut = rows.label, _cut(len(rows.label))
    largest = MaxAbsScaler().fit(rows.comparable[0])
    scales = [rows.comparable, [csr_array(largest.transform(x)) for x in rows.comparable]]

    def fitted(alpha: float, x: csr_array, y: Floats) -> SGDClassifier:
        model = SGDClassifier(
            loss="log_loss", penalty="l1", alpha=alpha, max_iter=EPOCHS, random_state=seed
        )
        return model.fit(x, y)

    def judged(x: csr_array, alpha: float) -> float:
        return _auc(fitted(alpha, x[:cut], y[:cut]), x[cut:], y[cut:])

    with _timed() as seconds, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it has done its epochs
        walks = [walked(partial(judged, x), strongest_penalty(x, y) / len(y)) for x, _ in scales]
        (x, x_test), best = max(zip(scales, walks, strict=True), key=lambda each: each[1].auc)
        model = fitted(best.penalty, x, y)
    return _of_weights(model, x_test, rows, seconds(), best.penalty)


def _auc(model: LogisticRegression | SGDClassifier, x: csr_array, y: Floats) -> float:
    return float(roc_auc_score(y, model.decision_function(x)))


def _of_weights(
    model: LogisticRegression | SGDClassifier,
    x_test: csr_array,
    rows: Rows,
    seconds: float,
    chosen: float,
) -> Found:
    weights = model.coef_.ravel()
    random = int(np.count_nonzero(weights[len(weights) - rows.random :]))
    auc = _auc(model, x_test, rows.test_label)
    return Found(auc, int(np.count_nonzero(weights)), seconds, random, chosen)


# Vowpal Wabbit


def vw(rows: Rows, _seed: int) -> Found:
    """Run Vowpal Wabbit, told only that labels are classes and which words to multiply."""
    with TemporaryDirectory() as folder:
        files = rows.write(Path(folder))
        with _timed() as seconds:
            model = _vw_model(files.train, rows)
        return _of_vw(model, files.test, rows, seconds())


def vw_l1(rows: Rows, _seed: int) -> Found:
    """Run Vowpal Wabbit with ``--l1``, chosen on a part held out."""
    with TemporaryDirectory() as folder:
        files = rows.write_scaled(Path(folder))
        lines = files.train.read_bytes().splitlines(keepends=True)
        cut = _cut(len(lines))
        part = Files(files.train.with_name("fit.vw"), files.train.with_name("held.vw"))
        part.train.write_bytes(b"".join(lines[:cut]))
        part.test.write_bytes(b"".join(lines[cut:]))

        def judged(l1: float) -> float:
            return _vw_auc(_vw_model(part.train, rows, l1), part.test, rows.label[cut:])

        with _timed() as seconds:
            largest = max(map(abs, _vw_weights(_vw_model(part.train, rows), rows).values()))
            # The gravity of a run is about l1 * rate * examples; it must exceed every weight.
            chosen = walked(judged, 4 * largest / (VW_RATE * cut)).penalty
            model = _vw_model(files.train, rows, chosen)
        return _of_vw(model, files.test, rows, seconds(), chosen)


def _vw_model(path: Path, rows: Rows, l1: float = 0.0) -> Path:
    """Learn in one pass; what is saved has the gravity taken off its weights."""
    model = path.with_suffix(".model")
    bits = BITS if rows.log is None else BITS_OF_A_LOG
    products = "" if rows.log is None else f"--interactions {PRODUCTS}"
    Workspace(
        f"--quiet --loss_function logistic -b {bits} {products} --l1 {l1!r} --predict_only_model",
        arg_list=["-d", str(path), "-f", str(model)],
    ).finish()
    return model


def _vw_weights(model: Path, rows: Rows) -> dict[int, float]:
    """Return the weights by slot, without the constant's; column j is in slot j."""
    listed = model.with_suffix(".listed")
    options = ["-i", str(model), "--readable_model", str(listed)]
    Workspace("--quiet --testonly", arg_list=options).finish()
    with listed.open() as file:
        found = (WEIGHT.match(line) for line in file)
        weights = {int(each[1]): float(each[2]) for each in found if each}
    weights.pop(CONSTANT % 2 ** (BITS if rows.log is None else BITS_OF_A_LOG), None)
    return weights


def _vw_auc(model: Path, test: Path, label: Floats) -> float:
    said = test.with_suffix(".said")
    options = ["-d", str(test), "-i", str(model), "-p", str(said)]
    Workspace("--quiet --testonly", arg_list=options).finish()
    return float(roc_auc_score(label, np.loadtxt(said, usecols=0)))


def _of_vw(
    model: Path, test: Path, rows: Rows, seconds: float, chosen: float | None = None
) -> Found:
    slots = _vw_weights(model, rows)
    first = rows.train.shape[1] - rows.random
    random = sum(slot >= first for slot in slots) if rows.random else 0
    return Found(_vw_auc(model, test, rows.test_label), len(slots), seconds, random, chosen)


# What they have in common


class Step(NamedTuple):
    """A penalty, and the AUC that it is judged by."""

    penalty: float
    auc: float


def walked(judge: Callable[[float], float], strongest: float) -> Step:
    """Return the best step on the way from the strongest penalty to weaker ones."""
    steps: list[Step] = []
    while len(steps) < MOST:
        penalty = strongest / FACTOR ** len(steps)
        steps.append(Step(penalty, judge(penalty)))
        best = max(range(len(steps)), key=lambda i: steps[i].auc)  # the first of equals
        useful = sum(step.auc > CHANCE for step in steps)
        if useful >= LEAST and len(steps) - 1 - best >= BEYOND:
            break
    return steps[best]


def _cut(examples: int) -> int:
    return examples - int(HELD_OUT * examples)


@contextmanager
def _timed() -> Iterator[Callable[[], float]]:
    """Measure the processor time of this process, all its threads together."""
    begin = end = time.process_time()
    yield lambda: end - begin
    end = time.process_time()


METHODS: dict[str, Callable[[Rows, int], Found]] = {
    "auto": auto,
    "liblinear": liblinear,
    "vw": vw,
    "vw_l1": vw_l1,
    "sgd": sgd,
    "gradient": gradient,
    "cooled": cooled,
    "judged_cooled": judged_cooled,
}
