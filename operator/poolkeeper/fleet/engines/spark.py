"""Spark: jobs whose tasks read and plan clusters, and the writer of all tables.

**A row is a task, or what became of a cluster.** A task names a cluster; the executor opens the
cluster's part of the tables by URI, as Arrow, and puts down the rows of all its clusters
(`lake.attempts`). What it yields are outcomes, of one attempt at each task, whatever Spark started
twice.

**Tables are DataFrames** with the columns that they document, written by Spark's own writer and
committed by its own protocol, each by a job whose tasks yield the rows of attempts that have
answered. Partition N of it becomes the file `part-N-…`. So a cluster's rows lie together and in
their order, and small clusters share a file. A run's folder is not looked at before the run is
published, so that a job may write into it.

**No straggler.** A hash of a task's name would not say when it starts. `repartitionById` gives
every slot (a heavy task, or several light ones) a partition of its own, and Spark starts partitions
in the order of their numbers: that is longest-first scheduling.

A task that is lost with its executor is done again. One that has answered is not: its rows are
below the root already.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, TypeVar

import pyarrow as pa
from pyspark import StorageLevel, TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.util import inheritable_thread_target

from poolkeeper.fleet.engines import histories, parallelism, releases, results
from poolkeeper.fleet.engines.hadoop import HadoopObjects
from poolkeeper.fleet.engines.histories import Gather, HistoryJob
from poolkeeper.fleet.engines.progress import describe_jobs
from poolkeeper.fleet.engines.results import (
    OUTCOME,
    PIECES,
    ClusterOutcome,
    Job,
    StepResult,
    TableWrite,
)
from poolkeeper.fleet.engines.session import LazySession, run_action
from poolkeeper.fleet.engines.task_groups import runs
from poolkeeper.fleet.engines.worker_garbage import do_task
from poolkeeper.fleet.lake.attempts import Destination, rows_of_attempt
from poolkeeper.fleet.lake.filesystems import Storage, local_path, scheme_of
from poolkeeper.fleet.lake.objects import PUT_AT_ONCE, ArrowObjects, Objects, StoredObject
from poolkeeper.fleet.storage import parquet
from poolkeeper.fleet.storage.table_schema import DOUBLE, LONG, TableSchema

Task = TypeVar("Task")
Done = TypeVar("Done")
Batches = Iterable[pa.RecordBatch]

TASKS_PER_SLOT = 16
WRITES_AT_A_TIME = 4
"""Tables that are written at one time: most of them are small."""
WRITING: Mapping[str, str] = {
    "compression": "zstd",
    "parquet.compression.codec.zstd.level": "1",
    "parquet.compression.codec.zstd.bufferPool.enabled": "true",
    # A reader of one of several clusters in a file decodes no more than it must.
    "parquet.block.row.count.limit": str(64 * 1024),
    "parquet.page.row.count.limit": str(64 * 1024),
    # Nobody asks how many bytes a column would have without its encoding.
    "parquet.size.statistics.enabled": "false",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
COPIED_ONCE: Mapping[str, str] = {"mapreduce.fileoutputcommitter.algorithm.version": "2"}
"""Where a rename is a copy, a task that is done moves its file to where it stays: nobody looks."""
_ANSWERS = pa.schema([("place", pa.int32()), ("done", pa.binary())])
_TASKS = pa.schema([("slot", pa.int32()), ("place", pa.int32()), ("task", pa.binary())])


class Spark:
    """Executors of a Spark session; see `engines.Engine`."""

    def __init__(self, lazy: LazySession) -> None:
        self._lazy = lazy

    @property
    def _session(self) -> SparkSession:
        return self._lazy.get()

    @property
    def slots(self) -> int:
        """How many tasks will run at a time: executors may come and go."""
        context = self._session.sparkContext
        return parallelism.slots(dict(context.getConf().getAll()), context.defaultParallelism)

    @property
    def is_running(self) -> bool:
        """Whether there is a session."""
        return self._lazy.is_open

    @cached_property
    def storage(self) -> Storage:
        """The settings of Hadoop's file systems, as the session has them."""
        found = self._session.sparkContext._jsc.hadoopConfiguration().iterator()
        settings = {}
        while found.hasNext():
            entry = found.next()
            if str(entry.getKey()).startswith(("fs.s3a.", "fs.azure.")):
                settings[str(entry.getKey())] = str(entry.getValue())
        return Storage.of(settings)

    def objects(self, root: str) -> Objects:
        """Small objects: this machine's by Arrow, all others as Spark reaches them."""
        if local_path(root) is not None:
            return ArrowObjects(root)
        return HadoopObjects(self._session, root)

    def do(
        self,
        tasks: Sequence[Task],
        perform: Callable[[Task], Done],
        done: type[Done],
        weights: Sequence[int],
    ) -> list[Done]:
        """Do all tasks; raises `Unavailable` if Spark gave up on one."""
        if not tasks:
            return []
        places = runs(weights, TASKS_PER_SLOT * self.slots)
        work = partial(_answer, perform=perform)
        with describe_jobs(self._session.sparkContext, f"{len(tasks)} tasks"):
            answers = run_action(
                "tasks",
                lambda: _mapped(self._placed(tasks, places), work, _ANSWERS).toArrow(),
            )
        found = dict(zip(*(column.to_pylist() for column in answers.columns), strict=True))
        return [pickle.loads(found[place]) for place in range(len(tasks))]

    def make(self, job: Job) -> tuple[ClusterOutcome, ...]:
        """Do a job; what became of every cluster, by name."""
        slots = {cluster: slot for slot, cluster in enumerate(sorted(job.merges))}
        perform = partial(_perform, job=replace(job, tasks=(), slots=(), merges={}), slots=slots)
        made = _mapped(self._placed(job.tasks, job.slots), perform, PIECES)
        if job.merge is None or not slots:
            return self._written(job.what, job.into, self._outcomes(job.what, made))
        # Clusters that are whole, and parts: to be done once, and looked at twice.
        kept = made.persist(StorageLevel.DISK_ONLY)
        try:
            merge = partial(_merge, tasks=dict(job.merges), merge=job.merge, into=job.into)
            parts = _by_slot(kept.where(col("part") != ""), len(slots))
            merged = _mapped(parts, merge, PIECES)
            found = self._outcomes(job.what, kept.where(col("part") == "").union(merged))
        finally:
            kept.unpersist()
        return self._written(job.what, job.into, found)

    def make_features(self, job: HistoryJob) -> tuple[ClusterOutcome, ...]:
        """Make features: samples as rows, filtered, exchanged by series, then by cluster."""
        read = _mapped(
            self._placed(job.sources, job.source_slots),
            partial(_read, read=job.read),
            histories.SAMPLE_ROWS,
        )
        at, metric = col("at_ms"), col("metric")
        wanted = read.where(
            col("note").isNotNull()
            | (metric.isin(*job.metrics) & (at >= job.begin_ms) & (at < job.end_ms))
        )
        if job.parts:
            exchanged = wanted.repartition(job.parts, *histories.SERIES)
            figures = partial(_figures, figures=job.figures, slots=dict(job.slots))
            found = _by_slot(_mapped(exchanged, figures, PIECES), max(job.slots.values()) + 1)
            made = _mapped(found, partial(_gather, gather=job.gather, into=job.into), PIECES)
        else:
            whole = partial(_whole, figures=job.figures, gather=job.gather, into=job.into)
            made = _mapped(wanted, whole, PIECES)
        return self._written(job.what, job.into, self._outcomes(job.what, made))

    def _outcomes(self, what: str, frame: DataFrame) -> list[ClusterOutcome]:
        """What became of every cluster; this is where a job is done."""
        with describe_jobs(self._session.sparkContext, what):
            found = run_action(what, frame.where(col("kind") == OUTCOME).select("body").toArrow)
        return [results.outcome_of(body) for body in found.column(0).to_pylist()]

    def _written(
        self, what: str, into: Destination, outcomes: Sequence[ClusterOutcome]
    ) -> tuple[ClusterOutcome, ...]:
        """Write the rows that were put down into tables; outcomes by cluster, with their files."""
        writes = results.table_writes(outcomes)
        context = self._session.sparkContext
        with (
            describe_jobs(context, f"{what}: tables") as group,
            ThreadPoolExecutor(WRITES_AT_A_TIME, "tables") as threads,
        ):

            def write(each: TableWrite) -> list[StoredObject]:
                context.setJobGroup(group, f"{what}: {each.table.name}")
                return self._write(into, each)

            target = inheritable_thread_target(self._session)(write)
            begun = {each.table.name: threads.submit(target, each) for each in writes}
            written = {name: done.result() for name, done in begun.items()}
        self.objects(into.root).delete(into.attempts)
        return results.with_files(outcomes, writes, written)

    def _write(self, into: Destination, write: TableWrite) -> list[StoredObject]:
        """Write a table into the folder of its run; the files that this has made."""
        table, objects = write.table, self.objects(into.root)
        folder = into.table(table.name)
        there = {file.path for file in objects.children(folder)}
        yielding = partial(_rows_of_attempts, table=table.name, source=into)
        frame = _mapped(
            self._placed(write.attempts, write.slots), yielding, parquet.stored_schema(table)
        )
        in_store = scheme_of(into.root) in PUT_AT_ONCE
        settings = {**WRITING, **_no_dictionaries(table), **(COPIED_ONCE if in_store else {})}
        writer = frame.write.mode("append").options(**settings)
        place = f"{into.root}/{folder}"
        run_action(f"{place}: cannot be written", lambda: writer.parquet(place))
        return [
            file
            for file in objects.children(folder)
            if file.name.endswith(".parquet") and file.path not in there
        ]

    def _placed(self, tasks: Sequence[Any], slots: Sequence[int]) -> DataFrame:
        """A row for each task, each slot in a partition of that number."""
        columns = [list(slots), list(range(len(tasks))), [pickle.dumps(task) for task in tasks]]
        arrays = [pa.array(c, field.type) for c, field in zip(columns, _TASKS, strict=True)]
        table = pa.Table.from_arrays(arrays, schema=_TASKS)
        rows = run_action("tasks", lambda: self._session.createDataFrame(table))
        return rows.repartitionById(max(slots, default=0) + 1, col("slot"))


