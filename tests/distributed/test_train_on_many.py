"""Training on many machines: one model whatever runs it, and whatever happens to it."""

import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dwindle import (
    DataError,
    Model,
    ReadOptions,
    SettingError,
    Stopped,
    TrainSettings,
    evaluate,
    train,
)
from dwindle.cli import main
from dwindle.distributed.engines import ATTEMPTS, Processes, Serial, WorkerDiedError
from dwindle.model.loading import load_model
from helpers.shards import SETTINGS, Quiet, model_of_run, write_words

FTRL = TrainSettings(update="ftrl", gravity=0.3)


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return write_words(tmp_path_factory.mktemp("words") / "train.vw")


@pytest.fixture(scope="module")
def test(tmp_path_factory):
    return write_words(tmp_path_factory.mktemp("words") / "test.vw", seed=0, n=4000)


@pytest.mark.parametrize("kind", SETTINGS)
def test_threads_and_one_after_the_other_make_the_same_model(words, tmp_path, kind):
    how = TrainSettings(passes=2, **SETTINGS[kind])
    serial, summary = model_of_run(words, tmp_path / "a", how, on="serial")
    with ThreadPoolExecutor(3) as threads:
        assert model_of_run(words, tmp_path / "b", how, on=threads)[0] == serial
    assert summary.shards == 4
    assert summary.examples == 3000
    assert load_model(tmp_path / "a" / "model.parquet").metadata["shards"] == 4
    assert summary.kept > 0
    assert not (tmp_path / "a" / "model.parquet.run").exists()


@pytest.mark.slow
def test_processes_make_the_same_model(words, tmp_path):
    serial, _ = model_of_run(words, tmp_path / "a", on="serial")
    assert model_of_run(words, tmp_path / "b", on="local:2")[0] == serial


@pytest.mark.parametrize("kind", SETTINGS)
def test_the_model_is_about_as_good_as_that_of_one_machine(words, test, tmp_path, kind):
    how = TrainSettings(passes=3, **SETTINGS[kind])
    train([str(words)], tmp_path / "one.parquet", how, observer=Quiet())
    model_of_run(words, tmp_path / "many", how, on="serial")
    scores = [
        evaluate(str(path), [str(test)])["auc"]
        for path in (tmp_path / "one.parquet", tmp_path / "many" / "model.parquet")
    ]
    assert scores[1] > scores[0] - 0.02


def test_names_and_settings_of_the_model_are_those_of_one_machine(words, tmp_path):
    how = TrainSettings(update="rda", gravity=1e-5)
    model_of_run(words, tmp_path, how, on="serial")
    many = load_model(tmp_path / "model.parquet")
    train([str(words)], tmp_path / "one.parquet", how, observer=Quiet())
    one = load_model(tmp_path / "one.parquet")
    assert many.settings == one.settings
    assert len(set(many.weights()) & set(one.weights())) > 0.8 * len(one)


@pytest.mark.parametrize("after", [1, 3, 4, 6])
def test_a_run_that_was_stopped_goes_on_and_makes_the_same_model(words, tmp_path, after):
    how = TrainSettings(passes=2, update="ftrl", gravity=0.3)
    whole, _ = model_of_run(words, tmp_path / "whole", how, on="serial")
    run = tmp_path / "run"
    with pytest.raises(Stopped):
        model_of_run(words, tmp_path / "m", how, on="serial", run=run, observer=Quiet(after))
    before = {path.name: path.stat().st_mtime_ns for path in run.glob("pass-*")}
    observer = Quiet()
    again, _ = model_of_run(words, tmp_path / "m", how, on="serial", run=run, observer=observer)
    assert again == whole
    assert any("going on" in note for note in observer.notes)
    assert all((run / name).stat().st_mtime_ns == when for name, when in before.items())
    assert not list(run.glob("part-*"))
    assert model_of_run(words, tmp_path / "m", how, on="serial", run=run)[0] == whole


@pytest.mark.slow
def test_gravities_of_many_shards_are_compared_in_a_later_pass_and_nothing_is_left(words, tmp_path):
    """What each shard told before is taken away from what all know; a run may stop in between."""
    how, run = TrainSettings(passes=2), tmp_path / "run"
    whole, summary = model_of_run(words, tmp_path / "whole", how, on="serial", shards=8)
    assert sum(lane.chosen for lane in summary.frontier) == 1
    assert all(0.5 < lane.judged < 1.0 for lane in summary.frontier)
    options = {"on": "serial", "shards": 8, "run": run}
    with pytest.raises(Stopped):
        model_of_run(words, tmp_path / "m", how, **options, observer=Quiet(12))
    assert len(list(run.glob("own-1-*"))) == 8
    assert model_of_run(words, tmp_path / "m", how, **options)[0] == whole
    assert not [*run.glob("own-*"), *run.glob("part-*")]


