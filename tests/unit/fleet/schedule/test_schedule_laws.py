"""Laws of schedules: the budget holds at every moment, nothing is lost, bounds are bounds."""

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws import examples
from poolkeeper.fleet.schedule import calendar, schedule
from poolkeeper.fleet.schedule.budget import Budget, ClusterWork, RatedWindow, ScheduledStage
from poolkeeper.model.specs import Window
from poolkeeper.planning.run_state.gates import windows
from unit.fleet.moments import BEGIN


def gain_waited(stages: list[ScheduledStage]) -> float:
    """The sum of gain times the bytes until it came."""
    ends = itertools.accumulate(stage.bytes for stage in stages)
    return sum(stage.gain * end for stage, end in zip(stages, ends, strict=True))


def interleavings(chains: list[list[ScheduledStage]]) -> list[list[ScheduledStage]]:
    """All orders in which stages of a chain keep theirs."""
    if not any(chains):
        return [[]]
    return [
        [chain[0], *rest]
        for place, chain in enumerate(chains)
        if chain
        for rest in interleavings([*chains[:place], chain[1:], *chains[place + 1 :]])
    ]


GAINFUL = st.builds(ScheduledStage, st.integers(1, 9), st.just(0), st.just(4), st.integers(0, 20))


CHAINS = (st.lists(st.lists(GAINFUL, min_size=1, max_size=3), min_size=1, max_size=3),)


@examples(15)
@given(*CHAINS)
def test_no_order_brings_gain_with_fewer_bytes(chains):
    works = [ClusterWork(str(n), tuple(chain)) for n, chain in enumerate(chains)]
    one_at_a_time = Budget(1000, clusters_max=1, least_bytes_per_s=1)
    found = schedule.schedule(works, one_at_a_time, BEGIN)
    taken = [chains[int(piece.cluster)][piece.stage] for piece in found.slices]
    assert gain_waited(taken) == min(map(gain_waited, interleavings(chains)))


WINDOWS = st.builds(
    Window,
    st.sampled_from(["0 22 * * *", "30 1 * * 6", "0 */6 * * *", "15 2 * * *", "*/10 * * * *"]),
    st.sampled_from([300, 3600, 5 * 3600, 30 * 3600]),
    st.sampled_from(
        ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Antarctica/Troll"]
    ),
)
STAGES = st.builds(
    ScheduledStage,
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
        ClusterWork(
            name,
            tuple(draw(st.lists(STAGES, max_size=5))),
            draw(st.sampled_from(["x", "y", "z", ""])),
            tuple(draw(st.lists(WINDOWS, max_size=1))),
        )
        for name in names
    ]


@examples(15)
@given(fleets(), BUDGETS)
def test_no_budget_is_exceeded_at_any_moment(works, budget):
    found = schedule.schedule(works, budget, BEGIN)
    site_of = {work.cluster: work.site for work in works}
    fleet = calendar.fleet_of(budget, BEGIN)
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


@examples(15)
@given(fleets(), BUDGETS)
def test_all_work_is_done_in_its_order_or_left_out(works, budget):
    found = schedule.schedule(works, budget, BEGIN)
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


@pytest.mark.slow
@examples(15)
@given(fleets(), BUDGETS)
def test_every_stage_lies_in_one_window(works, budget):
    found = schedule.schedule(works, budget, BEGIN)
    for work in works:
        mine = [p for p in found.slices if p.cluster == work.cluster]
        own = calendar.openings(work.windows, BEGIN, budget.horizon_s)
        fleet_windows = tuple(each.window for each in budget.windows)
        of_fleet = calendar.openings(fleet_windows, BEGIN, budget.horizon_s)
        for _, group in itertools.groupby(sorted(mine), key=lambda p: p.stage):
            pieces = list(group)
            for spans in (own, of_fleet):
                assert any(
                    span.begin_ms <= pieces[0].begin_ms and pieces[-1].end_ms <= span.end_ms
                    for span in spans
                )


@examples(15)
@given(fleets(), BUDGETS)
def test_turns_and_lanes_tell_the_same_as_slices(works, budget):
    found = schedule.schedule(works, budget, BEGIN)
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


@examples(10)
@given(fleets(), BUDGETS, st.randoms(use_true_random=False))
def test_the_order_of_clusters_does_not_matter(works, budget, dice):
    shuffled = dice.sample(works, len(works))
    assert schedule.schedule(shuffled, budget, BEGIN) == schedule.schedule(works, budget, BEGIN)


@examples(15)
@given(fleets(), BUDGETS)
def test_no_schedule_beats_its_bound(works, budget):
    found = schedule.schedule(works, budget, BEGIN)
    assert found.bound.ms <= found.makespan_ms
    assert found.ratio >= 1


@examples(15)
@given(fleets(), BUDGETS)
def test_nothing_waits_that_could_begin(works, budget):
    """With nobody running, the first stage that is left fits nowhere later than its begin."""
    found = schedule.schedule(works, replace(budget, windows=()), BEGIN)
    for left in found.left_out:
        work = next(work for work in works if work.cluster == left.cluster)
        if not work.windows:
            assert left.reason.endswith(("is zero", "no cluster move"))


TINY_STAGES = st.builds(ScheduledStage, st.integers(1, 3).map(lambda n: n * 1000), st.just(0))


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


TINY = (
    st.lists(st.lists(TINY_STAGES, min_size=1, max_size=2), min_size=1, max_size=3),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 3),
)


@examples(10)
@given(*TINY)
def test_the_bound_is_not_above_the_best_of_all_schedules(chains, rate, site, at_once):
    works = [ClusterWork(str(n), tuple(chain), str(n)) for n, chain in enumerate(chains)]
    sites = {work.site: site * 1000 for work in works}
    budget = Budget(rate * 1000, sites, clusters_max=at_once)
    found = schedule.schedule(works, budget, BEGIN)
    sizes = [[stage.bytes // 1000 for stage in chain] for chain in chains]
    best = shortest_s(sizes, [min(site, rate)] * len(chains), rate, at_once)
    assert found.bound.ms <= best * 1000
    assert found.bound.ms <= found.makespan_ms


CHANGES = (
    datetime(2026, 3, 8),
    datetime(2026, 3, 29),
    datetime(2026, 10, 25),
    datetime(2026, 11, 1),
)
"""Days on which clocks change in Europe, at Troll station or in New York."""
DAYS = (
    WINDOWS,
    st.datetimes(datetime(2026, 3, 20), datetime(2026, 11, 10))
    | st.builds(
        datetime.__sub__, st.sampled_from(CHANGES), st.timedeltas(timedelta(0), timedelta(days=2))
    ),
)


@pytest.mark.slow
@examples(20)
@given(*DAYS)
def test_calendars_are_those_of_stages(window, begin):
    """What is open here is open there, also on days on which clocks change."""
    begin = begin.replace(second=0, microsecond=0, tzinfo=UTC)
    found = calendar.openings((window,), begin, 3 * 86_400)
    for minutes in range(0, 3 * 1440, 25):
        at = minutes * 60_000
        here = any(span.begin_ms <= at < span.end_ms for span in found)
        there = windows.is_open((window,), begin + timedelta(minutes=minutes))
        assert here == there
