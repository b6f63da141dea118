"""The partitions of a cluster as columns, with what its load history knows of each.

What counts is what plans count (`load.apply`): an observed size stays, else the latest figure
stands in; a rate is the 95th percentile of its history, else what was observed. The figure of a
topic as a whole is shared evenly by its partitions without a figure of their own.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from poolkeeper.fleet.report_tables.cluster_tables import ClusterTables
from poolkeeper.fleet.storage.parquet import only
from poolkeeper.load.apply import WHOLE_TOPIC
from poolkeeper.load.prometheus import BYTES, RATE
from poolkeeper.report.fleet.forecast import HORIZON_DAYS

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_PARTITIONS_MAX = 1 << 32
"""Above any number of a partition: topic and number fit into one integer."""


@dataclass(frozen=True)
class PartitionLoads:
    """A row for each partition, by topic and number; NaN is unknown.

    `topic` is the place of its name in `topics`. `size` is of one replica, `growth` of that a day
    as forecasts count it,
    `rate` in bytes per second. `replica` are broker ids of all rows one after the other, and
    `row_of` the row of each.
    """

    topics: tuple[str, ...]
    topic: Ints
    partition: Ints
    size: Floats
    growth: Floats
    rate: Floats
    replica: Ints
    row_of: Ints
    first: Ints


def partition_loads(tables: ClusterTables) -> PartitionLoads:
    """The columns of all partitions."""
    rows = tables.partitions
    encoded = _plain(rows.column("topic")).dictionary_encode()
    topic = encoded.indices.to_numpy().astype(np.int64)
    partition = rows.column("partition").to_numpy().astype(np.int64)
    places = _Places(encoded.dictionary, topic, partition)
    metric = tables.features.column("metric")
    of_bytes, of_rates = (only(tables.features, pc.equal(metric, m)) for m in (BYTES, RATE))
    size, rate = _floats(rows.column("bytes")), _floats(rows.column("bytes_in_per_s"))
    size = np.where(np.isnan(size), places.figures(of_bytes, "last"), size)
    lists = _plain(rows.column("replicas"))
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    return PartitionLoads(
        tuple(encoded.dictionary.to_pylist()),
        topic,
        partition,
        size,
        _not_below_zero(places.figures(of_bytes, "growth_per_day"), size),
        _else(places.figures(of_rates, "p95"), rate),
        lists.flatten().to_numpy().astype(np.int64),
        np.repeat(np.arange(len(topic)), lengths),
        np.cumsum(lengths) - lengths,
    )


@dataclass(frozen=True)
class _Places:
    """Where the partitions of a cluster are, to which features are to be added."""

    names: pa.Array
    topic: Ints
    partition: Ints

    def figures(self, features: pa.Table, column: str) -> Floats:
        """The figure of each partition: its own, else its part of its topic's."""
        known = only(features, pc.is_valid(features.column(column)))
        found = pc.index_in(_plain(known.column("topic")), value_set=self.names)
        there = pc.is_valid(found).to_numpy(zero_copy_only=False)
        topic = pc.fill_null(found, 0).to_numpy()[there].astype(np.int64)
        number = known.column("partition").to_numpy()[there].astype(np.int64)
        value = known.column(column).to_numpy()[there].astype(np.float64)
        own = self._own(topic, number, value)
        whole = number == WHOLE_TOPIC
        if not whole.any():
            return own
        return _else(own, self._shared(topic[whole], value[whole], own))

    def _own(self, topic: Ints, number: Ints, value: Floats) -> Floats:
        mine = self.topic * _PARTITIONS_MAX + self.partition
        wanted = topic * _PARTITIONS_MAX + number
        if np.array_equal(mine, wanted):  # features of all partitions, in their order
            return value
        order = np.argsort(mine, kind="stable")
        place = np.searchsorted(mine, wanted, sorter=order)
        place = order[np.minimum(place, len(mine) - 1)] if len(mine) else place
        hits = np.flatnonzero(mine[place] == wanted) if len(mine) else place[:0]
        found = np.full(len(mine), np.nan)
        found[place[hits]] = value[hits]
        return found

    def _shared(self, topic: Ints, value: Floats, own: Floats) -> Floats:
        topics = len(self.names)
        whole = np.full(topics, np.nan)
        whole[topic] = value
        missing = np.isnan(own)
        without = np.bincount(self.topic[missing], minlength=topics)
        held = np.bincount(self.topic, weights=zero_if_unknown(own), minlength=topics)
        # A growth may be negative, and its rest as well.
        rest = whole - held
        part = np.where(whole >= 0, np.maximum(rest, 0.0), rest) / np.maximum(without, 1)
        shared: Floats = part[self.topic]
        return shared


def _not_below_zero(growth: Floats, size: Floats) -> Floats:
    """The growth, with which no replica of a known size has less than nothing at the horizon."""
    return np.where(np.isnan(size), growth, np.maximum(growth, -size / HORIZON_DAYS))


def zero_if_unknown(values: Floats) -> Floats:
    """The values, with 0 for those that are unknown."""
    return np.where(np.isnan(values), 0.0, values)


def _else(values: Floats, others: Floats) -> Floats:
    return np.where(np.isnan(values), others, values)


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """The column in one piece."""
    found = column.combine_chunks()
    if isinstance(found, pa.ChunkedArray):
        found = pa.concat_arrays(found.chunks) if found.num_chunks else pa.array([], column.type)
    return found


def _floats(column: pa.ChunkedArray) -> Floats:
    floats: Floats = column.cast(pa.float64()).to_numpy()
    return floats
