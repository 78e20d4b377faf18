"""What `dwindle inspect` shows of a model."""

import io
import json
import os

import pytest
from rich.cells import cell_len
from rich.console import Console

from dwindle import Learner, Squared, Truncation
from dwindle.cli.weight_bars import show
from dwindle.data.options import ReadOptions
from dwindle.model.model import Model
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers.commands import dwindle


def drawn(weights, *, width=None, encoding="utf-8"):
    """The lines for these weights: on a terminal so wide, or in a file."""
    file = io.TextIOWrapper(io.BytesIO(), encoding)
    terminal = width is not None
    out = Console(file=file, force_terminal=terminal, color_system=None, width=width)
    show(list(weights.items()), out)
    file.seek(0)
    return file.read().splitlines()


def test_bars_stand_on_their_side_of_zero_in_proportion():
    assert drawn({"a": 2.0, "bb": -1.0, "c": 0.75, "d": 1e-3}) == [
        " a +2.00000            │████████████████",
        "bb -1.00000    ████████│",
        " c +0.750000           │██████",
        " d +0.00100000         │▌",
    ]


@pytest.mark.parametrize(("w", "bar"), [(3.0, "│" + "█" * 24), (-3.0, "█" * 24 + "│")])
def test_one_weight_takes_all_the_room_on_its_side(w, bar):
    assert drawn({"only": w}) == [f"only {w:+.5f} {bar}"]


def test_on_a_terminal_long_and_wide_names_lose_their_middle():
    names = ["x" * 100 + "7", "x" * 100 + "8", "日本語の名前" * 10 + "9", "naïve😀", "[red]"]
    lines = drawn({name: (-1) ** k / (k + 1) for k, name in enumerate(names)}, width=80)
    assert len(lines) == 5
    assert all(cell_len(line) <= 80 for line in lines)
    assert len({cell_len(line.split("│")[0]) for line in lines}) == 1  # one zero line
    for line, end in zip(lines, ("xx7 ", "xx8 ", "前9 ", " naïve😀 ", " [red] "), strict=True):
        assert end in line
    whole = drawn(dict.fromkeys(names, 1.0))
    assert all(name in line for name, line in zip(names, whole, strict=True))  # in a file


def test_a_long_name_in_a_file_does_not_push_the_others_away():
    long, short = drawn({"x" * 1000: 1.0, "a": 0.5})
    assert long.startswith("x" * 1000 + " +1.00000 ")
    assert len(short) < 100


def test_what_an_encoding_cannot_show_is_plain_ascii():
    assert drawn({"é": 2.0, "naïve": -1.0}, encoding="ascii") == [
        "    \\xe9 +2.00000         |################",
        "na\\xefve -1.00000 ########|",
    ]


def test_a_name_cannot_move_the_cursor():
    [line] = drawn({"a\x1b[2J\n\udce9": 1.0}, width=80)
    assert line.startswith("a\\x1b[2J\\n\\udce9 +1.00000 ")


def inspected(*args, **environment):
    how = {"env": os.environ | environment} if environment else {}
    return dwindle("inspect", *args, text=True, **how).stdout


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    text = "".join(f"{i % 2} |wörd w{i % 7} |n x:{i % 5} |é y\n" for i in range(1, 500))
    (folder / "a.vw").write_text(text)
    reading = ReadOptions(interactions=(("n", "wörd"),), columns={"é": "drop"})
    training = TrainSettings(shrinkage=Truncation(1e-3), reading=reading)
    train([str(folder / "a.vw")], folder / "m", training)
    return folder / "m"


def test_settings_counts_and_intercept_are_shown_before_the_weights(model):
    found = Model.load(model)
    metadata = found.metadata
    text = inspected(model, "--top", 3)
    settings, outcome, weights, more = text.rstrip("\n").split("\n\n")
    assert settings.splitlines() == [
        "loss          Logistic()",
        "shrinkage     Truncation(gravity=0.001, threshold=inf, truncate_every=1)",
        "update        Adaptive(beta=0.2)",
        "learning rate Schedule(learning_rate=0.6, power_t=0.0, initial_t=1.0, pass_decay=1.0)",
        "normalize     False",
        "labels        0 is -1, 1 is +1",
        "interactions  n*wörd",
        "drop          é",
    ]
    share = len(found) / metadata["seen"]
    assert outcome.splitlines() == [
        f"kept          {len(found)} of ~{metadata['seen']} features ({share:.2%})",
        f"alive         {metadata['peak_live']} features at the peak",
        "examples      499",
        f"loss          {metadata['loss']:.6g}",
        "passes        1",
        f"intercept     {found.intercept:+.6g}",
    ]
    assert len(weights.splitlines()) == 3
    assert more == f"and {len(found) - 3} more: --top {len(found)} shows all"


@pytest.mark.slow
def test_a_terminal_without_unicode_is_served(model):
    text = inspected(model, PYTHONIOENCODING="ascii")
    assert "w\\xf6rd^w1" in text
    assert "drop          \\xe9" in text


def test_no_weights_are_shown_where_there_are_none(tmp_path):
    Model.of(Learner(Squared(), intercept=False)).save(tmp_path / "m")
    assert inspected(tmp_path / "m").splitlines()[-2:] == [
        "kept          0 features",
        "intercept     none",
    ]


def test_json_has_everything(model):
    said = json.loads(inspected(model, "--json"))
    found = Model.load(model)
    assert said["weights"] == found.weights()
    assert (said["kept"], said["intercept"]) == (len(found), found.intercept)
    assert said["metadata"] == found.metadata
    assert said["settings"] == found.settings
