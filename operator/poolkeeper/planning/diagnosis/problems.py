"""What a layout leaves undone, and the constraints that conflict, with names and numbers."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from poolkeeper.model.columns.replica_lists import distinct
from poolkeeper.model.plans import PlanProblem
from poolkeeper.model.problems import Facts
from poolkeeper.model.specs import GoalKind, RackPolicy
from poolkeeper.model.topology import TopicPartition
from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.constraints.racks import uneven_rows
from poolkeeper.planning.constraints.sources import no_source_problem
from poolkeeper.planning.diagnosis.capacity_report import shortfalls
from poolkeeper.planning.diagnosis.growth_report import unraised_factors
from poolkeeper.planning.diagnosis.incoming_load import IncomingLoad, incoming_load
from poolkeeper.planning.diagnosis.oversized_partitions import oversized_partitions
from poolkeeper.planning.facts.balance import (
    GainTooSmall,
    OutsideBand,
    RatesUnknown,
    UnevenBrokers,
    UnevenTopics,
)
from poolkeeper.planning.facts.conflicts import Member, brokers_lacking, obstacle_of, racks_lacking
from poolkeeper.planning.facts.phrases import Names
from poolkeeper.planning.facts.pools import (
    CannotLeave,
    DemotedLeads,
    RacksAsFound,
    RacksContradicted,
    RacksIncomplete,
    TooFewBrokers,
    TooFewRacks,
    UsableBrokers,
)
from poolkeeper.planning.goals.topic_counts import TopicCounts
from poolkeeper.planning.layout.pool_layout import Layout
from poolkeeper.planning.problem.arrays import Bools, Ints, any_slot, count_slots
from poolkeeper.planning.problem.pool_membership import TopicRole

_NAMED_MAX = 5


def of_layouts(layouts: Sequence[Layout]) -> Iterator[PlanProblem]:
    """All problems of all pools."""
    for layout in layouts:
        problem = layout.problem
        yield from problems_of_pool(
            layout, incoming_load(problem.pool.name, layouts, len(problem.brokers))
        )


def problems_of_pool(layout: Layout, incoming: IncomingLoad) -> tuple[PlanProblem, ...]:
    """All problems of one pool: those of the laws in their order, then those of the goals.

    `incoming`: the load that unmanaged topics brought to its brokers. Brokers that it overfills are
    judged in the layout of the pool's own topics.
    """
    laws = (*_missing_replicas(layout), *_stuck_replicas(layout), *_without_source(layout))
    if layout.problem.role is not TopicRole.PLACED:
        return laws
    capacity = (*_contradicted_racks(layout), *_capacity(layout, incoming))
    if not layout.problem.placed.any():
        return (*laws, *capacity)
    return (
        *laws,
        *_incomplete_racks(layout),
        *_too_few_racks(layout),
        *_racks_as_found(layout),
        *capacity,
        *_demoted_leaders(layout),
        *_goals(layout),
    )


def _missing_replicas(layout: Layout) -> list[PlanProblem]:
    """Topics that lack replicas because the pool has too few usable brokers."""
    problem, opened = layout.problem, layout.opened
    problems = []
    for topic in distinct(problem.topic[opened.brokerless > 0]):
        rows = np.flatnonzero((problem.topic == topic) & (opened.brokerless > 0))
        asked = int(problem.rf[rows].max())
        facts = TooFewBrokers(len(rows), asked, _usable(layout, asked))
        problems.append(_problem(layout, "distinct", facts, problem.topics[topic]))
    return problems


def _stuck_replicas(layout: Layout) -> list[PlanProblem]:
    """Replicas that should leave their broker and cannot, by topic."""
    problem, opened = layout.problem, layout.opened
    problems = []
    inside = np.zeros(len(problem.brokers), dtype=bool)
    inside[problem.pool_brokers] = True
    stuck = any_slot(opened.stuck) & ~problem.no_source
    for topic in distinct(problem.topic[stuck]):
        rows = stuck & (problem.topic == topic)
        brokers = distinct(opened.lists[rows][opened.stuck[rows]])
        count = int(opened.stuck[rows].sum())
        asked = int(problem.rf[rows].max())
        law = "drained" if inside[brokers].all() else "pool"
        ids = tuple(problem.brokers.ids[b] for b in brokers)
        facts = CannotLeave(count, ids, asked, _usable(layout, asked))
        problems.append(_problem(layout, law, facts, problem.topics[topic]))
    return problems


def _without_source(layout: Layout) -> list[PlanProblem]:
    """Partitions that should change and have no source to copy from."""
    problem = layout.problem
    resized = problem.placed & (problem.rf != count_slots(problem.lists >= 0))
    rows = np.flatnonzero(problem.no_source & (any_slot(problem.leaves) | resized))
    found = zip(problem.topic[rows].tolist(), problem.number[rows].tolist(), strict=True)
    names = [TopicPartition(problem.topics[topic], number) for topic, number in found]
    return [no_source_problem(problem.pool.name, names)] if names else []


def _incomplete_racks(layout: Layout) -> list[PlanProblem]:
    """Pools with brokers without a rack beside brokers with one."""
    usable = [member for member in _members(layout) if not member.obstacle]
    racks = sorted({member.rack for member in usable if member.rack})
    without = tuple(member.id for member in usable if not member.rack)
    if not racks or not without:
        return []
    return [_problem(layout, "", RacksIncomplete(without, tuple(racks)))]


def _contradicted_racks(layout: Layout) -> list[PlanProblem]:
    """Brokers that register another rack than their pool names for them."""
    named = layout.problem.pool.racks
    found = [
        f"{member.id} ({member.rack}, not {named[member.id]})"
        for member in sorted(_members(layout), key=lambda member: member.id)
        if named.get(member.id, member.rack) != member.rack
    ]
    return [_problem(layout, "", RacksContradicted(Names.of(found)))] if found else []


def _too_few_racks(layout: Layout) -> list[PlanProblem]:
    """Replication factors that need more racks than have usable brokers.

    A pool of one rack, or whose usable brokers have none, asks for no spread over racks.
    """
    problem = layout.problem
    members = _members(layout)
    usable = {member.rack for member in members if not member.obstacle}
    if not any(usable) or len({member.rack for member in members}) < 2:
        return []
    factors = np.zeros(len(problem.topics), dtype=np.int64)
    np.maximum.at(factors, problem.topic, problem.rf)
    counts = Counter(factors.tolist())
    problems = []
    for factor, count in sorted(counts.items()):
        witness = racks_lacking(factor, members)
        if witness is not None:
            problems.append(_problem(layout, "racks", TooFewRacks(count, witness)))
    return problems


def _racks_as_found(layout: Layout) -> list[PlanProblem]:
    """How many partitions stay uneven over racks because the pool leaves them as they are."""
    problem = layout.problem
    if problem.pool.rack_policy is not RackPolicy.AS_FOUND:
        return []
    number = int((problem.placed & uneven_rows(problem, layout.lists)).sum())
    return [_problem(layout, "racks", RacksAsFound(number))] if number else []


def _members(layout: Layout) -> list[Member]:
    """The pool's brokers, each with its obstacle, if any."""
    brokers, pool = layout.problem.brokers, layout.problem.pool
    live, gone, failed = (
        {brokers.ids[row] for row in np.flatnonzero(which)}
        for which in (layout.problem.eligible, brokers.gone, brokers.failed)
    )
    return [
        Member(
            brokers.ids[row],
            brokers.rack_names[brokers.rack[row]],
            obstacle_of(pool, brokers.ids[row], live, gone, failed),
        )
        for row in brokers.rows(pool.brokers)
    ]


