"""What comes of no options: how it is measured, and the page about it."""

import json
from pathlib import Path

import numpy as np
import pytest
from vowpalwabbit import Workspace

from dwindle.data.options import ReadOptions
from experiments.defaults import Case, Files, compared, our, their
from experiments.defaults_page import page, verdict

ROOT = Path(__file__).parents[2]


def write(files, seed, *, regression=False):
    """Examples of three features, of which the sum tells the label."""
    rng = np.random.default_rng(seed)
    for path in files:
        x = rng.normal(size=(300, 3))
        label = x.sum(axis=1) if regression else np.where(x.sum(axis=1) > 0, 1, -1)
        path.write_text(
            "".join(
                f"{y:g} | {' '.join(f'{j}:{v:.4f}' for j, v in enumerate(row))}\n"
                for y, row in zip(label, x, strict=True)
            )
        )


@pytest.mark.parametrize("regression", [False, True])
def test_their_progressive_loss_is_the_one_they_print(regression, tmp_path):
    files = Files(tmp_path / "train.vw", tmp_path / "test.vw")
    write(files, 0, regression=regression)
    told = "" if regression else "--loss_function logistic"
    found = their(files, told, regression=regression)
    ready = Workspace(f"--quiet {told}", arg_list=["-d", str(files.train)])
    printed = ready.get_sum_loss() / 300
    ready.finish()
    assert found.progressive == pytest.approx(printed, rel=1e-4)
    assert found.loss < found.progressive
    assert (found.auc is None) == regression


def test_a_set_is_compared_by_the_means_over_its_shuffles(tmp_path):
    row = compared(Case("sum", write, shuffles=2, wide=True))
    losses, aucs = [], []
    for seed in range(2):
        files = Files(tmp_path / "train.vw", tmp_path / "test.vw")
        write(files, seed)
        found = our(files, ReadOptions())
        losses.append(found.progressive)
        aucs.append(found.auc)
    assert row["examples"] == 300
    assert row["ours"]["progressive"] == pytest.approx(np.mean(losses))
    assert row["ours"]["auc"] == pytest.approx(np.mean(aucs))
    assert row["theirs"] == row["theirs_wide"]  # three features share no weight


def rows(*ratios, auc=0.9):
    return [
        {
            "set": f"set{i}",
            "ours": {"progressive": ratio, "auc": auc},
            "theirs": {"progressive": 1.0, "auc": 0.9},
        }
        for i, ratio in enumerate(ratios)
    ]


def test_nine_of_ten_must_be_as_good_and_none_much_worse():
    good = [0.9] * 9
    assert verdict(rows(*good, 1.02)).endswith("is met.")
    assert verdict(rows(*good, 1.021)).endswith("is not met.")
    assert verdict(rows(*good[1:], 1.01, 1.01)).endswith("is not met.")
    said = verdict(rows(*good, 1.021, auc=0.899))
    assert (
        "lower, within 0.05 %, on 9 of 10 sets, its AUC as high or higher, within 0.0005, on 0 of 10; "
        "at worst its loss is 1.021 times Vowpal Wabbit's (set9)" in said
    )


def test_the_page_is_that_of_its_results():
    results = json.loads((ROOT / "docs" / "defaults.json").read_text())
    assert (ROOT / "docs" / "defaults.md").read_text() == page(results)
