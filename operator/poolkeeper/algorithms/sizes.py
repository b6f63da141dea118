"""How many bytes the nodes take that a move writes, before they are written.

A ZooKeeper server closes the connection on a request above `jute.maxbuffer`, and the client sees a
lost connection, not an error: a retry would never end. So sizes are computed first. They are those
of compact JSON (no blanks) with the keys that Kafka writes; topic names are ASCII.

    /admin/reassign_partitions   {"version":1,"partitions":[entry,entry,…]}
                         entry   {"topic":"t","partition":0,"replicas":[1,2,3]}
    /brokers/topics/T, 2.8+      {"version":3,"topic_id":"22 characters","partitions":{"0":[1,2],…},
                                  "adding_replicas":{…},"removing_replicas":{…}}

A plain create with one open ACL costs 73 bytes and the chroot more than its data for the request
node. The controller rewrites it inside a transaction, about 25 bytes more, and rewrites the whole
topic node twice per partition that moves, so batches should stay far below these limits.

Servers 3.4 to 3.9.
"""

from collections.abc import Iterable, Mapping, Sequence

REQUEST_BYTES_MAX = 0xFFFFF
"""`jute.maxbuffer` of a server unless set: the longest request packet it reads."""

REASSIGNMENT_PATH_LENGTH = len("/admin/reassign_partitions")

_CREATE_OVERHEAD = 8 + 4 + 4 + 4 + 4 + (4 + len("world")) + (4 + len("anyone")) + 4
"""Header, lengths of path and data, ACL count and permissions, scheme, identity, flags."""

_REASSIGNMENT_FRAME = len('{"version":1,"partitions":[]}')
_ENTRY_FRAME = len('{"topic":"","partition":,"replicas":[]}')
_TOPIC_ID_BYTES = len(',"topic_id":""') + 22
_MOVE_FRAME = len(',"adding_replicas":{},"removing_replicas":{}')
_TOPIC_FRAME = len('{"version":3,"partitions":{}}')


def create_bytes(path_length: int, data_bytes: int) -> int:
    """The length of a request that creates a node with one open ACL; the path with its chroot."""
    return _CREATE_OVERHEAD + path_length + data_bytes


def reassignment_bytes_max(chroot: str = "", request_bytes_max: int = REQUEST_BYTES_MAX) -> int:
    """The most bytes of data that a plain create of the request node can carry: 1048502."""
    path_length = len(chroot.encode()) + REASSIGNMENT_PATH_LENGTH
    return request_bytes_max - create_bytes(path_length, 0)


def reassignment_entry_bytes(topic: str, partition: int, replicas: Sequence[int]) -> int:
    """One entry of the request node, without the comma before it."""
    digits = len("".join(map(str, (partition, *replicas))))
    return _ENTRY_FRAME + len(topic) + digits + max(0, len(replicas) - 1)


def reassignment_bytes(entries: Iterable[tuple[str, int, Sequence[int]]]) -> int:
    """The request node for (topic, partition, replicas) entries."""
    lengths = [reassignment_entry_bytes(*entry) for entry in entries]
    return _REASSIGNMENT_FRAME + _joined(lengths)


def topic_bytes(
    partitions: Mapping[int, Sequence[int]],
    adding: Mapping[int, Sequence[int]] | None = None,
    removing: Mapping[int, Sequence[int]] | None = None,
    *,
    version: int = 3,
) -> int:
    """The topic node as the controller writes it: version 1, 2 (2.4) or 3 (2.8, with an id).

    `adding` and `removing` hold the partitions that move; version 1 has neither.
    """
    size = _TOPIC_FRAME + _lists_bytes(partitions)
    if version >= 2:
        size += _MOVE_FRAME + _lists_bytes(adding or {}) + _lists_bytes(removing or {})
    return size + (_TOPIC_ID_BYTES if version >= 3 else 0)


def _lists_bytes(lists: Mapping[int, Sequence[int]]) -> int:
    """The inside of {"0":[1,2],"1":[3]}."""
    lengths = [
        len(str(key)) + len('"":') + _list_bytes(replicas) for key, replicas in lists.items()
    ]
    return _joined(lengths)


def _list_bytes(replicas: Sequence[int]) -> int:
    return 2 + _joined([len(str(replica)) for replica in replicas])


def _joined(lengths: Sequence[int]) -> int:
    return sum(lengths) + max(0, len(lengths) - 1)
