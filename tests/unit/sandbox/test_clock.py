"""Clocks: order, deadlines, calling off; the real one on its own thread."""

import pytest

from poolkeeper.sandbox.clock import EPOCH_MS, RealClock, VirtualClock


def test_actions_run_at_their_time_and_those_of_one_moment_in_order() -> None:
    clock = VirtualClock()
    ran: list[tuple[str, int]] = []

    def action(name: str) -> None:
        ran.append((name, clock.now_ms() - EPOCH_MS))

    clock.after(20, lambda: action("late"))
    clock.after(10, lambda: action("first"))
    clock.after(10, lambda: action("second"))
    clock.after(10, lambda: clock.after(5, lambda: action("nested")))
    clock.after(11, lambda: action("never")).cancel()
    clock.advance(15)
    assert ran == [("first", 10), ("second", 10), ("nested", 15)]
    assert clock.now_ms() == EPOCH_MS + 15
    clock.advance(100)
    assert ran[3:] == [("late", 20)]
    assert clock.now_ms() == EPOCH_MS + 115


def test_waiting_ends_with_the_condition_or_the_deadline() -> None:
    clock = VirtualClock()
    done: list[int] = []
    clock.after(50, lambda: done.append(1))
    assert clock.run_until(lambda: True, 10)
    assert clock.now_ms() == EPOCH_MS
    assert not clock.run_until(lambda: done, 20)
    assert clock.now_ms() == EPOCH_MS + 20
    assert clock.run_until(lambda: done, 1000)
    assert clock.now_ms() == EPOCH_MS + 50


def test_an_action_cannot_let_time_pass() -> None:
    clock = VirtualClock()
    clock.after(1, lambda: clock.advance(1))
    clock.after(1, lambda: None)
    with pytest.raises(AssertionError, match="overtake"):
        clock.advance(5)


def test_a_real_clock_may_be_faster_than_time() -> None:
    clock = RealClock(speed=1000)
    clock.start()
    ran: list[int] = []
    began_ms = clock.now_ms()
    clock.after(20_000, lambda: ran.append(clock.now_ms() - began_ms))
    clock.after(10_000, lambda: ran.append(0)).cancel()
    assert clock.run_until(lambda: ran, 10_000)
    clock.stop()
    assert ran[0] >= 20_000
    assert len(ran) == 1


def test_what_an_action_raises_ends_a_real_clock_and_is_told() -> None:
    clock = RealClock()
    clock.start()
    clock.after(0, lambda: [][0])
    with pytest.raises(IndexError):
        clock.run_until(lambda: False, 10_000)
    with pytest.raises(IndexError):
        clock.stop()


@pytest.mark.parametrize("delay_ms", [1e18, float("inf")], ids=["an age", "never"])
def test_what_is_due_in_an_age_ends_no_real_clock(delay_ms: float) -> None:
    """Replicas of 10 GB at a rate of 1 byte/s, as it is while moves are cancelled before 2.4."""
    clock = RealClock()
    clock.start()
    clock.after(delay_ms, lambda: None)
    assert clock.call(lambda: True, 10_000)
    assert clock.call(lambda: True, 10_000)
    clock.stop()
