"""How many bytes a reassignment request takes, before it is written.

A ZooKeeper server closes the connection on a request above `jute.maxbuffer`, and the client sees a
lost connection, not an error: a retry would never end. So sizes are computed first. They are those
of compact JSON (no blanks) with the keys that Kafka writes; topic names are ASCII.

    /admin/reassign_partitions   {"version":1,"partitions":[entry,entry,…]}
                         entry   {"topic":"t","partition":0,"replicas":[1,2,3]}

A plain create with one open ACL costs 73 bytes and the chroot more than its data. The controller
rewrites the node inside a transaction, about 25 bytes more, so requests should stay far below the
limit. What topic nodes grow to while they move: `planning.staging.limits`.

Servers 3.4 to 3.9.
"""

from collections.abc import Iterable, Sequence

_REASSIGNMENT_FRAME = len('{"version":1,"partitions":[]}')
_ENTRY_FRAME = len('{"topic":"","partition":,"replicas":[]}')


def reassignment_entry_bytes(topic: str, partition: int, replicas: Sequence[int]) -> int:
    """One entry of the request node, without the comma before it."""
    digits = len("".join(map(str, (partition, *replicas))))
    return _ENTRY_FRAME + len(topic) + digits + max(0, len(replicas) - 1)


def reassignment_bytes(entries: Iterable[tuple[str, int, Sequence[int]]]) -> int:
    """The request node for (topic, partition, replicas) entries."""
    lengths = [reassignment_entry_bytes(*entry) for entry in entries]
    return _REASSIGNMENT_FRAME + _joined(lengths)


def _joined(lengths: Sequence[int]) -> int:
    return sum(lengths) + max(0, len(lengths) - 1)
