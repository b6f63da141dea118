"""What fits into one stage, apart from the laws: counts, bytes, sizes of znodes.

Limits that a person sets (`execution` of the KafkaCluster): replicas in flight in the cluster and
per broker, in and out each, and bytes of one stage. A replica comes *in* on the broker that adds
it and goes *out* of the partition's leader, because Kafka copies from there. Each limit admits at
least one move, so no limit can stop a plan: a move that exceeds a limit of the cluster or of bytes
by itself goes alone, and one that exceeds that of a broker goes with none that touches this broker.

Limits of ZooKeeper and the controller (`Bounds`):

* The request node, and the transaction around it with one check per topic, stay far below
  `jute.maxbuffer`, where ZooKeeper would cut the connection. So does the journal's record of what
  is requested, a transaction of its own: it names the lists before as well.
* The controller rewrites the whole topic node twice for every partition that it moves. So n
  partitions of a topic with a node of s bytes cost 2·n·s bytes of writes, quadratic in the size of
  the topic. n·s is bounded: a topic of 2,000 partitions (about 30 KiB) moves some 35 at a time,
  one of 100 partitions moves whole. A few partitions may move even in the largest topic.
* The topic node grows while its partitions move. If it would come near `jute.maxbuffer`, fewer
  partitions move at a time, or none.

`stage_capacity` has what is left of one stage while it is packed.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from poolkeeper.algorithms.sizes import reassignment_entry_bytes
from poolkeeper.frozen import frozen
from poolkeeper.model.columns.partition_queries import last_of, longest_of
from poolkeeper.model.topology import Replicas, Topic, TopicPartition

_CHECK_BYTES = 64 + len("/brokers/topics/")
"""Of a check in a transaction, as `zk.client.operations` counts it, besides the topic's name."""

_NUMBER_BYTES_MAX = 21
_JOURNAL_ENTRY_BYTES = 16
"""Of the run's record of the stage, per move."""

_ENTRY_BYTES_MAX = (
    2
    + reassignment_entry_bytes("", 0, ())
    + _NUMBER_BYTES_MAX
    + _JOURNAL_ENTRY_BYTES
    + _CHECK_BYTES
)

_RECORDED_MOVE = len("[,[],[],],")
_RECORDED_TOPIC = len('"":{"id":"","moves":[]},') + 36
"""Of a topic in the record of what is requested, with an identity as long as a UUID."""


@frozen
class Bounds:
    """Limits that protect ZooKeeper, the controller and disks."""

    request_bytes: int = 200 * 1024
    transaction_bytes: int = 240 * 1024
    record_bytes: int = 240 * 1024
    topics: int = 480
    topic_write_bytes: int = 2 * 1024**2
    topic_partitions_min: int = 10
    topic_node_bytes: int = 1_000_000
    disk_margin_percent: int = 5


DEFAULT_BOUNDS = Bounds()
FORGET_MS = 600_000


@frozen
class ServerLimits:
    """What the servers were found to take, at `learned_ms`: of our transactions, of topic nodes.

    It is forgotten after a while: servers are restarted with another limit.
    """

    transaction_bytes: int = DEFAULT_BOUNDS.transaction_bytes
    topic_node_bytes: int = DEFAULT_BOUNDS.topic_node_bytes
    learned_ms: int = 0

    def as_of(self, now_ms: int) -> "ServerLimits":
        """Return what is known of it at this time."""
        if now_ms - self.learned_ms > FORGET_MS:
            return ServerLimits(learned_ms=now_ms)
        return replace(self, learned_ms=now_ms)

    def bounds(self, now_ms: int) -> Bounds:
        """Return the bounds of a stage."""
        known = self.as_of(now_ms)
        most = min(known.transaction_bytes, DEFAULT_BOUNDS.transaction_bytes)
        return replace(
            DEFAULT_BOUNDS,
            request_bytes=most * DEFAULT_BOUNDS.request_bytes // DEFAULT_BOUNDS.transaction_bytes,
            transaction_bytes=most,
            record_bytes=most,
            topic_node_bytes=min(known.topic_node_bytes, DEFAULT_BOUNDS.topic_node_bytes),
        )


class Entry(NamedTuple):
    """One step that may go next: of the move with index `move`, to list `step` of its path.

    `added`: the brokers that receive `size` bytes each, from `leader`.
    """

    urgency: int
    bytes: int
    move: int
    step: int
    topic: str
    partition: int
    before: Replicas
    after: Replicas
    added: Replicas
    leader: int
    size: int

    @property
    def name(self) -> TopicPartition:
        """The partition that moves."""
        return TopicPartition(self.topic, self.partition)

    @property
    def removed(self) -> Replicas:
        """Brokers that hold the partition before the step and not after it."""
        return tuple(broker for broker in self.before if broker not in self.after)


class TopicCaps:
    """How many partitions of each topic may be in one request."""

    def __init__(self, topics: Mapping[str, Topic], bounds: Bounds) -> None:
        self._topics = topics
        self._bounds = bounds
        self._caps: dict[str, int] = {}

    def of(self, topic: str) -> int:
        """The topic's cap; 0 if its node is too large for any move."""
        found = self._caps.get(topic)
        if found is None:
            found = self._caps[topic] = self._cap(self._topics[topic])
        return found

    def _cap(self, topic: Topic) -> int:
        if not topic.partitions:
            return 0
        node, growth = node_bytes(topic)
        bounds = self._bounds
        by_writes = max(bounds.topic_partitions_min, bounds.topic_write_bytes // (2 * node))
        return min(by_writes, max(0, bounds.topic_node_bytes - node) // growth)


def node_bytes(topic: Topic) -> tuple[int, int]:
    """Return the bytes of a topic's node, and by how many it grows for a partition that moves.

    Both are upper estimates, as if all lists were as long as the longest.
    """
    number, replicas = last_of(topic.partitions)
    ids = max(len(str(broker)) for broker in replicas or (0,)) + 1
    line = len(str(number)) + 6 + longest_of(topic.partitions) * ids
    return 120 + line * len(topic.partitions), 4 * line


def bytes_at_most(topic: str, replicas: int) -> int:
    """More bytes than a step adds to the transaction, or to the record before it.

    No number in them has twenty digits. `replicas`: of the lists before and after.
    """
    return _ENTRY_BYTES_MAX + 2 * len(topic) + _NUMBER_BYTES_MAX * replicas


def line_bytes(entry: Entry) -> int:
    """Bytes that the step adds to the request node."""
    return 1 + reassignment_entry_bytes(entry.topic, entry.partition, entry.after)


def bytes_around(entry: Entry, held: int) -> int:
    """Bytes that it adds to the transaction outside of the request node.

    `held`: steps of its topic that are in the transaction already.
    """
    return _JOURNAL_ENTRY_BYTES + (0 if held else _CHECK_BYTES + len(entry.topic))


def record_bytes(entry: Entry, held: int) -> int:
    """Bytes that it adds at most to the record of what is requested; `held` as before."""
    numbers = (entry.partition, *entry.before, *entry.after, entry.bytes)
    lists = sum(len(str(number)) + 1 for number in numbers)
    return _RECORDED_MOVE + lists + (0 if held else _RECORDED_TOPIC + len(entry.topic))
