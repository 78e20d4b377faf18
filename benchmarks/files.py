"""What the workloads on files share: the ten lines taken off, the models compared."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.bars import FASTER_THAN_VW
from benchmarks.data import Labels, ten_lines
from benchmarks.results import Figure, Row, row, speed
from benchmarks.side_by_side import Run, interleaved, once
from benchmarks.tools import (
    DWINDLE,
    VW,
    Settings,
    models,
    parsed,
    said_by,
    spoken,
    three_ways,
)
from dwindle.model.model import Model
from dwindle.runs.metrics import auc

TEN = ", ten lines"


def with_tens(
    whole: dict[str, list[str]], tens: dict[str, list[str]], rounds: int
) -> tuple[dict[str, list[Run]], dict[str, list[Run]]]:
    """What each tool takes, and what it takes for ten lines, in the same rounds."""
    small = {f"{tool}{TEN}": command for tool, command in tens.items()}
    runs = interleaved(whole | small, rounds)
    return {tool: runs[tool] for tool in whole}, {tool: runs[f"{tool}{TEN}"] for tool in whole}


def against_vw(
    case: str, whole: dict[str, list[str]], tens: dict[str, list[str]], rounds: int, folder: Path
) -> tuple[list[Row], Figure]:
    """The two tools on a file, and how much faster ours is."""
    runs, starts = with_tens(whole, tens, rounds)
    rows = [
        row(case, tool, runs[tool], starts[tool])._replace(command=spoken(command, folder))
        for tool, command in whole.items()
    ]
    faster = speed(case, FASTER_THAN_VW, runs[VW], runs[DWINDLE], (starts[VW], starts[DWINDLE]))
    return rows, faster


def measured_three_ways(
    data: Path, test: Path, labels: Labels, how: Settings, rounds: int
) -> tuple[list[Row], list[Figure]]:
    """The two tools from text, from a cache and predicting, with the AUC of what they predict."""
    rows: list[Row] = []
    figures: list[Figure] = []
    tens = ten_lines(data), ten_lines(test)
    made = parsed(data, how)
    once([*made.values(), *parsed(tens[0], how).values()])
    small = three_ways(*tens, how)
    for case, commands in three_ways(data, test, how).items():
        found, faster = against_vw(case, commands, small[case], rounds, data.parent)
        rows += found
        figures.append(faster)
    _check_caches(data)
    written = dict(zip((DWINDLE, VW), models(data), strict=True))
    kept = {(DWINDLE, "text"): {"kept": len(Model.load(written[DWINDLE]))}}
    predicted = {(tool, "predict"): {"auc": auc_of(written[tool], labels)} for tool in written}
    before = {(tool, "cached"): f"{spoken(made[tool], data.parent)}\n" for tool in written}
    rows = [
        each._replace(
            more=(kept | predicted).get((each.contestant, each.case), {}),
            command=before.get((each.contestant, each.case), "") + each.command,
        )
        for each in rows
    ]
    return rows, figures


def _check_caches(data: Path) -> None:
    """From a cache a tool learns the same: else it did not read what it seemed to."""
    (ours, theirs), (ours_cached, theirs_cached) = models(data), models(data, "cached")
    assert np.array_equal(Model.load(ours).weight, Model.load(ours_cached).weight)
    assert theirs.read_bytes() == theirs_cached.read_bytes()


def auc_of(model: Path, labels: Labels) -> float:
    """The AUC of what a model predicted."""
    prediction = np.array(said_by(model).read_bytes().split(), float)
    return round(auc(prediction, np.where(labels, 1, -1)), 4)


def megabytes(paths: Sequence[Path]) -> float:
    """The size of files."""
    return sum(path.stat().st_size for path in paths) / 1e6
