"""Requests for a plan, and responses, as short byte strings between parent and worker.

Pickling a cluster of 200,000 partitions as objects takes half a second, in which no other thread of
the process runs. A piece here holds some thousand partitions, or moves, by column. That takes a
hundredth of the time, and other threads run between two pieces.

`unpack_*` returns a value equal to the one packed. One end starts the other, and both are the same
release of Poolkeeper, which `GREETING` checks. Pieces are never stored and never come from
elsewhere.
"""

import pickle
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import IO

import numpy as np

from poolkeeper import __version__, errors
from poolkeeper.errors import PoolkeeperError, Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.columns.move_columns import ColumnMoves, MoveColumns, columns_of_moves
from poolkeeper.model.columns.partition_columns import TopicPartitions, columns_of
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import Plan
from poolkeeper.model.topology import Cluster, Topic

PIECE = 10_000
PIECE_BYTES_MAX = 256 * 1024**2
GREETING = f"poolkeeper {__version__}".encode()
_LENGTH = struct.Struct(">I")
_PLAN, _REFUSAL = b"plan", b"error"


PlanningResponse = Plan | Exception
"""The plan, or what is to be raised where it was asked for."""


@frozen
class PlanningRequest:
    """The input of a plan."""

    desired: Desired
    cluster: Cluster
    records: Records
    gone: frozenset[int]


def pack_request(request: PlanningRequest) -> Iterator[bytes]:
    """Give the pieces of a request, one after another."""
    bare = replace(request, cluster=replace(request.cluster, topics={}))
    yield _pickled(bare)
    batch: list[Topic] = []
    size = 0
    for topic in request.cluster.topics.values():
        batch.append(topic)
        size += 1 + len(topic.partitions)
        if size >= PIECE:
            yield _packed_topics(batch)
            batch, size = [], 0
    yield _packed_topics(batch)


def _packed_topics(topics: Sequence[Topic]) -> bytes:
    columns = columns_of([topic.partitions for topic in topics])
    counts = [len(topic.partitions) for topic in topics]
    return _pickled(([replace(topic, partitions=()) for topic in topics], counts, columns))


def unpack_request(pieces: Iterable[bytes]) -> PlanningRequest:
    """Return the request that these pieces are."""
    rest = iter(pieces)
    bare: PlanningRequest = pickle.loads(next(rest))
    topics: dict[str, Topic] = {}
    for piece in rest:
        bare_topics, counts, columns = pickle.loads(piece)
        last = 0
        for topic, count in zip(bare_topics, counts, strict=True):
            first, last = last, last + count
            partitions = TopicPartitions(columns, first, last)
            topics[topic.name] = replace(topic, partitions=partitions)
    return replace(bare, cluster=replace(bare.cluster, topics=topics))


def pack_plan(plan: Plan) -> Iterator[bytes]:
    """Give the pieces of a response that is a plan."""
    yield _PLAN
    yield _pickled(replace(plan, moves=()))
    columns = columns_of_moves(plan.moves)
    for first in range(0, len(columns), PIECE):
        yield _pickled(columns.take(np.arange(first, min(first + PIECE, len(columns)))))


def pack_error(error: Exception, trace: str) -> Iterator[bytes]:
    """Give the pieces of an error: a `PoolkeeperError` as it is, a bug as its traceback."""
    ours = isinstance(error, PoolkeeperError)
    yield _REFUSAL
    yield _pickled((type(error).__name__, str(error)) if ours else ("", trace))


def unpack_response(pieces: Iterable[bytes]) -> PlanningResponse:
    """Return the plan or the error that these pieces are."""
    rest = iter(pieces)
    if next(rest) == _PLAN:
        return _unpack_plan(rest)
    ((name, text),) = map(pickle.loads, rest)
    if not name:
        return RuntimeError(f"planning failed in a worker process:\n{text}")
    kind = getattr(errors, name)
    return Refused(text) if issubclass(kind, Refused) else PoolkeeperError(text)


def _unpack_plan(pieces: Iterator[bytes]) -> Plan:
    bare: Plan = pickle.loads(next(pieces))
    parts: list[MoveColumns] = list(map(pickle.loads, pieces))
    return replace(bare, moves=ColumnMoves(MoveColumns.joined(parts)) if parts else ())


def _pickled(value: object) -> bytes:
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


def write(pipe: IO[bytes], pieces: Iterable[bytes]) -> None:
    """Write the pieces, each with its length in front, and an empty one as their end."""
    for piece in pieces:
        pipe.write(_LENGTH.pack(len(piece)))
        pipe.write(piece)
    pipe.write(_LENGTH.pack(0))
    pipe.flush()


def read(pipe: IO[bytes]) -> Iterator[bytes]:
    """Give the pieces up to the empty one; raises EOFError where the other side is gone."""
    while True:
        (length,) = _LENGTH.unpack(_exactly(pipe, _LENGTH.size))
        if length > PIECE_BYTES_MAX:
            raise EOFError(f"a piece of {length} bytes is none of ours")
        if not length:
            return
        yield _exactly(pipe, length)


def _exactly(pipe: IO[bytes], length: int) -> bytes:
    came = pipe.read(length)
    if len(came) < length:
        raise EOFError("the other side is gone")
    return came
