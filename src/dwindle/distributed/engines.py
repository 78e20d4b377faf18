"""Where tasks run: in this process, in others of this machine, on Dask, Ray or any executor."""

import os
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from multiprocessing import get_context, parent_process
from typing import Any, NamedTuple

from dwindle._base.errors import SettingError
from dwindle._base.system import cores

ATTEMPTS = 4  # of a task whose worker dies, as Dask has it
HUNG = "60s"  # after which a worker of our own cluster that says nothing is given up
HOW = (
    "expected local, local:8, dask, dask://HOST:PORT, ray, ray://HOST:PORT, or in Python a Dask "
    "client or an executor"
)
CLUSTERS = ("dask", "ray")


class Engine(NamedTuple):
    """An executor, how many tasks it runs at once, and whether it takes names of tasks.

    ``workers`` counts those that are there now, if they may come and go.
    """

    executor: Executor
    slots: int
    takes_names: bool = False
    workers: Callable[[], int] | None = None

    def submit(self, name: str, task: Callable[..., Any], *args: Any) -> "Future[Any]":
        """Begin a task."""
        named = {"key": name} if self.takes_names else {}
        return self.executor.submit(task, *args, **named)


class WorkerDiedError(RuntimeError):
    """A task's worker died each time that it was tried."""


class Serial(Executor):
    """An executor that runs a task when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Run the task."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  (the future tells it)
            future.set_exception(error)
        return future


class Processes(Executor):
    """Processes of this machine, each of which may die: its task is then tried by another."""

    def __init__(self, n: int) -> None:
        self._tasks: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]
        self._tasks = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(n)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Let the next process that is free run the task."""
        future: Future[Any] = Future()
        self._tasks.put((future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes, after all tasks or, if they are to be cancelled, after those begun."""
        if cancel_futures:
            with suppress(queue.Empty):
                while task := self._tasks.get_nowait():
                    task[0].cancel()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _work(self) -> None:
        """Hand tasks to a process of its own, and to a new one if that died."""
        process: ProcessPoolExecutor | None = None
        while (task := self._tasks.get()) is not None:
            future, call = task
            if not future.set_running_or_notify_cancel():
                continue
            for attempt in range(ATTEMPTS):
                process = process or ProcessPoolExecutor(
                    1, mp_context=get_context("spawn"), initializer=_end_with_parent
                )
                try:
                    future.set_result(process.submit(call).result())
                except BrokenProcessPool:
                    process.shutdown(wait=False)
                    process = None
                    if attempt == ATTEMPTS - 1:
                        future.set_exception(
                            WorkerDiedError(f"its worker died, {ATTEMPTS} times in a row")
                        )
                    continue
                except Exception as error:  # noqa: BLE001  (the future tells it)
                    future.set_exception(error)
                break
        if process is not None:
            process.shutdown()


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, however it ended."""

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def engine_of(on: Any) -> Iterator[Engine]:
    """Find where to run tasks; what is started here is ended afterwards."""
    if isinstance(on, str):
        with _named(on) as engine:
            yield engine
    elif isinstance(on, Executor):
        yield Engine(on, getattr(on, "_max_workers", None) or 1)
    elif hasattr(on, "get_executor") and hasattr(on, "nthreads"):
        yield _of_client(on)
    else:
        raise SettingError(f"on is {on!r}: {HOW}")


def check_on(on: Any) -> None:
    """Refuse what names no engine, before anything is read."""
    if isinstance(on, str):
        kind, _, rest = on.partition(":")
        known = kind in {"local", "serial", *CLUSTERS}
        number = rest.isdecimal() and int(rest) > 0
        address = rest.startswith("//") and len(rest) > 2
        fits = number if kind == "local" else kind in CLUSTERS and address
        if not known or (rest and not fits):
            raise SettingError(f"--on {on}: {HOW}")


@contextmanager
def _named(on: str) -> Iterator[Engine]:
    check_on(on)
    kind, _, rest = on.partition(":")
    if kind == "serial":
        yield Engine(Serial(), 1)
    elif kind == "local":
        n = int(rest or cores())
        processes = Processes(n)
        try:
            yield Engine(processes, n)
        finally:
            processes.shutdown(cancel_futures=True)
    elif kind == "ray":
        with _ray(rest) as engine:
            yield engine
    else:
        with _dask(rest) as client:
            yield _of_client(client)


class OnRay(Executor):
    """Tasks on a Ray cluster, which tries one again whose worker died."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Begin a task, whose name is its ``key``."""
        task = self._ray.remote(fn).options(name=kwargs["key"], max_retries=ATTEMPTS - 1)
        future: Future[Any] = task.remote(*args).future()
        return future


@contextmanager
def _ray(address: str) -> Iterator[Engine]:
    """Connect to a Ray cluster, or start one on this machine."""
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise SettingError(f"--on ray needs pip install 'dwindle[ray]' ({error})") from None
    begun = not ray.is_initialized()
    if begun:
        how = {"address": f"ray:{address}"} if address else {"num_cpus": cores()}
        try:
            ray.init(**how, include_dashboard=None if address else False, log_to_driver=False)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise SettingError(f"--on ray:{address}: nobody answers there ({error})") from None
    try:
        slots = int(ray.cluster_resources().get("CPU", 1))
        yield Engine(OnRay(ray), slots, takes_names=True)
    finally:
        if begun:
            ray.shutdown()


@contextmanager
def _dask(address: str) -> Iterator[Any]:
    """Connect to a scheduler, or start a cluster of processes on this machine."""
    try:
        dask, distributed = import_module("dask"), import_module("distributed")
    except ImportError as error:
        raise SettingError(f"--on dask needs pip install 'dwindle[dask]' ({error})") from None
    if address:
        try:
            client = distributed.Client(f"tcp:{address}", timeout="10s", set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise SettingError(f"--on dask:{address}: nobody answers there ({error})") from None
        with client:
            yield client
        return
    with (
        dask.config.set({"distributed.scheduler.worker-ttl": HUNG}),
        distributed.LocalCluster(
            n_workers=cores(), threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _of_client(client: Any) -> Engine:
    slots = sum(client.nthreads().values())
    workers = partial(_n_workers, client)
    return Engine(client.get_executor(pure=False), max(slots, 1), takes_names=True, workers=workers)


def _n_workers(client: Any) -> int:
    """Count workers; a scheduler that does not answer is noticed by what becomes of tasks."""
    try:
        return len(client.nthreads())
    except OSError:
        return 1
