"""What a run tells while it goes on, and how it is asked to stop."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from dwindle._base.files import Place
from dwindle._base.notes import warn

if TYPE_CHECKING:  # so that a command's help need not import Arrow and Numba
    from dwindle.data.sources import Position
    from dwindle.runs.checkpoint import Reached
    from dwindle.runs.loop import Pass
    from dwindle.runs.progress_table import Row


Item = TypeVar("Item")


class ShardsDone(NamedTuple):
    """How far a pass on many machines has come, by the shards that are done."""

    pass_number: int
    passes: int
    done: int
    shards: int
    examples: int  # of this pass
    loss: float  # summed, by importance
    weight: float
    told: int  # features that shards told of

    @property
    def mean_loss(self) -> float:
        """The mean loss so far, each example predicted before it was learned from."""
        return self.loss / self.weight if self.weight else float("nan")

    def plus(self, shard: Mapping[str, Any]) -> "ShardsDone":
        """Return it with one more shard."""
        return self._replace(
            done=self.done + 1,
            examples=self.examples + shard["examples"],
            loss=self.loss + shard["loss"],
            weight=self.weight + shard["weight"],
            told=self.told + shard["told"],
        )


class Observer:
    """Callbacks of a run, which do nothing by default; override those of interest."""

    def position(self, position: "Position") -> None:
        """Called at the beginning and after each batch with the place in the data."""

    def learned(self, run: "Reached") -> None:
        """Called after each batch that was learned from, with how far the run has come."""

    def row(self, row: "Row") -> None:
        """Called at 1, 2, 4, 8, ... examples with a row of the progress table."""

    def classes(self, told: str) -> None:
        """Called before learning with the classes, if there are several or they have names."""

    def pass_ended(self, result: "Pass") -> None:
        """Called after each pass if there is a holdout."""

    def shards(self, done: ShardsDone) -> None:
        """Called when a shard of a run on many machines is done."""

    def runs(self, done: int, total: int) -> None:
        """Called when a run of a search is finished: ``done`` of ``total`` are."""

    def best(self, found: Any) -> None:
        """Called when a search would choose another setting than before; ``found`` is so far."""

    def found(self, found: Any) -> None:
        """Called with the result of a search (`runs.tune.search.Found`), before the training."""

    def note(self, text: str) -> None:
        """Called with what a user should know though the run goes on."""
        warn(text)

    def should_stop(self) -> bool:
        """Asked after each batch: True writes a checkpoint or journal and raises `Stopped`."""
        return False

    def waiting(self) -> AbstractContextManager[None]:
        """Return a context entered while data is waited for: `Stopped` may be raised within it."""
        return nullcontext()


class Observers(Observer):
    """Several observers told the same; any of them may ask the run to stop."""

    def __init__(self, *members: Observer) -> None:
        self.members = members

    def position(self, position: "Position") -> None:
        """Tell each the place in the data."""
        for each in self.members:
            each.position(position)

    def learned(self, run: "Reached") -> None:
        """Tell each how far the run has come."""
        for each in self.members:
            each.learned(run)

    def row(self, row: "Row") -> None:
        """Tell each a row of the progress table."""
        for each in self.members:
            each.row(row)

    def classes(self, told: str) -> None:
        """Tell each the classes."""
        for each in self.members:
            each.classes(told)

    def pass_ended(self, result: "Pass") -> None:
        """Tell each the end of a pass."""
        for each in self.members:
            each.pass_ended(result)

    def shards(self, done: ShardsDone) -> None:
        """Tell each how far the shards have come."""
        for each in self.members:
            each.shards(done)

    def runs(self, done: int, total: int) -> None:
        """Tell each how many runs of a search are made."""
        for each in self.members:
            each.runs(done, total)

    def best(self, found: Any) -> None:
        """Tell each what a search would choose."""
        for each in self.members:
            each.best(found)

    def found(self, found: Any) -> None:
        """Tell each the result of a search."""
        for each in self.members:
            each.found(found)

    def note(self, text: str) -> None:
        """Tell each what a user should know."""
        for each in self.members:
            each.note(text)

    def should_stop(self) -> bool:
        """Ask each, and stop if one says so."""
        return any(each.should_stop() for each in self.members)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Enter the context of each."""
        with ExitStack() as stack:
            for each in self.members:
                stack.enter_context(each.waiting())
            yield


def awaited(items: Iterator[Item], observer: Observer) -> Iterator[Item]:
    """Yield the items; while it waits for one, the observer may raise `Stopped`."""
    end: Any = object()
    while True:
        with observer.waiting():
            item = next(items, end)
        if item is end:
            return
        yield item


class Stopped(Exception):  # noqa: N818  (it is not an error)
    """A run was asked to stop. ``resume_from`` is the file that lets it go on, if there is one."""

    def __init__(self, resume_from: Place | None = None) -> None:
        super().__init__("nothing to resume from" if resume_from is None else str(resume_from))
        self.resume_from = resume_from
