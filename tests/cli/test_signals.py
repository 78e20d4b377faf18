"""A signal ends a command soon, whatever it waits for, and nothing is lost."""

import gzip
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from dwindle.data.text import lines as text_lines
from dwindle.model.model import Model
from dwindle.runs.train import _Run
from helpers.commands import dwindle
from helpers.forked import SIGNALS, Forked
from helpers.training_text import lines

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
TEXT = lines(1000).encode()
SOON = 10  # seconds, on a busy machine
blocks = text_lines.blocks


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of a few lines, of which the first are learned from while the others come."""
    monkeypatch.setattr(
        text_lines, "blocks", lambda file, name, _size, clock: blocks(file, name, 20_000, clock)
    )


@contextmanager
def idle_pipe(text=TEXT):
    """The end to read of a pipe into which a text came, and then nothing more."""
    out, into = os.pipe()
    with os.fdopen(out) as pipe, os.fdopen(into, "wb") as file:
        yield pipe.fileno(), lambda: (file.write(text), file.flush())


@contextmanager
def started(monkeypatch, holder, name):
    """Yield what waits until a process forked in here calls a function for the n-th time."""
    told, tell = os.pipe()
    function = getattr(holder, name)

    def telling(*args):
        os.write(tell, b".")
        return function(*args)

    with monkeypatch.context() as patch:
        patch.setattr(holder, name, telling)
        yield lambda n=1: [os.read(told, 1) for _ in range(n)]
    os.close(told)
    os.close(tell)


@pytest.mark.parametrize("number", SIGNALS)
def test_train_on_an_idle_pipe_writes_a_checkpoint_from_which_it_goes_on(
    tmp_path, monkeypatch, number
):
    (tmp_path / "a.vw").write_bytes(TEXT)
    whole, part = tmp_path / "whole", tmp_path / "part"
    how = ("-g", "1e-4", "-q")
    dwindle("train", tmp_path / "a.vw", "-m", whole, *how)
    with idle_pipe() as (pipe, write), started(monkeypatch, _Run, "_learn") as learned:
        run = Forked("train", "-", "-m", part, *how, stdin=pipe)
        write()
        learned(4)
        run.send(number)
        assert run.wait(SOON) == 128 + number
    assert run.said == (
        f"dwindle: stopped; {part}.checkpoint is written: repeat the command with --resume to go on\n"
    )
    with (tmp_path / "a.vw").open("rb") as file:
        again = Forked("train", "-", "-m", part, *how, "--resume", stdin=file.fileno())
        assert again.wait() == 0
    assert Model.load(part).weights() == Model.load(whole).weights()


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("words", [("predict", "m", "-"), ("evaluate", "m", "-")])
def test_what_waits_for_a_pipe_ends(tmp_path, monkeypatch, number, words):
    (tmp_path / "a.vw").write_bytes(TEXT)
    monkeypatch.chdir(tmp_path)
    dwindle("train", "a.vw", "-m", "m", "-q")
    with idle_pipe() as (pipe, write), started(monkeypatch, text_lines, "_fill") as read:
        run = Forked(*words, stdin=pipe)
        write()
        read(3)
        time.sleep(0.1)  # so that it waits for more
        run.send(number)
        assert run.wait(SOON) == 128 + number
    assert run.said == ""


def test_convert_of_an_idle_pipe_ends_and_leaves_nothing(tmp_path, monkeypatch):
    with idle_pipe() as (pipe, write), started(monkeypatch, text_lines, "_fill") as read:
        run = Forked("convert", "-", tmp_path / "out.arrow", stdin=pipe)
        write()
        read(3)
        run.send(signal.SIGTERM)
        assert run.wait(SOON) == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())


def test_a_pipe_into_which_nothing_ever_came_ends_too(tmp_path):
    with idle_pipe() as (pipe, _):
        run = Forked("train", "-", "--format", "vw", "-m", tmp_path / "m", stdin=pipe)
        time.sleep(0.5)
        run.send(signal.SIGTERM)
        assert run.wait(SOON) == 128 + signal.SIGTERM
    assert run.said == "dwindle: stopped; nothing was learned yet\n"


def test_a_line_that_never_ends_is_refused_and_a_signal_is_heard_before(tmp_path, monkeypatch):
    monkeypatch.setattr(text_lines, "LONGEST_LINE", 10**6)
    (tmp_path / "a.vw.gz").write_bytes(gzip.compress(b"1 | b\n1 | " + b"a" * 10**7 + b"\n", 1))
    done = dwindle(
        *("train", tmp_path / "a.vw.gz", "-m", tmp_path / "m", "-q"), check=False, text=True
    )
    assert (done.returncode, done.stderr) == (
        1,
        f"dwindle: {tmp_path}/a.vw.gz:2: the line is longer than 1,000,000 bytes: is the end of a "
        "line missing?\n",
    )
    monkeypatch.setattr(text_lines, "LONGEST_LINE", 10**12)
    with started(monkeypatch, text_lines, "_fill") as read:
        run = Forked("train", tmp_path / "a.vw.gz", "-m", tmp_path / "m", "-q")
        read(2)
        run.send(signal.SIGTERM)
        assert run.wait(SOON) == 128 + signal.SIGTERM


@pytest.mark.slow
def test_an_interrupt_while_it_starts_has_the_code_of_an_interrupt(tmp_path):
    code = (
        "import sys, signal, builtins\n"
        "from dwindle.cli import main\n"
        "real = builtins.__import__\n"
        "def late(name, *rest):\n"
        "    if name.startswith('dwindle.runs.train'):\n"
        "        builtins.__import__ = real\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = late\n"
        "main(['train', 'a.vw', '-m', 'm'], prog_name='dwindle')\n"
    )
    (tmp_path / "a.vw").write_bytes(TEXT)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGINT, "", "")


@pytest.mark.slow
def test_a_second_signal_loses_nothing_and_a_third_ends_at_once(tmp_path, monkeypatch):
    save = _Run.save

    def slowly(run, path):
        time.sleep(2)
        return save(run, path)

    monkeypatch.setattr(_Run, "save", slowly)
    for times, code in ((2, 128 + signal.SIGTERM), (3, -signal.SIGTERM)):
        with idle_pipe() as (pipe, write), started(monkeypatch, _Run, "_learn") as learned:
            run = Forked("train", "-", "-m", tmp_path / f"m{times}", "-g", "1", "-q", stdin=pipe)
            write()
            learned(4)
            for _ in range(times):
                run.send(signal.SIGTERM)
                time.sleep(0.4)
            assert run.wait(SOON) == code
        assert "once more ends it at once" in run.said
        assert (tmp_path / f"m{times}.checkpoint").exists() == (times == 2)
