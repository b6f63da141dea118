"""Goals beyond counts, full disks, and bounds against every possible layout of tiny clusters."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builders
from builders import MIB, partition, pool_spec
from laws import examples
from poolkeeper.model.desired import Desired
from poolkeeper.model.plans import Plan
from poolkeeper.model.specs import Balancing, Capacity, Goal, GoalKind, UnmanagedTopics
from poolkeeper.model.topology import Cluster
from unit.planning import byhand
from unit.planning.instances import after

COUNTS = (Goal(GoalKind.REPLICAS, count=1),)


def cluster(brokers: int, *topics: list[tuple[tuple[int, ...], int]], racks: int = 0) -> Cluster:
    """Topics as lists of (replicas, MiB); the rate of a partition is its size in KiB/s."""
    live = {b: f"r{b % racks:02d}" if racks else None for b in range(1, brokers + 1)}
    found = (
        builders.topic(
            f"t{number}",
            *(
                partition(n, *replicas, size_bytes=mib * MIB, in_bytes_per_s=mib * 1024.0)
                for n, (replicas, mib) in enumerate(lists)
            ),
        )
        for number, lists in enumerate(topics)
    )
    return builders.cluster(live, *found)


def desired(seen: Cluster, goals: tuple[Goal, ...], min_gain: float = 0.0, **pool: object):
    return builders.desired(
        pool_spec("p", *seen.brokers, goals=goals, **pool),
        unmanaged_topics=UnmanagedTopics.MANAGE,
        default_pool="p",
        balancing=Balancing(min_gain_percent=min_gain),
    )


def lawful(wanted: Desired, seen: Cluster) -> tuple[Plan, Cluster]:
    """The plan and what it leads to, after it was audited and found to be final."""
    plan = byhand.lawful(wanted, seen)
    return plan, after(plan, seen)


def held(seen: Cluster) -> dict[int, tuple[int, int]]:
    """Replicas and MiB by broker."""
    count, mib = Counter(), Counter()
    for topic in seen.topics.values():
        for p in topic.partitions:
            for broker in p.replicas:
                count[broker] += 1
                mib[broker] += (p.size_bytes or 0) // MIB
    return {broker: (count[broker], mib[broker]) for broker in sorted(seen.brokers)}


LOPSIDED = [((1,), 30), ((1,), 30), ((1,), 30), ((2,), 10), ((2,), 10), ((2,), 10)]


@pytest.mark.parametrize(
    ("goals", "pool", "expected"),
    [
        pytest.param(COUNTS, {}, {1: (3, 90), 2: (3, 30)}, id="counts alone see no bytes"),
        pytest.param(
            (*COUNTS, Goal(GoalKind.BYTES, percent=40.0)),
            {},
            {1: (3, 70), 2: (3, 50)},
            id="bytes by an exchange, which keeps the counts",
        ),
        pytest.param(
            (*COUNTS, Goal(GoalKind.BYTES_IN, percent=40.0)),
            {},
            {1: (3, 70), 2: (3, 50)},
            id="rates likewise",
        ),
        pytest.param(
            (Goal(GoalKind.BYTES, percent=40.0),),
            {},
            {1: (2, 60), 2: (4, 60)},
            id="bytes alone need one move",
        ),
        pytest.param(
            (Goal(GoalKind.BYTES, count=31),),
            {},
            {1: (3, 90), 2: (3, 30)},
            id="a count of MiB that both are within",
        ),
        pytest.param(
            (Goal(GoalKind.BYTES, count=30),),
            {},
            {1: (2, 60), 2: (4, 60)},
            id="a count of MiB that both have reached",
        ),
        pytest.param(
            (),
            {"capacity": Capacity(disk_bytes=80 * MIB)},
            {1: (2, 60), 2: (4, 60)},
            id="a disk that is too full is relieved without any goal",
        ),
        pytest.param(
            (Goal(GoalKind.BYTES, percent=20.0),),
            {"capacity_of": {1: Capacity(weight=3.0)}},
            {1: (3, 90), 2: (3, 30)},
            id="a broker that weighs more may hold more bytes",
        ),
    ],
)
def test_bytes(
    goals: tuple[Goal, ...], pool: dict[str, object], expected: dict[int, tuple[int, int]]
) -> None:
    seen = cluster(2, LOPSIDED)
    assert held(lawful(desired(seen, goals, **pool), seen)[1]) == expected


def test_the_replicas_of_each_topic_are_spread_and_all_counts_kept() -> None:
    crowded = [((1,), 5)] * 4, [((2,), 5)] * 4
    goals = (*COUNTS, Goal(GoalKind.TOPIC_REPLICAS, count=1))
    seen = cluster(2, *crowded)
    reached = lawful(desired(seen, goals), seen)[1]
    assert [
        Counter(p.replicas[0] for p in topic.partitions) for topic in reached.topics.values()
    ] == [{1: 2, 2: 2}] * 2


@pytest.mark.parametrize("goals", [(), COUNTS], ids=["no goal", "counts"])
@pytest.mark.parametrize(
    ("small", "held_by_2"),
    [
        pytest.param(20, 9, id="small disks take nothing"),
        pytest.param(120, 7, id="small disks take a replica each"),
    ],
)
def test_a_broker_above_its_cap_gives_to_those_whose_disks_have_room(
    goals: tuple[Goal, ...], small: int, held_by_2: int
) -> None:
    """Brokers 1 and 4 have fewest replicas, and hardly room for a partition of 100 MiB."""
    mib = {1: small, 2: 3000, 3: 3000, 4: small}
    capacities = {b: Capacity(replicas=3 if b == 3 else 40, disk_bytes=mib[b] * MIB) for b in mib}
    seen = cluster(4, [((3,), 100)] * 9 + [((2,), 100)] * 3)
    plan, reached = lawful(desired(seen, goals, capacity_of=capacities), seen)
    assert (held(reached)[2][0], held(reached)[3][0]) == (held_by_2, 3)
    assert not [problem for problem in plan.problems if problem.law == "capacity"]


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        pytest.param(
            [[((1,), 20), ((1,), 30), ((1,), 30), ((2,), 20), ((2,), 20), ((2,), 5)]],
            {1: (3, 65), 2: (3, 60)},
            id="one topic",
        ),
        pytest.param(
            [
                [((1,), 40), ((1,), 10), ((2,), 20), ((2,), 10)],
                [((1,), 25), ((1,), 25), ((2,), 5), ((2,), 5)],
            ],
            {1: (4, 70), 2: (4, 70)},
            id="one of two topics",
        ),
    ],
)
def test_partitions_of_a_topic_are_exchanged_where_no_broker_may_hold_more_of_it(
    topics: list[list[tuple[tuple[int, ...], int]]], expected: dict[int, tuple[int, int]]
) -> None:
    """Both brokers hold just their share of each topic, and one has more bytes than its band."""
    bytes_within = Goal(GoalKind.BYTES, percent=10.0)
    goals = (*COUNTS, Goal(GoalKind.TOPIC_REPLICAS, count=1), bytes_within)
    seen = cluster(2, *topics)
    plan, reached = lawful(desired(seen, goals), seen)
    assert (held(reached), plan.problems) == (expected, ())


def test_a_partition_too_large_for_any_share_is_nobodys_fault() -> None:
    seen = cluster(3, [((1,), 900), ((2,), 20), ((3,), 20), ((2,), 10), ((3,), 10)])
    plan, _ = lawful(desired(seen, (Goal(GoalKind.BYTES, percent=10.0),)), seen)
    assert (plan.moves, plan.problems) == ((), ())


def test_rates_that_nobody_knows_are_said_to_be_left_out() -> None:
    seen = cluster(2, [((1,), 0), ((2,), 0)])
    plan, _ = lawful(desired(seen, (Goal(GoalKind.BYTES_IN, percent=10.0),)), seen)
    assert [p.message for p in plan.problems] == [
        "spec.balance.bytesIn is left out: spec.load of the cluster gives no rate"
    ]


def test_what_stays_uneven_is_told_in_the_unit_of_its_goal() -> None:
    seen = cluster(2, [((1,), 30), ((1,), 30), ((2,), 30)])
    goals = tuple(Goal(kind, percent=10.0) for kind in (GoalKind.BYTES, GoalKind.BYTES_IN))
    plan, _ = lawful(desired(seen, goals), seen)
    assert [p.message for p in plan.problems] == [
        "bytes cannot be balanced further: broker 1 stays at 60 MiB (band 42.8 MiB to 47.2 MiB),"
        " broker 2 stays at 30 MiB (band 42.8 MiB to 47.2 MiB)",
        "bytes in cannot be balanced further: broker 1 stays at 60 KiB/s (band 43 KiB/s to"
        " 47 KiB/s), broker 2 stays at 30 KiB/s (band 43 KiB/s to 47 KiB/s)",
    ]


@pytest.mark.parametrize(("percent", "moved"), [(10.0, True), (90.0, False)])
def test_balancing_that_gains_too_little_is_left_out(percent: float, moved: bool) -> None:
    # 7 and 1 become 5 and 3: a third of the imbalance stays.
    seen = cluster(2, [((1,), 1)] * 7 + [((2,), 1)])
    plan, _ = lawful(desired(seen, (Goal(GoalKind.REPLICAS, count=3),), percent), seen)
    assert bool(plan.moves) is moved
    said = (
        "nothing moves for balance: that would remove less imbalance than spec.balancing.minGain"
        " of the cluster"
    )
    assert (said in [p.message for p in plan.problems]) is not moved


def test_many_racks_are_planned_to_the_bound() -> None:
    lists = [(1 + n % 40, 1 + (n + 1) % 40, 1 + (n + 7) % 40) for n in range(800)]
    seen = cluster(80, [(replicas, 1 + n % 50) for n, replicas in enumerate(lists)], racks=40)
    (proof,) = lawful(desired(seen, COUNTS), seen)[0].certificates
    assert (proof.replica_moves, proof.replica_moves_lower_bound) == (1200, 1200)


@st.composite
def tiny(draw: st.DrawFn) -> Cluster:
    """Three or four brokers without racks, at most four partitions."""
    brokers = draw(st.integers(3, 4))
    lists = [
        (tuple(draw(st.permutations(range(1, brokers + 1)))[: draw(st.integers(1, 2))]), mib)
        for mib in draw(st.lists(st.sampled_from([1, 2, 5, 9]), min_size=1, max_size=4))
    ]
    return cluster(brokers, lists)


def layouts(seen: Cluster) -> Iterator[Cluster]:
    """All clusters with the same partitions and replication factors."""
    (topic,) = seen.topics.values()
    ways = [combinations(sorted(seen.brokers), len(p.replicas)) for p in topic.partitions]
    for chosen in product(*map(list, ways)):
        moved = (p._replace(replicas=r) for p, r in zip(topic.partitions, chosen, strict=True))
        yield replace(seen, topics={topic.name: replace(topic, partitions=tuple(moved))})


def outside(seen: Cluster) -> tuple[int, int]:
    """Replicas above the ceiling of the share, and missing below its floor."""
    counts = [count for count, _ in held(seen).values()]
    floor, rest = divmod(sum(counts), len(counts))
    over = sum(max(0, count - floor - (rest > 0)) for count in counts)
    return over, sum(max(0, floor - count) for count in counts)


def added(seen: Cluster, reached: Cluster) -> tuple[int, int]:
    """Replicas and bytes that are copied."""
    moved = size = 0
    pairs = (
        zip(t.partitions, reached.topics[n].partitions, strict=True) for n, t in seen.topics.items()
    )
    for old, new in chain.from_iterable(pairs):
        count = len(set(new.replicas) - set(old.replicas))
        moved, size = moved + count, size + count * (old.size_bytes or 0)
    return moved, size


def check_bounds(seen: Cluster) -> None:
    """No layout that is as even as the plan's takes fewer moves or bytes than the bounds."""
    plan, reached = lawful(desired(seen, COUNTS), seen)
    (proof,) = plan.certificates
    over, under = outside(reached)
    as_good = [
        added(seen, other)
        for other in layouts(seen)
        if outside(other)[0] <= over and outside(other)[1] <= under
    ]
    assert proof.replica_moves_lower_bound <= min(moves for moves, _ in as_good)
    assert proof.bytes_lower_bound <= min(size for _, size in as_good)
    assert proof.replica_moves == min(moves for moves, _ in as_good)


