"""Spark: jobs whose tasks read and plan clusters, and the writer of all tables.

**A row is a task, or a piece of what a task gave.** A task names a cluster; the executor opens the
cluster's part of the tables by URI, as Arrow, and yields rows of several tables. They are kept on
the executors' disks as pieces (`results`) and then written by Spark, table by table: partition N of
a job becomes the files `part-N-…` of every table. So a cluster's rows lie together and in their
order, small clusters share a file, and a giant has its own.

**No straggler.** A hash of a task's name would not say when it starts. `repartitionById` gives
every slot (a heavy task, or several light ones) a partition of its own, and Spark starts partitions
in the order of their numbers: that is longest-first scheduling.

A task that is lost with its executor is done again. One whose rows may then differ has a token:
rows of two attempts are never mixed.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, TypeVar

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, spark_partition_id
from pyspark.util import inheritable_thread_target

from poolkeeper.errors import Unavailable
from poolkeeper.fleet.engines import parallelism, releases, results
from poolkeeper.fleet.engines.hadoop import HadoopObjects
from poolkeeper.fleet.engines.histories import FAILURE, SAMPLES, SAMPLES_DDL, HistoryJob
from poolkeeper.fleet.engines.progress import described
from poolkeeper.fleet.engines.results import (
    OUTCOME,
    PIECES,
    PIECES_DDL,
    ClusterOutcome,
    Job,
    RowsDifferError,
    StepResult,
)
from poolkeeper.fleet.engines.session import LazySession, checked
from poolkeeper.fleet.engines.task_groups import runs
from poolkeeper.fleet.engines.worker_garbage import worked
from poolkeeper.fleet.lake.filesystems import Storage, local_path
from poolkeeper.fleet.lake.objects import ArrowObjects, Objects
from poolkeeper.fleet.storage.table_schema import TableSchema

Task = TypeVar("Task")
Done = TypeVar("Done")
Batches = Iterable[pa.RecordBatch]

TASKS_PER_SLOT = 16
WRITES_AT_A_TIME = 4
LOCAL_DISK = ": make room in spark.local.dir of the executors, or name another (--conf)"
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
        with described(self._session.sparkContext, f"{len(tasks)} tasks"):
            answers = checked(
                "tasks",
                lambda: _mapped(
                    self._placed(tasks, places), work, "place int, done binary"
                ).toArrow(),
            )
        found = dict(zip(*(column.to_pylist() for column in answers.columns), strict=True))
        return [pickle.loads(found[place]) for place in range(len(tasks))]

    @contextmanager
    def make(self, job: Job) -> Iterator["SparkMade"]:
        """Do a job."""
        perform = partial(_perform, perform=job.perform, threads=job.threads)
        kept = _mapped(self._placed(job.tasks, job.slots), perform, PIECES_DDL)
        kept = kept.persist(StorageLevel.DISK_ONLY)
        frames = [kept]
        found = kept
        if job.merge is not None and job.merges:
            merge = partial(_merge, tasks=dict(job.merges), merge=job.merge)
            parts = kept.where(col("part") != "")
            slots = {cluster: slot for slot, cluster in enumerate(sorted(job.merges))}
            merged = _mapped(_by_slot(parts, slots), merge, PIECES_DDL)
            frames.append(merged.persist(StorageLevel.DISK_ONLY))
            found = kept.where(col("part") == "").union(frames[-1])
        try:
            yield SparkMade(self._session, job.what, found)
        finally:
            for frame in frames:
                frame.unpersist()

    @contextmanager
    def make_features(self, job: HistoryJob) -> Iterator["SparkMade"]:
        """Make features: samples as rows, filtered, exchanged by cluster and topic."""
        read = partial(_read, read=job.read)
        samples = _mapped(self._placed(job.sources, job.source_slots), read, SAMPLES_DDL)
        at, metric = col("at_ms"), col("metric")
        wanted = samples.where(
            (metric == FAILURE)
            | (metric.isin(*job.metrics) & (at >= job.begin_ms) & (at < job.end_ms))
        )
        exchanged = wanted.repartition(job.parts, "cluster", "topic")
        figures = _mapped(exchanged, partial(_figures, figures=job.figures), PIECES_DDL)
        tasks = self._placed(
            [(name, task) for name, task in job.clusters.items()],
            [job.slots[name] for name in job.clusters],
        )
        begun = _mapped(tasks, _task_pieces, PIECES_DDL)
        gathered = _by_slot(begun.union(figures), job.slots)
        kept = _mapped(gathered, partial(_gather, gather=job.gather), PIECES_DDL)
        kept = kept.persist(StorageLevel.DISK_ONLY)
        try:
            yield SparkMade(self._session, job.what, kept)
        finally:
            kept.unpersist()

    def _placed(self, tasks: Sequence[Any], slots: Sequence[int]) -> DataFrame:
        """A row for each task, each slot in a partition of that number."""
        columns = [list(slots), list(range(len(tasks))), [pickle.dumps(task) for task in tasks]]
        arrays = [pa.array(c, field.type) for c, field in zip(columns, _TASKS, strict=True)]
        rows = self._session.createDataFrame(pa.Table.from_arrays(arrays, schema=_TASKS))
        return rows.repartitionById(max(slots, default=0) + 1, col("slot"))


class SparkMade:
    """What a job made: pieces on the executors' disks; see `engines.Made`."""

    def __init__(self, session: SparkSession, what: str, frame: DataFrame) -> None:
        self._session = session
        self._what = what
        self._frame = frame

    @cached_property
    def outcomes(self) -> tuple[ClusterOutcome, ...]:
        """What became of every cluster, by name; this is where the job is done."""
        return self._outcomes()

    def write(self, folders: Mapping[TableSchema, str]) -> None:
        """Write tables, several at a time: each is a job with little to do for every task.

        Raises `RowsDifferError` where a task that was lost gave other rows when done again.
        """
        tokens = {each.cluster: each.token for each in self.outcomes if each.token}
        try:
            self._write(folders, tokens)
        except Unavailable as failed:
            if tokens and any(each.token != tokens[each.cluster] for each in self._outcomes()):
                raise RowsDifferError(f"{self._what}: an executor was lost") from failed
            raise

    def _outcomes(self) -> tuple[ClusterOutcome, ...]:
        said = self._frame.where(col("kind") == OUTCOME).select("body", spark_partition_id())
        with described(self._session.sparkContext, self._what):
            found = checked(self._what, said.toArrow, LOCAL_DISK)
        rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
        return tuple(
            sorted((results.outcome_of(*row) for row in rows), key=lambda each: each.cluster)
        )

    def _write(self, folders: Mapping[TableSchema, str], tokens: Mapping[str, str]) -> None:
        rows: dict[str, int] = {}
        for outcome in self.outcomes:
            for name, count in outcome.rows.items():
                rows[name] = rows.get(name, 0) + count
        context = self._session.sparkContext
        with described(context, f"{self._what}: tables") as group:

            def written(table: TableSchema) -> None:
                context.setJobGroup(group, f"{self._what}: {table.name}")
                pieces = self._frame.where(col("kind") == table.name)
                typed = partial(_typed, table=table, tokens=tokens)
                frame = _mapped(pieces, typed, table.ddl_of_files)
                folder = folders[table]
                checked(f"{folder}: cannot be written", lambda: frame.write.parquet(folder))

            with ThreadPoolExecutor(WRITES_AT_A_TIME, "tables") as threads:
                target = inheritable_thread_target(self._session)(written)
                todo = [table for table in folders if rows.get(table.name)]
                for begun in [threads.submit(target, table) for table in todo]:
                    begun.result()


