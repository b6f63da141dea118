"""An observed cluster as tables, and back.

What snapshots promise is kept (`model.snapshots`): reading gives back exactly what was written.
Versions of znodes and the controller's epoch are of the moment and are not kept.

A plan of 100,000 partitions takes a fifth of a second, so that reading them must take next to
nothing: columns stay columns (`partition_columns`), and become partitions where one is looked at.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from poolkeeper.errors import Refused
from poolkeeper.fleet.storage import schemas
from poolkeeper.fleet.storage.parquet import from_rows, memory_apart, rows_of, table_of
from poolkeeper.frozen import frozen
from poolkeeper.model.columns.partition_columns import (
    UNKNOWN,
    PartitionColumns,
    TopicPartitions,
    columns_of,
)
from poolkeeper.model.columns.replica_lists import Ints, ReplicaLists
from poolkeeper.model.topology import (
    Broker,
    Cluster,
    Controller,
    LogDir,
    ReassignmentEntry,
    Topic,
)

BODIES = (schemas.BROKERS, schemas.TOPICS, schemas.PARTITIONS, schemas.REQUESTS)
"""The tables of a snapshot beside its row of `kafka_cluster`."""


@frozen
class ClusterRows:
    """A cluster's fields of its row in `kafka_cluster`, and the other tables by name."""

    head: Mapping[str, Any]
    bodies: Mapping[str, pa.Table]


def rows_of_cluster(cluster: Cluster) -> ClusterRows:
    """The cluster as rows; its name is not among them.

    Raises `Refused` for values that the columns cannot hold.
    """
    try:
        with memory_apart():
            return _rows_of_cluster(cluster)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as wrong:
        raise Refused(f"cluster {cluster.name} does not fit into tables: {wrong}") from wrong


def _rows_of_cluster(cluster: Cluster) -> ClusterRows:
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
    """The cluster, under that name; raises `Refused` where the tables contradict each other."""
    head, bodies = rows.head, rows.bodies
    _require_counts(head, bodies)
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


def _require_counts(head: Mapping[str, Any], bodies: Mapping[str, pa.Table]) -> None:
    """Raise `Refused` where there are more or fewer rows than the cluster has.

    A broker without a row would count as dead, and its replicas would move.
    """
    for table in (schemas.BROKERS, schemas.TOPICS, schemas.PARTITIONS):
        counted, there = head[table.name], bodies[table.name].num_rows
        if counted is not None and counted != there:
            raise Refused(f"the cluster has {counted} {table.name}, and there are {there} rows")


def brokers_of(brokers: pa.Table) -> dict[int, Broker]:
    """The brokers that these rows hold, by id."""
    return {row["broker"]: _broker(row) for row in rows_of(brokers)}


def topics_of(topics: pa.Table, partitions: pa.Table) -> dict[str, Topic]:
    """Topics by name. Rows of `partitions` follow each other as those of `topics` count them.

    Columns of `partitions` that are absent read as unknown.
    """
    columns = columns_of_rows(partitions)
    found: dict[str, Topic] = {}
    first = 0
    for row in rows_of(topics):
        last = first + row["partitions"]
        own = TopicPartitions(columns, first, last)
        found[row["topic"]] = Topic(row["topic"], own, row["topic_id"], row["config"])
        first = last
    if first != len(columns):
        raise Refused(f"topics count {first} partitions, and there are {len(columns)}")
    return found


def columns_of_rows(partitions: pa.Table) -> PartitionColumns:
    """Rows of `partitions` as the planner's columns; those that are absent read as unknown."""
    have, rows = set(partitions.column_names), partitions.num_rows

    def lists(name: str) -> ReplicaLists:
        found = partitions.column(name) if name in have else None
        return ReplicaLists.empty(rows) if found is None else _replica_lists(found)

    def whole(name: str) -> Ints:
        if name not in have:
            return np.full(rows, UNKNOWN)
        return _whole(partitions.column(name))

    rate = partitions.column("bytes_in_per_s") if "bytes_in_per_s" in have else None
    return PartitionColumns(
        whole("partition"),
        lists("replicas"),
        lists("adding"),
        lists("removing"),
        whole("leader"),
        lists("isr"),
        partitions.column("isr").is_valid().to_numpy() if "isr" in have else np.zeros(rows, bool),
        whole("bytes"),
        np.full(rows, np.nan) if rate is None else rate.to_numpy().astype(np.float64),
        _places(partitions.column("log_dirs")) if "log_dirs" in have else None,
    )


def _whole(column: pa.ChunkedArray) -> Ints:
    known = column.cast(pa.int64()).fill_null(UNKNOWN) if column.null_count else column
    found: Ints = known.to_numpy().astype(np.int64)
    return found


def _replica_lists(column: pa.ChunkedArray) -> ReplicaLists:
    ends = np.cumsum(pc.fill_null(pc.list_value_length(column), 0).to_numpy(), dtype=np.int64)
    ids = pc.list_flatten(column).to_numpy().astype(np.int64)
    return ReplicaLists(np.append(0, ends), ids)


def numbers(column: pa.ChunkedArray) -> list[Any]:
    """The column's numbers, None for null."""
    if not column.null_count:
        return list(column.to_numpy().tolist())
    unknown = column.is_null().to_numpy()
    values: list[Any] = column.fill_null(0).to_numpy().tolist()
    for row in np.flatnonzero(unknown).tolist():
        values[row] = None
    return values


def _places(column: pa.ChunkedArray) -> list[dict[int, str] | None] | None:
    if column.null_count == len(column):
        return None
    return [None if value is None else dict(value) for value in column.to_pylist()]


def _partitions(topics: Sequence[Topic]) -> pa.Table:
    columns = columns_of([topic.partitions for topic in topics])
    counts = [len(topic.partitions) for topic in topics]
    rate, places = columns.bytes_in_per_s, columns.log_dirs
    return table_of(
        schemas.PARTITIONS,
        {
            "topic": _repeated([topic.name for topic in topics], counts),
            "topic_id": _repeated([topic.topic_id for topic in topics], counts),
            "partition": _or_null(columns.number),
            "replicas": arrow_lists(columns.replicas),
            "adding": arrow_lists(columns.adding),
            "removing": arrow_lists(columns.removing),
            "leader": _or_null(columns.leader),
            "isr": arrow_lists(columns.isr, ~columns.isr_known),
            "bytes": _or_null(columns.bytes),
            "bytes_in_per_s": pa.array(rate, mask=np.isnan(rate)),
            **({} if places is None else {"log_dirs": list(map(_sorted_items, places))}),
        },
    )


def arrow_lists(lists: ReplicaLists, unknown: np.ndarray | None = None) -> pa.ListArray:
    """Lists of numbers as an Arrow array; raises `ArrowInvalid` for ids beyond 32 bits."""
    offsets, ids = (pa.array(values).cast(pa.int32()) for values in (lists.offsets, lists.ids))
    mask = None if unknown is None or not unknown.any() else pa.array(unknown)
    return pa.ListArray.from_arrays(offsets, ids, mask=mask)


def _or_null(values: Ints) -> pa.Array:
    unknown = values == UNKNOWN
    return pa.array(values, mask=unknown if unknown.any() else None)


def _sorted_items(places: Mapping[int, str] | None) -> list[tuple[int, str]] | None:
    return None if places is None else sorted(places.items())


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
        broker.min_insync,
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
        min_insync=row["min_insync"],
    )


def _pairs(config: Mapping[str, str] | None) -> list[tuple[str, str]] | None:
    return None if config is None else sorted(config.items())
