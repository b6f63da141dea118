"""Which broker coordinates a consumer group: the leader of a partition of `__consumer_offsets`.

The partition is abs(hash) modulo the number of partitions, where hash is Java's of the group's name
over its UTF-16 units, and Kafka's abs makes 0 of the one number whose size has no positive.

Kafka 0.9 to 3.9.
"""

from poolkeeper.algorithms.assignors.java_order import string_hash

OFFSETS_PARTITIONS = 50
"""The partitions of `__consumer_offsets`, unless `offsets.topic.num.partitions` said otherwise."""

_SIGN = 1 << 31


def offsets_partition(group: str, partitions: int = OFFSETS_PARTITIONS) -> int:
    """The partition of `__consumer_offsets` whose leader coordinates the group: "a" of 50 → 47."""
    hashed = string_hash(group)
    size = hashed if hashed < _SIGN else (1 << 32) - hashed
    return 0 if size == _SIGN else size % partitions
