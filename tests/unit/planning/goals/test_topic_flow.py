"""Replicas of topics by one flow: as few moves as any, whatever else the plan evens out."""

from collections import Counter

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
