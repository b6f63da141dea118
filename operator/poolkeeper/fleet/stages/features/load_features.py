"""The features of clusters: where samples come from, and what is made of those of one cluster.

Samples come from three places, any of which may have none, and are taken together:

    files        Parquet below `URI/[…/]cluster=NAME/`, with the columns of `schemas.SAMPLES`
    Prometheus   where the cluster declares `load: {source: Prometheus}`; kept as `samples`
    snapshots    the sizes in the snapshots of all days in the window

The window ends with the snapshot that the features are for, so that making them again next week
gives the same. Prometheus is asked once per snapshot and window; late samples in files are seen, as
their files are part of what the features are made from. A damaged snapshot of an earlier day is
left out, and the outcome says so. No Spark in it.

Sizes of snapshots lie in tables by cluster already: a task opens them and makes the features of a
cluster. All other samples, and more sizes than a task can hold, are rows of a DataFrame; of those
the task only says how many there are. `engines.histories` says what Spark does with these rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from poolkeeper.fleet.engines.histories import (
    ClusterNotes,
    SourceFailure,
    SourceNote,
    note_row,
    sample_rows,
)
from poolkeeper.fleet.engines.results import ClusterOutcome, StepResult, reason_of
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.entries import ClusterEntry
from poolkeeper.fleet.lake.filesystems import Storage
from poolkeeper.fleet.report_tables.cluster_tables import (
    BROKER_COLUMNS,
    PARTITION_COLUMNS,
    ClusterTables,
)
from poolkeeper.fleet.stages.features import feature_rows
from poolkeeper.fleet.stages.features.history_sources import (
    SAMPLES,
    SourceTask,
    rows_of_source,
    samples_of,
)
from poolkeeper.fleet.stages.features.left_out_samples import LeftOutSamples
from poolkeeper.fleet.stages.tasks import Tables
from poolkeeper.fleet.storage import codecs, parquet, schemas
from poolkeeper.frozen import frozen
from poolkeeper.load import prometheus
from poolkeeper.load.time_series import HistoryWindow
from poolkeeper.model.desired import Desired
from poolkeeper.resources.parse.quantities import duration_s
from poolkeeper.text import few

SOURCE_PROMETHEUS = "Prometheus"
COUNT = b"samples"
AS_ROWS = "samples that are rows"
"""The figure of an outcome that is none yet: how many samples there are."""
LEFT_OUT = "left out of the history: "
STEP_S = 3600
STEP_OF_SNAPSHOTS_S = 86_400
EMPTY = SAMPLES.empty_table()


@frozen
class HistoryOptions:
    """How far history reaches back, how it is cut, and how much of it must be there.

    `step_s`: 0 is an hour, and a day where there are snapshots alone, of which a day has one: of
    hours they would cover a 24th, so that neither percentiles nor growth were ever known.
    """

    window_s: int = 7 * 86_400
    step_s: int = 0
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
class HistoryTask:
    """A cluster, the places with its samples, and their window."""

    cluster: FeaturesTask
    sources: tuple[SourceTask, ...]
    window: HistoryWindow


def asks_prometheus(desired: Desired) -> bool:
    """Whether the cluster's load is in Prometheus."""
    return desired.cluster.load.source == SOURCE_PROMETHEUS


def step_of(options: HistoryOptions, *, has_samples: bool) -> int:
    """The step of a cluster's window, in seconds; `has_samples`: not only snapshots."""
    return options.step_s or (STEP_S if has_samples else STEP_OF_SNAPSHOTS_S)


def window_of(
    desired: Desired, read_ms: int, options: HistoryOptions, *, has_samples: bool
) -> HistoryWindow:
    """The window that ends with a snapshot; what the cluster declares precedes the option.

    Of snapshots alone the last one is amid the last step: those of other days then are each in a
    step of their own, even if they are not read at the same time of the day. No step is longer than
    its window, which would begin after the snapshot.
    """
    said = desired.cluster.load.prometheus.get("window")
    length_s = options.window_s if said is None else duration_s(str(said))
    step_s = min(step_of(options, has_samples=has_samples), length_s)
    end_ms = read_ms + 1 if has_samples else read_ms + step_s * 500
    return HistoryWindow(end_ms, length_s, step_s, options.coverage_min)


def ask(task: FeaturesTask, windows: Mapping[str, HistoryWindow], deadline_s: float) -> StepResult:
    """Ask the cluster's Prometheus; a fault becomes its status and is never raised."""
    try:
        load: Any = codecs.from_text(Desired, task.desired).cluster.load.prometheus
        server = prometheus.PrometheusServer(str(load["url"]), deadline_s)
        queries = {**prometheus.QUERIES, **load.get("queries", {})}
        found = prometheus.samples(server, windows[task.cluster], queries)
        rows = feature_rows.samples_table(found)
        said = {"samples": str(rows.num_rows)}
        return StepResult(ClusterOutcome(task.cluster, figures=said), {schemas.SAMPLES.name: rows})
    except Exception as wrong:  # noqa: BLE001 - whatever it is, it is this cluster's alone
        return StepResult(ClusterOutcome.of_failure(task.cluster, wrong))


