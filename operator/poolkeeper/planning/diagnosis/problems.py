"""What a layout leaves undone, and the constraints that conflict, with names and numbers."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.problems import Facts
from poolkeeper.model.specs import GoalKind
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.constraints.sources import blocked_problem
from poolkeeper.planning.diagnosis.capacity_report import shortfalls
from poolkeeper.planning.diagnosis.growth_report import growths
from poolkeeper.planning.diagnosis.incoming_load import Arrived, arrived
from poolkeeper.planning.diagnosis.oversized_partitions import misfits
from poolkeeper.planning.facts.conflicts import Member, brokers_lacking, obstacle_of, racks_lacking
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.facts.pools import (
    CannotLeave,
    DemotedLeads,
    GainTooSmall,
    OutsideBand,
    RacksIncomplete,
    RatesUnknown,
    TooFewBrokers,
    TooFewRacks,
    UnevenBrokers,
    UnevenTopics,
    UsableBrokers,
)
from poolkeeper.planning.goals.topic_counts import TopicCounts
from poolkeeper.planning.layout.pool_layout import Layout
from poolkeeper.planning.problem.arrays import Bools, Ints, any_slot, count_slots
from poolkeeper.planning.problem.scope import TopicRole

_NAMED_MAX = 5


def of_all(layouts: Sequence[Layout]) -> Iterator[PlanProblem]:
    """All problems of all pools."""
    for layout in layouts:
        unit = layout.unit
        yield from of(layout, arrived(unit.pool.name, layouts, len(unit.fixed)))


def of(layout: Layout, came: Arrived) -> tuple[PlanProblem, ...]:
    """All problems of one pool: those of the laws in their order, then those of the goals.

    `came`: the load that unmanaged topics brought to its brokers. Brokers that it overfills are
    judged in the layout of the pool's own topics.
    """
    laws = (*_short(layout), *_stuck(layout), *_blocked(layout))
    if layout.unit.role is not TopicRole.PLACED:
        return laws
    capacity = _capacity(layout, came)
    if not layout.unit.placed.any():
        return (*laws, *capacity)
    return (
        *laws,
        *_mixed(layout),
        *_racks(layout),
        *capacity,
        *_demoted(layout),
        *_goals(layout),
    )


def _short(layout: Layout) -> list[PlanProblem]:
    """Topics that lack replicas because the pool has too few usable brokers."""
    unit, opened = layout.unit, layout.opened
    problems = []
    for topic in np.unique(unit.topic[opened.short > 0]):
        rows = np.flatnonzero((unit.topic == topic) & (opened.short > 0))
        asked = int(unit.rf[rows].max())
        facts = TooFewBrokers(len(rows), asked, _usable(layout, asked))
        problems.append(_problem(layout, "distinct", facts, unit.topics[topic]))
    return problems


def _stuck(layout: Layout) -> list[PlanProblem]:
    """Replicas that should leave their broker and cannot, by topic."""
    unit, opened = layout.unit, layout.opened
    problems = []
    inside = np.zeros(len(unit.fixed), dtype=bool)
    inside[unit.brokers.rows(unit.pool.brokers)] = True
    stuck = any_slot(opened.stuck) & ~unit.blocked
    for topic in np.unique(unit.topic[stuck]):
        rows = stuck & (unit.topic == topic)
        brokers = np.unique(opened.lists[rows][opened.stuck[rows]])
        count = int(opened.stuck[rows].sum())
        asked = int(unit.rf[rows].max())
        law = "drained" if inside[brokers].all() else "pool"
        ids = tuple(unit.brokers.ids[b] for b in brokers)
        facts = CannotLeave(count, ids, asked, _usable(layout, asked))
        problems.append(_problem(layout, law, facts, unit.topics[topic]))
    return problems


def _blocked(layout: Layout) -> list[PlanProblem]:
    """Partitions that should change and have no source to copy from."""
    unit = layout.unit
    resized = unit.placed & (unit.rf != count_slots(unit.lists >= 0))
    rows = np.flatnonzero(unit.blocked & (any_slot(unit.leaves) | resized))
    found = zip(unit.topic[rows].tolist(), unit.number[rows].tolist(), strict=True)
    names = [TopicPartition(unit.topics[topic], number) for topic, number in found]
    return [blocked_problem(unit.pool.name, names)] if names else []


def _mixed(layout: Layout) -> list[PlanProblem]:
    """Pools with brokers without a rack beside brokers with one."""
    usable = [member for member in _members(layout) if not member.obstacle]
    racks = sorted({member.rack for member in usable if member.rack})
    without = tuple(member.id for member in usable if not member.rack)
    if not racks or not without:
        return []
    return [_problem(layout, "", RacksIncomplete(without, tuple(racks)))]


def _racks(layout: Layout) -> list[PlanProblem]:
    """Replication factors that need more racks than have usable brokers."""
    unit = layout.unit
    members = _members(layout)
    if len({member.rack for member in members if not member.obstacle}) < 2:
        return []
    factors = np.zeros(len(unit.topics), dtype=np.int64)
    np.maximum.at(factors, unit.topic, unit.rf)
    counts = Counter(factors.tolist())
    problems = []
    for factor, count in sorted(counts.items()):
        witness = racks_lacking(factor, members)
        if witness is not None:
            problems.append(_problem(layout, "racks", TooFewRacks(count, witness)))
    return problems


def _members(layout: Layout) -> list[Member]:
    """The pool's brokers, each with its obstacle, if any."""
    brokers, pool = layout.unit.brokers, layout.unit.pool
    live, gone = (
        {brokers.ids[row] for row in np.flatnonzero(which)}
        for which in (layout.unit.eligible, brokers.gone)
    )
    return [
        Member(
            brokers.ids[row],
            brokers.rack_names[brokers.rack[row]],
            obstacle_of(pool, brokers.ids[row], live, gone),
        )
        for row in brokers.rows(pool.brokers)
    ]


