"""Who leads consumer groups, read from `__consumer_offsets`: no request to brokers tells it.

The coordinator keeps each group as a record in the group's partition, written whenever a leader has
assigned partitions. Its key and value begin, whatever the release (big-endian, text with its length
in 16 bits, -1 for null):

    key     version, group                                              version 2: of a group
    value   version, protocol type, generation, protocol, leader, …    versions 0 to 3

The last record of a group counts, and no value means that the group is gone. Groups share their
partition with every commit of theirs, so it is read from its end backwards, in blocks that grow,
until all groups are found: one that rebalanced lately is found at once. A deadline ends the search,
and the rest is not known.
"""

import struct
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing

from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPartition
from kafka.admin import KafkaAdminClient

from poolkeeper.brokers import connections
from poolkeeper.frozen import frozen

OFFSETS_TOPIC = "__consumer_offsets"
BLOCK_OFFSETS = 1_000
"""The first block; each next one is `GROWTH` times as large."""
GROWTH = 8
BATCH_RECORDS = 5_000
CLOSE_S = 1.0
_GROUP_KEY, _LAST_VERSION = 2, 3


@frozen
class GroupLeaders:
    """The member that leads each group, None for one without; `unknown` were not found in time.

    A group of which there is no record, or one of a version that is not known, is in neither.
    """

    leaders: Mapping[str, str | None]
    unknown: frozenset[str] = frozenset()


def group_of_key(key: bytes | None) -> str | None:
    """The group whose record has this key; None for other records, and for damaged ones."""
    try:
        if key is None or struct.unpack_from(">h", key)[0] != _GROUP_KEY:
            return None
        return _text(key, 2)[0]
    except (struct.error, UnicodeDecodeError):
        return None


def leader_of_value(value: bytes) -> str | None:
    """The member id that leads a group by its record, None for nobody.

    Raises ValueError for a damaged record, and for a version that is not known.
    """
    try:
        version = struct.unpack_from(">h", value)[0]
        if not 0 <= version <= _LAST_VERSION:
            raise ValueError(f"version {version} (expected 0 to {_LAST_VERSION})")
        _, place = _text(value, 2)
        _, place = _text(value, place + 4)
        return _text(value, place)[0]
    except struct.error as cut:
        raise ValueError("it is cut off") from cut


def _text(body: bytes, place: int) -> tuple[str | None, int]:
    """The text at a place, and where it ends."""
    (length,) = struct.unpack_from(">h", body, place)
    if length < 0:
        return None, place + 2
    (text,) = struct.unpack_from(f"{length}s", body, place + 2)
    return text.decode(), place + 2 + length


def find_leaders(
    client: KafkaAdminClient, groups: Mapping[int, Iterable[str]], deadline_s: float
) -> GroupLeaders:
    """Find who leads these groups, given by their partition; raises Unavailable.

    Reading `__consumer_offsets` needs the permission to.
    """
    if not groups:
        return GroupLeaders({})
    with connections.translate_errors("reading who leads consumer groups"):
        deadline = time.monotonic() + deadline_s
        consumer = connections.consumer_beside(client, deadline_s)
        with closing(_Closer(consumer)):
            search = _BackwardRead(consumer, groups, deadline)
            search.run()
    return GroupLeaders(search.leaders, frozenset().union(*search.wanted.values()))


class _Closer:
    """Ends a consumer that has nothing to commit."""

    def __init__(self, consumer: KafkaConsumer) -> None:
        self._consumer = consumer

    def close(self) -> None:
        self._consumer.close(autocommit=False, timeout_ms=int(CLOSE_S * 1000))


class _BackwardRead:
    """Reads partitions backwards; `wanted` are the groups that are not found yet."""

    def __init__(
        self, consumer: KafkaConsumer, groups: Mapping[int, Iterable[str]], deadline: float
    ) -> None:
        self.leaders: dict[str, str | None] = {}
        self.wanted = {KafkaPartition(OFFSETS_TOPIC, n): set(names) for n, names in groups.items()}
        self._consumer = consumer
        self._deadline = deadline

    def run(self) -> None:
        """Read block after block until all are found, or nothing is left to read, or of time."""
        partitions = list(self.wanted)
        first = self._consumer.beginning_offsets(partitions, timeout_ms=self._left_ms())
        ends = dict(self._consumer.end_offsets(partitions, timeout_ms=self._left_ms()))
        length = BLOCK_OFFSETS
        while self.wanted and self._left_ms() > 1:
            starts = {each: max(first[each], ends[each] - length) for each in self.wanted}
            if not self._read(starts, ends):
                return
            for each in list(self.wanted):
                if not self.wanted[each] or starts[each] == first[each]:
                    del self.wanted[each]
            ends |= starts
            length *= GROWTH

    def _left_ms(self) -> int:
        return max(1, int((self._deadline - time.monotonic()) * 1000))

    def _read(
        self, starts: Mapping[KafkaPartition, int], ends: Mapping[KafkaPartition, int]
    ) -> bool:
        """Read one block of each partition; False if it took too long.

        What a block tells counts once it is read to its end: a later record may be in it.
        """
        consumer = self._consumer
        reading = {each for each, start in starts.items() if start < ends[each]}
        consumer.assign(sorted(reading))
        # A partition that stays assigned stays paused, as the block before has left it.
        consumer.resume(*reading)
        for each in reading:
            consumer.seek(each, starts[each])
        found: defaultdict[KafkaPartition, dict[str, bytes | None]] = defaultdict(dict)
        while reading:
            if self._left_ms() <= 1:
                return False
            answer = consumer.poll(min(500, self._left_ms()), max_records=BATCH_RECORDS)
            for each, records in answer.items():
                for record in records:
                    name = group_of_key(record.key)
                    if name in self.wanted[each] and record.offset < ends[each]:
                        found[each][name] = record.value
            for each in [p for p in reading if consumer.position(p, self._left_ms()) >= ends[p]]:
                reading.discard(each)
                consumer.pause(each)
                self._note(each, found[each])
        return True

    def _note(self, partition: KafkaPartition, values: Mapping[str, bytes | None]) -> None:
        self.wanted[partition] -= values.keys()
        for name, value in values.items():
            try:
                self.leaders[name] = None if value is None else leader_of_value(value)
            except ValueError:
                continue
