"""Several gravities learned at once, as without options, next to one.

Whole commands on the text of the workloads rcv1, eat and ads: `dwindle train`, which learns eight
models and keeps one of them, and `dwindle train --gravity 0`, which learns that of no gravity.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks import data, eat
from benchmarks.bars import AS_LONG_AS_ONE, MEMORY_OF_ONE
from benchmarks.files import megabytes, with_tens
from benchmarks.results import Figure, Found, row, speed
from benchmarks.side_by_side import Run, ratio
from benchmarks.tools import DWINDLE, dwindle, spoken
from dwindle.model.model import Model


class Size(NamedTuple):
    """How much text."""

    megabytes: float
    eaten: int  # rows
    ads: int  # rows


FULL, SMALL = Size(300.0, 3_000_000, 500_000), Size(1.0, 5_000, 1_000)
ONE = f"{DWINDLE} --gravity 0"


def measure(size: Size, rounds: int, folder: Path) -> Found:
    """Each text, by both."""
    cases: dict[str, tuple[Callable[[Path], object], list[str]]] = {
        "rcv1": (lambda path: _written(path, size.megabytes), []),
        "eat": (lambda path: data.eat(path, size.eaten), [*eat.SETTINGS.reading]),
        "ads": (lambda path: data.ads(path, size.ads), []),
    }
    rows, figures, total = [], [], 0.0
    for case, (write, reading) in cases.items():
        text = folder / f"{case}.vw"
        write(text)
        total += megabytes([text])
        whole, tens = _commands(text, reading), _commands(data.ten_lines(text), reading)
        runs, starts = with_tens(whole, tens, rounds)
        rows += [
            row(case, name, runs[name], starts[name], kept=len(Model.load(_model(text, name))))
            ._replace(command=spoken(command, folder))
            for name, command in whole.items()
        ]  # fmt: skip
        both = starts[DWINDLE], starts[ONE]
        figures += [
            speed(case, AS_LONG_AS_ONE, runs[DWINDLE], runs[ONE], both),
            Figure(case, MEMORY_OF_ONE, ratio(_peaks(runs[DWINDLE]), _peaks(runs[ONE]))),
        ]
        text.unlink()
    return Found(f"several gravities at once: {total:,.0f} MB of text", rows, figures)


def _written(path: Path, size: float) -> None:
    with path.open("wb") as file:
        data.Rcv1().write(file, size)


def _commands(text: Path, reading: list[str]) -> dict[str, list[str]]:
    """Both commands."""
    options: dict[str, list[str]] = {DWINDLE: [], ONE: ["--gravity", "0"]}
    return {
        name: dwindle("train", text, "-m", _model(text, name), *reading, *more, "--quiet")
        for name, more in options.items()
    }


def _model(text: Path, name: str) -> Path:
    return text.with_suffix(".one.parquet" if name == ONE else ".parquet")


def _peaks(runs: list[Run]) -> list[float]:
    return [run.peak_bytes or 1 for run in runs]
