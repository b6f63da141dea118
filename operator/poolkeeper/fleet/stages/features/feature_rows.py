"""From samples to the features of a cluster: by partition, then by broker.

Samples come from Parquet of anybody's making (`schemas.SAMPLES`), from Prometheus, and from the
sizes in the snapshots of earlier days. `load.time_series` says what is made of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from poolkeeper.fleet.storage import schemas
from poolkeeper.fleet.storage.cluster_rows import numbers
from poolkeeper.fleet.storage.parquet import from_rows, only, table_of
from poolkeeper.frozen import frozen
from poolkeeper.load.apply import MeasuredLoads, with_loads
from poolkeeper.load.prometheus import BYTES, RATE, Sample
from poolkeeper.load.time_series import (
    DENSE,
    Figures,
    HistoryWindow,
    Samples,
    days_to_full,
    figures,
)
from poolkeeper.model.columns.replica_lists import places_of
from poolkeeper.model.desired import Desired
from poolkeeper.model.topology import Broker, Cluster

METRICS = (BYTES, RATE)
NEEDED = ("topic", "partition", "metric", "last", "p95")
"""Columns of `features` that plans are made from."""


def of_samples(samples: pa.Table, window: HistoryWindow) -> pa.Table:
    """The rows of `features`, by topic, partition and metric. Other metrics are left alone."""
    topics, metrics = number_texts(samples.column("topic")), number_texts(samples.column("metric"))
    partition = samples.column("partition").to_numpy().astype(np.int64)
    at_ms = samples.column("at_ms").to_numpy()
    value = pc.fill_null(samples.column("value"), float("nan")).to_numpy()
    parts = []
    for metric in METRICS:
        own = metrics.codes == metrics.names.index(metric) if metric in metrics.names else None
        if own is None:
            continue
        keys, series = _series(topics.codes[own], partition[own])
        of_series = Samples(series, at_ms[own], value[own])
        parts.append((metric, keys, figures(of_series, window, latest=metric == BYTES)))
    return _rows_of_figures(parts, topics.names, window)


@frozen
class Coded:
    """Texts by number, and the numbers of all rows; names are sorted."""

    codes: np.ndarray
    names: list[str]


def number_texts(texts: pa.ChunkedArray) -> Coded:
    """A column of texts as numbers; see `Coded`."""
    if not pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_encode()
    if not texts.num_chunks:
        return Coded(np.zeros(0, dtype=np.int64), [])
    whole = texts.unify_dictionaries()
    names = whole.chunk(0).dictionary.to_pylist()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in whole.chunks])
    ordered = sorted(set(names))
    rank = {name: number for number, name in enumerate(ordered)}
    ranks = np.array([rank[name] for name in names], dtype=np.int64)
    return Coded(ranks[codes] if len(names) else codes.astype(np.int64), ordered)


def _series(topic: np.ndarray, partition: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys of all series, ascending, and of each sample the place of its series among them."""
    key = topic * (1 << 32) + (partition + 1)
    if not len(key):
        return key, key
    wide = int(partition.max(initial=0)) + 2
    places = (int(topic.max()) + 1) * wide
    if places > DENSE * len(key):
        keys, series = np.unique(key, return_inverse=True)
        return keys, series
    # A table of all places is several times as fast as sorting.
    place = topic * wide + (partition + 1)
    there = np.zeros(places, dtype=bool)
    there[place] = True
    found = np.flatnonzero(there)
    number = np.cumsum(there) - 1
    return found // wide * (1 << 32) + found % wide, number[place]


def _rows_of_figures(
    parts: Sequence[tuple[str, np.ndarray, Figures]], names: list[str], window: HistoryWindow
) -> pa.Table:
    """Figures of series by metric, as rows by topic, partition and metric."""
    which = np.concatenate([np.zeros(0, np.int64), *(keys[f.series] for _, keys, f in parts)])
    metric = np.repeat(np.arange(len(parts)), [len(f.series) for _, _, f in parts])
    order = np.lexsort((metric, which))
    which, metric = which[order], metric[order]

    def column(values: Callable[[Figures], np.ndarray]) -> np.ndarray:
        return np.concatenate([np.zeros(0), *(values(found) for *_, found in parts)])[order]

    return table_of(
        schemas.FEATURES,
        {
            "topic": pa.array(names, pa.string()).take(pa.array(which >> 32)),
            "partition": pa.array((which & 0xFFFFFFFF) - 1).cast(pa.int32()),
            "metric": pa.array([name for name, *_ in parts], pa.string()).take(pa.array(metric)),
            "window_s": np.full(len(which), window.length_s),
            "buckets": column(lambda f: f.buckets).astype(np.int32),
            "coverage": column(lambda f: f.coverage),
            "p50": _nullable(column(lambda f: f.p50)),
            "p95": _nullable(column(lambda f: f.p95)),
            "max": _nullable(column(lambda f: f.max)),
            "last": column(lambda f: f.last),
            "growth_per_day": _nullable(column(lambda f: f.growth_per_day)),
        },
    )


def _nullable(values: Any) -> pa.Array:
    return pa.array(values, from_pandas=True)


