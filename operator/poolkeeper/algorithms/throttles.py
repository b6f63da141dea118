"""Replication throttle lists: which replicas of a topic are slowed down while they are copied.

`leader.replication.throttled.replicas` and `follower.…` of a topic hold `partition:broker` pairs
separated by commas, or `*` for all, or nothing. A broker applies its rate to the pairs with its own
id, and only to replicas outside the ISR.

What passes is what Kafka 2.5 and later lets pass: every element is `digits:digits` or empty, blanks
allowed around elements, or `*` stands alone (1.1 to 2.4 let anything follow a leading `*`; that is
refused here, as a broker makes no use of it).

The lists for a set of moves are those of Kafka 2.6 and later:
- sources of a partition: its replicas without those being added, of a move under way; else its
  present replicas. Destinations: the target without the sources.
- the leader list names every source, for any of them may lead before the move is over; the follower
  list names every destination;
- partitions that merely move already are listed too, every topic gets both values, and pairs are
  sorted as text ("0:1", "10:1", "2:1").
"""

import re
from collections.abc import Iterable, Mapping

from poolkeeper.algorithms.reassignments import ReplicaAssignment
from poolkeeper.errors import InvalidInput, Problem, Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.topic_config.values import trim
from poolkeeper.model.topology import Replicas, TopicPartition

LEADER_LIST = "leader.replication.throttled.replicas"
FOLLOWER_LIST = "follower.replication.throttled.replicas"
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"

TOPIC_KEYS = (LEADER_LIST, FOLLOWER_LIST)
BROKER_KEYS = (LEADER_RATE, FOLLOWER_RATE, LOG_DIRS_RATE)
EVERY = "*"

_PAIR = re.compile(r"([0-9]+):([0-9]+)")
_DIGITS_MAX = 18


@frozen
class ReplicaList:
    """A throttle list: (partition, broker) pairs, or every replica of the topic."""

    pairs: frozenset[tuple[int, int]] = frozenset()
    every: bool = False

    def covers(self, partition: int, broker: int) -> bool:
        """Whether that replica is throttled."""
        return self.every or (partition, broker) in self.pairs

    def __str__(self) -> str:
        return EVERY if self.every else list_value(self.pairs)


@frozen
class Copying:
    """One partition's brokers that send its data and those that receive it."""

    sources: frozenset[int]
    destinations: frozenset[int]


@frozen
class ThrottleLists:
    """The values of both keys by topic, and the brokers that need rates, ascending."""

    leader: Mapping[str, str]
    follower: Mapping[str, str]
    brokers: tuple[int, ...]


def is_valid(value: str) -> bool:
    """Whether Kafka's validator lets the list pass."""
    parts = [trim(part) for part in value.split(",")]
    return "".join(parts) == EVERY or all(not part or _PAIR.fullmatch(part) for part in parts)


def parse(value: str) -> ReplicaList:
    """Read a list; `Refused` if Kafka would refuse it. "0:1,0:2" → {(0, 1), (0, 2)}."""
    if not is_valid(value):
        expected = "(expected partition:broker pairs such as 0:1,1:2, or *)"
        raise Refused(f"{value!r} is no list of replicas {expected}")
    if EVERY in value:
        return ReplicaList(every=True)
    pairs = _PAIR.findall(value)
    if any(len(number) > _DIGITS_MAX for pair in pairs for number in pair):
        raise Refused("a list of replicas has a number that no partition or broker has")
    return ReplicaList(frozenset((int(p), int(b)) for p, b in pairs))


def list_value(pairs: Iterable[tuple[int, int]]) -> str:
    """The value of a list, pairs sorted as text and each named once: (2,1), (10,1) → "10:1,2:1"."""
    return ",".join(sorted({f"{partition}:{broker}" for partition, broker in pairs}))


def copying(
    running: Mapping[TopicPartition, ReplicaAssignment],
    proposed: Mapping[TopicPartition, Replicas],
    current: Mapping[TopicPartition, Replicas],
) -> dict[TopicPartition, Copying]:
    """Who sends and who receives, by partition: moves under way first, then proposed ones.

    `current` holds the present replicas of proposed partitions that do not move yet; `Refused` if
    one is missing there.
    """
    found = {
        partition: Copying(frozenset(state.origin), frozenset(state.adding))
        for partition, state in running.items()
    }
    missing = [name for name in proposed if name not in found and name not in current]
    if missing:
        said = "is missing (expected its replicas, as it does not move yet)"
        raise InvalidInput(Problem("", 0, f"current.{name[0]}-{name[1]}", said) for name in missing)
    for partition, target in proposed.items():
        known = found.get(partition)
        sources = known.sources if known else frozenset(current[partition])
        found[partition] = Copying(sources, frozenset(target) - sources)
    return found


def throttle_lists(copies: Mapping[TopicPartition, Copying]) -> ThrottleLists:
    """Both lists of every topic named. t-0 from 1 3 to 1 2: leader 0:1,0:3 and follower 0:2."""
    sending: dict[str, list[tuple[int, int]]] = {}
    receiving: dict[str, list[tuple[int, int]]] = {}
    brokers: set[int] = set()
    for (topic, partition), copy in copies.items():
        sending.setdefault(topic, []).extend((partition, broker) for broker in copy.sources)
        receiving.setdefault(topic, []).extend((partition, broker) for broker in copy.destinations)
        brokers |= copy.sources | copy.destinations
    return ThrottleLists(
        {topic: list_value(sending[topic]) for topic in sorted(sending)},
        {topic: list_value(receiving[topic]) for topic in sorted(receiving)},
        tuple(sorted(brokers)),
    )
