"""The order in which Java compares strings and walks through hash maps: Kafka's results show it.

A string hashes to `s[0]·31^(n-1) + … + s[n-1]` over its UTF-16 units, and compares by them. A
HashMap has a table of 16 buckets, doubled as soon as it holds more than three quarters as many
keys, and never made smaller. A key's bucket is `(hash ^ hash >>> 16) mod buckets`. A walk goes
through the buckets in order, and in a bucket from the first key put to the last: doubling splits a
bucket but keeps that order.

Not followed: from nine keys in one bucket on Java doubles early or makes a tree of the bucket,
which changes the order in that bucket. Keys with the same hash are ordered there by their place in
memory, so that Kafka's own result differs from run to run. Ids of members are spread too well for
it. Partitions of ten topics with names such as t10, t11, … t19 are not: `sticky_2_2_assignor`.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

_WORD = 0xFFFFFFFF
_LEAST_BUCKETS = 16


@lru_cache(maxsize=1 << 16)
def string_hash(text: str) -> int:
    """Return String.hashCode, as an unsigned 32-bit number."""
    result = 0
    if text.isascii():
        for unit in text.encode():
            result = result * 31 + unit & _WORD
        return result
    units = utf16(text)
    for high, low in zip(units[::2], units[1::2], strict=True):
        result = result * 31 + (high << 8 | low) & _WORD
    return result


def utf16(text: str) -> bytes:
    """Return what sorts as Java's String.compareTo does: the UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


def partition_hash(topic_hash: int, partition: int) -> int:
    """Return TopicPartition.hashCode, as an unsigned 32-bit number."""
    return (31 + partition) * 31 + topic_hash & _WORD


def spread(hash_code: int) -> int:
    """Return what a HashMap makes of a hash; its low bits are the bucket."""
    return hash_code ^ hash_code >> 16


def buckets(keys: int) -> int:
    """Return the size of the table of a HashMap into which that many keys were put."""
    size = _LEAST_BUCKETS
    while keys > size * 3 // 4:
        size *= 2
    return size


def hash_map_order(keys: Iterable[str]) -> list[str]:
    """Return distinct strings in the order of a HashMap into which they were put one by one."""
    distinct = list(dict.fromkeys(keys))
    return _by_bucket(distinct, buckets(len(distinct)))


def computed_map_order(keys: Sequence[str]) -> list[str]:
    """Return distinct strings in the order of a HashMap that was asked for them one by one.

    It is asked by computeIfAbsent, which puts a new key first in its bucket, and doubles the table
    not when it puts a key but when it is asked next.
    """
    distinct = list(dict.fromkeys(keys))
    asked_since = keys[-1] in keys[:-1]
    size = buckets(len(distinct) if asked_since else len(distinct) - 1)
    return _by_bucket(reversed(distinct), size)


def _by_bucket(keys: Iterable[str], size: int) -> list[str]:
    return sorted(keys, key=lambda key: spread(string_hash(key)) & size - 1)
