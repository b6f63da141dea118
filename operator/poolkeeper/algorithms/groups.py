"""Which broker coordinates a consumer group, and which member leads it.

**Coordinator**: the leader of a partition of `__consumer_offsets`. The partition is abs(hash)
modulo the number of partitions, where hash is Java's of the group's name over its UTF-16 units, and
Kafka's abs makes 0 of the one number whose size has no positive.

**Leader**: the member that joined an empty group first; it computes who reads what. When it is
gone, the coordinator takes the first key of the hash map that holds the members: any of them, but
always the same. Whoever asks for the members of a group gets them in the order of that map, and a
removal leaves the order of the others as it is, so the answer tells who is next. (Another
coordinator makes a map of its own. It has the same order, unless the map grew: Scala's have 16
buckets for less than 12 members, and never shrink.) A static member does not leave when it is
stopped; if it is back within its session timeout it leads on.

Kafka 0.9 to 3.9.
"""

from collections.abc import Iterable

from poolkeeper.algorithms.assignors.java_order import string_hash
from poolkeeper.frozen import frozen

OFFSETS_PARTITIONS = 50
"""The partitions of `__consumer_offsets`, unless `offsets.topic.num.partitions` said otherwise."""

_SIGN = 1 << 31


@frozen
class ListedMember:
    """A member of a group as its coordinator lists it; `instance` is None for a dynamic one."""

    id: str
    client: str
    host: str
    instance: str | None = None


def offsets_partition(group: str, partitions: int = OFFSETS_PARTITIONS) -> int:
    """The partition of `__consumer_offsets` whose leader coordinates the group: "a" of 50 → 47."""
    hashed = string_hash(group)
    size = hashed if hashed < _SIGN else (1 << 32) - hashed
    return 0 if size == _SIGN else size % partitions


def next_leader(members: Iterable[str], leader: str) -> str | None:
    """Who leads a group once its leader is gone; `members`: ids as the coordinator lists them."""
    return next((member for member in members if member != leader), None)