def _usable(layout: Layout, factor: int) -> UsableBrokers:
    """The usable brokers, and why they are too few."""
    brokers = layout.problem.brokers
    ids = tuple(brokers.ids[row] for row in np.flatnonzero(layout.problem.eligible))
    return UsableBrokers(ids, brokers_lacking(factor, _members(layout)))


def _capacity(layout: Layout, incoming: IncomingLoad) -> list[PlanProblem]:
    members = tuple(_members(layout))
    found: list[tuple[str, Facts]] = [
        *unraised_factors(layout, members, incoming),
        *(("", facts) for facts in shortfalls(layout, members, incoming)),
        *oversized_partitions(layout.with_all_factors or layout, incoming.mib),
    ]
    return [_problem(layout, "capacity", facts, topic) for topic, facts in found]


def _demoted_leaders(layout: Layout) -> list[PlanProblem]:
    problem = layout.problem
    leading = (
        problem.placed & problem.eligible[layout.lists[:, 0]] & ~problem.leads[layout.lists[:, 0]]
    )
    count = int(leading.sum())
    return [_problem(layout, "", DemotedLeads(count))] if count else []


def _goals(layout: Layout) -> list[PlanProblem]:
    if not layout.balance:
        return []
    if layout.gain_too_small:
        return [_problem(layout, "", GainTooSmall())]
    problem = layout.problem
    problems: list[PlanProblem] = []
    if any(g.kind is GoalKind.BYTES_IN for g in problem.pool.goals) and not problem.rate.any():
        problems.append(_problem(layout, "", RatesUnknown()))
    for aimed in layout.optimization.goals:
        if isinstance(aimed, TopicCounts):
            problems += _uneven_topics(layout, aimed.counted_in(problem, layout.lists))
        else:
            held = aimed.measure.load(layout.lists)
            problems += _uneven_brokers(
                layout, aimed.measure.kind, aimed.band, held, problem.eligible
            )
    led = layout.leadership
    return [
        *problems,
        *_uneven_brokers(layout, GoalKind.LEADERS, led.band, led.leaders, problem.leads),
    ]


def _uneven_topics(layout: Layout, counts: TopicCounts) -> list[PlanProblem]:
    outside = any_slot((counts.replicas > counts.high) | (counts.replicas < counts.low))
    rows = np.flatnonzero(outside)
    names = [layout.problem.topics[row] for row in rows]
    return [_problem(layout, "", UnevenTopics(Names.of(names)))] if names else []


def _uneven_brokers(
    layout: Layout, goal: GoalKind, band: Band, held: Ints, brokers: Bools
) -> list[PlanProblem]:
    rows = np.flatnonzero((band.outside(held) != 0) & brokers)
    shown = tuple(
        OutsideBand(
            layout.problem.brokers.ids[row], int(held[row]), int(band.low[row]), int(band.high[row])
        )
        for row in rows[:_NAMED_MAX]
    )
    facts = UnevenBrokers(goal, shown, len(rows) - len(shown))
    return [_problem(layout, "", facts)] if shown else []


def _problem(layout: Layout, law: str, facts: Facts, topic: str = "") -> PlanProblem:
    return PlanProblem(layout.problem.pool.name, law, facts, topic)
