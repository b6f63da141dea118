"""Groups as their coordinators tell of them (0.9 and later).

Whoever shares work by Kafka's group protocol has a group: consumers, the workers of Kafka Connect,
schema registries. What a member joined with and was assigned is bytes, whose form the protocol type
says. Only those of consumers are read here, and a coordinator tells them only while the group is
stable. The library's own call reads the bytes of every member as a consumer's.
"""

import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from typing import Protocol, TypeAlias, TypeVar

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
from poolkeeper.brokers.sizes import Failure
from poolkeeper.errors import Refused, Unavailable
from poolkeeper.frozen import frozen

_Group: TypeAlias = DescribeGroupsResponse.DescribedGroup
_Member: TypeAlias = DescribeGroupsResponse.DescribedGroup.DescribedGroupMember

Answer = TypeVar("Answer")

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


@frozen
class GroupMembers:
    """Groups with their members, in the order of each coordinator.

    A group that nobody knows has no members; None for one of which its coordinator does not tell.
    `failures`: why brokers told nothing: groups that they alone know are missing.
    """

    members: Mapping[str, tuple[ListedMember, ...] | None]
    failures: Mapping[int, Failure] = field(default_factory=dict)


class AskEach(Protocol):
    """Asks brokers side by side."""

    def __call__(
        self, brokers: Iterable[int], question: Callable[[int], Answer]
    ) -> tuple[dict[int, Answer], dict[int, Failure]]:
        """The answers, and why others gave none, by broker."""


def all_members(client: KafkaAdminClient, brokers: Iterable[int], ask: AskEach) -> GroupMembers:
    """The members of all groups that these brokers list: each lists those that it coordinates.

    Raises Unavailable where none of them does.
    """

    def listed(broker: int) -> list[str]:
        return [group["group_id"] for group in client.list_groups(broker_ids=[broker])]

    names, failures = ask(brokers, listed)
    if failures and not names:
        raise Unavailable(f"listing consumer groups: {next(iter(failures.values()))}")
    told = members(client, sorted(set().union(*names.values())), ask)
    return replace(told, failures={**failures, **told.failures})


def members(client: KafkaAdminClient, names: Sequence[str], ask: AskEach) -> GroupMembers:
    """The members of these groups; raises Unavailable where nobody tells who coordinates them."""
    asked: defaultdict[int, list[str]] = defaultdict(list)
    with connections.translate_errors("finding coordinators of consumer groups"):
        for some in _batches(names):
            for name, broker in _coordinators(client, some).items():
                asked[broker].append(name)

    def told(broker: int) -> list[_Group]:
        return [
            group for some in _batches(asked[broker]) for group in _described(client, broker, some)
        ]

    answers, failures = ask(asked, told)
    found: dict[str, tuple[ListedMember, ...] | None] = dict.fromkeys(names)
    for group in chain.from_iterable(answers.values()):
        if not group.error_code:
            found[group.group_id] = tuple(map(_listed, group.members))
    return GroupMembers(found, failures)


def _batches(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(names), GROUPS_AT_ONCE):
        yield names[first : first + GROUPS_AT_ONCE]


def _described(client: KafkaAdminClient, broker: int, names: Sequence[str]) -> Iterator[_Group]:
    """What a broker tells of groups that it coordinates; raises the library's errors."""
    manager = client._manager
    yield from manager.run(manager.send, DescribeGroupsRequest(groups=list(names)), broker).groups


def _coordinators(client: KafkaAdminClient, names: Sequence[str]) -> Mapping[str, int]:
    """The broker that coordinates each group, without those whose coordinator is away.

    The library asks for all at once and tells of the first that is away: then each is asked for.
    """
    find = client._find_coordinator_ids
    try:
        return dict(connections.ask_any(client, find, names))
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
        broker = _coordinators(client, [name]).get(name)
        if broker is None:
            raise Unavailable(
                f"consumer group {name} has no coordinator now: it is the leader of the group's"
                " partition of __consumer_offsets"
            )
        (group,) = _described(client, broker, [name])
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
