"""Which partition of a topic a producer's record goes to.

**With a key**: murmur2 of its bytes, made positive, modulo the number of all partitions, in every
Java producer of Kafka 0.8.2 to 3.9. An empty key is a key.

**Round robin** (`RoundRobinPartitioner`, 2.4 and later): a count of the topic's records, from 0,
modulo the number of partitions that have a leader, as an index into these in the order of the
metadata. With no leader anywhere it is the count modulo the number of all partitions, and that is
the partition's *number*, whatever numbers the metadata have.

**Without a key** it is up to the producer's release:

- until 2.3 round robin as above, from a random count, which may be negative and overflows; for each
  record there is one call;
- 2.4 to 3.2: a producer stays at a partition until a new batch is opened, then draws another one
  evenly among those that have a leader;
- 3.3 and later: it stays for `batch.size` bytes, then draws the next one by the lengths of its
  queues. A partition has the frequency max + 1 - length, so that the one with the shortest queue is
  drawn most often. A random number below the sum of all belongs to the first partition whose
  cumulative frequency is above it. With fewer than two partitions, or all queues alike, Kafka draws
  uniformly, without frequencies.
"""

from collections.abc import Sequence
from itertools import accumulate
from struct import iter_unpack

from poolkeeper.errors import wrong_field
from poolkeeper.frozen import frozen

_SEED = 0x9747B28C
_FACTOR = 0x5BD1E995
_MASK = 0xFFFFFFFF
_INT_MAX = 0x7FFFFFFF


@frozen
class LoadFrequencies:
    """How often the partitions are drawn, in their order, and the running sums of that."""

    frequencies: tuple[int, ...]
    cumulative: tuple[int, ...]


def murmur2(data: bytes) -> int:
    """Kafka's hash of a key, a signed 32-bit number: b"abc" → 479470107, b"" → 275646681."""
    hashed = _SEED ^ len(data) & _MASK
    whole = len(data) & ~3
    for (word,) in iter_unpack("<I", data[:whole]):
        k = word * _FACTOR & _MASK
        hashed = (hashed * _FACTOR & _MASK) ^ ((k ^ k >> 24) * _FACTOR & _MASK)
    if tail := data[whole:]:
        hashed = (hashed ^ int.from_bytes(tail, "little")) * _FACTOR & _MASK
    hashed = (hashed ^ hashed >> 13) * _FACTOR & _MASK
    hashed ^= hashed >> 15
    return hashed - (1 << 32) if hashed >> 31 else hashed


def to_positive(number: int) -> int:
    """Kafka's way to make a signed 32-bit number positive: without its sign bit, not its size."""
    return number & _INT_MAX


def key_partition(key: bytes, partitions: int) -> int:
    """The partition, of so many, of a record with that key."""
    return to_positive(murmur2(key)) % partitions


def round_robin(partitions: Sequence[tuple[int, bool]], calls: int, *, start: int = 0) -> list[int]:
    """The partition of each of so many records: 1 (no leader), 2, 0 → 2 0 2 0 and so on.

    `partitions`: numbers in the order of the metadata, with whether each has a leader. A producer
    asks once more where a record opens a new batch, and so skips a partition each time. `start` is
    the count of the first record: 0 but for records without a key in producers until 2.3. `Refused`
    for a topic without partitions.
    """
    if not partitions:
        raise wrong_field("partitions", "is empty (expected at least one, to choose from)")
    ring = [number for number, available in partitions if available]
    ring = ring or list(range(len(partitions)))
    return [ring[to_positive(start + call) % len(ring)] for call in range(calls)]


def load_frequencies(queue_sizes: Sequence[int]) -> LoadFrequencies | None:
    """How often partitions with queues of these lengths are drawn: 0 3 1 → 4 1 3, sums 4 5 8.

    None where Kafka draws uniformly. `Refused` where the sums do not fit into Kafka's 32 bits.
    """
    if len(queue_sizes) < 2 or len(set(queue_sizes)) == 1:
        return None
    above = max(queue_sizes) + 1
    frequencies = tuple(above - size for size in queue_sizes)
    cumulative = tuple(accumulate(frequencies))
    if cumulative[-1] > _INT_MAX:
        said = f"give frequencies of {cumulative[-1]} in all (expected at most {_INT_MAX})"
        raise wrong_field("queue_sizes", said)
    return LoadFrequencies(frequencies, cumulative)
