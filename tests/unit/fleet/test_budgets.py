"""Waves across clusters: the budget holds at every moment, nothing is lost, bounds are bounds."""

import itertools
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poolkeeper.errors import Refused
from poolkeeper.fleet import budgets, budgets_calendars, budgets_orders, budgets_works
from poolkeeper.fleet.budgets_calendars import Opening
from poolkeeper.fleet.budgets_values import (
    UNBOUNDED,
    Bound,
    Budget,
    LeftOut,
    RatedWindow,
    Schedule,
    Slice,
    Stage,
    Turn,
    Work,
)
from poolkeeper.model.plans import Move, Plan, PlannedStage
from poolkeeper.model.specs import Execution, Throttle, ThrottleMode, Window
from poolkeeper.planning import windows
from poolkeeper.report.values import Holding

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = 3_600_000
NIGHT = Window("0 22 * * *", 8 * 3600, "UTC")
HEAL, DRAIN, BALANCE = 0, 1, 4


def hour_of(rate: int, **more: float) -> Stage:
    """A stage that takes an hour at that rate."""
    return Stage(rate * 3600, **more)


SMALL = Budget(bytes_per_s=100, least_bytes_per_s=1)

CASES = [
    pytest.param(
        [],
        SMALL,
        Schedule(BEGIN),
        id="no work, no time",
    ),
    pytest.param(
        [Work("a", (hour_of(100), hour_of(100)))],
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
            Work("a", (hour_of(100, gain=1),)),
            Work("b", (hour_of(100, gain=9),)),
            Work("c", (hour_of(100, urgency=HEAL),)),
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
            Work("a", (hour_of(60, least_ms=HOUR, gain=9),)),
            Work("b", (hour_of(80, least_ms=HOUR, gain=1),)),
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
            Work("a", (hour_of(50),), "x"),
            Work("b", (hour_of(50),), "x"),
            Work("c", (hour_of(50),), "y"),
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
        [Work("a", (hour_of(10, least_ms=HOUR),)), Work("b", (hour_of(10, least_ms=HOUR),))],
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
        [Work("a", (Stage(6 * 360_000), Stage(6 * 360_000)))],
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
        [Work("a", (hour_of(100), Stage(9 * 360_000), hour_of(100))), Work("b", (hour_of(100),))],
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
                    "stage 2 needs 9 h, and has 8 h at most:"
                    " longer windows, more rate or smaller stages are needed",
                ),
            ),
            Bound(12 * HOUR, "the fleet's rate"),
        ),
        id="a stage that fits no window stops its cluster and no other",
    ),
]


@pytest.mark.parametrize(("works", "budget", "expected"), CASES)
def test_a_schedule(works, budget, expected):
    assert budgets.schedule(works, budget, BEGIN) == expected


WORK = Work("a", (hour_of(100),), "x", (Window("0 0 29 2 *", 3600, "UTC"),))

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
        replace(WORK, stages=(Stage(360_000, urgency=HEAL),) * 9, windows=(NIGHT,)),
        replace(SMALL, horizon_s=86_400),
        "its turn does not come within 1 d",
        id="more work than time",
    ),
]


@pytest.mark.parametrize(("work", "budget", "reason"), REASONS)
def test_what_is_left_out_says_why(work, budget, reason):
    found = budgets.schedule([work], budget, BEGIN)
    assert [left.reason for left in found.left_out] == [reason]
    placed = sum(turn.stages for turn in found.turns)
    assert placed + sum(left.stages for left in found.left_out) == len(work.stages)


def test_a_cluster_that_is_named_twice_is_refused():
    with pytest.raises(Refused, match="cluster a has two works"):
        budgets.schedule([WORK, WORK], SMALL, BEGIN)


def test_little_gain_goes_first_where_much_gain_waits_behind_it():
    stages = [Stage(10, gain=1), Stage(10, gain=9), Stage(10, gain=2)]
    assert budgets_orders.ranks(stages) == [(4, -0.5), (4, -0.5), (4, -0.2)]


def test_a_stage_is_as_urgent_as_what_waits_behind_it():
    stages = [Stage(10), Stage(10, urgency=HEAL), Stage(10)]
    assert [rank.urgency for rank in budgets_orders.ranks(stages)] == [0, 0, 4]


def gain_waited(stages: list[Stage]) -> float:
    """The sum of gain times the bytes until it came."""
    ends = itertools.accumulate(stage.bytes for stage in stages)
    return sum(stage.gain * end for stage, end in zip(stages, ends, strict=True))


