"""A signal ends a command, also where a library swallows what it raises."""

import importlib
import os
import signal
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import suppress
from queue import Queue
from threading import Event

import pytest

from poolkeeper.cli.input import interrupts

ARRIVES_S = 10.0


@pytest.fixture(autouse=True)
def heeds_all() -> Iterator[None]:
    """What starts the tests may ignore a signal, as `nohup` does, and so would they."""
    before = {number: signal.getsignal(number) for number in interrupts.NUMBERS}
    for number, handler in before.items():
        if handler == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def swallow(number):
    """What kazoo and kafka-python do with whatever is raised in them."""
    until_s = time.monotonic() + ARRIVES_S
    try:
        os.kill(os.getpid(), number)
        while time.monotonic() < until_s:
            pass
    except BaseException:  # noqa: BLE001 - that is the point
        return


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_raised_where_the_program_stands_and_at_every_check(number):
    with interrupts.raise_once() as check:
        check()
        swallow(number)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                check()


def test_handlers_are_put_back_and_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    interrupt = signal.getsignal(signal.SIGINT)
    try:
        with interrupts.raise_once() as check:
            assert signal.getsignal(signal.SIGINT) is not interrupt
            os.kill(os.getpid(), signal.SIGTERM)
            check()
        assert signal.getsignal(signal.SIGINT) is interrupt
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("nested", [False, True])
def test_a_command_that_hangs_at_a_signal_is_ended(nested: bool) -> None:
    ends = Queue[bool]()
    with interrupts.raise_once(0.05, lambda: ends.put(True)):
        if nested:
            with interrupts.raise_once():
                swallow(signal.SIGTERM)
        else:
            swallow(signal.SIGTERM)
        assert ends.get(timeout=ARRIVES_S)


def test_a_command_that_ends_in_time_is_left_alone() -> None:
    ends, left = Queue[bool](), Event()
    left.set()
    interrupts.exit_unless(left, 0.0, lambda: ends.put(True))
    assert ends.empty()


class Deleted:
    """Python tells nobody of what is raised while it deletes this."""

    def __init__(self, act):
        self.act = act

    def __del__(self):
        self.act()


def in_del(act):
    Deleted(act)


def in_callback(act):
    referred = Deleted(list)
    _kept = weakref.ref(referred, lambda _: act())
    del referred


def in_set_name(act):
    class Named:
        def __set_name__(self, owner, name):
            act()

    type("Owner", (), {"name": Named()})


def in_import(act):
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "no_such_module":
                act()

    sys.meta_path.insert(0, finder := Finder())
    try:
        with suppress(ModuleNotFoundError):
            importlib.import_module("no_such_module")
    finally:
        sys.meta_path.remove(finder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("somewhere", [in_del, in_callback, in_set_name, in_import])
def test_where_python_loses_an_error_the_signal_is_raised_a_moment_later(number, somewhere, capsys):
    ended = []

    def act():
        os.kill(os.getpid(), number)
        ended.append(True)

    def work():
        until_s = time.monotonic() + ARRIVES_S
        somewhere(act)
        while time.monotonic() < until_s:
            pass

    with interrupts.raise_once(), pytest.raises(KeyboardInterrupt):
        work()
    assert capsys.readouterr() == ("", "")
    if somewhere is not in_callback:  # nothing tells that one from any other function
        assert ended, "what was begun there was done"


def test_other_errors_that_python_loses_are_told_as_before(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: told.append(lost.exc_type))
    with interrupts.raise_once():
        in_del(lambda: 1 / 0)
    in_del(lambda: 1 / 0)
    assert told == [ZeroDivisionError] * 2