def test_what_was_half_written_is_written_again(words, tmp_path):
    """A process that is killed leaves a part of a file under another name, which nobody reads."""
    how, run = TrainSettings(passes=2, update="ftrl", gravity=0.3), tmp_path / "run"
    whole, _ = model_of_run(words, tmp_path / "whole", how, on="serial")
    with pytest.raises(Stopped):
        model_of_run(words, tmp_path / "m", how, on="serial", run=run, observer=Quiet(2))
    part = next(run.glob("part-1-0-*"))
    (run / f".{part.name}.abc.dwindle").write_bytes(part.read_bytes()[:100])
    part.unlink()
    assert model_of_run(words, tmp_path / "m", how, on="serial", run=run)[0] == whole


def test_a_damaged_part_is_refused_by_name(words, tmp_path):
    how, run = TrainSettings(update="ftrl", gravity=0.3), tmp_path / "run"
    with pytest.raises(Stopped):
        model_of_run(words, tmp_path / "m", how, on="serial", run=run, observer=Quiet(2))
    part = next(run.glob("part-1-0-*"))
    content = bytearray(part.read_bytes())
    content[len(content) // 4] ^= 1
    part.write_bytes(content)
    with pytest.raises(DataError, match=r"part-1-0-\d+\.parquet"):
        model_of_run(words, tmp_path / "m", how, on="serial", run=run)


def test_another_plan_in_the_same_folder_is_refused(words, tmp_path):
    run = tmp_path / "run"
    with pytest.raises(Stopped):
        model_of_run(words, tmp_path / "m", on="serial", run=run, observer=Quiet(1))
    for other, options in (
        (TrainSettings(passes=3), {}),
        (TrainSettings(update="ftrl", gravity=1.0), {}),
        (TrainSettings(reading=ReadOptions(interactions=(("w", "w"),))), {}),
        (None, {"shards": 3}),
    ):
        with pytest.raises(DataError, match="was begun here"):
            model_of_run(words, tmp_path / "m", other, on="serial", run=run, **options)
    os.utime(words, (0, 0))
    with pytest.raises(DataError, match="not the same any more"):
        model_of_run(words, tmp_path / "m", on="serial", run=run)


def test_a_bad_line_is_named_with_its_pass_shard_file_and_line_and_not_tried_again(tmp_path):
    path = write_words(tmp_path / "bad.vw", n=1000)
    lines = path.read_text().splitlines()
    lines[777] = "what | is this"
    path.write_text("\n".join(lines))
    how = replace(FTRL, reading=ReadOptions(block_size=2**13))  # so that the plan does not see it
    with pytest.raises(DataError, match=r"^pass 1, shard 3: .*bad\.vw:778: "):
        model_of_run(path, tmp_path, how, on="serial")
    how = replace(how, skip_bad=True)
    _, summary = model_of_run(path, tmp_path, how, on="serial", run=tmp_path / "other")
    assert summary.skipped == 1
    assert "bad.vw:778:" in summary.bad_lines[0]


class Flaky(Serial):
    """An executor whose tasks fail the first time, as a storage may."""

    def __init__(self):
        self.tried = set()

    def submit(self, fn, /, *args, **kwargs):
        if args in self.tried:
            return super().submit(fn, *args, **kwargs)
        self.tried.add(args)
        return super().submit(lambda: 1 / 0)


def test_a_task_that_raised_is_tried_again(words, tmp_path):
    how = TrainSettings(update="ftrl", gravity=0.3)
    whole, _ = model_of_run(words, tmp_path / "a", how, on="serial")
    assert model_of_run(words, tmp_path / "b", how, on=Flaky())[0] == whole


def die_unless(marker):
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def die():
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_processes_that_die_are_replaced_and_a_task_that_kills_them_all_is_told(tmp_path):
    pool = Processes(2)
    assert pool.submit(die_unless, str(tmp_path / "once")).result() == "alive"
    with pytest.raises(WorkerDiedError, match=f"{ATTEMPTS} times"):
        pool.submit(die).result()
    assert pool.submit(sum, [1, 2]).result() == 3
    pool.shutdown()


class Deadly(Serial):
    """An executor on which one shard kills every worker."""

    def submit(self, fn, /, *args, **kwargs):
        if args[1:] == (1, 2):
            return super().submit(_raise, WorkerDiedError("its worker died"))
        return super().submit(fn, *args, **kwargs)


def _raise(error):
    raise error


def test_a_shard_that_always_kills_its_worker_is_named(words, tmp_path):
    with pytest.raises(DataError, match=r"pass 1, shard 2 \(.*train\.vw\): its worker died"):
        model_of_run(words, tmp_path, on=Deadly())


def test_several_classes_are_mixed_one_by_one(tmp_path):
    path = write_words(tmp_path / "classes.vw", classes=4)
    how = TrainSettings(loss="logistic", classes=[0, 1, 2, 3], passes=2)
    one, summary = model_of_run(path, tmp_path / "a", how, on="serial")
    with ThreadPoolExecutor(2) as threads:
        assert model_of_run(path, tmp_path / "b", how, on=threads)[0] == one
    assert summary.classes == [0, 1, 2, 3]
    assert evaluate(str(tmp_path / "a" / "model.parquet"), [str(path)])["accuracy"] > 0.5


def test_columns_are_what_the_plan_says_and_numbers_are_learned(tmp_path):
    rng = np.random.default_rng(0)
    for k in range(4):
        x, color = rng.normal(1000, 10, 500), rng.integers(0, 3, 500)
        y = 3 * x + 50 * color + rng.normal(size=500)
        rows = (f"{a:.3f},{b:.2f},{'rgb'[c]}" for a, b, c in zip(y, x, color, strict=True))
        (tmp_path / f"{k}.csv").write_text("\n".join(["label,x,color", *rows]))
    _, summary = model_of_run(
        tmp_path / "*.csv", tmp_path / "m", TrainSettings(passes=3), on="serial"
    )
    assert summary.loss_name == "Squared"
    found = evaluate(str(tmp_path / "m" / "model.parquet"), [str(tmp_path / "*.csv")])
    assert found["loss"] < 0.05 * summary.best_constant_loss


def test_a_holdout_file_decides_which_pass_and_lane_it_is(words, test, tmp_path):
    observer = Quiet()
    how = TrainSettings(passes=4, holdout=str(test), patience=1)
    _, summary = model_of_run(words, tmp_path, how, on="serial", observer=observer)
    assert summary.best_pass is not None
    assert min(each.holdout_loss for each in observer.held) == summary.holdout_loss
    assert len(observer.held) <= summary.best_pass + 1


def test_learning_goes_on_from_a_model_and_on_one_machine_again(words, tmp_path):
    how = TrainSettings(update="ftrl", gravity=0.3, save_state=True)
    model_of_run(words, tmp_path / "a", how, on="serial")
    first = tmp_path / "a" / "model.parquet"
    again = train([str(words)], tmp_path / "b.parquet", start_from=first, observer=Quiet())
    many = train(
        [str(words)],
        tmp_path / "c.parquet",
        start_from=first,
        on="serial",
        shards=3,
        observer=Quiet(),
    )
    before = load_model(first).metadata["loss"]
    assert again.loss < before
    assert many.loss < before
    assert Model.load(tmp_path / "c.parquet").metadata["examples"] == 6000


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"on": "spark"}, "expected local"),
        ({"on": "local:0"}, "expected local"),
        ({"on": "dask://"}, "expected local"),
        ({"on": 7}, "expected local"),
        ({"on": "serial", "resume": True}, "the same command"),
        ({"on": "serial", "shards": 0}, "shards"),
        ({"shards": 3}, "without --on"),
        ({"on": "serial", "settings": TrainSettings(holdout=10)}, "needs a file"),
        ({"on": "serial", "settings": TrainSettings(class_weight="balanced")}, "say the weights"),
        ({"on": "serial", "settings": TrainSettings(probes=10)}, "probes"),
        ({"on": "serial", "settings": TrainSettings(update="averaged", gravity=1e-5)}, "Averaged"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name_before_any_work(words, tmp_path, options, told):
    options = {"shards": None, "observer": Quiet()} | options
    with pytest.raises(SettingError, match=told):
        train([str(words)], tmp_path / "m.parquet", options.pop("settings", None), **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("signals_as_before")
def test_the_command_tells_shards_and_writes_json(words, tmp_path):
    target = tmp_path / "m.parquet"
    args = ["train", str(words), "--model", str(target), "--on", "serial", "--shards", "3"]
    shown = CliRunner().invoke(main, args)
    assert shown.exit_code == 0, shown.stderr
    assert "3 of 3 shards, 3,000 examples, loss" in shown.stderr
    assert "shards        3, mixed after each pass" in shown.stderr
    told = CliRunner().invoke(main, [*args, "--json"])
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    assert [line["shards_done"] for line in lines if "shards_done" in line] == [0, 1, 2, 3]
    assert lines[-1]["shards"] == 3
    refused = CliRunner().invoke(main, [*args, "--live"])
    assert refused.exit_code == 2


def test_a_run_in_the_place_of_an_earlier_one_is_another(words, tmp_path):
    """Workers, which remember the plan and a checkpoint, may outlive a run."""
    other = TrainSettings(update="rda", gravity=1e-4)
    expected, _ = model_of_run(words, tmp_path / "b", other, on="serial")
    model_of_run(words, tmp_path / "a", FTRL, on="serial")
    assert model_of_run(words, tmp_path / "a", other, on="serial")[0] == expected


def test_few_examples_in_a_shard_are_told(words, tmp_path):
    observer = Quiet()
    model_of_run(words, tmp_path, on="serial", observer=observer)
    assert any("a shard has only" in note for note in observer.notes)


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
def test_a_folder_that_cannot_be_written_is_told(words, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises((DataError, OSError)):
        model_of_run(words, tmp_path, on="serial", run=tmp_path / "file" / "run")