def interleavings(chains: list[list[Stage]]) -> list[list[Stage]]:
    """All orders in which stages of a chain keep theirs."""
    if not any(chains):
        return [[]]
    return [
        [chain[0], *rest]
        for place, chain in enumerate(chains)
        if chain
        for rest in interleavings([*chains[:place], chain[1:], *chains[place + 1 :]])
    ]


GAINFUL = st.builds(Stage, st.integers(1, 9), st.just(0), st.just(4), st.integers(0, 20))


@settings(max_examples=40)
@given(st.lists(st.lists(GAINFUL, min_size=1, max_size=3), min_size=1, max_size=3))
def test_no_order_brings_gain_with_fewer_bytes(chains):
    works = [Work(str(n), tuple(chain)) for n, chain in enumerate(chains)]
    one_at_a_time = Budget(1000, clusters_max=1, least_bytes_per_s=1)
    found = budgets.schedule(works, one_at_a_time, BEGIN)
    taken = [chains[int(piece.cluster)][piece.stage] for piece in found.slices]
    assert gain_waited(taken) == min(map(gain_waited, interleavings(chains)))


def test_budgets_do_not_need_spark():
    loaded = "import sys, poolkeeper.fleet.budgets, poolkeeper.fleet.budgets_works; "
    told = "print(sorted({'pyspark', 'pyarrow'} & sys.modules.keys()))"
    run = subprocess.run(
        [sys.executable, "-c", loaded + told], capture_output=True, text=True, timeout=60
    )
    assert run.stdout.strip() == "[]", run.stderr


