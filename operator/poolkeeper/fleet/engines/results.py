"""What tasks give: rows of several tables, and one outcome for each cluster. No Spark in it.

A task puts down the rows of its clusters (`lake.attempts`), and answers with their outcomes, which
name the attempt. Then Spark writes the tables, each from the rows of attempts that have answered
(`table_writes`).

Rows that another task needs, of the parts of a giant and of features, travel as Arrow streams in a
binary column: a row of Spark's is a *piece*, some ten thousand rows of one cluster and table.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field, replace
from typing import Any

import pyarrow as pa

from poolkeeper.errors import Internal, PoolkeeperError, Refused
from poolkeeper.fleet.engines.task_groups import runs
from poolkeeper.fleet.lake.attempts import AttemptFiles, Destination
from poolkeeper.fleet.lake.damage import DamagedFile
from poolkeeper.fleet.lake.entries import TableFile
from poolkeeper.fleet.lake.objects import StoredObject
from poolkeeper.fleet.storage import parquet, schemas
from poolkeeper.fleet.storage.schemas import FAILED, OK
from poolkeeper.fleet.storage.table_schema import TableSchema
from poolkeeper.frozen import frozen

PIECE_ROWS = 64 * 1024
FILE_ROWS = 64 * 1024
"""Rows of a file of a table, about at least: a task that writes fewer costs more than they do."""
REASON_MAX = 2000
OUTCOME = "outcome"
PIECES = pa.schema(
    [
        ("cluster", pa.string()),
        ("part", pa.string()),
        ("kind", pa.string()),
        ("number", pa.int32()),
        ("rows", pa.int64()),
        ("slot", pa.int32()),
        ("body", pa.binary()),
    ]
)
NOTE, ROWS = "note", "rows"
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


@frozen
class ClusterOutcome:
    """What became of a cluster.

    `reason`: why it failed, or what it was made without.
    `figures`: what is told of it.
    `damaged`: files that it was to be made from and that cannot be read.
    `of_input`: the same input gives the same. Otherwise a failure is tried again by the next run:
    nothing of the input may be wrong where a store does not answer, or memory ends.
    `rows`: by table, how many there are; `attempt`: the attempt at a task that put them down.
    `files`: the files that hold them, and those that an earlier job of the run wrote of it.
    """

    cluster: str
    status: str = OK
    reason: str = ""
    figures: Mapping[str, str] = field(default_factory=dict)
    damaged: tuple[str, ...] = ()
    of_input: bool = True
    rows: Mapping[str, int] = field(default_factory=dict)
    attempt: str = ""
    files: tuple[TableFile, ...] = ()

    @classmethod
    def of_failure(cls, cluster: str, error: Exception) -> "ClusterOutcome":
        """The outcome of a cluster for which something went wrong, whatever it was."""
        damaged = (error.path,) if isinstance(error, DamagedFile) else ()
        of_input = isinstance(error, Refused) and not damaged
        return cls(cluster, FAILED, reason_of(error), damaged=damaged, of_input=of_input)


@frozen
class StepResult:
    """An outcome with the rows of all tables by name; `part` if it is one of several parts."""

    outcome: ClusterOutcome
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    part: str = ""


@frozen
class Job:
    """Tasks, what does them, and where their rows come to lie.

    `into`: where the rows are written.
    `perform` and `merge` are functions of a module, or partials of such.
    `slots`: by task, the number of the partition; partitions begin in the order of their numbers.
    `threads`: tasks of a partition that are done at a time.
    `merges`: by cluster, the task that joins its parts.
    """

    what: str
    tasks: Sequence[Any]
    slots: Sequence[int]
    perform: Callable[[Any], StepResult]
    into: Destination
    threads: int = 1
    merges: Mapping[str, Any] = field(default_factory=dict)
    merge: Callable[[Any, Sequence[StepResult]], StepResult] | None = None


MORE_MEMORY = (
    "give executors more of it, or have fewer tasks at a time (--processes N, or --master"
    " 'local[N]')"
)
NO_MEMORY = f"there was not enough memory: {MORE_MEMORY}"


def reason_of(error: Exception) -> str:
    """One line of text that can be stored; an error of no kind that we know says its type."""
    if isinstance(error, MemoryError):
        return NO_MEMORY
    known = isinstance(error, PoolkeeperError)
    said = error.line if isinstance(error, PoolkeeperError) else ""
    text = said if known else Internal(f"internal error: {error!r}").line
    return text[:REASON_MAX].encode("utf-8", "backslashreplace").decode("utf-8")


def perform_all(
    tasks: Sequence[Any], perform: Callable[[Any], StepResult], threads: int
) -> Iterator[StepResult]:
    """Do tasks, so many at a time, and give what became of them in their order.

    No more results than threads are ever kept.
    """
    if threads == 1 or len(tasks) < 2:
        yield from map(perform, tasks)
        return
    with ThreadPoolExecutor(min(threads, len(tasks)), "cluster") as pool:
        waiting: deque[Future[StepResult]] = deque()
        for task in tasks:
            if len(waiting) == threads:
                yield waiting.popleft().result()
            waiting.append(pool.submit(perform, task))
        while waiting:
            yield waiting.popleft().result()


def write_results(
    made: Iterable[StepResult], into: Destination, task: int
) -> Iterator[ClusterOutcome | StepResult]:
    """Write the rows of results, and give their outcomes once all rows are written.

    `task`: its number in the job. Results of parts are handed on as they are: whoever joins them
    puts them down. Raises `Unavailable` where something cannot be written.
    """
    files, outcomes = AttemptFiles(into, task), []
    try:
        for result in made:
            if result.part:
                yield result
                continue
            files.add(result.outcome.cluster, result.tables)
            rows = {name: content.num_rows for name, content in result.tables.items()}
            outcomes.append(replace(result.outcome, rows=rows))
        attempt = files.close()
    except BaseException:
        files.abandon()
        raise
    for outcome in outcomes:
        yield replace(outcome, attempt=attempt)


@frozen
class TableWrite:
    """A table to be written, from the rows of these attempts; `slots`: of each, which file."""

    table: TableSchema
    attempts: tuple[str, ...]
    slots: tuple[int, ...]


def table_writes(outcomes: Iterable[ClusterOutcome]) -> list[TableWrite]:
    """What is to be written; attempts with few rows share a file."""
    found: dict[str, dict[str, int]] = {}
    for outcome in outcomes:
        for name, rows in outcome.rows.items():
            if rows:
                of_table = found.setdefault(name, {})
                of_table[outcome.attempt] = of_table.get(outcome.attempt, 0) + rows
    writes = []
    for name, rows_of in sorted(found.items()):
        attempts = sorted(rows_of)
        weights = [rows_of[attempt] for attempt in attempts]
        slots = runs(weights, max(1, sum(weights) // FILE_ROWS))
        writes.append(TableWrite(schemas.TABLES[name], tuple(attempts), tuple(slots)))
    return writes


def with_files(
    outcomes: Iterable[ClusterOutcome],
    writes: Iterable[TableWrite],
    written: Mapping[str, Iterable[StoredObject]],
) -> tuple[ClusterOutcome, ...]:
    """Outcomes with the files of their rows, which Spark names `part-SLOT-…`, by cluster.

    `written`: by table, the files that were written.
    """
    places: dict[tuple[str, str], TableFile] = {}
    for write in writes:
        name = write.table.name
        by_slot = {
            int(file.name.split("-")[1]): TableFile(name, file.path, file.bytes)
            for file in written[name]
        }
        for attempt, slot in zip(write.attempts, write.slots, strict=True):
            places[name, attempt] = by_slot[slot]
    found = []
    for outcome in outcomes:
        own = (places[name, outcome.attempt] for name, rows in outcome.rows.items() if rows)
        found.append(replace(outcome, files=(*own, *outcome.files)))
    return tuple(sorted(found, key=lambda each: each.cluster))


def pieces_of(result: StepResult, slot: int = 0) -> Iterator[pa.RecordBatch]:
    """A result as pieces, its outcome last; `slot`: where it is joined."""
    label = _Label(result.outcome.cluster, result.part, slot=slot)
    for name, content in result.tables.items():
        yield from _pieces(replace(label, kind=name), content)
    rows = {name: content.num_rows for name, content in result.tables.items()}
    said = outcome_bytes(replace(result.outcome, rows=rows))
    yield _piece(replace(label, kind=OUTCOME), 0, 1, said)


def piece_of_outcome(outcome: ClusterOutcome) -> pa.RecordBatch:
    """An outcome on its way to the driver."""
    return _piece(_Label(outcome.cluster, kind=OUTCOME), 0, 1, outcome_bytes(outcome))


def pieces_of_rows(cluster: str, content: pa.Table, slot: int) -> Iterator[pa.RecordBatch]:
    """Features of a cluster on their way to where it is gathered."""
    yield from _pieces(_Label(cluster, kind=ROWS, slot=slot), content)


def piece_of_note(cluster: str, note: bytes, slot: int) -> pa.RecordBatch:
    """A note on its way to where the cluster is gathered."""
    return _piece(_Label(cluster, kind=NOTE, slot=slot), 0, 1, note)


@frozen
class Gathered:
    """What came together of a cluster: notes and rows."""

    notes: list[bytes]
    tables: list[pa.Table]


def gather(pieces: Iterable[Mapping[str, Any]]) -> Gathered:
    """What came together of one cluster."""
    by_kind: dict[str, list[bytes]] = {NOTE: [], ROWS: []}
    for piece in pieces:
        by_kind[piece["kind"]].append(piece["body"])
    return Gathered(by_kind[NOTE], list(map(unpack, by_kind[ROWS])))


def results_of(pieces: Iterable[Mapping[str, Any]]) -> list[StepResult]:
    """Results from the pieces of one cluster, parts by name."""
    by_part: dict[str, list[Mapping[str, Any]]] = {}
    for piece in pieces:
        by_part.setdefault(piece["part"], []).append(piece)
    return [_result(part, found) for part, found in sorted(by_part.items())]


def outcome_bytes(outcome: ClusterOutcome) -> bytes:
    """An outcome as the body of a piece."""
    return json.dumps(
        {
            "cluster": outcome.cluster,
            "status": outcome.status,
            "reason": outcome.reason,
            "figures": dict(outcome.figures),
            "damaged": outcome.damaged,
            "of_input": outcome.of_input,
            "rows": dict(outcome.rows),
            "attempt": outcome.attempt,
            "files": outcome.files,
        }
    ).encode()


def outcome_of(body: bytes) -> ClusterOutcome:
    """An outcome from the body of a piece."""
    said = json.loads(body)
    files = tuple(TableFile(*each) for each in said["files"])
    return ClusterOutcome(**{**said, "damaged": tuple(said["damaged"]), "files": files})


def _result(part: str, pieces: Sequence[Mapping[str, Any]]) -> StepResult:
    (said,) = (piece for piece in pieces if piece["kind"] == OUTCOME)
    outcome = outcome_of(said["body"])
    tables = {}
    for name in outcome.rows:
        own = sorted((p for p in pieces if p["kind"] == name), key=lambda piece: piece["number"])
        parts = [unpack(piece["body"]) for piece in own]
        tables[name] = (
            pa.concat_tables(parts) if parts else parquet.arrow(schemas.TABLES[name]).empty_table()
        )
    return StepResult(outcome, tables, part)


@frozen
class _Label:
    """What a piece is of."""

    cluster: str
    part: str = ""
    kind: str = ""
    slot: int = 0


def _pieces(label: _Label, content: pa.Table) -> Iterator[pa.RecordBatch]:
    for number, first in enumerate(range(0, content.num_rows, PIECE_ROWS)):
        piece = content.slice(first, PIECE_ROWS)
        yield _piece(label, number, piece.num_rows, _packed(piece))


def _piece(label: _Label, number: int, rows: int, body: bytes) -> pa.RecordBatch:
    values = (label.cluster, label.part, label.kind, number, rows, label.slot, body)
    columns = [pa.array([value], f.type) for value, f in zip(values, PIECES, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=PIECES)


def _packed(content: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, content.schema, options=_OPTIONS) as stream:
        stream.write_table(content)
    return bytes(sink.getvalue())


def unpack(body: bytes) -> pa.Table:
    """The rows of a piece."""
    with pa.ipc.open_stream(body) as stream:
        return stream.read_all()
