"""What a reading wants of topic nodes, decoded by type.

A topic node as Kafka writes it is decoded in a fourth of the time of looking at each value. One
that holds anything else is read by `TopicNode`, which says what is wrong with it; so both take the
same and refuse the same. Who writes a topic node needs its whole body, hence a `TopicNode`.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

import msgspec

from poolkeeper.model.topology import Replicas
from poolkeeper.typed_json import look_up
from poolkeeper.zk.codecs import json_bodies
from poolkeeper.zk.codecs.kafka_nodes import TopicNode

_Number = Annotated[int, msgspec.Meta(ge=0, lt=10**json_bodies.PARTITION_DIGITS_MAX)]
_BrokerId = Annotated[int, msgspec.Meta(ge=0, le=json_bodies.INTEGER_MAX)]
_Lists = dict[_Number, tuple[_BrokerId, ...]]


class _PlainTopic(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A topic node as Kafka writes it, by type."""

    partitions: _Lists
    adding_replicas: _Lists | msgspec.UnsetType = msgspec.UNSET
    removing_replicas: _Lists | msgspec.UnsetType = msgspec.UNSET
    topic_id: str | None = None
    version: _Number = 1


_PLAIN_TOPIC = msgspec.json.Decoder(look_up(_PlainTopic))
_NO_NUMBER = b'"-0"'
"""The one key that is a whole number of at least 0 by type, and no partition's."""


class TopicAssignment(NamedTuple):
    """A topic's partitions by ascending id, and what is added and removed by partition.

    `knows_adding`: whether it was written by a Kafka that records moves in it (2.4 and later).
    """

    numbers: Sequence[int]
    replicas: Sequence[Replicas]
    adding: Mapping[int, Replicas]
    removing: Mapping[int, Replicas]
    topic_id: str | None
    knows_adding: bool

    @classmethod
    def decode(cls, data: bytes) -> "TopicAssignment":
        """Read a topic node; raises `Refused` as `TopicNode.decode`."""
        plain = _plain(data)
        if plain is not None:
            return plain
        node = TopicNode.decode(data)
        return cls(
            list(node.partitions),
            list(node.partitions.values()),
            node.adding,
            node.removing,
            node.topic_id,
            node.knows_adding,
        )


def _plain(data: bytes) -> TopicAssignment | None:
    """Return the assignment of a node as Kafka writes it; None of any other."""
    if _NO_NUMBER in data or b"\\" in data or not data.isascii():
        return None
    try:
        node = _PLAIN_TOPIC.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None
    lists = node.partitions.values()
    lengths = list(map(len, lists))
    if 0 in lengths or lengths != list(map(len, map(set, lists))):
        return None
    partitions = node.partitions
    if sorted(partitions) != list(partitions):
        partitions = dict(sorted(partitions.items()))
    adding, removing = (
        {} if lists is msgspec.UNSET else lists
        for lists in (node.adding_replicas, node.removing_replicas)
    )
    return TopicAssignment(
        list(partitions),
        list(partitions.values()),
        adding,
        removing,
        node.topic_id,
        node.adding_replicas is not msgspec.UNSET,
    )