def perform(task: HistoryTask, tables: Tables, storage: Storage, at_most: int) -> StepResult:
    """The features of a cluster that snapshots alone know of, with so many samples at most.

    Of others, how many there are.
    """
    counted, failures, left_out = 0, [], LeftOutSamples()
    parts: list[pa.Table] = []
    for source in task.sources:
        try:
            counted += rows_of_source(source, storage, task.window)
        except Exception as wrong:  # noqa: BLE001 - whatever it is, it is this cluster's alone
            failures.append(_failure_of(wrong))
    of_tables = all(source.snapshot is not None for source in task.sources)
    if not failures and (counted > at_most or not of_tables):
        return StepResult(ClusterOutcome(task.cluster.cluster, figures={AS_ROWS: str(counted)}))
    for source in () if failures else task.sources:
        try:
            parts += samples_of(source, tables, storage, task.window, left_out)
        except Exception as wrong:  # noqa: BLE001 - whatever it is, it is this cluster's alone
            failures.append(_failure_of(wrong, source))
    try:
        whole = pa.concat_tables([EMPTY, *parts])
        found = [] if _fatal(failures) else [figures_of(whole, task.window)]
    except Exception as wrong:  # noqa: BLE001 - whatever it is, it is this cluster's alone
        failures.append(_failure_of(wrong))
    notes = ClusterNotes(task.cluster, tuple(failures), (left_out,))
    return gather(notes, found, tables)


def _failure_of(wrong: Exception, source: SourceTask | None = None) -> SourceFailure:
    if not isinstance(wrong, DamagedFile):
        return SourceFailure(reason_of(wrong))
    is_left_out = source is not None and source.is_earlier
    what = LEFT_OUT if is_left_out else ""
    return SourceFailure(what + reason_of(wrong), wrong.path, is_left_out)


def _fatal(failures: Sequence[SourceFailure]) -> list[SourceFailure]:
    return [each for each in failures if not each.is_left_out]


def read(
    task: FeaturesTask | SourceTask,
    tables: Tables,
    storage: Storage,
    windows: Mapping[str, HistoryWindow],
) -> Iterator[pa.RecordBatch]:
    """The samples of a source as rows, or why there are none; the task of a cluster as it is."""
    if isinstance(task, FeaturesTask):
        yield note_row(task.cluster, task)
        return
    left_out = LeftOutSamples()
    try:
        for rows in samples_of(task, tables, storage, windows[task.cluster], left_out):
            yield from sample_rows(task.cluster, rows)
        if task.snapshot is None:
            yield note_row(task.cluster, SourceNote(left_out))
    except Exception as wrong:  # noqa: BLE001 - whatever it is, it is this cluster's alone
        yield note_row(task.cluster, _failure_of(wrong, task))


def figures(cluster: str, samples: pa.Table, windows: Mapping[str, HistoryWindow]) -> pa.Table:
    """The features of some series of a cluster."""
    return figures_of(samples, windows[cluster])


def figures_of(samples: pa.Table, window: HistoryWindow) -> pa.Table:
    """The features of samples, and how many samples there were."""
    made = feature_rows.of_samples(samples, window)
    said = {**(made.schema.metadata or {}), COUNT: str(samples.num_rows).encode()}
    return made.replace_schema_metadata(said)


def gather(notes: ClusterNotes, parts: Sequence[pa.Table], tables: Tables) -> StepResult:
    """All features of a cluster, by topic, partition and metric; and of its brokers."""
    task: FeaturesTask = notes.task
    failures = notes.failures
    try:
        reason = "; ".join(each.reason for each in failures)
        damaged = tuple(each.damaged for each in failures if each.damaged)
        if _fatal(failures):
            failed = ClusterOutcome(
                task.cluster, schemas.FAILED, reason, damaged=damaged, of_input=False
            )
            return StepResult(failed)
        samples = sum(int((part.schema.metadata or {})[COUNT]) for part in parts)
        plain = parquet.arrow(schemas.FEATURES)
        found = [part.replace_schema_metadata(plain.metadata) for part in parts]
        rows = pa.concat_tables([plain.empty_table(), *found])
        if len(found) > 1:
            rows = rows.sort_by([(name, "ascending") for name in ("topic", "partition", "metric")])
        desired = codecs.from_text(Desired, task.desired)
        whole = _cluster_tables(task, rows, desired, tables)
        brokers = feature_rows.of_brokers(whole)
        kept = task.samples.files if task.samples else ()
        said = {"samples": str(samples), "features": str(rows.num_rows)}
        left_out = _left_out(notes)
        if left_out.counts:
            said["samplesLeftOut"] = str(left_out.counts.total())
        elsewhere = _elsewhere(feature_rows.rated_elsewhere(rows, whole.partitions))
        reason = "; ".join(filter(None, (reason, left_out.told(), elsewhere)))
        content = {schemas.FEATURES.name: rows, schemas.BROKER_FEATURES.name: brokers}
        outcome = ClusterOutcome(
            task.cluster, reason=reason, figures=said, damaged=damaged, files=kept
        )
        return StepResult(outcome, content)
    except Exception as wrong:  # noqa: BLE001 - whatever it is, it is this cluster's alone
        return StepResult(ClusterOutcome.of_failure(task.cluster, wrong))


def _left_out(notes: ClusterNotes) -> LeftOutSamples:
    found = LeftOutSamples()
    for each in notes.said:
        found.merge(each)
    return found


def _elsewhere(topics: Sequence[str]) -> str:
    return f"no topic of its samples is in its snapshot: {few(topics)}" if topics else ""


def _cluster_tables(
    task: FeaturesTask, rows: pa.Table, desired: Desired, tables: Tables
) -> ClusterTables:
    reader = tables.reader()
    return ClusterTables(
        task.cluster,
        {},
        desired,
        reader.rows(task.snapshot, schemas.PARTITIONS, PARTITION_COLUMNS),
        reader.rows(task.snapshot, schemas.BROKERS, BROKER_COLUMNS),
        rows,
    )
