"""A sandbox is ready when the controller has taken up its brokers, not when they are registered."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from poolkeeper.errors import Unavailable
from poolkeeper.sandbox.servers import readiness

PORTS = {1: 9001, 2: 9002, 3: 9003}


class Knowing:
    """Brokers that know of more of them each time they are asked."""

    def __init__(self, *answers: tuple[int, ...]) -> None:
        self._answers = iter(answers)
        self.last: tuple[int, ...] = ()

    def ids(self) -> tuple[int, ...]:
        self.last = next(self._answers, self.last)
        return self.last


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    now = [0.0]
    monkeypatch.setattr(readiness.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(
        readiness.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds)
    )
    return now


def await_known(monkeypatch: pytest.MonkeyPatch, brokers: Knowing, checks: list[int]) -> None:
    monkeypatch.setattr(readiness.BrokerClient, "open", lambda *_, **__: nullcontext(brokers))
    readiness.await_known(PORTS, 10.0, lambda: checks.append(1))


def test_it_waits_for_the_last_one_and_looks_after_the_processes(monkeypatch, clock) -> None:
    brokers, checks = Knowing((2,), (1, 2), (1, 2, 3, 9)), []
    await_known(monkeypatch, brokers, checks)
    assert (brokers.last, len(checks)) == ((1, 2, 3, 9), 2)


def test_who_is_missing_at_the_deadline_is_said(monkeypatch, clock) -> None:
    with pytest.raises(Unavailable, match=r"has not taken up brokers \[1, 3\]"):
        await_known(monkeypatch, Knowing((2,)), [])
    assert clock[0] >= 10
