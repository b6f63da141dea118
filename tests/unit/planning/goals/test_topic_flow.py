"""Replicas of topics by one flow: as few moves as any, whatever else the plan evens out."""

import random
from collections import Counter

import pytest

from poolkeeper.model.specs import Goal, GoalKind
from unit.planning.test_goals import COUNTS, MIB, cluster, desired, lawful

TOPICS = (*COUNTS, Goal(GoalKind.TOPIC_REPLICAS, count=1))


def test_a_topic_and_the_whole_are_spread_with_the_same_moves() -> None:
    # Counts alone would move the small replicas of the second topic.
    seen = cluster(3, [((1,), 9)] * 6, [((2,), 1)] * 3 + [((3,), 1)] * 3)
    plan, reached = lawful(desired(seen, TOPICS), seen)
    spread = [Counter(p.replicas[0] for p in t.partitions) for t in reached.topics.values()]
    assert spread == [{1: 2, 2: 2, 3: 2}, {1: 2, 2: 2, 3: 2}]
    (proof,) = plan.certificates
    assert (proof.replica_moves, proof.replica_moves_lower_bound) == (6, 6)
    assert proof.bytes == (4 * 9 + 2 * 1) * MIB


def test_where_racks_forbid_it_a_third_broker_takes_one_and_gives_another() -> None:
    # Brokers 1 and 4 share a rack, as do 2 and 5, 3 and 6.
    lists = [((1, 2), 1), ((1, 2), 1), ((1, 2), 1), ((4, 3), 1)]
    seen = cluster(6, lists, racks=3)
    _, reached = lawful(desired(seen, TOPICS), seen)
    (topic,) = reached.topics.values()
    held = Counter(broker for p in topic.partitions for broker in p.replicas)
    assert set(held.values()) <= {1, 2}
    assert sorted(held) == [1, 2, 3, 4, 5, 6]


@pytest.mark.slow
@pytest.mark.parametrize(("topics", "partitions"), [(1, 400), (2, 200), (8, 50)])
def test_a_broker_that_joins_gets_the_small_replicas_of_every_topic(
    topics: int, partitions: int
) -> None:
    # Of three brokers that hold the same small partition one gives it; others must not give large
    # ones for that.
    dice = random.Random(7)
    sizes = [[int(dice.paretovariate(1.5) * 50) for _ in range(partitions)] for _ in range(topics)]
    lists = [
        [(tuple(1 + (p + r) % 5 for r in range(3)), size) for p, size in enumerate(some)]
        for some in sizes
    ]
    seen = cluster(6, *lists)
    copied = []
    for goals in (COUNTS, TOPICS):
        plan, _ = lawful(desired(seen, goals), seen)
        (proof,) = plan.certificates
        assert proof.replica_moves == proof.replica_moves_lower_bound == 200
        copied.append(proof.bytes)
    assert copied[1] <= 1.1 * copied[0]
