"""When racks count: KIP-881, Kafka 3.5 and later.

An assignor matches the racks of members with those of partitions only where that can help: some
member is on a rack of some partition, and not every partition has replicas on all of the racks.
"""

from collections.abc import Iterable

from poolkeeper.algorithms.assignors.group import GroupTopic

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
