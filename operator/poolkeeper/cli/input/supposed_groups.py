"""A consumer group and what happens to it, from words of the command line.

    topic    NAME:PARTITIONS[@RACKS]   t0:4   t0:4@a,b   t0:4@a+b,b+c    or NAME, where a cluster
                                                                         tells the rest
    member   ID[@RACK]:TOPIC,TOPIC     C0:t0,t1   C0@a:t0
    event    --leave ID, --return ID, --add-partitions TOPIC:PARTITIONS, --move-topic TOPIC:RACKS

RACKS are those of the replicas of partition 0, 1, … by commas, several of one partition joined by
`+`; the list repeats for more partitions. Events happen in the order in which they are written.
All that is wrong is told at once.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import click

from poolkeeper.algorithms.assignors.group import GroupMember, GroupTopic
from poolkeeper.errors import InvalidInput, Problem, Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.topology import Cluster, Topic
from poolkeeper.studies.group_events import (
    GroupEvent,
    MemberLeaves,
    MemberReturns,
    PartitionRacks,
    PartitionsAdded,
    StudiedGroup,
    TopicMoves,
    after_event,
    placed_topic,
    repeat_racks,
)
from poolkeeper.text import few

PARTITIONS_MAX = 100_000
_TOPIC = re.compile(r"([^:@,+]+)(?::([0-9]{1,99}))?(?:@(.+))?")
_MEMBER = re.compile(r"([^:@,]+)(?:@([^:@,]+))?:([^:@]+)")
_ORDER = "poolkeeper.events"
EVENTS = {
    "leave": "--leave",
    "back": "--return",
    "add_partitions": "--add-partitions",
    "move_topic": "--move-topic",
    "move_to_pool": "--move-to-pool",
}
"""The parameters of events, with their options."""

MoveToPool = Callable[[str, str], PartitionRacks]
"""Returns the racks of a topic's partitions in a pool; raises Refused."""


