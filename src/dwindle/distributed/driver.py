"""The driver of a run on many machines: it hands out tasks, and sees only counts."""

import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, NamedTuple

from dwindle._base.errors import DataError, DivergedError, SettingError
from dwindle._base.files import Place
from dwindle._base.remote import shown
from dwindle.distributed import places, tasks
from dwindle.distributed.engines import Engine, WorkerDiedError
from dwindle.distributed.plan import Plan, plan_file
from dwindle.runs.loop import Pass
from dwindle.runs.observer import Observer, ShardsDone, Stopped
from dwindle.runs.progress_table import Row
from dwindle.runs.summary import Summary

RETRIES = 2  # of a task that raised an error, which may be of a flaky storage
LOOK = 0.2  # seconds between looks at whether the run is to stop
ALONE = 5.0  # seconds without any worker, after which that is told
FEW = 1000  # examples of a shard, below which mixing may cost accuracy
AT_ONCE = 16  # files that are removed at once
KILLED = {"KilledWorker", "WorkerCrashedError"}  # of Dask, and of Ray: tried often enough
RAISED = {each.__name__: each for each in (DataError, DivergedError, SettingError)}


class Job(NamedTuple):
    """A task to be done: what it is called, and what is to be told if it fails."""

    name: str
    told: str
    task: Callable[..., Any]
    args: tuple[Any, ...]
    level: int
    k: int
    tries: int = 0


