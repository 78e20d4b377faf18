"""Results on the screen."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks import words
from benchmarks.bars import held

WIDTH = 150  # at least, also where there is no terminal


def show_about(about: dict[str, Any]) -> None:
    """Where and with what it is measured."""
    console = _console()
    console.print(words.machine(about))
    console.print(words.versions(about))


def show(workload: dict[str, Any]) -> None:
    """One workload: what each contestant took, then the figures, then the goals."""
    console = _console()
    console.print(f"\n[bold]{workload['workload']}[/bold]: {workload['title']}")
    console.print(_table(words.ROWS, map(words.cells_of_row, workload["rows"]), range(2, 6)))
    if workload["figures"]:
        figures = map(words.cells_of_figure, workload["figures"])
        console.print(_table(words.FIGURES, figures, (3,)))
    alone = {"workloads": [workload]}
    goals = [words.cells_of_bar(each, alone) for each in held(alone)]
    if goals:
        console.print(_table(words.BARRED, goals, (2,)))


def _console() -> Console:
    console = Console(highlight=False, emoji=False)
    console.width = max(console.width, WIDTH)
    return console


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    numeric = set(right)
    for place, name in enumerate(head):
        table.add_column(name, justify="right" if place in numeric else "left")
    for row in rows:
        table.add_row(*row)
    return table
