"""The rate and the time left of a run: measured, and not made up where nothing moves."""

from dataclasses import replace

import pytest

from poolkeeper.controller.loops.transfer_rate import STILL_S, TransferRate
from poolkeeper.model.execution.outcomes import Outcome, Progress, State
from poolkeeper.model.execution.runs import Phase

MOVING = Progress("sha256:p", Phase.MOVING, 1, 0, 2, 4, 0, 1000)


def seen(*samples: tuple[float, int], in_flight: int = 2) -> Progress:
    """Return the last progress after these samples of (seconds, bytes)."""
    rate, last = TransferRate(), MOVING
    for now_s, done in samples:
        progress = replace(MOVING, bytes_done=done, moves_in_flight=in_flight)
        found = rate.with_rate(Outcome(State.WAITING, progress=progress), now_s).progress
        assert found is not None
        last = found
    return last


@pytest.mark.parametrize(
    ("samples", "rate", "left_s", "still_s"),
    [
        pytest.param([(0, 0)], None, None, None, id="nothing-known-yet"),
        pytest.param([(0, 0), (10, 100)], 10, 90, None, id="bytes-come"),
        pytest.param([(0, 0), (10, 100), (20, 100)], 5, 180, None, id="a-pause-slows-it-down"),
        pytest.param(
            [(0, 0), (10, 100), (10 + STILL_S, 100)], None, None, STILL_S, id="nothing-moves"
        ),
        pytest.param([(0, 0), (STILL_S, 0)], None, None, STILL_S, id="nothing-ever-moved"),
        pytest.param(
            [(0, 0), (60, 300), (120, 600), (190, 600)],
            600 / 190,
            400 / (600 / 190),
            None,
            id="large-replicas-come-in-long-steps",
        ),
        pytest.param(
            [(0, 0), (60, 300), (120, 600), (300, 600)], None, None, 180, id="longer-than-ever"
        ),
        pytest.param([(0, 0), (10, 1000)], None, None, None, id="all-has-arrived"),
    ],
)
def test_a_rate(samples, rate, left_s, still_s):
    found = seen(*samples)
    measured = (found.rate_bytes_per_s, found.seconds_left, found.still_s)
    assert measured == pytest.approx((rate, left_s, still_s))


@pytest.mark.parametrize(("given_up", "left_s"), [(400, 50), (900, None)])
def test_what_was_given_up_takes_no_time(given_up, left_s):
    rate = TransferRate()
    begun = replace(MOVING, bytes_given_up=given_up)
    rate.measure(begun, 0)
    found = rate.measure(replace(begun, bytes_done=100), 10)
    assert found is not None
    assert found.seconds_left == left_s


def test_empty_replicas_that_arrive_are_no_standstill():
    rate = TransferRate()
    for now_s in range(0, 120, 10):
        done = replace(MOVING, moves_done=now_s // 10, moves_total=20)
        found = rate.measure(done, now_s)
        assert found is not None
        assert found.still_s is None
    found = rate.measure(done, 110 + STILL_S)
    assert found is not None
    assert found.still_s == STILL_S


def test_between_stages_nothing_is_expected_to_move():
    assert seen((0, 0), (100, 0), in_flight=0).still_s is None


STEADY = [(second, second * 10) for second in range(0, 60, 5)]


def test_an_outage_is_no_part_of_the_rate():
    back = [(660, 560), (665, 610)]
    assert seen(*STEADY, *back[:1]).seconds_left is None
    assert seen(*STEADY, *back).seconds_left == pytest.approx(390 / 10)


def test_a_broker_that_came_back_is_judged_by_what_it_copies_now():
    away = [(second, 550) for second in range(60, 660, 5)]
    back = [(660, 560), (665, 610)]
    assert seen(*STEADY, *away, *back[:1]).seconds_left is None
    assert seen(*STEADY, *away, *back).seconds_left == pytest.approx(390 / 10)


@pytest.mark.parametrize("before", [STEADY, STEADY[:1]], ids=["in-mid-run", "before-the-first"])
def test_a_closed_window_is_no_part_of_the_rate(before):
    rate = TransferRate()
    done = before[-1][1]
    for now_s, each in before:
        rate.measure(replace(MOVING, bytes_done=each), now_s)
    for now_s in range(60, 660, 5):
        rate.measure(replace(MOVING, bytes_done=done, moves_in_flight=0), now_s)
    requested = rate.measure(replace(MOVING, bytes_done=done), 660)
    assert requested is not None
    assert (requested.seconds_left, requested.still_s) == (None, None)
    rate.measure(replace(MOVING, bytes_done=done + 50), 665)
    found = rate.measure(replace(MOVING, bytes_done=done + 100), 670)
    assert found is not None
    assert found.rate_bytes_per_s is not None
    assert 6 < found.rate_bytes_per_s <= 10


def test_replicas_that_come_in_steps_longer_than_ever_are_measured_from_then_on():
    stages = [(0, 0), (5, 50), (200, 300), (400, 500)]
    assert seen(*stages).rate_bytes_per_s == pytest.approx(1)
