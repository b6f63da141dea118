"""RangeAssignor of Kafka 3.9.2: each topic is cut into as many ranges as it has subscribers.

With q = partitions div subscribers and r the remainder, every subscriber takes q, and the first r
of them one more.

Where racks count for any topic, partitions are first given within racks, then the rest as above:
- Topics with the same subscribers and as many partitions are taken together, so that the same
  member reads partition p of each: p goes to the first member that is on a rack of p in every topic
  and has quota left in every topic. A member without a rack matches all.
- A topic by itself, if racks count for it: each member takes its quota of partitions on its rack.

Whoever first passes q takes one of the r extra partitions; while some are left, every quota is q+1.
"""

from collections import defaultdict, deque
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain

from poolkeeper.algorithms.assignors.group import Assignment, GroupMember, GroupTopic
from poolkeeper.algorithms.assignors.java_order import utf16
from poolkeeper.algorithms.assignors.member_order import member_order
from poolkeeper.algorithms.assignors.racks import rack_aware_enabled, replica_racks


@dataclass(slots=True)
class _TopicRanges:
    """A topic while it is cut: `consumers` in their order with their racks, and what each has.

    `racks` (per partition) is empty where no consumer has a rack.
    """

    topic: str
    consumers: Mapping[str, str | None]
    racks: list[frozenset[str]]
    unassigned: list[int]
    assigned: dict[str, int]
    quota: int
    extras: int
    rack_aware: bool

    def room(self, consumer: str) -> int:
        return max(0, self.quota + (self.extras > 0) - self.assigned[consumer])

    def count(self, consumer: str, partitions: int) -> None:
        self.assigned[consumer] += partitions
        if self.assigned[consumer] > self.quota:
            self.extras -= 1


def range_assign(
    topics: Mapping[str, GroupTopic], members: Mapping[str, GroupMember]
) -> Assignment:
    """Assign by ranges; `topics` are those subscribed to, both in the order of Kafka's maps."""
    states = _states(topics, members)
    assignment: Assignment = {member: [] for member in members}
    rack_aware = any(state.rack_aware for state in states)
    if rack_aware:
        _assign_within_racks(states, assignment)
    for state in states:
        _assign_rest(state, assignment)
    if rack_aware:
        for partitions in assignment.values():
            partitions.sort(key=lambda one: (utf16(one[0]), one[1]))
    return assignment


def _states(
    topics: Mapping[str, GroupTopic], members: Mapping[str, GroupMember]
) -> list[_TopicRanges]:
    consumers = defaultdict[str, dict[str, str | None]](dict)
    for member in member_order(members.values()):
        rack = members[member].rack or None
        for topic in members[member].topics:
            consumers[topic][member] = rack
    return [_state(name, topic, consumers[name]) for name, topic in topics.items()]


def _state(name: str, topic: GroupTopic, consumers: Mapping[str, str | None]) -> _TopicRanges:
    consumer_racks = {rack for rack in consumers.values() if rack is not None}
    racks = replica_racks(topic) if consumer_racks else []
    return _TopicRanges(
        topic=name,
        consumers=consumers,
        racks=racks,
        unassigned=list(range(topic.partitions)),
        assigned=dict.fromkeys(consumers, 0),
        quota=topic.partitions // len(consumers),
        extras=topic.partitions % len(consumers),
        rack_aware=rack_aware_enabled(consumer_racks, chain.from_iterable(racks), racks),
    )


def _assign_within_racks(states: Iterable[_TopicRanges], assignment: Assignment) -> None:
    alike = defaultdict[tuple[frozenset[tuple[str, str | None]], int], list[_TopicRanges]](list)
    for state in states:
        alike[frozenset(state.consumers.items()), len(state.racks)].append(state)
    for together in alike.values():
        if len(together) > 1:
            _assign_copartitioned(together, assignment)
        elif together[0].rack_aware:
            _assign_matching(together[0], assignment)


def _assign_copartitioned(states: list[_TopicRanges], assignment: Assignment) -> None:
    order = {consumer: place for place, consumer in enumerate(states[0].consumers)}
    waiting = defaultdict[str | None, deque[str]](deque)
    for each, rack in states[0].consumers.items():
        waiting[rack].append(each)
    taken = set()
    for partition in range(len(states[0].racks)):
        on_racks = frozenset.intersection(*(state.racks[partition] for state in states))
        found = (_first_with_room(waiting[rack], states) for rack in (None, *on_racks))
        matching = [each for each in found if each is not None]
        if not matching:
            continue
        consumer = min(matching, key=order.__getitem__)
        taken.add(partition)
        for state in states:
            assignment[consumer].append((state.topic, partition))
            state.count(consumer, 1)
    for state in states:
        state.unassigned = [one for one in state.unassigned if one not in taken]


def _first_with_room(consumers: deque[str], states: list[_TopicRanges]) -> str | None:
    """The first consumer with room in every topic; those before it never have room again."""
    while consumers and not all(state.room(consumers[0]) for state in states):
        consumers.popleft()
    return consumers[0] if consumers else None


def _assign_matching(state: _TopicRanges, assignment: Assignment) -> None:
    unassigned = dict.fromkeys(state.unassigned)
    matching = defaultdict[str | None, deque[int]](deque)
    for partition in unassigned:
        for rack in (None, *state.racks[partition]):
            matching[rack].append(partition)
    for consumer, rack in state.consumers.items():
        partitions = _taken(matching[rack], unassigned, state.room(consumer))
        if partitions:
            assignment[consumer] += [(state.topic, partition) for partition in partitions]
            state.count(consumer, len(partitions))
            for partition in partitions:
                del unassigned[partition]
    state.unassigned = list(unassigned)


def _taken(matching: deque[int], unassigned: Container[int], room: int) -> list[int]:
    """Take the first partitions that nobody has, as many as there is room for."""
    partitions: list[int] = []
    while matching and len(partitions) < room:
        partition = matching.popleft()
        if partition in unassigned:
            partitions.append(partition)
    return partitions


def _assign_rest(state: _TopicRanges, assignment: Assignment) -> None:
    first = 0
    for consumer in state.consumers:
        partitions = state.unassigned[first : first + state.room(consumer)]
        if partitions:
            assignment[consumer] += [(state.topic, partition) for partition in partitions]
            state.count(consumer, len(partitions))
            first += len(partitions)
