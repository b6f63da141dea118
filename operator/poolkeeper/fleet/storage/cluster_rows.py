"""An observed cluster as tables, and back.

What snapshots promise is kept (`model.snapshots`): reading gives back exactly what was written.
Versions of znodes and the controller's epoch are of the moment and are not kept.

A plan of 100,000 partitions takes half a second, so that reading them must not take more: columns
become tuples by way of numpy, never value by value.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Any

import numpy as np
import pyarrow as pa

from poolkeeper.fleet.storage import schemas
from poolkeeper.fleet.storage.parquet import from_rows, rows_of, table_of
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Controller,
    LogDir,
    Partition,
    ReassignmentEntry,
    Replicas,
    Topic,
)

BODIES = (schemas.BROKERS, schemas.TOPICS, schemas.PARTITIONS, schemas.REQUESTS)
"""The tables of a snapshot beside its row of `kafka_cluster`."""


@dataclass(frozen=True, slots=True)
class ClusterRows:
    """A cluster's fields of its row in `kafka_cluster`, and the other tables by name."""

    head: Mapping[str, Any]
    bodies: Mapping[str, pa.Table]


def rows_of_cluster(cluster: Cluster) -> ClusterRows:
    """The cluster as rows; its name is not among them."""
    topics = [topic for _, topic in sorted(cluster.topics.items())]
    head = {
        "id": cluster.id,
        "kafka_version": cluster.kafka_version,
        "traced_version": cluster.traced_version,
        "controller": cluster.controller.broker,
        "electing": cluster.electing,
        "reassigning": cluster.reassignment is not None,
        "deleting": sorted(cluster.deleting),
        "torn": sorted(cluster.torn),
        "damaged": dict(sorted(cluster.damaged.items())),
        "brokers": len(cluster.brokers),
        "topics": len(topics),
        "partitions": sum(len(topic.partitions) for topic in topics),
    }
    bodies = {
        schemas.BROKERS.name: from_rows(
            schemas.BROKERS, (_broker_row(broker) for _, broker in sorted(cluster.brokers.items()))
        ),
        schemas.TOPICS.name: from_rows(
            schemas.TOPICS,
            ((t.name, t.topic_id, _pairs(t.config), len(t.partitions)) for t in topics),
        ),
        schemas.PARTITIONS.name: _partitions(topics),
        schemas.REQUESTS.name: from_rows(
            schemas.REQUESTS,
            sorted((r.topic, r.partition, r.replicas) for r in cluster.reassignment or ()),
        ),
    }
    return ClusterRows(head, bodies)


def cluster_of_rows(name: str, rows: ClusterRows) -> Cluster:
    """The cluster, under that name."""
    head, bodies = rows.head, rows.bodies
    requests = (
        ReassignmentEntry(row["topic"], row["partition"], tuple(row["replicas"]))
        for row in rows_of(bodies[schemas.REQUESTS.name])
    )
    return Cluster(
        name=name,
        brokers=brokers_of(bodies[schemas.BROKERS.name]),
        topics=topics_of(bodies[schemas.TOPICS.name], bodies[schemas.PARTITIONS.name]),
        id=head["id"],
        kafka_version=head["kafka_version"],
        traced_version=head["traced_version"],
        controller=Controller(head["controller"]),
        reassignment=tuple(requests) if head["reassigning"] else None,
        electing=bool(head["electing"]),
        deleting=frozenset(head["deleting"] or ()),
        torn=frozenset(head["torn"] or ()),
        damaged=dict(head["damaged"] or {}),
    )


def brokers_of(brokers: pa.Table) -> dict[int, Broker]:
    """Brokers by id."""
    return {row["broker"]: _broker(row) for row in rows_of(brokers)}


def topics_of(topics: pa.Table, partitions: pa.Table) -> dict[str, Topic]:
    """Topics by name. Rows of `partitions` follow each other as those of `topics` count them.

    Columns of `partitions` that are absent read as unknown.
    """
    have = set(partitions.column_names)
    rows = partitions.num_rows

    def column(name: str, read: Any, otherwise: Any = None) -> Iterable[Any]:
        return read(partitions.column(name)) if name in have else repeat(otherwise, rows)

    made = list(
        map(
            Partition,
            numbers(partitions.column("partition")),
            lists(partitions.column("replicas")),
            column("adding", lists, ()),
            column("removing", lists, ()),
            column("leader", numbers),
            column("isr", lists),
            repeat(None, rows),
            column("bytes", numbers),
            column("bytes_in_per_s", numbers),
            column("log_dirs", _places),
        )
    )
    found: dict[str, Topic] = {}
    first = 0
    for row in rows_of(topics):
        last = first + row["partitions"]
        found[row["topic"]] = Topic(
            row["topic"], tuple(made[first:last]), row["topic_id"], row["config"]
        )
        first = last
    return found


