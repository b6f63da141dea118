"""Balance goals, one after another, each as far as the laws and the goals before it leave room.

    laws      brokers above their disks, or above their caps of replicas: mended whether or not
              goals are declared
    replicas  if first among the goals: by the flow of `rounds`; else by local search
    topics    `topicReplicas`
    bytes     `bytes`, `bytesIn`: by local search

A goal is triggered if a broker lies outside its band, and then aims at half of the band. Later
goals keep each broker inside the band that was aimed at, or as near to it as it was.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from poolkeeper.frozen import frozen
from poolkeeper.model.specs import Goal, GoalKind
from poolkeeper.planning.constraints.bands import Band
from poolkeeper.planning.constraints.capacity import CapacityBounds
from poolkeeper.planning.constraints.evictions import OpenSlots
from poolkeeper.planning.constraints.measures import LoadMeasure, laws, measure_of, share_of_value
from poolkeeper.planning.goals.local_search import Bounded, refine
from poolkeeper.planning.goals.spared_moves import spare_moves
from poolkeeper.planning.goals.topic_counts import TopicCounts, topic_bands
from poolkeeper.planning.goals.topic_flow import route_topics
from poolkeeper.planning.goals.topic_spread import spread_topics
from poolkeeper.planning.placement.capacity_excess import capacity_excess
from poolkeeper.planning.problem.arrays import Ints
from poolkeeper.planning.problem.pool_problem import PoolProblem

REPLICA_GOALS = frozenset(
    {GoalKind.REPLICAS, GoalKind.TOPIC_REPLICAS, GoalKind.BYTES, GoalKind.BYTES_IN}
)
"""Goals that replicas move for."""

WEIGHTED_GOALS = frozenset({GoalKind.BYTES, GoalKind.BYTES_IN})
"""Goals for which a partition weighs what it holds, or what is written to it."""

_SPARED_MAX = 50_000
"""Partitions of a pool up to which moves of a flow for counts are looked at once more.

