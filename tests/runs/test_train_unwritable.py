"""What cannot be written is found before the training, and never costs what was learned."""

import errno
import json
import os
from pathlib import Path

import pytest

from dwindle.data.options import ReadOptions
from dwindle.model.model import Model
from dwindle.runs.observer import Stopped
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.commands import dwindle
from helpers.observing import heard
from helpers.stop_after import stopped_after
from helpers.training_text import fitted, lines

TEXT = lines().encode()
SMALL = ReadOptions(block_size=20_000)


@pytest.fixture
def full(monkeypatch, tmp_path):
    """A folder on a disk that has no more room, and another for temporary files."""
    folder, temporary = tmp_path / "full", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    sync = os.fsync

    def synced(file):
        if folder in Path(f"/proc/self/fd/{file}").readlink().parents:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(file)

    monkeypatch.setattr("os.fsync", synced)
    return folder


@pytest.mark.parametrize("command", ["train", "tune"])
def test_a_model_that_cannot_be_written_is_told_before_the_training(data, tmp_path, command):
    (tmp_path / "folder").mkdir()
    for model, message in (
        (tmp_path / "folder", f"{tmp_path}/folder: is a folder: write to a file in it"),
        ("/proc/m.parquet", "/proc/m.parquet: cannot be written: No such file or directory"),
    ):
        done = dwindle(command, data, "-m", model, check=False, text=True)
        assert (done.returncode, done.stderr) == (1, f"dwindle: {message}\n")


def test_a_full_disk_costs_no_weights_and_is_told_by_the_name_of_the_file(data, tmp_path, full):
    expected = fitted([data], tmp_path)
    done = dwindle("train", data, "-m", full / "m", "-g", "1e-4", "-q", check=False, text=True)
    [rescued] = (tmp_path / "temporary").glob("dwindle-*/m")
    assert done.returncode == 1
    assert done.stderr == (
        f"dwindle: {full}/m: cannot be written: No space left on device: "
        f"the model is in {rescued} instead\n"
    )
    model = Model.load(rescued)
    assert (model.weights(), model.intercept) == expected
    assert not list(full.iterdir())


def test_a_run_goes_on_though_its_checkpoints_cannot_be_written(data, tmp_path, full):
    settings = TrainSettings(reading=SMALL, checkpoint_every=lambda *_: True, holdout=10)
    notes = []
    with pytest.raises(OSError, match="m: cannot be written: No space left"):
        train([str(data)], full / "m", settings, observer=heard(on_note=notes.append))
    where = f"{full}/m.{{}}: cannot be written: No space left on device"
    assert notes[0] == f"{where.format('checkpoint')}: going on without it"
    assert notes[1].startswith(f"{where.format('best')}: kept in {tmp_path}/temporary/")
    assert len(notes) == 2
    assert not list((tmp_path / "temporary").glob("*/m.best"))


def test_a_stopped_run_s_checkpoint_is_written_elsewhere(data, tmp_path, full):
    settings = TrainSettings(reading=SMALL)
    train([str(data)], tmp_path / "whole", settings)
    with pytest.raises(OSError, match=r"m\.checkpoint: cannot be written: .* instead: move it"):
        train([str(data)], full / "m", settings, observer=heard(stopping=stopped_after(3)))
    [rescued] = (tmp_path / "temporary").glob("dwindle-*/m.checkpoint")
    rescued.replace(tmp_path / "m.checkpoint")
    train([str(data)], tmp_path / "m", settings, resume=True)
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


def test_after_resuming_the_rate_is_of_this_run_s_examples(data, tmp_path):
    settings = TrainSettings(reading=SMALL)
    with pytest.raises(Stopped):
        train([str(data)], tmp_path / "m", settings, observer=heard(stopping=stopped_after(3)))
    places = []
    summary = train(
        [str(data)], tmp_path / "m", settings, resume=True, observer=heard(on_batch=places.append)
    )
    here = summary.examples - places[0].examples
    assert 0 < here < summary.examples
    assert summary.examples_per_second * summary.seconds == pytest.approx(here)


def test_patience_without_a_holdout_is_refused(data, tmp_path):
    done = dwindle("train", data, "-m", tmp_path / "m", "--patience", 3, check=False, text=True)
    assert (done.returncode, done.stderr) == (
        2,
        "dwindle: --patience does nothing without --holdout: say --holdout 10, for every tenth "
        "example, or --holdout FILE\n",
    )


def test_never_are_more_features_kept_than_seen(tmp_path):
    for n in (299, 402, 3000):
        (tmp_path / "a.vw").write_text("".join(f"{i % 2} | f{i}\n" for i in range(n)))
        out = dwindle("train", tmp_path / "a.vw", "-m", tmp_path / "m", "--json").stdout
        rows = [json.loads(row) for row in out.splitlines()]
        assert rows[-1]["kept"] <= rows[-1]["seen"]
        assert all(row["alive"] <= row["seen"] for row in rows[:-1])
