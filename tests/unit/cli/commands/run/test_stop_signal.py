"""The signal that ends `run`, wherever the main thread is when it comes."""

import signal
from collections.abc import Iterator

import pytest

from poolkeeper.cli.commands.run.run import StopSignal
from poolkeeper.cli.input import interrupts


@pytest.fixture
def ended() -> Iterator[StopSignal]:
    before = {number: signal.getsignal(number) for number in interrupts.heeded()}
    yield StopSignal()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.timeout(20)
def test_it_ends_a_wait_that_is_about_to_begin(ended: StopSignal) -> None:
    with ended.event._cond:  # as `wait` does before it waits, and after it
        signal.raise_signal(signal.SIGTERM)
    assert ended.event.wait(10)
    assert ended.signal == signal.SIGTERM
