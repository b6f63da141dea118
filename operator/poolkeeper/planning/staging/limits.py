"""What fits into one stage, apart from the laws: counts, bytes, sizes of znodes.

Limits that a person sets (`execution` of the KafkaCluster): replicas in flight in the cluster and
per broker, in and out each, and bytes of one stage. A replica comes *in* on the broker that adds
it and goes *out* of the partition's leader, because Kafka copies from there. Each limit admits at
least one move: a move that exceeds a limit by itself goes alone, so no limit can stop a plan.

Limits of ZooKeeper and the controller (`Bounds`):

* The request node, and the transaction around it with one check per topic, stay far below
  `jute.maxbuffer`, where ZooKeeper would cut the connection.
* The controller rewrites the whole topic node twice for every partition that it moves. So n
  partitions of a topic with a node of s bytes cost 2·n·s bytes of writes, quadratic in the size of
  the topic. n·s is bounded: a topic of 2,000 partitions (about 30 KiB) moves some 35 at a time,
  one of 100 partitions moves whole. A few partitions may move even in the largest topic.
* The topic node grows while its partitions move. If it would come near `jute.maxbuffer`, fewer
  partitions move at a time, or none.

`StageCapacity` is what is left of one stage while it is packed. `span_bytes` caps what any broker
takes in or gives out, so that brokers finish together.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from poolkeeper.algorithms.sizes import reassignment_bytes, reassignment_entry_bytes
from poolkeeper.frozen import frozen
from poolkeeper.model.columns.partition_columns import last_of, longest_of
from poolkeeper.model.specs import Execution
from poolkeeper.model.topology import Replicas, Topic, TopicPartition

_CHECK_BYTES = 9 + 4 + len("/brokers/topics/") + 4
"""Of a transaction's check operation, besides the topic's name: header, path length, version."""

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


@frozen
class Bounds:
    """Limits that protect ZooKeeper, the controller and disks."""

    request_bytes: int = 200 * 1024
    transaction_bytes: int = 240 * 1024
    topics: int = 480
    topic_write_bytes: int = 2 * 1024**2
    topic_partitions_min: int = 10
    topic_node_bytes: int = 1_000_000
    disk_margin_percent: int = 5


DEFAULT_BOUNDS = Bounds()


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
        """The cap by an upper estimate of the node, as if all lists were as long as the longest."""
        if not topic.partitions:
            return 0
        number, replicas = last_of(topic.partitions)
        ids = max(len(str(broker)) for broker in replicas or (0,)) + 1
        line = len(str(number)) + 6 + longest_of(topic.partitions) * ids
        node = 120 + line * len(topic.partitions)
        bounds = self._bounds
        by_writes = max(bounds.topic_partitions_min, bounds.topic_write_bytes // (2 * node))
        return min(by_writes, max(0, bounds.topic_node_bytes - node) // (4 * line))


class StageCapacity:
    """What is left of one stage while it is packed."""

    def __init__(
        self, execution: Execution, bounds: Bounds, caps: TopicCaps, span_bytes: int
    ) -> None:
        self.span_bytes = span_bytes
        self.bytes = 0
        self.bytes_in: defaultdict[int, int] = defaultdict(int)
        self.bytes_out: defaultdict[int, int] = defaultdict(int)
        self._replicas_max = execution.max_moves
        self._replicas_of_broker_max = execution.max_moves_per_broker
        self._bytes_max = execution.max_bytes
        self._bounds = bounds
        self._caps = caps
        self._replicas = 0
        self.replicas_in: defaultdict[int, int] = defaultdict(int)
        self.replicas_out: defaultdict[int, int] = defaultdict(int)
        self._topics: dict[str, int] = {}
        self._request_bytes = reassignment_bytes(())
        self._transaction_bytes = 0
        self._bytes_at_most = self._request_bytes
        self._unmeasured: list[tuple[Entry, int]] = []
        self._request_bytes_surely = min(bounds.request_bytes, bounds.transaction_bytes)

    @property
    def full(self) -> bool:
        """Whether the stage reaches the cluster's limit of replicas in flight."""
        return self._replicas >= self._replicas_max

    def replicas(self, broker: int, *, out: bool) -> int:
        """How many replicas that broker takes in, or gives out."""
        return (self.replicas_out if out else self.replicas_in)[broker]

    @property
    def in_flight(self) -> int:
        """Replicas that the stage takes; a step that only reorders counts too."""
        return self._replicas

    def held_bytes(self, broker: int, *, out: bool) -> int:
        """Bytes that the broker takes in, or gives out."""
        return (self.bytes_out if out else self.bytes_in)[broker]

    def fits(self, entry: Entry) -> bool:
        """Whether the entry may join; any entry fits into an empty stage."""
        if not self._topics:
            return True
        held = self._topics.get(entry.topic, 0)
        if held >= self._caps.of(entry.topic):
            return False  # the usual cause
        added, size = entry.added, entry.bytes
        count = len(added)
        if self._replicas + (count or 1) > self._replicas_max or (
            self.bytes + size > self._bytes_max
        ):
            return False
        for broker in added:
            taken = self.replicas_in[broker]
            if taken and (
                taken >= self._replicas_of_broker_max
                or self.bytes_in[broker] + entry.size > self.span_bytes
            ):
                return False
        if count and (out := self.replicas_out[entry.leader]):
            much = self.bytes_out[entry.leader] + size > self.span_bytes
            if much or out + count > self._replicas_of_broker_max:
                return False
        return self._fits_request(entry, held)

    def _fits_request(self, entry: Entry, held: int) -> bool:
        bounds = self._bounds
        if not held and len(self._topics) >= bounds.topics:
            return False
        if self._bytes_at_most + _bytes_at_most(entry) <= self._request_bytes_surely:
            return True
        self._measure()
        request = self._request_bytes + _line_bytes(entry)
        return (
            request <= bounds.request_bytes
            and self._transaction_bytes + request + _around(entry, held) <= bounds.transaction_bytes
        )

    def _measure(self) -> None:
        """Count the bytes of the entries exactly: few stages come near the size of a request."""
        for entry, held in self._unmeasured:
            self._request_bytes += _line_bytes(entry)
            self._transaction_bytes += _around(entry, held)
        self._unmeasured.clear()
        self._bytes_at_most = self._request_bytes + self._transaction_bytes

    def take(self, entry: Entry) -> None:
        """Count the entry as part of the stage."""
        added, size, leader = entry.added, entry.size, entry.leader
        self._replicas += len(added) or 1
        self.bytes += entry.bytes
        for broker in added:
            self.replicas_in[broker] += 1
            self.bytes_in[broker] += size
        if added:
            self.replicas_out[leader] += len(added)
            self.bytes_out[leader] += entry.bytes
        held = self._topics.get(entry.topic, 0)
        self._unmeasured.append((entry, held))
        self._bytes_at_most += _bytes_at_most(entry)
        self._topics[entry.topic] = held + 1

    @property
    def within_limits(self) -> bool:
        """Whether counts and bytes are within the limits; a group that goes together may not be."""
        busiest = max(0, *self.replicas_in.values(), *self.replicas_out.values(), 0)
        alone = sum(self._topics.values()) == 1
        return alone or (busiest <= self._replicas_of_broker_max and self.bytes <= self._bytes_max)

    @property
    def span_used_bytes(self) -> int:
        """Bytes that the busiest broker takes in or gives out."""
        return max(max(self.bytes_in.values(), default=0), max(self.bytes_out.values(), default=0))


def _bytes_at_most(entry: Entry) -> int:
    """More bytes than the entry adds to the transaction: no number in it has twenty digits."""
    return _ENTRY_BYTES_MAX + 2 * len(entry.topic) + _NUMBER_BYTES_MAX * len(entry.after)


def _line_bytes(entry: Entry) -> int:
    return 1 + reassignment_entry_bytes(entry.topic, entry.partition, entry.after)


def _around(entry: Entry, held: int) -> int:
    """Bytes that the entry adds to the transaction outside of the request node."""
    return _JOURNAL_ENTRY_BYTES + (0 if held else _CHECK_BYTES + len(entry.topic))
