"""Groups as their coordinators tell of them (0.9 and later).

Whoever shares work by Kafka's group protocol has a group: consumers, the workers of Kafka Connect,
schema registries. What a member joined with and was assigned is bytes, whose form the protocol type
says. Only those of consumers are read here, and a coordinator tells them only while the group is
stable. The library's own call reads the bytes of every member as a consumer's.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from kafka import errors as kafka_errors
from kafka.admin import KafkaAdminClient
from kafka.protocol.admin import DescribeGroupsRequest, DescribeGroupsResponse
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

from poolkeeper.algorithms.assignors.group import Assignment, Assignor, GroupMember
from poolkeeper.algorithms.groups import ListedMember
from poolkeeper.brokers import connections
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.frozen import frozen

_Group: TypeAlias = DescribeGroupsResponse.DescribedGroup
_Member: TypeAlias = DescribeGroupsResponse.DescribedGroup.DescribedGroupMember

GROUPS_AT_ONCE = 200
CONSUMERS = "consumer"
"""The protocol type of consumers."""
REBALANCING = ("PreparingRebalance", "CompletingRebalance", "AwaitingSync")
"""The states in which a coordinator tells who the members are, and nothing more of them."""
_UNREADABLE = (struct.error, ValueError)
_AWAY = (
    kafka_errors.CoordinatorNotAvailableError,
    kafka_errors.CoordinatorLoadInProgressError,
    kafka_errors.NotCoordinatorError,
)
"""What is said of a group whose coordinator is not there now; those of others may be."""


def members(
    client: KafkaAdminClient, names: Sequence[str] | None = None
) -> Mapping[str, tuple[ListedMember, ...] | None]:
    """The members of these groups, or of all that brokers list, in the order of each coordinator.

    A group that nobody knows has no members; None for one of which its coordinator does not tell.
    Raises Unavailable.
    """
    found: dict[str, tuple[ListedMember, ...] | None] = {}
    with connections.translate_errors("listing consumer groups"):
        if names is None:
            names = sorted({group["group_id"] for group in client.list_groups()})
        for first in range(0, len(names), GROUPS_AT_ONCE):
            asked = names[first : first + GROUPS_AT_ONCE]
            found |= dict.fromkeys(asked)
            for group in _described(client, asked):
                if not group.error_code:
                    found[group.group_id] = tuple(map(_listed, group.members))
    return found


def _described(client: KafkaAdminClient, names: Sequence[str]) -> Iterator[_Group]:
    """What coordinators tell of these groups; a group whose coordinator is away is left out.

    Raises the library's errors.
    """
    asked: defaultdict[int, list[str]] = defaultdict(list)
    for name, broker in _coordinators(client, names).items():
        asked[broker].append(name)
    manager = client._manager
    for broker, groups in sorted(asked.items()):
        answer = manager.run(manager.send, DescribeGroupsRequest(groups=groups), broker)
        yield from answer.groups


def _coordinators(client: KafkaAdminClient, names: Sequence[str]) -> Mapping[str, int]:
    """The broker that coordinates each group, without those whose coordinator is away.

    The library asks for all at once and tells of the first that is away: then each is asked for.
    """
    find = client._find_coordinator_ids
    try:
        return dict(client._manager.run(find, names))
    except _AWAY:
        if len(names) == 1:
            return {}
    found: dict[str, int] = {}
    for name in names:
        found |= _coordinators(client, [name])
    return found


def _listed(member: _Member) -> ListedMember:
    return ListedMember(
        member.member_id,
        member.client_id,
        member.client_host.removeprefix("/"),
        member.group_instance_id,
    )


@frozen
class ObservedGroup:
    """A consumer group as its coordinator tells of it.

    `assignors` are those that it may have: none if it is none of Kafka's own; of the sticky one
    brokers do not tell whether it is that of old clients.
    """

    members: tuple[GroupMember, ...]
    assignors: tuple[Assignor, ...]
    assignment: Assignment


_ASSIGNORS = {
    "range": (Assignor.RANGE,),
    "roundrobin": (Assignor.ROUND_ROBIN,),
    "sticky": (Assignor.STICKY, Assignor.STICKY_2_2),
    "cooperative-sticky": (Assignor.COOPERATIVE_STICKY,),
}
"""Kafka's assignors by the names that members join with."""


def describe(client: KafkaAdminClient, name: str) -> ObservedGroup:
    """The members of a group, what they subscribe to and read.

    Raises Unavailable, also while the group rebalances, and Refused for one that has other members
    than consumers.
    """
    with connections.translate_errors(f"describing consumer group {name}"):
        group = next(_described(client, [name]), None)
        if group is None:
            raise kafka_errors.CoordinatorNotAvailableError
        if group.error_code:
            raise kafka_errors.for_code(group.error_code)(group.error_message or "")
    if group.members and group.protocol_type != CONSUMERS:
        raise Refused(
            f"group {name} has no consumers (its members share work by {group.protocol_type!r})"
        )
    if group.group_state in REBALANCING:
        raise Unavailable(
            f"consumer group {name} rebalances ({group.group_state}): what its members subscribe to"
            " and read is told once all have joined"
        )
    members, assignment = [], {}
    for each in group.members:
        try:
            joined, read = _joined(each), _assigned(each)
        except _UNREADABLE as error:
            message = f"consumer group {name}: what {each.member_id} joined with cannot be read"
            raise Refused(f"{message} ({error})") from error
        members.append(joined)
        assignment[joined.id] = read
    return ObservedGroup(tuple(members), _ASSIGNORS.get(group.protocol_data, ()), assignment)


def _joined(member: _Member) -> GroupMember:
    """A consumer with its subscription; raises what `_UNREADABLE` says."""
    told = ConsumerProtocolSubscription.decode(member.member_metadata)
    topics = tuple(told.topics or ())
    return GroupMember(member.member_id, member.group_instance_id, told.rack_id or None, topics)


def _assigned(member: _Member) -> list[tuple[str, int]]:
    """What a consumer reads; raises what `_UNREADABLE` says. Without bytes it reads nothing."""
    if not member.member_assignment:
        return []
    told = ConsumerProtocolAssignment.decode(member.member_assignment)
    return [
        (each.topic, number)
        for each in told.assigned_partitions or ()
        for number in each.partitions
    ]
