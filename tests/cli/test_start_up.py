"""What a command does not need is not imported: whole commands are short, and imports long."""

import re
import subprocess
import sys
import threading

import pytest

from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train

CODE = """
import sys
from dwindle.cli import main
try:
    main({given!r}, standalone_mode=False)
except SystemExit:
    pass
compilers = {{"numpy.ma"}} if "numba" in sys.modules else set()  # imported where code is not on disk
print("imported:", *sorted({long!r} & set(sys.modules) - compilers))
"""
TABLES = {"pandas", "pyarrow.compute", "dwindle.data.formats.tables.lists", "numpy.ma"}
MODELS = {"pyarrow", "pyarrow.parquet"}
LEARNERS = {"dwindle.engine.learner", "dwindle.engine.lanes"}


def imported(given, long):
    """Run a command in a process of its own; return which of these modules it imported."""
    code = CODE.format(given=given, long=long)
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.slow
def test_text_is_read_without_what_only_tables_need_and_predicted_without_learners(tmp_path):
    text, model = tmp_path / "a.vw", tmp_path / "a.parquet"
    text.write_text("1 |f a b:2\n-1 |f c\n" * 50)
    train = ["train", str(text), "--model", str(model), "--quiet"]
    predict = ["predict", str(model), str(text), "--output", str(tmp_path / "a.txt")]
    assert imported(train, TABLES | MODELS | LEARNERS) == MODELS | LEARNERS
    assert imported(predict, TABLES | MODELS | LEARNERS) == MODELS


@pytest.mark.slow
def test_text_is_parsed_before_what_models_are_written_with_is_imported(tmp_path):
    (tmp_path / "a.vw").write_text("1 |f a b:2\nx |f c\n")
    given = ["train", str(tmp_path / "a.vw"), "--model", str(tmp_path / "a.parquet")]
    assert not imported(given, TABLES | MODELS)


def test_a_command_that_ends_well_leaves_nothing_unsaid_nor_undone():
    code = "import atexit, sys; atexit.register(print, 'last'); sys.argv = ['dwindle', '--version']"
    code += "; from dwindle.__main__ import run; run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch("dwindle, version .*\nlast\n", done.stdout)


@pytest.mark.slow
def test_what_a_model_is_written_with_is_imported_beside_learning_if_that_takes_long(
    tmp_path, monkeypatch
):
    threads = []
    monkeypatch.setattr(
        "dwindle.runs.train.import_arrow", lambda: threads.append(threading.current_thread())
    )
    for n, expected in ((50, 0), (100_000, 1)):
        text = tmp_path / f"{n}.vw"
        text.write_text("1 |f a b:2\n-1 |f c\n" * n)
        train([str(text)], tmp_path / "a.parquet", TrainSettings(loss="logistic", gravity=1e-7))
        assert len(threads) == expected
    assert threads[0] is not threading.main_thread()