def _no_dictionaries(table: TableSchema) -> dict[str, str]:
    """Settings for columns whose values hardly repeat: a dictionary of them only costs."""
    wide = (column.name for column in table.columns if column.type in (LONG, DOUBLE))
    return {f"parquet.enable.dictionary#{name}": "false" for name in wide}


def _mapped(
    frame: DataFrame, work: Callable[[Batches], Iterator[pa.RecordBatch]], made: pa.Schema
) -> DataFrame:
    """The rows that Python workers make of each partition, with the columns of `made`."""
    guarded = releases.guard_release(partial(do_task, work=work))
    return frame.mapInArrow(guarded, from_arrow_schema(made))


def _by_slot(pieces: DataFrame, slots: int) -> DataFrame:
    """Pieces of clusters in the partitions of their slots, cluster by cluster."""
    placed = pieces.repartitionById(slots, col("slot"))
    return placed.sortWithinPartitions("cluster", "part", "kind", "number")


def _rows(batches: Batches) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


def _tasks(batches: Batches) -> list[tuple[int, Any]]:
    """The tasks of a partition with their places, in order."""
    rows = sorted(_rows(batches), key=lambda row: row["place"])
    return [(row["place"], pickle.loads(row["task"])) for row in rows]


def _answer(batches: Batches, perform: Callable[[Any], Any]) -> Iterator[pa.RecordBatch]:
    for place, task in _tasks(batches):
        done = pickle.dumps(perform(task))
        yield pa.RecordBatch.from_pydict({"place": [place], "done": [done]}, _ANSWERS)


