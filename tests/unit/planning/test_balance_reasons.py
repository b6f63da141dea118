"""Why balance moves what it moves: sentences name what is too much, or too little, and where."""

import pytest

from builders import cluster, desired, partition, pool_spec, topic, topic_spec
from poolkeeper.model.specs import Capacity, Goal, GoalKind
from poolkeeper.model.topology import Topic
from unit.planning.byhand import COUNT_1, lawful

GIB = 1 << 30
MAKES_ROOM = "broker 2 makes room for other replicas"


def sized(name: str, *parts: tuple[int, int, float | None]) -> Topic:
    """A topic of partitions of one replica each: its broker, its GiB, what is written to it."""
    return topic(
        name,
        *(
            partition(n, broker, size_bytes=gib * GIB, in_bytes_per_s=rate)
            for n, (broker, gib, rate) in enumerate(parts)
        ),
    )


@pytest.mark.parametrize(
    ("goals", "topics", "expected"),
    [
        pytest.param(
            (Goal(GoalKind.BYTES, percent=10),),
            [sized("t", *[(1, 10, None)] * 4, *[(2, 1, None)] * 4)],
            {"broker 1 holds 40 GiB, its share is 22 GiB", MAKES_ROOM},
            id="bytes",
        ),
        pytest.param(
            (Goal(GoalKind.BYTES_IN, percent=10),),
            [sized("t", *[(1, 1, 10240.0)] * 4, *[(2, 1, 1024.0)] * 4)],
            {"broker 1 is written 40 KiB/s, its share is 22 KiB/s", MAKES_ROOM},
            id="bytes per second",
        ),
        pytest.param(
            (Goal(GoalKind.TOPIC_REPLICAS, count=1),),
            [sized("t", *[(1, 1, None)] * 4), sized("u", *[(2, 1, None)] * 4)],
            {
                "broker 1 holds 4 replicas of topic t, its share is at most 2",
                "broker 2 holds 4 replicas of topic u, its share is at most 2",
            },
            id="replicas of a topic",
        ),
        pytest.param(
            COUNT_1,
            [sized("t", *[(1, 1, None)] * 5, *[(2, 1, None)] * 3)],
            {"broker 1 holds 5 replicas, its share is 4"},
            id="replicas",
        ),
    ],
)
def test_the_goal_that_a_replica_moves_for_is_named(goals, topics, expected) -> None:
    wanted = desired([pool_spec("p", 1, 2, goals=goals)], *(topic_spec(t.name) for t in topics))
    assert {move.reason for move in lawful(wanted, cluster((1, 2), *topics)).moves} == expected


def test_a_disk_that_is_too_full_is_named() -> None:
    full = {1: Capacity(disk_bytes=25 * GIB)}
    seen = sized("t", *[(1, 10, None)] * 4)
    wanted = desired([pool_spec("p", 1, 2, goals=(), capacity_of=full)], topic_spec("t"))
    reasons = {move.reason for move in lawful(wanted, cluster((1, 2), seen)).moves}
    assert reasons == {"broker 1 holds 40 GiB, it may hold 25 GiB"}


def test_where_no_broker_holds_too_much_the_one_that_holds_too_little_is_named() -> None:
    racks: dict[int, str | None] = {1: "a", 2: "c", 3: "b"}
    pool = pool_spec("p", *racks, goals=COUNT_1, capacity_of={3: Capacity(weight=2.0)})
    new = topic_spec("u", partitions=3, replication_factor=2)
    plan = lawful(desired(pool, topic_spec("t"), new), cluster(racks, topic("t", (1, 2))))
    assert {move.reason for move in plan.moves} == {"broker 3 holds 0 replicas, its share is 4"}


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        pytest.param(
            (2, 3),
            "preferred leader 1 → 2: broker 1 leads 2 partitions, its share is 0.8",
            id="one leads too much",
        ),
        pytest.param(
            (2, 3, 1),
            "preferred leader 2 → 1: broker 1 leads 0 partitions, its share is 1",
            id="one leads too little",
        ),
    ],
)
def test_leaders_are_told_alike(weights, expected) -> None:
    capacity = {n: Capacity(weight=weight) for n, weight in enumerate(weights, 1)}
    pool = pool_spec("p", *capacity, goals=COUNT_1, capacity_of=capacity)
    lists = ((1, 2), (1, 2)) if len(weights) == 2 else ((2, 1),)
    more = () if len(weights) == 2 else (topic_spec("u", partitions=2, replication_factor=1),)
    plan = lawful(desired(pool, topic_spec("t"), *more), cluster([*capacity], topic("t", *lists)))
    assert [move.reason for move in plan.moves] == [expected]
