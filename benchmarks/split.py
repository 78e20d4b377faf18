"""Where the time of a command goes, by the clock of its main thread.

python -m benchmarks.split RESULT BEGIN train ...

*Start-up* ends when the first examples are there. Then the main thread waits for examples that
others read, or learns from them; at the end it makes the model and writes it. When it predicts, it
waits for examples that others read and predict, and writes what they predict.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

START, WAITING, LEARNING, MODEL, WRITING = (
    "start-up", "waiting for examples", "learning", "the model", "writing",
)  # fmt: skip


class Phases:
    """Seconds of each phase; one follows the other."""

    def __init__(self, begin: float) -> None:
        self.seconds: dict[str, float] = {}
        self._since, self._now = begin, START

    def to(self, phase: str) -> None:
        """End the present phase and begin another."""
        now = time.monotonic()
        self.seconds[self._now] = self.seconds.get(self._now, 0.0) + now - self._since
        self._since, self._now = now, phase

    def watched(self, items: Iterator[Any], between: str, after: str) -> Iterator[Any]:
        """Yield the items: waiting for one, the first excepted, is a phase of its own."""
        for item in items:
            self.to(between)
            yield item
            self.to(WAITING)
        self.to(after)


# What the main thread takes examples from, and what it does between two and after the last.
WATCHED = {
    "train": ("dwindle.runs.train", "awaited", LEARNING, MODEL),
    "predict": ("dwindle.runs.predict", "predicted", WRITING, WRITING),
}


def main() -> None:
    """Run a command of dwindle and write down the seconds of its phases."""
    result, begin, *command = sys.argv[1:]
    phases = Phases(float(begin))
    where, source, between, after = WATCHED[command[0]]
    module = import_module(where)
    items = getattr(module, source)
    setattr(module, source, lambda *given: phases.watched(items(*given), between, after))
    try:
        import_module("dwindle.cli").main(command, prog_name="dwindle", standalone_mode=False)
    finally:
        phases.to("")
        Path(result).write_text(json.dumps(phases.seconds))


def split(command: Sequence[str], folder: Path) -> dict[str, float]:
    """Return the share of each phase in a command that begins with ``python -m dwindle``."""
    python, result = command[0], folder / "split.json"
    words = [python, "-m", "benchmarks.split", str(result), str(time.monotonic()), *command[3:]]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  (ours)
    seconds = json.loads(result.read_text())
    total = sum(seconds.values())
    return {phase: round(each / total, 3) for phase, each in seconds.items()}


if __name__ == "__main__":
    main()
