"""How long it takes before anything is done: ``--help``, and a model of ten lines."""

from pathlib import Path

from benchmarks import data
from benchmarks.bars import FASTER_THAN_VW, SECONDS
from benchmarks.results import Figure, Found, row, speed
from benchmarks.side_by_side import interleaved, seconds
from benchmarks.tools import DWINDLE, VW, Settings, dwindle, spoken, train

FULL, SMALL = 10, 10  # rows
SETTINGS = Settings(ours=["--gravity", "1e-6"], theirs=["--loss_function", "logistic"])


def measure(size: int, rounds: int, folder: Path) -> Found:
    """Each in a process of its own that finds the kernels compiled."""
    text = folder / "ten.vw"
    data.eat(text, size)
    lines = train(text, SETTINGS)
    contestants = {
        ("--help", DWINDLE): dwindle("--help"),
        ("ten lines", DWINDLE): lines[DWINDLE],
        ("ten lines", VW): lines[VW],
    }
    runs = interleaved({"/".join(key): command for key, command in contestants.items()}, rounds)
    rows = [
        row(*key, runs["/".join(key)])._replace(command=spoken(command, folder))
        for key, command in contestants.items()
    ]
    helped, ours, theirs = runs.values()
    figures = [
        Figure("--help", SECONDS, seconds(helped), unit="s"),
        Figure("ten lines", SECONDS, seconds(ours), unit="s"),
        speed("ten lines", FASTER_THAN_VW, theirs, ours),
    ]
    return Found("start-up", rows, figures)
