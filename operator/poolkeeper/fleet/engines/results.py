"""What tasks give: rows of several tables, and one outcome for each cluster. No Spark in it.

Between the steps of a job, rows travel as Arrow streams in a binary column: a row of Spark's is a
*piece*, some ten thousand rows of one cluster and table. So they cost the JVM next to nothing until
they are written, where each table gets its own columns.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field, replace
from typing import Any

import pyarrow as pa

from poolkeeper.errors import Internal, PoolkeeperError, Unavailable
from poolkeeper.fleet.storage import parquet, schemas
from poolkeeper.fleet.storage.schemas import FAILED, OK
from poolkeeper.fleet.storage.table_schema import TableSchema
from poolkeeper.frozen import frozen

PIECE_ROWS = 64 * 1024
REASON_MAX = 2000
OUTCOME = "outcome"
PIECES = pa.schema(
    [
        ("cluster", pa.string()),
        ("part", pa.string()),
        ("kind", pa.string()),
        ("token", pa.string()),
        ("number", pa.int32()),
        ("rows", pa.int64()),
        ("body", pa.binary()),
    ]
)
PIECES_DDL = (
    "cluster string, part string, kind string, token string, number int, rows bigint, body binary"
)
TASK, FEATURES, FAILURE_KIND = "task", "gathered", "failed"
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class RowsDifferError(Unavailable):
    """A task was done again and gave other rows than those that were told of before.

    Its executor was lost with what it had made. What was written is of two moments.
    """


@frozen
class ClusterOutcome:
    """What became of a cluster.

    `figures`: what is told of it.
    `damaged`: files that it was to be made from and that cannot be read.
    `token`: differs if a lost task was done again and its rows may differ.
    `rows`: by table, how many there are; `slot`: the number of the Spark partition with them.
    `files`: files that an earlier job of the run wrote of it: table, path, length.
    """

    cluster: str
    status: str = OK
    reason: str = ""
    figures: Mapping[str, str] = field(default_factory=dict)
    damaged: tuple[str, ...] = ()
    token: str = ""
    rows: Mapping[str, int] = field(default_factory=dict)
    slot: int = 0
    files: tuple[tuple[str, str, int], ...] = ()

    @classmethod
    def of_failure(cls, cluster: str, error: Exception) -> "ClusterOutcome":
        """The outcome of a cluster for which something went wrong, whatever it was."""
        damaged = (error.path,) if hasattr(error, "path") else ()
        return cls(cluster, FAILED, reason_of(error), damaged=damaged)


@frozen
class StepResult:
    """An outcome with the rows of all tables by name; `part` if it is one of several parts."""

    outcome: ClusterOutcome
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    part: str = ""


@frozen
class Job:
    """Tasks, what does them, and where their rows come to lie.

    `perform` and `merge` are functions of a module, or partials of such.
    `slots`: by task, the number of the partition; partitions begin in the order of their numbers.
    `threads`: tasks of a partition that are done at a time.
    `merges`: by cluster, the task that joins its parts.
    """

    what: str
    tasks: Sequence[Any]
    slots: Sequence[int]
    perform: Callable[[Any], StepResult]
    threads: int = 1
    merges: Mapping[str, Any] = field(default_factory=dict)
    merge: Callable[[Any, Sequence[StepResult]], StepResult] | None = None


def reason_of(error: Exception) -> str:
    """One line of text that can be stored; an error of no kind that we know says its type."""
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


def pieces_of(result: StepResult) -> Iterator[pa.RecordBatch]:
    """A result as pieces, its outcome last."""
    label = _Label(result.outcome.cluster, result.part, token=result.outcome.token)
    for name, content in result.tables.items():
        yield from _pieces(replace(label, kind=name), content)
    rows = {name: content.num_rows for name, content in result.tables.items()}
    said = outcome_bytes(replace(result.outcome, rows=rows))
    yield _piece(replace(label, kind=OUTCOME), 0, 1, said)


def pieces_of_table(cluster: str, content: pa.Table | str) -> Iterator[pa.RecordBatch]:
    """Features of a cluster on their way to be gathered; a text is the reason of a failure."""
    if isinstance(content, str):
        yield _piece(_Label(cluster, kind=FAILURE_KIND), 0, 1, content.encode())
    else:
        yield from _pieces(_Label(cluster, kind=FEATURES), content)


def piece_of_task(cluster: str, task: bytes) -> pa.RecordBatch:
    """A task on its way to where the cluster is gathered."""
    return _piece(_Label(cluster, kind=TASK), 0, 1, task)


def gathered(pieces: Iterable[Mapping[str, Any]]) -> tuple[bytes, list[pa.Table], list[str]]:
    """Of one cluster: its task, its features, the reasons of failures."""
    by_kind: dict[str, list[bytes]] = {TASK: [], FEATURES: [], FAILURE_KIND: []}
    for piece in pieces:
        by_kind[piece["kind"]].append(piece["body"])
    (task,) = by_kind[TASK]
    reasons = sorted({body.decode() for body in by_kind[FAILURE_KIND]})
    return task, list(map(unpacked, by_kind[FEATURES])), reasons


def results_of(pieces: Iterable[Mapping[str, Any]]) -> list[StepResult]:
    """Results from the pieces of one cluster, parts by name."""
    by_part: dict[str, list[Mapping[str, Any]]] = {}
    for piece in pieces:
        by_part.setdefault(piece["part"], []).append(piece)
    return [_result(part, found) for part, found in sorted(by_part.items())]


def typed(
    table: TableSchema, pieces: pa.RecordBatch, tokens: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """Pieces of a table as its rows; `tokens`: by cluster, of the attempt that counts."""
    for row in pieces.select(["cluster", "token", "body"]).to_pylist():
        if row["token"] != tokens.get(row["cluster"], row["token"]):
            raise RowsDifferError(f"{row['cluster']} was read again, as an executor was lost")
        content = parquet.with_cluster(table, row["cluster"], unpacked(row["body"]))
        yield from content.combine_chunks().to_batches()


def outcome_bytes(outcome: ClusterOutcome) -> bytes:
    """An outcome as the body of a piece."""
    return json.dumps(
        {
            "cluster": outcome.cluster,
            "status": outcome.status,
            "reason": outcome.reason,
            "figures": dict(outcome.figures),
            "damaged": outcome.damaged,
            "token": outcome.token,
            "rows": dict(outcome.rows),
            "files": outcome.files,
        }
    ).encode()


def outcome_of(body: bytes, slot: int) -> ClusterOutcome:
    """An outcome from the body of a piece."""
    said = json.loads(body)
    lists = {"damaged": tuple(said["damaged"]), "files": tuple(map(tuple, said["files"]))}
    return ClusterOutcome(**{**said, **lists}, slot=slot)


def _result(part: str, pieces: Sequence[Mapping[str, Any]]) -> StepResult:
    (said,) = (piece for piece in pieces if piece["kind"] == OUTCOME)
    outcome = outcome_of(said["body"], 0)
    tables = {}
    for name in outcome.rows:
        own = sorted((p for p in pieces if p["kind"] == name), key=lambda piece: piece["number"])
        parts = [unpacked(piece["body"]) for piece in own]
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
    token: str = ""


def _pieces(label: _Label, content: pa.Table) -> Iterator[pa.RecordBatch]:
    for number, first in enumerate(range(0, content.num_rows, PIECE_ROWS)):
        piece = content.slice(first, PIECE_ROWS)
        yield _piece(label, number, piece.num_rows, _packed(piece))


def _piece(label: _Label, number: int, rows: int, body: bytes) -> pa.RecordBatch:
    values = (label.cluster, label.part, label.kind, label.token, number, rows, body)
    columns = [pa.array([value], f.type) for value, f in zip(values, PIECES, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=PIECES)


def _packed(content: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, content.schema, options=_OPTIONS) as stream:
        stream.write_table(content)
    return bytes(sink.getvalue())


def unpacked(body: bytes) -> pa.Table:
    """The rows of a piece."""
    with pa.ipc.open_stream(body) as stream:
        return stream.read_all()
