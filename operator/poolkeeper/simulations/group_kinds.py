"""Kinds of what the leader of a consumer group computes."""

from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta, Struct

from poolkeeper.algorithms.assignors.assign import assign
from poolkeeper.algorithms.assignors.group import Assignment, Assignor, GroupMember, GroupTopic
from poolkeeper.algorithms.assignors.member_order import member_order as order
from poolkeeper.algorithms.assignors.racks import rack_aware_enabled as racks_count
from poolkeeper.errors import Problem
from poolkeeper.simulations import bounds
from poolkeeper.simulations.bounds import count_problem, refuse
from poolkeeper.text import count
from poolkeeper.typed_json import INTEGER_MAX, PartitionNumber, refuse_twice, unique

_Racks = Annotated[tuple[str, ...], Meta(description="a list of racks")]
_RacksOfEach = Annotated[tuple[_Racks, ...], Meta(description="a list of lists of racks")]
_Owned = Annotated[tuple[str, PartitionNumber], Meta(description="a topic and a partition")]
_Generation = Annotated[
    int, Meta(ge=-1, le=INTEGER_MAX, description=f"an integer from -1 to {INTEGER_MAX}")
]
_Partitions = Annotated[
    int,
    Meta(
        ge=0,
        le=bounds.PARTITIONS_MAX,
        description=f"an integer from 0 to {bounds.PARTITIONS_MAX}",
    ),
]


class SubscribedTopic(Struct, gc=False):
    """A topic: how many partitions it has, and the racks of each partition's replicas."""

    partitions: _Partitions
    racks: _RacksOfEach | None = None


class NamedMember(Struct, gc=False):
    """A member by its ids."""

    id: str
    instance_id: str | None = None


class SubscribedMember(Struct, gc=False):
    """A member as it joins."""

    id: str
    topics: Annotated[tuple[str, ...], Meta(description="a list of topics")]
    instance_id: str | None = None
    rack: str | None = None


class OwningMember(SubscribedMember, gc=False):
    """A member as it joins, with what it read before."""

    owned: tuple[_Owned, ...] | None = None
    generation: _Generation | None = None


class ConsumerGroup(Struct, gc=False):
    """Topics and members at a rebalance; what members owned is of no account."""

    topics: dict[str, SubscribedTopic]
    members: Annotated[tuple[SubscribedMember, ...], unique("id")]

    def __post_init__(self) -> None:
        refuse_twice(member.id for member in self.members)


class StickyGroup(Struct, gc=False):
    """Topics and members at a rebalance, for the assignor as it was in 2.2 or is in 3.9."""

    topics: dict[str, SubscribedTopic]
    members: Annotated[tuple[OwningMember, ...], unique("id")]
    algorithm: Literal["2.2", "3.9"] | None = None

    def __post_init__(self) -> None:
        refuse_twice(member.id for member in self.members)


class CooperativeGroup(Struct, gc=False):
    """Topics and members at a rebalance, for the assignor of 3.9: 2.2 has none."""

    topics: dict[str, SubscribedTopic]
    members: Annotated[tuple[OwningMember, ...], unique("id")]
    algorithm: Literal["3.9"] | None = None

    def __post_init__(self) -> None:
        refuse_twice(member.id for member in self.members)


class NamedMembers(Struct, gc=False):
    """The members of a group."""

    members: Annotated[tuple[NamedMember, ...], unique("id")]

    def __post_init__(self) -> None:
        refuse_twice(member.id for member in self.members)


class GroupRacks(Struct, gc=False):
    """The racks of members, of partitions, and of each partition."""

    consumer_racks: _Racks
    partition_racks: _Racks
    racks_per_partition: _RacksOfEach


def range_(group: ConsumerGroup) -> Assignment:
    """Return what each member reads by the range assignor."""
    return _assigned(Assignor.RANGE, group)


def round_robin(group: ConsumerGroup) -> Assignment:
    """Return what each member reads by the round robin assignor."""
    return _assigned(Assignor.ROUND_ROBIN, group)


def sticky(group: StickyGroup) -> Assignment:
    """Return what each member reads by the sticky assignor."""
    return _assigned(Assignor.STICKY_2_2 if group.algorithm == "2.2" else Assignor.STICKY, group)


def cooperative_sticky(group: CooperativeGroup) -> Assignment:
    """Return what each member reads by the cooperative assignor, in the first of its rounds."""
    return _assigned(Assignor.COOPERATIVE_STICKY, group)


def member_order(group: NamedMembers) -> list[str]:
    """Return the ids in the order of the range and round robin assignors."""
    return order(GroupMember(member.id, member.instance_id) for member in group.members)


def rack_aware_enabled(racks: GroupRacks) -> bool:
    """Return whether racks count."""
    return racks_count(racks.consumer_racks, racks.partition_racks, racks.racks_per_partition)


def _assigned(
    assignor: Assignor, group: ConsumerGroup | StickyGroup | CooperativeGroup
) -> Assignment:
    partitions = sum(topic.partitions for topic in group.topics.values())
    simple = isinstance(group, ConsumerGroup)
    most = bounds.PARTITIONS_MAX if simple else bounds.STICKY_PARTITIONS_MAX
    refuse(
        count_problem("topics", partitions, most, "partitions"),
        count_problem("members", len(group.members), bounds.MEMBERS_MAX, "members"),
        _racks_of_others(group.topics.items()),
    )
    topics = {
        name: GroupTopic(topic.partitions, topic.racks) for name, topic in group.topics.items()
    }
    return assign(assignor, topics, [_member(member) for member in group.members])


def _member(member: SubscribedMember) -> GroupMember:
    owned, generation = None, None
    if isinstance(member, OwningMember):
        owned, generation = member.owned, member.generation
    return GroupMember(member.id, member.instance_id, member.rack, member.topics, owned, generation)


def _racks_of_others(topics: Iterable[tuple[str, SubscribedTopic]]) -> Iterable[Problem]:
    for name, topic in topics:
        if topic.racks is not None and len(topic.racks) != topic.partitions:
            has = count(len(topic.racks), "list", grouped=False)
            message = f"has {has} (expected one for each partition, {topic.partitions})"
            yield Problem("", 0, f"topics.{name[:60]}.racks", message)
