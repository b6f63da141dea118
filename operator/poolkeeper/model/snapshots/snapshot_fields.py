"""The fields of a snapshot as declared types: `decode` and `convert` give the cluster.

A `null` counts as absent. A topic whose partitions are not told is left alone, as a damaged one is.
Unknown keys are ignored. All problems are reported at once. Whatever can be read from ZooKeeper can
be read from a snapshot: a request may name partition -1, and a state leader -7. Topics have names
that their nodes can have, if not all that Kafka takes: a copy of the cluster has these nodes. Texts
that UTF-8 does not have are refused, as no table or file could hold them.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, chain
from operator import attrgetter
from typing import Annotated

from msgspec import Meta

from poolkeeper import typed_json
from poolkeeper.errors import InvalidInput
from poolkeeper.model.columns.list_lengths import list_length_max, long_lists
from poolkeeper.model.columns.partition_columns import PartitionColumns, TopicPartitions
from poolkeeper.model.file_kinds import FileKind, told_by_kind
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Controller,
    LogDir,
    ReassignmentEntry,
    Topic,
)
from poolkeeper.typed_json import (
    INTEGER_MAX,
    BrokerId,
    BrokerIds,
    FormatVersion,
    Milliseconds,
    Natural,
    PartitionNumber,
    ReplicaList,
    SparseObject,
    refuse_twice,
    unique,
)

VERSION = 1
_UNTOLD = "the snapshot does not tell its partitions"

_Leader = Annotated[
    int, Meta(ge=-INTEGER_MAX, le=INTEGER_MAX, description="a broker id, or -1 for none")
]
_Controller = Annotated[int, Meta(ge=-INTEGER_MAX, le=INTEGER_MAX, description="a broker id")]
_RequestedPartition = Annotated[
    int, Meta(ge=-INTEGER_MAX, le=INTEGER_MAX, description="the number of a partition")
]
_NodeName = Annotated[
    str,
    Meta(
        pattern=r"^(?!\.\.?\Z)[^/\x00]+\Z",
        description="a name that a node of ZooKeeper can have",
    ),
]
_Rate = Annotated[float, Meta(ge=0, le=2**53, description="a number from 0 to 2^53")]


def decode(data: bytes, file: str) -> Cluster:
    """Return the cluster of a JSON text; raises `InvalidInput` naming `file`."""
    try:
        return _cluster(typed_json.decode(data, _Snapshot, file, halves=False, repeats=False))
    except InvalidInput as wrong:
        raise told_by_kind(wrong, data, file, FileKind.SNAPSHOT) from None


def convert(data: object, file: str) -> Cluster:
    """Return the cluster of plain values; raises `InvalidInput` naming `file`."""
    try:
        return _cluster(typed_json.convert(data, _Snapshot, file, halves=False))
    except InvalidInput as wrong:
        raise told_by_kind(wrong, data, file, FileKind.SNAPSHOT) from None


class _About(SparseObject):
    name: str
    id: str | None = None
    kafka_version: str | None = None
    traced_version: str | None = None
    controller: _Controller | None = None


class _LogDir(SparseObject):
    total_bytes: Natural | None = None
    usable_bytes: Natural | None = None


class _Broker(SparseObject):
    id: BrokerId
    rack: str | None = None
    endpoints: tuple[str, ...] | None = None
    config: dict[str, str] | None = None
    log_dirs: dict[str, _LogDir] | None = None
    release: str | None = None
    min_insync_replicas: Natural | None = None


class _Partition(SparseObject):
    partition: PartitionNumber
    replicas: ReplicaList
    adding: BrokerIds | None = None
    removing: BrokerIds | None = None
    leader: _Leader | None = None
    isr: BrokerIds | None = None
    bytes: Natural | None = None
    bytes_in_per_second: _Rate | None = None
    log_dirs: dict[BrokerId, str] | None = None


class _Topic(SparseObject):
    name: _NodeName
    partitions: Annotated[tuple[_Partition, ...], unique("partition")] | None = None
    id: str | None = None
    config: dict[str, str] | None = None

    def __post_init__(self) -> None:
        refuse_twice(partition.partition for partition in self.partitions or ())


class _Requested(SparseObject):
    topic: str
    partition: _RequestedPartition
    replicas: BrokerIds


class _Snapshot(SparseObject):
    version: FormatVersion
    cluster: _About
    brokers: Annotated[tuple[_Broker, ...], unique("id")] | None = None
    topics: Annotated[tuple[_Topic, ...], unique("name")] | None = None
    reassignment: tuple[_Requested, ...] | None = None
    deleting: tuple[_NodeName, ...] | None = None
    torn: tuple[_NodeName, ...] | None = None
    damaged: dict[_NodeName, str] | None = None
    electing: bool | None = None
    read_ms: Milliseconds | None = None

    def __post_init__(self) -> None:
        refuse_twice(broker.id for broker in self.brokers or ())
        refuse_twice(topic.name for topic in self.topics or ())


def _cluster(read: _Snapshot) -> Cluster:
    requested = None
    if read.reassignment is not None:
        requested = tuple(
            ReassignmentEntry(r.topic, r.partition, r.replicas) for r in read.reassignment
        )
    told = [topic for topic in read.topics or () if topic.partitions is not None]
    topics, long = _topics(sorted(told, key=lambda topic: topic.name))
    untold = {topic.name: _UNTOLD for topic in read.topics or () if topic.partitions is None}
    return Cluster(
        name=read.cluster.name,
        brokers={b.id: _broker(b) for b in sorted(read.brokers or (), key=lambda b: b.id)},
        topics=topics,
        id=read.cluster.id,
        kafka_version=read.cluster.kafka_version,
        traced_version=read.cluster.traced_version,
        controller=Controller(read.cluster.controller),
        reassignment=requested,
        electing=bool(read.electing),
        deleting=frozenset(read.deleting or ()),
        torn=frozenset(read.torn or ()),
        damaged={**untold, **(read.damaged or {}), **long},
        read_ms=read.read_ms,
    )


def _broker(read: _Broker) -> Broker:
    log_dirs = None
    if read.log_dirs is not None:
        log_dirs = {
            path: LogDir(each.total_bytes, each.usable_bytes)
            for path, each in read.log_dirs.items()
        }
    known = (read.id, read.rack, read.endpoints or (), read.config, log_dirs)
    return Broker(*known, release=read.release, min_insync=read.min_insync_replicas)


def _topics(read: Sequence[_Topic]) -> tuple[dict[str, Topic], dict[str, str]]:
    """The topics, whose partitions are rows of the columns of all of them.

    Beside them those that have a list as no cluster has it, with the reason.
    """
    parts = [sorted(each.partitions or (), key=attrgetter("partition")) for each in read]
    every = list(chain.from_iterable(parts))
    columns = PartitionColumns.of_fields(
        [each.partition for each in every],
        [each.replicas for each in every],
        [each.adding for each in every],
        [each.removing for each in every],
        [each.leader for each in every],
        [each.isr for each in every],
        [each.bytes for each in every],
        [each.bytes_in_per_second for each in every],
        [each.log_dirs for each in every],
    )
    ends = list(accumulate(map(len, parts)))
    long: dict[str, str] = {}
    for found in long_lists(columns, list_length_max(len(every))):
        long.setdefault(read[bisect_right(ends, found.row)].name, found.why)
    topics = {
        each.name: Topic(
            each.name, TopicPartitions(columns, end - len(part), end), each.id, each.config
        )
        for each, part, end in zip(read, parts, ends, strict=True)
        if each.name not in long
    }
    return topics, long
