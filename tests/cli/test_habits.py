"""What hands do that know other programs: options of VW and scikit-learn, `| head`, a file named twice."""

import re
import subprocess

import pytest

from dwindle.cli import COMMANDS, hints, main
from helpers.commands import command, dwindle


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A folder with data and a model."""
    folder = tmp_path_factory.mktemp("here")
    text = "".join(f"{i % 2} '{i} |a x{i % 7} |b y:{i % 5}\n" for i in range(20_000))
    (folder / "data.vw").write_text(text)
    dwindle("train", "data.vw", "-m", "m.parquet", "-q", cwd=folder)
    return folder


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("train data.vw --l1 1e-6 -m m", "`dwindle train --gravity G`"),
        ("train -d data.vw -m m", "`dwindle train FILE`"),
        ("train data.vw -f m", "`dwindle train --model FILE`"),
        ("-d data.vw -f m", "`dwindle train FILE`"),
        ("predict data.vw -t -i m -p out", "`dwindle predict MODEL DATA`"),
        ("train data.vw -m m -q ab", "--interactions 'a*b'"),
        ("train data.vw -m m -b 24", "`dwindle train --max-live N`"),
        ("train data.vw -m m -c -k --passes 3", "not needed"),
        ("train data.vw -m m --readable_model text", "`dwindle inspect MODEL`"),
        ("train data.vw -m m --oaa 3", "several classes"),
        ("train data.vw -m m --save_resume", "`dwindle train --save-state`"),
        ("train data.vw -m m --predict_only_model", "which `dwindle vw` takes"),
        ("train data.vw -m m --bfgs", "which `dwindle vw` takes, it is several `--passes`"),
        ("train data.vw -m m --l1_ratio 0.5", "`dwindle train --gravity G --l2 L`"),
        ("train data.vw -m m --random-state 1", "`dwindle train --seed N`"),
        ("train data.vw -m m --loss_function logistic", "`dwindle train --loss`"),
        ("train data.vw -m m --alpha 0.1", "--gravity"),
        ("train data.vw -m m --C 10", "--gravity"),
        ("train data.vw -m m --penalty l1", "--gravity"),
        ("train data.vw -m m --max-iter 5", "`dwindle train --passes N`"),
        ("train data.vw -m m --target y", "`dwindle train --label-column NAME`"),
        ("train data.vw -m m --label y", "`dwindle train --label-column NAME`"),
        ("train data.vw -m m --sep ;", "`dwindle train --delimiter C`"),
        ("train data.vw -m m --test_size 0.2", "`dwindle train --holdout N`"),
        ("predict --model m.parquet data.vw", "`dwindle predict MODEL DATA`"),
        ("tune data.vw -m m --shuffle 9", "only `dwindle train --shuffle N`"),
        ("train data.vw -m m --loss log_loss", "Here it is --loss logistic."),
        ("fit data.vw", "`dwindle train DATA --model FILE`"),
        ("test m.parquet data.vw", "`dwindle evaluate MODEL DATA`"),
    ],
)
def test_an_option_of_another_program_is_answered_with_its_name_here(here, words, told):
    done = dwindle(*words.split(), cwd=here, check=False, text=True)
    assert done.returncode == 2
    assert told in done.stderr.splitlines()[-1]


def test_hints_name_only_options_that_exist():
    for told in (hints.HINTS | hints.ELSEWHERE | hints.COMMANDS).values():
        for name, rest in re.findall(r"`dwindle (\w+)([^`]*)`", told):
            assert name in COMMANDS
            known = {
                o for p in main.get_command(None, name).params for o in (*p.opts, *p.secondary_opts)
            }
            assert set(re.findall(r"--[a-z0-9-]+", rest)) <= known, told


def test_a_model_named_after_the_data_is_told(here):
    done = dwindle("predict", "data.vw", "m.parquet", cwd=here, check=False, text=True)
    told = "dwindle: data.vw: not a model. Commands take the model first, then the data\n"
    assert (done.returncode, done.stderr) == (1, told)


@pytest.mark.parametrize("text", ['[{"label": 1, "x": 2}]', '[\n{"label": 1, "x": 2}\n]\n'])
def test_a_json_array_is_told_to_be_lines(here, text):
    (here / "data.json").write_text(text)
    done = dwindle("train", "data.json", "-m", "x", cwd=here, check=False, text=True)
    assert done.stderr == (
        "dwindle: data.json: a JSON array: write one object a line instead (JSON lines)\n"
    )


def test_a_size_of_memory_may_leave_out_the_b(here):
    for size in ("2G", "2GB", "2gb"):
        assert dwindle("train", "data.vw", "-m", "x", "--memory", size, "-q", cwd=here)
    done = dwindle("train", "data.vw", "-m", "x", "--memory", "2", cwd=here, check=False, text=True)
    assert "--memory: expected a size like 500MB or 2GB, got '2'" in done.stderr


def test_an_option_that_exists_gets_no_hint():
    for name in COMMANDS:
        options = {o for param in main.get_command(None, name).params for o in param.opts}
        assert not (options & hints.HINTS.keys())


def test_a_file_of_two_letters_is_read_after_quiet(here):
    (here / "ab").write_text((here / "data.vw").read_text())
    assert dwindle("train", "-q", "ab", "-m", "x", cwd=here).returncode == 0
    (here / "ab").unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        "predict m.parquet data.vw",
        "predict m.parquet data.vw --output-format csv",
        "inspect m.parquet",
        "explain m.parquet data.vw --n 1000",
    ],
)
def test_a_reader_that_goes_away_ends_the_command_quietly_as_it_ends_cat(here, words):
    words = command(*words.split())
    with subprocess.Popen(
        words, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141


@pytest.mark.parametrize("out", ["data.vw", "../{}/data.vw", "link.vw", "hard.vw"])
def test_what_is_read_is_not_written_over_whatever_it_is_called(here, out):
    before = (here / "data.vw").read_bytes()
    if not (here / "link.vw").exists():
        (here / "link.vw").symlink_to("data.vw")
        (here / "hard.vw").hardlink_to(here / "data.vw")
    out = out.format(here.name)
    told = f"dwindle: {out}: is read here and would be written over: name another file"
    for words in (("convert", "data.vw", out), ("predict", "m.parquet", "data.vw", "-o", out)):
        done = dwindle(*words, cwd=here, check=False, text=True)
        assert (done.returncode, done.stderr.strip()) == (1, told)
    for words in (("data.vw",), ("m.parquet", "--holdout", "data.vw")):
        done = dwindle("train", *words, "-m", out, cwd=here, check=False, text=True)
        assert done.returncode == 2  # no model has this extension
    assert (here / "data.vw").read_bytes() == before


def test_the_tab_key_completes_commands_and_options(monkeypatch):
    monkeypatch.setenv("_DWINDLE_COMPLETE", "bash_complete")
    for words, found in (("dwindle expl", "explain"), ("dwindle predict --id-c", "--id-column")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        assert dwindle(text=True).stdout.split(",")[-1].strip() == found
    assert "_DWINDLE_COMPLETE=bash_source" in main.help
