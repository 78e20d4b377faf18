"""From data to the sparsest model as good as the best, as a user would."""

import json
import shlex
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

import planted
from dwindle import DataError, Squared
from dwindle.cli import main
from dwindle.grids import Grid, Setting
from dwindle.model import Model
from dwindle.tuning import Halted, Tuned, Tuning, tune
from dwindle.updates import Adaptive, usual_rate
from dwindle.words import counted
from test_screen import Terminal, left_on

FAST = ("--rate", "0.3", "--pass-decay", "0.5", "--passes", "1,3", "--gravity", "0.01,0.03", "--folds", "3")  # fmt: skip
GRID = Grid((0.3,), (0.5,), (0.0, 0.01, 0.03), passes=(1, 3))
RUNS = 3 * 3
EXAMPLES = planted.rows(300)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "train.vw"
    path.write_text(planted.vw(EXAMPLES))
    return path


@pytest.fixture(autouse=True)
def _signals():
    """A command answers signals; when it has run in this process, that is over."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, answer in before.items():
        signal.signal(number, answer)


def dwindle(*args, check=True):
    """The command in this process: to start one for each would take most of the time."""
    done = CliRunner().invoke(main, [str(arg) for arg in args])
    if check:
        assert done.exit_code == 0, done.output
    return done


def command_in(stderr):
    [line] = [line for line in stderr.splitlines() if line.startswith("command ")]
    program, *args = shlex.split(line.removeprefix("command"))
    assert program == "dwindle"
    return args


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("a b.vw", planted.vw(EXAMPLES), ["--ignore", "nothing", "--update", "adaptive,plain"]),
        ("a.svm", planted.svmlight(EXAMPLES), ["--keep", "7", "--every", "1,20"]),
        (
            "a.csv",
            planted.csv(EXAMPLES).replace("label", "y", 1),
            ["--label-column", "y", "--loss", "squared", "--threshold", "0.5,inf"],
        ),
        ("noname", planted.svmlight(EXAMPLES), ["--format", "svmlight", "--metric", "auc"]),
    ],
    ids=["vw", "svmlight", "csv", "said"],
)
def test_the_command_that_is_printed_makes_the_same_model_to_the_bit(
    tmp_path, monkeypatch, name, text, options
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    said = dwindle("tune", name, "-m", "m.parquet", *FAST, "--no-picture", *options)
    tuned = (tmp_path / "m.parquet").read_bytes()
    assert not (tmp_path / "m.parquet.tuning").exists()
    (tmp_path / "m.parquet").unlink()
    command = [sys.executable, "-m", "dwindle", *command_in(said.stderr), "--quiet"]
    subprocess.run(command, check=True)
    assert (tmp_path / "m.parquet").read_bytes() == tuned
    assert said.stdout == ""


def test_the_usual_setting_is_what_train_does_when_nothing_is_said():
    from dwindle.cli.train import command  # noqa: PLC0415

    usual = {option.name: option.default for option in command.params}
    said = Setting()._asdict()
    assert said.pop("rate") == usual_rate(Adaptive())
    assert {name: said[name] for name in said} == {
        name: usual[name] if isinstance(usual[name], str | int | float) else None for name in said
    }


def test_the_planted_features_are_kept_with_their_names(data, tmp_path):
    dwindle("tune", data, "-m", tmp_path / "m", "--rate", "0.3,1", "--passes", "1,3,10", "--folds", "5", "-q")  # fmt: skip
    names = set(Model.load(tmp_path / "m").weights())
    assert names >= {f"f^w{j}" for j in range(len(planted.WEIGHTS))}
    assert len(names) < 12


def test_json_is_each_score_the_choice_and_the_training(data, tmp_path):
    done = dwindle("tune", data, "-m", tmp_path / "m", *FAST, "--json", "--no-picture")
    *scores, choice, summary = map(json.loads, done.stdout.splitlines())
    assert len(scores) == 2 + 2 * 2 * 2
    assert done.stderr == ""
    for name in ("dense", "chosen"):
        assert choice[name] in scores
    assert choice["metric"] == "accuracy"
    assert choice["bound"] == pytest.approx(0.99 * choice["dense"]["accuracy"])
    assert choice["chosen"]["accuracy"] >= choice["bound"]
    within = [s["kept"] for s in scores if s["accuracy"] >= choice["bound"]]
    assert choice["chosen"]["kept"] == min(within)
    assert shlex.split(choice["command"])[:2] == ["dwindle", "train"]
    assert summary["kept"] == len(Model.load(tmp_path / "m"))


def test_with_keep_no_bound_is_told(data, tmp_path):
    args = ("tune", data, "-m", tmp_path / "m", *FAST, "--keep", "7")
    said = dwindle(*args).stderr.splitlines()
    assert any(line.startswith("chosen ") for line in said)
    assert not any(line.startswith("bound ") for line in said)
    *_, choice, _ = map(json.loads, dwindle(*args, "--json").stdout.splitlines())
    assert choice["bound"] is None


def test_one_feature_is_not_features(data, tmp_path):
    said = dwindle("tune", data, "-m", tmp_path / "m", *FAST, "--keep", "1", "--no-picture").stderr
    told = {line.split()[0]: line for line in said.splitlines() if line}
    assert told["chosen"].endswith(", 1 feature")
    assert "1 features" not in said


def test_what_diverged_is_null_in_json(tmp_path):
    (tmp_path / "a.svm").write_text(planted.svmlight(planted.rows(300, classes=False)))
    plain = ("--update", "plain", "--rate", "0.01,50", "--passes", "1", "--gravity", "0")
    done = dwindle("tune", tmp_path / "a.svm", "-m", tmp_path / "m", "--json", *plain)
    *scores, choice, _ = map(json.loads, done.stdout.splitlines())
    assert [score["loss"] is None for score in scores] == [False, True]
    assert choice["chosen"]["rate"] == 0.01
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", [None, "picture.svg", "picture.png"])
def test_the_picture_is_where_it_is_wanted_and_is_one(data, tmp_path, name):
    option = () if name is None else ("--picture", tmp_path / name)
    dwindle("tune", data, "-m", tmp_path / "m.parquet", *FAST, *option, "-q")
    drawn = (tmp_path / (name or "m.parquet.png")).read_bytes()
    assert b"<svg" in drawn if name == "picture.svg" else drawn.startswith(b"\x89PNG\r\n")
    assert len(list(tmp_path.iterdir())) == 2


def test_if_the_picture_cannot_be_written_the_summary_is_there(data, tmp_path):
    (tmp_path / "m.png" / "occupied").mkdir(parents=True)
    done = dwindle("tune", data, "-m", tmp_path / "m", *FAST, check=False)
    assert done.exit_code == 1
    *_, model, error = done.stderr.splitlines()
    assert model.startswith(f"model         {tmp_path / 'm'}, ")
    assert error == f"dwindle: {tmp_path / 'm.png'}: is a folder: write to a file in it"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "m.png"]


def without_matplotlib(*args):
    code = "import sys; sys.modules['matplotlib'] = None; from dwindle.cli import main; main(sys.argv[1:])"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True, check=False
    )


def test_without_matplotlib_there_is_a_note_unless_the_picture_was_asked_for(data, tmp_path):
    done = without_matplotlib("tune", data, "-m", tmp_path / "m", *FAST)
    assert done.returncode == 0
    assert 'no picture without matplotlib: pip install "dwindle[plot]"' in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    done = without_matplotlib("tune", data, "-m", tmp_path / "m", "--picture", tmp_path / "p.png")
    assert done.returncode == 2
    assert done.stderr == 'dwindle: --picture needs matplotlib: pip install "dwindle[plot]"\n'


def test_quiet_is_silent(data, tmp_path):
    done = dwindle("tune", data, "-m", tmp_path / "m", *FAST, "--quiet")
    assert (done.stdout, done.stderr) == ("", "")


def test_a_log_gets_the_table_and_the_choice_and_a_line_now_and_then(data, tmp_path):
    said = dwindle("tune", data, "-m", tmp_path / "m", *FAST, "--no-picture").stderr
    lines = said.splitlines()
    assert f"{RUNS} of {RUNS} runs" in lines
    assert "\x1b" not in said
    head = next(line for line in lines if "±" in line)
    assert head.split() == ["kept", "accuracy", "±", "error", "AUC", "gravity", "passes", "rest"]
    assert sum(line.endswith(" chosen") for line in lines) == 1
    assert sum(line.endswith(" dense") for line in lines) == 1
    kept = [float(line.split()[0]) for line in lines[lines.index(head) + 1 : lines.index("")]]
    assert kept == sorted(kept)
    for word in ("dense ", "bound ", "chosen ", "command ", "kept ", "model "):
        assert any(line.startswith(word) for line in lines), word


def test_on_a_terminal_a_bar_counts_the_runs_and_goes(data, tmp_path):
    shown = Terminal("tune", data, "-m", tmp_path / "m", *FAST, "--no-picture")
    assert shown.end() == 0
    assert f"{RUNS}/{RUNS} runs" in shown.written
    assert "0:00:00 left" in shown.written
    left = left_on(shown.written)
    assert not any("━" in line for line in left)
    assert left[0].split()[:2] == ["kept", "accuracy"]


def test_who_asks_again_a_moment_later_does_not_wait():
    code = """
