"""Work beside other work is done in order, and what goes wrong is heard of."""

import threading

import pytest

from dwindle._base.threads import DEPTH, Worker, ordered_map, unordered_map


def test_work_is_done_in_the_order_it_is_given_on_one_other_thread():
    worker, done = Worker(), []
    for i in range(100):
        worker.do(lambda i: done.append((i, threading.get_ident())), i)
    worker.wait()
    assert [i for i, _ in done] == list(range(100))
    assert len({thread for _, thread in done} - {threading.get_ident()}) == 1
    worker.close()


def test_what_goes_wrong_is_raised_by_waiting():
    worker = Worker()
    worker.do(int, "seven")
    with pytest.raises(ValueError, match="seven"):
        worker.wait()
    worker.close()


def test_only_so_much_work_waits():
    worker, free = Worker(), threading.Event()
    for _ in range(DEPTH):
        worker.do(free.wait)
    threading.Timer(0.05, free.set).start()
    worker.do(free.wait)  # the first is waited for
    assert free.is_set()
    worker.close()


def test_closing_leaves_undone_what_has_not_begun():
    worker, begun, free, done = Worker(), threading.Event(), threading.Event(), []
    worker.do(lambda: (begun.set(), free.wait()))
    worker.do(done.append, 1)
    begun.wait()
    threading.Timer(0.05, free.set).start()
    worker.close()
    assert done == []
    worker.wait()  # for nothing, as a process does before it is forked


def test_work_that_was_being_waited_for_when_interrupted_is_still_waited_for(monkeypatch):
    worker, free, done = Worker(), threading.Event(), []
    worker.do(lambda: (free.wait(), done.append(1)))

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dwindle._base.threads.wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            worker.wait()
    threading.Timer(0.05, free.set).start()
    worker.wait()
    assert done == [1]
    worker.close()


def test_a_map_keeps_the_order_or_yields_what_is_done_first():
    free = threading.Event()

    def work(i):
        if i == 0:
            free.wait(10)
        return i * i

    results = unordered_map(work, range(20), 2)
    found = [next(results)]
    assert found[0][0] != 0
    free.set()
    assert sorted([*found, *results]) == [(i, i * i) for i in range(20)]
    assert list(ordered_map(work, iter(range(20)), 2)) == [i * i for i in range(20)]


def test_a_check_stops_a_map():
    class Stop(Exception):  # noqa: N818  (it is no error)
        pass

    def check():
        raise Stop

    with pytest.raises(Stop):
        list(unordered_map(abs, range(3), 2, check))
