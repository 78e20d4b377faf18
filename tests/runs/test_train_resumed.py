"""A run that is stopped or killed goes on to the same bits."""

import signal
import subprocess
from dataclasses import replace

import pytest

from dwindle import DataError
from dwindle.data.options import ReadOptions
from dwindle.model.model import Model
from dwindle.runs.observer import Stopped
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.commands import dwindle, signalled
from helpers.observing import heard
from helpers.stop_after import stopped_after
from helpers.training_text import SETTINGS, fitted, lines

TEXT = lines().encode()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_resuming_counts_bad_lines_once_whatever_files_they_fill(tmp_path, n):
    parts = {
        "a.vw": lines(10),
        "bad.vw": "1|f a\n" * 2,
        "blank.vw": "",
        "c.vw": "1|f a\n" + lines(10),
    }
    for name, text in parts.items():
        (tmp_path / name).write_text(text)
    paths = [str(tmp_path / name) for name in parts] * 2
    training = TrainSettings(skip_bad=True)
    whole = train(paths, tmp_path / "whole", training)
    try:
        part = train(paths, tmp_path / "part", training, observer=heard(stopping=stopped_after(n)))
    except Stopped:
        part = train(paths, tmp_path / "part", training, resume=True)
    assert (part.examples, part.skipped, part.bad_lines) == (
        whole.examples,
        whole.skipped,
        whole.bad_lines,
    )
    assert Model.load(tmp_path / "part").weights() == Model.load(tmp_path / "whole").weights()


def test_a_run_stopped_before_it_learned_anything_says_so(tmp_path):
    (tmp_path / "a.vw").write_text("| x\n" * 10)
    with pytest.raises(Stopped) as stopped:
        train(
            [str(tmp_path / "a.vw")],
            tmp_path / "m",
            TrainSettings(),
            observer=heard(stopping=lambda: True),
        )
    assert stopped.value.resume_from is None
    assert [p.name for p in tmp_path.iterdir()] == ["a.vw"]


def test_a_run_on_other_data_does_not_remove_the_checkpoint_of_a_stopped_one(tmp_path):
    for name in ("long.vw", "clicks.vw"):
        (tmp_path / name).write_text(lines(10))
    long = [str(tmp_path / "long.vw")] * 3
    with pytest.raises(Stopped):
        train(long, tmp_path / "m", observer=heard(stopping=stopped_after(1)))
    args = "clicks.vw", "--model", "m"
    for command in ("train", "tune"):
        done = dwindle(command, *args, check=False, cwd=tmp_path, text=True)
        assert done.returncode == 1
        assert "m.checkpoint: a run on " in done.stderr
        assert "go on with it by --resume" in done.stderr
    train(long, tmp_path / "m", resume=True)
    dwindle("train", *args, cwd=tmp_path)


def test_resuming_with_less_data_than_was_learned_from_is_refused(data, tmp_path):
    training = TrainSettings(reading=ReadOptions(block_size=20_000))
    with pytest.raises(Stopped):
        train([str(data)], tmp_path / "m", training, observer=heard(stopping=stopped_after(3)))
    text = data.read_text()
    data.write_text(text[:3000])
    try:
        with pytest.raises(DataError, match="examples fewer than the checkpoint has learned from"):
            train([str(data)], tmp_path / "m", training, resume=True)
    finally:
        data.write_text(text)


def test_resume_takes_settings_from_the_checkpoint_and_names_one_that_differs(data, tmp_path):
    model = tmp_path / "m"
    training = TrainSettings(**SETTINGS, reading=ReadOptions(block_size=20_000))
    with pytest.raises(Stopped):
        train([str(data)], model, training, observer=heard(stopping=stopped_after(3)))
    done = dwindle("train", data, "-m", model, "--resume", "-g", "0.5", check=False)
    assert done.returncode == 1
    assert b"was written with gravity 0.0001, and now it is 0.5: resume" in done.stderr
    dwindle("train", data, "-m", model, "--resume", "-q")
    found = Model.load(model)
    assert (found.weights(), found.intercept) == fitted([data], tmp_path)
    before = model.read_bytes()
    again = dwindle("train", data, "-m", model, "--resume", check=False)
    assert again.returncode == 1
    assert again.stderr.decode() == (
        f"dwindle: {model}.checkpoint: there is no checkpoint to resume from: leave out --resume "
        "to begin anew, or say --start-from MODEL to learn on from a model\n"
    )
    assert model.read_bytes() == before


@pytest.fixture(scope="module")
def long_data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "long.vw"
    path.write_text(lines(12_000, seed=1))
    return path


