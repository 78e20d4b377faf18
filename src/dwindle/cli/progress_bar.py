"""The bar at the bottom of a terminal; imported only where one is shown, for Rich takes a while."""

from datetime import timedelta
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.progress import (
    BarColumn,
    DownloadColumn,
    FileSizeColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
)
from rich.table import Column
from rich.text import Text
from rich.theme import Theme

from dwindle.data.sources import Position

LONGEST = 40  # columns of the bar itself, where the terminal has them
ROOMY = 64  # columns that have room for everything
A_SECOND = timedelta(seconds=1)
# The bar alone is coloured: Rich's red for speed reads as a warning.
PLAIN = Theme(
    dict.fromkeys(("progress.percentage", "progress.download", "progress.filesize"), "none")
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
        self._examples = self._progress.add_task("examples", total=None, visible=False)
        self._data = self._progress.add_task("data", total=None, visible=False, count="", place="")
        self._runs = self._progress.add_task("runs", visible=False)
        self._shown: TaskID | None = None

    def line(self, text: str) -> None:
        """Print a line above the bar."""
        self._progress.console.out(text, highlight=False)

    def place(self, position: Position) -> None:
        """Show that the data has been read so far."""
        if self._shown != self._data:
            self._progress.reset(self._examples)
            self._turn_to(self._data, self._of_data(position), count="", place="")
        self._progress.update(self._examples, completed=position.examples)
        self._progress.update(
            self._data,
            completed=position.done,
            total=position.total,
            count=f"{position.examples:,} examples",
            place=f"pass {position.pass_number}/{position.passes}",
        )
        self._progress.start()

    def runs(self, done: int, total: int) -> None:
        """Show that so many runs are made."""
        if self._shown != self._runs:
            self._turn_to(self._runs, _OF_RUNS, completed=done, total=total)
        self._progress.update(self._runs, completed=done)
        self._progress.start()

    def close(self) -> None:
        """Take it away."""
        self._progress.stop()

    def _turn_to(self, task: TaskID, columns: tuple[ProgressColumn, ...], **begun: Any) -> None:
        """From here on the bar is of this, however far it has ``begun``."""
        if self._shown is not None:
            self._progress.update(self._shown, visible=False)
        self._shown = task
        self._progress.columns = columns
        self._progress.reset(task, visible=True, **begun)

    def _of_data(self, position: Position) -> tuple[ProgressColumn, ...]:
        speed = _Speed(self._progress.tasks[0])
        place = [TextColumn("{task.fields[place]}")] if position.passes > 1 else []
        if position.total is None:
            return *place, FileSizeColumn(), TextColumn("{task.fields[count]}"), speed, _Time()
        return (
            *place,
            BarColumn(None, table_column=Column(max_width=LONGEST)),
            TaskProgressColumn(),
            DownloadColumn(table_column=_right(len("999.9/999.9 MB"))),
            *([speed] if self._progress.console.width >= ROOMY else []),
            _Time(),
        )


class _Terminal(Console):
    """Standard error with its cursor left on: whatever ends the run, no one has to restore it."""

    def show_cursor(self, show: bool = True) -> bool:  # noqa: ARG002  (as Console has it)
        """Nothing is hidden."""
        return False

    @property
    def options(self) -> ConsoleOptions:
        """Room is left for the ^C of who stops the run, which would else break the bar's line."""
        full = super().options
        return full.update_width(full.max_width - len("^C") - 1)


def _right(width: int) -> Column:
    """Of a width that does not change with every number."""
    return Column(justify="right", no_wrap=True, min_width=width)


class _Speed(ProgressColumn):
    """Of the last half minute."""

    def __init__(self, examples: Task) -> None:
        super().__init__(_right(len("999,999 examples/s")))
        self.examples = examples

    def render(self, _task: Task) -> Text:
        """A number once there is one."""
        speed = self.examples.speed
        return Text("" if speed is None else f"{speed:,.0f} examples/s")


class _Time(ProgressColumn):
    """What is left; as long as that is not known, what has gone."""

    max_refresh = 0.5  # seconds: faster would be restless

    def __init__(self) -> None:
        super().__init__(_right(len("0:00:00 left")))

    def render(self, task: Task) -> Text:
        """As hours, minutes and seconds."""
        left = task.time_remaining
        seconds, word = (task.elapsed or 0.0, "") if left is None else (left, " left")
        return Text(f"{timedelta(seconds=seconds) // A_SECOND * A_SECOND}{word}")


_OF_RUNS = (
    BarColumn(None, table_column=Column(max_width=LONGEST)),
    TaskProgressColumn(),
    TextColumn("{task.completed:,.0f}/{task.total:,.0f} runs"),
    _Time(),
)