class OrderedEvents(click.Command):
    """A command that knows in which order the options of events were written."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Note the order, then parse as usual."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        ctx.meta[_ORDER] = [each.name for each in order if each.name in EVENTS]
        return super().parse_args(ctx, args)


@frozen
class GroupWords:
    """The words; `events` in their order, each with its parameter."""

    topics: Sequence[str] = ()
    members: Sequence[str] = ()
    events: Sequence[tuple[str, str]] = ()


def events_in_order(given: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """The words of events in the order in which they were written."""
    words = {name: iter(given[name]) for name in EVENTS}
    order = click.get_current_context().meta[_ORDER]
    return [(name, next(words[name])) for name in order]


@dataclass
class _WordReader:
    """Reads words and collects what is wrong."""

    cluster: Cluster | None
    problems: list[Problem] = field(default_factory=list)

    def wrong(self, option: str, message: str) -> None:
        self.problems.append(Problem("", 0, option, message))

    def topics(
        self,
        words: Iterable[str],
        members: Iterable[GroupMember],
        observed: Iterable[GroupMember] = (),
    ) -> dict[str, GroupTopic]:
        """The topics that are named; from a cluster those of the members as well.

        A live member may subscribe to a topic that is not there; its assignor passes over it.
        """
        found: dict[str, GroupTopic] = {}
        for word in words:
            match = _TOPIC.fullmatch(word)
            if match is None:
                self.wrong(
                    "--topic", f"{word!r} (expected NAME:PARTITIONS or NAME:PARTITIONS@RACKS)"
                )
            elif match[1] in found:
                self.wrong("--topic", f"{match[1]} is given twice")
            elif (topic := self._topic(match)) is not None:
                found[match[1]] = topic
        named = {re.split("[:@]", word)[0] for word in words}
        for name in dict.fromkeys(topic for member in members for topic in member.topics):
            seen = None if self.cluster is None else self.cluster.topics.get(name)
            if name not in named and seen is not None and self.cluster is not None:
                found[name] = observed_topic(seen, self.cluster)
            elif name not in named:
                where = "the cluster has no such topic" if self.cluster else "no --topic gives it"
                self.wrong("--member", f"a member reads {name}: {where}")
        if self.cluster is not None:
            found |= topics_read(observed, self.cluster, except_for=named)
        if sum(topic.partitions for topic in found.values()) > PARTITIONS_MAX:
            self.wrong("--topic", f"more than {PARTITIONS_MAX:,} partitions in all")
        return found

    def _topic(self, match: re.Match[str]) -> GroupTopic | None:
        name, count, racks = match[1], match[2], match[3]
        seen = None if self.cluster is None else self.cluster.topics.get(name)
        if count is None and seen is None:
            message = f"{name}: how many partitions is not known (expected {name}:PARTITIONS)"
            self.wrong("--topic", message)
            return None
        known = None if seen is None or self.cluster is None else observed_topic(seen, self.cluster)
        partitions = known.partitions if count is None and known else int(count or 0)
        if not 0 < partitions <= PARTITIONS_MAX:
            message = f"{name}: {partitions} partitions (expected 1 to {PARTITIONS_MAX:,})"
            self.wrong("--topic", message)
            return None
        try:
            own = _racks(racks) if racks else known.racks if known else None
        except Refused as refused:
            self.wrong("--topic", str(refused))
            return None
        return GroupTopic(partitions, repeat_racks(own, partitions))

    def members(self, words: Iterable[str]) -> list[GroupMember]:
        found: dict[str, GroupMember] = {}
        for word in words:
            match = _MEMBER.fullmatch(word)
            if match is None:
                self.wrong("--member", f"{word!r} (expected ID:TOPIC,TOPIC or ID@RACK:TOPIC)")
            elif match[1] in found:
                self.wrong("--member", f"{match[1]} is given twice")
            else:
                topics = tuple(dict.fromkeys(filter(None, match[3].split(","))))
                found[match[1]] = GroupMember(match[1], rack=match[2], topics=topics)
        return list(found.values())

    def events(
        self, words: Iterable[tuple[str, str]], group: StudiedGroup, move_to_pool: MoveToPool | None
    ) -> Iterator[GroupEvent]:
        """The events, each tried: one that cannot happen is told, and the others go on."""
        for name, word in words:
            try:
                event = _event(name, word, group, move_to_pool)
                group = after_event(group, event)
            except Refused as refused:
                self.wrong(EVENTS[name], str(refused))
            else:
                yield event


def read(
    words: GroupWords,
    cluster: Cluster | None = None,
    observed: Sequence[GroupMember] = (),
    move_to_pool: MoveToPool | None = None,
) -> tuple[StudiedGroup, list[GroupEvent]]:
    """Return the group and its events; `observed`: members of a live group.

    `cluster` tells partitions and racks where there is one. Raises `InvalidInput`.
    """
    reader = _WordReader(cluster)
    added = reader.members(words.members)
    members = [*observed, *added]
    topics = reader.topics(words.topics, added, observed)
    if not members and not words.members:
        reader.wrong("--member", "the group has no members (expected ID:TOPIC, or --group)")
    group = StudiedGroup(topics, tuple(members))
    if reader.problems:
        raise InvalidInput(reader.problems)
    events = list(reader.events(words.events, group, move_to_pool))
    if reader.problems:
        raise InvalidInput(reader.problems)
    return group, events


def topics_read(
    members: Iterable[GroupMember], cluster: Cluster, except_for: Collection[str] = ()
) -> dict[str, GroupTopic]:
    """The topics of a cluster that members subscribe to, without some."""
    names = dict.fromkeys(topic for member in members for topic in member.topics)
    return {
        name: observed_topic(seen, cluster)
        for name in names
        if name not in except_for and (seen := cluster.topics.get(name)) is not None
    }


def observed_topic(topic: Topic, cluster: Cluster) -> GroupTopic:
    """A topic with the racks of its replicas."""
    racks = {id_: broker.rack for id_, broker in cluster.brokers.items()}
    return placed_topic((partition.replicas for partition in topic.partitions), racks)


def _racks(word: str) -> PartitionRacks:
    """The racks of partition 0, 1, …; raises `Refused` for one without a name."""
    racks = tuple(tuple(each.split("+")) for each in word.split(","))
    if not all(rack for each in racks for rack in each):
        raise Refused(f"{word!r} has a rack without a name (expected a,b+c)")
    return racks


def _event(
    name: str, word: str, group: StudiedGroup, move_to_pool: MoveToPool | None
) -> GroupEvent:
    if name == "leave":
        return MemberLeaves(member_named(word, [each.id for each in group.members]), word)
    if name == "back":
        return MemberReturns(member_named(word, list(group.away)), word)
    topic, _, rest = word.partition(":")
    if name == "add_partitions":
        if not re.fullmatch("[0-9]{1,9}", rest) or int(rest) > PARTITIONS_MAX:
            raise Refused(f"{word!r} (expected TOPIC:PARTITIONS, at most {PARTITIONS_MAX:,})")
        return PartitionsAdded(topic, int(rest))
    if not rest:
        raise Refused(f"{word!r} (expected TOPIC:{'RACKS' if name == 'move_topic' else 'POOL'})")
    if name == "move_topic":
        return TopicMoves(topic, _racks(rest), f"racks {rest}")
    if move_to_pool is None:
        raise Refused("pools are declared by manifests (expected -f)")
    return TopicMoves(topic, move_to_pool(topic, rest), f"pool {rest}")


def member_named(word: str, ids: Sequence[str]) -> str:
    """The member of that id, or the only one whose id begins so; the word itself if none does."""
    found = [id_ for id_ in ids if id_.startswith(word)]
    if word in ids or not found:
        return word
    if len(found) > 1:
        raise Refused(f"{word} is the beginning of several members: {few(found)}")
    return found[0]


def declared_growth(desired: Desired | None, group: StudiedGroup) -> list[GroupEvent]:
    """The partitions that manifests declare beyond what the group's topics have, as events."""
    wanted = {} if desired is None else {s.topic: s.declared_partitions for s in desired.topics}
    return [
        PartitionsAdded(name, count)
        for name, topic in sorted(group.topics.items())
        if (count := wanted.get(name)) is not None and count > topic.partitions
    ]
