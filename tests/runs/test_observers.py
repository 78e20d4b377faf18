"""Several observers of one run."""

import inspect
from contextlib import contextmanager

from dwindle.runs.observer import Observer, Observers

CALLS = [name for name, _ in inspect.getmembers(Observer, inspect.isfunction) if name[0] != "_"]


class Recording(Observer):
    """Records what it is told, whatever it is."""

    def __init__(self, *, stops=False):
        self.told, self.stops = [], stops

    def __getattribute__(self, name):
        if name not in CALLS or name in {"should_stop", "waiting"}:
            return super().__getattribute__(name)
        return lambda *about: self.told.append((name, about))

    def should_stop(self):
        return self.stops

    @contextmanager
    def waiting(self):
        self.told.append("in")
        yield
        self.told.append("out")


def test_each_of_several_observers_is_told_everything():
    members = Recording(), Recording()
    both = Observers(*members)
    for name in CALLS:
        call = getattr(both, name)
        if name not in {"should_stop", "waiting"}:
            call(*range(len(inspect.signature(call).parameters)))
    with both.waiting():
        assert members[0].told[-1] == members[1].told[-1] == "in"
    assert members[0].told == members[1].told
    assert {each[0] for each in members[0].told if isinstance(each, tuple)} == {*CALLS} - {
        "should_stop",
        "waiting",
    }


def test_one_of_several_observers_may_stop_the_run():
    assert Observers(Recording(), Recording(stops=True)).should_stop()
    assert not Observers(Recording(), Recording()).should_stop()