WINDOWS = st.builds(
    Window,
    st.sampled_from(["0 22 * * *", "30 1 * * 6", "0 */6 * * *", "15 2 * * *", "*/10 * * * *"]),
    st.sampled_from([300, 3600, 5 * 3600, 30 * 3600]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"]),
)
STAGES = st.builds(
    Stage,
    st.integers(0, 5_000_000),
    st.integers(0, 20) | st.integers(0, 20_000_000),
    st.integers(0, 4),
    st.floats(-10, 100),
)
BUDGETS = st.builds(
    Budget,
    st.none() | st.integers(0, 500),
    st.dictionaries(st.sampled_from("xyz"), st.integers(0, 300)),
    st.lists(st.builds(RatedWindow, WINDOWS, st.none() | st.integers(0, 300)), max_size=2).map(
        tuple
    ),
    st.none() | st.integers(0, 3),
    st.integers(0, 50),
    st.sampled_from([86_400, 9 * 86_400]),
)


@st.composite
def fleets(draw):
    names = draw(st.lists(st.sampled_from("abcdef"), unique=True, max_size=5))
    return [
        Work(
            name,
            tuple(draw(st.lists(STAGES, max_size=5))),
            draw(st.sampled_from(["x", "y", "z", ""])),
            tuple(draw(st.lists(WINDOWS, max_size=1))),
        )
        for name in names
    ]


@settings(max_examples=40)
@given(fleets(), BUDGETS)
def test_no_budget_is_exceeded_at_any_moment(works, budget):
    found = budgets.schedule(works, budget, BEGIN)
    site_of = {work.cluster: work.site for work in works}
    fleet = budgets_calendars.fleet_of(budget, BEGIN)
    for moment in {piece.begin_ms for piece in found.slices}:
        at = [piece for piece in found.slices if piece.begin_ms <= moment < piece.end_ms]
        if not at:
            continue
        assert sum(piece.bytes_per_s for piece in at) <= fleet.at(moment).bytes_per_s
        for site, rate in budget.sites.items():
            used = sum(piece.bytes_per_s for piece in at if site_of[piece.cluster] == site)
            assert used <= rate
        clusters = [piece.cluster for piece in at]
        assert len(clusters) == len(set(clusters))
        assert budget.clusters_max is None or len(clusters) <= budget.clusters_max


@settings(max_examples=40)
@given(fleets(), BUDGETS)
def test_all_work_is_done_in_its_order_or_left_out(works, budget):
    found = budgets.schedule(works, budget, BEGIN)
    left = {each.cluster: each for each in found.left_out}
    for work in works:
        mine = sorted(p for p in found.slices if p.cluster == work.cluster)
        done = [place for place, _ in itertools.groupby(mine, key=lambda p: p.stage)]
        first_left = left[work.cluster].first_stage if work.cluster in left else len(work.stages)
        assert done == list(range(first_left))
        for one, other in itertools.pairwise(mine):
            assert one.end_ms <= other.begin_ms
            if one.stage == other.stage:
                assert one.end_ms == other.begin_ms
                assert one.bytes_per_s < other.bytes_per_s
        for place, group in itertools.groupby(mine, key=lambda p: p.stage):
            pieces, stage = list(group), work.stages[place]
            assert pieces[-1].end_ms - pieces[0].begin_ms >= stage.least_ms
            copied = sum((p.end_ms - p.begin_ms) * p.bytes_per_s for p in pieces) / 1000
            assert copied >= stage.bytes - len(pieces)
        if work.cluster in left:
            rest = work.stages[first_left:]
            told = left[work.cluster]
            assert (told.stages, told.bytes) == (len(rest), sum(stage.bytes for stage in rest))
            assert told.reason


@settings(max_examples=40)
@given(fleets(), BUDGETS)
def test_every_stage_lies_in_one_window(works, budget):
    found = budgets.schedule(works, budget, BEGIN)
    for work in works:
        mine = [p for p in found.slices if p.cluster == work.cluster]
        own = budgets_calendars.openings(work.windows, BEGIN, budget.horizon_s)
        fleet_windows = tuple(each.window for each in budget.windows)
        of_fleet = budgets_calendars.openings(fleet_windows, BEGIN, budget.horizon_s)
        for _, group in itertools.groupby(sorted(mine), key=lambda p: p.stage):
            pieces = list(group)
            for spans in (own, of_fleet):
                assert any(
                    span.begin_ms <= pieces[0].begin_ms and pieces[-1].end_ms <= span.end_ms
                    for span in spans
                )


@settings(max_examples=40)
@given(fleets(), BUDGETS)
def test_turns_and_lanes_tell_the_same_as_slices(works, budget):
    found = budgets.schedule(works, budget, BEGIN)
    told = sorted(
        (t.cluster, n) for t in found.turns for n in range(t.first_stage, t.first_stage + t.stages)
    )
    assert told == sorted({(p.cluster, p.stage) for p in found.slices})
    for one, other in itertools.combinations(found.turns, 2):
        overlap = one.begin_ms < other.end_ms and other.begin_ms < one.end_ms
        assert not (overlap and one.lane == other.lane)
        if one.lane == other.lane:
            assert one.wave != other.wave
    if budget.clusters_max is not None:
        assert all(turn.lane < budget.clusters_max for turn in found.turns)


@settings(max_examples=25)
@given(fleets(), BUDGETS, st.randoms(use_true_random=False))
def test_the_order_of_clusters_does_not_matter(works, budget, dice):
    shuffled = dice.sample(works, len(works))
    assert budgets.schedule(shuffled, budget, BEGIN) == budgets.schedule(works, budget, BEGIN)


@settings(max_examples=40)
@given(fleets(), BUDGETS)
def test_no_schedule_beats_its_bound(works, budget):
    found = budgets.schedule(works, budget, BEGIN)
    assert found.bound.ms <= found.makespan_ms
    assert found.ratio >= 1


@settings(max_examples=40)
@given(fleets(), BUDGETS)
def test_nothing_waits_that_could_begin(works, budget):
    """With nobody running, the first stage that is left fits nowhere later than its begin."""
    found = budgets.schedule(works, replace(budget, windows=()), BEGIN)
    for left in found.left_out:
        work = next(work for work in works if work.cluster == left.cluster)
        if not work.windows:
            assert left.reason.endswith(("is zero", "no cluster move"))


TINY_STAGES = st.builds(Stage, st.integers(1, 3).map(lambda n: n * 1000), st.just(0))


def shortest_s(chains: list[list[int]], caps: list[int], rate: int, at_once: int) -> int:
    """The fewest seconds, by trying everything in which a second's rates are whole: breadth first.

    `chains`: kilobytes of the stages; a stage cannot share a second with the next one.
    """
    start = tuple(tuple(chain) for chain in chains)
    reached, seconds = {start}, 0
    while not any(all(not chain for chain in state) for state in reached):
        reached = {
            tuple(after)
            for state in reached
            for rates in itertools.product(*(range(cap + 1) for cap in caps))
            if sum(rates) <= rate and sum(map(bool, rates)) <= at_once
            for after in [
                [
                    ((chain[0] - r,) if chain[0] > r else ()) + chain[1:] if chain else ()
                    for chain, r in zip(state, rates, strict=True)
                ]
            ]
        }
        seconds += 1
    return seconds


@settings(max_examples=25)
@given(
    st.lists(st.lists(TINY_STAGES, min_size=1, max_size=2), min_size=1, max_size=3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_the_bound_is_not_above_the_best_of_all_schedules(chains, rate, site, at_once):
    works = [Work(str(n), tuple(chain), str(n)) for n, chain in enumerate(chains)]
    sites = {work.site: site * 1000 for work in works}
    budget = Budget(rate * 1000, sites, clusters_max=at_once)
    found = budgets.schedule(works, budget, BEGIN)
    sizes = [[stage.bytes // 1000 for stage in chain] for chain in chains]
    best = shortest_s(sizes, [min(site, rate)] * len(chains), rate, at_once)
    assert found.bound.ms <= best * 1000
    assert found.bound.ms <= found.makespan_ms


@settings(max_examples=25)
@given(WINDOWS, st.datetimes(datetime(2026, 3, 20), datetime(2026, 11, 10)))
def test_calendars_are_those_of_stages(window, begin):
    """What is open here is open there; around a change of the clocks there may be a little more."""
    begin = begin.replace(second=0, microsecond=0, tzinfo=UTC)
    found = budgets_calendars.openings((window,), begin, 3 * 86_400)
    zone = ZoneInfo(window.time_zone)
    days = (begin + timedelta(days=n) for n in range(-3, 5))
    changes = len({day.astimezone(zone).utcoffset() for day in days}) > 1
    for minutes in range(0, 3 * 1440, 25):
        at = minutes * 60_000
        here = any(span.begin_ms <= at < span.end_ms for span in found)
        there = windows.is_open((window,), begin + timedelta(minutes=minutes))
        assert here == there or (changes and there)


def test_openings_are_merged():
    spans = [Opening(5, 9), Opening(0, 3), Opening(3, 4), Opening(6, 7), Opening(1, 1)]
    assert budgets_calendars.merged(spans) == (Opening(0, 4), Opening(5, 9))


def test_no_windows_are_always_open():
    assert budgets_calendars.openings((), BEGIN, 1) == ((0, UNBOUNDED),)


def holding(broker: int, weight: float, before: int, after: int) -> Holding:
    return Holding("p", broker, None, True, weight, before, after, 0, 0, 0, 0)


MOVES = (
    Move("t", None, 0, ((1, 2), (3, 2)), 500, "broker 1 is drained", DRAIN),
    Move("t", None, 1, ((1, 2), (3, 2)), 500, "broker 1 is drained", DRAIN),
    Move("u", None, 0, ((2,), (2, 3), (2, 3, 4)), 600, "replication factor 1 → 3", 3),
    Move("v", None, 0, ((2, 3), (3, 2)), 0, "balance of leaders", BALANCE),
)
BROKERS = (holding(1, 0, 2, 0), holding(2, 1, 6, 6), holding(3, 1, 2, 5), holding(4, 1, 0, 1))


def test_moves_are_cut_into_stages_of_one_urgency():
    plan = Plan("main", "sha256:h", "sha256:f", moves=MOVES)
    cut = budgets_works.Cut(moves_max=10, bytes_per_s_per_broker=100)
    assert budgets_works.work_of(plan, BROKERS, "x", (NIGHT,), cut) == Work(
        "main",
        (
            Stage(1000, 10_000, DRAIN, 4.0),
            Stage(300, 3_000, 3, -1.0),
            Stage(300, 3_000, 3, 1.0),
            Stage(0, 0, BALANCE, 0.0),
        ),
        "x",
        (NIGHT,),
    )


def test_stages_that_a_plan_predicts_are_taken():
    stages = (PlannedStage(((0, 1), (2, 1)), 800, 2.5), PlannedStage(((1, 1), (2, 2)), 800, 4.0))
    plan = Plan("main", "sha256:h", "sha256:f", moves=MOVES[:3], stages=stages)
    assert [stage[:3] for stage in budgets_works.work_of(plan, BROKERS).stages] == [
        (800, 2500, DRAIN),
        (800, 4000, DRAIN),
    ]


def test_a_cluster_s_own_bounds_make_the_cut():
    unthrottled = Throttle(ThrottleMode.NONE, 7)
    assert budgets_works.cut_of(Execution(max_moves=3, max_bytes=5)) == budgets_works.Cut(5, 3)
    assert budgets_works.cut_of(Execution(throttle=unthrottled)) == budgets_works.DEFAULT_CUT


@settings(max_examples=20)
@given(st.integers(1, 5), st.integers(0, 1500))
def test_no_byte_is_lost_in_cutting(moves_max, bytes_max):
    plan = Plan("main", "sha256:h", "sha256:f", moves=MOVES)
    work = budgets_works.work_of(plan, BROKERS, cut=budgets_works.Cut(bytes_max, moves_max))
    assert sum(stage.bytes for stage in work.stages) == sum(move.bytes for move in MOVES)
