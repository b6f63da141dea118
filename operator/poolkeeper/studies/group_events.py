"""A consumer group that things happen to: members go and come back, topics grow and move.

A group is its topics and the members that are there. A member that leaves is remembered, so that it
can return: as a new process of the same name, which has nothing yet. A topic that moves to another
pool keeps its partitions; only the racks of their replicas change, and only assignors that look at
racks notice.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import TypeAlias

from poolkeeper.algorithms.assignors.group import GroupMember, GroupTopic
from poolkeeper.errors import Refused
from poolkeeper.frozen import frozen
from poolkeeper.text import one_of

PartitionRacks: TypeAlias = tuple[tuple[str, ...], ...]
"""For each partition the racks of its replicas."""


@frozen
class MemberLeaves:
    """A member stops, in an orderly way or not; `called`: by people, where that is not its id."""

    member: str
    called: str = ""

    def __str__(self) -> str:
        return f"{self.called or self.member} leaves"


@frozen
class MemberReturns:
    """A member that left is started again; `called` as of `MemberLeaves`."""

    member: str
    called: str = ""

    def __str__(self) -> str:
        return f"{self.called or self.member} returns"


@frozen
class PartitionsAdded:
    """A topic has that many partitions from now on."""

    topic: str
    partitions: int

    def __str__(self) -> str:
        return f"{self.topic} has {self.partitions}"


@frozen
class TopicMoves:
    """A topic's replicas are in other racks from now on; the last ones repeat for more partitions.

    `where` is what people call it: a pool, or the racks.
    """

    topic: str
    racks: PartitionRacks
    where: str

    def __str__(self) -> str:
        return f"{self.topic} to {self.where}"


@frozen
class PlanCarriedOut:
    """The group's topics are as a plan leaves them; one that is not there any more is deleted."""

    topics: Mapping[str, GroupTopic]

    def __str__(self) -> str:
        return "the plan is carried out"


GroupEvent: TypeAlias = MemberLeaves | MemberReturns | PartitionsAdded | TopicMoves | PlanCarriedOut


@frozen
class StudiedGroup:
    """A group, with the members that have left."""

    topics: Mapping[str, GroupTopic]
    members: tuple[GroupMember, ...]
    away: Mapping[str, GroupMember] = field(default_factory=dict)

    @property
    def read(self) -> dict[str, GroupTopic]:
        """The topics that a member subscribes to."""
        names = {topic for member in self.members for topic in member.topics}
        return {name: topic for name, topic in self.topics.items() if name in names}


def after_event(group: StudiedGroup, event: GroupEvent) -> StudiedGroup:
    """The group after an event; raises `Refused` where it cannot happen."""
    match event:
        case MemberLeaves(name):
            return _left(group, name)
        case MemberReturns(name):
            return _returned(group, name)
        case PartitionsAdded(topic, partitions):
            known = _topic(group, topic)
            if partitions <= known.partitions:
                more = f"{known.partitions} (expected more: partitions never shrink)"
                raise Refused(f"topic {topic} would have {partitions} partitions after {more}")
            grown = GroupTopic(partitions, repeat_racks(known.racks, partitions))
            return replace(group, topics={**group.topics, topic: grown})
        case TopicMoves(topic, racks):
            partitions = _topic(group, topic).partitions
            moved = GroupTopic(partitions, repeat_racks(racks, partitions))
            return replace(group, topics={**group.topics, topic: moved})
        case PlanCarriedOut(topics):
            return replace(group, topics=topics)


def placed_topic(lists: Iterable[Iterable[int]], racks: Mapping[int, str | None]) -> GroupTopic:
    """A topic whose partitions have these replicas, by the racks of brokers.

    Members see no rack of a broker that is gone, or has none; those of the others count.
    """
    found = tuple(
        tuple(rack for broker in replicas if (rack := racks.get(broker)) is not None)
        for replicas in lists
    )
    return GroupTopic(len(found), found if any(found) else None)


def repeat_racks(racks: PartitionRacks | None, partitions: int) -> PartitionRacks | None:
    """The racks of that many partitions: those given, over and over."""
    if racks is None:
        return None
    return tuple(racks[number % len(racks)] for number in range(partitions)) if racks else None


def _left(group: StudiedGroup, name: str) -> StudiedGroup:
    member = next((each for each in group.members if each.id == name), None)
    if member is None:
        there = one_of(each.id for each in group.members)
        raise Refused(f"member {name} cannot leave: it is not there ({there})")
    rest = tuple(each for each in group.members if each.id != name)
    return replace(group, members=rest, away={**group.away, name: member})


def _returned(group: StudiedGroup, name: str) -> StudiedGroup:
    if name not in group.away:
        raise Refused(f"member {name} cannot return: it has not left ({one_of(group.away)})")
    away = {id_: each for id_, each in group.away.items() if id_ != name}
    back = replace(group.away[name], owned=None, generation=None)
    return replace(group, members=(*group.members, back), away=away)


def _topic(group: StudiedGroup, name: str) -> GroupTopic:
    if name not in group.topics:
        raise Refused(f"the group has no topic {name} ({one_of(sorted(group.topics))})")
    return group.topics[name]
