"""The progress bar at the bottom of a terminal; imported only where one is shown."""

import time
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.progress import (
    BarColumn,
    DownloadColumn,
    FileSizeColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.theme import Theme

from dwindle.data.sources import Position
from dwindle.jit.compile import seconds_compiling
from dwindle.runs.observer import ShardsDone

LONGEST = 40  # columns of the bar itself, where the terminal has them
ROOMY = 64  # columns that have room for everything,
WIDE = 110  # and for what shards told
# The bar alone is coloured: Rich's red for speed reads as a warning.
PLAIN = Theme(
    {f"progress.{name}": "none" for name in ("percentage", "download", "filesize", "elapsed")}
    | {"progress.remaining": "none"}
)


class Bar:
    """How much of the work is done, how fast, and how long the rest will take.

    It stays below the lines that are printed, and is gone at the end.
    """

    def __init__(self) -> None:
        self._progress = Progress(
            console=_Terminal(stderr=True, theme=PLAIN),
            transient=True,
            refresh_per_second=5,
            redirect_stdout=False,  # results go there, perhaps to a file
        )
        self._task = self._progress.add_task("", total=None)
        self._shows: str | None = None
        self._begin = 0.0
        self._before = 0  # examples of an earlier run that this one resumes

    @property
    def columns(self) -> int:
        """How many columns the terminal has."""
        return self._progress.console.width

    def line(self, text: str) -> None:
        """Print a line above the bar."""
        self._progress.console.out(text, highlight=False)

    def place(self, position: Position) -> None:
        """Show how much of the data has been read."""
        if self._shows != "data":
            self._before = position.examples
        self._show("data", self._of_data(position), position.total)
        done, seconds = position.examples - self._before, _time() - self._begin
        speed = f"{done / seconds:,.0f} examples/s" if done else ""
        self._progress.update(
            self._task,
            completed=position.done,
            count=f"{position.examples:,} examples",
            speed=speed,
            place=f"pass {position.pass_number}/{position.passes}",
        )
        self._progress.start()

    def shards(self, done: ShardsDone) -> None:
        """Show how many shards are done, in all passes, and what they told."""
        self._show("shards", self._of_shards(), done.passes * done.shards)
        loss = f"loss {done.mean_loss:.4f}, {done.told:,} features told" if done.done else ""
        self._progress.update(
            self._task,
            completed=(done.pass_number - 1) * done.shards + done.done,
            count=f"{done.examples:,} examples",
            speed=loss,
            place=f"pass {done.pass_number}/{done.passes}, {done.done:,}/{done.shards:,} shards",
        )
        self._progress.start()

    def runs(self, done: int, total: int) -> None:
        """Show how many runs of a search are made."""
        self._show("runs", _OF_RUNS, total)
        self._progress.update(self._task, completed=done, total=total, refresh=done == total)
        self._progress.start()

    def close(self) -> None:
        """Take the bar away."""
        self._progress.stop()

    def _show(self, what: str, columns: tuple[ProgressColumn, ...], total: int | None) -> None:
        """Begin a bar of something else, if it is something else."""
        if self._shows != what:
            self._shows, self._begin = what, _time()
            self._progress.columns = columns
            self._progress.reset(self._task, total=total, count="", speed="", place="")

    def _of_shards(self) -> tuple[ProgressColumn, ...]:
        more = [_text("count"), _text("speed")] if self._progress.console.width >= WIDE else []
        return _text("place"), _BAR, TaskProgressColumn(), *more, *_LEFT

    def _of_data(self, position: Position) -> tuple[ProgressColumn, ...]:
        speed = _text("speed", len("999,999 examples/s"))
        place = [_text("place")] if position.passes > 1 else []
        if position.total is None:
            return *place, FileSizeColumn(), _text("count"), speed, TimeElapsedColumn()
        return (
            *place,
            _BAR,
            TaskProgressColumn(),
            DownloadColumn(table_column=Column(justify="right", min_width=14, no_wrap=True)),
            *([speed] if self._progress.console.width >= ROOMY else []),
            *_LEFT,
        )


class _Terminal(Console):
    """Standard error with its cursor left on: whatever ends the run, no one has to restore it."""

    def show_cursor(self, show: bool = True) -> bool:  # noqa: ARG002  (as Console has it)
        """Hide nothing."""
        return False

    @property
    def options(self) -> ConsoleOptions:
        """Leave room for the ^C of who stops the run, which would else break the bar's line."""
        full = super().options
        return full.update_width(full.max_width - len("^C") - 1)


def _time() -> float:
    """Return a time in seconds that stands still while code is compiled."""
    return time.monotonic() - seconds_compiling()


def _text(field: str, width: int = 0) -> Any:
    """Make a column of one of the task's fields, aligned to the right in so many columns."""
    column = Column(no_wrap=True, min_width=width)
    return TextColumn(f"{{task.fields[{field}]}}", justify="right", table_column=column)


_BAR = BarColumn(None, table_column=Column(max_width=LONGEST))
_LEFT = (TimeRemainingColumn(), TextColumn("left", table_column=Column(min_width=4)))
_OF_RUNS = (
    _BAR,
    TaskProgressColumn(),
    TextColumn("{task.completed:,.0f}/{task.total:,.0f} runs"),
    *_LEFT,
)
