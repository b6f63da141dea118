"""When racks count: KIP-881, Kafka 3.5 and later.

An assignor matches the racks of members with those of partitions only where that can help: some
member is on a rack of some partition, and not every partition has replicas on all of the racks.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain

from poolkeeper.algorithms.assignors.group import GroupMember, GroupTopic
from poolkeeper.algorithms.assignors.partition_numbers import (
    PartitionNumbers,
    partition_of,
    topic_of,
)

_NOWHERE: frozenset[str] = frozenset()


def rack_aware_enabled(
    consumer_racks: Iterable[str],
    partition_racks: Iterable[str],
    racks_per_partition: Iterable[Iterable[str]],
) -> bool:
    """Whether racks count, from the racks of members, of partitions, and of each partition."""
    every = set(partition_racks)
    return not every.isdisjoint(consumer_racks) and any(
        set(racks) != every for racks in racks_per_partition
    )


def replica_racks(topic: GroupTopic) -> list[frozenset[str]]:
    """Return the racks of each partition's replicas; partitions without known racks have none."""
    known = topic.racks or ()
    racks = [frozenset(racks) for racks in known[: topic.partitions]]
    return racks + [_NOWHERE] * (topic.partitions - len(racks))


class StickyRacks:
    """The racks of members and partitions as sticky assignors use them.

    `of_member` is empty where racks do not count: then nothing mismatches.
    """

    def __init__(
        self,
        numbers: PartitionNumbers,
        topics: Mapping[str, GroupTopic],
        members: Iterable[GroupMember],
    ) -> None:
        of_member = {member.id: member.rack for member in members if member.rack}
        self._on_rack = Counter(of_member.values())
        self._racks = (
            [replica_racks(topics[topic]) for topic in numbers.topics] if of_member else []
        )
        of_partitions = [racks for topic in self._racks for racks in topic]
        enabled = rack_aware_enabled(
            self._on_rack, chain.from_iterable(of_partitions), of_partitions
        )
        self.of_member: Mapping[str, str] = of_member if enabled else {}

    def of_partition(self, number: int) -> frozenset[str]:
        """Return the racks of a partition's replicas; none for one that does not exist."""
        topic, partition = topic_of(number), partition_of(number)
        return self._racks[topic][partition] if partition < len(self._racks[topic]) else _NOWHERE

    def mismatch(self, member: str, number: int) -> bool:
        """Whether a member is on a rack where the partition has no replica."""
        rack = self.of_member.get(member)
        return rack is not None and rack not in self.of_partition(number)

    def match(self, member: str, number: int) -> bool:
        """Whether a member is on a rack where the partition has a replica."""
        rack = self.of_member.get(member)
        return rack is not None and rack in self.of_partition(number)

    def fewest_members_first(self, numbers: list[int]) -> list[int]:
        """Return partitions by the number of members on their racks, else in the order given."""
        if not self.of_member:
            return numbers
        on_rack = self._on_rack
        return sorted(
            numbers, key=lambda one: sum(on_rack[rack] for rack in self.of_partition(one))
        )
