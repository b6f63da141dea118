"""Big values as short pieces of bytes, for another process of ours.

Pickling a cluster of 200,000 partitions in one go takes half a second, in which no other thread of
the process runs. A piece here holds about a thousand partitions, or moves, as columns of plain
values: that takes a tenth of the time, and others get their turn between two pieces.

What `unpacked_*` gives back equals what was packed. Both ends are the same release of Poolkeeper,
one of them started by the other: pieces are never stored and never come from elsewhere.
"""

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import islice
from operator import attrgetter

from poolkeeper.model.plans import Move, Plan
from poolkeeper.model.records import Records
from poolkeeper.model.specs import Desired
from poolkeeper.model.topology import Cluster, Partition, Topic

PIECE = 1000
_MOVE_FIELDS = attrgetter(*(field.name for field in fields(Move)))


@dataclass(frozen=True, slots=True)
class Question:
    """What a plan is made from."""

    desired: Desired
    cluster: Cluster
    records: Records
    gone: frozenset[int]


def packed_question(question: Question) -> Iterator[bytes]:
    """Give the pieces of a question, one after another."""
    bare = replace(question, cluster=replace(question.cluster, topics={}))
    yield _packed(bare)
    batch: list[tuple[Topic, tuple[object, ...]]] = []
    size = 0
    for topic in question.cluster.topics.values():
        batch.append((replace(topic, partitions=()), tuple(zip(*topic.partitions, strict=True))))
        size += 1 + len(topic.partitions)
        if size >= PIECE:
            yield _packed(batch)
            batch, size = [], 0
    yield _packed(batch)


def unpacked_question(pieces: Iterable[bytes]) -> Question:
    """Return the question that these pieces are."""
    rest = iter(pieces)
    bare: Question = pickle.loads(next(rest))
    topics: dict[str, Topic] = {}
    for piece in rest:
        for topic, columns in pickle.loads(piece):
            partitions = tuple(map(Partition, *columns)) if columns else ()
            topics[topic.name] = replace(topic, partitions=partitions)
    return replace(bare, cluster=replace(bare.cluster, topics=topics))


def packed_plan(plan: Plan) -> Iterator[bytes]:
    """Give the pieces of a plan, one after another."""
    yield _packed(replace(plan, moves=()))
    moves = iter(plan.moves)
    while batch := tuple(islice(moves, PIECE)):
        yield _packed(tuple(zip(*map(_MOVE_FIELDS, batch), strict=True)))


def unpacked_plan(pieces: Iterable[bytes]) -> Plan:
    """Return the plan that these pieces are."""
    rest = iter(pieces)
    bare: Plan = pickle.loads(next(rest))
    moves = (move for piece in rest for move in map(Move, *pickle.loads(piece)))
    return replace(bare, moves=tuple(moves))


def _packed(value: object) -> bytes:
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
