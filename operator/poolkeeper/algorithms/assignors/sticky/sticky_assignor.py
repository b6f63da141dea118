"""StickyAssignor and CooperativeStickyAssignor of Kafka 3.9.2: as balanced, and then as few moves.

Members that subscribe to the same topics are served by quotas (`equal_subscriptions`), others by
balancing (`unequal_subscriptions`). Whether they do is found out as Kafka does it: a member that
subscribes to nothing is overlooked if no member before it in Kafka's map subscribes to something,
and may then get partitions too.

Not followed: where members own partitions that do not exist, Kafka may give a partition to two; if
a third had it, the cooperative assignor withholds it from the one that is later in Kafka's map of
the assignment, whose order within a bucket is not kept here.

The cooperative assignor withholds what another member still has: its new member gets it at the next
rebalance, when the other has given it up.
"""

from collections.abc import Mapping

from poolkeeper.algorithms.assignors.group import Assignment, GroupMember, GroupTopic
from poolkeeper.algorithms.assignors.java_order import utf16
from poolkeeper.algorithms.assignors.partition_numbers import PartitionNumbers
from poolkeeper.algorithms.assignors.racks import StickyRacks
from poolkeeper.algorithms.assignors.sticky.equal_subscriptions import EqualSubscriptions
from poolkeeper.algorithms.assignors.sticky.previous_owners import (
    MemberData,
    PreviousOwners,
    cooperative_data,
    eager_data,
    previous_owners,
)
from poolkeeper.algorithms.assignors.sticky.unequal_subscriptions import assign_unequal

_Topics = Mapping[str, GroupTopic]
_Members = Mapping[str, GroupMember]
_Transferring = dict[tuple[str, int], str]


def sticky_assign(topics: _Topics, members: _Members) -> Assignment:
    """Assign as StickyAssignor does."""
    data = eager_data(members)
    owners = previous_owners(topics, members, data)
    if not _subscriptions_equal(members):
        return assign_unequal(topics, members, data, owners)
    assignment, _ = _assign_equal(topics, members, owners)
    return assignment


def cooperative_sticky_assign(topics: _Topics, members: _Members) -> Assignment:
    """Assign as CooperativeStickyAssignor does, without what others must give up first."""
    data = cooperative_data(members)
    owners = previous_owners(topics, members, data)
    if _subscriptions_equal(members):
        assignment, transferring = _assign_equal(topics, members, owners)
    else:
        assignment = assign_unequal(topics, members, data, owners)
        transferring = _transferring(assignment, data)
    withheld: dict[str, set[tuple[str, int]]] = {member: set() for member in members}
    for partition, member in transferring.items():
        withheld[member].add(partition)
    return {
        member: _without(partitions, withheld[member]) for member, partitions in assignment.items()
    }


def _subscriptions_equal(members: _Members) -> bool:
    first: frozenset[str] = frozenset()
    for member in members.values():
        if not first:
            first = frozenset(member.topics)
        elif len(member.topics) != len(first) or not first.issuperset(member.topics):
            return False
    return True


def _assign_equal(
    topics: _Topics, members: _Members, owners: PreviousOwners
) -> tuple[Assignment, _Transferring]:
    numbers = PartitionNumbers(sorted(topics, key=utf16), topics)
    owned = {member: numbers.numbers(partitions) for member, partitions in owners.owned.items()}
    contested = frozenset(numbers.numbers(owners.contested))
    racks = StickyRacks(numbers, topics, members.values())
    result = EqualSubscriptions(numbers, owned, contested, racks)
    transferring = numbers.names(result.transferring)
    return (
        {member: numbers.names(partitions) for member, partitions in result.assignment.items()},
        dict(zip(transferring, result.transferring.values(), strict=True)),
    )


def _transferring(assignment: Assignment, data: Mapping[str, MemberData]) -> _Transferring:
    """Return what somebody gets that somebody else loses."""
    added: _Transferring = {}
    lost: set[tuple[str, int]] = set()
    for member, partitions in assignment.items():
        owned = set(data[member].partitions)
        added.update((partition, member) for partition in partitions if partition not in owned)
        lost |= owned.difference(partitions)
    return {partition: member for partition, member in added.items() if partition in lost}


def _without(
    partitions: list[tuple[str, int]], withheld: set[tuple[str, int]]
) -> list[tuple[str, int]]:
    """Return the partitions without the first mention of each that is withheld."""
    kept = []
    for partition in partitions:
        if partition in withheld:
            withheld.remove(partition)
        else:
            kept.append(partition)
    return kept
