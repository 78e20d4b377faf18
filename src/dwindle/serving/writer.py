"""The one thread that learns: it takes what waits as a group, logs it, learns it and answers.

The record of a group is durable before anybody is answered, and requests that come in meanwhile are
the next group: so one ``fsync`` serves all who wait. What needs the names of features, as an
explanation does, is done by the same thread between two groups. Predictions are not: see `Gate`.
"""

import asyncio
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from dwindle._base.errors import DataError, DivergedError
from dwindle._base.threads import Worker
from dwindle.data.formats.block import Parsed
from dwindle.data.schema import Schema
from dwindle.features.batch import Batch
from dwindle.model.checkpoint import write_checkpoint
from dwindle.serving.figures import Figures
from dwindle.serving.online import Admitted, Online
from dwindle.serving.records import named, packed, unpacked
from dwindle.serving.scoring import Scores
from dwindle.serving.store import Store

GROUP = 8192  # examples of a record
WAITING_BYTES = 2**26  # of requests that wait to be learned
TICK = 0.5  # seconds after which an idle writer looks around


class BusyError(Exception):
    """Too many examples wait already; ``seconds`` is when to try again."""

    def __init__(self, seconds: float) -> None:
        super().__init__("too many examples wait to be learned: send them again later")
        self.seconds = seconds


class FailedError(Exception):
    """The server cannot learn any more; the message says why."""


class Learned(NamedTuple):
    """What came of a request: predictions made before learning from ``rows`` of its examples."""

    first: int  # examples learned from before
    scores: Scores | None
    rows: list[int]
    refused: dict[int, str]


class Reply:
    """Where an event loop waits for an outcome."""

    __slots__ = ("future", "loop")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()


class Lesson(NamedTuple):
    """A request to learn."""

    parsed: Parsed
    atomic: bool
    size: int  # bytes
    reply: Reply


class Job(NamedTuple):
    """A request to do something between two groups."""

    do: Callable[[], Any]
    reply: Reply


Outcome = tuple[Reply, Any]  # an exception is raised where it is waited for


