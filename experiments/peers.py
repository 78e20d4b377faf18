"""What other algorithms make of the same data: the AUC they reach with so many features kept.

Each algorithm walks from its strongest L1 penalty to weaker ones, and every step of the walk that
keeps a feature is a point. The walk ends where nearly all features are kept.

Vowpal Wabbit runs in this process, reading files and passing over them by itself. It learns from
the rows in the order given.
"""

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from vowpalwabbit import Workspace

FACTOR = 2 / 3  # from one strength to the next
STEPS = 22  # at most
ENOUGH = 0.9  # of the features that a model can have, kept, ends a walk

PASSES = (1, 3, 10)
# What Vowpal Wabbit may choose from: an update rule and a rate. The rule it has by itself divides a
# feature by the largest value it ever had, which loses to the other one where there are outliers.
VW = (
    *product(["--learning_rate"], [0.05, 0.15, 0.5, 1.5]),
    *product(["--adaptive --invariant --learning_rate"], [0.02, 0.05, 0.15, 0.5]),
)
FTRL = tuple(product(["--ftrl --ftrl_alpha"], [0.01, 0.05, 0.2, 1.0]))

BITS = 18
CONSTANT = 116060  # the slot of Vowpal Wabbit's constant feature among 2^BITS

Floats = NDArray[np.float64]


class Point(NamedTuple):
    """A model of a path."""

    strength: float  # of the penalty: alpha, 1 / C or l1
    kept: int  # weights that are not zero, the intercept's not counted
    auc: float  # on the test part


def lasso(X: csr_array, y: Floats, X_test: csr_array, y_test: Floats) -> list[Point]:
    """Least squares on the labels with an L1 penalty, as in the paper."""
    columns = csc_matrix(X, dtype=np.float64)
    model = Lasso(warm_start=True)

    def fit(alpha: float) -> Floats:
        found: Floats = model.set_params(alpha=alpha).fit(columns, y).coef_
        return found

    with warnings.catch_warnings():
        _allow_early_stops()
        return _walk(
            fit, 2 * strongest_penalty(X, y) / len(y), min(len(y), _seen(X)), X_test, y_test
        )


def l1_regression(strength: float) -> LogisticRegression:
    """LIBLINEAR with an L1 penalty of this strength."""
    return LogisticRegression(
        C=1 / strength,
        l1_ratio=1,
        solver="liblinear",
        intercept_scaling=100,  # LIBLINEAR penalises the intercept: so much less than a weight
        tol=1e-3,
        random_state=0,
    )


def l1_logistic(X: csr_array, y: Floats, X_test: csr_array, y_test: Floats) -> list[Point]:
    """Logistic regression with an L1 penalty, by LIBLINEAR."""

    def fit(strength: float) -> Floats:
        found: Floats = l1_regression(strength).fit(X, y).coef_.ravel()
        return found

    with warnings.catch_warnings():
        _allow_early_stops()
        return _walk(fit, strongest_penalty(X, y), min(len(y), _seen(X)), X_test, y_test)


def vw(
    X: csr_array, y: Floats, X_test: csr_array, y_test: Floats, *, folds: int, seed: int
) -> list[Point]:
    """Vowpal Wabbit with --l1; its rule, rate and passes are chosen by cross-validation."""

    def strongest(wabbit: "_Wabbit", chosen: "_Settings") -> float:
        # The gravity of a run is about strength * rate * examples. It must exceed every weight, and
        # weights grow somewhat larger under gravity than they do without.
        largest = float(np.abs(wabbit.weights(chosen)).max())
        return 4 * largest / (chosen.rate * chosen.passes * len(y))

    return _by_wabbit(VW, strongest, X, y, X_test, y_test, folds, seed)


def ftrl(
    X: csr_array, y: Floats, X_test: csr_array, y_test: Floats, *, folds: int, seed: int
) -> list[Point]:
    """Vowpal Wabbit with --ftrl and --l1; its alpha and passes are chosen by cross-validation."""

    def strongest(_: "_Wabbit", chosen: "_Settings") -> float:
        return 2 * chosen.passes * strongest_penalty(X, y)  # it weighs against all gradients

    return _by_wabbit(FTRL, strongest, X, y, X_test, y_test, folds, seed)


def _by_wabbit(
    grid: Iterable[tuple[str, float]],
    strongest: "Callable[[_Wabbit, _Settings], float]",
    X: csr_array,
    y: Floats,
    X_test: csr_array,
    y_test: Floats,
    folds: int,
    seed: int,
) -> list[Point]:
    """Choose a rule, rate and passes by cross-validation, then walk from the strongest penalty."""
    with TemporaryDirectory() as folder:
        wabbit = _Wabbit(X, y, Path(folder))
        chosen = wabbit.choose(grid, folds, seed)
        fit = partial(wabbit.weights, chosen)
        return _walk(fit, strongest(wabbit, chosen), _seen(X), X_test, y_test)


