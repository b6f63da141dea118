"""A cluster with its features: the same as `load.apply`, by column.

Of a cluster of 100,000 partitions every partition has a rate; looked up one by one, rates took as
long as the plan.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from poolkeeper.fleet.storage.parquet import only
from poolkeeper.load.apply import WHOLE_TOPIC
from poolkeeper.load.prometheus import BYTES, RATE
from poolkeeper.model.columns.partition_columns import (
    UNKNOWN,
    Floats,
    PartitionColumns,
    TopicPartitions,
    columns_of,
)
from poolkeeper.model.columns.replica_lists import Ints
from poolkeeper.model.topology import Cluster, Topic


def with_features(cluster: Cluster, features: pa.Table) -> Cluster:
    """The cluster with these rows of `features` applied."""
    sizes, rates = _known(features, BYTES, "last"), _known(features, RATE, "p95")
    if not (sizes.num_rows or rates.num_rows):
        return cluster
    parts = [topic.partitions for topic in cluster.topics.values()]
    columns = columns_of(parts)
    counts = list(map(len, parts))
    topic = np.repeat(np.arange(len(parts)), counts)
    names = pa.array(list(cluster.topics), pa.string())
    size = np.full(len(columns), np.nan)
    if (columns.bytes == UNKNOWN).any():
        size = _figures(sizes, names, topic, columns)
    rate = _figures(rates, names, topic, columns)
    joined = replace(
        columns,
        bytes=_where_unknown(columns.bytes, size),
        bytes_in_per_s=np.where(np.isnan(rate), columns.bytes_in_per_s, rate),
    )
    ends = np.cumsum(counts).tolist()
    rows = zip(cluster.topics.items(), counts, ends, strict=True)
    # `replace` would take longer than the join: there are thousands of topics.
    topics = {
        name: Topic(
            name,
            TopicPartitions(joined, end - count, end),
            found.topic_id,
            found.config,
            found.version,
            found.created_zxid,
        )
        for (name, found), count, end in rows
    }
    return replace(cluster, topics=topics)


def _known(features: pa.Table, metric: str, name: str) -> pa.Table:
    """Topic, partition and value, where there is a value."""
    own = pc.and_(pc.equal(features.column("metric"), metric), pc.is_valid(features.column(name)))
    return only(features.select(["topic", "partition", name]), own)


def _where_unknown(values: Ints, figures: Floats) -> Ints:
    given = (values == UNKNOWN) & ~np.isnan(figures)
    return np.where(given, np.where(given, figures, 0.0).astype(np.int64), values)


def _figures(rows: pa.Table, names: pa.Array, topic: Ints, columns: PartitionColumns) -> Floats:
    """By partition: its own figure, else an even part of what the topic has besides; else NaN."""
    found = pc.fill_null(pc.index_in(rows.column(0), names), -1).to_numpy()
    keys = _keys(found, rows.column(1).to_numpy())
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], rows.column(2).to_numpy()[order].astype(np.float64)
    own = _of_keys(keys, values, _keys(topic, columns.number))
    topics = np.arange(len(names))
    whole = _of_keys(keys, values, _keys(topics, np.full(len(topics), WHOLE_TOPIC)))
    has = ~np.isnan(own)
    # Sums in the order of the partitions, as a loop makes them.
    known = np.bincount(topic[has], own[has], len(topics))
    others = np.bincount(topic[~has], minlength=len(topics))
    part = np.maximum(0.0, whole - known) / np.maximum(others, 1)
    return np.where(has, own, part[topic])


def _keys(topic: np.ndarray, partition: np.ndarray) -> Ints:
    """A number for each topic and partition; negative ones for topics that are none of these."""
    found: Ints = topic.astype(np.int64) * (1 << 32) + (partition.astype(np.int64) - WHOLE_TOPIC)
    return found


def _of_keys(keys: Ints, values: Floats, wanted: Ints) -> Floats:
    """By key, the last value that is there; else NaN. `keys` ascend."""
    if not len(keys):
        return np.full(len(wanted), np.nan)
    place = np.maximum(np.searchsorted(keys, wanted, side="right") - 1, 0)
    return np.where(keys[place] == wanted, values[place], np.nan)
