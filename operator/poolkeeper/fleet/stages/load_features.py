"""The features of clusters: where samples come from, and what is made of those of one cluster.

Samples come from three places, any of which may have none, and are taken together:

    files        Parquet below `URI/[…/]cluster=NAME/`, with the columns of `schemas.SAMPLES`
    Prometheus   where the cluster declares `load: {source: Prometheus}`; kept as `samples`
    snapshots    the sizes in the snapshots of all days in the window

The window ends with the snapshot that the features are for, so that making them again next week
gives the same. Prometheus is asked once per snapshot and window; late samples in files are seen, as
their files are part of what the features are made from. No Spark in it: `engines.histories` says
what Spark does with these functions.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from poolkeeper.errors import Refused
from poolkeeper.fleet.engines.histories import FAILURE, SAMPLES, SourceFailure
from poolkeeper.fleet.engines.results import ClusterOutcome, StepResult, reason_of
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.filesystems import Storage, open_filesystem
from poolkeeper.fleet.stages import features
from poolkeeper.fleet.stages.plan import read_cluster
from poolkeeper.fleet.stages.tasks import Tables
from poolkeeper.fleet.storage import cluster_rows, codecs, parquet, schemas
from poolkeeper.frozen import frozen
from poolkeeper.load import prometheus
from poolkeeper.load.time_series import HistoryWindow
from poolkeeper.model.desired import Desired
from poolkeeper.resources.parse.quantities import duration_s

SOURCE_PROMETHEUS = "Prometheus"
NEEDED = ("topic", "partition", "bytes")
COUNT = b"samples"
BATCH_ROWS = 128 * 1024


@frozen
class HistoryOptions:
    """How far history reaches back, how it is cut, and how much of it must be there."""

    window_s: int = 7 * 86_400
    step_s: int = 3600
    coverage_min: float = 0.5
    deadline_s: float = prometheus.DEADLINE_S


@frozen
class FeaturesTask:
    """A cluster whose features are to be made, from its snapshot of the day.

    `samples`: what its Prometheus answered, if it has one.
    """

    cluster: str
    desired: str
    snapshot: ClusterEntry
    weight: int = 0
    samples: ClusterEntry | None = None


@frozen
class SourceTask:
    """A place with samples of a cluster: a file of anybody's, a snapshot, or samples kept by us."""

    cluster: str
    root: str = ""
    file: str = ""
    bytes: int = 0
    snapshot: ClusterEntry | None = None
    samples: ClusterEntry | None = None


def asks_prometheus(desired: Desired) -> bool:
    """Whether the cluster's load is in Prometheus."""
    return desired.cluster.load.source == SOURCE_PROMETHEUS


def window_of(desired: Desired, read_ms: int, options: HistoryOptions) -> HistoryWindow:
    """The window that ends with a snapshot; what the cluster declares precedes the option."""
    said = desired.cluster.load.prometheus.get("window")
    length_s = options.window_s if said is None else duration_s(str(said))
    return HistoryWindow(read_ms + 1, length_s, options.step_s, options.coverage_min)


def ask(task: FeaturesTask, windows: Mapping[str, HistoryWindow], deadline_s: float) -> StepResult:
    """Ask the cluster's Prometheus; a fault becomes its status and is never raised."""
    try:
        said: Any = codecs.from_text(Desired, task.desired).cluster.load.prometheus
        server = prometheus.PrometheusServer(str(said["url"]), deadline_s)
        queries = {**prometheus.QUERIES, **said.get("queries", {})}
        found = prometheus.samples(server, windows[task.cluster], queries)
        rows = features.samples_table(found)
        return StepResult(ClusterOutcome(task.cluster), {schemas.SAMPLES.name: rows})
    except Exception as wrong:  # noqa: BLE001 - whatever it is, it is this cluster's alone
        return StepResult(ClusterOutcome.of_failure(task.cluster, wrong))