@st.composite
def tiny_topics(draw: st.DrawFn) -> Cluster:
    """Three brokers without racks, two topics of at most three partitions."""
    lists = st.permutations((1, 2, 3)).flatmap(
        lambda order: st.integers(1, 2).map(lambda count: (tuple(order[:count]), 1))
    )
    topics = st.lists(lists, min_size=1, max_size=3)
    return cluster(3, draw(topics), draw(topics))


def check_bounds_of_topics(seen: Cluster) -> None:
    """No layout that spreads the topics and all replicas as well takes fewer moves."""
    goals = (*COUNTS, Goal(GoalKind.TOPIC_REPLICAS, count=1))
    plan, reached = lawful(desired(seen, goals), seen)
    (proof,) = plan.certificates
    parts = [replace(seen, topics={name: topic}) for name, topic in seen.topics.items()]

    def off(now: Cluster) -> tuple[int, int, int]:
        single = [replace(now, topics={name: topic}) for name, topic in now.topics.items()]
        return *outside(now), sum(sum(outside(each)) for each in single)

    was = off(reached)
    fewest = min(
        sum(added(old, new)[0] for old, new in zip(parts, chosen, strict=True))
        for chosen in product(*map(list, map(layouts, parts)))
        if all(a <= b for a, b in zip(off(_together(chosen)), was, strict=True))
    )
    assert proof.replica_moves_lower_bound <= fewest


def _together(parts: tuple[Cluster, ...]) -> Cluster:
    topics = {name: topic for part in parts for name, topic in part.topics.items()}
    return replace(parts[0], topics=topics)


@examples(10)
@given(tiny_topics())
def test_no_layout_beats_the_bounds_of_topics(seen: Cluster) -> None:
    check_bounds_of_topics(seen)


@examples(10)
@given(tiny())
def test_no_layout_beats_the_bounds(seen: Cluster) -> None:
    check_bounds(seen)


def test_a_plan_is_final_where_a_partition_that_outweighs_a_share_moves() -> None:
    # What brokers should hold follows from who holds the partition of 141 MiB.
    sizes = [84, 38, 13, 12, 36, 141, 26, 18]
    lists = [(1, 2), (2, 1), (4, 1), (1, 4), (4, 2), (1, 2), (1, 3), (1, 3)]
    seen = cluster(4, list(zip(lists, sizes, strict=True)))
    goals = (*COUNTS, Goal(GoalKind.BYTES, percent=10.0))
    weights = {broker: Capacity(weight=2.0 if broker % 2 else 1.0) for broker in seen.brokers}
    byhand.lawful(desired(seen, goals, capacity_of=weights), seen)