def _usable(layout: Layout, factor: int) -> UsableBrokers:
    """The usable brokers, and why they are too few."""
    brokers = layout.unit.brokers
    ids = tuple(brokers.ids[row] for row in np.flatnonzero(layout.unit.eligible))
    return UsableBrokers(ids, brokers_lacking(factor, _members(layout)))


def _capacity(layout: Layout, came: Arrived) -> list[PlanProblem]:
    members = tuple(_members(layout))
    found: list[tuple[str, Facts]] = [
        *growths(layout, members, came),
        *(("", facts) for facts in shortfalls(layout, members, came)),
        *misfits(layout.wished or layout, came.mib),
    ]
    return [_problem(layout, "capacity", facts, topic) for topic, facts in found]


def _demoted(layout: Layout) -> list[PlanProblem]:
    unit = layout.unit
    leading = unit.placed & unit.eligible[layout.lists[:, 0]] & ~unit.leads[layout.lists[:, 0]]
    count = int(leading.sum())
    return [_problem(layout, "", DemotedLeads(count))] if count else []


def _goals(layout: Layout) -> list[PlanProblem]:
    if not layout.balance:
        return []
    if layout.too_little:
        return [_problem(layout, "", GainTooSmall())]
    unit = layout.unit
    problems: list[PlanProblem] = []
    if any(g.kind is GoalKind.BYTES_IN for g in unit.pool.goals) and not unit.rate.any():
        problems.append(_problem(layout, "", RatesUnknown()))
    for aimed in layout.evened.goals:
        if isinstance(aimed, TopicCounts):
            problems += _uneven_topics(layout, aimed.recounted(unit, layout.lists))
        else:
            held = aimed.measure.held(layout.lists)
            problems += _outside(layout, aimed.measure.kind, aimed.band, held, unit.eligible)
    led = layout.led
    return [*problems, *_outside(layout, GoalKind.LEADERS, led.band, led.held, unit.leads)]


def _uneven_topics(layout: Layout, counts: TopicCounts) -> list[PlanProblem]:
    outside = any_slot((counts.held > counts.high) | (counts.held < counts.low))
    rows = np.flatnonzero(outside)
    names = [layout.unit.topics[row] for row in rows]
    return [_problem(layout, "", UnevenTopics(Names.of(names)))] if names else []


def _outside(
    layout: Layout, goal: GoalKind, band: Band, held: Ints, brokers: Bools
) -> list[PlanProblem]:
    rows = np.flatnonzero((band.outside(held) != 0) & brokers)
    shown = tuple(
        OutsideBand(
            layout.unit.brokers.ids[row], int(held[row]), int(band.low[row]), int(band.high[row])
        )
        for row in rows[:_NAMED_MAX]
    )
    facts = UnevenBrokers(goal, shown, len(rows) - len(shown))
    return [_problem(layout, "", facts)] if shown else []


def _problem(layout: Layout, law: str, facts: Facts, topic: str = "") -> PlanProblem:
    return PlanProblem(layout.unit.pool.name, law, facts, topic)
