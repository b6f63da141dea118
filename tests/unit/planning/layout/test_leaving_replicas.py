"""A lower replication factor drops what brokers have too much of, so that little moves."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import builders
from builders import pool_spec, topic, topic_spec
from poolkeeper.model.execution.records import Records
from poolkeeper.model.specs import Goal, GoalKind, RackPolicy
from poolkeeper.model.topology import Broker, Cluster
from poolkeeper.planning.constraints.bands import Band, band
from poolkeeper.planning.constraints.evictions import OpenSlots, open_slots
from poolkeeper.planning.constraints.racks import even_spread, rack_capacity
from poolkeeper.planning.layout import leaving_replicas
from poolkeeper.planning.layout.leaving_replicas import KeptTargets, choose_dropped
from poolkeeper.planning.placement.rounds import replicas_by_broker
from poolkeeper.planning.problem.arrays import index_brokers
from poolkeeper.planning.problem.partitions import lists_of, table_of
from poolkeeper.planning.problem.pool_membership import TopicHome, TopicRole
from poolkeeper.planning.problem.pool_problem import PoolProblem, pool_problem
from unit.planning import byhand

Lists = Sequence[tuple[int, ...]]
COUNT = Goal(GoalKind.REPLICAS, count=1)
COUNTS = (COUNT, Goal(GoalKind.LEADERS, count=1))
TOPICS = (COUNT, Goal(GoalKind.TOPIC_REPLICAS, count=1), Goal(GoalKind.LEADERS, count=1))
BYTES = (*COUNTS, Goal(GoalKind.BYTES, percent=10.0))


def seen(brokers: int, racks: int, topics: Sequence[Lists]) -> Cluster:
    live = [Broker(b, rack=f"r{b % racks}" if racks else None) for b in range(1, brokers + 1)]
    return builders.cluster(live, *(topic(f"t{n}", *each) for n, each in enumerate(topics)))


def rotating(brokers: int, factor: int, topics: int, partitions: int) -> list[Lists]:
    return [
        [tuple(1 + (n + p + r) % brokers for r in range(factor)) for p in range(partitions)]
        for n in range(topics)
    ]


@pytest.mark.parametrize(
    "goals", [pytest.param(COUNTS, id="counts"), pytest.param(BYTES, id="bytes")]
)
@pytest.mark.parametrize(
    ("brokers", "racks", "before", "after"),
    [(6, 0, 3, 2), (6, 3, 3, 2), (6, 3, 3, 1), (8, 2, 4, 2), (8, 2, 4, 3), (9, 3, 5, 2)],
)
def test_even_topics_stay_even_without_a_move(
    brokers: int, racks: int, before: int, after: int, goals: tuple[Goal, ...]
) -> None:
    topics = rotating(brokers, before, topics=4, partitions=2 * brokers)
    cluster = seen(brokers, racks, topics)
    specs = [topic_spec(name, "p", replication_factor=after) for name in cluster.topics]
    plan = byhand.lawful(
        builders.desired(pool_spec("p", *cluster.brokers, goals=goals), *specs), cluster
    )
    assert [proof.replica_moves for proof in plan.certificates] == [0]
    assert len(plan.moves) == 4 * 2 * brokers


def test_every_topic_stays_even_where_that_is_a_goal() -> None:
    cluster = seen(6, 3, rotating(6, 3, topics=4, partitions=6))
    specs = [topic_spec(name, "p", replication_factor=2) for name in cluster.topics]
    wanted = builders.desired(pool_spec("p", *cluster.brokers, goals=TOPICS), *specs)
    plan = byhand.lawful(wanted, cluster)
    assert [proof.replica_moves for proof in plan.certificates] == [0]
    held = Counter((move.topic, broker) for move in plan.moves for broker in move.target)
    assert set(held.values()) == {2}


def test_a_leader_stays_where_another_replica_may_go_as_well() -> None:
    cluster = seen(4, 0, [[(1, 2, 3), (2, 3, 4), (3, 4, 1), (4, 1, 2)]])
    wanted = builders.desired(
        pool_spec("p", 1, 2, 3, 4, goals=COUNTS), topic_spec("t0", "p", replication_factor=2)
    )
    plan = byhand.lawful(wanted, cluster)
    assert [(move.source[0], move.target[0]) for move in plan.moves] == [
        (1, 1), (2, 2), (3, 3), (4, 4)
    ]  # fmt: skip


def problem_of(
    cluster: Cluster, factor: int, policy: RackPolicy = RackPolicy.SPREAD
) -> PoolProblem:
    names = list(cluster.topics)
    pool = pool_spec("p", *cluster.brokers, goals=COUNTS, rack_policy=policy)
    specs = [topic_spec(name, "p", replication_factor=factor) for name in names]
    desired = builders.desired(pool, *specs)
    table = table_of(cluster)
    brokers = index_brokers(cluster, desired, Records(), frozenset(), table.replicas.ids)
    homes = {spec.name: TopicHome(TopicRole.PLACED, "p", spec) for spec in specs}
    return pool_problem(pool, homes, lists_of(table, brokers))


def opened_of(problem: PoolProblem) -> OpenSlots:
    return open_slots(problem, replicas_by_broker(problem, problem.lists))


def fair(problem: PoolProblem, opened: OpenSlots) -> Band:
    share = np.full(len(problem.brokers), (opened.lists >= 0).sum() / len(problem.brokers))
    return band(share, COUNT)


def outside(problem: PoolProblem, lists: Sequence[Sequence[int]], target: Band) -> int:
    held = Counter(broker for each in lists for broker in each if broker >= 0)
    counts = np.array([held[broker] for broker in range(len(problem.brokers))])
    return int(np.abs(target.outside(counts)).sum())


def excess(problem: PoolProblem, kept: Sequence[int]) -> int:
    racks = rack_capacity(problem)
    even = even_spread(len(kept), racks, (0,) * len(racks))
    return even.excess(Counter(problem.brokers.rack[list(kept)].tolist()))


def subsets(problem: PoolProblem, row: int) -> list[tuple[int, ...]]:
    """What this row may keep: as even over racks as dropping alone makes it."""
    found = [broker for broker in problem.lists[row].tolist() if broker >= 0]
    every = list(combinations(found, int(problem.rf[row])))
    least = min(excess(problem, kept) for kept in every)
    return [kept for kept in every if excess(problem, kept) == least]


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Cluster, int]:
    brokers, factor = draw(st.integers(2, 6)), draw(st.integers(1, 3))
    racks = draw(st.integers(0, 3))
    some = st.lists(st.integers(1, brokers), min_size=1, max_size=4, unique=True).map(tuple)
    lists = draw(st.lists(some, min_size=1, max_size=5))
    return seen(brokers, racks, [lists]), factor


@given(clusters())
def test_brokers_come_as_near_to_their_bands_as_dropping_can_bring_them(
    drawn: tuple[Cluster, int],
) -> None:
    cluster, factor = drawn
    assume(all(len(p.replicas) > factor for p in cluster.topics["t0"].partitions))
    problem = problem_of(cluster, factor)
    may_keep = [subsets(problem, row) for row in range(len(problem))]
    assume(all(excess(problem, each[0]) == 0 for each in may_keep))
    opened = opened_of(problem)
    target = fair(problem, opened)
    chosen = choose_dropped(problem, opened, KeptTargets(target))
    kept = [tuple(b for b in each if b >= 0) for each in chosen.lists.tolist()]
    assert [sorted(each) in map(sorted, may) for each, may in zip(kept, may_keep, strict=True)] == [
        True
    ] * len(kept)
    nearest = min(outside(problem, each, target) for each in product(*may_keep))
    assert outside(problem, kept, target) == nearest


@given(clusters(), st.sampled_from(RackPolicy))
def test_what_is_kept_is_as_even_over_racks_as_can_be(
    drawn: tuple[Cluster, int], policy: RackPolicy
) -> None:
    cluster, factor = drawn
    assume(any(len(p.replicas) > factor for p in cluster.topics["t0"].partitions))
    problem = problem_of(cluster, factor, policy)
    opened = opened_of(problem)
    chosen = choose_dropped(problem, opened, KeptTargets(fair(problem, opened)))
    for row, (was, each) in enumerate(zip(problem.lists, chosen.lists, strict=True)):
        kept = [broker for broker in each.tolist() if broker >= 0]
        if (was >= 0).sum() <= factor or len(kept) < factor:
            continue  # not lowered, or uneven racks open a slot of it
        assert kept == [broker for broker in was.tolist() if broker in kept]
        assert sorted(kept) in map(sorted, subsets(problem, row))


@pytest.mark.parametrize("classes", [20, 100, 4_000])
def test_many_classes_come_out_as_even_batch_by_batch(
    classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaving_replicas, "_CLASSES_MAX", classes)
    dice = np.random.default_rng(1)
    lists = [tuple((1 + dice.permutation(9)[:4]).tolist()) for _ in range(300)]
    problem = problem_of(seen(9, 0, [lists]), 2)
    opened = opened_of(problem)
    target = fair(problem, opened)
    chosen = choose_dropped(problem, opened, KeptTargets(target))
    assert outside(problem, chosen.lists.tolist(), target) == 0
    assert ((chosen.lists >= 0).sum(axis=1) == 2).all()