import time
from dwindle.cli.options import asked_to_stop
asked = asked_to_stop()
print("ready", flush=True)
while True:
    time.sleep(0.01)  # a run that does not look whether it should stop
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == -signal.SIGTERM


def test_stopping_takes_the_bar_away_though_no_run_is_finished(data, tmp_path):
    shown = Terminal("tune", data, "-m", tmp_path / "m", *FAST, "--passes", "1000000")
    shown.read(until="runs")
    shown.process.send_signal(signal.SIGINT)
    assert shown.end() == 128 + signal.SIGINT
    assert left_on(shown.written) == ["dwindle: stopped; nothing was finished yet", ""]
    assert not list(tmp_path.iterdir())


def stopped_after(n):
    """A question that is answered yes once so many runs are made, and where they are counted."""
    made = []
    return (lambda done, _: made.append(done)), (lambda: bool(made) and made[-1] >= n), made


@pytest.mark.parametrize("n", [0, 4, RUNS])
def test_stopped_and_repeated_it_makes_only_what_is_missing_and_the_same_model(data, tmp_path, n):
    tuning = Tuning(GRID, folds=3, jobs=1)
    whole = tune([str(data)], tmp_path / "whole", tuning)
    on_run, stopping, made = stopped_after(n)
    with pytest.raises(Halted) as halted:
        tune([str(data)], tmp_path / "m", tuning, on_run=on_run, stopping=stopping)
    assert halted.value.journal == (tmp_path / "m.tuning" if n else None)
    assert {path.name for path in tmp_path.iterdir()} == {"whole"} | ({"m.tuning"} if n else set())
    again, notes = [], []
    tuned = tune(
        [str(data)],
        tmp_path / "m",
        tuning,
        on_run=lambda *step: again.append(step),
        on_note=notes.append,
    )
    assert again == [(done, RUNS) for done in range(made[-1], RUNS + 1)]
    assert notes == (
        [f"going on: {counted(n, 'run')} found finished in {tmp_path}/m.tuning"] if n else []
    )
    assert tuned.found == whole.found
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "whole"]


