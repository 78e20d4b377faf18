"""A checkpoint that says absurd things of its run is refused by name, or does no harm."""

import os

import pytest

from dwindle.data.options import ReadOptions
from dwindle.runs.observer import Observer, Stopped
from dwindle.runs.settings import TrainSettings
from dwindle.runs.train import train
from helpers import crafted
from helpers.effort import FULL
from helpers.observing import heard
from helpers.stop_after import stopped_after
from helpers.training_text import lines

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks"),
]
MANY = None if FULL else 20
HOW = TrainSettings(gravity=0.001, passes=2, reading=ReadOptions(block_size=3000))


class Quiet(Observer):
    def note(self, text):
        pass


def test_what_a_crafted_checkpoint_says_of_its_run_does_no_harm(tmp_path):
    data, model = tmp_path / "a.vw", tmp_path / "m"
    data.write_text(lines(200))
    with pytest.raises(Stopped):
        train([str(data)], model, HOW, observer=heard(stopping=stopped_after(2)))
    path = tmp_path / "m.checkpoint"

    def resume(_path):
        train([str(data)], model, HOW, resume=True, observer=Quiet(), given=())

    columns, about = crafted.contents(path, "checkpoint")
    of_the_run = {"metadata": about["metadata"]}
    rest = {k: v for k, v in about.items() if k not in {"metadata", "format", "kind"}}
    cases = [
        (what, same, rest | said)
        for what, same, said in crafted.mutations({}, of_the_run, MANY)
        if "metadata" in said
    ]
    # So many passes, or steps without an example, can be asked for: they only take long.
    long = ("metadata.passes", "metadata.cooldown")
    cases = [(what, columns, said) for what, _, said in cases if not what.startswith(long)]
    assert crafted.harmed("checkpoint", path, cases, resume) == []