def _walk(
    fit: Callable[[float], Floats],
    strongest: float,
    possible: int,
    X_test: csr_array,
    y_test: Floats,
) -> list[Point]:
    """The points from the first model that keeps a feature to one that keeps nearly all it can."""
    points = []
    for strength in strongest * FACTOR ** np.arange(STEPS):
        weights = fit(float(strength))
        kept = int(np.count_nonzero(weights))
        if kept:
            points.append(Point(float(strength), kept, _auc(weights, X_test, y_test)))
        if kept >= ENOUGH * possible:
            break
    return points


def _seen(X: csr_array) -> int:
    """How many features have a value in some row."""
    return len(np.unique(X.indices))


def _auc(weights: Floats, X: csr_array, y: Floats) -> float:
    return float(roc_auc_score(y, X @ weights))


def strongest_penalty(X: csr_array, y: Floats) -> float:
    """The penalty on the sum of the logistic losses under which the first feature comes in."""
    return float(np.abs(X.T @ (y - y.mean())).max()) / 2


def _allow_early_stops() -> None:
    """A solver may run out of steps: at the weak end of a path it takes them in vain.

    There the model fits the noise, and its AUC and its features change no more.
    """
    warnings.simplefilter("ignore", ConvergenceWarning)


class _Settings(NamedTuple):
    rule: str  # ends in the option that takes the rate
    rate: float
    passes: int


class _Wabbit:
    """Vowpal Wabbit on rows that are written to files in ``folder`` once for all runs.

    Column j is the feature called j, which VW stores in slot j: no two share one.
    """

    def __init__(self, X: csr_array, y: Floats, folder: Path) -> None:
        if X.shape[1] > CONSTANT:
            raise ValueError(f"{X.shape[1]} columns: VW's constant is feature {CONSTANT}")
        self.X, self.y = X, y
        self.folder = folder
        self.lines = list(vw_lines(X, y))
        self.all = self._write("all", range(len(y)))

    def choose(self, rules: Iterable[tuple[str, float]], folds: int, seed: int) -> _Settings:
        """The settings of the best AUC, without a penalty, in cross-validation."""
        splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(self.y, self.y)
        parts = [
            (self._write(f"fold{i}", train), self.X[held_out], self.y[held_out])
            for i, (train, held_out) in enumerate(splits)
        ]
        return max(
            (_Settings(*rule, passes) for rule, passes in product(rules, PASSES)),
            key=lambda settings: sum(
                _auc(self.weights(settings, data=data), X, y) for data, X, y in parts
            ),
        )

    def weights(self, settings: _Settings, l1: float = 0, data: Path | None = None) -> Floats:
        """The weights that VW predicts with, but for the constant's, after learning from ``data``.

        While VW learns, the gravity is a number apart and the weights are as if there were none.
        Only when it loads a model to predict with does it take the one off the others. Both times
        it must be told of --l1, which a model file does not keep.
        """
        data = data or self.all
        cache, model = str(data.with_suffix(".cache")), str(data.with_suffix(".model"))
        options = f"{settings.rule} {settings.rate!r} --l1 {l1!r}"
        _workspace(
            f"{options} --passes {settings.passes} --holdout_off",
            ["-d", str(data), "--cache_file", cache, "-f", model],
        ).finish()
        ready = _workspace(f"{options} --testonly", ["-i", model])
        weights = np.array([ready.get_weight(j) for j in range(self.X.shape[1])])
        ready.finish()
        return weights

    def _write(self, name: str, rows: Iterable[int]) -> Path:
        path = self.folder / f"{name}.vw"
        path.write_text("".join(self.lines[i] for i in rows), encoding="ascii")
        return path


def _workspace(options: str, files: list[str]) -> Any:
    always = f"--quiet --loss_function logistic --bit_precision {BITS}"
    return Workspace(f"{always} {options}", arg_list=files)


def vw_lines(X: csr_array, y: Floats) -> Iterable[str]:
    """The rows as VW reads them."""
    tokens = [f"{j}:{v:.9g}" for j, v in zip(X.indices.tolist(), X.data.tolist(), strict=True)]
    for label, begin, end in zip(y.tolist(), X.indptr[:-1], X.indptr[1:], strict=True):
        yield f"{label:+.0f} | {' '.join(tokens[begin:end])}\n"