def numbers(column: pa.ChunkedArray) -> list[Any]:
    """The column's numbers, None for null."""
    if not column.null_count:
        return list(column.to_numpy().tolist())
    unknown = column.is_null().to_numpy()
    values: list[Any] = column.fill_null(0).to_numpy().tolist()
    for row in np.flatnonzero(unknown).tolist():
        values[row] = None
    return values


def lists(column: pa.ChunkedArray) -> list[Any]:
    """The column's lists of numbers as tuples, None for null."""
    if column.null_count == len(column):
        return [None] * len(column)
    found: list[Any] = []
    for chunk in column.chunks:
        offsets = chunk.offsets.to_numpy()
        if offsets[0] == offsets[-1] and not chunk.null_count:
            found += [()] * len(chunk)
            continue
        values = chunk.values.to_numpy(zero_copy_only=False).tolist()
        made = _cut(values, offsets)
        if chunk.null_count:
            for row in np.flatnonzero(chunk.is_null().to_numpy(zero_copy_only=False)).tolist():
                made[row] = None
        found += made
    return found


def _cut(values: list[int], offsets: np.ndarray) -> list[Any]:
    """Cut into tuples that end at `offsets`; neighbours of one length, as in a topic, at once."""
    changes = np.flatnonzero(np.diff(np.diff(offsets))) + 1
    rows = [0, *changes.tolist(), len(offsets) - 1]
    ends = offsets[rows].tolist()
    found: list[Any] = []
    for (row, next_row), (begin, end) in zip(pairwise(rows), pairwise(ends), strict=True):
        if begin == end:
            found += [()] * (next_row - row)
        else:
            same = iter(values[begin:end])
            found += zip(*[same] * ((end - begin) // (next_row - row)), strict=True)
    return found


def _places(column: pa.ChunkedArray) -> list[Any]:
    if column.null_count == len(column):
        return [None] * len(column)
    return [None if value is None else dict(value) for value in column.to_pylist()]


def _partitions(topics: Sequence[Topic]) -> pa.Table:
    parts = [p for topic in topics for p in topic.partitions]
    counts = [len(topic.partitions) for topic in topics]
    columns: tuple[Sequence[Any], ...] = tuple(zip(*parts, strict=True)) if parts else ((),) * 10
    number, replicas, adding, removing, leader, isr, _, size, rate, places = columns
    return table_of(
        schemas.PARTITIONS,
        {
            "topic": _repeated([topic.name for topic in topics], counts),
            "topic_id": _repeated([topic.topic_id for topic in topics], counts),
            "partition": number,
            "replicas": int_lists(replicas),
            "adding": int_lists(adding),
            "removing": int_lists(removing),
            "leader": leader,
            "isr": isr if None in isr else int_lists(isr),
            "bytes": size,
            "bytes_in_per_s": rate,
            "log_dirs": [None if p is None else sorted(p.items()) for p in places],
        },
    )


def int_lists(values: Sequence[Replicas]) -> pa.Array:
    """Lists of numbers as an Arrow array, without looking at each of its values."""
    ends = np.zeros(len(values) + 1, dtype=np.int32)
    np.cumsum(np.fromiter(map(len, values), dtype=np.int32, count=len(values)), out=ends[1:])
    flat = np.fromiter((x for value in values for x in value), dtype=np.int32, count=int(ends[-1]))
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(flat))


def _repeated(values: Sequence[str | None], counts: Sequence[int]) -> pa.Array:
    rows = np.repeat(np.arange(len(values)), counts)
    return pa.array(values, pa.string()).take(pa.array(rows))


def _broker_row(broker: Broker) -> tuple[Any, ...]:
    log_dirs = broker.log_dirs
    return (
        broker.id,
        broker.rack,
        broker.endpoints,
        _pairs(broker.config),
        None
        if log_dirs is None
        else [
            {"path": path, "total_bytes": d.total_bytes, "usable_bytes": d.usable_bytes}
            for path, d in sorted(log_dirs.items())
        ],
        broker.release,
    )


def _broker(row: Mapping[str, Any]) -> Broker:
    log_dirs = row["log_dirs"]
    return Broker(
        id=row["broker"],
        rack=row["rack"],
        endpoints=tuple(row["endpoints"]),
        config=row["config"],
        log_dirs=None
        if log_dirs is None
        else {d["path"]: LogDir(d["total_bytes"], d["usable_bytes"]) for d in log_dirs},
        release=row["release"],
    )


def _pairs(config: Mapping[str, str] | None) -> list[tuple[str, str]] | None:
    return None if config is None else sorted(config.items())