def _mapped(
    frame: DataFrame, work: Callable[[Batches], Iterator[pa.RecordBatch]], ddl: str
) -> DataFrame:
    """The rows that Python workers make of each partition."""
    return frame.mapInArrow(releases.guarded(partial(worked, work=work)), ddl)


def _by_slot(pieces: DataFrame, slots: Mapping[str, int]) -> DataFrame:
    """Pieces of clusters in the partitions of their slots, cluster by cluster."""
    number = partial(_slots_of, slots=dict(slots))
    known = _mapped(pieces, number, f"{PIECES_DDL}, slot int")
    placed = known.repartitionById(max(slots.values(), default=0) + 1, col("slot"))
    return placed.sortWithinPartitions("cluster", "part", "kind", "number").drop("slot")


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
        yield pa.RecordBatch.from_pydict(
            {"place": pa.array([place], pa.int32()), "done": pa.array([done], pa.binary())}
        )


def _perform(
    batches: Batches, perform: Callable[[Any], StepResult], threads: int
) -> Iterator[pa.RecordBatch]:
    tasks = [task for _, task in _tasks(batches)]
    for result in results.perform_all(tasks, perform, threads):
        yield from results.pieces_of(result)


def _read(
    batches: Batches, read: Callable[[Any], Iterator[pa.RecordBatch]]
) -> Iterator[pa.RecordBatch]:
    for _, task in _tasks(batches):
        yield from read(task)


def _slots_of(batches: Batches, slots: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found = [slots[name] for name in batch.column("cluster").to_pylist()]
        yield pa.RecordBatch.from_arrays(
            [*batch.columns, pa.array(found, pa.int32())],
            schema=PIECES.append(pa.field("slot", pa.int32())),
        )


def _merge(
    batches: Batches,
    tasks: Mapping[str, Any],
    merge: Callable[[Any, Sequence[StepResult]], StepResult],
) -> Iterator[pa.RecordBatch]:
    for cluster, pieces in _by_cluster(batches):
        yield from results.pieces_of(merge(tasks[cluster], results.results_of(pieces)))


def _figures(
    batches: Batches, figures: Callable[[pa.Table], Iterator[tuple[str, pa.Table]]]
) -> Iterator[pa.RecordBatch]:
    found = list(batches)
    if found:
        samples = pa.Table.from_batches(found, schema=SAMPLES)
        for cluster, content in figures(samples):
            yield from results.pieces_of_table(cluster, content)


def _task_pieces(batches: Batches) -> Iterator[pa.RecordBatch]:
    for _, (cluster, task) in _tasks(batches):
        yield results.piece_of_task(cluster, pickle.dumps(task))


def _gather(
    batches: Batches, gather: Callable[[Any, Sequence[pa.Table], Sequence[str]], StepResult]
) -> Iterator[pa.RecordBatch]:
    for _, pieces in _by_cluster(batches):
        task, tables, failures = results.gathered(pieces)
        yield from results.pieces_of(gather(pickle.loads(task), tables, failures))


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


def _typed(
    batches: Batches, table: TableSchema, tokens: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from results.typed(table, batch, tokens)
