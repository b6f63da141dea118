"""One rebalance: what the leader of a consumer group computes.

As Kafka's leader does, this puts the members into a hash map and looks at the topics that somebody
subscribes to and that have partitions. Those maps are in Kafka's order from here on.
"""

from collections.abc import Callable, Mapping, Sequence

from poolkeeper.algorithms.assignors.group import Assignment, Assignor, GroupMember, GroupTopic
from poolkeeper.algorithms.assignors.java_order import hash_map_order
from poolkeeper.algorithms.assignors.range_assignor import range_assign
from poolkeeper.algorithms.assignors.round_robin_assignor import round_robin_assign
from poolkeeper.algorithms.assignors.sticky.sticky_2_2_assignor import sticky_2_2_assign
from poolkeeper.algorithms.assignors.sticky.sticky_assignor import (
    cooperative_sticky_assign,
    sticky_assign,
)

_Algorithm = Callable[[Mapping[str, GroupTopic], Mapping[str, GroupMember]], Assignment]

_ALGORITHMS: Mapping[Assignor, _Algorithm] = {
    Assignor.RANGE: range_assign,
    Assignor.ROUND_ROBIN: round_robin_assign,
    Assignor.STICKY: sticky_assign,
    Assignor.COOPERATIVE_STICKY: cooperative_sticky_assign,
    Assignor.STICKY_2_2: sticky_2_2_assign,
}


def assign(
    assignor: Assignor, topics: Mapping[str, GroupTopic], members: Sequence[GroupMember]
) -> Assignment:
    """Return what each member reads after the rebalance; every member is a key, in the order given.

    Topics that nobody subscribes to, and subscriptions to topics that do not exist or have no
    partitions, count for nothing. Raises AssignorFailed where Kafka's own assignor throws.
    """
    by_id = {member.id: member for member in members}
    if not by_id:
        return {}
    in_map = {id_: by_id[id_] for id_ in hash_map_order(by_id)}
    assignment = _ALGORITHMS[assignor](_subscribed(topics, in_map), in_map)
    return {id_: assignment[id_] for id_ in by_id}


def _subscribed(
    topics: Mapping[str, GroupTopic], members: Mapping[str, GroupMember]
) -> dict[str, GroupTopic]:
    names = hash_map_order(topic for member in members.values() for topic in member.topics)
    there = (name for name in names if name in topics and topics[name].partitions > 0)
    return {name: topics[name] for name in hash_map_order(there)}
