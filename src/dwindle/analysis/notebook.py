"""The progress bar of notebooks, below the cell that is running."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from dwindle._base.pages.html import tag

PATIENCE = 0.5  # seconds before a bar is shown: most fits are over by then
PAUSE = 0.2  # between updates


class Bar:
    """How much of the work is done, how fast, and how long the rest will take."""

    def __init__(self, passes: int = 1) -> None:
        self._passes = passes
        self._begin = time.monotonic()
        self._due = self._begin + PATIENCE
        self._shown: Any = None

    def at(self, number: int, share: float | None, examples: int) -> None:
        """Show that so much of this pass is done, if that is known, with so many examples."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + PAUSE
        done = None if share is None else min((number - 1 + share) / self._passes, 1.0)
        self._show(self._html(done, number, examples, now - self._begin))

    def _html(self, done: float | None, number: int, examples: int, seconds: float) -> str:
        told = [f"pass {number} of {self._passes}"] if self._passes > 1 else []
        told += [f"{examples:,} examples", f"{examples / seconds:,.0f} a second"]
        if done:
            left = round(seconds * (1.0 - done) / done)
            told.append(f"{left // 60}:{left % 60:02} left")
        value = None if done is None else f"{done:.4f}"
        bar = tag("progress", value=value, max=1, aria_label="progress", style="width: 16em")
        return tag("div", bar, " ", ", ".join(told), style="font-variant-numeric: tabular-nums")

    def _show(self, html: str) -> None:
        ipython = import_module("IPython.display")  # it is there: a notebook runs
        if self._shown is None:
            self._shown = ipython.display(ipython.HTML(html), display_id=True)
        else:
            self._shown.update(ipython.HTML(html))

    def close(self) -> None:
        """Take the bar away."""
        if self._shown is not None:
            self._show("")


@contextmanager
def notebook_bar(passes: int) -> Iterator[Bar | None]:
    """Make a bar that is gone at the end; None unless a notebook is running."""
    bar = Bar(passes) if in_notebook() else None
    try:
        yield bar
    finally:
        if bar is not None:
            bar.close()


def in_notebook() -> bool:
    """Whether this runs in a notebook, whose kernel can show HTML."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
