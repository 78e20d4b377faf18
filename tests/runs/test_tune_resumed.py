"""Stopped and repeated, tuning makes only what is missing, and the same model."""

import signal
import subprocess
import sys
import time
from itertools import pairwise

import pytest

from cli.test_screen import Terminal, left_on
from dwindle import DataError
from dwindle._base.text import counted
from dwindle.runs.observer import Stopped
from dwindle.runs.tune.tune import TuneSettings, tune
from helpers import planted_data
from helpers.observing import heard
from helpers.small_searches import EXAMPLES, FAST, GRID, PARTS, RUNS, dwindle

pytestmark = pytest.mark.usefixtures("signals_as_before")
TEXT = planted_data.vw(EXAMPLES).encode()


@pytest.mark.slow
def test_who_asks_three_times_does_not_wait():
    code = """
import time
from itertools import pairwise
from dwindle.cli.signals import StopSignals
asked = StopSignals()
print("ready", flush=True)
while True:
    time.sleep(0.01)  # a run that does not look whether it should stop
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        for _ in range(2):
            process.send_signal(signal.SIGTERM)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == -signal.SIGTERM


@pytest.mark.slow
def test_stopping_takes_the_bar_away_though_no_run_is_finished(data, tmp_path):
    shown = Terminal("tune", data, "-m", tmp_path / "m", *FAST, "--passes", "1000000")
    shown.read(until="runs")
    shown.process.send_signal(signal.SIGINT)
    assert shown.end() == 128 + signal.SIGINT
    assert left_on(shown.written) == ["dwindle: stopped; nothing was finished yet", ""]
    assert not list(tmp_path.iterdir())


def when_made(n):
    """A question that is answered yes once so many runs are made, and where they are counted."""
    made = []
    return (lambda done, _: made.append(done)), (lambda: bool(made) and made[-1] >= n), made


@pytest.mark.parametrize("n", [0, 2, RUNS])
def test_stopped_and_repeated_it_makes_only_what_is_missing_and_the_same_model(data, tmp_path, n):
    tuning = TuneSettings(grid=GRID, folds=3, jobs=1)
    whole = tune([str(data)], tmp_path / "whole", tuning)
    on_run, stopping, made = when_made(n)
    with pytest.raises(Stopped) as halted:
        tune([str(data)], tmp_path / "m", tuning, observer=heard(on_run=on_run, stopping=stopping))
    assert halted.value.resume_from == (tmp_path / "m.tuning" if n else None)
    assert {path.name for path in tmp_path.iterdir()} == {"whole"} | ({"m.tuning"} if n else set())
    again, notes = [], []
    tuned = tune(
        [str(data)],
        tmp_path / "m",
        tuning,
        observer=heard(on_run=lambda *step: again.append(step), on_note=notes.append),
    )
    begins = (0, *PARTS)
    assert again == [
        (done, end)
        for begin, end in pairwise(begins)
        for done in range(min(max(begin, made[-1]), end), end + 1)
    ]
    finished = counted(made[-1], "run")  # another may have been finished at the same moment
    assert notes == ([f"going on: {finished} found finished in {tmp_path}/m.tuning"] if n else [])
    assert tuned.found == whole.found
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "whole"]


def test_stopped_in_the_last_training_only_that_is_made_again(data, tmp_path):
    tuning = TuneSettings(grid=GRID, folds=3)
    whole = tune([str(data)], tmp_path / "whole", tuning)
    found = []
    with pytest.raises(Stopped) as halted:
        tune(
            [str(data)],
            tmp_path / "m",
            tuning,
            observer=heard(on_found=found.append, stopping=lambda: bool(found)),
        )
    assert found == [whole.found]
    assert halted.value.resume_from == tmp_path / "m.tuning"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.tuning", "whole"]
    runs = []
    tune(
        [str(data)],
        tmp_path / "m",
        tuning,
        observer=heard(on_run=lambda *n: runs.append(n), on_note=str),
    )
    assert runs == [(end, end) for end in PARTS]
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_and_the_same_command_goes_on(data, tmp_path, number):
    args = ("tune", data, "-m", tmp_path / "m", *FAST, "--passes", "1000", "--no-picture")
    command = [sys.executable, "-m", "dwindle", *map(str, args)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "m.tuning").exists():
            time.sleep(0.01)
        process.send_signal(number)
        process.send_signal(number)  # as `timeout` does, in one breath
        _, said = process.communicate()
    assert process.returncode == 128 + number
    assert said.splitlines()[-1] == (
        f"dwindle: stopped; {tmp_path}/m.tuning is written: repeat the command to go on"
    )
    assert not (tmp_path / "m").exists()
    finished = len((tmp_path / "m.tuning").read_text().splitlines()) - 1
    told = f"dwindle: going on: {counted(finished, 'run')} found finished in {tmp_path}/m.tuning"
    assert dwindle(*args).stderr.splitlines()[0] == told
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def halted(data, model):
    on_run, stopping, _ = when_made(2)
    with pytest.raises(Stopped):
        tune(
            [str(data)],
            model,
            TuneSettings(grid=GRID, folds=3),
            observer=heard(on_run=on_run, stopping=stopping),
        )


def test_other_data_and_other_settings_are_refused_while_something_is_unfinished(data, tmp_path):
    halted(data, tmp_path / "m")
    other = tmp_path / "other.vw"
    other.write_text(planted_data.vw(planted_data.rows(300, seed=1)))
    before = (tmp_path / "m.tuning").read_bytes()
    for args in (
        ("tune", other, *FAST),
        ("tune", data, *FAST, "--folds", "4"),
        ("tune", data, *FAST, "--loss", "hinge"),
        ("tune", data, *FAST, "--keep", "3"),
    ):
        done = dwindle(*args, "-m", tmp_path / "m", check=False)
        assert done.returncode == 1
        assert "m.tuning: was written with other settings or other data" in done.stderr
    assert (tmp_path / "m.tuning").read_bytes() == before


def test_what_another_version_finished_is_refused(data, tmp_path, monkeypatch):
    halted(data, tmp_path / "m")
    monkeypatch.setattr("dwindle.runs.tune.tune.version", lambda _: "0.0.1")
    with pytest.raises(DataError, match="was written with other settings or other data"):
        tune([str(data)], tmp_path / "m", TuneSettings(grid=GRID, folds=3))


def test_other_passes_and_rests_are_measured_anew(data, tmp_path):
    for n, other in enumerate(({"passes": (2, 3)}, {"cooldown": (5,)}, {"truncate_every": (2,)})):
        tuning = TuneSettings(grid=GRID._replace(**other), folds=3)
        halted(data, tmp_path / f"m{n}")
        again = tune([str(data)], tmp_path / f"m{n}", tuning, observer=heard(on_note=str))
        assert again.found == tune([str(data)], tmp_path / "alone", tuning).found


def test_more_rates_and_another_metric_go_on_with_what_is_finished(data, tmp_path):
    halted(data, tmp_path / "m")
    wider = TuneSettings(grid=GRID._replace(learning_rate=(0.3, 0.1)), metric="accuracy", folds=3)
    runs = []
    tuned = tune(
        [str(data)],
        tmp_path / "m",
        wider,
        observer=heard(on_run=lambda *n: runs.append(n), on_note=str),
    )
    assert runs[0][0] >= 1
    assert tuned.found == tune([str(data)], tmp_path / "n", wider).found
