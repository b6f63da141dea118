"""The features of one cluster, from tables to tables. No Spark in it.

Samples come from three places, any of which may have none, and are taken together:

    files        Parquet below `DIR/[…/]cluster=NAME/`, with the columns of `schemas.SAMPLES`
    Prometheus   where the cluster declares `load: {source: Prometheus}`; kept as `samples`
    snapshots    the sizes in this store's snapshots of all days in the window

The window ends with the snapshot that the features are for, so that making them again next week
gives the same. Prometheus is asked once per snapshot and window; late samples in files are seen, as
their content is part of what the features are made from.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from poolkeeper.errors import PoolkeeperError, Refused
from poolkeeper.fleet.stages import features
from poolkeeper.fleet.stages.plan import desired_of
from poolkeeper.fleet.storage import cluster_rows, parquet, schemas
from poolkeeper.fleet.storage.cluster_rows import ClusterRows
from poolkeeper.fleet.storage.store import FAILED, OK, Store, input_digest
from poolkeeper.load import prometheus
from poolkeeper.load.time_series import HistoryWindow
from poolkeeper.model.specs import Desired
from poolkeeper.resources.parse.quantities import duration_s

SOURCE_PROMETHEUS = "Prometheus"
NEEDED = ("topic", "partition", "bytes")


@dataclass(frozen=True, slots=True)
class FeaturesTask:
    """A cluster whose features are to be made; `samples` is a folder, empty: none."""

    root: str
    day: str
    cluster: str
    samples: str = ""
    window_s: int = 7 * 86_400
    step_s: int = 3600
    coverage_min: float = 0.5
    deadline_s: float = prometheus.DEADLINE_S


@dataclass(frozen=True, slots=True)
class FeaturesResult:
    """The result of a task; `seconds` of wall time."""

    cluster: str
    status: str
    reason: str
    samples: int
    features: int
    seconds: float


def perform(task: FeaturesTask) -> FeaturesResult:
    """Do one task; a fault becomes its status and is never raised. Then there are no features."""
    begin = time.monotonic()
    store = Store(Path(task.root))
    try:
        samples, made = _perform(store, task)
    except PoolkeeperError as wrong:
        store.begin(schemas.FEATURES, task.day, task.cluster)
        return FeaturesResult(task.cluster, FAILED, str(wrong), 0, 0, time.monotonic() - begin)
    return FeaturesResult(task.cluster, OK, "", samples, made, time.monotonic() - begin)


def is_made(store: Store, task: FeaturesTask) -> bool:
    """Whether the task was done, from the same input."""
    return store.is_made(schemas.FEATURES, task.day, task.cluster, input_of(store, task))


def input_of(store: Store, task: FeaturesTask) -> str:
    """The digest of what features are made from; answers of Prometheus are not part of it."""
    days = _days(store, task)
    heads = [store.file(schemas.CLUSTERS, day, task.cluster) for day in days]
    return input_digest(
        "features",
        str((task.window_s, task.step_s, task.coverage_min)),
        *days,
        files=[
            *heads,
            store.file(schemas.MANIFESTS, "", task.cluster),
            *sample_files(task),
        ],
    )


def sample_files(task: FeaturesTask) -> list[Path]:
    """The files of samples of the cluster, sorted."""
    if not task.samples:
        return []
    name = f"cluster={task.cluster}"
    return sorted(
        file for file in Path(task.samples).rglob("*.parquet") if name in file.parent.parts
    )


def _perform(store: Store, task: FeaturesTask) -> tuple[int, int]:
    head = store.head(schemas.CLUSTERS, task.day, task.cluster)
    if head is None or head["status"] != OK:
        raise Refused("it has no snapshot of that day")
    desired = desired_of(store, task.cluster)
    length_s = _declared_window_s(desired) or task.window_s
    window = HistoryWindow(head["read_ms"] + 1, length_s, task.step_s, task.coverage_min)
    asked = _of_prometheus(desired, window, task)
    parts = [
        asked,
        *(parquet.read(file, schemas.SAMPLES, foreign=True) for file in sample_files(task)),
        *_of_snapshots(store, task),
    ]
    samples = pa.concat_tables(part.cast(parquet.plain(schemas.SAMPLES)) for part in parts)
    rows = features.of_samples(samples, window)
    bodies = {
        table.name: store.read(table, task.day, task.cluster) for table in cluster_rows.BODIES
    }
    cluster = cluster_rows.cluster_of_rows(task.cluster, ClusterRows(head, bodies))
    content = {
        schemas.SAMPLES.name: asked,
        schemas.BROKER_FEATURES.name: features.of_brokers(rows, cluster, desired),
        schemas.FEATURES.name: rows,
    }
    store.step(schemas.FEATURES, task.day, task.cluster, content, input_of(store, task))
    return samples.num_rows, rows.num_rows


def _of_prometheus(desired: Desired, window: HistoryWindow, task: FeaturesTask) -> pa.Table:
    load = desired.cluster.load
    if load.source != SOURCE_PROMETHEUS:
        return parquet.from_rows(schemas.SAMPLES, ())
    said: Any = load.prometheus
    server = prometheus.PrometheusServer(str(said["url"]), task.deadline_s)
    queries = {**prometheus.QUERIES, **said.get("queries", {})}
    return features.samples_table(prometheus.samples(server, window, queries))


def _declared_window_s(desired: Desired) -> int | None:
    """The length of history that the cluster declares; it takes precedence over the option."""
    said = desired.cluster.load.prometheus.get("window")
    return None if said is None else duration_s(str(said))


def _of_snapshots(store: Store, task: FeaturesTask) -> Iterator[pa.Table]:
    for day in _days(store, task):
        head = store.head(schemas.CLUSTERS, day, task.cluster)
        if head is not None and head["status"] == OK:
            rows = store.read(schemas.PARTITIONS, day, task.cluster, NEEDED)
            yield features.sizes_of_snapshot(rows, head["read_ms"])


def _days(store: Store, task: FeaturesTask) -> list[str]:
    """Days with a snapshot, up to the task's, whether or not they lie in the window."""
    earlier = [day for day in store.days(schemas.CLUSTERS) if day <= task.day]
    reach = 2 + task.window_s // 86_400
    return earlier[-reach:]
