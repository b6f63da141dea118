"""Spark's part of a fleet's steps, done by this process: the same functions, the same rows.

What Spark itself does (partitions, lost tasks, files) is tested in `test_spark`, where both are
compared as well.
"""

import io
import pickle
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from poolkeeper.fleet.engines import histories, results
from poolkeeper.fleet.engines.histories import HistoryJob
from poolkeeper.fleet.engines.results import ClusterOutcome, Job, StepResult, TableWrite
from poolkeeper.fleet.lake.attempts import Destination, rows_of_attempt
from poolkeeper.fleet.lake.filesystems import Storage
from poolkeeper.fleet.lake.objects import ArrowObjects, StoredObject
from poolkeeper.fleet.storage import parquet


class InProcess:
    """See `engines.Engine`; `slots`: as if so many tasks were done at a time."""

    storage = Storage()
    is_running = True

    def __init__(self, slots: int = 1) -> None:
        self.slots = slots

    @classmethod
    @contextmanager
    def opened(cls, *_: object) -> Iterator["InProcess"]:
        """As `engines.open_engine`."""
        yield cls()

    def do(self, tasks: Sequence[Any], perform: Any, done: Any, weights: Sequence[int]) -> list:
        return [perform(task) for task in tasks]

    def objects(self, root: str) -> ArrowObjects:
        return ArrowObjects(root)

    def make(self, job: Job) -> tuple[ClusterOutcome, ...]:
        placed: dict[int, list[Any]] = {}
        for task, slot in zip(job.tasks, job.slots, strict=True):
            placed.setdefault(slot, []).append(task)
        perform = pickle.loads(pickle.dumps(job.perform))  # as it would travel
        outcomes: list[ClusterOutcome] = []
        parts: list[StepResult] = []
        for slot, tasks in sorted(placed.items()):
            made = results.perform_all(tasks, perform, job.threads)
            for found in results.write_results(made, job.into, slot):
                if isinstance(found, ClusterOutcome):
                    outcomes.append(found)
                else:
                    parts.append(found)
        for more, (cluster, task) in enumerate(sorted(job.merges.items()), max(placed) + 1):
            assert job.merge is not None
            own = [part for part in parts if part.outcome.cluster == cluster]
            outcomes += put_down([job.merge(task, own)], job.into, more)
        return written(outcomes, job.into)

    def make_features(self, job: HistoryJob) -> tuple[ClusterOutcome, ...]:
        read = pickle.loads(pickle.dumps(job.read))
        placed = sorted(zip(job.source_slots, range(len(job.sources)), strict=True))
        rows = [row for _, place in placed for row in read(job.sources[place])]
        wanted = [filtered(batch, job) for batch in rows]
        outcomes: list[ClusterOutcome] = []
        grouped = histories.of_all if job.parts else histories.one_after_the_other
        for place, found in enumerate(grouped(wanted)):
            made = histories.features_of(found, job.figures, job.gather)
            outcomes += put_down([made], job.into, place)
        return written(outcomes, job.into)


def filtered(batch: pa.RecordBatch, job: HistoryJob) -> pa.RecordBatch:
    """The samples that Spark leaves."""
    at = pc.field("at_ms")
    sample = pc.field("metric").isin(list(job.metrics)) & (at >= job.begin_ms) & (at < job.end_ms)
    return batch.filter(sample | pc.field("note").is_valid())


def put_down(made: Iterable[StepResult], into: Destination, task: int) -> Iterator[ClusterOutcome]:
    """The outcomes of results none of which is a part."""
    for outcome in results.write_results(made, into, task):
        assert isinstance(outcome, ClusterOutcome)
        yield outcome


def written(outcomes: Sequence[ClusterOutcome], into: Destination) -> tuple[ClusterOutcome, ...]:
    """Outcomes by cluster, with the files of their rows, as Spark would have written them."""
    writes = results.table_writes(outcomes)
    found = {write.table.name: list(files(write, into)) for write in writes}
    ArrowObjects(into.root).delete(into.attempts)
    return results.with_files(outcomes, writes, found)


def files(write: TableWrite, into: Destination) -> Iterator[StoredObject]:
    """Write a table."""
    objects, name = ArrowObjects(into.root), write.table.name
    for slot in sorted(set(write.slots)):
        attempts = (a for a, s in zip(write.attempts, write.slots, strict=True) if s == slot)
        batches = [b for attempt in attempts for b in rows_of_attempt(into, name, attempt)]
        sink = io.BytesIO()
        rows = pa.Table.from_batches(batches, parquet.stored_schema(write.table))
        pq.write_table(
            rows, sink, compression="zstd", write_page_checksum=True, row_group_size=64 * 1024
        )
        path = f"{into.table(name)}/part-{slot:05d}-{secrets.token_hex(6)}.parquet"
        objects.put(path, sink.getvalue())
        yield StoredObject(path, bytes=len(sink.getvalue()))
