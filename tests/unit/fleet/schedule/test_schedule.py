"""Waves across clusters: whole schedules, and why work is left out of them."""

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import pytest

from poolkeeper.errors import Refused
from poolkeeper.fleet.schedule import calendar, order, schedule
from poolkeeper.fleet.schedule.budget import (
    UNBOUNDED,
    Bound,
    Budget,
    ClusterWork,
    LeftOut,
    RatedWindow,
    Schedule,
    ScheduledStage,
    Slice,
    Turn,
)
from poolkeeper.fleet.schedule.calendar import Opening
from poolkeeper.model.specs import Window
from unit.fleet.moments import BEGIN, HEAL, NIGHT

HOUR = 3_600_000


def hour_of(rate: int, **more: float) -> ScheduledStage:
    """A stage that takes an hour at that rate."""
    return ScheduledStage(rate * 3600, **more)


SMALL = Budget(bytes_per_s=100, least_bytes_per_s=1)
CASES = [
    pytest.param(
        [],
        SMALL,
        Schedule(BEGIN),
        id="no work, no time",
    ),
    pytest.param(
        [ClusterWork("a", (hour_of(100), hour_of(100)))],
        SMALL,
        Schedule(
            BEGIN,
            (Turn("a", "", 4, 0, 2, 720_000, 0, 2 * HOUR),),
            (Slice("a", 0, 0, HOUR, 100), Slice("a", 1, HOUR, 2 * HOUR, 100)),
            (),
            Bound(2 * HOUR, "the fleet's rate"),
        ),
        id="one cluster has the whole rate, its stages follow each other",
    ),
    pytest.param(
        [
            ClusterWork("a", (hour_of(100, gain=1),)),
            ClusterWork("b", (hour_of(100, gain=9),)),
            ClusterWork("c", (hour_of(100, urgency=HEAL),)),
        ],
        SMALL,
        Schedule(
            BEGIN,
            (
                Turn("c", "", 0, 0, 1, 360_000, 0, HOUR),
                Turn("b", "", 4, 0, 1, 360_000, HOUR, 2 * HOUR, 0, 2),
                Turn("a", "", 4, 0, 1, 360_000, 2 * HOUR, 3 * HOUR, 0, 3),
            ),
            (
                Slice("c", 0, 0, HOUR, 100),
                Slice("b", 0, HOUR, 2 * HOUR, 100),
                Slice("a", 0, 2 * HOUR, 3 * HOUR, 100),
            ),
            (),
            Bound(3 * HOUR, "the fleet's rate"),
        ),
        id="who heals goes first, then the most gain per byte",
    ),
    pytest.param(
        [
            ClusterWork("a", (hour_of(60, least_ms=HOUR, gain=9),)),
            ClusterWork("b", (hour_of(80, least_ms=HOUR, gain=1),)),
        ],
        SMALL,
        Schedule(
            BEGIN,
            (
                Turn("a", "", 4, 0, 1, 216_000, 0, HOUR),
                Turn("b", "", 4, 0, 1, 288_000, 0, HOUR + HOUR // 2, 1),
            ),
            (
                Slice("a", 0, 0, HOUR, 60),
                Slice("b", 0, 0, HOUR, 40),
                Slice("b", 0, HOUR, HOUR + HOUR // 2, 80),
            ),
            (),
            Bound(5_040_000, "the fleet's rate"),
        ),
        id="what is left over is used, and grows when more is free",
    ),
    pytest.param(
        [
            ClusterWork("a", (hour_of(50),), "x"),
            ClusterWork("b", (hour_of(50),), "x"),
            ClusterWork("c", (hour_of(50),), "y"),
        ],
        replace(SMALL, sites={"x": 50}),
        Schedule(
            BEGIN,
            (
                Turn("a", "x", 4, 0, 1, 180_000, 0, HOUR),
                Turn("c", "y", 4, 0, 1, 180_000, 0, HOUR, 1),
                Turn("b", "x", 4, 0, 1, 180_000, HOUR, 2 * HOUR, 0, 2),
            ),
            (
                Slice("a", 0, 0, HOUR, 50),
                Slice("c", 0, 0, HOUR, 50),
                Slice("b", 0, HOUR, 2 * HOUR, 50),
            ),
            (),
            Bound(2 * HOUR, "the rate of site x"),
        ),
        id="a full site lets another one go ahead",
    ),
    pytest.param(
        [
            ClusterWork("a", (hour_of(10, least_ms=HOUR),)),
            ClusterWork("b", (hour_of(10, least_ms=HOUR),)),
        ],
        replace(SMALL, clusters_max=1),
        Schedule(
            BEGIN,
            (
                Turn("a", "", 4, 0, 1, 36_000, 0, HOUR),
                Turn("b", "", 4, 0, 1, 36_000, HOUR, 2 * HOUR, 0, 2),
            ),
            (Slice("a", 0, 0, HOUR, 10), Slice("b", 0, HOUR, 2 * HOUR, 10)),
            (),
            Bound(2 * HOUR, "1 cluster at once"),
        ),
        id="one cluster at a time",
    ),
    pytest.param(
        [ClusterWork("a", (ScheduledStage(6 * 360_000), ScheduledStage(6 * 360_000)))],
        replace(SMALL, windows=(RatedWindow(NIGHT),)),
        Schedule(
            BEGIN,
            (
                Turn("a", "", 4, 0, 1, 2_160_000, 10 * HOUR, 16 * HOUR),
                Turn("a", "", 4, 1, 1, 2_160_000, 34 * HOUR, 40 * HOUR, 0, 2),
            ),
            (Slice("a", 0, 10 * HOUR, 16 * HOUR, 100), Slice("a", 1, 34 * HOUR, 40 * HOUR, 100)),
            (),
            Bound(38 * HOUR, "the fleet's rate"),
        ),
        id="a stage ends in the window it began in",
    ),
    pytest.param(
        [
            ClusterWork("a", (hour_of(100), ScheduledStage(9 * 360_000), hour_of(100))),
            ClusterWork("b", (hour_of(100),)),
        ],
        replace(SMALL, windows=(RatedWindow(NIGHT),)),
        Schedule(
            BEGIN,
            (
                Turn("a", "", 4, 0, 1, 360_000, 10 * HOUR, 11 * HOUR),
                Turn("b", "", 4, 0, 1, 360_000, 11 * HOUR, 12 * HOUR, 0, 2),
            ),
            (Slice("a", 0, 10 * HOUR, 11 * HOUR, 100), Slice("b", 0, 11 * HOUR, 12 * HOUR, 100)),
            (
                LeftOut(
                    "a",
                    1,
                    2,
                    10 * 360_000,
                    "stage 2 needs 9 h, and has 8 h at most: lengthen the windows, raise the rate"
                    " or lower spec.execution.maxBytes",
                ),
            ),
            Bound(12 * HOUR, "the fleet's rate"),
        ),
        id="a stage that fits no window stops its cluster and no other",
    ),
]


@pytest.mark.parametrize(("works", "budget", "expected"), CASES)
def test_a_schedule(works, budget, expected):
    assert schedule.schedule(works, budget, BEGIN) == expected


WORK = ClusterWork("a", (hour_of(100),), "x", (Window("0 0 29 2 *", 3600, "UTC"),))
REASONS = [
    pytest.param(
        replace(WORK, windows=()), Budget(bytes_per_s=0), "the fleet's rate is zero", id="no rate"
    ),
    pytest.param(
        replace(WORK, windows=()),
        Budget(windows=(RatedWindow(NIGHT, 0),)),
        "the fleet's rate is zero",
        id="no rate in the only window",
    ),
    pytest.param(
        WORK, replace(SMALL, sites={"x": 0}), "the rate of site x is zero", id="no rate at the site"
    ),
    pytest.param(
        WORK, replace(SMALL, clusters_max=0), "the budget lets no cluster move", id="no clusters"
    ),
    pytest.param(
        WORK, SMALL, "no window in which it may move opens within 90 d", id="leap years only"
    ),
    pytest.param(
        replace(WORK, stages=(ScheduledStage(360_000, urgency=HEAL),) * 9, windows=(NIGHT,)),
        replace(SMALL, horizon_s=86_400),
        "the budget has no time for it within 1 d",
        id="more work than time",
    ),
    pytest.param(
        replace(WORK, stages=(hour_of(100 * 24 * 40_000),), windows=()),
        SMALL,
        "stage 1 needs 40000 d, and has 36500 d at most: raise the rate or lower"
        " spec.execution.maxBytes",
        id="more time than a calendar has",
    ),
    pytest.param(
        replace(WORK, stages=(ScheduledStage(0, 20_000 * 24 * HOUR),) * 2, windows=()),
        Budget(),
        "the budget has no time for it within 36500 d",
        id="more stages than a calendar has time for",
    ),
]


@pytest.mark.parametrize(("work", "budget", "reason"), REASONS)
def test_what_is_left_out_says_why(work, budget, reason):
    found = schedule.schedule([work], budget, BEGIN)
    assert [left.reason for left in found.left_out] == [reason]
    assert BEGIN.replace(year=9899) + timedelta(milliseconds=found.makespan_ms)
    placed = sum(turn.stages for turn in found.turns)
    assert placed + sum(left.stages for left in found.left_out) == len(work.stages)


def test_a_cluster_that_is_named_twice_is_refused():
    with pytest.raises(Refused, match="cluster a is scheduled twice"):
        schedule.schedule([WORK, WORK], SMALL, BEGIN)


def test_little_gain_goes_first_where_much_gain_waits_behind_it():
    stages = [ScheduledStage(10, gain=1), ScheduledStage(10, gain=9), ScheduledStage(10, gain=2)]
    assert order.ranks(stages) == [(4, -0.5), (4, -0.5), (4, -0.2)]


def test_a_stage_is_as_urgent_as_what_waits_behind_it():
    stages = [ScheduledStage(10), ScheduledStage(10, urgency=HEAL), ScheduledStage(10)]
    assert [rank.urgency for rank in order.ranks(stages)] == [0, 0, 4]


@pytest.mark.slow
def test_budgets_do_not_need_spark():
    loaded = "import sys, poolkeeper.fleet.schedule.schedule, poolkeeper.fleet.schedule.work; "
    told = "print(sorted({'pyspark', 'pyarrow'} & sys.modules.keys()))"
    run = subprocess.run(
        [sys.executable, "-c", loaded + told], capture_output=True, text=True, timeout=60
    )
    assert run.stdout.strip() == "[]", run.stderr


def test_openings_are_merged():
    spans = [Opening(5, 9), Opening(0, 3), Opening(3, 4), Opening(6, 7), Opening(1, 1)]
    assert calendar.merge_openings(spans) == (Opening(0, 4), Opening(5, 9))


def test_no_windows_are_always_open():
    assert calendar.openings((), BEGIN, 1) == ((0, UNBOUNDED),)
