"""Spark's part of a fleet's steps, done by this process: the same functions, the same files.

What Spark itself does (partitions, lost tasks, its writer) is tested in `test_spark`; both give the
same, which is tested there as well.
"""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from poolkeeper.errors import Unavailable
from poolkeeper.fleet.engines import results
from poolkeeper.fleet.engines.histories import FAILURE, SAMPLES, HistoryJob
from poolkeeper.fleet.engines.results import ClusterOutcome, Job, StepResult
from poolkeeper.fleet.lake.filesystems import Storage, local_path
from poolkeeper.fleet.lake.objects import ArrowObjects
from poolkeeper.fleet.storage.parquet import stored, with_cluster
from poolkeeper.fleet.storage.table_schema import TableSchema


class InProcess:
    """See `engines.Engine`; `slots`: as if so many tasks were done at a time."""

    storage = Storage()

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

    @contextmanager
    def make(self, job: Job) -> Iterator["MadeHere"]:
        placed: dict[int, list[Any]] = {}
        for task, slot in zip(job.tasks, job.slots, strict=True):
            placed.setdefault(slot, []).append(task)
        perform = pickle.loads(pickle.dumps(job.perform))  # as it would travel
        found = [
            (slot, result)
            for slot, tasks in sorted(placed.items())
            for result in results.perform_all(tasks, perform, job.threads)
        ]
        whole = [(slot, result) for slot, result in found if not result.part]
        last = max(job.slots, default=0)
        for more, (cluster, task) in enumerate(sorted(job.merges.items()), 1):
            parts = [r for _, r in found if r.part and r.outcome.cluster == cluster]
            assert job.merge is not None
            whole.append((last + more, job.merge(task, parts)))
        yield MadeHere(whole)

    @contextmanager
    def make_features(self, job: HistoryJob) -> Iterator["MadeHere"]:
        read = pickle.loads(pickle.dumps(job.read))
        batches = [batch for source in job.sources for batch in read(source)]
        samples = pa.Table.from_batches(batches, schema=SAMPLES)
        metric, at = samples.column("metric"), samples.column("at_ms")
        wanted = pc.and_(
            pc.is_in(metric, pa.array(job.metrics)),
            pc.and_(pc.greater_equal(at, job.begin_ms), pc.less(at, job.end_ms)),
        )
        found: dict[str, tuple[list, list]] = {name: ([], []) for name in job.clusters}
        exchanged = samples.filter(pc.or_(wanted, pc.equal(metric, FAILURE)))
        if exchanged.num_rows:
            for cluster, content in job.figures(exchanged):
                found[cluster][isinstance(content, str)].append(content)
        made = [
            (job.slots[name], job.gather(task, *found[name])) for name, task in job.clusters.items()
        ]
        yield MadeHere(sorted(made, key=lambda pair: pair[0]))


class MadeHere:
    """See `engines.Made`."""

    def __init__(self, made: Sequence[tuple[int, StepResult]]) -> None:
        self._made = made

    @property
    def outcomes(self) -> tuple[ClusterOutcome, ...]:
        found = [
            replace(
                result.outcome,
                slot=slot,
                rows={name: content.num_rows for name, content in result.tables.items()},
            )
            for slot, result in self._made
        ]
        return tuple(sorted(found, key=lambda outcome: outcome.cluster))

    def write(self, folders: Mapping[TableSchema, str]) -> None:
        for table, folder in folders.items():
            by_slot: dict[int, list[pa.Table]] = {}
            for slot, result in self._made:
                content = result.tables.get(table.name)
                if content is not None and content.num_rows:
                    rows = with_cluster(table, result.outcome.cluster, content)
                    by_slot.setdefault(slot, []).append(rows)
            for slot, parts in by_slot.items():
                path = local_path(folder)
                assert path is not None
                path.mkdir(parents=True, exist_ok=True)
                content = pa.concat_tables(parts).cast(stored(table))
                file = path / f"part-{slot:05d}-here-c000.parquet"
                try:
                    pq.write_table(content, file, write_page_checksum=True)
                except OSError as failed:
                    raise Unavailable(f"{file}: cannot be written: {failed}") from failed
