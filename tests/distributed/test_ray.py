"""Training on a Ray cluster of this machine: the same model, though workers die."""

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from dwindle import DataError, TrainSettings
from helpers.shards import model_of_run, write_words

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow
HOW = TrainSettings(passes=2)  # lanes, so that there are all kinds of tasks


@pytest.fixture(scope="module", autouse=True)
def cluster():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        options = {"num_cpus": 2, "include_dashboard": False, "log_to_driver": False}
        ray.init(_node_ip_address="127.0.0.1", **options)
        yield
        ray.shutdown()


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return write_words(tmp_path_factory.mktemp("words") / "train.vw", n=2000)


def test_the_model_is_the_same_to_the_bit(words, tmp_path):
    alone, _ = model_of_run(words, tmp_path / "serial", HOW, on="serial")
    on_ray, _ = model_of_run(words, tmp_path / "ray", HOW, on="ray")
    assert on_ray == alone


def kill_a_worker(killed, done):
    """Kill the first process that is seen to train from a shard."""
    while not killed and not done.wait(0.002):
        for found in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                if found.read_bytes().startswith(b"ray::train-"):
                    os.kill(int(found.parent.name), signal.SIGKILL)
                    killed.append(found.parent.name)
                    break


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="it looks for processes there")
def test_a_worker_that_is_killed_changes_nothing(tmp_path):
    words = write_words(tmp_path / "many.vw", n=20_000)
    alone, _ = model_of_run(words, tmp_path / "serial", HOW, on="serial")
    killed, done = [], threading.Event()
    killer = threading.Thread(target=kill_a_worker, args=(killed, done))
    killer.start()
    try:
        on_ray, _ = model_of_run(words, tmp_path / "ray", HOW, on="ray")
    finally:
        done.set()
        killer.join()
    assert killed
    assert on_ray == alone


def test_a_bad_line_is_told_with_its_place_and_not_tried_again(tmp_path):
    words = write_words(tmp_path / "bad.vw", n=200)
    with words.open("a") as file:
        file.write("1 | a:1:2\n")
    with pytest.raises(DataError, match=r"bad.vw:201: "):
        model_of_run(words, tmp_path / "ray", HOW, on="ray")
