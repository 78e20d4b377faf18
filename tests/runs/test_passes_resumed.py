"""Stopped or killed in any pass, a run goes on to the same bits."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from dwindle import DataError
from dwindle.data.options import ReadOptions
from dwindle.runs.observer import Stopped
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.commands import dwindle, signalled
from helpers.multi_pass_data import OVERFIT, rows, vw_text
from helpers.observing import heard
from helpers.stop_after import stopped_after

pytestmark = pytest.mark.usefixtures("temporary")
TEXT = vw_text(list(rows()))


@pytest.mark.parametrize("holdout", [None, 5, "file"])
@pytest.mark.parametrize("n", [1, 4, 5, 6, 9, 12])
def test_stopped_in_any_pass_and_resumed_the_model_is_the_same_to_the_bit(
    noise, tmp_path, holdout, n
):
    if holdout == "file":
        holdout = str(tmp_path / "held.vw")
        Path(holdout).write_bytes(b"".join(noise.read_bytes().splitlines(keepends=True)[:100]))
    given = OVERFIT | {"holdout": holdout, "reading": ReadOptions(block_size=5000)}
    training = TrainSettings(**given, passes=4, patience=2, cooldown=50)
    whole = train([str(noise)], tmp_path / "whole", training)
    with pytest.raises(Stopped):
        train([str(noise)], tmp_path / "part", training, observer=heard(stopping=stopped_after(n)))
    with pytest.raises(Stopped):
        train(
            [str(noise)],
            tmp_path / "part",
            training,
            resume=True,
            observer=heard(stopping=stopped_after(2)),
        )
    part = train([str(noise)], tmp_path / "part", training, resume=True)
    assert (tmp_path / "part").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (part.best_pass, part.passes) == (whole.best_pass, whole.passes)
    assert not list(tmp_path.glob("*.best"))
    assert not list(tmp_path.glob("*.checkpoint"))


@pytest.mark.slow
def test_ended_between_the_best_model_and_the_next_checkpoint_it_resumes_all_the_same(
    noise, tmp_path
):
    given = OVERFIT | {"reading": ReadOptions(block_size=5000)}
    training = TrainSettings(**given, passes=6, checkpoint_every=lambda _seconds, _examples: True)
    train([str(noise)], tmp_path / "whole", training)

    def killed(row):
        if row.best and row.number > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train([str(noise)], tmp_path / "part", training, observer=heard(on_pass=killed))
    assert (tmp_path / "part.best").exists()
    train([str(noise)], tmp_path / "part", training, resume=True)
    assert (tmp_path / "part").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.slow
def test_killed_at_several_points_and_resumed_the_model_is_the_same_to_the_bit(noise, tmp_path):
    given = ("--passes", 8, "--holdout", 3, "--learning-rate", 0.05, "--patience", 4, "-q")
    dwindle("train", noise, "-m", tmp_path / "whole", *given)
    args = ["train", noise, "-m", tmp_path / "part", *given, "--checkpoint-every", 100]
    for where, n in [
        ("dwindle.runs.checkpoint:write", 2),  # a checkpoint
        ("dwindle.engine.learner:Learner.next_pass", 2),
        ("pathlib:Path.replace", 4),  # of a checkpoint or of the best model
    ]:
        killed = signalled(signal.SIGKILL, where, n, *args)
        assert subprocess.run(killed, check=False).returncode == -signal.SIGKILL
        args += [] if "--resume" in args else ["--resume"]
    dwindle("train", noise, "-m", tmp_path / "part", "--resume", "-q")
    assert (tmp_path / "part").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_later_pass_over_a_pipe_cannot_be_resumed(noise, tmp_path):
    os.mkfifo(tmp_path / "pipe.vw")

    def feed():
        thread = threading.Thread(
            target=lambda: (tmp_path / "pipe.vw").write_bytes(noise.read_bytes())
        )
        thread.start()
        return thread

    training = TrainSettings(passes=3)
    feeding = feed()
    with pytest.raises(Stopped):
        train(
            [str(tmp_path / "pipe.vw")],
            tmp_path / "m",
            training,
            observer=heard(stopping=stopped_after(2)),
        )
    feeding.join()
    with pytest.raises(DataError, match=r"m\.checkpoint: was written in pass 2, and its data came"):
        train([str(tmp_path / "pipe.vw")], tmp_path / "m", training, resume=True)


def test_the_best_model_of_another_run_is_refused(noise, data, tmp_path):
    training = TrainSettings(
        **OVERFIT | {"learning_rate": 0.2}, passes=4
    )  # no later pass is the best
    with pytest.raises(Stopped):
        train([str(noise)], tmp_path / "m", training, observer=heard(stopping=stopped_after(4)))
    train([str(data)], tmp_path / "other", TrainSettings(holdout=10))
    (tmp_path / "other").replace(tmp_path / "m.best")
    seen = []
    with pytest.raises(DataError, match=r"m\.best: is not the model of pass"):
        train(
            [str(noise)], tmp_path / "m", training, resume=True, observer=heard(on_pass=seen.append)
        )
    assert not any(row.best for row in seen)  # else it would have been written anew


def test_resuming_with_another_holdout_is_refused(noise, tmp_path):
    training = TrainSettings(**OVERFIT, passes=3)
    with pytest.raises(Stopped):
        train([str(noise)], tmp_path / "m", training, observer=heard(stopping=stopped_after(2)))
    done = dwindle("train", noise, "-m", tmp_path / "m", "--resume", "--holdout", 4, check=False)
    assert b"was written with holdout 3, and now it is 4" in done.stderr
    (tmp_path / "m.best").unlink()
    done = dwindle("train", noise, "-m", tmp_path / "m", "--resume", check=False)
    assert b"m.best, is gone: remove the checkpoint to begin anew" in done.stderr
