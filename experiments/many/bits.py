"""One model whatever runs it and whatever dies: digests of model files."""

import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import dask
import psutil  # type: ignore[import-untyped]  # it has no types
import pyarrow as pa

import distributed
from dwindle import DataError, Observer, TrainSettings, train
from experiments import data

LocalCluster: Any = distributed.LocalCluster  # which say nothing of their types
Client: Any = distributed.Client
LINES = 8000  # of rcv1
SHARDS = 8
KILLS = 50
PHASES = ("train-pass1-shard3", "merge-1", "finalize-pass1", "train-pass2", "judge-pass2-shard2")
QUIET = {"distributed.scheduler.worker-ttl": "10s", "distributed.scheduler.allowed-failures": 100}


class Silent(Observer):
    """An observer that is told of everything and says nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""


class Saboteur(distributed.WorkerPlugin):
    """A worker that gets a signal when it is about to run a task of such a name, each once."""

    def __init__(self, tasks: tuple[str, ...], number: int, folder: Path) -> None:
        self.tasks, self.number, self.folder = tasks, number, str(folder)

    def transition(self, key: Any, start: Any, finish: str, **_: Any) -> None:  # noqa: ARG002  (Dask's)
        """Look at what the worker is about to do."""
        for task in self.tasks:
            marker = Path(self.folder) / f"sent-{task}"
            if finish == "executing" and str(key).startswith(task) and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), self.number)


def words(folder: Path) -> Path:
    """Write some lines of rcv1 as they are."""
    found = data.find(data.RCV1_TRAIN)
    if found is None:
        raise FileNotFoundError(data.RCV1_TRAIN)
    path = folder / "rcv1.vw"
    with pa.CompressedInputStream(str(found), "zstd") as file:
        text = bytes(file.read())
    path.write_bytes(b"".join(text.splitlines(keepends=True)[:LINES]))
    return path


def digest(lines: Path, folder: Path, on: Any, **options: Any) -> str:
    """Train, and return the first digits of the model's digest."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "model.parquet"
    train(
        [str(lines)],
        target,
        TrainSettings(passes=2),
        on=on,
        shards=SHARDS,
        observer=Silent(),
        **options,
    )
    return sha256(target.read_bytes()).hexdigest()[:12]


@contextmanager
def cluster(workers: int) -> Iterator[tuple[Any, Any]]:
    """Start a Dask cluster of processes."""
    with (
        dask.config.set(QUIET),
        LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as found,
        Client(found, set_as_default=False) as client,
    ):
        yield found, client


def sabotaged(lines: Path, folder: Path, tasks: tuple[str, ...], number: int) -> tuple[str, int]:
    """Train while workers get a signal at these tasks; tell how many did."""
    folder.mkdir(parents=True)
    with cluster(2) as (_, client):
        client.register_plugin(Saboteur(tasks, number, folder), name="saboteur")
        found = digest(lines, folder, client)
    return found, len(list(folder.glob("sent-*")))