def test_stopped_in_the_last_training_only_that_is_made_again(data, tmp_path):
    tuning = Tuning(GRID, folds=3)
    whole = tune([str(data)], tmp_path / "whole", tuning)
    found = []
    with pytest.raises(Halted) as halted:
        tune(
            [str(data)], tmp_path / "m", tuning, on_found=found.append, stopping=lambda: bool(found)
        )
    assert found == [whole.found]
    assert halted.value.journal == tmp_path / "m.tuning"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.tuning", "whole"]
    runs = []
    tune([str(data)], tmp_path / "m", tuning, on_run=lambda *n: runs.append(n), on_note=str)
    assert runs == [(RUNS, RUNS)]
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


def test_threads_change_nothing(data, tmp_path):
    found = []
    for jobs in (1, 2, 4, None):
        tuned = tune([str(data)], tmp_path / "m", Tuning(GRID, folds=3, jobs=jobs))
        assert isinstance(tuned, Tuned)
        found.append((tuned.found, (tmp_path / "m").read_bytes()))
    assert all(each == found[0] for each in found)


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
    on_run, stopping, _ = stopped_after(4)
    with pytest.raises(Halted):
        tune([str(data)], model, Tuning(GRID, folds=3), on_run=on_run, stopping=stopping)


def test_other_data_and_other_settings_are_refused_while_something_is_unfinished(data, tmp_path):
    halted(data, tmp_path / "m")
    other = tmp_path / "other.vw"
    other.write_text(planted.vw(planted.rows(300, seed=1)))
    before = (tmp_path / "m.tuning").read_bytes()
    for args in (
        ("tune", other, *FAST),
        ("tune", data, *FAST, "--folds", "4"),
        ("tune", data, *FAST, "--loss", "hinge"),
        ("tune", data, *FAST, "--keep", "3"),
    ):
        done = dwindle(*args, "-m", tmp_path / "m", check=False)
        assert done.exit_code == 1
        assert "m.tuning: was written with other settings or other data" in done.stderr
    assert (tmp_path / "m.tuning").read_bytes() == before