ONE_BY_ONE = ("-g", "1e-4", "--passes", "3", "--pass-decay", "0.8")
LEARN, WRITE, REPLACE = "dwindle.engine.learner:Learner.learn", "os:fsync", "pathlib:Path.replace"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_writes_a_checkpoint_and_resume_goes_on_to_the_same_bits(
    long_data, tmp_path, number
):
    whole, part = tmp_path / "whole", tmp_path / "part"
    dwindle("train", long_data, "-m", whole, "-q", *ONE_BY_ONE)
    stopped = signalled(number, LEARN, 17, "train", long_data, "-m", part, *ONE_BY_ONE)
    done = subprocess.run(stopped, capture_output=True, text=True, check=False)
    assert done.returncode == 128 + number
    assert done.stderr.splitlines()[-1] == (
        f"dwindle: stopped; {part}.checkpoint is written: repeat the command with --resume to go on"
    )
    assert not part.exists()
    dwindle("train", long_data, "-m", part, "--resume", "-q")
    assert Model.load(part).weights() == Model.load(whole).weights()
    assert Model.load(part).metadata == Model.load(whole).metadata


@pytest.mark.slow
def test_killed_again_and_again_and_resumed_the_model_is_the_same_to_the_bit(long_data, tmp_path):
    whole, part = tmp_path / "whole", tmp_path / "part"
    dwindle("train", long_data, "-m", whole, "-q", *ONE_BY_ONE)
    often = ("-q", *ONE_BY_ONE, "--checkpoint-every", "1000")
    args = ("train", long_data, "-m", part, *often)
    for where, n in [
        (LEARN, 1),
        (LEARN, 9),
        (WRITE, 1),  # the first checkpoint is in a file, which has not its name yet
        (REPLACE, 1),
        (REPLACE, 2),
        (LEARN, 2),
        (WRITE, 2),
        (REPLACE, 3),
    ]:
        resumed = ["--resume"] if (tmp_path / "part.checkpoint").exists() else []
        killed = signalled(signal.SIGKILL, where, n, *args, *resumed)
        assert subprocess.run(killed, check=False).returncode == -signal.SIGKILL
        assert not part.exists()
    assert (tmp_path / "part.checkpoint").exists()
    dwindle(*args, "--resume")
    a, b = Model.load(whole), Model.load(part)
    assert a.weights() == b.weights()
    assert a.intercept == b.intercept
    assert a.metadata == b.metadata
    assert not (tmp_path / "part.checkpoint").exists()


def test_a_run_on_other_data_or_in_another_order_is_not_resumed(tmp_path):
    text = lines(400).splitlines(keepends=True)
    data, model = tmp_path / "a.vw", tmp_path / "m"
    how = TrainSettings(gravity=0.001, reading=ReadOptions(block_size=5000))

    def stopped():
        data.write_text("".join(text))
        with pytest.raises(Stopped):
            train([str(data)], model, how, observer=heard(stopping=stopped_after(3)))

    stopped()
    other = text[0].replace("|", "| other ", 1)
    for changed in (text[::-1], [text[1], text[0], *text[2:]], [other, *text[1:]]):
        data.write_text("".join(changed))
        with pytest.raises(DataError, match=f"^{data}: the data is not what the checkpoint"):
            train([str(data)], model, how, resume=True)
    data.write_text("".join(text))  # in other blocks
    cut = replace(how, reading=ReadOptions(block_size=1234))
    resumed = train([str(data)], model, cut, resume=True)
    assert resumed.examples == 400


def test_a_file_that_is_no_checkpoint_is_never_removed(tmp_path):
    data, model = tmp_path / "a.vw", tmp_path / "m"
    data.write_text(lines(20))
    for end in (".checkpoint", ".best"):
        aside = tmp_path / f"m{end}"
        aside.write_text(lines(20))
        with pytest.raises(DataError, match=f"^{aside}: .*: move it, or name another --model$"):
            train([str(data)], model, TrainSettings(gravity=0.001))
        with pytest.raises(DataError, match=f"^{aside}: .*: move it, or name another --model$"):
            train([str(aside)], model, TrainSettings(gravity=0.001))
        assert aside.read_text() == lines(20)
        aside.unlink()


def test_that_the_checkpoint_of_a_stopped_run_is_replaced_is_told(tmp_path):
    data, model, told = tmp_path / "a.vw", tmp_path / "m", []
    data.write_text(lines(200))
    how = TrainSettings(gravity=0.001, reading=ReadOptions(block_size=3000))
    with pytest.raises(Stopped):
        train([str(data)], model, how, observer=heard(stopping=stopped_after(2)))
    train([str(data)], model, how, observer=heard(on_note=told.append))
    assert told == [
        f"{model}.checkpoint: is of a run that was stopped; this one begins anew and replaces it"
    ]
    assert not (tmp_path / "m.checkpoint").exists()
