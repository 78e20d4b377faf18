"""How long it takes before anything is done: ``--help``, and a model of ten lines."""

from benchmarks import data
from benchmarks.bars import FASTER, SECONDS
from benchmarks.results import Figure, Found, row, speed
from benchmarks.side_by_side import Plan, interleaved, seconds
from benchmarks.tools import (
    ADAPTIVE,
    DWINDLE,
    VW,
    Input,
    Reading,
    dwindle,
    learning,
    spoken,
    unfitted,
)

FULL, SMALL = 10, 10  # rows
TEN = "ten lines"


def measure(size: int, plan: Plan) -> Found:
    """Each in a process of its own that finds the kernels compiled."""
    text = plan.out / "ten.vw"
    data.eat(text, size)
    what = Input(text, text)
    lines = learning(what, plan.out, 18) | unfitted(what, plan.out, Reading())
    contestants = {
        ("--help", DWINDLE): dwindle("--help"),
        (TEN, ADAPTIVE): lines[ADAPTIVE],
        (f"{TEN}, without options", DWINDLE): lines[DWINDLE],
        (TEN, VW): lines[VW],
    }
    named = {"/".join(key): command for key, command in contestants.items()}
    runs = interleaved(named, 3 * plan.rounds)  # they take little
    rows = [
        row(*key, runs["/".join(key)])._replace(command=spoken(command, plan.out))
        for key, command in contestants.items()
    ]
    figures = [
        Figure(case, SECONDS, seconds(runs[f"{case}/{name}"]), unit="s")
        for case, name in [*contestants][:3]
    ]
    faster = speed(TEN, FASTER, runs[f"{TEN}/{VW}"], runs[f"{TEN}/{ADAPTIVE}"])
    return Found("start-up", rows, [*figures, faster])
