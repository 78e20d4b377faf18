from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import Lasso
from vowpalwabbit import Workspace

from experiments import peers
from experiments.peers import _Settings, _Wabbit, vw_lines

INFORMATIVE, COLUMNS = 5, 60
FOLDS = {"folds": 3, "seed": 0}
PATHS = {
    "lasso": peers.lasso,
    "l1_logistic": peers.l1_logistic,
    "vw": lambda *data: peers.vw(*data, **FOLDS),
    "ftrl": lambda *data: peers.ftrl(*data, **FOLDS),
}


def planted(seed, rows=300):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, COLUMNS)) * (rng.random((rows, COLUMNS)) < 0.5)
    margin = 3 * x[:, :INFORMATIVE].sum(axis=1) + 1
    y = np.where(rng.random(rows) < 1 / (1 + np.exp(-margin)), 1.0, -1.0)
    return csr_array(x), y


@pytest.fixture(scope="module")
def data():
    return *planted(0), *planted(1)


@pytest.fixture(scope="module", params=PATHS)
def named(request, data):
    return request.param, PATHS[request.param](*data)


@pytest.fixture(scope="module")
def path(named):
    return named[1]


@pytest.mark.slow
def test_a_path_goes_from_few_features_to_nearly_all(path):
    kept = [point.kept for point in path]
    assert 1 <= kept[0] <= INFORMATIVE
    assert kept[-1] >= 0.9 * COLUMNS
    assert len(set(kept)) >= 8


def test_a_path_goes_from_strong_to_weak(path):
    strengths = [point.strength for point in path]
    assert strengths == sorted(strengths, reverse=True)


def test_the_informative_features_alone_rank_the_test_part_well(path):
    assert max(point.auc for point in path if point.kept <= 2 * INFORMATIVE) > 0.9


@pytest.mark.slow
def test_a_path_is_the_same_again_and_says_nothing(named, data, capfd):
    name, path = named
    assert PATHS[name](*data) == path
    assert capfd.readouterr() == ("", "")


def test_lasso_keeps_what_a_fit_from_nothing_keeps(data):
    x, y, *_ = data
    for point in peers.lasso(*data)[::5]:
        weights = Lasso(point.strength, tol=1e-8).fit(x.toarray(), y).coef_
        assert point.kept == np.count_nonzero(np.abs(weights) > 1e-6)


@pytest.mark.parametrize(
    ("rule", "l1"),
    [
        ("--learning_rate", 1e-3),
        ("--adaptive --invariant --learning_rate", 3e-3),
        ("--ftrl --ftrl_alpha", 20.0),
    ],
)
def test_the_weights_are_those_that_vw_predicts_with(rule, l1, data, tmp_path):
    x, y, x_test, _ = data
    weights = _Wabbit(x, y, tmp_path).weights(_Settings(rule, 0.5, 3), l1)
    assert 1 <= np.count_nonzero(weights) < COLUMNS / 2

    lines = "".join(vw_lines(x_test, np.ones(x_test.shape[0])))
    (tmp_path / "test.vw").write_text(lines.replace("+1 |", "|") + "|\n", encoding="ascii")
    Workspace(
        f"--quiet --loss_function logistic --testonly --l1 {l1}",
        arg_list=[
            "-i",
            f"{tmp_path}/all.model",
            "-d",
            f"{tmp_path}/test.vw",
            "-p",
            f"{tmp_path}/p",
        ],
    ).finish()
    *predicted, constant = np.loadtxt(Path(tmp_path, "p"))
    np.testing.assert_allclose(x_test @ weights + constant, predicted, atol=1e-4)


def test_more_columns_than_vw_has_room_for_are_refused(tmp_path):
    x = csr_array((2, peers.CONSTANT + 1))
    with pytest.raises(ValueError, match="116061 columns"):
        _Wabbit(x, np.array([-1.0, 1.0]), tmp_path)
