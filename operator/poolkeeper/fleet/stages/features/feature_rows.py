"""From samples to the features of a cluster: by partition, then by broker.

Samples come from Parquet of anybody's making (`schemas.SAMPLES`), from Prometheus, and from the
sizes in the snapshots of earlier days. `load.time_series` says what is made of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from poolkeeper.fleet.report_tables.broker_loads import broker_loads
from poolkeeper.fleet.report_tables.cluster_tables import ClusterTables
from poolkeeper.fleet.report_tables.partition_loads import partition_loads
from poolkeeper.fleet.storage import schemas
from poolkeeper.fleet.storage.cluster_rows import numbers
from poolkeeper.fleet.storage.parquet import from_rows, table_of
from poolkeeper.frozen import frozen
from poolkeeper.load.apply import MeasuredLoads
from poolkeeper.load.prometheus import BYTES, RATE, Sample
from poolkeeper.load.time_series import (
    DENSE,
    Figures,
    HistoryWindow,
    Samples,
    figures,
)
from poolkeeper.report.fleet.forecast import broker_forecast

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


def of_brokers(cluster: ClusterTables) -> pa.Table:
    """The rows of `broker_features`: of every live broker what its report shows of it, too."""
    live = set(numbers(cluster.brokers.column("broker")))
    loads = broker_loads(cluster, partition_loads(cluster))
    rows = (
        (each.broker, each.bytes, each.capacity, each.growth, broker_forecast(each).days_to_full)
        for each in loads
        if each.broker in live
    )
    return from_rows(schemas.BROKER_FEATURES, rows)


def rated_elsewhere(features: pa.Table, partitions: pa.Table) -> tuple[str, ...]:
    """The topics that have rates, where the snapshot has none of them; nothing where it has one.

    Some that it lacks are as they should be: topics are deleted while their history goes on.
    """
    rated = features.filter(pc.equal(features.column("metric"), RATE)).column("topic").unique()
    there = pc.is_in(rated, value_set=partitions.column("topic").unique())
    return () if pc.any(there).as_py() else tuple(sorted(rated.to_pylist()))


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