class Writer:
    """The thread that learns."""

    def __init__(
        self,
        online: Online,
        store: Store,
        figures: Figures,
        *,
        snapshot_bytes: int,
        reading: Callable[[], dict[str, Any]],
        tick: Callable[[], None] = lambda: None,
        note: Callable[[str], None],
    ) -> None:
        self.online, self.store, self.figures = online, store, figures
        self.failed: str | None = None
        self._reading, self._tick, self._note = reading, tick, note
        self._snapshot_bytes = snapshot_bytes
        self._said: dict[str, Any] | None = (
            None  # in the log or the snapshot, about labels and columns
        )
        self._queue: deque[Lesson | Job] = deque()
        self._wake = threading.Condition()
        self._examples = self._bytes = 0  # that wait
        self._ended = False
        self._keeper = Worker()
        self._kept = True  # whether the last snapshot has everything
        self._rate = 20_000.0  # examples a second, smoothed, to say when to try again
        self._replay()
        self._thread = threading.Thread(target=self._run, name="dwindle-writer", daemon=True)

    def start(self) -> None:
        """Begin to learn."""
        self._thread.start()

    # From other threads

    @property
    def waiting(self) -> int:
        """How many examples wait."""
        return self._examples

    def learn(self, parsed: Parsed, size: int, *, atomic: bool) -> "asyncio.Future[Learned]":
        """Queue examples, in a coroutine; refuse them if too many wait already."""
        n = parsed.batch.n_examples
        with self._wake:
            if self.failed is not None:
                raise FailedError(self.failed)
            if self._ended:
                raise FailedError("the server is being stopped")
            full = self._examples + n > self.online.limits.waiting
            if self._queue and (full or self._bytes + size > WAITING_BYTES):
                raise BusyError(max(1.0, self._examples / self._rate))
            reply = Reply()
            self._queue.append(Lesson(parsed, atomic, size, reply))
            self._examples += n
            self._bytes += size
            self._wake.notify()
        return reply.future

    def ask(self, job: Callable[[], Any]) -> "asyncio.Future[Any]":
        """Queue what is to be done between two groups, in a coroutine."""
        reply = Reply()
        with self._wake:
            if self._ended:
                raise FailedError("the server is being stopped")
            self._queue.append(Job(job, reply))
            self._wake.notify()
        return reply.future

    def close(self) -> None:
        """Learn what waits, write a snapshot and end; does nothing the second time."""
        with self._wake:
            if self._ended:
                return
            self._ended = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join()
        try:
            if not self._kept:
                self._snapshot_or_fail()
            self._keeper.wait()
        finally:
            self._keeper.close()
            self.store.close()

    # In the thread

    def _replay(self) -> None:
        """Learn again what the log holds."""
        for record in self.store.replay():
            batch, about = unpacked(record)
            self._kept = False
            if about:
                self._said = about
                self.online.told(about)
            if self.failed is None:
                try:
                    self.online.learn(batch)
                except DivergedError as error:
                    self._fail(error)

    def _run(self) -> None:
        while True:
            with self._wake:
                if not self._queue and not self._ended:
                    self._wake.wait(TICK)
                group, job = self._taken()
                if self._ended and not group and job is None:
                    return
            if group:
                self._answer(self._commit(group))
                assert self.store.log is not None
                if self.store.log.size > self._snapshot_bytes:
                    self._snapshot_or_fail()
            if job is not None:
                self._answer([(job.reply, _done(job.do))])
            try:
                self._tick()
            except Exception as error:  # noqa: BLE001  (a page must not end learning)
                self._note(f"the live page has no news: {error!r}")

    def _taken(self) -> tuple[list[Lesson], Job | None]:
        """Take the next group off the queue, or what is to be done before it.

        Who waits no more was told to ask again, so that learning it now would learn it twice.
        """
        group: list[Lesson] = []
        n = 0
        while self._queue:
            first = self._queue[0]
            if isinstance(first, Job):
                if group:
                    break
                self._queue.popleft()
                return group, first
            more = first.parsed.batch.n_examples
            if group and n + more > GROUP:
                break
            self._queue.popleft()
            self._examples -= more
            self._bytes -= first.size
            if not first.reply.future.done():
                group.append(first)
                n += more
        return group, None

    def _commit(self, group: list[Lesson]) -> list[Outcome]:
        """Log and learn a group; return what to answer."""
        begin = time.perf_counter()
        outcomes: list[Outcome] = []
        taken: list[tuple[Lesson, Admitted]] = []
        try:
            if self.failed is None:  # else these waited when it did
                for lesson in group:
                    self._admit(lesson, taken, outcomes)
                outcomes += self._learned(taken)
        except Exception as error:  # noqa: BLE001  (whatever it is, who waits must be told)
            self._fail(error)
        if self.failed is not None:
            told = FailedError(self.failed)
            answered = {id(reply) for reply, _ in outcomes}
            return outcomes + [(e.reply, told) for e in group if id(e.reply) not in answered]
        seconds = time.perf_counter() - begin
        n = sum(len(a.rows) for _, a in taken)
        self._rate = 0.9 * self._rate + 0.1 * n / max(seconds, 1e-6)
        return outcomes

    def _admit(
        self, lesson: Lesson, taken: list[tuple[Lesson, Admitted]], outcomes: list[Outcome]
    ) -> None:
        try:
            taken.append((lesson, self.online.admitted(lesson.parsed)))
        except DataError as error:
            refused = dict.fromkeys(range(lesson.parsed.batch.n_examples), error.what)
            outcomes.append((lesson.reply, Learned(self.online.examples, None, [], refused)))

    def _learned(self, taken: list[tuple[Lesson, Admitted]]) -> list[Outcome]:
        online = self.online
        kept = [a for lesson, a in taken if _is_kept(lesson, a)]
        batches = [a.batch for a in kept if len(a.rows)]
        if batches:
            spelt = named(Batch.joined(batches))
            if online.long_names(spelt):
                return self._learned([(lesson, online.named(a)[1]) for lesson, a in taken])
            about = {**online.about(), **self._reading()}
            news = about if about != self._said else None
            record, begin = packed(spelt, news), time.perf_counter()
            self.store.append(record)
            self.figures.logged(len(record), time.perf_counter() - begin)
            self._said, self._kept = about, False
            first = online.examples
            scores = online.learn(spelt.batch)
        outcomes: list[Outcome] = []
        at = 0
        for lesson, admitted in taken:
            n = len(admitted.rows) if _is_kept(lesson, admitted) else 0
            if n:
                part = Learned(
                    first + at, scores[at : at + n], admitted.rows.tolist(), admitted.refused
                )
                at += n
            else:
                part = Learned(online.examples, None, [], admitted.refused)
            outcomes.append((lesson.reply, part))
        return outcomes

    def snapshot(self) -> None:
        """Copy the learner, begin a new segment, and write the copy on another thread."""
        if self.online.learner is None:
            return
        number = self.store.rotate()
        contents = self.online.contents(self._reading())
        self._kept = True
        self._keeper.do(self._keep, number, contents)

    def _snapshot_or_fail(self) -> None:
        try:
            if self.failed is None:
                self.snapshot()
        except Exception as error:  # noqa: BLE001  (as in a commit)
            self._fail(error)

    def _keep(self, number: int, contents: Any) -> None:
        begin = time.perf_counter()
        try:
            self.store.keep(number, lambda path: write_checkpoint(path, contents))
        except Exception as error:  # noqa: BLE001  (what it holds is in the log as well)
            self._note(f"no snapshot: {error}: the log is kept, and grows")
        else:
            self.figures.kept(time.perf_counter() - begin)

    def _fail(self, error: Exception) -> None:
        """Learn no more: the log cannot be written, the weights diverged, or a bug was met."""
        what, advice = str(error), "make room, then start the server again"
        if isinstance(error, DivergedError):
            advice = "lower --learning-rate and begin a new folder"
        elif not isinstance(error, OSError):
            what, advice = repr(error), "start the server again: it goes on from its log"
        self.failed = f"{what}: nothing more is learned: {advice}"
        self._note(self.failed)

    @property
    def said_schema(self) -> Schema | None:
        """The columns that the log tells of, which the snapshot before it may lack."""
        said = (self._said or {}).get("schema")
        return None if said is None else Schema.from_json(said)

    @staticmethod
    def _answer(outcomes: Iterable[Outcome]) -> None:
        """Hand outcomes to the event loops that wait for them, each loop all at once."""
        by_loop: defaultdict[asyncio.AbstractEventLoop, list[Outcome]] = defaultdict(list)
        for reply, outcome in outcomes:
            by_loop[reply.loop].append((reply, outcome))
        for loop, some in by_loop.items():
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(_deliver, some)


def _is_kept(lesson: Lesson, admitted: Admitted) -> bool:
    return not (lesson.atomic and admitted.refused)


def _done(do: Callable[[], Any]) -> Any:
    try:
        return do()
    except Exception as error:  # noqa: BLE001  (it is raised where it is waited for)
        return error


def _deliver(outcomes: Iterable[Outcome]) -> None:
    for reply, outcome in outcomes:
        if reply.future.done():  # nobody waits any more
            continue
        if isinstance(outcome, Exception):
            reply.future.set_exception(outcome)
        else:
            reply.future.set_result(outcome)
