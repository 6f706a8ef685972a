import threading

import pytest

from rig.owning_thread import OwningThread


def test_all_requests_run_on_one_thread_that_is_not_the_caller():
    owner = OwningThread("test")

    names = {owner.call(threading.get_ident, 10) for _ in range(5)}

    assert len(names) == 1
    assert threading.get_ident() not in names


def test_an_exception_reaches_the_caller_and_the_thread_lives_on():
    owner = OwningThread("test")

    def fail() -> None:
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        owner.call(fail, 10)
    assert owner.call(lambda: 3, 10) == 3


def test_a_hanging_request_costs_its_callers_only_their_deadline():
    owner, hang, ran = OwningThread("test"), threading.Event(), []

    with pytest.raises(TimeoutError):
        owner.call(hang.wait, 0.01)
    with pytest.raises(TimeoutError):
        owner.call(lambda: ran.append("dropped"), 0.01)
    hang.set()

    assert owner.call(lambda: "alive", 10) == "alive"
    assert ran == []  # nobody waited for it any more when its turn came


def test_what_succeeds_too_late_is_undone_on_the_thread():
    owner, hang, undone = OwningThread("test"), threading.Event(), threading.Event()
    idents = []

    def undo() -> None:
        idents.append(threading.get_ident())
        undone.set()

    with pytest.raises(TimeoutError):
        owner.call(hang.wait, 0.01, undo)
    assert not undone.is_set()
    hang.set()

    assert undone.wait(10)
    assert idents == [owner.call(threading.get_ident, 10)]
