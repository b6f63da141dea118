"""Kinds of what producers compute: hashes of keys, partitions of records."""

from typing import Annotated

from msgspec import Meta, Struct

from poolkeeper.algorithms import partitioners
from poolkeeper.errors import wrong_field
from poolkeeper.simulations.bounds import PARTITIONS_MAX, Integer
from poolkeeper.typed_json import INTEGER_MAX, PartitionNumber, refuse_twice

_Hexadecimal = Annotated[
    str,
    Meta(pattern=r"^(?:[0-9a-fA-F]{2})*\Z", description="an even number of hexadecimal digits"),
]
_Counts = Annotated[
    tuple[Annotated[int, Meta(ge=1, le=INTEGER_MAX, description="an integer of 1 or more")], ...],
    Meta(description="a list of numbers of partitions"),
]
_Partition = Annotated[
    tuple[PartitionNumber, bool], Meta(description="a partition, and whether it has a leader")
]
_Calls = Annotated[
    int, Meta(ge=0, le=PARTITIONS_MAX, description=f"an integer from 0 to {PARTITIONS_MAX}")
]

_Count = Annotated[
    int,
    Meta(
        ge=-INTEGER_MAX - 1,
        le=INTEGER_MAX,
        description=f"an integer from {-INTEGER_MAX - 1} to {INTEGER_MAX}",
    ),
]


class RecordKey(Struct, gc=False):
    """A record's key, as text or in hexadecimal digits."""

    utf8: str | None = None
    hex: _Hexadecimal | None = None

    def bytes(self) -> bytes:
        """Return the key; raises InvalidInput unless it is given in exactly one way."""
        if self.utf8 is not None and self.hex is None:
            return self.utf8.encode()
        if self.hex is not None and self.utf8 is None:
            return bytes.fromhex(self.hex)
        said = "is missing, as is hex" if self.hex is None else "is there beside hex"
        raise wrong_field("utf8", f"{said} (expected one of them, for the key)")


class KeyedRecord(RecordKey, gc=False, kw_only=True):
    """A record's key, and how many partitions its topic may have."""

    num_partitions: _Counts


class RoundRobinRecords(Struct, gc=False):
    """A topic's partitions in the order of the metadata, and how many records there are.

    `start`: the count of the first record.
    """

    partitions: Annotated[
        tuple[_Partition, ...], Meta(description="a list of partitions, each with true or false")
    ]
    calls: _Calls
    start: _Count = 0

    def __post_init__(self) -> None:
        refuse_twice(number for number, _ in self.partitions)


class QueueSizes(Struct, gc=False):
    """How many batches wait for each partition."""

    queue_sizes: Annotated[tuple[Integer, ...], Meta(description="a list of integers")]


def murmur2(key: RecordKey) -> int:
    """Return the hash, a signed 32-bit number."""
    return partitioners.murmur2(key.bytes())


def key_partition(record: KeyedRecord) -> list[int]:
    """Return the partition for each number of partitions."""
    hashed = partitioners.to_positive(partitioners.murmur2(record.bytes()))
    return [hashed % count for count in record.num_partitions]


def round_robin(records: RoundRobinRecords) -> list[int]:
    """Return the partition of each record."""
    return partitioners.round_robin(records.partitions, records.calls, start=records.start)


def adaptive_cft(queues: QueueSizes) -> dict[str, tuple[int, ...] | None]:
    """Return frequencies and their running sums; null where Kafka draws uniformly."""
    found = partitioners.load_frequencies(queues.queue_sizes)
    return {
        "frequencies": None if found is None else found.frequencies,
        "cumulative": None if found is None else found.cumulative,
    }
