"""Work beside other work is done in order, and what goes wrong is heard of."""

import threading

import pytest

from dwindle._base.threads import DEPTH, Aside


def test_work_is_done_in_the_order_it_is_given_on_one_other_thread():
    aside, done = Aside(), []
    for i in range(100):
        aside.do(lambda i: done.append((i, threading.get_ident())), i)
    aside.wait()
    assert [i for i, _ in done] == list(range(100))
    assert len({thread for _, thread in done} - {threading.get_ident()}) == 1
    aside.close()


def test_what_goes_wrong_is_raised_by_waiting():
    aside = Aside()
    aside.do(int, "seven")
    with pytest.raises(ValueError, match="seven"):
        aside.wait()
    aside.close()


def test_only_so_much_work_waits():
    aside, free = Aside(), threading.Event()
    for _ in range(DEPTH):
        aside.do(free.wait)
    threading.Timer(0.05, free.set).start()
    aside.do(free.wait)  # the first is waited for
    assert free.is_set()
    aside.close()


def test_closing_leaves_undone_what_has_not_begun():
    aside, begun, free, done = Aside(), threading.Event(), threading.Event(), []
    aside.do(lambda: (begun.set(), free.wait()))
    aside.do(done.append, 1)
    begun.wait()
    threading.Timer(0.05, free.set).start()
    aside.close()
    assert done == []


def test_work_that_was_being_waited_for_when_interrupted_is_still_waited_for(monkeypatch):
    aside, free, done = Aside(), threading.Event(), []
    aside.do(lambda: (free.wait(), done.append(1)))

    def interrupted(_futures):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dwindle._base.threads.wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            aside.wait()
    threading.Timer(0.05, free.set).start()
    aside.wait()
    assert done == [1]
    aside.close()
