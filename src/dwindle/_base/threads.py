"""Threads: one worker that keeps order, an iterator read ahead, and maps over several threads."""

import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar
from weakref import WeakSet

Item = TypeVar("Item")
Result = TypeVar("Result")

DEPTH = 4  # items waiting between two threads
POLL = 0.2  # seconds between two looks at whether to stop


_WORKERS: WeakSet["Worker"] = WeakSet()


class Worker:
    """A thread that does one task after another, in the order in which they are given.

    An exception in a task is raised by the call that waits for it: `wait`, or a later `do`.
    """

    def __init__(self) -> None:
        self._begin()
        _WORKERS.add(self)

    def _begin(self) -> None:
        self._waiting: deque[Future[Any]] = deque()
        self._thread = ThreadPoolExecutor(1)

    @property
    def idle(self) -> bool:
        """Whether all tasks are finished and waited for."""
        return not self._waiting

    def do(self, task: Callable[..., object], *args: Any) -> None:
        """Queue a task; its arguments must not change until it is done."""
        self._waiting.append(self._thread.submit(task, *args))
        if len(self._waiting) > DEPTH:
            _pop_first(self._waiting)

    def wait(self) -> None:
        """Wait until all tasks are done."""
        while self._waiting:
            _pop_first(self._waiting)

    def close(self) -> None:
        """Drop the tasks that have not begun and end the thread."""
        for task in self._waiting:
            task.cancel()
        self._waiting.clear()  # so that nobody waits for them, nor a process that is forked
        self._thread.shutdown()


def _before_fork() -> None:
    for worker in list(_WORKERS):
        worker.wait()


def _in_child() -> None:
    for worker in list(_WORKERS):
        worker._begin()  # noqa: SLF001  (only the parent process has the thread)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)


def prefetch(items: Iterator[Item]) -> Generator[Item, None, None]:
    """Yield the same items, computed by another thread that runs up to `DEPTH` items ahead."""
    end = object()
    pending: deque[Future[Any]] = deque()
    thread = _Pool(1)
    try:
        while True:
            while len(pending) < DEPTH:
                pending.append(thread.submit(next, items, end))
            item = _pop_first(pending)
            if item is end:
                return
            yield item
    finally:
        _abandon(thread, pending)


def ordered_map(
    function: Callable[[Item], Result], items: Iterator[Item], n_threads: int
) -> Iterator[Result]:
    """Yield ``function(item)`` in the order of the items, which are themselves prefetched.

    A result is not held back until the next item is there.
    """
    end: Any = object()
    reader, pool = _Pool(1), _Pool(n_threads)
    coming: deque[Future[Item]] = deque()
    pending: deque[Future[Result]] = deque()
    ended = False
    try:
        while True:
            while not ended and len(coming) < DEPTH:
                coming.append(reader.submit(next, items, end))
            wanted = not ended and len(pending) <= n_threads
            if wanted and pending:
                _wait_for_one([coming[0], pending[0]])
            # What went wrong with an item is raised after the results of those before it.
            if wanted and (not pending or (coming[0].done() and not coming[0].exception())):
                item = _pop_first(coming)
                ended = item is end
                if not ended:
                    pending.append(pool.submit(function, item))
            elif pending:
                yield _pop_first(pending)
            else:
                return
    finally:
        _abandon(reader, coming)
        _abandon(pool, pending)


def unordered_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    n_threads: int,
    check: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Item, Result]]:
    """Yield (item, ``function(item)``) as results come in.

    ``check`` is called several times a second; to stop, it raises an exception.
    """
    todo = iter(items)
    pending: dict[Future[Result], Item] = {}
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            while True:
                check()
                for item in itertools.islice(todo, 2 * n_threads - len(pending)):
                    pending[pool.submit(function, item)] = item
                if not pending:
                    return
                done, _ = wait(pending, timeout=POLL, return_when=FIRST_COMPLETED)
                for future in done:
                    yield pending.pop(future), future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def side_by_side(*tasks: Callable[[], Any]) -> list[Any]:
    """Run the first task here and the others in threads of their own; return what they return."""
    if len(tasks) == 1:
        return [tasks[0]()]
    with ThreadPoolExecutor(len(tasks) - 1) as pool:
        others = [pool.submit(task) for task in tasks[1:]]
        return [tasks[0](), *(other.result() for other in others)]


def _pop_first(pending: deque[Future[Item]]) -> Item:
    """Wait for the first result and take it; after an interrupt it can still be waited for."""
    _wait_for_one([pending[0]])
    return pending.popleft().result()


def _wait_for_one(futures: list[Future[Any]]) -> None:
    """Wait for a result; a thread of a pool looks now and then whether its own is still wanted."""
    seconds = POLL if hasattr(_thread, "pool") else None
    while not wait(futures, seconds, FIRST_COMPLETED).done:
        check_wanted()


_thread = threading.local()


class Abandoned(Exception):  # noqa: N818  (it is not an error)
    """Raised in a thread whose result is no longer waited for."""


def check_wanted() -> None:
    """Raise `Abandoned` in a thread of a pool that was given up, as its caller was interrupted.

    Whatever may wait for long, as a pipe does, calls it several times a second.
    """
    pool = getattr(_thread, "pool", None)
    if pool is not None and pool.given_up:
        raise Abandoned


class _Pool(ThreadPoolExecutor):
    """A pool whose threads know it, so that they can ask whether it was given up."""

    def __init__(self, n: int) -> None:
        super().__init__(n, initializer=self._mark)
        self.given_up = False

    def _mark(self) -> None:
        _thread.pool = self


def _abandon(pool: _Pool, pending: Iterable[Future[Any]]) -> None:
    """Cancel the tasks that have not begun and wait for those that have.

    The threads are not joined: the garbage collector may close an unfinished generator in any
    thread, also in one that is just starting and holds a lock that joining needs. In a thread of
    one of our own pools nothing is waited for, because it may be the one that runs the task.
    """
    pool.given_up = True
    for future in pending:
        future.cancel()
    if not hasattr(_thread, "pool"):
        wait([future for future in pending if not future.cancelled()])
    pool.shutdown(wait=False)
