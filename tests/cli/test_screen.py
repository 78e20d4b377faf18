"""What a person at a terminal sees, and what a log file gets."""

import fcntl
import itertools
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios

import numpy as np
import pytest

from helpers.commands import COMPILING, command

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class Terminal:
    """A command with its standard error, and output if not said otherwise, on a terminal."""

    def __init__(self, *args, columns=80, stdout=None, stdin=None, cwd=None, **environment):
        self.screen, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        known = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES", "NO_COLOR"}}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dwindle", *map(str, args)],
            stdin=stdin,
            cwd=cwd,
            stdout=stdout or side,
            stderr=side,
            env=known | {"TERM": "xterm"} | environment,
        )
        os.close(side)
        self.written = ""

    def read(self, until=None):
        """All that has been written, once it contains ``until`` or the command has ended."""
        while until is None or until not in self.written:
            try:
                chunk = os.read(self.screen, 4096)
            except OSError:  # how Linux says that no one writes any more
                break
            if not chunk:
                break
            self.written += chunk.decode(errors="replace")
        return self.written

    def end(self):
        self.read()
        os.close(self.screen)
        return self.process.wait()


def left_on(written):
    """The lines that remain when the terminal has done as it was told."""
    lines, row, column = [""], 0, 0
    for part in re.split(r"(\x1b\[[0-9;?]*[a-zA-Z]|\r|\n)", written):
        if part == "\n":
            row += 1
            if row == len(lines):
                lines.append("")
        elif part == "\r":
            column = 0
        elif part == "\x1b[1A":
            row -= 1
        elif part == "\x1b[2K":
            lines[row] = ""
        elif not ESCAPE.match(part):
            lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + len(part) :]
            column += len(part)
    return lines


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Enough for several blocks."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 500, (50_000, 8))
    path = tmp_path_factory.mktemp("data") / "train.vw"
    with path.open("w") as file:
        for row in words:
            file.write(f"{1 if row[0] % 2 else -1} | {' '.join(f'word{w}:0.25' for w in row)}\n")
    return path


@pytest.mark.slow
def test_that_code_is_compiled_is_told_when_it_takes_long(tmp_path):
    data, cache = tmp_path / "train.svm", tmp_path / "cache"  # its reader is compiled soonest
    data.write_text("1 1:1\n-1 2:1\n")

    def told(*options):
        terminal = Terminal(
            "train",
            data,
            "--model",
            tmp_path / "m",
            "--gravity",
            "0",
            *options,
            NUMBA_CACHE_DIR=str(cache),
        )
        assert terminal.end() == 0
        lines = [line.strip() for line in left_on(terminal.written)]
        return lines.count(COMPILING)

    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    words = command("train", data, "--model", tmp_path / "m", "--gravity", "0")
    log = subprocess.run(words, capture_output=True, check=True, text=True, env=environment).stderr
    assert log.splitlines().count(COMPILING) == 1
    [time] = re.findall(r"time +(.+) s \((.+) s compiling\), (.+) examples a second", log)
    seconds, compiling, rate = (float(each.replace(",", "")) for each in time)
    assert 0 < compiling <= seconds + 0.5  # they are rounded
    assert rate > 2 * 2 / seconds

    for file in (*cache.rglob("svmlight.*"), *cache.rglob("*.code")):
        file.unlink()
    assert told() == 1
    assert told() == 0
    for option in ("--quiet", "--json"):
        for file in cache.rglob("svmlight.*"):
            file.unlink()
        assert told(option) == 0
    assert told() == 0


@pytest.fixture(scope="module")
def model(data):
    path = data.with_name("m.parquet")
    command = [sys.executable, "-m", "dwindle", "train", data, "-m", path]
    done = subprocess.run(command, capture_output=True, check=True)
    assert b"\x1b" not in done.stderr
    assert done.stdout == b""
    path.with_name("log").write_bytes(done.stderr)
    for name in ("predict", "evaluate"):  # so that no screen has a line about compiling
        command = [sys.executable, "-m", "dwindle", name, path, data]
        subprocess.run(command, capture_output=True, check=True)
    return path


def table(lines):
    """The table of progress, which an empty line ends."""
    begun = itertools.takewhile(str.strip, lines)
    return [line for line in begun if re.match(r" *(pass|examples|[0-9,]+) ", line)]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_on_a_terminal_the_table_stays_and_a_bar_below_it_goes(data, model, tmp_path, columns):
    shown = Terminal("train", data, "-m", tmp_path / "m", columns=columns)
    assert shown.end() == 0
    size = data.stat().st_size / 1e6
    plain = ESCAPE.sub("", shown.written)
    assert re.search(rf"━ +100% +{size:.1f}/{size:.1f} MB +[0-9,]+ examples/s +0:00:00 left", plain)
    assert all(len(line) < columns for line in re.split("[\r\n]", plain) if "━" in line)
    left = left_on(shown.written)
    assert not any("━" in line for line in left)
    log = model.with_name("log").read_text().splitlines()
    log = [line for line in log if line != COMPILING]
    assert table(left) == table(log)
    assert len(table(log)) == 18
    assert left[len(table(log)) + 1] == log[len(table(log)) + 1]  # the summary follows
    assert "\x1b[?25l" not in shown.written


@pytest.mark.slow
def test_the_pass_is_told_if_there_are_several(data, tmp_path):
    shown = Terminal("train", data, "-m", tmp_path / "m", "--passes", 2)
    assert shown.end() == 0
    plain = ESCAPE.sub("", shown.written)
    assert re.search(r"pass 1/2 ━+ +0% +0.0/", plain)
    assert re.search(r"pass 2/2 ━+ +100%", plain)