def test_what_another_version_finished_is_refused(data, tmp_path, monkeypatch):
    halted(data, tmp_path / "m")
    monkeypatch.setattr("dwindle.tuning.version", lambda _: "0.0.1")
    with pytest.raises(DataError, match="was written with other settings or other data"):
        tune([str(data)], tmp_path / "m", Tuning(GRID, folds=3))


def test_other_passes_and_rests_are_measured_anew(data, tmp_path):
    for n, other in enumerate(({"passes": (2, 3)}, {"rest": (5,)}, {"every": (2,)})):
        tuning = Tuning(GRID._replace(**other), folds=3)
        halted(data, tmp_path / f"m{n}")
        again = tune([str(data)], tmp_path / f"m{n}", tuning, on_note=str)
        assert again.found == tune([str(data)], tmp_path / "alone", tuning).found


def test_more_rates_and_another_metric_go_on_with_what_is_finished(data, tmp_path):
    halted(data, tmp_path / "m")
    wider = Tuning(GRID._replace(rate=(0.3, 0.1)), metric="auc", folds=3)
    runs = []
    tuned = tune([str(data)], tmp_path / "m", wider, on_run=lambda *n: runs.append(n), on_note=str)
    assert runs[0][0] >= 4
    assert tuned.found == tune([str(data)], tmp_path / "n", wider).found


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--rate", "0.1,fast"], "--rate: expected numbers separated by commas, got '0.1,fast'"),
        (["--passes", "1,2.5"], "--passes: expected whole numbers separated by commas, got '1,2.5'"),
        (["--pass-decay", ""], "--pass-decay: expected numbers separated by commas, got ''"),
        (["--rate", "-1"], "rate must be finite and above 0, got -1.0"),
        (["--update", "plain,best"], "update must be one of adaptive, plain, ftrl, rda, got 'best'"),
        (["--tolerance", "little"], "--tolerance: expected a share like 1% or 0.01, got 'little'"),
        (["--tolerance", "1"], "tolerance must be 0 or more and below 1, got 1.0 (1% is 0.01)"),
        (["--folds", "1"], "folds must be 2 or more, got 1"),
        (["--picture", "nowhere/p.png"], "--picture: there is no folder nowhere to write to"),
        (["--picture", "m"], "--picture: m is the model: name another file"),
        (["--picture", "p.doc"], "--picture: expected a name that ends in one of "),
        (["--loss", "squared", "--metric", "auc"], "metric auc needs labels of two classes, not Squared"),
    ],
)  # fmt: skip
def test_bad_usage_is_told_in_one_line(data, tmp_path, monkeypatch, wrong, said):
    monkeypatch.chdir(tmp_path)
    done = dwindle("tune", data, "-m", "m", *wrong, check=False)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"dwindle: {said}")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_numbers_have_no_accuracy_and_the_first_labels_decide(tmp_path):
    (tmp_path / "a.svm").write_text(planted.svmlight(planted.rows(300, classes=False)))
    done = dwindle(
        "tune", tmp_path / "a.svm", "-m", tmp_path / "m", "--metric", "accuracy", check=False
    )
    assert done.exit_code == 2
    assert "metric accuracy needs labels of two classes, not Squared" in done.stderr
    tuned = tune([str(tmp_path / "a.svm")], tmp_path / "m", Tuning(GRID, folds=3))
    assert (tuned.found.metric, tuned.summary.loss_name) == ("loss", "Squared")
    assert tuned.found.chosen.loss <= tuned.found.bound == 1.01 * tuned.found.dense.loss


def test_pipes_are_refused(data, tmp_path):
    for args in (["-"], [data, "/dev/stdin"]):
        command = [
            sys.executable,
            "-m",
            "dwindle",
            "tune",
            *map(str, args),
            "-m",
            str(tmp_path / "m"),
        ]
        done = subprocess.run(command, input=data.read_bytes(), capture_output=True, check=False)
        assert done.returncode == 1
        assert done.stderr.decode() == (
            "dwindle: a pipe can be read only once, and tuning reads the data twice: use a file\n"
        )