class Killer(threading.Thread):
    """A thread that kills worker processes of this one at random moments, so many at most."""

    def __init__(self, most: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.most, self.killed = most, 0
        self.over = threading.Event()
        self.random = random.Random(seed)  # noqa: S311  (nothing is secret)

    def run(self) -> None:
        """Kill, until it is over."""
        while self.killed < self.most and not self.over.wait(self.random.uniform(0.2, 2.5)):
            with suppress(psutil.Error):
                children = psutil.Process().children()
                alive = [each for each in children if "spawn_main" in " ".join(each.cmdline())]
                if alive:
                    self.random.choice(alive).kill()
                    self.killed += 1


def killed_at_random(lines: Path, folder: Path, kills: int) -> tuple[set[str], int, int]:
    """Kill workers at random moments until so many are dead; tell digests, kills and runs.

    A run that gives up, as one of its tasks was killed each time, is repeated and goes on.
    """
    found: set[str] = set()
    runs = dead = 0
    while dead < kills or not found:
        killer = Killer(kills - dead, runs)
        killer.start()
        own = folder / f"{len(found)}"
        with suppress(DataError):
            found.add(digest(lines, own, "local:2", run=own / "run"))
        killer.over.set()
        killer.join()
        dead, runs = dead + killer.killed, runs + 1
    return found, dead, runs


def _command(lines: Path, folder: Path, on: str) -> list[str]:
    words_ = ["train", str(lines), "--model", str(folder / "model.parquet"), "--on", on]
    return [sys.executable, "-m", "dwindle", *words_, "--shards", str(SHARDS), "--passes", "2",
            "--run", str(folder / "run"), "-q"]  # fmt: skip


def _when(ready: Callable[[], bool], seconds: float = 120.0) -> None:
    until = time.monotonic() + seconds
    while not ready() and time.monotonic() < until:
        time.sleep(0.02)


def driver_killed(lines: Path, folder: Path) -> str:
    """Kill the driver when some parts are there, then repeat the command."""
    folder.mkdir(parents=True)
    first = subprocess.Popen(_command(lines, folder, "local:2"))
    _when(lambda: len(list((folder / "run").glob("part-1-0-*"))) >= 3)
    first.kill()
    first.wait()
    subprocess.run(_command(lines, folder, "local:2"), check=True, stderr=subprocess.DEVNULL)
    return sha256((folder / "model.parquet").read_bytes()).hexdigest()[:12]


def scheduler_killed(lines: Path, folder: Path) -> tuple[str, str]:
    """Kill the scheduler when some parts are there; start another and repeat the command."""
    folder.mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    dask_ = [sys.executable, "-m", "dask"]
    silent: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def start() -> list[subprocess.Popen[bytes]]:
        scheduler = [
            *dask_,
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--no-dashboard",
        ]
        worker = [
            *dask_,
            "worker",
            f"tcp://{address}",
            "--nworkers",
            "2",
            "--nthreads",
            "1",
            "--no-dashboard",
        ]
        return [subprocess.Popen(args, **silent) for args in (scheduler, worker)]

    running = start()
    try:
        time.sleep(8)
        first = subprocess.Popen(
            _command(lines, folder, f"dask://{address}"), stderr=subprocess.PIPE, text=True
        )
        _when(lambda: len(list((folder / "run").glob("part-1-0-*"))) >= 2)
        running[0].kill()
        _, said = first.communicate(timeout=120)
        for each in running:
            each.kill()
            each.wait()
        running = start()
        time.sleep(8)
        subprocess.run(_command(lines, folder, f"dask://{address}"), check=True, **silent)
    finally:
        for each in running:
            each.kill()
            each.wait()
    return sha256((folder / "model.parquet").read_bytes()).hexdigest()[
        :12
    ], said.strip().splitlines()[-1][-160:]


class Unreliable(ThreadPoolExecutor):
    """Workers behind a network that is slow: they die before a task, or after it is done.

    Some tasks run twice at once, as if a worker that was given up had woken up.
    """

    def __init__(self, workers: int, delay: float, deaths: float, seed: int = 0) -> None:
        super().__init__(workers)
        self.delay, self.deaths = delay, deaths
        self.random = random.Random(seed)  # noqa: S311  (nothing is secret)
        self.counts = {"tasks": 0, "deaths": 0, "twice": 0}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Run the task, or a part of it."""
        fate, wait = self.random.random(), self.random.expovariate(1 / self.delay)
        self.counts["tasks"] += 1
        before, after = fate < self.deaths / 2, self.deaths / 2 <= fate < self.deaths
        twice = self.deaths <= fate < 1.5 * self.deaths
        self.counts["deaths"] += before or after
        self.counts["twice"] += twice

        def run() -> Any:
            time.sleep(wait)
            if before:
                raise OSError("died before")
            if twice:
                other = threading.Thread(target=fn, args=args)
                other.start()
            found = fn(*args, **kwargs)
            time.sleep(wait)
            if after:
                raise OSError("died after")
            return found

        return super().submit(run)
