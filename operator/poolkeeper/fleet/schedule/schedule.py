"""Waves over many clusters under one budget: who moves when, and how near that is to the best.

    works      stages of every cluster, in their order         (`work` makes them of plans)
    order      urgency, then gain per byte                     (`order`)
    calendar   windows and rates as intervals                  (`calendar`)
    events     one after the other, who begins                 (`scheduler`)
    bound      no schedule ends before                         (`time_bound`)

Pure; the result does not depend on the order of the clusters. Each stage that finds no time is
reported with its reason. Cost: of S stages and C clusters about S × log C.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from heapq import heappop, heappush
from itertools import pairwise

from poolkeeper.errors import Refused
from poolkeeper.fleet.schedule import time_bound
from poolkeeper.fleet.schedule.budget import (
    LATEST_S,
    UNBOUNDED,
    Budget,
    ClusterWork,
    LeftOut,
    Schedule,
    ScheduledStage,
    Turn,
)
from poolkeeper.fleet.schedule.calendar import Fleet, Opening, fleet_of, openings
from poolkeeper.fleet.schedule.scheduler import Scheduler
from poolkeeper.text import fine_duration


def schedule(works: Iterable[ClusterWork], budget: Budget, begin: datetime) -> Schedule:
    """When every stage runs, from `begin` (aware) on; `Refused` if a cluster is named twice."""
    listed = sorted(works, key=lambda work: work.cluster)
    for one, other in pairwise(listed):
        if one.cluster == other.cluster:
            raise Refused(f"cluster {one.cluster} is scheduled twice (expected once)")
    fleet = fleet_of(budget, begin)
    of_windows = {
        windows: openings(windows, begin, budget.horizon_s)
        for windows in dict.fromkeys(work.windows for work in listed)
    }
    place = {windows: number for number, windows in enumerate(of_windows)}
    calendars = list(of_windows.values())
    calendar_of = [place[work.windows] for work in listed]
    scheduler = Scheduler(listed, budget, fleet, calendars, calendar_of)
    scheduler.run()
    done = {work.cluster: count for work, count in zip(listed, scheduler.done, strict=True)}
    opened = {work.cluster: of_windows[work.windows] for work in listed}
    return Schedule(
        begin,
        _in_lanes(scheduler.turns),
        tuple(sorted(scheduler.slices, key=lambda each: (each.end_ms, each.cluster, each.stage))),
        tuple(
            _left_out(work, done[work.cluster], budget, fleet, opened[work.cluster])
            for work in listed
            if done[work.cluster] < len(work.stages)
        ),
        time_bound.bound(listed, done, budget, fleet, opened),
    )


def _in_lanes(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Turns by begin, each in the lowest lane that is free then."""
    lanes: list[int] = []
    taken: list[tuple[int, int]] = []
    waves: list[int] = []
    placed = []
    for turn in sorted(turns, key=lambda each: (each.begin_ms, each.cluster, each.first_stage)):
        while taken and taken[0][0] <= turn.begin_ms:
            heappush(lanes, heappop(taken)[1])
        if not lanes:
            lanes.append(len(waves))
            waves.append(0)
        lane = heappop(lanes)
        waves[lane] += 1
        heappush(taken, (turn.end_ms, lane))
        placed.append(turn._replace(lane=lane, wave=waves[lane]))
    return tuple(placed)


def _left_out(
    work: ClusterWork, done: int, budget: Budget, fleet: Fleet, opened: Sequence[Opening]
) -> LeftOut:
    left = work.stages[done:]
    reason = _reason(work, done, budget, fleet, opened)
    return LeftOut(work.cluster, done, len(left), sum(stage.bytes for stage in left), reason)


def _reason(
    work: ClusterWork, done: int, budget: Budget, fleet: Fleet, opened: Sequence[Opening]
) -> str:
    """Why the first stage that is left had no time."""
    has_windows = bool(budget.windows or work.windows)
    days = fine_duration(budget.horizon_s if has_windows else LATEST_S)
    site_rate = budget.sites.get(work.site, UNBOUNDED)
    if budget.clusters_max is not None and budget.clusters_max <= 0:
        return "the budget lets no cluster move"
    if _is_zero(budget):
        return "the fleet's rate is zero"
    if site_rate <= 0:
        return f"the rate of site {work.site} is zero"
    spells = list(fleet.spells(opened))
    if not spells:
        return f"no window in which it may move opens within {days}"
    stage = work.stages[done]
    needs = {spell: _needs_ms(stage, min(site_rate, spell.bytes_per_s)) for spell in spells}
    if any(ms <= spell.deadline_ms - spell.begin_ms for spell, ms in needs.items()):
        return f"the budget has no time for it within {days}"
    spell, ms = min(
        needs.items(), key=lambda item: item[1] - (item[0].deadline_ms - item[0].begin_ms)
    )
    span = fine_duration((spell.deadline_ms - spell.begin_ms) / 1000)
    longer = "lengthen the windows, " if has_windows else ""
    return (
        f"stage {done + 1} needs {fine_duration(ms / 1000)}, and has {span} at most: {longer}"
        "raise the rate or lower spec.execution.maxBytes"
    )


def _needs_ms(stage: ScheduledStage, rate_max: int) -> int:
    rate = min(-(-stage.bytes * 1000 // max(1, stage.least_ms)), rate_max)
    return max(stage.least_ms, -(-stage.bytes * 1000 // rate) if rate else 0)


def _is_zero(budget: Budget) -> bool:
    rates = [each.bytes_per_s for each in budget.windows] or [budget.bytes_per_s]
    return budget.bytes_per_s == 0 or all(rate is not None and rate <= 0 for rate in rates)