def _perform(batches: Batches, job: Job, slots: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
    tasks = [task for _, task in _tasks(batches)]
    return _answered(results.perform_all(tasks, job.perform, job.threads), job.into, slots)


def _rows_of_attempts(
    batches: Batches, table: str, source: Destination
) -> Iterator[pa.RecordBatch]:
    for _, attempt in _tasks(batches):
        yield from rows_of_attempt(source, table, attempt)


def _answered(
    made: Iterable[StepResult], into: Destination, slots: Mapping[str, int] = MappingProxyType({})
) -> Iterator[pa.RecordBatch]:
    """Put down what a task of Spark's has made; the outcomes, and what is yet to be joined.

    `slots`: by cluster, where its parts are joined.
    """
    context = TaskContext.get()
    assert context is not None, "this is no task"
    for found in results.write_results(made, into, context.partitionId()):
        if isinstance(found, ClusterOutcome):
            yield results.piece_of_outcome(found)
        else:
            yield from results.pieces_of(found, slots[found.outcome.cluster])


def _read(
    batches: Batches, read: Callable[[Any], Iterator[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    for _, task in _tasks(batches):
        yield from read(task)


def _merge(
    batches: Batches,
    tasks: Mapping[str, Any],
    merge: Callable[[Any, Sequence[StepResult]], StepResult],
    into: Destination,
) -> Iterator[pa.RecordBatch]:
    made = (
        merge(tasks[cluster], results.results_of(pieces))
        for cluster, pieces in _by_cluster(batches)
    )
    return _answered(made, into)


def _figures(
    batches: Batches, figures: Callable[[str, pa.Table], pa.Table], slots: Mapping[str, int]
) -> Iterator[pa.RecordBatch]:
    """The features of series of several clusters, to where each cluster is gathered."""
    for found in histories.of_all(batches):
        slot = slots[found.cluster]
        for note in found.notes:
            yield results.piece_of_note(found.cluster, note, slot)
        if found.samples.num_rows:
            made = figures(found.cluster, found.samples)
            yield from results.pieces_of_rows(found.cluster, made, slot)


def _gather(
    batches: Batches,
    gather: Gather,
    into: Destination,
) -> Iterator[pa.RecordBatch]:
    def made() -> Iterator[StepResult]:
        for _, pieces in _by_cluster(batches):
            found = results.gather(pieces)
            yield gather(histories.of_notes(found.notes), found.tables)

    return _answered(made(), into)


def _whole(
    batches: Batches,
    figures: Callable[[str, pa.Table], pa.Table],
    gather: Gather,
    into: Destination,
) -> Iterator[pa.RecordBatch]:
    """The features of clusters all of whose samples are here."""
    made = (
        histories.features_of(found, figures, gather)
        for found in histories.one_after_the_other(batches)
    )
    return _answered(made, into)


def _by_cluster(batches: Batches) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Pieces of one cluster after the other; those of a cluster follow each other."""
    name = ""
    pieces: list[dict[str, Any]] = []
    for row in _rows(batches):
        if pieces and row["cluster"] != name:
            yield name, pieces
            pieces = []
        name = row["cluster"]
        pieces.append(row)
    if pieces:
        yield name, pieces