def read(task: SourceTask, tables: Tables, storage: Storage) -> Iterator[pa.RecordBatch]:
    """The samples of a source; of one that cannot be read, a row that says why."""
    try:
        for content in _tables_of(task, tables, storage):
            rows = parquet.with_cluster(schemas.SAMPLES, task.cluster, content)
            yield from rows.cast(SAMPLES).combine_chunks().to_batches(BATCH_ROWS)
    except Exception as wrong:  # noqa: BLE001 - whatever it is, it is this cluster's alone
        damaged = wrong.path if isinstance(wrong, DamagedFile) else ""
        told = SourceFailure(reason_of(wrong), damaged).to_text()
        values = (task.cluster, told, -1, FAILURE, 0, 0.0)
        columns = [pa.array([value], f.type) for value, f in zip(values, SAMPLES, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=SAMPLES)


def figures(
    samples: pa.Table, windows: Mapping[str, HistoryWindow]
) -> Iterator[tuple[str, pa.Table | str]]:
    """The features of some topics of several clusters; the reason where a source failed."""
    for cluster, rows in features.by_cluster(samples):
        metrics = rows.column("metric")
        failed = pc.equal(metrics, FAILURE)
        for reason in rows.filter(failed).column("topic").to_pylist():
            yield cluster, reason
        known = rows.filter(pc.invert(failed))
        made = features.of_samples(known, windows[cluster])
        said = {**(made.schema.metadata or {}), COUNT: str(known.num_rows).encode()}
        yield cluster, made.replace_schema_metadata(said)


def gather(
    task: FeaturesTask, parts: Sequence[pa.Table], failures: Sequence[str], tables: Tables
) -> StepResult:
    """All features of a cluster, by topic, partition and metric; and of its brokers."""
    try:
        if failures:
            found_failures = [SourceFailure.of_text(each) for each in failures]
            reason = "; ".join(each.reason for each in found_failures)
            damaged = tuple(each.damaged for each in found_failures if each.damaged)
            return StepResult(ClusterOutcome(task.cluster, schemas.FAILED, reason, damaged=damaged))
        samples = sum(int((part.schema.metadata or {})[COUNT]) for part in parts)
        plain = parquet.arrow(schemas.FEATURES)
        found = [part.replace_schema_metadata(plain.metadata) for part in parts]
        rows = pa.concat_tables([plain.empty_table(), *found])
        rows = rows.sort_by([(name, "ascending") for name in ("topic", "partition", "metric")])
        desired = codecs.from_text(Desired, task.desired)
        brokers = _of_brokers(task, rows, desired, tables)
        kept = task.samples.files if task.samples else ()
        said = {"samples": str(samples), "features": str(rows.num_rows)}
        content = {schemas.FEATURES.name: rows, schemas.BROKER_FEATURES.name: brokers}
        return StepResult(ClusterOutcome(task.cluster, figures=said, files=kept), content)
    except Exception as wrong:  # noqa: BLE001 - whatever it is, it is this cluster's alone
        return StepResult(ClusterOutcome.of_failure(task.cluster, wrong))


def _of_brokers(task: FeaturesTask, rows: pa.Table, desired: Desired, tables: Tables) -> pa.Table:
    reader = tables.reader()
    partitions = reader.rows(task.snapshot, schemas.PARTITIONS, (*NEEDED, "replicas"))
    if partitions.column("bytes").null_count:  # features stand in, which is rare
        _, cluster = read_cluster(task.cluster, task.snapshot, tables)
        return features.of_brokers(rows, cluster, desired)
    brokers = cluster_rows.brokers_of(reader.rows(task.snapshot, schemas.BROKERS))
    return features.of_brokers_of_known_sizes(rows, partitions, brokers, desired)


def _tables_of(task: SourceTask, tables: Tables, storage: Storage) -> Iterator[pa.Table]:
    if task.snapshot is not None:
        rows = tables.reader().rows(task.snapshot, schemas.PARTITIONS, NEEDED)
        yield features.sizes_of_snapshot(rows, int(task.snapshot.figures["read_ms"]))
    elif task.samples is not None:
        if not task.samples.is_ok:
            raise Refused(task.samples.reason)
        yield tables.reader().rows(task.samples, schemas.SAMPLES)
    else:
        yield from _of_file(task, storage)


def _of_file(task: SourceTask, storage: Storage) -> Iterator[pa.Table]:
    """Somebody's file, a row group at a time."""
    files, base = open_filesystem(task.root, storage)
    place = f"{task.root}/{task.file}"
    names = [column.name for column in schemas.SAMPLES.columns]
    try:
        with pq.ParquetFile(files.open_input_file(f"{base}/{task.file}")) as opened:
            parquet.check_foreign(schemas.SAMPLES, opened.schema_arrow.metadata or {}, place)
            there = [name for name in names if name in opened.schema_arrow.names]
            for group in range(opened.num_row_groups):
                content = opened.read_row_group(group, there, use_threads=False)
                yield parquet.completed(content, schemas.SAMPLES, names, place)
    except (OSError, pa.ArrowException) as failed:
        raise Refused(f"{place}: cannot be read: {failed}") from failed
