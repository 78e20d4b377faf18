"""Training on a Dask cluster of processes: the same model, though workers die or hang."""

import os
import signal
from contextlib import contextmanager

import pytest

from dwindle import DataError, ReadOptions, TrainSettings
from dwindle.distributed import driver
from helpers.effort import in_full
from helpers.shards import Quiet, model_of_run, write_words

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
pytestmark = pytest.mark.slow
HOW = TrainSettings(passes=2)  # lanes, so that there are all kinds of tasks


class Saboteur(distributed.WorkerPlugin):
    """A worker that gets a signal when it is about to run a task of such a name, so many times."""

    def __init__(self, tasks, number, folder, times=1):
        self.tasks, self.number, self.folder, self.times = tasks, number, str(folder), times

    def transition(self, key, start, finish, **_):
        for task in self.tasks:
            if finish == "executing" and str(key).startswith(task):
                for k in range(self.times):
                    marker = f"{self.folder}/{task}-{k}"
                    if not os.path.exists(marker):  # noqa: PTH110  (it runs in the event loop)
                        os.close(os.open(marker, os.O_CREAT))
                        os.kill(os.getpid(), self.number)
                        return


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return write_words(tmp_path_factory.mktemp("words") / "train.vw", n=2000)


@contextmanager
def cluster(n_workers=2):
    quick = {
        "distributed.scheduler.worker-ttl": "5s",
        "distributed.worker.memory.target": False,
        "distributed.admin.log-format": "%(message)s",
    }
    with (
        dask.config.set(quick),
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with cluster() as client:
        yield client


@pytest.fixture
def victim():
    """A cluster of its own, which may be left without workers."""
    with cluster() as client:
        yield client


@pytest.fixture(scope="module")
def whole(words, tmp_path_factory):
    return model_of_run(words, tmp_path_factory.mktemp("whole"), HOW, on="serial")[0]


def test_dask_makes_the_same_model(words, whole, client, tmp_path):
    observer = Quiet()
    found, summary = model_of_run(words, tmp_path, HOW, on=client, observer=observer)
    assert found == whole
    assert summary.peak_memory_bytes > 10**7
    assert observer.done[-1].done == 4


@contextmanager
def sabotaged(client, *args, **options):
    client.register_plugin(Saboteur(*args, **options), name="saboteur")
    try:
        yield
    finally:
        client.unregister_worker_plugin("saboteur")


def test_workers_that_are_killed_in_each_phase_change_nothing(words, whole, client, tmp_path):
    tasks = ["train-pass2-shard1", "merge-1", "judge-pass1-shard2", "finalize-pass2"]
    with sabotaged(client, tasks, signal.SIGKILL, tmp_path):
        assert model_of_run(words, tmp_path / "m", HOW, on=client)[0] == whole
    assert all((tmp_path / f"{task}-0").exists() for task in tasks)


class Restarting(Quiet):
    """An observer that starts a worker when it is told that there is none."""

    def __init__(self, client):
        super().__init__()
        self.client = client

    def note(self, text):
        super().note(text)
        if text.startswith("there are no workers"):
            self.client.cluster.scale(1)


def test_a_run_without_workers_says_so_and_waits_for_them(words, whole, tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "ALONE", 0.2)
    with cluster(n_workers=0) as client:
        observer = Restarting(client)
        assert model_of_run(words, tmp_path, HOW, on=client, observer=observer)[0] == whole
    about = [note for note in observer.notes if "workers" in note]
    assert about == [
        "there are no workers: the run goes on when there are some again",
        "there are workers again",
    ]


@in_full
def test_a_worker_that_hangs_is_given_up(words, whole, victim, tmp_path):
    with sabotaged(victim, ["train-pass1"], signal.SIGSTOP, tmp_path):
        assert model_of_run(words, tmp_path / "m", HOW, on=victim)[0] == whole
    assert (tmp_path / "train-pass1-0").exists()


@in_full
def test_a_shard_that_kills_all_workers_is_named(words, victim, tmp_path):
    with (
        sabotaged(victim, ["train-pass1-shard2"], signal.SIGKILL, tmp_path, times=100),
        pytest.raises(DataError, match=r"pass 1, shard 2 \(.*each worker that tried it died"),
    ):
        model_of_run(words, tmp_path / "m", HOW, on=victim)


def test_a_bad_line_is_told_and_not_tried_again(client, tmp_path):
    path = write_words(tmp_path / "bad.vw", n=1000)
    lines = path.read_text().splitlines()
    lines[777] = "what | is this"
    path.write_text("\n".join(lines))
    reading = ReadOptions(block_size=2**13)  # so that the plan does not see it
    how = TrainSettings(update="ftrl", gravity=1.0, reading=reading)
    with pytest.raises(DataError, match=r"^pass 1, shard 3: .*bad\.vw:778: "):
        model_of_run(path, tmp_path, how, on=client)
