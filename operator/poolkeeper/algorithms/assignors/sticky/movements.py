"""What has moved during a rebalance, so that no two members swap partitions of a topic.

Where a partition would move from a to b although one of the topic moved from b to a before, the
sticky assignors of all releases move that one back instead. Of several they take the first of a
Java HashSet, whose table stays as large as it once was.
"""

from collections.abc import Sequence

from poolkeeper.algorithms.assignors.java_order import buckets, partition_hash, spread
from poolkeeper.algorithms.assignors.partition_numbers import partition_of, topic_of

_Pair = tuple[int, int]


class Movements:
    """The movements so far; a member is a number, a pair is (from, to)."""

    def __init__(self, topic_hashes: Sequence[int]) -> None:
        self._hashes = topic_hashes
        self._pair_of: dict[int, _Pair] = {}
        self._by_pair: dict[tuple[int, _Pair], _HashSet] = {}

    def to_move(self, number: int, old: int, new: int) -> int:
        """Return the partition to move to `new` in place of this one, which `old` has."""
        origin = self._pair_of[number][0] if number in self._pair_of else old
        back = self._by_pair.get((topic_of(number), (new, origin)))
        return number if back is None else back.first()

    def record(self, number: int, old: int, new: int) -> None:
        """Record that a partition moves; back where it came from it has not moved at all."""
        topic = topic_of(number)
        pair = self._pair_of.pop(number, None)
        if pair is not None:
            moved = self._by_pair[topic, pair]
            moved.remove(number)
            if moved.empty:
                del self._by_pair[topic, pair]
        origin = old if pair is None else pair[0]
        if pair is None or origin != new:
            self._pair_of[number] = (origin, new)
            self._by_pair.setdefault((topic, (origin, new)), _HashSet(self._hashes[topic])).add(
                number
            )


class _HashSet:
    """Partitions of one topic in a Java HashSet."""

    def __init__(self, topic_hash: int) -> None:
        self._topic_hash = topic_hash
        self._buckets: dict[int, int] = {}
        self._largest = 0

    @property
    def empty(self) -> bool:
        return not self._buckets

    def add(self, number: int) -> None:
        self._buckets[number] = spread(partition_hash(self._topic_hash, partition_of(number)))
        self._largest = max(self._largest, len(self._buckets))

    def remove(self, number: int) -> None:
        del self._buckets[number]

    def first(self) -> int:
        last = buckets(self._largest) - 1
        return min(self._buckets, key=lambda number: self._buckets[number] & last)
