"""A signal ends a command, also where a library swallows what it raises."""

import os
import signal
import time
from collections.abc import Iterator
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
