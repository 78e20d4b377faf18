"""Defaults per project in `dwindle.toml`, completion, and a run followed by MLflow."""

import json
import runpy
from pathlib import Path

import pytest

import dwindle
from dwindle import TrainSettings
from dwindle.cli import COMMANDS, main
from helpers.commands import dwindle as command

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path):
    rows = "".join(f"{i % 2},{i % 7},ad{i % 5},{i}\n" for i in range(400))
    (tmp_path / "d.csv").write_text(f"clicked,hour,ad,session\n{rows}")
    (tmp_path / "dwindle.toml").write_text(
        'label-column = "clicked"\ndrop = ["session"]\n[train]\ngravity = 1e-3\npasses = 2\n'
    )
    return tmp_path


def gravity(folder):
    return dwindle.Model.load(folder / "m.parquet").settings["shrinkage"]["Truncation"]["gravity"]


def test_options_of_a_project_are_those_of_the_command_line(folder):
    command("train", "d.csv", "-m", "m.parquet", "-q", cwd=folder)
    (folder / "dwindle.toml").rename(folder / "away.toml")
    words = ["--label-column=clicked", "--drop=session", "--gravity=1e-3", "--passes=2"]
    command("train", "d.csv", "-m", "n.parquet", "-q", *words, cwd=folder)
    with_file, with_words = (dwindle.Model.load(folder / f"{m}.parquet") for m in "mn")
    assert with_file.weights() == with_words.weights()
    assert gravity(folder) == 1e-3


def test_the_command_line_comes_first(folder):
    command("train", "d.csv", "-m", "m.parquet", "-q", "--gravity", "1e-2", cwd=folder)
    assert gravity(folder) == 1e-2
    command("train", "d.csv", "-m", "m.parquet", "-q", "--dense", cwd=folder)
    assert gravity(folder) == 0.0


def test_true_is_an_option_without_its_value(folder):
    text = 'label-column = "clicked"\n[train]\nlive = true\ngravity = 1e-3\n'
    (folder / "dwindle.toml").write_text(text)
    done = command("train", "d.csv", "-m", "m.parquet", cwd=folder, text=True)
    assert "watch it at http://127.0.0.1:" in done.stderr


def test_another_file_may_be_named_or_none(folder, monkeypatch):
    (folder / "other.toml").write_text('label-column = "clicked"\n[train]\ngravity = 0.5\n')
    monkeypatch.setenv("DWINDLE_CONFIG", str(folder / "other.toml"))
    command("train", "d.csv", "-m", "m.parquet", "-q", cwd=folder)
    assert gravity(folder) == 0.5
    monkeypatch.setenv("DWINDLE_CONFIG", "")
    done = command("train", "d.csv", "-m", "m.parquet", "-q", cwd=folder, check=False, text=True)
    assert "no column 'label'" in done.stderr


def test_config_prints_the_defaults_of_each_command(folder, tmp_path_factory):
    done = command("config", cwd=folder, text=True).stdout
    assert done.startswith("# dwindle.toml\n")
    assert (
        '[train]\nlabel-column = "clicked"\ndrop = ["session"]\ngravity = 0.001\npasses = 2\n'
        in done
    )
    assert "[predict]" not in done  # which has none of these options
    said = json.loads(command("config", "--json", cwd=folder).stdout)
    assert said["defaults"]["train"]["passes"] == 2
    assert (
        "there is no dwindle.toml"
        in command("config", cwd=tmp_path_factory.mktemp("empty"), text=True).stdout
    )


@pytest.mark.parametrize("words", [("train", "d.csv", "-m", "m"), ("config",)])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "[train]\ngravty = 1",
            "dwindle.toml: [train] has no option gravty; did you mean gravity?",
        ),
        (
            '[train]\ngravity = "much"',
            "dwindle.toml: train: gravity: expected a number or auto, got 'much'",
        ),
        ("[train]\npasses = 0", "dwindle.toml: train: passes: 0 is not in the range x>=1."),
        ("[train]\npasses = [1]", "dwindle.toml: train: passes: expected one value, got [1]"),
        ('[train]\ndrop = "x"', "dwindle.toml: train: drop: expected a list, got 'x'"),
        ("[train]\nnormalize = 1", "dwindle.toml: train: normalize: expected true or false, got 1"),
        (
            "[train\n",
            "dwindle.toml: Expected ']' at the end of a table declaration (at line 1, column 7)",
        ),
    ],
)
def test_a_bad_key_or_value_is_refused_by_name_with_the_file(folder, words, text, told):
    (folder / "dwindle.toml").write_text(text)
    done = command(*words, cwd=folder, check=False, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"Error: {told}"


def test_config_also_refuses_what_concerns_no_command(folder):
    for text, told in (
        ("[trian]\n", "[trian] is no command; did you mean train?"),
        ("gravitas = 1", "gravitas is an option of no command; did you mean gravity?"),
    ):
        (folder / "dwindle.toml").write_text(text)
        done = command("config", cwd=folder, check=False, text=True)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (
            2,
            f"Error: dwindle.toml: {told}",
        )


def completed(monkeypatch, capsys, words):
    monkeypatch.setenv("_DWINDLE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    with pytest.raises(SystemExit):
        main([], prog_name="dwindle")
    return capsys.readouterr().out.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(monkeypatch, capsys, shell):
    monkeypatch.setenv("_DWINDLE_COMPLETE", f"{shell}_source")
    try:
        with pytest.raises(SystemExit) as ended:
            main([], prog_name="dwindle")
    except RuntimeError:
        pytest.skip(f"needs {shell}")
    assert ended.value.code == 0
    assert f"_DWINDLE_COMPLETE={shell}_complete" in capsys.readouterr().out


def test_commands_options_choices_and_file_names_are_completed(monkeypatch, capsys):
    assert set(completed(monkeypatch, capsys, "dwindle ")) == {f"plain,{name}" for name in COMMANDS}
    assert completed(monkeypatch, capsys, "dwindle train --label") == ["plain,--label-column"]
    assert "plain,logistic" in completed(monkeypatch, capsys, "dwindle train --loss ")
    for words in (
        "dwindle train d",
        "dwindle predict m",
        "dwindle export m",
        "dwindle train x --model m",
    ):
        assert completed(monkeypatch, capsys, words) == [f"file,{words[-1]}"]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # MLflow warns that its folders will be databases one day
def test_the_example_of_mlflow_keeps_a_run_in_a_folder(tmp_path):
    pytest.importorskip("mlflow", reason="needs mlflow-skinny")
    from mlflow.tracking import MlflowClient  # noqa: PLC0415  (MLflow may be missing)

    (tmp_path / "d.vw").write_text("".join(f"{i % 2} |a x{i % 7} y{i % 2}\n" for i in range(500)))
    example = runpy.run_path(str(ROOT / "examples" / "track_with_mlflow.py"))
    settings = TrainSettings(gravity=1e-3, passes=2, holdout=5)
    model = str(tmp_path / "m.parquet")
    number = example["tracked"](str(tmp_path / "d.vw"), model, settings, tmp_path / "runs")
    client = MlflowClient((tmp_path / "runs").as_uri())
    run = client.get_run(number)
    assert run.data.params["gravity"] == "0.001"
    assert run.data.metrics["kept"] == len(dwindle.Model.load(model))
    steps = [each.step for each in client.get_metric_history(number, "loss")]
    assert steps[:4] == [1, 2, 4, 8]
    assert len(client.get_metric_history(number, "holdout_loss")) == 2
    assert [each.path for each in client.list_artifacts(number)] == ["m.parquet"]
