"""StickyAssignor of Kafka 2.2: balancing for every group, without generations and racks.

A member keeps what it says that it had, as far as that exists and it subscribes to the topic; what
two members claim, both keep. Unassigned partitions are assigned and balanced (`balancing`), in this
order:
- if some member had something before and all subscribe to the same topics: again and again the next
  partition of the member that has most left, then those that nobody had, in the order of Kafka's
  map;
- else by the number of subscribers of their topic, its name, and their id.

The order of Kafka's map is not followed where nine partitions that nobody had share a bucket
(`java_order`): they are assigned as evenly, but may be others of that bucket.

Kafka 2.2 throws where a member subscribes to a topic that does not exist; here that counts for
nothing, as in later releases.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import heapify, heapreplace

from poolkeeper.algorithms.assignors.group import Assignment, GroupMember, GroupTopic
from poolkeeper.algorithms.assignors.java_order import (
    buckets,
    hash_map_order,
    partition_hash,
    spread,
    string_hash,
    utf16,
)
from poolkeeper.algorithms.assignors.partition_numbers import (
    PartitionNumbers,
    topic_of,
    user_data_order,
)
from poolkeeper.algorithms.assignors.sticky.balancing import GroupBalancing, subscribers_of

_SLACK = 0


def sticky_2_2_assign(
    topics: Mapping[str, GroupTopic], members: Mapping[str, GroupMember]
) -> Assignment:
    """Assign as StickyAssignor of 2.2 does; both maps are in the order of Kafka's."""
    if not topics:
        return {member: [] for member in members}
    ids = _assignment_order(members)
    named = Counter(topic for member in members.values() for topic in member.topics)
    numbers = PartitionNumbers(sorted(topics, key=lambda one: (named[one], utf16(one))), topics)
    subscriptions = [
        [numbers.index[topic] for topic in members[member].topics if topic in topics]
        for member in ids
    ]
    owned = [_owned(numbers, members[member]) for member in ids]
    began = any(member.owned is not None for member in members.values())
    order = (
        _most_first(numbers, topics, ids, owned)
        if began and _identical(subscriptions, len(topics))
        else numbers.every()
    )
    kept = [
        [one for one in some if topic_of(one) in subscribed]
        for some, subscribed in zip(owned, subscriptions, strict=True)
    ]
    balancing = GroupBalancing(
        numbers,
        ids,
        subscriptions,
        [sum(numbers.counts[topic] for topic in some) for some in subscriptions],
        kept,
        {number: member for member, some in enumerate(owned) for number in some},
        _SLACK,
    )
    balancing.assign(_left(order, kept))
    balancing.improve([order], {})
    return {
        member: numbers.names(some) for member, some in zip(ids, balancing.assignment, strict=True)
    }


def _assignment_order(members: Mapping[str, GroupMember]) -> list[str]:
    """Those that had something are put into Kafka's map first."""
    before = [id_ for id_, member in members.items() if member.owned is not None]
    return hash_map_order([*before, *members])


def _owned(numbers: PartitionNumbers, member: GroupMember) -> list[int]:
    owned = numbers.numbers(user_data_order(member.owned or ()))
    return [number for number in owned if numbers.exists(number)]


def _identical(subscriptions: Sequence[Sequence[int]], topics: int) -> bool:
    distinct = {frozenset(subscription) for subscription in subscriptions}
    subscribers = {frozenset(some) for some in subscribers_of(subscriptions, topics)}
    return len(distinct) == 1 and len(subscribers) == 1


def _most_first(
    numbers: PartitionNumbers,
    topics: Mapping[str, GroupTopic],
    members: Sequence[str],
    owned: Sequence[Sequence[int]],
) -> list[int]:
    order = []
    by_rank = sorted(range(len(members)), key=lambda member: utf16(members[member]))
    left = [(-len(owned[member]), -rank) for rank, member in enumerate(by_rank)]
    heapify(left)
    while left[0][0]:
        negative, rank = left[0]
        some = owned[by_rank[-rank]]
        order.append(some[len(some) + negative])
        heapreplace(left, (negative + 1, rank))
    named = set(order)
    return order + [number for number in _map_order(numbers, topics) if number not in named]


def _map_order(numbers: PartitionNumbers, topics: Mapping[str, GroupTopic]) -> list[int]:
    """All partitions in the order of a HashMap into which they were put topic by topic."""
    last = buckets(sum(numbers.counts)) - 1
    bucket = {}
    for topic in topics:
        topic_hash = string_hash(topic)
        for partition, number in enumerate(numbers.of_topic(numbers.index[topic])):
            bucket[number] = spread(partition_hash(topic_hash, partition)) & last
    return sorted(bucket, key=bucket.__getitem__)


def _left(order: Sequence[int], kept: Sequence[Sequence[int]]) -> list[int]:
    """Return the order without as many mentions of a partition as members keep it."""
    keeping = Counter(number for some in kept for number in some)
    left = []
    for number in order:
        if keeping[number]:
            keeping[number] -= 1
        else:
            left.append(number)
    return left