def of_brokers(features: pa.Table, cluster: Cluster, desired: Desired) -> pa.Table:
    """The rows of `broker_features`: every live broker's replicas, their growth, when it is full.

    Growth of a partition of unknown growth counts as none; a broker none of whose partitions has
    one has no growth.
    """
    known = features.filter(pc.equal(features.column("metric"), BYTES))
    growth = _by_partition(known, "growth_per_day")
    cluster = with_loads(cluster, loads_of(features))
    held: dict[int, int] = dict.fromkeys(cluster.brokers, 0)
    grows: dict[int, float] = {}
    for topic in cluster.topics.values():
        for p in topic.partitions:
            more = growth.get((topic.name, p.partition))
            for broker in p.replicas:
                if broker in held:
                    held[broker] += p.size_bytes or 0
                    if more is not None:
                        grows[broker] = grows.get(broker, 0.0) + more
    return _broker_rows(held, grows, cluster.brokers, desired)


def of_brokers_of_known_sizes(
    features: pa.Table, partitions: pa.Table, brokers: Mapping[int, Broker], desired: Desired
) -> pa.Table:
    """The same as `of_brokers` where the snapshot knows every size: by columns alone.

    `partitions`: rows of `partitions` with topic, partition, replicas and bytes.
    """
    growth = _growth_of(features, partitions)
    replicas = partitions.column("replicas").combine_chunks()
    lengths = pc.list_value_length(replicas).to_numpy(zero_copy_only=False)
    ids = pc.list_flatten(replicas).to_numpy(zero_copy_only=False)
    size = np.repeat(partitions.column("bytes").to_numpy(), lengths)
    grows = np.repeat(growth, lengths)
    live = np.array(sorted(brokers), dtype=np.int64)
    place = places_of(ids.astype(np.int64), live)
    here = place >= 0
    grown = here & ~np.isnan(grows)
    # Sums in the order of the rows, as a loop makes them; whole numbers below 2^53 are exact.
    held = np.bincount(place[here], size[here], len(live))
    sums = np.bincount(place[grown], grows[grown], len(live))
    counts = np.bincount(place[grown], minlength=len(live))
    by_broker = zip(live.tolist(), sums.tolist(), counts.tolist(), strict=True)
    return _broker_rows(
        dict(zip(live.tolist(), map(int, held.tolist()), strict=True)),
        {broker: total for broker, total, count in by_broker if count},
        brokers,
        desired,
    )


def _growth_of(features: pa.Table, partitions: pa.Table) -> np.ndarray:
    """Bytes a day by row of `partitions`; NaN where nobody knows."""
    grown = features.column("growth_per_day")
    own = pc.and_(pc.equal(features.column("metric"), BYTES), pc.is_valid(grown))
    known = only(features.select(["topic", "partition", "growth_per_day"]), own)
    growth = np.full(partitions.num_rows, np.nan)
    if not known.num_rows:
        return growth
    names = pc.unique(partitions.column("topic"))
    keys, wanted = (_keys(rows, names) for rows in (known, partitions))
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], known.column("growth_per_day").to_numpy()[order]
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found = keys[place] == wanted
    growth[found] = values[place[found]]
    return growth


def _keys(rows: pa.Table, names: pa.Array) -> np.ndarray:
    """A number for each topic and partition; -1 and below for topics that are none of these."""
    topic = pc.fill_null(pc.index_in(rows.column("topic"), names), -1).to_numpy()
    keys: np.ndarray = topic.astype(np.int64) * (1 << 32) + rows.column("partition").to_numpy()
    return keys


def _broker_rows(
    held: Mapping[int, int],
    grows: Mapping[int, float],
    brokers: Mapping[int, Broker],
    desired: Desired,
) -> pa.Table:
    rows = []
    for broker, size in sorted(held.items()):
        capacity = _capacity(brokers[broker], desired)
        full = days_to_full(size, capacity, grows.get(broker))
        rows.append((broker, size, capacity, grows.get(broker), full))
    return from_rows(schemas.BROKER_FEATURES, rows)


def _capacity(broker: Broker, desired: Desired) -> int | None:
    for pool in desired.pools:
        if broker.id in pool.brokers and pool.capacity_for(broker.id).disk_bytes is not None:
            return pool.capacity_for(broker.id).disk_bytes
    sizes = [each.total_bytes for each in (broker.log_dirs or {}).values()]
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None


def loads_of(features: pa.Table) -> MeasuredLoads:
    """What a cluster is planned with, by topic and partition (see `feature_join`)."""
    metric = features.column("metric")
    return MeasuredLoads(
        _by_partition(features.filter(pc.equal(metric, BYTES)), "last"),
        _by_partition(features.filter(pc.equal(metric, RATE)), "p95"),
    )


def _by_partition(rows: pa.Table, name: str) -> Mapping[tuple[str, int], float]:
    known = rows.filter(pc.is_valid(rows.column(name)))
    topics = known.column("topic").to_pylist()
    keys = zip(topics, numbers(known.column("partition")), strict=True)
    return dict(zip(keys, numbers(known.column(name)), strict=True))


def samples_table(samples: Iterable[Sample]) -> pa.Table:
    """Samples as rows of `samples`."""
    return from_rows(
        schemas.SAMPLES, ((s.topic, s.partition, s.metric, s.at_ms, s.value) for s in samples)
    )