A flow moves one replica of a partition a round. So it may miss the fewest moves, or the smallest
replicas, where classes are small. The more partitions a pool has, the less that is.
"""


@frozen
class Optimization:
    """The lists, and the bands that were aimed at, in the order of the goals."""

    lists: Ints
    goals: tuple[Bounded | TopicCounts, ...]


def optimize(
    problem: PoolProblem,
    opened: OpenSlots,
    lists: Ints,
    capacity: CapacityBounds,
    goals: Iterable[Goal],
    counted: Sequence[Bounded],
) -> Optimization:
    """Bring the lists nearer to the goals, in their order.

    `counted`: the goal of replicas with the band that the flow aimed at, if that goal comes first.
    It is not among `goals` then.
    """
    replicas, disks = laws(problem, capacity)
    lawful = Bounded(replicas, replicas.wide), Bounded(disks, disks.wide)
    lists, mended = _keep_laws(problem, opened, lists, lawful, counted)
    guards = [*lawful, *counted]
    targets: list[Bounded | TopicCounts] = [*counted]
    topics: TopicCounts | None = None
    for goal in goals:
        if goal.kind is GoalKind.TOPIC_REPLICAS:
            lists, found = _optimize_topics(problem, opened, lists, capacity, guards, goal)
            targets.append(found)
            topics = found if found.binds(problem) else None
            continue
        measure = measure_of(problem, opened, lists, goal)
        aim = Bounded(measure, _band(measure, lists, problem))
        if aim.band is measure.narrow:
            lists = refine(problem, opened, lists, aim, guards, topics)
        guards.append(aim)
        targets.append(aim)
    reached = Optimization(lists, tuple(targets))
    flow_alone = len(targets) == len(counted) and (not targets or len(problem) > _SPARED_MAX)
    if flow_alone and not mended:
        return reached
    return without_spare_moves(problem, opened, reached, capacity)


def _keep_laws(
    problem: PoolProblem,
    opened: OpenSlots,
    lists: Ints,
    lawful: tuple[Bounded, Bounded],
    counted: Sequence[Bounded],
) -> tuple[Ints, bool]:
    """The lists with no broker above its disk or its cap, as far as may be.

    And whether moves may be others than those of the flow. That counts replicas alone, so it gives
    some to brokers whose disks have no room for them. These stay where they are, and other brokers
    than the flow chose may have to take them.
    """
    caps, disks = lawful
    mended = False
    for law, other in ((disks, caps), (caps, disks)):
        if not _is_exceeded(law, problem, lists):
            continue
        before = lists
        lists = refine(problem, opened, lists, law, [other, *counted])
        if counted and _is_exceeded(law, problem, lists):
            lists = refine(problem, opened, lists, law, [other])
            lists = refine(problem, opened, lists, counted[0], lawful)
        mended |= law is disks or bool((lists != before).any())
    return lists, mended


def _is_exceeded(law: Bounded, problem: PoolProblem, lists: Ints) -> bool:
    return law.measure.outside(law.measure.load(lists), problem.eligible)


def without_spare_moves(
    problem: PoolProblem, opened: OpenSlots, found: Optimization, capacity: CapacityBounds
) -> Optimization:
    """`found` without the moves that neither its goals nor the laws need; see `spared_moves`."""
    guards = [Bounded(law, law.wide) for law in laws(problem, capacity)]
    guards += [goal for goal in found.goals if isinstance(goal, Bounded)]
    topics = next((goal for goal in found.goals if isinstance(goal, TopicCounts)), None)
    counts = None
    if topics is not None and topics.binds(problem):
        counts = topics.counted_in(problem, found.lists)
    return replace(found, lists=spare_moves(problem, opened, found.lists, guards, counts))


def _band(measure: LoadMeasure, lists: Ints, problem: PoolProblem) -> Band:
    held = measure.load(problem.lists), measure.load(lists)
    triggered = any(measure.outside(each, problem.eligible) for each in held)
    return measure.narrow if triggered else measure.wide


def _optimize_topics(
    problem: PoolProblem,
    opened: OpenSlots,
    lists: Ints,
    capacity: CapacityBounds,
    guards: Sequence[Bounded],
    goal: Goal,
) -> tuple[Ints, TopicCounts]:
    """Spread the topics freely and repair earlier goals; if that fails, spread within these.

    `guards`: those of the laws of capacity, then of earlier goals.
    """
    wide, narrow = _bands_of_topics(problem, opened, lists, goal)
    if not wide.outside():
        return lists, wide
    by_count = measure_of(problem, opened, lists, Goal(GoalKind.REPLICAS, count=1))
    total = Bounded(by_count, by_count.wide)

    def missed(lists: Ints) -> list[int]:
        # Laws are compared as the audit does: between brokers above their caps sums stay the same.
        laws = capacity_excess(problem, lists, capacity)
        return [*laws, *_excess_by_guard(problem, lists, guards)]

    heavy = next((other for other in problem.pool.goals if other.kind in WEIGHTED_GOALS), None)
    weighed = None if heavy is None else measure_of(problem, opened, lists, heavy)
    found = route_topics(problem, opened, lists, narrow, _replica_band(guards), weighed)
    free = narrow.counted_in(problem, found)
    found = spread_topics(problem, opened, found, free, total, ())
    for number, guard in enumerate(guards):
        found = refine(problem, opened, found, guard, guards[:number], free)
    if missed(found) <= missed(lists):
        return found, free
    return spread_topics(problem, opened, lists, narrow, total, guards), narrow


def least_topic_moves(problem: PoolProblem, opened: OpenSlots, lists: Ints, goal: Goal) -> int:
    """How many replicas must move at least before all topics are inside their wide bands."""
    wide, _ = _bands_of_topics(problem, opened, lists, goal)
    return max(wide.sides_outside())


def _bands_of_topics(
    problem: PoolProblem, opened: OpenSlots, lists: Ints, goal: Goal
) -> tuple[TopicCounts, TopicCounts]:
    ones = np.ones(len(problem), dtype=np.int64)
    nothing = np.zeros(len(problem.brokers), dtype=np.int64)
    share = share_of_value(problem, opened, lists, ones, nothing)
    return topic_bands(problem, lists, share, goal)


def _replica_band(guards: Sequence[Bounded]) -> Band:
    """The band of replicas that all guards allow; the first guards are the brokers' caps."""
    bands = [guard.band for guard in guards if guard.measure.kind is GoalKind.REPLICAS]
    low = np.max([band.low for band in bands], axis=0)
    high = np.min([band.high for band in bands], axis=0)
    return Band(np.minimum(low, high), high, bands[-1].share)


def _excess_by_guard(problem: PoolProblem, lists: Ints, guards: Iterable[Bounded]) -> list[int]:
    """How far the brokers lie outside their bands, by guard."""
    return [
        int(np.abs(guard.band.outside(guard.measure.load(lists)))[problem.eligible].sum())
        for guard in guards
    ]