def test_the_model_must_have_a_folder_and_a_name_of_its_own(data, tmp_path):
    with pytest.raises(DataError, match="there is no folder"):
        tune([str(data)], tmp_path / "none" / "m")
    before = data.read_bytes()
    with pytest.raises(DataError, match="is read here and would be written over"):
        tune([str(data)], data)
    assert data.read_bytes() == before


def test_a_bad_line_stops_it_unless_it_may_be_skipped(data, tmp_path):
    bad = tmp_path / "bad.vw"
    bad.write_text(data.read_text() + "1|f a\n")
    done = dwindle("tune", bad, "-m", tmp_path / "m", *FAST, check=False)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"dwindle: {bad}:301: label '1' touches '|'")
    done = dwindle("tune", bad, "-m", tmp_path / "m", *FAST, "--skip-bad")
    assert "skipped       " in done.stderr
    assert "--skip-bad" in command_in(done.stderr)
    kept = tune([str(data)], tmp_path / "n", Tuning(GRID, folds=3))
    assert Model.load(tmp_path / "m").weights() == Model.load(tmp_path / "n").weights()
    assert kept.summary.skipped == 0


@pytest.mark.parametrize(
    ("text", "loss", "said"),
    [
        ("1 | a\n-1 | a\n3 | a\n", "logistic", ":3: expected a label of two classes"),
        ("1 | a\n-1 | a\n", "poisson", ":2: with Poisson a label must be 0 or more, got -1"),
        ("| a\n| b\n", None, ": no examples to learn from"),
        ("", None, ": no examples to learn from"),
        ("1 | a\n-1 | a\n", None, "there are 2 examples, too few for 10 folds"),
    ],
)
def test_labels_that_cannot_be_learned_are_told_with_their_place(tmp_path, text, loss, said):
    (tmp_path / "a.vw").write_text(text)
    option = () if loss is None else ("--loss", loss)
    done = dwindle("tune", tmp_path / "a.vw", "-m", tmp_path / "m", *option, check=False)
    assert done.exit_code == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    # What is wrong is mended, and nothing of the first attempt is in the way.
    (tmp_path / "a.vw").write_text(planted.vw(EXAMPLES))
    dwindle("tune", tmp_path / "a.vw", "-m", tmp_path / "m", *FAST, "-q")


@pytest.mark.parametrize("label", ["1", "-1", "5"])
def test_labels_that_are_all_the_same_are_told_and_it_goes_on(tmp_path, label):
    (tmp_path / "a.vw").write_text("".join(f"{label} | a:{i % 7} b\n| c\n" for i in range(40)))
    done = dwindle("tune", tmp_path / "a.vw", "-m", tmp_path / "m", *FAST)
    said = "dwindle: all labels are the same: there is nothing to tell apart"
    assert done.stderr.splitlines().count(said) == 1
    assert len(Model.load(tmp_path / "m")) <= 2
    (tmp_path / "a.vw").write_text(planted.vw(EXAMPLES))
    assert said not in dwindle("tune", tmp_path / "a.vw", "-m", tmp_path / "m", *FAST).stderr


def test_unlabelled_examples_at_the_top_are_passed_over(data, tmp_path):
    (tmp_path / "a.vw").write_text("| a b\n" * 30)
    reference = tune([str(data)], tmp_path / "n", Tuning(GRID._replace(rest=(1,)), folds=3))
    tuned = tune([str(tmp_path / "a.vw"), str(data)], tmp_path / "m", Tuning(GRID._replace(rest=(1,)), folds=3))  # fmt: skip
    assert tuned.found == reference.found


def test_if_there_is_no_room_in_the_temporary_folder_that_is_told(data, tmp_path, monkeypatch):
    def full():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dwindle.cache.TemporaryFile", full)
    with pytest.raises(DataError, match=r"no room for a cache.*No space left.*set TMPDIR"):
        tune([str(data)], tmp_path / "m", Tuning(GRID, folds=3))


def test_jobs_are_one_or_more(data, tmp_path):
    with pytest.raises(ValueError, match="jobs must be 1 or more, got 0"):
        tune([str(data)], tmp_path / "m", Tuning(jobs=0))


def test_a_loss_of_your_own_choosing_is_the_one_that_is_used(data, tmp_path):
    tuned = tune([str(data)], tmp_path / "m", Tuning(GRID, loss=Squared(), folds=3))
    assert Model.load(tmp_path / "m").loss == Squared()
    assert tuned.found.metric == "loss"
