"""What a run told, remembered for its report."""

import time
from typing import TYPE_CHECKING, NamedTuple

from dwindle._base.system import memory
from dwindle.runs.observer import Observer

if TYPE_CHECKING:
    from dwindle.data.sources import Position
    from dwindle.runs.loop import Pass

MOST = 240  # samples of memory; then every other one is dropped
PAUSE = 0.05  # seconds between samples at first


class Memory(NamedTuple):
    """How much memory a run had at a time."""

    seconds: float
    examples: int
    resident: int  # bytes


class Recorder(Observer):
    """An observer that remembers the memory of a run over time, and its passes."""

    def __init__(self) -> None:
        self.memory: list[Memory] = []
        self.passes: list[Pass] = []
        self._begin = time.monotonic()
        self._due, self._pause = 0.0, PAUSE
        self._examples = 0

    def position(self, position: "Position") -> None:
        """Take a sample of the memory, if it is time."""
        self._examples = position.examples
        if time.monotonic() - self._begin >= self._due:
            self._sample()

    def pass_ended(self, result: "Pass") -> None:
        """Remember how good the model was on the holdout, and the memory."""
        self.passes.append(result)
        self._sample()

    def _sample(self) -> None:
        now = time.monotonic() - self._begin
        self._due = now + self._pause
        self.memory.append(Memory(now, self._examples, memory()))
        if len(self.memory) >= MOST:
            self.memory = self.memory[::2]
            self._pause *= 2

    def note(self, text: str) -> None:
        """Leave it to another observer to tell."""