@pytest.mark.slow
def test_of_a_pipe_there_is_no_share(data, tmp_path):
    with subprocess.Popen([shutil.which("cat"), data], stdout=subprocess.PIPE) as pipe:
        shown = Terminal("train", "-", "-m", tmp_path / "m", stdin=pipe.stdout)
        assert shown.end() == 0
    plain = ESCAPE.sub("", shown.written)
    size = data.stat().st_size / 1e6
    assert re.search(rf"{size:.1f} MB 50,000 examples +[0-9,]+ examples/s +[0-9:]+\r", plain)
    assert "%" not in plain.split("kept ")[0]


@pytest.mark.slow
def test_a_terminal_that_cannot_move_its_cursor_gets_the_log(data, model, tmp_path):
    shown = Terminal("train", data, "-m", tmp_path / "m", TERM="dumb")
    assert shown.end() == 0
    assert "\x1b" not in shown.written
    log = model.with_name("log").read_text().splitlines()
    assert table(shown.written.splitlines()) == table(log)


@pytest.mark.slow
def test_without_colours_what_is_read_still_differs_from_what_is_not(data, tmp_path):
    shown = Terminal("train", data, "-m", tmp_path / "m", NO_COLOR="1")
    assert shown.end() == 0
    assert not re.search(r"\x1b\[[0-9;]*m", shown.written)
    assert re.search(r"(^|\r\x1b\[2K) +0% ", shown.written)
    assert "━ 100%" in shown.written


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_who_wants_quiet_or_json_gets_no_bar(data, tmp_path, option):
    shown = Terminal("train", data, "-m", tmp_path / "m", option)
    assert shown.end() == 0
    assert "\x1b" not in shown.written


@pytest.mark.slow
def test_stopping_takes_the_bar_away_and_says_how_to_go_on(data, tmp_path):
    shown = Terminal("train", data, "-m", tmp_path / "m", "--passes", 100)
    shown.read(until="131,072 ")
    shown.process.send_signal(signal.SIGINT)
    assert shown.end() == 128 + signal.SIGINT
    *before, last, empty = left_on(shown.written)
    assert empty == ""
    assert last == (
        f"dwindle: stopped; {tmp_path}/m.checkpoint is written: "
        "repeat the command with --resume to go on"
    )
    assert before == table(before)


@pytest.mark.slow
def test_a_bad_line_takes_the_bar_away_and_is_told(data, tmp_path):
    bad = tmp_path / "bad.vw"
    bad.write_text(data.read_text() + "1|f a\n")
    shown = Terminal("train", bad, "-m", tmp_path / "m")
    assert shown.end() == 1
    *before, last, _ = left_on(shown.written)
    assert last.startswith(f"dwindle: {bad}:50001: label '1' touches '|'")
    assert before == table(before)


@pytest.mark.slow
def test_predict_and_evaluate_show_the_bar_and_leave_nothing_of_it(data, model, tmp_path):
    shown = Terminal("predict", model, data, "-o", tmp_path / "out")
    assert shown.end() == 0
    assert "100%" in shown.written
    assert not any(left_on(shown.written))
    assert len((tmp_path / "out").read_text().splitlines()) == 50_000
    with (tmp_path / "found").open("wb") as file:
        shown = Terminal("evaluate", model, data, stdout=file)
        assert shown.end() == 0
    assert "100%" in shown.written
    assert not any(left_on(shown.written))
    assert "accuracy" in (tmp_path / "found").read_text()
    assert "\x1b" not in (tmp_path / "found").read_text()


@pytest.mark.slow
def test_predictions_on_the_terminal_are_not_disturbed(data, model):
    shown = Terminal("predict", model, data)
    assert shown.end() == 0
    assert "\x1b" not in shown.written


@pytest.mark.slow
def test_rich_is_not_imported_where_no_bar_is_shown(data, model, tmp_path):
    for args in (["train", data, "-m", tmp_path / "m"], ["evaluate", model, data]):
        code = (
            "import sys; from dwindle.cli import main; main(sys.argv[1:], standalone_mode=False);"
            "print('rich' in sys.modules)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, *map(str, args)], capture_output=True, check=True
        )
        assert done.stdout.split()[-1] == b"False"


@pytest.mark.slow
def test_tables_names_and_figures_fit_a_terminal_of_60_columns(tmp_path):
    rng = np.random.default_rng(1)
    words = [" ".join(rng.choice(["good", "bad", "poor"], 40)) for _ in range(100)]
    rows = "".join(f"{i % 2},{text},{i}\n" for i, text in enumerate(words))
    data, model = tmp_path / "a.csv", tmp_path / "m"
    data.write_text("label,what_was_said_by_the_customer,x\n" + rows)
    for args in (
        ("train", data, "-m", model, "--passes", 2, "--categorical", "what_was_said*"),
        ("inspect", model),
        ("evaluate", model, data),
        ("explain", model, "a.csv"),
    ):
        terminal = Terminal(*args, columns=60, cwd=tmp_path)
        assert terminal.end() == 0
        lines = left_on(terminal.written)
        lines = table(lines) if args[0] == "train" else lines
        shown = [line for line in lines if str(tmp_path) not in line and "dwindle:" not in line]
        assert len(shown) > 10
        assert all(len(line) <= 60 for line in shown), args