class Driver:
    """One run: its plan, where its tasks run, and who is told."""

    def __init__(self, run: str, plan: Plan, engine: Engine, observer: Observer) -> None:
        self.run, self.plan, self.engine, self.observer = run, plan, engine, observer
        self.n = len(plan.shards)
        self.token = secrets.token_hex(4)  # names of tasks are of this run of the driver
        self.memory = 0  # the most that a worker took
        self.examples = 0  # that were learned from here, in all passes
        self._pending: dict[Future[Any], Job] = {}
        self._looked = self._worked = time.monotonic()  # for workers, and when there were some
        self._is_alone = False

    def go(self) -> Summary:
        """Make all passes; return the summary of the model, which is in the run's folder."""
        for p in range(1, self.plan.passes + 1):
            is_over = places.after(self.run, p).exists()
            stages = places.stages(self.plan, p)
            if not is_over:
                for stage in stages:
                    self._stage(stage, p)
            done = self._one(f"finalize-pass{p}", f"pass {p}", tasks.finalize, p)
            if not is_over:
                self._tell_pass(p, done)
                self._remove(p, stages)
            if done["best"].number and done["best"].since >= self.plan.run["patience"]:
                break
        outcome = self._one("write-model", "the model", tasks.write_model)
        summary: Summary = outcome["summary"]
        return summary

    # Tasks

    def _stage(self, stage: str, p: int) -> None:
        """Run a task for each shard, and add up what they tell, four at a time."""
        widths = places.widths(self.n)
        done: set[tuple[int, int]] = set()
        so_far = ShardsDone(p, self.plan.passes, 0, self.n, 0, 0.0, 0.0, 0)
        learns = stage != places.JUDGED
        told = f"pass {p}" if learns else "comparing gravities"
        for k in range(self.n):
            name = f"{'train' if learns else 'judge'}-pass{p}-shard{k}"
            task, numbers = (tasks.train_shard, (p, k)) if learns else (tasks.judge_shard, (k,))
            self._submit(Job(name, f"{told}, shard {k}", task, numbers, 0, k))
        if learns:
            self.observer.shards(so_far)
        while self._pending:
            for job, outcome in self._ended():
                done.add((job.level, job.k))
                if job.level == 0 and learns:
                    so_far = so_far.plus(outcome)
                    self.observer.shards(so_far)
                up, level = job.k // places.FAN, job.level + 1
                if level == len(widths):
                    continue
                of = range(up * places.FAN, min((up + 1) * places.FAN, widths[job.level]))
                if all((job.level, j) in done for j in of):
                    name = f"merge-{stage}-level{level}-{up}"
                    args = (stage, level, up, widths[job.level])
                    where = f"{told}, adding up shards"
                    self._submit(Job(name, where, tasks.merge, args, level, up))
        if learns:
            self.examples += so_far.examples

    def _one(self, name: str, told: str, task: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Run one task; return its outcome."""
        self._submit(Job(name, told, task, args, 0, 0))
        while True:
            for _, outcome in self._ended():
                return outcome

    def _submit(self, job: Job) -> None:
        name = f"{job.name}-{self.token}-{job.tries}"
        try:
            future = self.engine.submit(name, job.task, self.run, *job.args)
        except (RuntimeError, OSError) as error:
            raise self._lost(job, error) from None
        self._pending[future] = job

    def _ended(self) -> list[tuple[Job, dict[str, Any]]]:
        """Wait for tasks; return those that ended, unless one failed or the run is to stop."""
        if self.observer.should_stop():
            self._cancel()
            raise Stopped(plan_file(self.run))
        self._look_for_workers()
        found = []
        for future in wait(self._pending, LOOK, FIRST_COMPLETED).done:
            job = self._pending.pop(future)
            outcome = self._outcome(job, future)
            if outcome is not None:
                self.memory = max(self.memory, outcome["memory"])
                found.append((job, outcome))
        return found

    def _look_for_workers(self) -> None:
        """Tell once that there are no workers, and once that they are back; tasks wait for them."""
        now = time.monotonic()
        if self.engine.workers is None or now - self._looked < ALONE / 4:
            return
        self._looked = now
        if self.engine.workers():
            self._worked = now
        is_alone = now - self._worked > ALONE
        if is_alone != self._is_alone:
            self._is_alone = is_alone
            self.observer.note(
                "there are no workers: the run goes on when there are some again"
                if is_alone
                else "there are workers again"
            )

    def _outcome(self, job: Job, future: "Future[Any]") -> dict[str, Any] | None:
        """Return what a task returned; None if it is tried again."""
        try:
            outcome: dict[str, Any] = future.result()
        except (CancelledError, BrokenProcessPool) as error:
            self._cancel()
            raise self._lost(job, error) from None
        except WorkerDiedError as error:
            self._cancel()
            raise DataError(f"{job.told} ({self._files(job)}): {error}") from None
        except Exception as error:
            if type(error).__name__ in KILLED:
                self._cancel()
                raise DataError(
                    f"{job.told} ({self._files(job)}): each worker that tried it died: is there "
                    "memory enough?"
                ) from None
            if job.tries < RETRIES:
                self._submit(job._replace(tries=job.tries + 1))
                return None
            self._cancel()
            raise DataError(f"{job.told}: {type(error).__name__}: {error}") from error
        if "error" in outcome:
            self._cancel()
            raise RAISED[outcome["error"]](f"{job.told}: {outcome['message']}")
        return outcome

    def _files(self, job: Job) -> str:
        pieces = self.plan.shards[job.k]
        return ", ".join(shown(each.path) for each in pieces[:3]) + (", ..." if pieces[3:] else "")

    def _lost(self, job: Job, error: BaseException) -> DataError:
        why = f": {error}" if str(error) else ""
        return DataError(
            f"{job.told}: the workers, or their scheduler, are gone ({type(error).__name__}{why}): "
            "start them and repeat the command: it goes on where it stopped"
        )

    def _cancel(self) -> None:
        for future in self._pending:
            future.cancel()
        self._pending.clear()

    # What is told

    def _tell_pass(self, p: int, done: dict[str, Any]) -> None:
        row = done.get("row")
        if isinstance(row, Row):
            self.observer.row(row)
        for note in done.get("notes", ()):
            self.observer.note(note)
        if p == 1 and done.get("fewest", FEW) < FEW and self.n > 1:
            self.observer.note(
                f"a shard has only {done['fewest']:,} examples: with fewer --shards the model may "
                "be better"
            )
        if isinstance(held := done.get("held"), Pass):
            self.observer.pass_ended(held)

    # Files

    def _remove(self, p: int, stages: Sequence[str]) -> None:
        """Remove the parts of a pass, which its checkpoint stands for."""
        found: list[Place] = [places.names_file(self.run, p, k) for k in range(self.n)]
        if 1 < p <= self.plan.compared_after:
            found += [places.own_file(self.run, p - 1, k) for k in range(self.n)]
        for stage in stages:
            for level, width in enumerate(places.widths(self.n)):
                found += [places.part_file(self.run, stage, level, k) for k in range(width)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda place: place.unlink(missing_ok=True), found))
