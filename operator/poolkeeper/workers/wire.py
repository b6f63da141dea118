"""Requests for a plan, and responses, as short byte strings between parent and worker.

Pickling a cluster of 200,000 partitions in one go takes half a second, in which no other thread of
the process runs. A piece here holds about a thousand partitions, or moves, as columns of plain
values. That takes a tenth of the time, and other threads run between two pieces.

`unpack_*` returns a value equal to the one packed. One end starts the other, and both are the same
release of Poolkeeper, which `GREETING` checks. Pieces are never stored and never come from
elsewhere.
"""

import pickle
import struct
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import IO

from poolkeeper import __version__, errors
from poolkeeper.errors import PoolkeeperError, Refused
from poolkeeper.frozen import frozen
from poolkeeper.model.desired import Desired
from poolkeeper.model.execution.records import Records
from poolkeeper.model.plans import Move, Plan
from poolkeeper.model.topology import Cluster, Partition, Topic

PIECE = 1000
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
    batch: list[tuple[Topic, tuple[object, ...]]] = []
    size = 0
    for topic in request.cluster.topics.values():
        batch.append((replace(topic, partitions=()), tuple(zip(*topic.partitions, strict=True))))
        size += 1 + len(topic.partitions)
        if size >= PIECE:
            yield _pickled(batch)
            batch, size = [], 0
    yield _pickled(batch)


def unpack_request(pieces: Iterable[bytes]) -> PlanningRequest:
    """Return the request that these pieces are."""
    rest = iter(pieces)
    bare: PlanningRequest = pickle.loads(next(rest))
    topics: dict[str, Topic] = {}
    for piece in rest:
        for topic, columns in pickle.loads(piece):
            partitions = tuple(map(Partition, *columns)) if columns else ()
            topics[topic.name] = replace(topic, partitions=partitions)
    return replace(bare, cluster=replace(bare.cluster, topics=topics))


def pack_plan(plan: Plan) -> Iterator[bytes]:
    """Give the pieces of a response that is a plan."""
    yield _PLAN
    yield _pickled(replace(plan, moves=()))
    moves = iter(plan.moves)
    while batch := tuple(islice(moves, PIECE)):
        yield _pickled(tuple(zip(*batch, strict=True)))


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
    moves = (move for piece in pieces for move in map(Move, *pickle.loads(piece)))
    return replace(bare, moves=tuple(moves))


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
