"""The signal that ends `run`, wherever the main thread is when it comes."""

import signal
from collections.abc import Iterator
from queue import Queue

import pytest

from poolkeeper.cli.commands.run.run import StopSignal
from poolkeeper.cli.input import interrupts


@pytest.fixture
def exits() -> Queue[int]:
    """The codes with which the process would have ended."""
    return Queue()


@pytest.fixture
def ended(exits: Queue[int]) -> Iterator[StopSignal]:
    """All signals end it, also where who starts the tests ignores one, as `nohup` does."""
    before = {number: signal.getsignal(number) for number in interrupts.NUMBERS}
    for number in interrupts.NUMBERS:
        signal.signal(number, signal.SIG_DFL)
    yield StopSignal(exit_after_s=0.1, exit_process=exits.put)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.timeout(20)
def test_it_ends_a_wait_that_is_about_to_begin(ended: StopSignal) -> None:
    with ended.event._cond:  # as `wait` does before it waits, and after it
        signal.raise_signal(signal.SIGTERM)
    assert ended.event.wait(10)
    assert ended.signal == signal.SIGTERM


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 130)]
)
def test_it_ends_a_process_that_hangs(
    ended: StopSignal, exits: Queue[int], number: signal.Signals, code: int
) -> None:
    signal.raise_signal(number)
    assert exits.get(timeout=10) == code
    assert ended.code == code
