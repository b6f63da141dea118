from dataclasses import replace

import pytest

from poolkeeper.model.plans import Makespan, Plan, PlannedStage
from poolkeeper.planning.run_state.progress.punctuality import (
    LateReason,
    LostTime,
    Punctuality,
    RunPace,
    lost_time,
    punctuality,
)

RATE = 10
PLAN = Plan(
    "main",
    "",
    "",
    stages=(PlannedStage(((0, 1),), 400, 100.0), PlannedStage(((1, 1),), 600, 300.0)),
    makespan=Makespan(400.0, 350.0, RATE),
)


@pytest.mark.parametrize(
    ("elapsed_s", "bytes_done", "late_s"),
    [
        pytest.param(0.0, 0, 0.0, id="at the begin"),
        pytest.param(50.0, 200, 0.0, id="half of the first stage, in time"),
        pytest.param(100.0, 400, 0.0, id="between the stages"),
        pytest.param(250.0, 700, 0.0, id="half of the second stage, in time"),
        pytest.param(200.0, 700, -50.0, id="ahead"),
        pytest.param(470.0, 1000, 70.0, id="at the end, late by less than a fifth"),
        pytest.param(410.0, 1200, 10.0, id="more has arrived than was predicted"),
    ],
)
def test_the_bytes_that_have_arrived_say_how_late_a_run_is(elapsed_s, bytes_done, late_s):
    found = punctuality(PLAN, elapsed_s, bytes_done, now=RunPace(RATE))
    assert found == Punctuality(400.0, elapsed_s, late_s, RATE)


@pytest.mark.parametrize(
    ("elapsed_s", "late_s"),
    [
        pytest.param(50.0, -50.0, id="ahead, whatever is in flight"),
        pytest.param(390.0, 0.0, id="in time, if half of what is in flight is there"),
        pytest.param(500.0, 100.0, id="late, even if all of it is there"),
    ],
)
def test_a_run_is_not_late_for_copies_of_which_nobody_says_how_far_they_are(elapsed_s, late_s):
    found = punctuality(PLAN, elapsed_s, 400, 600, now=RunPace(RATE))
    assert found is not None
    assert (found.late_s, found.reason is not None) == (late_s, late_s > 0)


@pytest.mark.parametrize(
    ("rate", "blocked", "reason"),
    [
        pytest.param(RATE, True, LateReason.HELD_UP, id="blocked"),
        pytest.param(RATE - 1, True, LateReason.HELD_UP, id="blocked under a lower throttle"),
        pytest.param(RATE - 1, False, LateReason.RATE_LOWERED, id="under a lower throttle"),
        pytest.param(RATE, False, LateReason.SLOWER, id="under the assumed throttle"),
        pytest.param(None, False, LateReason.SLOWER, id="without a throttle"),
    ],
)
def test_a_late_run_has_a_reason(rate, blocked, reason):
    found = punctuality(PLAN, 300.0, 400, now=RunPace(rate, blocked))
    assert found == Punctuality(400.0, 300.0, 200.0, RATE, reason)


@pytest.mark.parametrize(
    ("late_s", "is_late"),
    [
        pytest.param(30.0, False, id="half a minute of a short run"),
        pytest.param(30.5, True, id="more of a short run"),
    ],
)
def test_seconds_do_not_make_a_short_run_late(late_s, is_late):
    short = replace(
        PLAN, stages=(PlannedStage((), 100, 10.0),), makespan=Makespan(10.0, 10.0, RATE)
    )
    found = punctuality(short, 10.0 + late_s, 100, now=RunPace(RATE))
    assert found is not None
    assert (found.reason is not None) is is_late


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(replace(PLAN, makespan=None), id="no prediction"),
        pytest.param(replace(PLAN, stages=()), id="no stages"),
        pytest.param(replace(PLAN, makespan=Makespan(0.0, 0.0, RATE)), id="sizes unknown"),
    ],
)
def test_nothing_is_known_of_a_plan_that_predicts_nothing(plan):
    assert punctuality(plan, 300.0, 400, now=RunPace(RATE)) is None


@pytest.mark.parametrize(
    ("lost", "reason"),
    [
        pytest.param(LostTime(idle_ms=150_000), LateReason.STOOD_STILL, id="it stood still before"),
        pytest.param(LostTime(idle_ms=50_000), LateReason.SLOWER, id="for the smaller part"),
        pytest.param(
            LostTime(lowered_ms=120_000, slower_ms=80_000),
            LateReason.RATE_LOWERED,
            id="the throttle was lower before",
        ),
    ],
)
def test_a_run_is_late_for_what_cost_it_the_most(lost, reason):
    found = punctuality(PLAN, 300.0, 400, now=RunPace(RATE), lost=lost)
    assert found is not None
    assert (found.late_s, found.reason) == (200.0, reason)


IDLE, LOW, COPIES = RunPace(RATE, copying=False), RunPace(RATE - 1), RunPace(RATE)


@pytest.mark.parametrize(
    ("lost", "late_s", "since", "after"),
    [
        pytest.param(LostTime(), 5.0, IDLE, LostTime(5000), id="nothing was copied"),
        pytest.param(LostTime(5000), 7.0, LOW, LostTime(5000, 2000), id="under a lower throttle"),
        pytest.param(LostTime(5000), 7.0, COPIES, LostTime(5000, 0, 2000), id="slowly"),
        pytest.param(
            LostTime(5000, 2000, 3000), 6.0, COPIES, LostTime(5000, 1000, 0), id="it made up for it"
        ),
        pytest.param(LostTime(5000, 2000), -9.0, COPIES, LostTime(), id="it is ahead"),
        pytest.param(LostTime(5000), 5.0, IDLE, LostTime(5000), id="no later than before"),
    ],
)
def test_what_a_run_loses_counts_for_what_it_did_meanwhile(lost, late_s, since, after):
    assert lost_time(lost, PLAN, late_s, since) == after
