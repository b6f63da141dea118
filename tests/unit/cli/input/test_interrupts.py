"""A signal ends a command, also where a library swallows what it raises."""

import os
import signal
import time
from collections.abc import Iterator

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
