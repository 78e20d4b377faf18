"""Work that is done beside other work, by a thread of its own."""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any
from weakref import WeakSet

DEPTH = 4  # pieces of work that wait


_ALL: WeakSet["Aside"] = WeakSet()


class Aside:
    """A thread that does one piece of work after the other, in the order they are given.

    What goes wrong with one is raised when its turn to be waited for has come.
    """

    def __init__(self) -> None:
        self._begin()
        _ALL.add(self)

    def _begin(self) -> None:
        self._waiting: deque[Future[Any]] = deque()
        self._thread = ThreadPoolExecutor(1)

    @property
    def idle(self) -> bool:
        """Whether nothing waits or is being done."""
        return not self._waiting

    def do(self, work: Callable[..., object], *given: Any) -> None:
        """Soon this will be done; what is given must not change until then."""
        self._waiting.append(self._thread.submit(work, *given))
        if len(self._waiting) > DEPTH:
            self._wait_for_first()

    def wait(self) -> None:
        """All of it is done."""
        while self._waiting:
            self._wait_for_first()

    def _wait_for_first(self) -> None:
        wait([self._waiting[0]])  # an interrupt here leaves it among those to be waited for
        self._waiting.popleft().result()

    def close(self) -> None:
        """What has not begun is not done any more."""
        for work in self._waiting:
            work.cancel()
        self._thread.shutdown()


def _before_fork() -> None:
    for each in list(_ALL):
        each.wait()


def _in_child() -> None:
    for each in list(_ALL):
        each._begin()  # noqa: SLF001  (its own: the thread has stayed with the parent)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)
