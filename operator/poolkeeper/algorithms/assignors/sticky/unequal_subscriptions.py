"""The sticky assignors of Kafka 3.9.2 where members subscribe to different topics.

Members keep what they own, subscribe to, and (where racks count) have on their rack; then the rest
is assigned and balanced (`balancing`), where racks count first within racks. Partitions go by the
number of subscribers of their topic, its name, and their id.

If members lose nothing at first, only partitions that were unassigned are moved in a first pass;
all are in the second, and only that pass decides whether anything is undone. A partition that a
member had at an earlier generation goes back to it if that member has two fewer than its holder,
even if it does not subscribe to the topic any more.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from poolkeeper.algorithms.assignors.group import Assignment, GroupMember, GroupTopic
from poolkeeper.algorithms.assignors.java_order import utf16
from poolkeeper.algorithms.assignors.partition_numbers import PartitionNumbers, topic_of
from poolkeeper.algorithms.assignors.racks import StickyRacks
from poolkeeper.algorithms.assignors.sticky.balancing import GroupBalancing
from poolkeeper.algorithms.assignors.sticky.previous_owners import MemberData, PreviousOwners

_SLACK = 1


def assign_unequal(
    topics: Mapping[str, GroupTopic],
    members: Mapping[str, GroupMember],
    data: Mapping[str, MemberData],
    owners: PreviousOwners,
) -> Assignment:
    """Return the assignment; all maps are in the order of Kafka's."""
    ids = list(members)
    named = Counter(topic for member in members.values() for topic in member.topics)
    numbers = PartitionNumbers(sorted(topics, key=lambda one: (named[one], utf16(one))), topics)
    racks = StickyRacks(numbers, topics, members.values())
    subscriptions = [
        [numbers.index[topic] for topic in member.topics if topic in topics]
        for member in members.values()
    ]
    owned = [numbers.numbers(owners.owned[member]) for member in ids]
    kept = [
        [one for one in some if topic_of(one) in subscribed and not racks.mismatch(member, one)]
        for member, some, subscribed in zip(ids, owned, subscriptions, strict=True)
    ]
    revoking = kept != owned
    unassigned = numbers.unassigned(one for some in kept for one in some)
    balancing = GroupBalancing(
        numbers,
        ids,
        subscriptions,
        [_capacity(subscription, numbers) for subscription in subscriptions],
        kept,
        {number: member for member, some in enumerate(owned) for number in some},
        _SLACK,
    )
    rest = unassigned
    if racks.of_member:
        rest = balancing.assign(rest, lambda member, one: not racks.mismatch(ids[member], one))
    balancing.assign(rest)
    passes = [numbers.every()] if revoking else [unassigned, numbers.every()]
    balancing.improve(
        passes,
        _earlier_owners(numbers, ids, data, owners.last_generation),
        lambda member, one: racks.match(ids[member], one),
    )
    return {
        member: numbers.names(some) for member, some in zip(ids, balancing.assignment, strict=True)
    }


def _capacity(subscription: Sequence[int], numbers: PartitionNumbers) -> int:
    everything = len(subscription) == len(numbers.counts)
    return sum(numbers.counts if everything else [numbers.counts[topic] for topic in subscription])


def _earlier_owners(
    numbers: PartitionNumbers,
    members: Sequence[str],
    data: Mapping[str, MemberData],
    last_generation: int,
) -> dict[int, int]:
    """Return the member that had each partition at the latest generation before the last."""
    owners: dict[int, int] = {}
    generations: dict[int, int] = {}
    for index, member in enumerate(members):
        generation = data[member].generation
        if generation < last_generation:
            for number in numbers.numbers(data[member].partitions):
                if number not in owners or generation > generations[number]:
                    owners[number], generations[number] = index, generation
    return owners
